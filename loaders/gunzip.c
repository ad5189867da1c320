/* gunzip.c - a byte stream that is plain, gzip or BGZF.
 *
 * file -> in[] (raw bytes) -> zlib -> caller's buffer; plain bytes go past in[] once
 * the first block, which was read to recognise the format, is used up. */
#include "gunzip.h"

#include <string.h>
#include <zlib.h>

#include "bgzf.h"

enum { IN_SIZE = 1 << 17 }; /* holds any gzip header up to the end of its extra field */

struct bi_gunzip_state {
    z_stream z;
    bool in_member, bgzf;
    bool fresh; /* nothing of the member is inflated, nor was it tried by bgzf.c */
    uint64_t member_out;
};

void *bi_z_alloc(void *env, unsigned n, unsigned size)
{
    return bi_calloc(env, n, size);
}

void bi_z_free(void *env, void *ptr)
{
    bi_free(env, ptr);
}

int bi_gunzip_open(struct bi_gunzip *g, struct bi_stream *stream, struct bioinfer_error *err)
{
    *g = (struct bi_gunzip){.env = stream->env,
                            .stream = *stream,
                            .ratio_limit = BI_GUNZIP_RATIO,
                            .in_size = IN_SIZE,
                            .chunk = SIZE_MAX};
    *stream = BI_STREAM_NONE;
    if (!(g->in = bi_alloc(g->env, IN_SIZE))) {
        int st = bi_fail(err, BIOINFER_NOMEM, "%s: input buffer", g->stream.path);
        bi_gunzip_close(g);
        return st;
    }
    return 0;
}

void bi_gunzip_close(struct bi_gunzip *g)
{
    if (!g->env)
        return;
    if (g->state)
        inflateEnd(&g->state->z);
    bi_free(g->env, g->state);
    bi_bgzf_free(&g->bgzf);
    bi_free(g->env, g->in);
    bi_stream_close(&g->stream);
    *g = (struct bi_gunzip){0};
}

bool bi_gunzip_is_compressed(const struct bi_gunzip *g)
{
    return g->state != NULL;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes of the file used up so far. */
static uint64_t consumed(const struct bi_gunzip *g)
{
    return g->stream.done - (g->end - g->pos);
}

/* Reads until in[] holds n unused bytes or the file ends. */
static int need(struct bi_gunzip *g, size_t n, struct bioinfer_error *err)
{
    if (g->pos && g->pos + n > g->in_size) {
        memmove(g->in, g->in + g->pos, g->end - g->pos);
        g->end -= g->pos;
        g->pos = 0;
    }
    while (g->end - g->pos < n) {
        size_t got;
        int st;
        if (g->late.status)
            return bi_fail(err, g->late.status, "%s", g->late.text);
        st = bi_stream_read(&g->stream, g->in + g->end, min_size(g->in_size - g->end, g->chunk),
                            &got, err);
        if (st)
            return st;
        if (!got)
            break;
        g->end += got;
    }
    return 0;
}

static bool is_gzip_magic(const struct bi_gunzip *g)
{
    return g->end - g->pos >= 2 && g->in[g->pos] == 0x1F && g->in[g->pos + 1] == 0x8B;
}

/* Has threads inflate the file where that is possible; the caller does it alone elsewhere. */
static void start_threads(struct bi_gunzip *g)
{
    struct bi_bgzf *b = NULL;
    uint8_t *in;
    size_t size;
    if (g->n_threads < 2 || !g->stream.size ||
        !(b = bi_bgzf_new(g->env, g->n_threads, g->stream.size)))
        return;
    size = bi_bgzf_room(b) > IN_SIZE ? bi_bgzf_room(b) : IN_SIZE;
    if (!(in = bi_alloc(g->env, size))) {
        bi_bgzf_free(&b);
        return;
    }
    memcpy(in, g->in + g->pos, g->end - g->pos);
    bi_free(g->env, g->in);
    g->end -= g->pos;
    g->pos = 0;
    g->in = in;
    g->in_size = size;
    g->bgzf = b;
}

/* Looks at the first bytes and sets zlib up when they are gzip's. */
static int start(struct bi_gunzip *g, struct bioinfer_error *err)
{
    struct bi_gunzip_state *s;
    size_t size;
    int st = need(g, 2, err);
    if (st || !is_gzip_magic(g))
        return st;
    if ((st = need(g, 12, err)))
        return st;
    if (g->end - g->pos >= 12 && (g->in[g->pos + 3] & 4) &&
        (st = need(g, 12u + bi_le16(g->in + g->pos + 10), err)))
        return st;
    if (!(s = bi_zalloc(g->env, sizeof *s)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: decompressor", g->stream.path);
    s->z = (z_stream){BI_Z_ENV(g->env)};
    if (inflateInit2(&s->z, 15 + 16) != Z_OK) {
        bi_free(g->env, s);
        return bi_fail(err, BIOINFER_NOMEM, "%s: decompressor", g->stream.path);
    }
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    inflateValidate(&s->z, 0); /* a fuzzer cannot guess checksums */
#endif
    s->bgzf = bi_bgzf_header(g->in + g->pos, g->end - g->pos, &size);
    s->in_member = s->fresh = true;
    g->state = s;
    if (s->bgzf)
        start_threads(g);
    return 0;
}

static int truncated(const struct bi_gunzip *g, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s: truncated: the gzip data ends inside a member at offset %llu",
                   g->stream.path, (unsigned long long)g->stream.done);
}

/* Behind a member: skips zero padding, opens the next member or sets at_end. */
static int next_member(struct bi_gunzip *g, struct bioinfer_error *err)
{
    struct bi_gunzip_state *s = g->state;
    int st;
    for (;;) {
        while (g->pos < g->end && !g->in[g->pos])
            g->pos++;
        if (g->pos < g->end)
            break;
        if ((st = need(g, 1, err)))
            return st;
        if (g->pos == g->end) {
            if (s->bgzf && s->member_out && !g->records)
                return bi_fail(err, BIOINFER_FORMAT,
                               "%s: truncated: BGZF without the empty block that ends it",
                               g->stream.path);
            if (s->bgzf && s->member_out)
                bi_log(g->env, BIOINFER_LOG_ERROR,
                       "%s: BGZF without the empty block that ends it: the file was cut off, "
                       "records may be missing",
                       g->stream.path);
            g->at_end = true;
            return 0;
        }
    }
    if ((st = need(g, 2, err)))
        return st;
    if (g->end - g->pos == 1 && g->in[g->pos] == 0x1F)
        return truncated(g, err);
    if (!is_gzip_magic(g))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: trailing garbage after the gzip data at offset %llu (byte 0x%02X)",
                       g->stream.path, (unsigned long long)consumed(g), g->in[g->pos]);
    inflateReset(&s->z);
    s->in_member = s->fresh = true;
    s->member_out = 0;
    return 0;
}

/* At the start of a member: inflates it and those behind it by threads. What they leave, and all
 * behind a member that is not sound, is zlib's. */
static void inflate_ahead(struct bi_gunzip *g)
{
    size_t before;
    g->state->fresh = false;
    do {
        before = g->end - g->pos;
        if (need(g, min_size(before + 1, g->in_size), &g->late))
            break;
    } while (g->end - g->pos > before);
    if (!bi_bgzf_inflate(g->bgzf, g->in + g->pos, g->end - g->pos))
        bi_bgzf_free(&g->bgzf);
}

/* Hands out what threads have inflated; false: there is nothing, zlib goes on at in[pos]. */
static bool take_ahead(struct bi_gunzip *g, uint8_t *dst, size_t n, size_t *got)
{
    struct bi_gunzip_state *s = g->state;
    const struct bi_bgzf_member *m = g->bgzf ? bi_bgzf_at(g->bgzf) : NULL;
    uint64_t out;
    if (!m)
        return false;
    out = g->total_out + (m->out_size - s->member_out);
    if (g->ratio_limit && out > 1u << 20 && out / g->ratio_limit > consumed(g)) {
        bi_bgzf_drop(g->bgzf); /* it may be a bomb: zlib says where it becomes one */
        s->member_out = 0;
        return false;
    }
    *got = min_size(n, m->out_size - (size_t)s->member_out);
    memcpy(dst, m->out + s->member_out, *got);
    s->member_out += *got;
    g->total_out += *got;
    if (s->member_out == m->out_size) {
        g->pos += m->size;
        if (bi_bgzf_next(g->bgzf))
            s->member_out = 0;
        else
            s->in_member = false;
    }
    return true;
}

/* Inflates into dst[0, n). *got may be set even when a status is returned. */
static int inflate_some(struct bi_gunzip *g, uint8_t *dst, size_t n, size_t *got,
                        struct bioinfer_error *err)
{
    struct bi_gunzip_state *s = g->state;
    while (!*got && !g->at_end) {
        int st, z;
        size_t in_size, out_size = min_size(n, 1u << 30);
        if (take_ahead(g, dst, n, got))
            continue;
        if (!s->in_member) {
            if ((st = next_member(g, err)))
                return st;
            continue;
        }
        if (g->bgzf && s->fresh) {
            inflate_ahead(g);
            continue;
        }
        if ((st = need(g, 1, err)))
            return st;
        in_size = g->end - g->pos;
        s->z.next_in = g->in + g->pos;
        s->z.avail_in = (uInt)in_size;
        s->z.next_out = dst;
        s->z.avail_out = (uInt)out_size;
        z = inflate(&s->z, Z_NO_FLUSH);
        g->pos = g->end - s->z.avail_in;
        *got = out_size - s->z.avail_out;
        g->total_out += *got;
        s->member_out += *got;
        if (z == Z_STREAM_END) {
            s->in_member = false;
        } else if (z == Z_MEM_ERROR) {
            return bi_fail(err, BIOINFER_NOMEM, "%s: decompressor", g->stream.path);
        } else if (z != Z_OK && z != Z_BUF_ERROR) {
            return bi_fail(err, BIOINFER_FORMAT, "%s: bad gzip data near offset %llu: %s",
                           g->stream.path, (unsigned long long)consumed(g),
                           s->z.msg ? s->z.msg : "damaged");
        } else if (!in_size && !*got) {
            return truncated(g, err);
        }
        if (g->ratio_limit && g->total_out > 1u << 20 &&
            g->total_out / g->ratio_limit > consumed(g))
            return bi_fail(err, BIOINFER_LIMIT,
                           "%s: %llu bytes inflate to more than %llu times as many: refused "
                           "as a decompression bomb (no_ratio_limit allows it)",
                           g->stream.path, (unsigned long long)consumed(g),
                           (unsigned long long)g->ratio_limit);
    }
    return 0;
}

int bi_gunzip_read(struct bi_gunzip *g, void *dst, size_t n, size_t *got,
                   struct bioinfer_error *err)
{
    int st = 0;
    *got = 0;
    if (g->failed.status)
        return bi_fail(err, g->failed.status, "%s", g->failed.text);
    if (!g->started) {
        st = start(g, &g->failed);
        g->started = !st;
    }
    if (!st && g->state) {
        st = inflate_some(g, dst, min_size(n, g->chunk), got, &g->failed);
    } else if (!st && g->pos < g->end) {
        *got = min_size(n, g->end - g->pos);
        memcpy(dst, g->in + g->pos, *got);
        g->pos += *got;
    } else if (!st) {
        st = bi_stream_read(&g->stream, dst, min_size(n, g->chunk), got, &g->failed);
    }
    if (st && !*got)
        return bi_fail(err, g->failed.status, "%s", g->failed.text);
    return 0; /* an error behind *got bytes waits for the next call */
}

int bi_gunzip_seek(struct bi_gunzip *g, uint64_t offset, struct bioinfer_error *err)
{
    int st = bi_stream_seek(&g->stream, offset, &g->failed);
    g->pos = g->end = 0;
    return st ? bi_fail(err, g->failed.status, "%s", g->failed.text) : 0;
}

int bi_gunzip_memory(const struct bi_env *env, const char *name, const char *bytes, size_t size,
                     size_t most, char **out, size_t *out_size, struct bioinfer_error *err)
{
    enum { STEP = 1 << 18 };
    struct bi_stream stream = BI_STREAM_NONE;
    struct bi_gunzip g = {0};
    char *text = NULL;
    size_t cap = 0, at = 0, got = 1;
    int st = bi_stream_from_memory(&stream, env, name, bytes, size, err);
    if (!st)
        st = bi_gunzip_open(&g, &stream, err);
    while (!st && got) {
        if (at > most)
            st = bi_fail(err, BIOINFER_LIMIT, "%s: inflates to more than %zu bytes", name, most);
        else if (!bi_grow(env, &text, &cap, at + STEP + 1, 1))
            st = bi_fail(err, BIOINFER_NOMEM, "%s: %zu bytes of text", name, at + STEP);
        else
            st = bi_gunzip_read(&g, text + at, STEP, &got, err);
        at += st ? 0 : got;
    }
    if (!st) {
        text[at] = '\0';
        *out = text;
        *out_size = at;
        text = NULL;
    }
    bi_free(env, text);
    bi_gunzip_close(&g);
    return st;
}

size_t bi_text_mark(const char *text, size_t n)
{
    return n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
}

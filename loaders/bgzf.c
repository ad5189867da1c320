/* bgzf.c - blocks of BGZF, several inflated at once.
 * Source: SAM/BAM format specification, section 4.1 */
#include "bgzf.h"

#include <zlib.h>

#include "../base/team.h"
#include "gunzip.h"

enum {
    MEMBER = 1 << 16,     /* most bytes of a member, and of its data */
    SMALLEST_MEMBER = 28, /* an empty one */
    MEMBERS = 8,          /* in a batch, for each thread */
    MOST_THREADS = 32
};

struct bi_bgzf {
    const struct bi_env *env;
    int n_threads;
    z_stream *streams;              /* one for each thread */
    int n_streams;                  /* that were begun */
    size_t capacity;                /* members */
    struct bi_bgzf_member *members; /* [n] are sound, [at] is at hand */
    size_t n, at;
    const uint8_t **in; /* where each member begins */
    uint8_t *out;
};

bool bi_bgzf_header(const uint8_t *p, size_t n, size_t *size)
{
    size_t at = 12, stop;
    *size = 0;
    if (n < 12 || p[0] != 0x1F || p[1] != 0x8B || !(p[3] & 4))
        return false;
    stop = at + bi_le16(p + 10);
    stop = stop < n ? stop : n;
    while (at + 4 <= stop) {
        if (p[at] == 'B' && p[at + 1] == 'C' && bi_le16(p + at + 2) == 2) {
            if (at + 6 <= stop)
                *size = (size_t)bi_le16(p + at + 4) + 1;
            if (*size < SMALLEST_MEMBER)
                *size = 0;
            return true;
        }
        at += 4 + (size_t)bi_le16(p + at + 2);
    }
    return false;
}

struct bi_bgzf *bi_bgzf_new(const struct bi_env *env, int n_threads, uint64_t file_size)
{
    struct bi_bgzf *b = bi_zalloc(env, sizeof *b);
    const uint64_t most = file_size / SMALLEST_MEMBER + 1;
    if (!b)
        return NULL;
    b->env = env;
    b->n_threads = n_threads < MOST_THREADS ? n_threads : MOST_THREADS;
    b->capacity = (size_t)b->n_threads * MEMBERS;
    b->capacity = most < b->capacity ? (size_t)most : b->capacity;
    b->streams = bi_calloc(env, (size_t)b->n_threads, sizeof *b->streams);
    b->members = bi_calloc(env, b->capacity, sizeof *b->members);
    b->in = bi_calloc(env, b->capacity, sizeof *b->in);
    b->out = bi_alloc(env, b->capacity * MEMBER);
    if (!b->streams || !b->members || !b->in || !b->out)
        bi_bgzf_free(&b);
    while (b && b->n_streams < b->n_threads) {
        z_stream *z = &b->streams[b->n_streams];
        *z = (z_stream){BI_Z_ENV(env)};
        if (inflateInit2(z, 15 + 16) != Z_OK) {
            bi_bgzf_free(&b);
            break;
        }
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
        inflateValidate(z, 0); /* a fuzzer cannot guess checksums */
#endif
        b->n_streams++;
    }
    return b;
}

void bi_bgzf_free(struct bi_bgzf **bgzf)
{
    struct bi_bgzf *b = *bgzf;
    if (!b)
        return;
    for (int i = 0; i < b->n_streams; i++)
        inflateEnd(&b->streams[i]);
    bi_free(b->env, b->streams);
    bi_free(b->env, b->members);
    bi_free(b->env, b->in);
    bi_free(b->env, b->out);
    bi_free(b->env, b);
    *bgzf = NULL;
}

size_t bi_bgzf_room(const struct bi_bgzf *b)
{
    return b->capacity * MEMBER;
}

/* Inflates one member with a thread's stream; its size becomes 0 where it is not sound. */
static void inflate_member(struct bi_bgzf *b, z_stream *z, size_t i)
{
    struct bi_bgzf_member *m = &b->members[i];
    inflateReset(z);
    z->next_in = (uint8_t *)(uintptr_t)b->in[i];
    z->avail_in = (uInt)m->size;
    z->next_out = b->out + i * MEMBER;
    z->avail_out = MEMBER;
    if (inflate(z, Z_FINISH) != Z_STREAM_END || z->avail_in)
        m->size = 0;
    m->out_size = MEMBER - z->avail_out;
}

static void inflate_members(void *user, int thread, int64_t first, int64_t end)
{
    struct bi_bgzf *b = user;
    for (int64_t i = first; i < end; i++)
        inflate_member(b, &b->streams[thread], (size_t)i);
}

bool bi_bgzf_inflate(struct bi_bgzf *b, const uint8_t *in, size_t n)
{
    size_t found = 0, size;
    for (; found < b->capacity && bi_bgzf_header(in, n, &size) && size && size <= n;
         in += size, n -= size, found++) {
        b->in[found] = in;
        b->members[found] = (struct bi_bgzf_member){.out = b->out + found * MEMBER, .size = size};
    }
    if (found)
        bi_team_for(b->env, b->n_threads, (int64_t)found, 1, inflate_members, b);
    for (b->n = b->at = 0; b->n < found && b->members[b->n].size;)
        b->n++;
    return b->n > 0;
}

const struct bi_bgzf_member *bi_bgzf_at(const struct bi_bgzf *b)
{
    return b->at < b->n ? &b->members[b->at] : NULL;
}

bool bi_bgzf_next(struct bi_bgzf *b)
{
    return ++b->at < b->n;
}

void bi_bgzf_drop(struct bi_bgzf *b)
{
    b->n = b->at = 0;
}

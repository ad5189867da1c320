/* genome_index.c - makes the index of a genome (genome.h): path.fai, and path.gzi of a BGZF file.
 *
 * A line of path.fai is a contig's name, its bases, the byte of its first base, and of a line the
 * bases and the bytes, as samtools faidx writes them. All lines of a contig but the last have one
 * length; lines without a byte may stand at its end alone, as samtools has it.
 *
 * Sections: contigs, blocks, files. */
#include "genome.h"

#include <inttypes.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/map.h"
#include "bgzf.h"
#include "gunzip.h"

enum { CHUNK = 1 << 18, NAME_SIZE = 65536, LEAST_MEMBER = 26, END_SIZE = 28 };

struct indexer {
    const struct bi_env *env;
    const char *path;
    struct bi_buf fai, name;
    struct bi_map names;
    uint64_t at;   /* bytes read, uncompressed */
    uint64_t line; /* at hand, from 1 */
    bool begun;    /* a contig was */
    /* the line at hand */
    uint64_t size; /* bytes of it so far */
    bool is_header, return_ends, name_ends;
    /* the contig at hand */
    uint64_t length, offset, line_bases, line_width;
    bool short_line; /* the line before is no whole one: no bases may follow */
};

/* ---- contigs ---- */

static int bad_line(const struct indexer *x, const char *what, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %" PRIu64 ": %s", x->path, x->line, what);
}

/* Writes the line of the contig at hand, none for one without bases, as samtools does. */
static int end_contig(struct indexer *x, struct bioinfer_error *err)
{
    if (!x->begun || !x->length)
        return 0;
    bi_buf_printf(&x->fai, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
                  bi_buf_text(&x->name), x->length, x->offset, x->line_bases, x->line_width);
    return x->fai.failed ? bi_fail(err, BIOINFER_NOMEM, "%s: index", x->path) : 0;
}

static int end_header(struct indexer *x, struct bioinfer_error *err)
{
    int st;
    if (x->name.failed)
        return bi_fail(err, BIOINFER_NOMEM, "%s: a name", x->path);
    if (!x->name.size)
        return bad_line(x, "a record without a name", err);
    st = bi_map_add(&x->names, x->name.data, x->name.size, 0, NULL);
    if (st < 0)
        return bi_fail(err, st, "%s: names", x->path);
    if (!st)
        return bi_fail(err, BIOINFER_FORMAT, "%s: line %" PRIu64 ": a second %.80s", x->path,
                       x->line, bi_buf_text(&x->name));
    x->begun = true;
    x->length = x->line_bases = x->line_width = 0;
    x->offset = x->at;
    x->short_line = false;
    return 0;
}

/* A line of bases ends; n_ends: bytes of its end, 0 = the file ends. */
static int end_bases(struct indexer *x, uint64_t n_ends, struct bioinfer_error *err)
{
    const uint64_t bases = x->size;
    if (!bases) {
        x->short_line = true;
        return 0;
    }
    if (!x->begun)
        return bad_line(x, "bases, expected a line that begins with >", err);
    if (x->short_line || (x->length && bases > x->line_bases))
        return bad_line(x,
                        "all lines of a contig but its last have one length in a file that can "
                        "be read at a position",
                        err);
    if (!x->length) {
        x->line_bases = bases;
        x->line_width = bases + (n_ends ? n_ends : 1);
    }
    x->short_line = bases < x->line_bases || bases + n_ends != x->line_width;
    x->length += bases;
    return 0;
}

static int end_line(struct indexer *x, bool at_end, struct bioinfer_error *err)
{
    const int st = x->is_header ? end_header(x, err)
                                : end_bases(x,
                                            at_end           ? 0
                                            : x->return_ends ? 2
                                                             : 1,
                                            err);
    x->line++;
    x->size = 0;
    x->is_header = x->return_ends = false;
    return st;
}

static int take_byte(struct indexer *x, char c, struct bioinfer_error *err)
{
    int st;
    x->at++;
    if (c == '\n')
        return end_line(x, false, err);
    if (x->return_ends && !x->is_header)
        return bad_line(x, "CR within a line", err);
    if (!x->size && !x->is_header && c == '>') {
        if ((st = end_contig(x, err)))
            return st;
        x->is_header = true;
        x->name_ends = false;
        x->name.size = 0;
        return 0;
    }
    if (c == '\r') {
        x->return_ends = true;
        x->name_ends = true;
        return 0;
    }
    if (x->is_header) {
        x->name_ends |= c == ' ' || c == '\t';
        if (!x->name_ends && (c < ' ' || x->name.size == NAME_SIZE))
            return bad_line(x, "a name of control bytes, or of more than 65536 bytes", err);
        if (!x->name_ends)
            bi_buf_putc(&x->name, c);
        return 0;
    }
    if (x->at == 1 && c == '\xEF')
        return bad_line(x, "a byte order mark, expected >", err);
    if (c <= ' ' || c == '>' || c > '~')
        return bad_line(x, "a byte that is no base", err);
    x->size++;
    return 0;
}

/* Reads the whole file. */
static int read_contigs(struct indexer *x, struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    struct bi_gunzip g = {0};
    char *chunk = bi_alloc(x->env, CHUNK);
    size_t got = 1;
    int st = chunk ? bi_stream_open(&stream, x->env, x->path, err)
                   : bi_fail(err, BIOINFER_NOMEM, "%s: index", x->path);
    if (!st)
        st = bi_gunzip_open(&g, &stream, err);
    while (!st && got) {
        st = bi_gunzip_read(&g, chunk, CHUNK, &got, err);
        for (size_t i = 0; !st && i < got; i++)
            st = take_byte(x, chunk[i], err);
    }
    if (!st && (x->size || x->is_header))
        st = end_line(x, true, err);
    if (!st)
        st = end_contig(x, err);
    if (!st && !x->fai.size)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: no record of FASTA with bases", x->path);
    bi_gunzip_close(&g);
    bi_free(x->env, chunk);
    return st;
}

/* ---- blocks ---- */

static void put_u64(struct bi_buf *to, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        bi_buf_putc(to, (char)(v >> 8 * i));
}

/* Makes the index of blocks: their number but the first, and where each begins. */
static int read_blocks(const struct indexer *x, const struct bi_file *f, struct bi_buf *gzi,
                       struct bioinfer_error *err)
{
    uint64_t n = 0, plain = 0;
    uint8_t head[18], tail[4];
    size_t size;
    int st = 0;
    put_u64(gzi, 0);
    for (uint64_t at = 0; at < f->size; at += size) {
        const size_t left = f->size - at < sizeof head ? (size_t)(f->size - at) : sizeof head;
        if ((st = bi_file_read(f, at, head, left, err)))
            return st;
        if (!bi_bgzf_header(head, left, &size) || size < LEAST_MEMBER || size > f->size - at)
            return bi_fail(err, BIOINFER_FORMAT, "%s: no bgzip block at byte %" PRIu64, x->path,
                           at);
        if ((st = bi_file_read(f, at + size - sizeof tail, tail, sizeof tail, err)))
            return st;
        if (!bi_le32(tail) && (at + size != f->size || size != END_SIZE))
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: an empty bgzip block at byte %" PRIu64
                           " which is not the one that ends a file: gunzip it and compress it "
                           "again with bgzip",
                           x->path, at);
        if (at && bi_le32(tail)) {
            put_u64(gzi, at);
            put_u64(gzi, plain);
            n++;
        }
        plain += bi_le32(tail);
    }
    for (int i = 0; !gzi->failed && i < 8; i++)
        gzi->data[i] = (char)(n >> 8 * i);
    return gzi->failed ? bi_fail(err, BIOINFER_NOMEM, "%s: index of blocks", x->path) : 0;
}

/* ---- files ---- */

static int write_index(const struct indexer *x, const char *suffix, const struct bi_buf *of,
                       struct bioinfer_error *err)
{
    struct bi_buf name = {.env = x->env};
    struct bi_out out = BI_OUT_NONE;
    int st;
    bi_buf_printf(&name, "%s%s", x->path, suffix);
    st = name.failed ? bi_fail(err, BIOINFER_NOMEM, "%s: path", x->path)
                     : bi_out_open(&out, x->env, bi_buf_text(&name), err);
    if (!st && !(st = bi_out_write(&out, of->data, of->size, err)))
        st = bi_out_finish(&out, err);
    bi_out_close(&out);
    bi_buf_free(&name);
    return st;
}

/* Is the file gzip, and with blocks? */
static int look_at_file(const struct indexer *x, const struct bi_file *f, bool *packed,
                        struct bioinfer_error *err)
{
    uint8_t head[18] = {0};
    const size_t n = f->size < sizeof head ? (size_t)f->size : sizeof head;
    size_t size;
    const int st = bi_file_read(f, 0, head, n, err);
    if (st)
        return st;
    *packed = n > 1 && head[0] == 0x1F && head[1] == 0x8B;
    if (*packed && !bi_bgzf_header(head, n, &size))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: gzip without blocks cannot be read at a position: gunzip it, or "
                       "compress it with bgzip",
                       x->path);
    return 0;
}

int bi_genome_index(const struct bi_env *env, const char *path, struct bioinfer_error *err)
{
    struct indexer x = {
        .env = env, .path = path, .fai.env = env, .name.env = env, .names.env = env, .line = 1};
    struct bi_buf gzi = {.env = env};
    struct bi_file f = BI_FILE_NONE;
    struct bi_file_facts before = {0}, after = {0};
    bool packed = false;
    int st = bi_file_open(&f, env, path, err);
    if (st || (st = bi_file_facts(&before, env, path, err)) ||
        (st = look_at_file(&x, &f, &packed, err)) || (st = read_contigs(&x, err)) ||
        (packed && (st = read_blocks(&x, &f, &gzi, err))) ||
        (st = bi_file_facts(&after, env, path, err)))
        goto out;
    if (before.size != after.size || before.mtime != after.mtime ||
        memcmp(before.hash, after.hash, sizeof before.hash)) {
        st = bi_fail(err, BIOINFER_MISMATCH, "%s: it changed while it was read", path);
        goto out;
    }
    if (packed)
        st = write_index(&x, ".gzi", &gzi, err);
    if (!st)
        st = write_index(&x, ".fai", &x.fai, err);
out:
    bi_file_close(&f);
    bi_buf_free(&x.fai);
    bi_buf_free(&x.name);
    bi_buf_free(&gzi);
    bi_map_free(&x.names);
    return st;
}

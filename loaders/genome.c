/* genome.c - random access to a FASTA by its index, plain or bgzip.
 *
 * Sections: the index, bgzip blocks, reading, public. */
#include "genome.h"

#include <string.h>
#include <zlib.h>

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/map.h"
#include "gunzip.h"

enum {
    BLOCK_SIZE = 65536,    /* most bytes of a block, compressed or not */
    NAME_LINE = 1024,      /* most bytes of a header that are looked at */
    HEADER_SIZE = 18,      /* bytes, in a block with the one extra field bgzip writes */
    INDEX_SIZE = 256 << 20 /* most bytes of an index */
};

struct contig {
    const char *name;
    int64_t length, offset, line_bases, line_width;
    bool found; /* a header precedes the bases, and their end is the contig's */
};

struct block {
    uint64_t packed, plain; /* offsets of its start */
};

struct bioinfer_genome {
    const struct bi_env *env;
    struct bi_arena arena;
    struct bi_file file;
    struct contig *contigs;
    size_t n_contigs, cap_contigs;
    struct bi_map by_name;
    bool packed;
    struct block *blocks;
    size_t n_blocks;
    size_t at;                      /* block in `plain`; SIZE_MAX = none */
    size_t plain_size, packed_size; /* that block has */
    uint64_t all;                   /* bytes of the FASTA, uncompressed; 0 = not known yet */
    uint8_t *raw, *plain;
};

/* ---- the index ---- */

/* Digits up to the next tab or the end; false for anything else. */
static bool take_number(const char **text, const char *end, int64_t *out)
{
    const char *p = *text;
    int64_t v = 0;
    while (p < end && *p >= '0' && *p <= '9') {
        if (v > (INT64_C(1) << 52))
            return false;
        v = v * 10 + (*p++ - '0');
    }
    if (p == *text || (p < end && *p != '\t'))
        return false;
    *text = p < end ? p + 1 : p;
    *out = v;
    return true;
}

/* Raw bytes from the first base to behind the last; false when no file holds so many. */
static bool extent(const struct contig *c, uint64_t *size)
{
    uint64_t lines = c->length ? (uint64_t)((c->length - 1) / c->line_bases) : 0, n;
    uint64_t rest = c->length ? (uint64_t)((c->length - 1) % c->line_bases) + 1 : 0;
    return bi_mul_size(lines, (uint64_t)c->line_width, &n) && bi_add_size(n, rest, &n) &&
           bi_add_size(n, (uint64_t)c->offset, size);
}

static int add_contig(struct bioinfer_genome *g, const char *line, const char *end, int64_t number,
                      const char *path, struct bioinfer_error *err)
{
    struct contig c = {0};
    const char *tab = memchr(line, '\t', (size_t)(end - line)), *p;
    uint64_t size;
    int st;
    if (!tab || tab == line)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %lld: expected name, length, offset, bases "
                       "and bytes of a line between tabs",
                       path, (long long)number);
    p = tab + 1;
    if (!take_number(&p, end, &c.length) || !take_number(&p, end, &c.offset) ||
        !take_number(&p, end, &c.line_bases) || !take_number(&p, end, &c.line_width))
        return bi_fail(err, BIOINFER_FORMAT, "%s: line %lld: expected four numbers after the name",
                       path, (long long)number);
    if (!c.length && !c.line_bases) /* a contig without bases has no line that tells */
        c.line_bases = c.line_width = 1;
    if (c.line_bases < 1 || c.line_width < c.line_bases || c.line_width - c.line_bases > 2 ||
        (c.line_width == c.line_bases && c.length > c.line_bases) || !extent(&c, &size) ||
        (!g->packed && size > g->file.size))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %lld: %lld bases from byte %lld in lines of "
                       "%lld are not in %s (%llu bytes): index it again with samtools faidx",
                       path, (long long)number, (long long)c.length, (long long)c.offset,
                       (long long)c.line_bases, g->file.path, (unsigned long long)g->file.size);
    if (!(c.name = bi_arena_strndup(&g->arena, line, (size_t)(tab - line))) ||
        !bi_grow(g->env, &g->contigs, &g->cap_contigs, g->n_contigs + 1, sizeof *g->contigs))
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    st = bi_map_add(&g->by_name, c.name, strlen(c.name), g->n_contigs, NULL);
    if (st < 0)
        return bi_fail(err, st, "%s", path);
    if (!st)
        return bi_fail(err, BIOINFER_FORMAT, "%s: line %lld: a second %.80s", path,
                       (long long)number, c.name);
    g->contigs[g->n_contigs++] = c;
    return 0;
}

static int take_fai(struct bioinfer_genome *g, const char *name, const char *text, size_t size,
                    struct bioinfer_error *err)
{
    int64_t number = 0;
    int st = 0;
    for (const char *p = text; !st && p < text + size;) {
        const char *end = memchr(p, '\n', (size_t)(text + size - p)), *next;
        next = end ? end + 1 : text + size;
        end = end ? end : text + size;
        if (end > p && end[-1] == '\r')
            end--;
        number++;
        if (end > p)
            st = add_contig(g, p, end, number, name, err);
        p = next;
    }
    if (!st && !g->n_contigs)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: no contig", name);
    return st;
}

static int read_fai(struct bioinfer_genome *g, const char *path, struct bioinfer_error *err)
{
    char *text = NULL, *name = bi_arena_printf(&g->arena, "%s.fai", path);
    size_t size;
    int st;
    if (!name)
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    if (!bi_path_exists(name))
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: no index %s: make it with: bioinfer index --fai %s (or samtools faidx)",
                       path, name, path);
    st = bi_file_slurp(g->env, name, INDEX_SIZE, &text, &size, err);
    if (!st)
        st = take_fai(g, name, text, size, err);
    bi_free(g->env, text);
    return st;
}

/* ---- bgzip blocks ---- */

/* Count, then offsets of each block but the first. */
static int take_gzi(struct bioinfer_genome *g, const struct bi_file *f, struct bioinfer_error *err)
{
    const char *name = f->path;
    uint8_t pair[16];
    uint64_t n;
    int st = bi_file_read(f, 0, pair, 8, err);
    if (st)
        return st;
    n = bi_le64(pair);
    if (n > INDEX_SIZE / 16 || f->size != 8 + 16 * n)
        return bi_fail(err, BIOINFER_FORMAT, "%s: %llu blocks in %llu bytes", name,
                       (unsigned long long)n, (unsigned long long)f->size);
    if (!(g->blocks = bi_calloc(g->env, (size_t)n + 1, sizeof *g->blocks)))
        return bi_fail(err, BIOINFER_NOMEM, "%s", name);
    g->n_blocks = 1; /* the first one is at 0 */
    for (uint64_t i = 0; i < n; i++) {
        struct block b;
        const struct block *last = &g->blocks[i];
        if ((st = bi_file_read(f, 8 + 16 * i, pair, 16, err)))
            return st;
        b = (struct block){bi_le64(pair), bi_le64(pair + 8)};
        if (b.packed <= last->packed || b.packed >= g->file.size || b.plain < last->plain ||
            b.plain - last->plain > BLOCK_SIZE || b.packed - last->packed > BLOCK_SIZE)
            return bi_fail(err, BIOINFER_FORMAT, "%s: block %llu at byte %llu of %s is no block",
                           name, (unsigned long long)i + 1, (unsigned long long)b.packed,
                           g->file.path);
        g->blocks[g->n_blocks++] = b;
    }
    return 0;
}

static int read_gzi(struct bioinfer_genome *g, const char *path, struct bioinfer_error *err)
{
    struct bi_file f = BI_FILE_NONE;
    char *name = bi_arena_printf(&g->arena, "%s.gzi", path);
    int st;
    if (!name)
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    if (!bi_path_exists(name))
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: no index of blocks %s: make it with: bioinfer index --fai %s (or "
                       "bgzip -r)",
                       path, name, path);
    st = bi_file_open(&f, g->env, name, err);
    if (!st)
        st = take_gzi(g, &f, err);
    bi_file_close(&f);
    return st;
}

/* Is the gzip header that of bgzip? */
static bool is_block(const uint8_t *h)
{
    return h[0] == 0x1F && h[1] == 0x8B && h[2] == 8 && h[3] == 4 && bi_le16(h + 10) == 6 &&
           h[12] == 'B' && h[13] == 'C' && bi_le16(h + 14) == 2;
}

/* Deflated bytes to exactly `want`; its checksum stands behind them. 1 = so it is, 0 = it is not,
 * < 0 = no memory. */
static int inflate_block(struct bioinfer_genome *g, size_t packed, size_t want, uint32_t crc)
{
    z_stream z = {.next_in = g->raw + HEADER_SIZE,
                  .avail_in = (uInt)packed,
                  .next_out = g->plain,
                  .avail_out = BLOCK_SIZE,
                  BI_Z_ENV(g->env)};
    int end;
    if (inflateInit2(&z, -15) != Z_OK)
        return BIOINFER_NOMEM;
    end = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    if (end == Z_MEM_ERROR)
        return BIOINFER_NOMEM;
    return end == Z_STREAM_END && z.total_out == want && crc32(0, g->plain, (uInt)want) == crc;
}

static int load_block(struct bioinfer_genome *g, size_t at, struct bioinfer_error *err)
{
    const struct block *b = &g->blocks[at];
    uint64_t left = g->file.size - b->packed;
    size_t size, plain;
    int st;
    if (g->at == at)
        return 0;
    g->at = SIZE_MAX;
    if (left < HEADER_SIZE + 8)
        return bi_fail(err, BIOINFER_FORMAT, "%s: block at byte %llu: cut off", g->file.path,
                       (unsigned long long)b->packed);
    if ((st = bi_file_read(&g->file, b->packed, g->raw, HEADER_SIZE, err)))
        return st;
    size = (size_t)bi_le16(g->raw + 16) + 1;
    if (!is_block(g->raw) || size < HEADER_SIZE + 8 || size > left)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: no bgzip block at byte %llu: index it again with "
                       "bgzip -r",
                       g->file.path, (unsigned long long)b->packed);
    if ((st = bi_file_read(&g->file, b->packed, g->raw, size, err)))
        return st;
    plain = bi_le32(g->raw + size - 4);
    st = 0;
    if (plain <= BLOCK_SIZE &&
        (at + 1 == g->n_blocks || plain == g->blocks[at + 1].plain - b->plain))
        st = inflate_block(g, size - HEADER_SIZE - 8, plain, bi_le32(g->raw + size - 8));
    if (st < 0)
        return bi_fail(err, st, "%s: decompressor", g->file.path);
    if (!st)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: the block at byte %llu is damaged or not the one "
                       "of the index",
                       g->file.path, (unsigned long long)b->packed);
    g->plain_size = plain;
    g->packed_size = size;
    g->at = at;
    return 0;
}

/* ---- reading ---- */

/* n raw (uncompressed) bytes from `offset`. */
static int read_raw(struct bioinfer_genome *g, uint64_t offset, uint8_t *dst, size_t n,
                    struct bioinfer_error *err)
{
    if (!g->packed)
        return bi_file_read(&g->file, offset, dst, n, err);
    while (n) {
        size_t low = 0, high = g->n_blocks, inside, take;
        int st;
        while (high - low > 1) {
            size_t middle = (low + high) / 2;
            if (g->blocks[middle].plain <= offset)
                low = middle;
            else
                high = middle;
        }
        if ((st = load_block(g, low, err)))
            return st;
        inside = (size_t)(offset - g->blocks[low].plain);
        if (inside >= g->plain_size)
            return bi_fail(err, BIOINFER_FORMAT, "%s: ends before byte %llu of the index",
                           g->file.path, (unsigned long long)offset);
        take = g->plain_size - inside < n ? g->plain_size - inside : n;
        memcpy(dst, g->plain + inside, take);
        dst += take;
        offset += take;
        n -= take;
    }
    return 0;
}

static uint64_t place(const struct contig *c, int64_t base)
{
    return (uint64_t)(c->offset + base / c->line_bases * c->line_width + base % c->line_bases);
}

/* Finds out how many bytes the FASTA has, uncompressed: where the last block of the index ends,
 * behind which there is none but the empty one that ends a file. */
static int find_size(struct bioinfer_genome *g, struct bioinfer_error *err)
{
    enum { LAST_SIZE = 28 };
    const struct block *last;
    uint64_t behind;
    int st;
    if (!g->packed)
        g->all = g->file.size;
    if (g->all)
        return 0;
    if ((st = load_block(g, g->n_blocks - 1, err)))
        return st;
    last = &g->blocks[g->n_blocks - 1];
    behind = g->file.size - last->packed - g->packed_size;
    if (behind && behind != LAST_SIZE)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: %llu bytes after the last block of the index: index it again with "
                       "bgzip -r",
                       g->file.path, (unsigned long long)behind);
    g->all = last->plain + g->plain_size;
    return 0;
}

/* Does the contig end where the index says? Line ends follow, and then a header or the file's
 * end. */
static int find_end(struct bioinfer_genome *g, const struct contig *c, struct bioinfer_error *err)
{
    uint8_t text[NAME_LINE];
    uint64_t at;
    bool line_end = !c->length;
    int st = extent(c, &at) ? find_size(g, err) : 0;
    while (!st && at < g->all) {
        size_t n = g->all - at < sizeof text ? (size_t)(g->all - at) : sizeof text, i = 0;
        if ((st = read_raw(g, at, text, n, err)))
            return st;
        for (; i < n && (text[i] == '\n' || text[i] == '\r'); i++)
            line_end |= text[i] == '\n';
        at += i;
        if (i < n && line_end && text[i] == '>')
            return 0;
        if (i < n)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: %.80s does not end after the %lld bases of the index: index it "
                           "again with samtools faidx",
                           g->file.path, c->name, (long long)c->length);
    }
    return st;
}

/* Does a line of the contig's name end where its bases begin? Of a longer line than NAME_LINE only
 * the end is looked at. */
static int find_header(struct bioinfer_genome *g, struct contig *c, struct bioinfer_error *err)
{
    uint8_t line[NAME_LINE];
    const size_t n = (uint64_t)c->offset < sizeof line ? (size_t)c->offset : sizeof line;
    const size_t length = strlen(c->name);
    size_t at = n ? n - 1 : 0; /* number of the line's first byte */
    int st = n ? read_raw(g, (uint64_t)c->offset - n, line, n, err) : 0;
    if (st)
        return st;
    while (at && line[at - 1] != '\n')
        at--;
    c->found = n && line[n - 1] == '\n';
    if (at || n == (uint64_t)c->offset) /* a whole line */
        c->found = c->found && n - at > length + 1 && line[at] == '>' &&
                   !memcmp(line + at + 1, c->name, length) && line[at + 1 + length] <= ' ';
    if (!c->found)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: no line >%.80s before byte %lld: "
                       "index it again with samtools faidx",
                       g->file.path, c->name, (long long)c->offset);
    st = find_end(g, c, err);
    c->found = !st;
    return st;
}

/* Bases first ... end - 1 of one contig, line ends taken out. */
static int read_bases(struct bioinfer_genome *g, const struct contig *c, int64_t first, int64_t end,
                      char *to, struct bioinfer_error *err)
{
    uint8_t raw[4096];
    uint64_t at = place(c, first), last = place(c, end - 1) + 1;
    int64_t column = first % c->line_bases;
    while (at < last) {
        size_t n = last - at < sizeof raw ? (size_t)(last - at) : sizeof raw;
        int st = read_raw(g, at, raw, n, err);
        if (st)
            return st;
        for (size_t i = 0; i < n; i++) {
            bool ends = raw[i] == '\n' || raw[i] == '\r';
            if (ends != (column >= c->line_bases))
                goto bad;
            if (!ends && (raw[i] <= ' ' || raw[i] == '>' || raw[i] > '~'))
                goto bad;
            if (!ends)
                *to++ = (char)raw[i];
            column = column + 1 == c->line_width ? 0 : column + 1;
        }
        at += n;
    }
    return 0;
bad:
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s: %.80s: the lines differ from the index: index it "
                   "again with samtools faidx",
                   g->file.path, c->name);
}

/* ---- public ---- */

/* Is the file bgzip? Then it has room for blocks. */
static int look_at_file(struct bioinfer_genome *g, struct bioinfer_error *err)
{
    uint8_t head[HEADER_SIZE] = {0};
    const char *path = g->file.path;
    int st = bi_file_read(&g->file, 0, head,
                          g->file.size < HEADER_SIZE ? (size_t)g->file.size : HEADER_SIZE, err);
    if (st || head[0] != 0x1F || head[1] != 0x8B)
        return st;
    if (!is_block(head))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: gzip without blocks cannot be read at a "
                       "position: gunzip it, or compress it with bgzip",
                       path);
    g->packed = true;
    g->raw = bi_calloc(g->env, BLOCK_SIZE, 1);
    g->plain = bi_calloc(g->env, BLOCK_SIZE, 1);
    if (!g->raw || !g->plain)
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    return 0;
}

static struct bioinfer_genome *new_genome(const struct bi_env *env)
{
    struct bioinfer_genome *g = bi_zalloc(env, sizeof *g);
    if (!g)
        return NULL;
    g->env = g->arena.env = g->by_name.env = env;
    g->file = BI_FILE_NONE;
    g->at = SIZE_MAX;
    return g;
}

int bi_genome_open(struct bioinfer_genome **out, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err)
{
    struct bioinfer_genome *g = new_genome(env);
    int st;
    *out = NULL;
    if (!g)
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    if ((st = bi_file_open(&g->file, env, path, err)) || (st = look_at_file(g, err)) ||
        (g->packed && (st = read_gzi(g, path, err))) || (st = read_fai(g, path, err)))
        bi_genome_close(&g);
    *out = g;
    return st;
}

int bi_genome_open_memory(struct bioinfer_genome **out, const struct bi_env *env,
                          const struct bi_genome_bytes *b, struct bioinfer_error *err)
{
    struct bioinfer_genome *g = new_genome(env);
    struct bi_file gzi = BI_FILE_NONE;
    int st;
    *out = NULL;
    if (!g)
        return bi_fail(err, BIOINFER_NOMEM, "genome");
    if ((st = bi_file_from_memory(&g->file, env, "memory", b->fasta, b->fasta_size, err)) ||
        (st = bi_file_from_memory(&gzi, env, "memory.gzi", b->gzi, b->gzi_size, err)) ||
        (st = look_at_file(g, err)) || (g->packed && (st = take_gzi(g, &gzi, err))) ||
        (st = take_fai(g, "memory.fai", b->fai, b->fai_size, err)))
        bi_genome_close(&g);
    bi_file_close(&gzi);
    *out = g;
    return st;
}

void bi_genome_close(struct bioinfer_genome **genome)
{
    struct bioinfer_genome *g = *genome;
    if (!g)
        return;
    bi_file_close(&g->file);
    bi_map_free(&g->by_name);
    bi_free(g->env, g->contigs);
    bi_free(g->env, g->blocks);
    bi_free(g->env, g->raw);
    bi_free(g->env, g->plain);
    bi_arena_reset(&g->arena);
    bi_free(g->env, g);
    *genome = NULL;
}

const char *bi_genome_contig(const struct bioinfer_genome *g, int64_t index, int64_t *length)
{
    if (index < 0 || (uint64_t)index >= g->n_contigs)
        return NULL;
    *length = g->contigs[index].length;
    return g->contigs[index].name;
}

int64_t bi_genome_length(const struct bioinfer_genome *g, const char *contig)
{
    uint64_t at;
    return bi_map_find(&g->by_name, contig, strlen(contig), &at) ? g->contigs[at].length : -1;
}

int bi_genome_read(struct bioinfer_genome *g, const char *name, int64_t start, int64_t end,
                   char *bases, struct bioinfer_error *err)
{
    struct contig *c;
    int64_t first, last;
    uint64_t at;
    int st;
    if (!bi_map_find(&g->by_name, name, strlen(name), &at))
        return bi_fail(err, BIOINFER_INVALID, "%s has no contig '%.80s'", g->file.path, name);
    c = &g->contigs[at];
    if (start >= end || start >= c->length || end <= 0)
        return bi_fail(err, BIOINFER_INVALID,
                       "%.80s:%lld-%lld: off the contig, which has %lld "
                       "bases",
                       name, (long long)start, (long long)end, (long long)c->length);
    first = start < 0 ? 0 : start;
    last = end > c->length ? c->length : end;
    if (!c->found && (st = find_header(g, c, err)))
        return st;
    memset(bases, 'N', (size_t)(end - start));
    return read_bases(g, c, first, last, bases + (first - start), err);
}

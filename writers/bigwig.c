/* bigwig.c - the BigWig file: header, zoom headers, summary, contigs, compressed sections with
 * their R-tree, the same for each zoom level, and the magic number once more at the end.
 *
 * finish() sorts runs of values: contigs stand in the order of their names, sections ascend. Until
 * then values lie in a temporary file beside the output, so memory holds 40 bytes of each run and
 * 32 of each section, whatever the number of values. Bins of one size are fixed-step sections; a
 * last bin that reaches beyond its contig is cut there and stands in a section of its own.
 *
 * Sections of this file: collecting, bytes, contigs, data, R-trees, zoom levels, finish. */
#include "bigwig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/map.h"

enum {
    ITEMS = 1024, /* in a section */
    BLOCK = 256,  /* children of an R-tree node */
    MAX_ZOOMS = 6,
    ZOOM_STEP = 4,
    FIRST_ZOOM = 8, /* in bins */
    ZOOM_SIZE = 32,
    HEADER = 64,
    SUMMARY = 40
};

struct contig {
    const char *name;
    int64_t length;
    uint32_t id; /* by name, among those with values */
};

struct run {
    size_t contig;
    int64_t start, bin_size;
    uint64_t first, n; /* the run's values */
};

/* A compressed piece in the file, or a node above such. */
struct extent {
    uint32_t chrom, start, end_chrom, end;
    uint64_t offset, size;
};

struct extents {
    struct extent *of;
    size_t n, cap;
};

struct zoom {
    uint32_t reduction;
    uint64_t data, index;
};

struct summary {
    uint64_t bases;
    double min, max, sum, squares;
};

struct bioinfer_bigwig {
    const struct bi_env *env;
    struct bi_out out;
    struct bi_out values; /* all of them, one run behind the other; never finished */
    struct bi_arena arena;
    struct bi_map by_name;
    struct contig *contigs;
    struct run *runs;
    size_t n_contigs, cap_contigs, n_runs, cap_runs;
    uint64_t n_values;
    float some[ITEMS]; /* values that were read last */
    struct bi_buf raw; /* a section before compression */
    uint8_t *packed;
    size_t packed_size;
    uint32_t largest; /* bytes of a section before compression */
    struct summary all;
};

/* ---- collecting ---- */

int bi_bigwig_open(struct bioinfer_bigwig **out, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err)
{
    struct bioinfer_bigwig *b = bi_zalloc(env, sizeof *b);
    int st;
    *out = NULL;
    if (!b)
        return bi_fail(err, BIOINFER_NOMEM, "%s", path);
    b->env = b->arena.env = b->by_name.env = b->raw.env = env;
    b->out = b->values = BI_OUT_NONE;
    if (!strcmp(path, "-"))
        st = bi_fail(err, BIOINFER_INVALID, "BigWig cannot be written to standard output");
    else
        st = bi_out_open(&b->out, env, path, err);
    if (st)
        bi_bigwig_close(&b);
    *out = b;
    return st;
}

void bi_bigwig_close(struct bioinfer_bigwig **bigwig)
{
    struct bioinfer_bigwig *b = *bigwig;
    if (!b)
        return;
    bi_out_close(&b->values);
    bi_out_close(&b->out);
    bi_map_free(&b->by_name);
    bi_buf_free(&b->raw);
    bi_free(b->env, b->contigs);
    bi_free(b->env, b->runs);
    bi_free(b->env, b->packed);
    bi_arena_reset(&b->arena);
    bi_free(b->env, b);
    *bigwig = NULL;
}

static int find_contig(struct bioinfer_bigwig *b, const char *name, int64_t length, size_t *at,
                       struct bioinfer_error *err)
{
    uint64_t found;
    size_t len = strlen(name);
    struct contig c = {.length = length};
    if (bi_map_find(&b->by_name, name, len, &found)) {
        *at = (size_t)found;
        if (b->contigs[*at].length == length)
            return 0;
        return bi_fail(err, BIOINFER_INVALID, "%s: contig %.80s of %lld bases, before it had %lld",
                       b->out.path, name, (long long)length, (long long)b->contigs[*at].length);
    }
    if (b->n_contigs == UINT16_MAX || !len || len > 255 || length < 1 || length > UINT32_MAX)
        return bi_fail(err, BIOINFER_LIMIT,
                       "%s: contig '%.80s' of %lld bases: BigWig takes names "
                       "of 1 to 255 bytes, 32-bit lengths, and here 65,535 contigs",
                       b->out.path, name, (long long)length);
    if (!(c.name = bi_arena_strndup(&b->arena, name, len)) ||
        !bi_grow(b->env, &b->contigs, &b->cap_contigs, b->n_contigs + 1, sizeof *b->contigs) ||
        bi_map_add(&b->by_name, c.name, len, b->n_contigs, NULL) < 0)
        return bi_fail(err, BIOINFER_NOMEM, "%s", b->out.path);
    *at = b->n_contigs;
    b->contigs[b->n_contigs++] = c;
    return 0;
}

/* Writes the values of bins that stand behind those of run r, and adds them to it. */
static int add_values(struct bioinfer_bigwig *b, struct run *r, const char *contig, int64_t length,
                      const float *values, int64_t n, struct bioinfer_error *err)
{
    int st;
    if (r->start < 0 || r->bin_size < 1 || r->bin_size > UINT32_MAX || n < 0 ||
        r->start >= length || (length - 1 - r->start) / r->bin_size - (int64_t)r->n < n - 1)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: %lld bins of %lld bases from %.80s:%lld begin "
                       "beyond its %lld bases",
                       b->out.path, (long long)r->n + n, (long long)r->bin_size, contig,
                       (long long)r->start, (long long)length);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return bi_fail(err, BIOINFER_NONFINITE, "%s: value of %.80s:%lld is not finite",
                           b->out.path, contig,
                           (long long)(r->start + ((int64_t)r->n + i) * r->bin_size));
    if (!r->n && (st = find_contig(b, contig, length, &r->contig, err)))
        return st;
    if (b->values.fd < 0) {
        if ((st = bi_out_open(&b->values, b->env, b->out.path, err)))
            return st;
        b->values.sync = BI_SYNC_NONE; /* nobody needs it after a crash */
    }
    if ((st = bi_out_write(&b->values, values, (size_t)n * sizeof *values, err)))
        return st;
    r->n += (uint64_t)n;
    b->n_values += (uint64_t)n;
    return 0;
}

int bi_bigwig_put(struct bioinfer_bigwig *b, const char *contig, int64_t length, int64_t start,
                  int64_t bin_size, const float *values, int64_t n, struct bioinfer_error *err)
{
    struct run run = {.start = start, .bin_size = bin_size, .first = b->n_values};
    int st;
    if (!n)
        return 0;
    if (!bi_grow(b->env, &b->runs, &b->cap_runs, b->n_runs + 1, sizeof *b->runs))
        return bi_fail(err, BIOINFER_NOMEM, "%s: values", b->out.path);
    if (!(st = add_values(b, &run, contig, length, values, n, err)))
        b->runs[b->n_runs++] = run;
    return st;
}

int bi_bigwig_extend(struct bioinfer_bigwig *b, const float *values, int64_t n,
                     struct bioinfer_error *err)
{
    struct run *r = b->n_runs ? &b->runs[b->n_runs - 1] : NULL;
    const struct contig *c = r ? &b->contigs[r->contig] : NULL;
    if (!r)
        return bi_fail(err, BIOINFER_MISUSE, "%s: there are no bins before these", b->out.path);
    return add_values(b, r, c->name, c->length, values, n, err);
}

/* Reads values [at, at + n) of a run, at most ITEMS, into b->some. */
static int read_values(struct bioinfer_bigwig *b, const struct run *r, uint64_t at, size_t n,
                       struct bioinfer_error *err)
{
    return bi_out_read(&b->values, (r->first + at) * sizeof *b->some, b->some, n * sizeof *b->some,
                       err);
}

/* ---- bytes ---- */

static void put(struct bi_buf *out, uint64_t v, int bytes)
{
    uint8_t b[8];
    for (int i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> 8 * i);
    bi_buf_append(out, b, (size_t)bytes);
}

static void put_f32(struct bi_buf *out, float x)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    put(out, v.u, 4);
}

static void put_f64(struct bi_buf *out, double x)
{
    union {
        double f;
        uint64_t u;
    } v = {.f = x};
    put(out, v.u, 8);
}

static int write_buf(struct bioinfer_bigwig *b, struct bi_buf *buf, struct bioinfer_error *err)
{
    int st = buf->failed ? bi_fail(err, BIOINFER_NOMEM, "%s", b->out.path)
                         : bi_out_write(&b->out, buf->data, buf->size, err);
    buf->size = 0;
    return st;
}

/* b->raw, compressed, as the piece that e describes. */
static int write_piece(struct bioinfer_bigwig *b, struct extents *list, struct extent e,
                       struct bioinfer_error *err)
{
    uLongf size = compressBound((uLong)b->raw.size);
    int st;
    if (b->raw.failed)
        return bi_fail(err, BIOINFER_NOMEM, "%s", b->out.path);
    if (size > b->packed_size) {
        bi_free(b->env, b->packed);
        b->packed_size = 0;
        if (!(b->packed = bi_alloc(b->env, size)))
            return bi_fail(err, BIOINFER_NOMEM, "%s", b->out.path);
        b->packed_size = size;
    }
    if (compress2(b->packed, &size, (const Bytef *)b->raw.data, (uLong)b->raw.size, 6) != Z_OK)
        return bi_fail(err, BIOINFER_NOMEM, "%s: compression", b->out.path);
    e.offset = b->out.size;
    e.size = size;
    if (!bi_grow(b->env, &list->of, &list->cap, list->n + 1, sizeof *list->of))
        return bi_fail(err, BIOINFER_NOMEM, "%s: index", b->out.path);
    if ((st = bi_out_write(&b->out, b->packed, size, err)))
        return st;
    list->of[list->n++] = e;
    if (b->raw.size > b->largest)
        b->largest = (uint32_t)b->raw.size;
    b->raw.size = 0;
    return 0;
}

/* ---- contigs ---- */

static int by_contig_name(const void *a, const void *b)
{
    return strcmp((*(struct contig *const *)a)->name, (*(struct contig *const *)b)->name);
}

/* Gives ids in the order of names and writes the tree: one leaf. */
static int write_contigs(struct bioinfer_bigwig *b, struct bioinfer_error *err)
{
    struct contig **order = bi_calloc(b->env, b->n_contigs + 1, sizeof *order);
    size_t key = 1;
    int st;
    if (!order)
        return bi_fail(err, BIOINFER_NOMEM, "%s", b->out.path);
    for (size_t i = 0; i < b->n_contigs; i++) {
        order[i] = &b->contigs[i];
        if (strlen(order[i]->name) > key)
            key = strlen(order[i]->name);
    }
    qsort(order, b->n_contigs, sizeof *order, by_contig_name);
    put(&b->raw, 0x78CA8C91, 4);
    put(&b->raw, b->n_contigs ? b->n_contigs : 1, 4);
    put(&b->raw, key, 4);
    put(&b->raw, 8, 4);
    put(&b->raw, b->n_contigs, 8);
    put(&b->raw, 0, 8);
    put(&b->raw, 1, 2); /* leaf */
    put(&b->raw, b->n_contigs, 2);
    for (size_t i = 0; i < b->n_contigs; i++) {
        char name[256] = "";
        order[i]->id = (uint32_t)i;
        memcpy(name, order[i]->name, strlen(order[i]->name));
        bi_buf_append(&b->raw, name, key);
        put(&b->raw, i, 4);
        put(&b->raw, (uint64_t)order[i]->length, 4);
    }
    st = write_buf(b, &b->raw, err);
    bi_free(b->env, order);
    return st;
}

/* ---- data ---- */

static int compare_runs(const struct bioinfer_bigwig *b, const struct run *x, const struct run *y)
{
    uint32_t p = b->contigs[x->contig].id, q = b->contigs[y->contig].id;
    return p != q                 ? (p > q) - (p < q)
           : x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                  : (x->first > y->first) - (x->first < y->first);
}

/* By contig and start; a heap sort, because the order needs the contigs. */
static void sort_runs(struct bioinfer_bigwig *b)
{
    size_t n = b->n_runs;
    for (size_t root = n / 2; n > 1;) {
        size_t at;
        if (root) {
            root--;
        } else {
            struct run last = b->runs[--n];
            b->runs[n] = b->runs[0];
            b->runs[0] = last;
        }
        for (at = root; 2 * at + 1 < n;) {
            size_t child = 2 * at + 1;
            struct run kept = b->runs[at];
            if (child + 1 < n && compare_runs(b, &b->runs[child], &b->runs[child + 1]) < 0)
                child++;
            if (compare_runs(b, &kept, &b->runs[child]) >= 0)
                break;
            b->runs[at] = b->runs[child];
            b->runs[child] = kept;
            at = child;
        }
    }
}

static int64_t run_end(const struct bioinfer_bigwig *b, const struct run *r)
{
    int64_t end = r->start + (int64_t)r->n * r->bin_size, length = b->contigs[r->contig].length;
    return end < length ? end : length;
}

static int check_runs(const struct bioinfer_bigwig *b, struct bioinfer_error *err)
{
    for (size_t i = 1; i < b->n_runs; i++) {
        const struct run *r = &b->runs[i], *before = &b->runs[i - 1];
        if (r->contig == before->contig && r->start < run_end(b, before))
            return bi_fail(err, BIOINFER_INVALID, "%s: values of %.80s:%lld twice", b->out.path,
                           b->contigs[r->contig].name, (long long)r->start);
    }
    return 0;
}

/* Items first ... first + n - 1 of a run, which b->some holds, as a section; `type` 3: fixed step;
 * 1: one bin that ends where the contig does. */
static int write_section(struct bioinfer_bigwig *b, struct extents *list, const struct run *r,
                         uint64_t first, size_t n, int type, struct bioinfer_error *err)
{
    uint32_t id = b->contigs[r->contig].id;
    uint64_t start = (uint64_t)(r->start + (int64_t)first * r->bin_size);
    uint64_t end = type == 1 ? (uint64_t)b->contigs[r->contig].length
                             : start + (uint64_t)n * (uint64_t)r->bin_size;
    uint64_t step = type == 1 ? 0 : (uint64_t)r->bin_size;
    put(&b->raw, id, 4);
    put(&b->raw, start, 4);
    put(&b->raw, end, 4);
    put(&b->raw, step, 4);
    put(&b->raw, step, 4);
    put(&b->raw, (uint64_t)type, 2);
    put(&b->raw, n, 2);
    if (type == 1) {
        put(&b->raw, start, 4);
        put(&b->raw, end, 4);
    }
    for (size_t i = 0; i < n; i++)
        put_f32(&b->raw, b->some[i]);
    return write_piece(b, list, (struct extent){id, (uint32_t)start, id, (uint32_t)end, 0, 0}, err);
}

static void add_summary(struct summary *s, uint64_t bases, double v)
{
    if (!s->bases || v < s->min)
        s->min = v;
    if (!s->bases || v > s->max)
        s->max = v;
    s->bases += bases;
    s->sum += v * (double)bases;
    s->squares += v * v * (double)bases;
}

/* A run as sections, and its values to the sums of the whole file. */
static int write_run(struct bioinfer_bigwig *b, struct extents *list, const struct run *r,
                     struct bioinfer_error *err)
{
    const int64_t length = b->contigs[r->contig].length;
    const bool cut = r->start + (int64_t)r->n * r->bin_size > length;
    const uint64_t whole = r->n - cut;
    int st = 0;
    for (uint64_t at = 0, n; !st && at < r->n; at += n) {
        n = at == whole ? 1 : whole - at < ITEMS ? whole - at : ITEMS;
        if ((st = read_values(b, r, at, (size_t)n, err)) ||
            (st = write_section(b, list, r, at, (size_t)n, at == whole ? 1 : 3, err)))
            break;
        for (uint64_t k = 0; k < n; k++) {
            const int64_t start = r->start + (int64_t)(at + k) * r->bin_size;
            const int64_t bases = length - start < r->bin_size ? length - start : r->bin_size;
            add_summary(&b->all, (uint64_t)bases, (double)b->some[k]);
        }
    }
    return st;
}

static int write_data(struct bioinfer_bigwig *b, struct extents *list, uint64_t *at,
                      struct bioinfer_error *err)
{
    int st;
    *at = b->out.size;
    put(&b->raw, 0, 8); /* number of sections: patched */
    if ((st = write_buf(b, &b->raw, err)))
        return st;
    for (size_t i = 0; !st && i < b->n_runs; i++)
        st = write_run(b, list, &b->runs[i], err);
    put(&b->raw, list->n, 8);
    if (!st && b->raw.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "%s", b->out.path);
    if (!st)
        st = bi_out_patch(&b->out, *at, b->raw.data, 8, err);
    b->raw.size = 0;
    return st;
}

/* ---- R-trees ---- */

static struct extent cover(const struct extent *e, size_t n)
{
    struct extent all = e[0];
    for (size_t i = 1; i < n; i++)
        if (e[i].end_chrom > all.end_chrom ||
            (e[i].end_chrom == all.end_chrom && e[i].end > all.end)) {
            all.end_chrom = e[i].end_chrom;
            all.end = e[i].end;
        }
    return all;
}

static void put_range(struct bi_buf *out, const struct extent *e)
{
    put(out, e->chrom, 4);
    put(out, e->start, 4);
    put(out, e->end_chrom, 4);
    put(out, e->end, 4);
}

/* Levels from the root down; all nodes of a level but its last are full, so their places are
 * known beforehand. */
static int write_index(struct bioinfer_bigwig *b, const struct extents *list, uint64_t *at,
                       struct bioinfer_error *err)
{
    struct extent *level[8] = {NULL};
    uint64_t end = b->out.size, place;
    size_t n[9] = {list->n};
    int n_levels = 0, st = 0;
    *at = b->out.size;
    put(&b->raw, 0x2468ACE0, 4);
    put(&b->raw, BLOCK, 4);
    put(&b->raw, list->n, 8);
    if (list->n) {
        struct extent all = cover(list->of, list->n);
        put_range(&b->raw, &all);
    } else {
        put(&b->raw, 0, 8);
        put(&b->raw, 0, 8);
    }
    put(&b->raw, end, 8); /* end of the data */
    put(&b->raw, ITEMS, 4);
    put(&b->raw, 0, 4);
    /* n[k]: children in level k's nodes; level 0: the pieces themselves */
    for (; n_levels < 8 && (!n_levels || n[n_levels] > 1); n_levels++) {
        const struct extent *below = n_levels ? level[n_levels - 1] : list->of;
        size_t count = n[n_levels] ? (n[n_levels] + BLOCK - 1) / BLOCK : 1;
        if (!(level[n_levels] = bi_calloc(b->env, count, sizeof *level[0]))) {
            st = bi_fail(err, BIOINFER_NOMEM, "%s: index", b->out.path);
            goto out;
        }
        for (size_t i = 0; n[n_levels] && i < count; i++) {
            size_t left = n[n_levels] - i * BLOCK;
            level[n_levels][i] = cover(below + i * BLOCK, left < BLOCK ? left : BLOCK);
        }
        n[n_levels + 1] = count;
    }
    place = *at + b->raw.size;
    for (int k = n_levels - 1; k >= 0; k--) { /* where the nodes of each level begin */
        size_t entry = k ? 24 : 32, nodes = n[k + 1];
        for (size_t i = 0; i < nodes; i++)
            level[k][i].offset = place + i * (4 + entry * BLOCK);
        place += nodes * 4 + n[k] * entry;
    }
    for (int k = n_levels - 1; k >= 0; k--)
        for (size_t i = 0; i < n[k + 1]; i++) {
            size_t left = n[k] - i * BLOCK, count = left < BLOCK ? left : BLOCK;
            const struct extent *child = (k ? level[k - 1] : list->of) + i * BLOCK;
            put(&b->raw, k == 0, 2);
            put(&b->raw, count, 2);
            for (size_t c = 0; c < count; c++) {
                put_range(&b->raw, &child[c]);
                put(&b->raw, child[c].offset, 8);
                if (!k)
                    put(&b->raw, child[c].size, 8);
            }
        }
    st = write_buf(b, &b->raw, err);
out:
    for (int k = 0; k < n_levels; k++)
        bi_free(b->env, level[k]);
    return st;
}

/* ---- zoom levels ---- */

struct window {
    uint32_t chrom, start, end;
    struct summary s;
};

struct zoom_run {
    struct bioinfer_bigwig *b;
    uint32_t reduction; /* bases */
    struct extents list;
    struct extent piece;
    uint32_t n, n_all;
};

static int flush_zoom(struct zoom_run *z, struct bioinfer_error *err)
{
    int st = z->n ? write_piece(z->b, &z->list, z->piece, err) : 0;
    z->n = 0;
    return st;
}

static int put_window(struct zoom_run *z, const struct window *w, struct bioinfer_error *err)
{
    struct bi_buf *raw = &z->b->raw;
    int st = 0;
    if (!w->s.bases)
        return 0;
    if (z->n && (z->n == ITEMS || z->piece.chrom != w->chrom))
        st = flush_zoom(z, err);
    if (st)
        return st;
    if (!z->n++)
        z->piece = (struct extent){w->chrom, w->start, w->chrom, w->end, 0, 0};
    z->piece.end = w->end;
    z->n_all++;
    put(raw, w->chrom, 4);
    put(raw, w->start, 4);
    put(raw, w->end, 4);
    put(raw, w->s.bases, 4);
    put_f32(raw, (float)w->s.min);
    put_f32(raw, (float)w->s.max);
    put_f32(raw, (float)w->s.sum);
    put_f32(raw, (float)w->s.squares);
    return 0;
}

/* Adds one bin of a run; it may lie in several windows. */
static int zoom_bin(struct zoom_run *z, struct window *w, const struct run *r, uint64_t k, float v,
                    struct bioinfer_error *err)
{
    const int64_t end = run_end(z->b, r), reduction = z->reduction;
    const uint32_t chrom = z->b->contigs[r->contig].id;
    int64_t from = r->start + (int64_t)k * r->bin_size, to = from + r->bin_size;
    int st = 0;
    to = to < end ? to : end;
    while (!st && from < to) {
        int64_t next = (from / reduction + 1) * reduction;
        next = next < to ? next : to;
        if (w->s.bases && (w->chrom != chrom || w->start / reduction != from / reduction)) {
            st = put_window(z, w, err);
            w->s = (struct summary){0};
        }
        if (!w->s.bases)
            *w = (struct window){.chrom = chrom, .start = (uint32_t)from};
        w->end = (uint32_t)next;
        add_summary(&w->s, (uint64_t)(next - from), (double)v);
        from = next;
    }
    return st;
}

/* Windows at multiples of the reduction, cut to what has values. */
static int write_zoom(struct bioinfer_bigwig *b, struct zoom *zoom, struct bioinfer_error *err)
{
    struct zoom_run z = {.b = b, .reduction = zoom->reduction};
    struct window w = {0};
    uint8_t count[4];
    int st;
    zoom->data = b->out.size;
    put(&b->raw, 0, 4); /* number of records: patched */
    st = write_buf(b, &b->raw, err);
    for (size_t i = 0; !st && i < b->n_runs; i++) {
        const struct run *r = &b->runs[i];
        for (uint64_t at = 0, n; !st && at < r->n; at += n) {
            n = r->n - at < ITEMS ? r->n - at : ITEMS;
            st = read_values(b, r, at, (size_t)n, err);
            for (uint64_t k = 0; k < n && !st; k++)
                st = zoom_bin(&z, &w, r, at + k, b->some[k], err);
        }
    }
    if (!st)
        st = put_window(&z, &w, err);
    if (!st)
        st = flush_zoom(&z, err);
    for (int i = 0; i < 4; i++)
        count[i] = (uint8_t)(z.n_all >> 8 * i);
    if (!st)
        st = bi_out_patch(&b->out, zoom->data, count, 4, err);
    if (!st)
        st = write_index(b, &z.list, &zoom->index, err);
    bi_free(b->env, z.list.of);
    return st;
}

/* Each level a few times coarser, as long as there is something to sum up. */
static int choose_zooms(const struct bioinfer_bigwig *b, struct zoom *zooms)
{
    uint64_t reduction = 0, bases = 0;
    int n = 0;
    for (size_t i = 0; i < b->n_runs; i++) {
        if ((uint64_t)b->runs[i].bin_size > reduction)
            reduction = (uint64_t)b->runs[i].bin_size;
        bases += b->runs[i].n * (uint64_t)b->runs[i].bin_size;
    }
    for (reduction *= FIRST_ZOOM;
         n < MAX_ZOOMS && reduction && reduction <= UINT32_MAX / 2 && bases / reduction >= 4;
         reduction *= ZOOM_STEP)
        zooms[n++] = (struct zoom){.reduction = (uint32_t)reduction};
    return n;
}

/* ---- finish ---- */

static int write_header(struct bioinfer_bigwig *b, const struct zoom *zooms, int n,
                        uint64_t contigs, uint64_t data, uint64_t index, struct bioinfer_error *err)
{
    uint64_t summary = HEADER + 24 * (uint64_t)n;
    int st;
    put(&b->raw, 0x888FFC26, 4);
    put(&b->raw, 4, 2);
    put(&b->raw, (uint64_t)n, 2);
    put(&b->raw, contigs, 8);
    put(&b->raw, data, 8);
    put(&b->raw, index, 8);
    put(&b->raw, 0, 4); /* fields */
    put(&b->raw, 0, 8); /* autoSql */
    put(&b->raw, summary, 8);
    put(&b->raw, b->largest, 4);
    put(&b->raw, 0, 8);
    for (int i = 0; i < n; i++) {
        put(&b->raw, zooms[i].reduction, 4);
        put(&b->raw, 0, 4);
        put(&b->raw, zooms[i].data, 8);
        put(&b->raw, zooms[i].index, 8);
    }
    put(&b->raw, b->all.bases, 8);
    put_f64(&b->raw, b->all.min);
    put_f64(&b->raw, b->all.max);
    put_f64(&b->raw, b->all.sum);
    put_f64(&b->raw, b->all.squares);
    st = b->raw.failed ? bi_fail(err, BIOINFER_NOMEM, "%s", b->out.path)
                       : bi_out_patch(&b->out, 0, b->raw.data, b->raw.size, err);
    b->raw.size = 0;
    return st;
}

int bi_bigwig_finish(struct bioinfer_bigwig *b, struct bioinfer_error *err)
{
    static const uint8_t nothing[HEADER + 24 * MAX_ZOOMS + SUMMARY];
    static const uint8_t magic[4] = {0x26, 0xFC, 0x8F, 0x88};
    struct zoom zooms[MAX_ZOOMS];
    struct extents list = {0};
    uint64_t contigs, data, index;
    int n = choose_zooms(b, zooms), st;
    if ((st = bi_out_write(&b->out, nothing, HEADER + 24 * (size_t)n + SUMMARY, err)))
        return st;
    contigs = b->out.size;
    if ((st = write_contigs(b, err)))
        return st;
    sort_runs(b);
    if ((st = check_runs(b, err)) || (st = write_data(b, &list, &data, err)) ||
        (st = write_index(b, &list, &index, err)))
        goto out;
    for (int i = 0; !st && i < n; i++)
        st = write_zoom(b, &zooms[i], err);
    if (st || (st = bi_out_write(&b->out, magic, sizeof magic, err)) ||
        (st = write_header(b, zooms, n, contigs, data, index, err)))
        goto out;
    st = bi_out_finish(&b->out, err);
out:
    bi_free(b->env, list.of);
    return st;
}

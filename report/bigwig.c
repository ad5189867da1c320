/* bigwig.c - reads intervals of a BigWig file, or tells what it has: its header, the tree of
 * contigs, and the sections that the R-tree has for a region, inflated one by one.
 *
 * All sizes and offsets are the file's own and checked before use; no part is read twice, so a file
 * that points in circles ends. */
#include <string.h>
#include <zlib.h>

#include "../loaders/gunzip.h"
#include "report.h"
#include "show.h"

enum {
    HEADER = 64,
    TREE_HEADER = 32,
    INDEX_HEADER = 48,
    MOST_LEVELS = 12,
    MOST_KEY = 4096,
    MOST_SECTION = 64 << 20 /* bytes of one, inflated */
};

struct contig {
    const char *name; /* NULL = there is none */
    uint32_t length;
};

struct wig {
    const struct bi_env *env;
    struct bi_file file;
    struct bi_arena arena;
    struct contig *contigs; /* by number */
    size_t n_contigs, cap;
    uint32_t key_size;
    uint64_t left; /* bytes that may still be read: all of the file, once */
    uint32_t section_size;
    uint8_t *section; /* [section_size], NULL: sections are not deflated */
    /* The request: */
    const struct bi_wig_region *region;
    uint32_t contig;
    bi_wig_take take;
    void *user;
};

static int damaged(const struct wig *w, const char *what, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: BigWig: %s", w->file.path, what);
}

/* Reads n bytes at an offset that the file gives. */
static int read_at(struct wig *w, uint64_t at, void *to, uint64_t n, struct bioinfer_error *err)
{
    if (!bi_range_ok(at, n, w->file.size))
        return damaged(w, "an offset lies outside the file", err);
    if (n > w->left)
        return damaged(w, "its parts overlap", err);
    w->left -= n;
    return bi_file_read(&w->file, at, to, (size_t)n, err);
}

/* Reads a node: whether it is a leaf, and its items, which the caller frees. */
static int read_node(struct wig *w, uint64_t at, uint64_t leaf_size, uint64_t inner_size,
                     bool *leaf, size_t *n, uint8_t **items, struct bioinfer_error *err)
{
    uint8_t head[4];
    uint64_t size;
    int st = read_at(w, at, head, sizeof head, err);
    if (st)
        return st;
    *leaf = head[0] != 0;
    *n = bi_le16(head + 2);
    size = *n * (*leaf ? leaf_size : inner_size);
    if (!(*items = bi_alloc(w->env, (size_t)size + 1)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a node", w->file.path);
    return size ? read_at(w, at + 4, *items, size, err) : 0;
}

/* ---- contigs ---- */

static int add_contig(struct wig *w, const uint8_t *item, struct bioinfer_error *err)
{
    const uint32_t id = bi_le32(item + w->key_size);
    size_t n = 0;
    if (id > 10000000)
        return damaged(w, "a contig with a number above ten millions", err);
    if (!bi_grow(w->env, &w->contigs, &w->cap, (size_t)id + 1, sizeof *w->contigs))
        return bi_fail(err, BIOINFER_NOMEM, "%s: contigs", w->file.path);
    for (; w->n_contigs <= id; w->n_contigs++)
        w->contigs[w->n_contigs] = (struct contig){0};
    while (n < w->key_size && item[n])
        n++;
    w->contigs[id] = (struct contig){bi_arena_strndup(&w->arena, (const char *)item, n),
                                     bi_le32(item + w->key_size + 4)};
    return w->contigs[id].name ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: contigs", w->file.path);
}

static int read_contigs(struct wig *w, uint64_t at, int level, struct bioinfer_error *err)
{
    uint8_t *items = NULL;
    bool leaf;
    size_t n = 0;
    int st = level > MOST_LEVELS
                 ? damaged(w, "contigs: too many levels", err)
                 : read_node(w, at, w->key_size + 8, w->key_size + 8, &leaf, &n, &items, err);
    for (size_t i = 0; i < n && !st; i++) {
        const uint8_t *item = items + i * (w->key_size + 8);
        st = leaf ? add_contig(w, item, err)
                  : read_contigs(w, bi_le64(item + w->key_size), level + 1, err);
    }
    bi_free(w->env, items);
    return st;
}

/* ---- sections ---- */

static float float_of(const uint8_t *bytes)
{
    const uint32_t bits = bi_le32(bytes);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Hands out the intervals of a section: "bedGraph", "variableStep" or "fixedStep". */
static int take_section(struct wig *w, const uint8_t *s, size_t size, struct bioinfer_error *err)
{
    const uint32_t contig = size >= 24 ? bi_le32(s) : 0, step = size >= 24 ? bi_le32(s + 12) : 0;
    const uint32_t span = size >= 24 ? bi_le32(s + 16) : 0;
    const int kind = size >= 24 ? s[20] : 0;
    const size_t n = size >= 24 ? bi_le16(s + 22) : 0;
    const size_t item = kind == 1 ? 12 : kind == 2 ? 8 : 4;
    uint64_t start = size >= 24 ? bi_le32(s + 4) : 0;
    int st = 0;
    if (kind < 1 || kind > 3 || n * item > size - 24 || contig >= w->n_contigs ||
        !w->contigs[contig].name)
        return damaged(w, "a section is none", err);
    for (size_t i = 0; i < n && !st; i++) {
        const uint8_t *at = s + 24 + i * item;
        const uint64_t first = kind == 3 ? start + i * (uint64_t)step : bi_le32(at);
        const uint64_t end = kind == 1 ? bi_le32(at + 4) : first + span;
        if (end > first)
            st = w->take(w->user, w->contigs[contig].name, (double)first, (double)end,
                         (double)float_of(at + item - 4));
    }
    return st;
}

static int read_section(struct wig *w, uint64_t at, uint64_t size, struct bioinfer_error *err)
{
    uint8_t *bytes = size <= MOST_SECTION ? bi_alloc(w->env, (size_t)size + 1) : NULL;
    uLongf n = w->section_size;
    int st = !bytes ? bi_fail(err, size > MOST_SECTION ? BIOINFER_FORMAT : BIOINFER_NOMEM,
                              "%s: a section of %llu bytes", w->file.path, (unsigned long long)size)
                    : read_at(w, at, bytes, size, err);
    if (!st && w->section) {
        z_stream z = {BI_Z_ENV(w->env), .next_in = bytes, .avail_in = (uInt)size,
                      .next_out = w->section, .avail_out = w->section_size};
        if (inflateInit(&z) != Z_OK)
            st = bi_fail(err, BIOINFER_NOMEM, "%s: a section", w->file.path);
        else if (inflate(&z, Z_FINISH) != Z_STREAM_END)
            st = damaged(w, "a section does not inflate", err);
        n = w->section_size - z.avail_out;
        inflateEnd(&z);
    }
    if (!st)
        st = take_section(w, w->section ? w->section : bytes, w->section ? n : (size_t)size, err);
    bi_free(w->env, bytes);
    return st;
}

/* Tells whether an item of the R-tree overlaps the region. */
static bool overlaps(const struct wig *w, const uint8_t *item)
{
    const uint32_t first = bi_le32(item), start = bi_le32(item + 4);
    const uint32_t last = bi_le32(item + 8), end = bi_le32(item + 12);
    if (!w->region->contig)
        return true;
    if (w->contig < first || w->contig > last)
        return false;
    return (w->contig > first || start < w->region->end) &&
           (w->contig < last || end > w->region->start);
}

static int read_sections(struct wig *w, uint64_t at, int level, struct bioinfer_error *err)
{
    uint8_t *items = NULL;
    bool leaf = false;
    size_t n = 0;
    int st = level > MOST_LEVELS ? damaged(w, "sections: too many levels", err)
                                 : read_node(w, at, 32, 24, &leaf, &n, &items, err);
    for (size_t i = 0; i < n && !st; i++) {
        const uint8_t *item = items + i * (leaf ? 32 : 24);
        if (overlaps(w, item))
            st = leaf ? read_section(w, bi_le64(item + 16), bi_le64(item + 24), err)
                      : read_sections(w, bi_le64(item + 16), level + 1, err);
    }
    bi_free(w->env, items);
    return st;
}

/* ---- all ---- */

static int read_head(struct wig *w, uint64_t *index, struct bioinfer_error *err)
{
    uint8_t head[HEADER], tree[TREE_HEADER];
    int st = read_at(w, 0, head, sizeof head, err);
    if (st || (st = read_at(w, bi_le64(head + 8), tree, sizeof tree, err)))
        return st;
    w->key_size = bi_le32(tree + 8);
    w->section_size = bi_le32(head + 52);
    *index = bi_le64(head + 24);
    if (bi_le32(tree) != 0x78CA8C91 || !w->key_size || w->key_size > MOST_KEY ||
        bi_le32(tree + 12) != 8)
        return damaged(w, "it has no tree of contigs", err);
    if (w->section_size > MOST_SECTION)
        return damaged(w, "sections of more than 64 MiB", err);
    if (w->section_size && !(w->section = bi_alloc(w->env, w->section_size)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a section", w->file.path);
    return read_contigs(w, bi_le64(head + 8) + TREE_HEADER, 0, err);
}

bool bi_wig_is(const struct bi_env *env, const char *path)
{
    struct bi_file file = BI_FILE_NONE;
    uint8_t magic[4] = {0};
    const bool is = !bi_file_open(&file, env, path, NULL) && file.size >= HEADER &&
                    !bi_file_read(&file, 0, magic, sizeof magic, NULL) &&
                    bi_le32(magic) == 0x888FFC26;
    bi_file_close(&file);
    return is;
}

int bi_wig_each(const struct bi_env *env, const char *path, const struct bi_wig_region *region,
                bi_wig_take take, void *user, struct bioinfer_error *err)
{
    struct wig w = {.env = env,
                    .file = BI_FILE_NONE,
                    .arena = {.env = env},
                    .region = region,
                    .take = take,
                    .user = user};
    uint8_t head[INDEX_HEADER];
    uint64_t index;
    bool found = !region->contig;
    int st = bi_file_open(&w.file, env, path, err);
    w.left = w.file.size;
    if (!st)
        st = read_head(&w, &index, err);
    for (size_t i = 0; i < w.n_contigs && !st && !found; i++)
        if (w.contigs[i].name && !strcmp(w.contigs[i].name, region->contig)) {
            w.contig = (uint32_t)i;
            found = true;
        }
    if (!st && found && !(st = read_at(&w, index, head, sizeof head, err)))
        st = bi_le32(head) != 0x2468ACE0 ? damaged(&w, "it has no index", err)
                                         : read_sections(&w, index + INDEX_HEADER, 0, err);
    bi_free(env, w.contigs);
    bi_free(env, w.section);
    bi_arena_reset(&w.arena);
    bi_file_close(&w.file);
    return st > 0 ? 0 : st;
}

/* ---- what it has ---- */

static double double_of(const uint8_t *bytes)
{
    const uint64_t bits = bi_le64(bytes);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int put_facts(struct bi_buf *out, struct wig *w, struct bioinfer_error *err)
{
    enum { SHOWN = 100, SUMMARY = 40 };
    uint8_t head[HEADER], summary[SUMMARY] = {0};
    uint64_t n = 0, bases = 0, index, values;
    size_t shown = 0;
    int st = bi_file_read(&w->file, 0, head, sizeof head, err);
    if (st || (st = read_head(w, &index, err)) ||
        (bi_le64(head + 44) && (st = read_at(w, bi_le64(head + 44), summary, sizeof summary, err))))
        return st;
    values = bi_le64(summary);
    for (size_t i = 0; i < w->n_contigs; i++) {
        n += w->contigs[i].name != NULL;
        bases += w->contigs[i].name ? w->contigs[i].length : 0;
    }
    bi_buf_printf(out, "%s: BigWig\n  chromosomes: %llu\n  bases: %llu\n", w->file.path,
                  (unsigned long long)n, (unsigned long long)bases);
    if (bi_le64(head + 44))
        bi_buf_printf(out, "  bases with a value: %llu\n", (unsigned long long)values);
    if (values)
        bi_buf_printf(out, "  lowest: %.7g\n  highest: %.7g\n  mean: %.7g\n",
                      double_of(summary + 8), double_of(summary + 16),
                      double_of(summary + 24) / (double)values);
    bi_buf_printf(out, "  zoom levels: %u\n", (unsigned)bi_le16(head + 6));
    for (size_t i = 0; i < w->n_contigs && shown < SHOWN; i++)
        if (w->contigs[i].name) {
            bi_buf_printf(out, "  %s: %lu\n", w->contigs[i].name,
                          (unsigned long)w->contigs[i].length);
            shown++;
        }
    if (n > shown)
        bi_buf_printf(out, "  further chromosomes: %llu\n", (unsigned long long)(n - shown));
    return 0;
}

int bi_report_bigwig(struct bi_buf *out, const char *path, struct bioinfer_error *err)
{
    struct wig w = {.env = out->env, .file = BI_FILE_NONE, .arena = {.env = out->env}};
    int st = bi_file_open(&w.file, out->env, path, err);
    w.left = w.file.size;
    if (!st)
        st = put_facts(out, &w, err);
    bi_free(out->env, w.contigs);
    bi_free(out->env, w.section);
    bi_arena_reset(&w.arena);
    bi_file_close(&w.file);
    return st;
}

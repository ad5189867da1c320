/* coverage.c - windows as coverage along contigs: a folder with a bedGraph or BigWig file of each
 * track. Where windows overlap on one grid of bins, a file has their mean.
 *
 * A result has one array [bins, tracks], and a text "window" that says where its bins lie: contig,
 * its length, the place of the first bin (it may be negative) and the bases of a bin, with tabs
 * between. Bins beyond either end of the contig are left out.
 *
 * Windows come in any order. Their values lie in a temporary file until finish(), turned to
 * [tracks, bins], so that each track is made by reading one row of every window; memory holds 24
 * bytes of each window, its values not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/map.h"
#include "bigwig.h"
#include "writer.h"

struct contig {
    const char *name;
    int64_t length;
    uint32_t rank; /* by name */
};

struct window {
    uint64_t at; /* place of its values in the file, in floats: ascends in the order of the input */
    int64_t start;
    uint32_t contig, n_bins;
};

/* The file of a track, and bins that it does not have yet. */
struct track {
    int number;
    const char *path;
    struct bioinfer_bigwig *wig;
    struct bi_out bedgraph;
    struct bi_buf lines;
    const struct contig *contig;
    int64_t start;   /* base of the first bin in `sums` */
    int64_t n;       /* bins there */
    int64_t from;    /* a line of bedGraph begins there ... */
    float value;     /* ... with this value; bins of equal bits are one line */
    bool line, open; /* there is such a line; the group has bins in the BigWig */
};

struct coverage {
    bool bigwig;
    struct bi_out values;
    struct bi_map by_name;
    struct contig *contigs;
    struct window *windows;
    size_t n_contigs, cap_contigs, n_windows, cap_windows;
    const char **tracks;
    int n_tracks;
    int64_t bin_size; /* 0 = there is no window yet */
    uint64_t n_values;
    float *turned, *row, *sums;
    int *counts;
    size_t cap_turned, cap_row, cap_sums, cap_counts;
    struct bi_buf path;
};

/* ---- opening ---- */

static int count_tracks(const struct bioinfer_writer *w)
{
    int n = 0;
    for (const char *at = w->params.tracks; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

/* Cuts the names of the tracks apart; a name is no path. */
static int read_tracks(struct bioinfer_writer *w, struct coverage *c, struct bioinfer_error *err)
{
    struct bi_map names = {.env = w->env};
    size_t n = strlen(w->params.tracks);
    char *text = bi_arena_strndup(&w->arena, w->params.tracks, n);
    int st = 0;
    c->n_tracks = count_tracks(w);
    c->tracks = text ? bi_arena_calloc(&w->arena, (size_t)c->n_tracks + 1, sizeof *c->tracks)
                     : NULL;
    if (!c->tracks)
        return bi_fail(err, BIOINFER_NOMEM, "%s: names of tracks", w->path);
    for (int i = 0; i < c->n_tracks && !st; i++) {
        const size_t length = strcspn(text, "\n");
        text[length] = '\0';
        for (size_t k = 0; k < length; k++)
            text[k] = text[k] == '/' || (unsigned char)text[k] < ' ' ? '_' : text[k];
        c->tracks[i] = text;
        if ((st = bi_map_add(&names, text, length, 0, NULL)) == 0)
            st = bi_fail(err, BIOINFER_INVALID, "%s: two tracks of the name '%.80s'", w->path,
                         text);
        else
            st = st < 0 ? bi_fail(err, st, "%s: names of tracks", w->path) : 0;
        text += length + 1;
    }
    bi_map_free(&names);
    return st;
}

static int coverage_ready(const struct bioinfer_writer *w, struct bioinfer_error *err)
{
    const size_t n = strlen(w->params.tracks);
    return n && w->params.tracks[n - 1] == '\n'
               ? 0
               : bi_fail(err, BIOINFER_INVALID, "%s: %s needs the names of tracks, a line each",
                         w->path, w->ops->name);
}

static int coverage_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct coverage *c = bi_zalloc(w->env, sizeof *c);
    int st;
    if (!c)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = c;
    c->bigwig = w->ops == &bi_writer_bigwig;
    c->values = BI_OUT_NONE;
    c->by_name.env = c->path.env = w->env;
    if ((st = coverage_ready(w, err)) || (st = read_tracks(w, c, err)))
        return st;
    if (bi_path_exists(w->path) && !bi_path_is_folder(w->path))
        return bi_fail(err, BIOINFER_IO,
                       "%s: is a file; these formats write a folder, one file per track", w->path);
    return bi_folder_make(w->env, w->path, err);
}

static void coverage_close(struct bioinfer_writer *w)
{
    struct coverage *c = w->state;
    if (!c)
        return;
    bi_out_close(&c->values);
    bi_map_free(&c->by_name);
    bi_free(w->env, c->contigs);
    bi_free(w->env, c->windows);
    bi_free(w->env, c->turned);
    bi_free(w->env, c->row);
    bi_free(w->env, c->sums);
    bi_free(w->env, c->counts);
    bi_buf_free(&c->path);
    bi_free(w->env, c);
}

/* ---- windows in ---- */

struct place {
    const char *contig;
    size_t n_contig;
    long long length, start, bin_size;
};

static bool read_number(const char **at, const char *end, long long *value)
{
    char text[24];
    const char *tab = memchr(*at, '\t', (size_t)(end - *at));
    const size_t n = (size_t)((tab ? tab : end) - *at);
    char *stop;
    if (!n || n >= sizeof text || strspn(*at, "-0123456789") < n)
        return false;
    memcpy(text, *at, n);
    text[n] = '\0';
    *value = strtoll(text, &stop, 10);
    *at = tab ? tab + 1 : end;
    return !*stop;
}

/* Where the text "window" says that a result lies. */
static bool read_place(const struct bioinfer_result *r, struct place *p)
{
    const struct bioinfer_text *text = r->n_texts ? &r->texts[0] : NULL;
    const int64_t far = INT64_MAX / 4;
    const char *at, *end;
    if (!text || strcmp(text->name, "window") || !(at = memchr(text->text, '\t', text->length)))
        return false;
    end = text->text + text->length;
    *p = (struct place){.contig = text->text, .n_contig = (size_t)(at - text->text)};
    at++;
    return !memchr(p->contig, '\0', p->n_contig) && read_number(&at, end, &p->length) &&
           read_number(&at, end, &p->start) && read_number(&at, end, &p->bin_size) && at == end &&
           p->length >= 0 && p->length < far && p->start > -far && p->start < far &&
           p->bin_size > 0 && p->bin_size < 1 << 30;
}

static int coverage_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                          struct bioinfer_error *err)
{
    const struct bioinfer_array *a = r->arrays;
    const int n_tracks = count_tracks(w);
    struct place p;
    if (r->n_arrays != 1 || a->n_dims != 2 || a->shape[0] < 0 || a->shape[0] > INT32_MAX ||
        a->shape[1] != n_tracks)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: record '%.60s': %s takes one array [bins, %d] of each record", w->path,
                       r->id, w->ops->name, n_tracks);
    if (!read_place(r, &p))
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: record '%.60s' does not say where its window lies, as results of a run "
                       "that was begun with --format bedgraph or bigwig do",
                       w->path, r->id);
    return 0;
}

static int find_contig(struct bioinfer_writer *w, const struct place *p, uint32_t *number,
                       struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    struct contig contig = {.length = p->length};
    uint64_t at;
    if (bi_map_find(&c->by_name, p->contig, p->n_contig, &at)) {
        *number = (uint32_t)at;
        if (c->contigs[at].length == p->length)
            return 0;
        return bi_fail(err, BIOINFER_INVALID, "%s: contig %.80s of %lld bases, before it had %lld",
                       w->path, c->contigs[at].name, p->length, (long long)c->contigs[at].length);
    }
    if (!(contig.name = bi_arena_strndup(&w->arena, p->contig, p->n_contig)) ||
        !bi_grow(w->env, &c->contigs, &c->cap_contigs, c->n_contigs + 1, sizeof *c->contigs) ||
        bi_map_add(&c->by_name, contig.name, p->n_contig, c->n_contigs, NULL) < 0)
        return bi_fail(err, BIOINFER_NOMEM, "%s: contigs", w->path);
    *number = (uint32_t)c->n_contigs;
    c->contigs[c->n_contigs++] = contig;
    return 0;
}

/* Writes bins [0, n) of `values`, [n, tracks], as [tracks, n]. */
static int keep_values(struct bioinfer_writer *w, const float *values, int64_t n,
                       struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    const size_t n_values = (size_t)n * (size_t)c->n_tracks;
    int st;
    if (c->values.fd < 0) {
        c->path.size = 0;
        bi_buf_printf(&c->path, "%s/values", w->path);
        if (!bi_buf_text(&c->path))
            return bi_writer_check(w, &c->path, err);
        if ((st = bi_out_open(&c->values, w->env, c->path.data, err)))
            return st;
        c->values.sync = BI_SYNC_NONE; /* nobody needs it after a crash */
    }
    if (!bi_grow(w->env, &c->turned, &c->cap_turned, n_values, sizeof *c->turned))
        return bi_fail(err, BIOINFER_NOMEM, "%s: values of a window", w->path);
    for (int64_t b = 0; b < n; b++)
        for (int k = 0; k < c->n_tracks; k++)
            c->turned[k * n + b] = values[b * c->n_tracks + k];
    return bi_out_write(&c->values, c->turned, n_values * sizeof *c->turned, err);
}

static int coverage_put(struct bioinfer_writer *w, const struct bioinfer_result *r,
                        const char *name, struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    struct window v = {.at = c->n_values};
    struct place p;
    int64_t skip, there, n;
    int st;
    (void)name;
    read_place(r, &p); /* checked before */
    if (c->bin_size && c->bin_size != p.bin_size)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: record '%.60s': bins of %lld bases, expected %lld", w->path, r->id,
                       p.bin_size, (long long)c->bin_size);
    skip = p.start < 0 ? (-p.start + p.bin_size - 1) / p.bin_size : 0;
    there = p.start < p.length ? (p.length - p.start + p.bin_size - 1) / p.bin_size : 0;
    n = (r->arrays[0].shape[0] < there ? r->arrays[0].shape[0] : there) - skip;
    c->bin_size = p.bin_size;
    if (n <= 0)
        return 0;
    if (!bi_grow(w->env, &c->windows, &c->cap_windows, c->n_windows + 1, sizeof *c->windows))
        return bi_fail(err, BIOINFER_NOMEM, "%s: windows", w->path);
    if ((st = find_contig(w, &p, &v.contig, err)) ||
        (st = keep_values(w, r->arrays[0].data + skip * c->n_tracks, n, err)))
        return st;
    v.start = p.start + skip * p.bin_size;
    v.n_bins = (uint32_t)n;
    c->windows[c->n_windows++] = v;
    c->n_values += (uint64_t)n * (uint64_t)c->n_tracks;
    return 0;
}

/* ---- one track ---- */

/* Writes the line of bedGraph that ends before base `to`. */
static void end_line(struct track *t, int64_t to)
{
    char number[32];
    if (!t->line)
        return;
    snprintf(number, sizeof number, "%.9g", (double)t->value);
    for (char *p = number; *p; p++) /* a locale may have a comma there */
        *p = *p == ',' ? '.' : *p;
    bi_buf_printf(&t->lines, "%s\t%lld\t%lld\t%s\n", t->contig->name, (long long)t->from,
                  (long long)(to < t->contig->length ? to : t->contig->length), number);
    t->line = false;
}

static void put_bin(struct track *t, int64_t start, float value)
{
    if (t->line && !memcmp(&t->value, &value, sizeof value))
        return;
    end_line(t, start);
    t->line = true;
    t->from = start;
    t->value = value;
}

/* Writes the first n bins, to which no window has anything to add, and drops them. */
static int put_bins(struct coverage *c, struct track *t, int64_t n, struct bioinfer_error *err)
{
    int st = 0;
    for (int64_t b = 0; b < n; b++) {
        if (c->counts[b] > 1)
            c->sums[b] /= (float)c->counts[b];
        if (!c->bigwig)
            put_bin(t, t->start + b * c->bin_size, c->sums[b]);
    }
    if (n && c->bigwig)
        st = t->open ? bi_bigwig_extend(t->wig, c->sums, n, err)
                     : bi_bigwig_put(t->wig, t->contig->name, t->contig->length, t->start,
                                     c->bin_size, c->sums, n, err);
    if (!c->bigwig && t->lines.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "%s: lines", t->path);
    else if (!c->bigwig)
        st = bi_out_write(&t->bedgraph, t->lines.data, t->lines.size, err);
    t->lines.size = 0;
    t->open |= n > 0;
    t->n -= n;
    t->start += n * c->bin_size;
    memmove(c->sums, c->sums + n, (size_t)t->n * sizeof *c->sums);
    memmove(c->counts, c->counts + n, (size_t)t->n * sizeof *c->counts);
    return st;
}

/* Writes what is left of a group. */
static int end_group(struct coverage *c, struct track *t, struct bioinfer_error *err)
{
    int st = t->contig ? put_bins(c, t, t->n, err) : 0;
    if (t->contig)
        end_line(t, t->start);
    return st;
}

/* Writes the bins before a window, and adds those of the window. */
static int add_window(const struct bioinfer_writer *w, struct track *t, const struct window *v,
                      struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    const struct contig *contig = &c->contigs[v->contig];
    const size_t size = v->n_bins * sizeof *c->row;
    int64_t n = v->n_bins;
    int st;
    if (contig != t->contig || v->start >= t->start + t->n * c->bin_size) {
        if ((st = end_group(c, t, err)))
            return st;
        t->contig = contig;
        t->start = v->start;
        t->open = false;
    } else if ((st = put_bins(c, t, (v->start - t->start) / c->bin_size, err))) {
        return st;
    }
    if (!bi_grow(w->env, &c->row, &c->cap_row, v->n_bins, sizeof *c->row) ||
        !bi_grow(w->env, &c->sums, &c->cap_sums, v->n_bins, sizeof *c->sums) ||
        !bi_grow(w->env, &c->counts, &c->cap_counts, v->n_bins, sizeof *c->counts))
        return bi_fail(err, BIOINFER_NOMEM, "%s: bins", t->path);
    if ((st = bi_out_read(&c->values, v->at * sizeof *c->row + (uint64_t)t->number * size, c->row,
                          size, err)))
        return st;
    for (; t->n < n; t->n++) {
        c->sums[t->n] = 0;
        c->counts[t->n] = 0;
    }
    for (int64_t b = 0; b < n; b++) {
        c->sums[b] += c->row[b];
        c->counts[b]++;
    }
    return 0;
}

/* The file of a track, from windows in their order. */
static int write_track(struct bioinfer_writer *w, int number, struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    struct track t = {.number = number, .bedgraph = BI_OUT_NONE, .lines.env = w->env};
    int st;
    c->path.size = 0;
    bi_buf_printf(&c->path, "%s/%s.%s", w->path, c->tracks[number], c->bigwig ? "bw" : "bedgraph");
    if (!bi_buf_text(&c->path))
        return bi_writer_check(w, &c->path, err);
    t.path = c->path.data;
    st = c->bigwig ? bi_bigwig_open(&t.wig, w->env, t.path, err)
                   : bi_out_open(&t.bedgraph, w->env, t.path, err);
    for (size_t i = 0; i < c->n_windows && !st; i++)
        st = add_window(w, &t, &c->windows[i], err);
    if (!st && !(st = end_group(c, &t, err)) && !c->bigwig)
        st = bi_out_write(&t.bedgraph, t.lines.data, t.lines.size, err);
    if (!st)
        st = c->bigwig ? bi_bigwig_finish(t.wig, err) : bi_out_finish(&t.bedgraph, err);
    bi_bigwig_close(&t.wig);
    bi_out_close(&t.bedgraph);
    bi_buf_free(&t.lines);
    return st;
}

/* ---- all of them ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct contig *const *)a)->name, (*(struct contig *const *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const struct window *x = a, *y = b;
    if (x->contig != y->contig)
        return x->contig < y->contig ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Sorts contigs by their names, and windows by contig, place and order of the input. */
static int sort_windows(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    struct contig **order = bi_calloc(w->env, c->n_contigs + 1, sizeof *order);
    struct contig *sorted = bi_calloc(w->env, c->n_contigs + 1, sizeof *sorted);
    if (!order || !sorted) {
        bi_free(w->env, order);
        bi_free(w->env, sorted);
        return bi_fail(err, BIOINFER_NOMEM, "%s: contigs", w->path);
    }
    for (size_t i = 0; i < c->n_contigs; i++)
        order[i] = &c->contigs[i];
    qsort(order, c->n_contigs, sizeof *order, by_name);
    for (size_t i = 0; i < c->n_contigs; i++)
        order[i]->rank = (uint32_t)i;
    for (size_t i = 0; i < c->n_windows; i++)
        c->windows[i].contig = c->contigs[c->windows[i].contig].rank;
    for (size_t i = 0; i < c->n_contigs; i++)
        sorted[i] = *order[i];
    bi_free(w->env, order);
    bi_free(w->env, c->contigs);
    c->contigs = sorted;
    if (c->n_windows) /* without a window there is no array either */
        qsort(c->windows, c->n_windows, sizeof *c->windows, by_place);
    return 0;
}

/* Windows that overlap are on one grid. */
static int check_grid(const struct bioinfer_writer *w, struct bioinfer_error *err)
{
    const struct coverage *c = w->state;
    const struct window *first = c->windows;
    int64_t last = 0;
    for (size_t i = 0; i < c->n_windows; i++) {
        const struct window *v = &c->windows[i];
        const int64_t end = v->start + v->n_bins * c->bin_size;
        if (!i || v->contig != first->contig || v->start >= last) {
            first = v;
            last = end;
        } else if ((v->start - first->start) % c->bin_size) {
            return bi_fail(err, BIOINFER_LIMIT,
                           "%s from %lld on: windows overlap, and not by whole bins of %lld bases: "
                           "their values do not fit one file",
                           c->contigs[first->contig].name, (long long)first->start,
                           (long long)c->bin_size);
        }
        last = end > last ? end : last;
    }
    return 0;
}

static int coverage_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    int st;
    if ((st = sort_windows(w, err)) || (st = check_grid(w, err)))
        return st;
    for (int k = 0; k < c->n_tracks && !st; k++)
        st = write_track(w, k, err);
    bi_out_close(&c->values); /* the folder may be renamed now */
    return st;
}

#define COVERAGE                                                                                   \
    .is_folder = true, .ready = coverage_ready, .check = coverage_check, .open = coverage_open,    \
    .put = coverage_put, .finish = coverage_finish, .close = coverage_close

const struct bi_writer_ops bi_writer_bedgraph = {.name = "bedgraph", COVERAGE};
const struct bi_writer_ops bi_writer_bigwig = {.name = "bigwig", COVERAGE};

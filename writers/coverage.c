/* coverage.c - windows as coverage along contigs: a folder with a bedGraph or BigWig file of each
 * track. Where windows overlap on one grid of bins, a file has their mean.
 *
 * A result has an array [bins, tracks] for each output, the same of every result, and a text
 * "window" that has a line for each of them, which says where its bins lie: contig, its length,
 * the place of the first bin (it may be negative) and the bases of a bin, with tabs between. Bins
 * beyond either end of the contig are left out.
 *
 * Windows come in any order. Their values lie in a temporary file until finish(), turned to
 * [tracks, bins], so that each track is made by reading one row of every window; memory holds 24
 * bytes of each window, its values not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/map.h"
#include "bigwig.h"
#include "place.h"

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

/* Tracks [first, first + n_tracks) of one output, and their windows. */
struct layer {
    struct window *windows;
    size_t n_windows, cap_windows;
    int first, n_tracks;
    int64_t bin_size;
};

/* The file of a track, and bins that it does not have yet. */
struct track {
    const struct layer *of;
    int number; /* in it */
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
    bool made, finished; /* the folder is of this run; it has all files */
    struct bi_out values;
    struct bi_map by_name;
    struct contig *contigs;
    size_t n_contigs, cap_contigs;
    struct layer *layers; /* none: there is no window yet */
    size_t n_layers, cap_layers;
    const char **tracks;
    int n_tracks; /* in all layers */
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
    c->made = !bi_path_exists(w->path);
    if ((st = bi_folder_make(w->env, w->path, err)))
        c->made = false;
    return st;
}

static void coverage_close(struct bioinfer_writer *w)
{
    struct coverage *c = w->state;
    if (!c)
        return;
    bi_out_close(&c->values);
    if (c->made && !c->finished)
        bi_folder_remove(w->env, w->path);
    bi_map_free(&c->by_name);
    bi_free(w->env, c->contigs);
    for (size_t i = 0; i < c->n_layers; i++)
        bi_free(w->env, c->layers[i].windows);
    bi_free(w->env, c->layers);
    bi_free(w->env, c->turned);
    bi_free(w->env, c->row);
    bi_free(w->env, c->sums);
    bi_free(w->env, c->counts);
    bi_buf_free(&c->path);
    bi_free(w->env, c);
}

/* ---- windows in ---- */

static int coverage_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                          struct bioinfer_error *err)
{
    const int n_tracks = count_tracks(w);
    int64_t sum = 0;
    struct bi_window_place p;
    bool last = false, placed = true;
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        const bool fits = a->n_dims == 2 && a->shape[0] >= 0 && a->shape[0] <= INT32_MAX &&
                          a->shape[1] > 0 && a->shape[1] <= n_tracks;
        sum += fits ? a->shape[1] : INT32_MAX;
        placed = placed && bi_read_place(r, i, &p, &last);
    }
    if (!r->n_arrays || sum != n_tracks)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: record '%.60s': %s takes arrays [bins, tracks] of each record, of %d "
                       "tracks in all",
                       w->path, r->id, w->ops->name, n_tracks);
    if (!placed || !last)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: record '%.60s' does not say where its window lies, as results of a run "
                       "that was begun with --format bedgraph or bigwig do",
                       w->path, r->id);
    return 0;
}

static int find_contig(struct bioinfer_writer *w, const struct bi_window_place *p, uint32_t *number,
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
static int keep_values(struct bioinfer_writer *w, const float *values, int64_t n, int n_tracks,
                       struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    const size_t n_values = (size_t)n * (size_t)n_tracks;
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
        for (int k = 0; k < n_tracks; k++)
            c->turned[k * n + b] = values[b * n_tracks + k];
    return bi_out_write(&c->values, c->turned, n_values * sizeof *c->turned, err);
}

/* Makes the layers, which every result has like the first one. */
static int make_layers(struct bioinfer_writer *w, const struct bioinfer_result *r,
                       struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    struct bi_window_place p = {0};
    bool last;
    int first = 0;
    if (!bi_grow(w->env, &c->layers, &c->cap_layers, (size_t)r->n_arrays, sizeof *c->layers))
        return bi_fail(err, BIOINFER_NOMEM, "%s: outputs", w->path);
    for (int i = 0; i < r->n_arrays; i++) {
        const int n = (int)r->arrays[i].shape[1];
        bi_read_place(r, i, &p, &last); /* checked before */
        c->layers[i] = (struct layer){.first = first, .n_tracks = n, .bin_size = p.bin_size};
        first += n;
    }
    c->n_layers = (size_t)r->n_arrays;
    return 0;
}

/* Adds a window to a layer. */
static int put_window(struct bioinfer_writer *w, struct layer *l, const struct bi_window_place *p,
                      const struct bioinfer_array *a, struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    struct window v = {.at = c->n_values};
    const int64_t skip = p->start < 0 ? (-p->start + p->bin_size - 1) / p->bin_size : 0;
    const int64_t there = p->start < p->length
                              ? (p->length - p->start + p->bin_size - 1) / p->bin_size
                              : 0;
    const int64_t n = (a->shape[0] < there ? a->shape[0] : there) - skip;
    int st;
    if (n <= 0)
        return 0;
    if (!bi_grow(w->env, &l->windows, &l->cap_windows, l->n_windows + 1, sizeof *l->windows))
        return bi_fail(err, BIOINFER_NOMEM, "%s: windows", w->path);
    if ((st = find_contig(w, p, &v.contig, err)) ||
        (st = keep_values(w, a->data + skip * l->n_tracks, n, l->n_tracks, err)))
        return st;
    v.start = p->start + skip * p->bin_size;
    v.n_bins = (uint32_t)n;
    l->windows[l->n_windows++] = v;
    c->n_values += (uint64_t)n * (uint64_t)l->n_tracks;
    return 0;
}

static int coverage_put(struct bioinfer_writer *w, const struct bioinfer_result *r,
                        const char *name, struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    int st = c->n_layers ? 0 : make_layers(w, r, err);
    (void)name;
    if (!st && (size_t)r->n_arrays != c->n_layers)
        st = bi_fail(err, BIOINFER_INVALID, "%s: record '%.60s': %d arrays, expected %zu", w->path,
                     r->id, r->n_arrays, c->n_layers);
    for (int i = 0; i < r->n_arrays && !st; i++) {
        struct layer *l = &c->layers[i];
        struct bi_window_place p;
        bool last;
        bi_read_place(r, i, &p, &last); /* checked before */
        if (p.bin_size != l->bin_size)
            st = bi_fail(err, BIOINFER_INVALID,
                         "%s: record '%.60s': bins of %lld bases, expected %lld", w->path, r->id,
                         p.bin_size, (long long)l->bin_size);
        else if (r->arrays[i].shape[1] != l->n_tracks)
            st = bi_fail(err, BIOINFER_INVALID, "%s: record '%.60s': %lld tracks, expected %d",
                         w->path, r->id, (long long)r->arrays[i].shape[1], l->n_tracks);
        else
            st = put_window(w, l, &p, &r->arrays[i], err);
    }
    return st;
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
            put_bin(t, t->start + b * t->of->bin_size, c->sums[b]);
    }
    if (n && c->bigwig)
        st = t->open ? bi_bigwig_extend(t->wig, c->sums, n, err)
                     : bi_bigwig_put(t->wig, t->contig->name, t->contig->length, t->start,
                                     t->of->bin_size, c->sums, n, err);
    if (!c->bigwig && t->lines.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "%s: lines", t->path);
    else if (!c->bigwig)
        st = bi_out_write(&t->bedgraph, t->lines.data, t->lines.size, err);
    t->lines.size = 0;
    t->open |= n > 0;
    t->n -= n;
    t->start += n * t->of->bin_size;
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
    if (contig != t->contig || v->start >= t->start + t->n * t->of->bin_size) {
        if ((st = end_group(c, t, err)))
            return st;
        t->contig = contig;
        t->start = v->start;
        t->open = false;
    } else if ((st = put_bins(c, t, (v->start - t->start) / t->of->bin_size, err))) {
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
static int write_track(struct bioinfer_writer *w, const struct layer *l, int number,
                       struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    struct track t = {.of = l, .number = number, .bedgraph = BI_OUT_NONE, .lines.env = w->env};
    int st;
    c->path.size = 0;
    bi_buf_printf(&c->path, "%s/%s.%s", w->path, c->tracks[l->first + number],
                  c->bigwig ? "bw" : "bedgraph");
    if (!bi_buf_text(&c->path))
        return bi_writer_check(w, &c->path, err);
    t.path = c->path.data;
    st = c->bigwig ? bi_bigwig_open(&t.wig, w->env, t.path, err)
                   : bi_out_open(&t.bedgraph, w->env, t.path, err);
    for (size_t i = 0; i < l->n_windows && !st; i++)
        st = add_window(w, &t, &l->windows[i], err);
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
    for (size_t k = 0; k < c->n_layers; k++)
        for (size_t i = 0; i < c->layers[k].n_windows; i++) {
            struct window *v = &c->layers[k].windows[i];
            v->contig = c->contigs[v->contig].rank;
        }
    for (size_t i = 0; i < c->n_contigs; i++)
        sorted[i] = *order[i];
    bi_free(w->env, order);
    bi_free(w->env, c->contigs);
    c->contigs = sorted;
    for (size_t k = 0; k < c->n_layers; k++)
        if (c->layers[k].n_windows) /* without a window there is no array either */
            qsort(c->layers[k].windows, c->layers[k].n_windows, sizeof(struct window), by_place);
    return 0;
}

/* Windows that overlap are on one grid. */
static int check_grid(const struct bioinfer_writer *w, const struct layer *l,
                      struct bioinfer_error *err)
{
    const struct coverage *c = w->state;
    const struct window *first = l->windows;
    int64_t last = 0;
    for (size_t i = 0; i < l->n_windows; i++) {
        const struct window *v = &l->windows[i];
        const int64_t end = v->start + v->n_bins * l->bin_size;
        if (!i || v->contig != first->contig || v->start >= last) {
            first = v;
            last = end;
        } else if ((v->start - first->start) % l->bin_size) {
            return bi_fail(err, BIOINFER_LIMIT,
                           "%s from %lld on: windows overlap, and not by whole bins of %lld bases: "
                           "their values do not fit one file",
                           c->contigs[first->contig].name, (long long)first->start,
                           (long long)l->bin_size);
        }
        last = end > last ? end : last;
    }
    return 0;
}

static int coverage_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct coverage *c = w->state;
    const struct layer none = {.n_tracks = c->n_tracks}; /* files without a value */
    const size_t n = c->n_layers ? c->n_layers : 1;
    int st = sort_windows(w, err);
    for (size_t i = 0; i < c->n_layers && !st; i++)
        st = check_grid(w, &c->layers[i], err);
    for (size_t i = 0; i < n && !st; i++) {
        const struct layer *l = c->n_layers ? &c->layers[i] : &none;
        for (int k = 0; k < l->n_tracks && !st; k++)
            st = write_track(w, l, k, err);
    }
    bi_out_close(&c->values); /* the folder may be renamed now */
    c->finished = !st;
    return st;
}

#define COVERAGE                                                                                   \
    .is_folder = true, .ready = coverage_ready, .check = coverage_check, .open = coverage_open,    \
    .put = coverage_put, .finish = coverage_finish, .close = coverage_close

const struct bi_writer_ops bi_writer_bedgraph = {.name = "bedgraph", COVERAGE};
const struct bi_writer_ops bi_writer_bigwig = {.name = "bigwig", COVERAGE};

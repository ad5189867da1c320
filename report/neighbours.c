/* neighbours.c - nearest neighbours as lines in the plane of the principal components: of the
 * record that is asked for, else the nearest of each record. Near is what has a large cosine
 * similarity in all dimensions, as in `bioinfer nearest`. */
#include <math.h>
#include <string.h>

#include "show.h"

enum {
    MOST_HITS = 10,        /* lines from one record */
    MOST_MET = 1000,       /* records that all meet each other, and ... */
    MOST_VALUES = 8 << 20, /* ... values of them */
};

struct hit {
    size_t i;
    double similarity;
    float at[2];
};

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static void find_place(const struct bi_plane *p, const float *vector, float at[2])
{
    double sum[2] = {0, 0};
    for (size_t d = 0; d < p->width; d++)
        for (int k = 0; k < 2; k++)
            sum[k] += ((double)vector[d] - p->centre[d]) * p->directions[k * p->width + d];
    at[0] = (float)sum[0];
    at[1] = (float)sum[1];
}

/* Adds an empty figure with room for lines, with the axes of the plane. */
static struct bi_figure *add_lines(struct bi_show *s, const struct bi_scatter *plane,
                                   const char *title, size_t n_lines)
{
    struct bi_figure *f = bi_view_add(&s->view, BI_FIGURE_SCATTER, "Vectors", title);
    struct bi_scatter *c = f ? &f->as.scatter : NULL;
    if (!f)
        return NULL;
    c->segments = true;
    c->x = bi_arena_calloc(&s->view.arena, 2 * n_lines, sizeof *c->x);
    c->y = bi_arena_calloc(&s->view.arena, 2 * n_lines, sizeof *c->y);
    c->colour = bi_arena_calloc(&s->view.arena, 2 * n_lines, sizeof *c->colour);
    c->labels = bi_arena_calloc(&s->view.arena, 2 * n_lines, sizeof *c->labels);
    c->x_name = plane->x_name;
    c->y_name = plane->y_name;
    return c->x && c->y && c->colour && c->labels ? f : NULL;
}

/* Adds the line from a to b; NULL as a label: there was no memory for it. */
static bool put_line(struct bi_scatter *c, const float a[2], const float b[2], const char *label)
{
    for (int k = 0; k < 2; k++) {
        c->x[c->n] = k ? b[0] : a[0];
        c->y[c->n] = k ? b[1] : a[1];
        c->colour[c->n] = NAN;
        c->labels[c->n++] = label;
    }
    return label;
}

/* ---- from one record ---- */

/* Keeps the hit if it is among the nearest; of equally near ones the first. */
static void keep(struct hit *hits, size_t *n, const struct hit *h)
{
    size_t k = *n;
    while (k && hits[k - 1].similarity < h->similarity)
        k--;
    if (k == MOST_HITS)
        return;
    *n += *n < MOST_HITS;
    for (size_t i = *n - 1; i > k; i--)
        hits[i] = hits[i - 1];
    hits[k] = *h;
}

static int find_hits(const struct bi_plane *p, size_t one, const float *query, struct hit *hits,
                     size_t *n, struct bioinfer_error *err)
{
    const double length = sqrt(dot(query, query, p->width));
    for (size_t i = 0; i < p->n && length > 0; i++) {
        struct hit h = {.i = i};
        int st;
        if (i == one || !(p->norms[i] > 0))
            continue;
        if ((st = p->read(p->user, i, p->vector, err)))
            return st;
        h.similarity = dot(query, p->vector, p->width) /
                       (length * sqrt(dot(p->vector, p->vector, p->width)));
        find_place(p, p->vector, h.at);
        keep(hits, n, &h);
    }
    return 0;
}

static bool add_hits(struct bi_show *s, const struct bi_plane *p, const struct hit *hits, size_t n)
{
    struct bi_figure *f = bi_view_add(
        &s->view, BI_FIGURE_TABLE, "Vectors",
        bi_view_printf(&s->view, "Nearest neighbours of %.200s", s->view.record));
    double *rank = bi_arena_calloc(&s->view.arena, n, sizeof *rank);
    double *near = bi_arena_calloc(&s->view.arena, n, sizeof *near);
    const char **ids = bi_arena_calloc(&s->view.arena, n, sizeof *ids);
    if (!f || !rank || !near || !ids || !bi_view_columns(&s->view, &f->as.table, n, 3))
        return false;
    for (size_t k = 0; k < n; k++) {
        rank[k] = (double)k + 1;
        ids[k] = p->ids[hits[k].i];
        near[k] = hits[k].similarity;
    }
    f->as.table.columns[0] = (struct bi_shown_column){
        .name = "rank", .is_number = true, .numbers = rank};
    f->as.table.columns[1] = (struct bi_shown_column){.name = "hit", .texts = ids};
    f->as.table.columns[2] = (struct bi_shown_column){
        .name = "similarity", .is_number = true, .numbers = near};
    return true;
}

/* Is the figure the one that a picture would show? */
static bool is_picture(const struct bi_shown *v, const struct bi_figure *figure)
{
    const struct bi_figure *f = v->figures;
    while (f && (f->kind == BI_FIGURE_TABLE || f->kind == BI_FIGURE_HISTOGRAM))
        f = f->next;
    return f == figure && !v->chosen;
}

/* Lines from a record to its nearest; the other records of the plane are dots. */
static int show_one(struct bi_show *s, const struct bi_plane *p, size_t one, float *query,
                    const struct bi_figure *plane, struct bioinfer_error *err)
{
    const struct bi_scatter *all = &plane->as.scatter;
    struct hit hits[MOST_HITS];
    float at[2];
    size_t n = 0;
    struct bi_figure *f;
    int st = p->read(p->user, one, query, err);
    if (st || (st = find_hits(p, one, query, hits, &n, err)) || !n)
        return st;
    find_place(p, query, at);
    f = add_lines(s, all, bi_view_printf(&s->view, "Nearest neighbours of %.200s", s->view.record),
                  all->n + n);
    if (!f)
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < all->n; i++) {
        const float dot_at[2] = {all->x[i], all->y[i]};
        put_line(&f->as.scatter, dot_at, dot_at, all->labels[i]);
    }
    for (size_t k = 0; k < n; k++)
        if (!put_line(&f->as.scatter, at, hits[k].at,
                      bi_view_printf(&s->view, "%.200s: %.200s, similarity %.4f", s->view.record,
                                     p->ids[hits[k].i], hits[k].similarity)))
            return bi_show_no_memory(s, err);
    f->note = bi_view_printf(&s->view,
                             "Lines go to the %zu nearest of %zu others by cosine similarity in "
                             "all %zu values.",
                             n, p->n - 1, p->width);
    if (is_picture(&s->view, plane))
        s->view.chosen = f;
    return f->note && add_hits(s, p, hits, n) ? 0 : bi_show_no_memory(s, err);
}

/* ---- from all ---- */

/* Finds of each record the nearest one, or n where it has no direction. x: vectors of length 1. */
static void find_nearest(const float *x, size_t n, size_t width, struct hit *nearest)
{
    for (size_t i = 0; i < n; i++)
        nearest[i] = (struct hit){.i = n, .similarity = -INFINITY};
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            const double near = dot(x + i * width, x + j * width, width);
            if (near > nearest[i].similarity) { /* no NaN */
                nearest[i].i = j;
                nearest[i].similarity = near;
            }
            if (near > nearest[j].similarity) {
                nearest[j].i = i;
                nearest[j].similarity = near;
            }
        }
}

/* Reads all vectors: their places, and x, where a vector has length 1, or is NaN if it was 0. */
static int read_all(const struct bi_plane *p, float *x, struct hit *nearest,
                    struct bioinfer_error *err)
{
    for (size_t i = 0; i < p->n; i++) {
        float *row = x + i * p->width;
        const int st = p->read(p->user, i, row, err);
        if (st)
            return st;
        find_place(p, row, nearest[i].at);
        const double length = sqrt(dot(row, row, p->width));
        for (size_t d = 0; d < p->width; d++)
            row[d] = length > 0 ? (float)(row[d] / length) : NAN;
    }
    return 0;
}

static int show_all(struct bi_show *s, const struct bi_plane *p, float *x, struct hit *nearest,
                    struct hit *places, const struct bi_figure *plane, struct bioinfer_error *err)
{
    struct bi_figure *f;
    int st = read_all(p, x, places, err);
    if (st)
        return st;
    find_nearest(x, p->n, p->width, nearest);
    if (!(f = add_lines(s, &plane->as.scatter, "Nearest neighbours", p->n)))
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < p->n; i++) {
        const size_t j = nearest[i].i;
        if (j == p->n) {
            put_line(&f->as.scatter, places[i].at, places[i].at, p->ids[i]);
            continue;
        }
        if (j < i && nearest[j].i == i) /* the line is there */
            continue;
        if (!put_line(&f->as.scatter, places[i].at, places[j].at,
                      bi_view_printf(&s->view, "%.200s: %.200s, similarity %.4f", p->ids[i],
                                     p->ids[j], nearest[i].similarity)))
            return bi_show_no_memory(s, err);
    }
    f->note = "A line joins each record and its nearest one by cosine similarity in all values; "
              "--record shows the ten nearest of one.";
    return 0;
}

int bi_show_neighbours(struct bi_show *s, const struct bi_plane *p, const struct bi_figure *plane,
                       struct bioinfer_error *err)
{
    const bool one = s->view.record;
    const size_t rows = one ? 1 : p->n;
    struct hit *hits = NULL;
    size_t at = 0;
    float *x;
    int st = 0;
    while (one && at < p->n && strcmp(p->ids[at], s->view.record))
        at++;
    if (p->n < 3 || at == p->n || (!one && (p->n > MOST_MET || MOST_VALUES / p->width < p->n)))
        return 0;
    x = bi_calloc(s->env, rows * p->width, sizeof *x);
    if (!x || (!one && !(hits = bi_calloc(s->env, 2 * p->n, sizeof *hits))))
        st = bi_show_no_memory(s, err);
    if (!st)
        st = one ? show_one(s, p, at, x, plane, err)
                 : show_all(s, p, x, hits, hits + p->n, plane, err);
    bi_free(s->env, hits);
    bi_free(s->env, x);
    return st;
}

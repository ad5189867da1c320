/* vectors.c - one vector for each record: norms, and a plane of two principal components. */
#include <math.h>
#include <string.h>

#include "show.h"

enum { MOST_FITTED = 2000, MOST_VALUES = 8 << 20 }; /* vectors and values of them that are fitted */

/* Fits the components to vectors that are evenly chosen. */
static int fit(struct bi_show *s, struct bi_plane *p, size_t *n_fitted, struct bioinfer_error *err)
{
    size_t most = MOST_VALUES / p->width, n = p->n < MOST_FITTED ? p->n : MOST_FITTED;
    float *x;
    int st = 0;
    n = n < most ? n : most ? most : 1;
    *n_fitted = n;
    if (!(x = bi_calloc(s->env, n * p->width, sizeof *x)))
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < n && !st; i++)
        st = p->read(p->user, (size_t)bi_view_pick(i, n, p->n), x + i * p->width, err);
    for (size_t i = 0; i < n * p->width && !st; i++)
        if (!isfinite(x[i]))
            st = bi_fail(err, BIOINFER_NONFINITE,
                         "%s: record '%.200s' has a value that is no number", s->path,
                         p->ids[bi_view_pick(i / p->width, n, p->n)]);
    if (!st)
        st = bi_pca(s->env, x, n, p->width, p->centre, p->directions, p->share, err);
    bi_free(s->env, x);
    return st;
}

/* Reads all vectors once: their norms, and the place of those that are shown. */
static int place(struct bi_show *s, struct bi_plane *p, struct bi_scatter *c,
                 struct bioinfer_error *err)
{
    size_t k = 0;
    for (size_t i = 0; i < p->n; i++) {
        uint64_t length;
        double sum = 0, at[2] = {0, 0};
        const int st = p->read(p->user, i, p->vector, err);
        if (st)
            return st;
        for (size_t d = 0; d < p->width; d++) {
            const double x = p->vector[d] - p->centre[d];
            sum += (double)p->vector[d] * p->vector[d];
            at[0] += x * p->directions[d];
            at[1] += x * p->directions[p->width + d];
        }
        p->norms[i] = (float)sqrt(sum);
        if (k == c->n || i < bi_view_pick(k, c->n, p->n))
            continue;
        c->x[k] = (float)at[0];
        c->y[k] = (float)at[1];
        c->labels[k] = p->ids[i];
        c->colour[k] = s->manifest.found ? NAN : p->norms[i];
        if (bi_map_find(&s->manifest.lengths_by_id, p->ids[i], strlen(p->ids[i]), &length))
            c->colour[k] = (float)length;
        k++;
    }
    return 0;
}

/* The table of records, where there is no manifest. */
static int add_table(struct bi_show *s, const struct bi_plane *p, struct bioinfer_error *err)
{
    const size_t n = p->n < BI_VIEW_ROWS ? p->n : BI_VIEW_ROWS;
    struct bi_figure *f = bi_view_add(&s->view, BI_FIGURE_TABLE, "Records", "Records");
    double *norms = bi_arena_calloc(&s->view.arena, n, sizeof *norms);
    const char **ids = bi_arena_calloc(&s->view.arena, n, sizeof *ids);
    if (!f || !norms || !ids || !bi_view_columns(&s->view, &f->as.table, n, 2))
        return bi_show_no_memory(s, err);
    for (size_t i = 0; i < n; i++) {
        ids[i] = p->ids[bi_view_pick(i, n, p->n)];
        norms[i] = p->norms[bi_view_pick(i, n, p->n)];
    }
    if (n < p->n)
        f->note = bi_view_printf(&s->view, "%zu of %zu records, evenly chosen.", n, p->n);
    f->as.table.columns[0] = (struct bi_shown_column){.name = "id", .texts = ids};
    f->as.table.columns[1] = (struct bi_shown_column){
        .name = "norm", .is_number = true, .numbers = norms};
    return 0;
}

static int records(struct bi_show *s, const struct bi_plane *p, struct bioinfer_error *err)
{
    struct bi_map by_id = {.env = s->env};
    int st = 0;
    if (!s->manifest.found)
        return add_table(s, p, err);
    for (size_t i = 0; i < p->n && !st; i++)
        if (bi_map_add(&by_id, p->ids[i], strlen(p->ids[i]), i, NULL) < 0)
            st = bi_show_no_memory(s, err);
    if (!st)
        st = bi_manifest_table(s, &by_id, p->norms, err);
    bi_map_free(&by_id);
    return st;
}

static int add_scatter(struct bi_show *s, struct bi_plane *p, const char *what,
                       struct bi_figure **made, struct bioinfer_error *err)
{
    struct bi_figure *f = bi_view_add(&s->view, BI_FIGURE_SCATTER, "Vectors",
                                      "Principal components of the vectors");
    struct bi_scatter *c = f ? &f->as.scatter : NULL;
    size_t fitted = 0;
    int st;
    *made = f;
    if (!f)
        return bi_show_no_memory(s, err);
    c->n = p->n < BI_VIEW_ROWS ? p->n : BI_VIEW_ROWS;
    c->x = bi_arena_calloc(&s->view.arena, c->n, sizeof *c->x);
    c->y = bi_arena_calloc(&s->view.arena, c->n, sizeof *c->y);
    c->colour = bi_arena_calloc(&s->view.arena, c->n, sizeof *c->colour);
    c->labels = bi_arena_calloc(&s->view.arena, c->n, sizeof *c->labels);
    if (!c->x || !c->y || !c->colour || !c->labels)
        return bi_show_no_memory(s, err);
    if ((st = fit(s, p, &fitted, err)) || (st = place(s, p, c, err)))
        return st;
    c->x_name = bi_view_printf(&s->view, "component 1 (%.1f %% of the variance)",
                               100 * p->share[0]);
    c->y_name = bi_view_printf(&s->view, "component 2 (%.1f %% of the variance)",
                               100 * p->share[1]);
    c->colour_name = s->manifest.found ? "length" : "norm";
    f->note = fitted < p->n || c->n < p->n
                  ? bi_view_printf(&s->view,
                                   "%zu %s of %zu values; components fitted to %zu, %zu points "
                                   "shown, both evenly chosen.",
                                   p->n, what, p->width, fitted, c->n)
                  : bi_view_printf(&s->view, "%zu %s of %zu values.", p->n, what, p->width);
    return c->x_name && c->y_name && f->note ? 0 : bi_show_no_memory(s, err);
}

int bi_show_vectors(struct bi_show *s, size_t n, size_t width, const char *const *ids,
                    bi_vector_read read, void *user, const char *what, struct bioinfer_error *err)
{
    struct bi_plane p = {.n = n, .width = width, .ids = ids, .read = read, .user = user};
    struct bi_figure *plane;
    double *norms = NULL;
    int st = 0;
    for (size_t i = 0; i < n; i++)
        bi_view_wants(&s->view, ids[i], strlen(ids[i]));
    p.centre = bi_calloc(s->env, width, sizeof *p.centre);
    p.directions = bi_calloc(s->env, 2 * width, sizeof *p.directions);
    p.vector = bi_calloc(s->env, width, sizeof *p.vector);
    p.norms = bi_calloc(s->env, n, sizeof *p.norms);
    norms = bi_calloc(s->env, n, sizeof *norms);
    if (!p.centre || !p.directions || !p.vector || !p.norms || !norms)
        st = bi_show_no_memory(s, err);
    if (!st && !(st = add_scatter(s, &p, what, &plane, err)) &&
        !(st = bi_show_neighbours(s, &p, plane, err))) {
        for (size_t i = 0; i < n; i++)
            norms[i] = (double)p.norms[i];
        if (!bi_view_histogram(&s->view, "Vectors", "Norms of the vectors", norms, n, ""))
            st = bi_show_no_memory(s, err);
    }
    if (!st)
        st = records(s, &p, err);
    bi_free(s->env, norms);
    bi_free(s->env, p.norms);
    bi_free(s->env, p.vector);
    bi_free(s->env, p.directions);
    bi_free(s->env, p.centre);
    return st;
}

/* knn.c - the nearest residues, by looking at all or cell by cell, see kernels/edges.h. */
#include "../edges.h"
#include "entries.h"
#include "rows.h"

#include <math.h>

enum { KNN_ROWS = 16 }; /* rows of a task */

struct nearest {
    float distance[BI_NEIGHBORS_MAX];
    int32_t index[BI_NEIGHBORS_MAX];
    int n, k;
};

/* Ascending by distance, then index. */
BI_INLINE void take(struct nearest *b, float d, int32_t j)
{
    int at = b->n;
    if (b->n == b->k) {
        at = b->k - 1;
        if (d > b->distance[at] || (d == b->distance[at] && j > b->index[at]))
            return;
    } else {
        b->n++;
    }
    while (at && (b->distance[at - 1] > d || (b->distance[at - 1] == d && b->index[at - 1] > j))) {
        b->distance[at] = b->distance[at - 1];
        b->index[at] = b->index[at - 1];
        at--;
    }
    b->distance[at] = d;
    b->index[at] = j;
}

BI_INLINE float between(const struct bi_knn_params *p, int32_t i, int32_t j)
{
    const float *a = p->x + (int64_t)i * p->width + p->first;
    const float *b = p->x + (int64_t)j * p->width + p->first;
    const float dx = b[0] - a[0], dy = b[1] - a[1], dz = b[2] - a[2];
    return sqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
}

static void look_at_all(const struct bi_knn_params *p, int32_t i, int32_t begin, int32_t end,
                        struct nearest *best)
{
    int masked = 0;
    float far = 0;
    for (int32_t j = begin; j < end; j++) {
        if (p->mask[j] == 0) {
            masked = 1;
            continue;
        }
        const float d = between(p, i, j);
        far = d > far ? d : far;
        take(best, d, j);
    }
    for (int32_t j = begin; masked && j < end; j++)
        if (p->mask[j] == 0)
            take(best, far, j);
}

static int cell_along(const struct bi_cell_grid *g, float x, int axis)
{
    const int c = (int)floorf((x - g->origin[axis]) / g->size);
    return c < 0 ? 0 : c >= g->n[axis] ? g->n[axis] - 1 : c;
}

/* Shells of cells around that of i, until the k-th is nearer than the next shell can be. */
static void look_in_cells(const struct bi_knn_params *p, const struct bi_cell_grid *g, int32_t i,
                          struct nearest *best)
{
    const float *x = p->x + (int64_t)i * p->width + p->first;
    const int32_t *first = p->cells + g->first;
    int at[3], widest = 0;
    for (int a = 0; a < 3; a++) {
        at[a] = cell_along(g, x[a], a);
        widest = at[a] > widest ? at[a] : widest;
        widest = g->n[a] - 1 - at[a] > widest ? g->n[a] - 1 - at[a] : widest;
    }
    for (int s = 0; s <= widest; s++) {
        for (int u = at[0] - s; u <= at[0] + s; u++)
            for (int v = at[1] - s; v <= at[1] + s; v++) {
                const int inside = u > at[0] - s && u < at[0] + s && v > at[1] - s && v < at[1] + s;
                if (u < 0 || u >= g->n[0] || v < 0 || v >= g->n[1])
                    continue;
                for (int w = at[2] - s; w <= at[2] + s; w += inside && s ? 2 * s : 1) {
                    if (w < 0 || w >= g->n[2])
                        continue;
                    const int64_t c = ((int64_t)u * g->n[1] + v) * g->n[2] + w;
                    for (int32_t m = first[c]; m < first[c + 1]; m++)
                        take(best, between(p, i, p->cells[m]), p->cells[m]);
                }
            }
        if (best->n == best->k && best->distance[best->k - 1] < (float)s * g->size * 0.9999f)
            return;
    }
}

int64_t BI_ISA_NAME(knn_tasks)(const void *params, int n_threads)
{
    const struct bi_knn_params *p = params;
    (void)n_threads;
    return (p->counts->n_tokens + KNN_ROWS - 1) / KNN_ROWS;
}

void BI_ISA_NAME(knn_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_knn_params *p = params;
    const int32_t end = p->counts->n_tokens, first = (int32_t)task * KNN_ROWS;
    int32_t s = 0;
    (void)n_tasks;
    (void)scratch;
    for (int32_t i = first; i < end && i < first + KNN_ROWS; i++) {
        struct nearest best = {.n = 0, .k = p->k};
        while (i >= p->start[s + 1])
            s++;
        if (p->mask[i] == 0) { /* all are equally far: the first ones */
            for (int32_t j = p->start[s]; j < p->start[s + 1] && best.n < best.k; j++) {
                best.distance[best.n] = 0;
                best.index[best.n++] = j;
            }
        } else if (p->grid && p->grid[s].n[0]) {
            look_in_cells(p, &p->grid[s], i, &best);
        } else {
            look_at_all(p, i, p->start[s], p->start[s + 1], &best);
        }
        for (int n = 0; n < p->k; n++) {
            p->index[(int64_t)i * p->k + n] = n < best.n ? best.index[n] : -1;
            p->distance[(int64_t)i * p->k + n] = n < best.n ? best.distance[n] : 0;
        }
    }
}

BI_CPU_ENTRY(knn)

/* edges.c - radius graphs and graphs of nearest neighbours.
 *
 * A radius is strict, and distances are compared as squares in double. Limits cut in the order that
 * rusty1s/pytorch_cluster's kernels for GPUs have. */
#include "edges.h"

#include <stdlib.h>

static double square_distance(const double a[3], const double b[3])
{
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

static int add(struct bi_pose_edges *list, int32_t to, int32_t from, struct bioinfer_error *err)
{
    const size_t n = (size_t)list->n + 1;
    if (n > BI_MAX_EDGES)
        return bi_fail(err, BIOINFER_LIMIT, "a complex has more than %d edges", BI_MAX_EDGES);
    if (!bi_grow(list->env, &list->to, &list->cap_to, n, sizeof *list->to) ||
        !bi_grow(list->env, &list->from, &list->cap_from, n, sizeof *list->from))
        return bi_fail(err, BIOINFER_NOMEM, "no memory for %zu edges", n);
    list->to[list->n] = to;
    list->from[list->n++] = from;
    return 0;
}

int bi_edges_within(struct bi_pose_edges *list, const double (*x)[3], int32_t n,
                    const double (*others)[3], int32_t n_others, double radius, int limit,
                    struct bioinfer_error *err)
{
    int st = 0;
    for (int32_t i = 0; i < n; i++) {
        int found = 0;
        for (int32_t j = 0; j < n_others && found < limit && !st; j++)
            if (square_distance(x[i], others[j]) < radius * radius) {
                st = add(list, i, j, err);
                found++;
            }
    }
    return st;
}

int bi_edges_among(struct bi_pose_edges *list, const double (*x)[3], int32_t n, double radius,
                   int limit, struct bioinfer_error *err)
{
    int st = 0;
    for (int32_t i = 0; i < n; i++) {
        int found = 0;
        for (int32_t j = 0; j < n && found < limit && !st; j++)
            if (j != i && square_distance(x[i], x[j]) < radius * radius) {
                st = add(list, j, i, err);
                found++;
            }
    }
    return st;
}

/* A neighbour and its squared distance. */
struct neighbour {
    double distance;
    int32_t j;
};

static int nearer_first(const void *a, const void *b)
{
    const struct neighbour *p = a, *q = b;
    return p->distance < q->distance   ? -1
           : p->distance > q->distance ? 1
           : p->j < q->j               ? -1
                                       : p->j > q->j;
}

/* Neighbours of point i into near, in the order of edges; their number. */
static int32_t neighbours(struct neighbour *near, const double (*x)[3], int32_t n, int32_t i,
                          const struct bi_near_rule *how)
{
    struct neighbour nearest = {0, -1};
    int32_t found = 0;
    for (int32_t j = 0; j < n; j++) {
        const double d = square_distance(x[i], x[j]);
        if (j == i)
            continue;
        if (nearest.j < 0 || d < nearest.distance)
            nearest = (struct neighbour){d, j};
        if (how->no_radius || d < how->radius * how->radius)
            near[found++] = (struct neighbour){d, j};
    }
    if (!found && nearest.j >= 0)
        near[found++] = nearest;
    if (how->limit && found > how->limit) {
        qsort(near, (size_t)found, sizeof *near, nearer_first);
        found = how->limit;
    }
    return found;
}

int bi_edges_nearest(struct bi_pose_edges *list, const double (*x)[3], int32_t n,
                     const struct bi_near_rule *how, struct bioinfer_error *err)
{
    struct neighbour *near = bi_calloc(list->env, (size_t)n, sizeof *near);
    int st = near ? 0 : bi_fail(err, BIOINFER_NOMEM, "no memory for %d neighbours", (int)n);
    for (int32_t i = 0; i < n && !st; i++) {
        const int32_t found = neighbours(near, x, n, i, how);
        for (int32_t k = 0; k < found && !st; k++)
            st = how->receives ? add(list, i, near[k].j, err) : add(list, near[k].j, i, err);
    }
    bi_free(list->env, near);
    return st;
}

void bi_edges_free(struct bi_pose_edges *list)
{
    bi_free(list->env, list->to);
    bi_free(list->env, list->from);
    *list = (struct bi_pose_edges){.env = list->env};
}

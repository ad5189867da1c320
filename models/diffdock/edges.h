/* edges.h - which points of a complex exchange messages. */
#ifndef BI_DIFFDOCK_EDGES_H
#define BI_DIFFDOCK_EDGES_H

#include "../../base/base.h"

/* A list of edges: to[e] receives from from[e]. Zero-initialise but for env. */
struct bi_pose_edges {
    const struct bi_env *env;
    int32_t *to, *from;
    int32_t n;
    size_t cap_to, cap_from;
};

/* Each of the three appends, and fails with NOMEM, or LIMIT for more than BI_MAX_EDGES edges. */
enum { BI_MAX_EDGES = 1 << 26 };

/* For each of n points the points of others [n_others] nearer than radius, in their order, at most
 * the first `limit` of them; the point receives. */
int bi_edges_within(struct bi_pose_edges *list, const double (*x)[3], int32_t n,
                    const double (*others)[3], int32_t n_others, double radius, int limit,
                    struct bioinfer_error *err);
/* For each of n points its neighbours nearer than radius, itself left out, at most the first
 * `limit` of them; the neighbours receive. */
int bi_edges_among(struct bi_pose_edges *list, const double (*x)[3], int32_t n, double radius,
                   int limit, struct bioinfer_error *err);
/* How points of a receptor find their neighbours. */
struct bi_near_rule {
    double radius;
    int limit;      /* the nearest of those within the radius, ties in order; 0 = all of them */
    bool no_radius; /* the nearest, however far */
    bool receives;  /* the point receives from its neighbours; else they receive from it */
};
/* For each of n points its neighbours; where none is within the radius, the nearest one. */
int bi_edges_nearest(struct bi_pose_edges *list, const double (*x)[3], int32_t n,
                     const struct bi_near_rule *how, struct bioinfer_error *err);
/* Frees the list; it is empty then. Safe on zeros with an env. */
void bi_edges_free(struct bi_pose_edges *list);

#endif

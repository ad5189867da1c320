/* tensor_edges.h - what atoms gather from their neighbours, and its derivatives.
 *
 * Edges are compressed rows: edges start[i] ... start[i + 1] - 1 of atom i come from atoms col[e],
 * and vector[e] is the place of atom i less that of the neighbour (of its image), in angstrom. Both
 * directions of a pair are there, and reverse[e] is the other one. An edge's factors are functions
 * of its length r alone, tables of cubic pieces: with r = (k + x) cutoff / knots, 0 <= x < 1, row k
 * of a table holds c0, c1, c2 and c3 of n factors c0 + c1 x + c2 x^2 + c3 x^3, n numbers each.
 *
 * Every atom adds its edges in their order, so nothing depends on what runs beside it. Arrays are
 * dense. Matrices are coordinates as tensor_math.h has them. */
#ifndef BI_TENSOR_EDGES_PARAMS_H
#define BI_TENSOR_EDGES_PARAMS_H

#include "counts.h"

/* The edges of a batch. `table` has knots rows of 12 width numbers: four of each of three factors
 * in all channels. */
struct bi_edge_list {
    const struct bi_counts *counts;
    const int32_t *start, *col, *reverse;
    const float *vector, *table;
    int64_t rows; /* atoms, by BI_AXIS_TOKENS */
    float cutoff;
    int32_t knots, width;
};

/* Sums over the neighbours j of atom i; Z = own[z_i] + other[z_j] by their kinds, u is the unit
 * vector:
 *   y0 = sqrt 3 sum f0 Z,  y1 = sqrt 2 sum f1 Z u,  y2 = sum f2 Z s(u)
 * where s(u) are the five coordinates of u u^T. With self, y0 has sqrt 3 self Z_ii, too. */
struct bi_tensor_embed_params {
    struct bi_edge_list edges;
    const int32_t *code;             /* [rows] kinds */
    const float *own, *other, *self; /* [kinds, width] twice, [width] or NULL */
    const float *g[3];               /* derivative by y, of the gradient alone */
    float *y[3];
    float *dvector;           /* [E, 3] the derivative by the vectors, of the gradient alone */
    const float *more_vector; /* [E, 3] is added to that, last, or NULL */
};

/* y_k[i] = sum over neighbours j of f_k x_k[j], and with self y_k[i] has self_k x_k[i], too.
 * The gradient has g as the derivative by y: dx_k[i] = sum of f_k g_k[j], and the derivative by the
 * vector of an edge's reverse is -u times the sum over channels of f_k' x_k[i] . g_k[j]. `more`,
 * which may be NULL, are derivatives that others gave: they are added last, each to its result.
 * Without edges.reverse atoms get their own: x_k[i], g_k[i] stand for x_k[j], g_k[j], and the
 * derivative by the vector of the edge itself is u times that sum. */
struct bi_tensor_message_params {
    struct bi_edge_list edges;
    const float *x[3], *self; /* self: [3 width] or NULL */
    const float *g[3];
    float *y[3]; /* a gradient has dx here */
    float *dvector;
    const float *more[3], *more_vector; /* as y and dvector; the three are NULL together */
};

/* The atom whose numbers edge e brings to atom i. */
static inline int32_t bi_message_from(const struct bi_edge_list *l, int64_t i, int64_t e)
{
    return l->reverse ? l->col[e] : (int32_t)i;
}

/* The edge that gets its derivative at edge e, and what stands before u there. */
static inline int64_t bi_message_back(const struct bi_edge_list *l, int64_t e, float *sign)
{
    *sign = l->reverse ? -1.0f : 1.0f;
    return l->reverse ? l->reverse[e] : e;
}

/* Launches of derivatives have the parameters of what they are derivatives of. */
#define bi_tensor_embed_grad_params bi_tensor_embed_params
#define bi_tensor_message_grad_params bi_tensor_message_params

/* The derivatives d by the vectors give y [rows, 12]: the force on atom i, which is the sum over
 * its edges of d[reverse] - d, and then the sum of vector_a d_b, row by row. */
struct bi_edge_forces_params {
    struct bi_edge_list edges; /* without a table */
    const float *d;
    float *y;
};

/* Where a length is among the knots, and the powers of x that c0 to c3 go with; d: the same for
 * the derivative by the length, where c0 plays no part. */
struct bi_edge_place {
    int32_t knot;
    float by[4], d[4];
};

/* The powers of x, 0 to 3, behind a knot (0 <= x <= 1, which is not checked), and their derivatives
 * by the distance. */
static inline struct bi_edge_place bi_edge_place_at(int32_t knot, float x, float cutoff,
                                                    int32_t knots)
{
    struct bi_edge_place p;
    const float per = (float)knots / cutoff;
    p.knot = knot;
    p.by[0] = 1.0f;
    p.by[1] = x;
    p.by[2] = x * x;
    p.by[3] = x * x * x;
    p.d[0] = 0.0f;
    p.d[1] = per;
    p.d[2] = 2.0f * x * per;
    p.d[3] = 3.0f * x * x * per;
    return p;
}

/* The place of distance r, 0 to `cutoff`, among so many knots, at least 1. A larger one, and the
 * cutoff itself, is in the last piece, which goes on: x is 1 and more there. */
static inline struct bi_edge_place bi_edge_place_of(float r, float cutoff, int32_t knots)
{
    const float per = (float)knots / cutoff, t = r * per;
    int32_t knot = (int32_t)t;
    if (knot > knots - 1)
        knot = knots - 1;
    return bi_edge_place_at(knot, t - (float)knot, cutoff, knots);
}

/* The five coordinates of u u^T, 4 to 8 of tensor_math.h; u need not be a unit vector. */
static inline void bi_edge_square(const float u[3], float s[5])
{
    const float half = 0.70710678118654752440f, sixth = 0.40824829046386301637f;
    s[0] = 2.0f * half * u[0] * u[1];
    s[1] = 2.0f * half * u[0] * u[2];
    s[2] = 2.0f * half * u[1] * u[2];
    s[3] = half * (u[0] * u[0] - u[1] * u[1]);
    s[4] = sixth * (2.0f * u[2] * u[2] - u[0] * u[0] - u[1] * u[1]);
}

#endif

/* conv.h - convolution over edges by products of irreps.
 *
 * A message is the product of the sender's features x and the harmonics y of the edge, whose
 * weights are W h + b, where h is what a small network makes of the edge and the scalars of its
 * ends. A message is linear in h, so sums over the edges of a receiver are made first, of
 * v[u, m] h with v = C x y, and W is applied once for each receiver. */
#ifndef BI_DIFFDOCK_CONV_H
#define BI_DIFFDOCK_CONV_H

#include "../../base/arena.h"
#include "irreps.h"

enum { BI_CONV_GROUPS = 4, BI_CONV_BLOCKS = 3 };

/* y = W x + b: weights [in][stride], which is out rounded up to a multiple of 4; b may be NULL. */
struct bi_dense {
    int in, out, stride;
    const float *weight, *bias;
};

/* How a computation is run. The arena has room for results, which its owner frees. */
struct bi_run {
    const struct bi_env *env;
    int n_threads;
    struct bi_arena *arena;
};

/* The network of one group of edges. */
struct bi_conv_group {
    struct bi_dense first;  /* takes blocks of `ns` numbers: the edge, scalars of nodes */
    struct bi_dense middle; /* out 0: there is none */
    const float *last[BI_IRREPS_PATHS]; /* W and b of each path, times its c: [u][h][w] */
};

/* A convolution. */
struct bi_irreps_conv {
    struct bi_irreps in, sh, out;
    struct bi_paths paths;
    int n_groups, n_blocks, ns, hidden, h_stride; /* a row of h ends in a 1, then zeros */
    struct bi_conv_group group[BI_CONV_GROUPS];
    const float *scale, *shift; /* [out.width] of the norm after the mean */
};

/* Scalars of nodes that stand beside each edge: of row at[e] of x. */
struct bi_conv_block {
    const float *x;
    const int32_t *at;
    int32_t n;
    int stride;
};

/* Edges of one group. */
struct bi_conv_edges {
    int group;
    int32_t n;
    const int32_t *to, *from;
    const float *attr;                              /* [n][ns] */
    const float *sh;                                /* [n][sh.width] */
    const float *x;                                 /* features of the senders, in.width each */
    struct bi_conv_block block[BI_CONV_BLOCKS - 1]; /* after attr; the convolution has n_blocks */
};

/* C[rows][ldc] = A B, or += where `add`: A is [rows][k], whose number (r, i) is
 * a[r * a_row + i * a_k]; B is [k][ldb]; columns is a multiple of 4. A row's sums do not depend on
 * the number of rows. */
void bi_gemm(int rows, int columns, int64_t k, const float *a, int64_t a_row, int64_t a_k,
             const float *b, int64_t ldb, float *c, int64_t ldc, bool add);
/* y[rows][y_stride] = W x + b, or without b += where `add`; y_stride is at least dense->stride. */
void bi_dense_apply(const struct bi_dense *dense, int rows, const float *x, int64_t x_stride,
                    float *y, int64_t y_stride, bool add);
/* out[n_to][out.width]: the mean of the messages of all lists of edges to each receiver, normed.
 * A receiver without edges has the shift of the norm. NOMEM alone. */
int bi_conv_run(const struct bi_irreps_conv *conv, const struct bi_run *run,
                const struct bi_conv_edges *edges, int n_lists, int32_t n_to, float *out,
                struct bioinfer_error *err);

#endif

/* edges.h - graphs over residues: parameters of what runs along their edges.
 *
 * Tokens of all structures are packed; structure s has tokens start[s] ... start[s + 1] - 1.
 * Edge e = t k + n goes from token t to its n-th neighbour index[t, n], an absolute token, or -1
 * where a structure has fewer than k residues. A sample is one sequence decoded over a structure:
 * its tokens are packed likewise, parallel to those of the structure. */
#ifndef BI_EDGES_PARAMS_H
#define BI_EDGES_PARAMS_H

#include "counts.h"

enum {
    BI_NEIGHBORS_MAX = 64,
    BI_ATOMS_MAX = 8,
    BI_RBF_BINS = 16,
    BI_ATOM_FEATURES = 5 * BI_RBF_BINS + 4
};

/* y = [x | c-beta]: of x [rows, 12] = N, CA, C, O the ideal C-beta is
 *   -0.58273431 a + 0.56802827 b - 0.54067466 c + CA,  b = CA - N, c = C - CA, a = b x c. */
struct bi_virtual_cb_params {
    const struct bi_counts *counts;
    const float *x; /* [rows, 12] */
    float *y;       /* [rows, 15] */
    int64_t rows;
    int32_t axis;
};

/* A structure's cells: origin and edge in angstrom, number along each axis, where its table of
 * first residues begins. cells NULL or no cells: all residues are looked at. */
struct bi_cell_grid {
    float origin[3], size;
    int32_t n[3];
    int32_t first; /* in `cells`, after the sorted tokens: n[0] n[1] n[2] + 1 entries */
};

/* The k nearest residues by D = m_i m_j sqrt(d^2 + 1e-6) + (1 - m_i m_j) max_j, ascending; equal
 * ones by lower index. m: mask. x: rows of `width` floats, the point at `first`. */
struct bi_knn_params {
    const struct bi_counts *counts;
    const float *x, *mask;
    const int32_t *start;
    const int32_t *cells; /* [n_cells] tokens of unmasked residues by cell, then tables of first */
    const struct bi_cell_grid *grid; /* [n_seqs] */
    int32_t *index;                  /* [rows, k] */
    float *distance;                 /* [rows, k] */
    int64_t rows;
    int32_t width, first, k;
};

/* y[e, 16 p + b] = exp(-((d - mu_b) / 1.25)^2), mu_b = 2 + 20 b / 15, d the distance of pair p:
 * atom pairs[p, 0] of the token, pairs[p, 1] of the neighbour, sqrt(d^2 + 1e-6); pair 0 is the
 * distance that knn gave. x: [rows, width] with atoms of three floats. */
struct bi_rbf_params {
    const struct bi_counts *counts;
    const float *x, *distance, *pairs;
    const int32_t *index;
    float *y; /* [rows k, 16 n_pairs] */
    int64_t rows;
    int32_t width, k, n_pairs;
};

/* y[e, :] = table[d, :], d = number_i - number_j + 32 within [0, 64], or 65 between chains. */
struct bi_relative_params {
    const struct bi_counts *counts;
    const float *table; /* [66, width] */
    const int32_t *number, *chain, *index;
    float *y; /* [rows k, width] */
    int64_t rows;
    int32_t width, k;
};

/* Direction and rotation of the neighbour's frame from CA alone: y[e, 0:3] = O_i (x_j - x_i) as
 * a unit vector, y[e, 3:7] the quaternion (x, y, z, w) of O_i^T O_j.
 * Two residues that are bonded to each other alone have frames of one axis, which point against
 * each other: x, y and z are 0, and w, half the square root of 1 + trace, is 0, too. What rounding
 * leaves of 1 + trace (below 1e-6) would become a w of 1 by the norm that follows. */
#define BI_ORIENTATION_NONE 1e-6f
struct bi_orientation_params {
    const struct bi_counts *counts;
    const float *x;
    const int32_t *index, *start;
    float *y; /* [rows k, 7] */
    int64_t rows;
    int32_t width, first, k;
};

/* y[e, :] = [h_i | e_ij | h_j]; zero where there is no neighbour. */
struct bi_edge_concat_params {
    const struct bi_counts *counts;
    const float *h, *e;
    const int32_t *index;
    float *y; /* [rows k, 2 width + edge_width] */
    int64_t rows;
    int32_t width, edge_width, k;
};

/* edge_sum and edge_message have this in common. Row r of R stands for token t = token[r] of
 * the structure and token s = row[r] of the sample (NULL: r itself; row -1: the row is idle and
 * gives zeros). Its neighbour j of the structure is j' = j - t + s of the sample. Then
 *
 *   z = edge[t k + n, :] + self[r, :] + v
 *   v = other[j', :] + table[codes[j'], :]      late NULL, or rank[j'] < rank[s]
 *   v = late[j, :]                              else
 *
 * in this order of sums; what is NULL adds nothing. index NULL: neighbour n is row t k + n of
 * everything, and `other` is not read. */
struct bi_edge_terms {
    const float *edge, *self, *other, *late, *table;
    const int32_t *rank, *codes, *index, *row, *token;
    int32_t width, k;
};

/* y[r k + n, :] = act(z); zero where there is no neighbour. */
struct bi_edge_sum_params {
    const struct bi_counts *counts;
    struct bi_edge_terms terms;
    float *y;
    int64_t rows;
    int32_t axis, act;
};

/* sum[r, :] = factor mask_t sum_n mask_j x[r k + n, :], weight[r] the same sum of ones. A mask
 * of NULL is all ones; with index NULL it is that of the n-th neighbour itself, mask[t k + n]. */
struct bi_neighbor_sum_params {
    const struct bi_counts *counts;
    const float *x, *mask;
    const int32_t *index, *token;
    float *sum, *weight;
    int64_t rows;
    int32_t axis, width, k;
    float factor;
};

/* neighbor_sum of gelu(w gelu(z) + b), rows by rows in fast memory. w: [width, width] in the
 * layout of the backend. */
struct bi_edge_message_params {
    const struct bi_counts *counts;
    struct bi_edge_terms terms;
    const void *w;
    const float *b, *mask;
    float *sum, *weight;
    int64_t rows;
    int32_t axis;
    float factor;
};

/* Features of an atom near a residue. Every token has n_atoms atoms: row t n_atoms + a. x:
 * [tokens, 15] of virtual_cb, atoms: [rows, 3]. y[r, :] = Gaussians (see rbf) of the distances
 * from N, CA, C, O and C-beta, then, with (u, v, w) = atom - CA in the frame e1 along N - CA, e2
 * in the plane of C - CA, e3 = e1 x e2, and s = sqrt(u^2 + v^2 + 1e-8), l = |u v w| + 1e-8:
 * u / s, v / s, s / l, w / l. */
struct bi_atom_features_params {
    const struct bi_counts *counts;
    const float *x, *atoms;
    float *y; /* [rows, 84] */
    int64_t rows;
    int32_t n_atoms;
};

/* Pairs of atoms of one token, row r n_atoms + b for atom row r and atom b of its token:
 * y[e, :] = Gaussians of sqrt(|difference|^2 + 1e-6), pair_mask[e] the product of both masks. */
struct bi_atom_pairs_params {
    const struct bi_counts *counts;
    const float *atoms, *mask;
    float *y;         /* [rows, 16] */
    float *pair_mask; /* [rows] */
    int64_t rows;
    int32_t n_atoms;
};

/* y = r + c b: c one number per row. */
struct bi_row_bias_params {
    const struct bi_counts *counts;
    const float *r, *b, *c;
    float *y;
    int64_t ldr, ldy, rows;
    int32_t axis, width;
};

#endif

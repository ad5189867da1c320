/* align.h - pairwise alignment by difference recurrences: what the kernels share.
 *
 * Rows i = 1..n are the query, columns j = 1..m the target. A gap of length k costs
 * o + (k - 1) e. With H, E (gap that consumes the target), F (gap that consumes the query) as
 * in ops/align.h, only differences of neighbours are kept, each with an offset that makes it
 * non-negative:
 *   U[i][j] = H[i][j] - H[i-1][j] + o         Y[i][j] = max(0, E[i][j] - H[i][j] + o - e)
 *   V[i][j] = H[i][j] - H[i][j-1] + o         X[i][j] = max(0, F[i][j] - H[i][j] + o - e)
 * and with S2 = S(q_i, t_j) + 2 o, at least 0,
 *   A = X[i-1][j] + V[i-1][j]   B = Y[i][j-1] + U[i][j-1]   Z = max(S2, A, B)
 *   U[i][j] = Z - V[i-1][j]     X[i][j] = max(0, A - Z + o - e)
 *   V[i][j] = Z - U[i][j-1]     Y[i][j] = max(0, B - Z + o - e)
 * All values lie in [0, 3 o + max(S, 0)] whatever the lengths, so 8-bit lanes are exact for
 * sequences of any length and only the scores decide when wider lanes are needed. The score is
 * the border value of one corner plus the differences along one side.
 * Source: Suzuki, Kasahara, BMC Bioinformatics 19:45 (2018). */
#ifndef BI_ALIGN_KERNELS_H
#define BI_ALIGN_KERNELS_H

#include <stdint.h>

enum { BI_ALIGN_LETTERS = 32 }; /* codes of residues are 0 .. 31 */

/* Bits of a cell's flags: which of S2, A, B is Z; whether the gap that leaves the cell
 * downwards (F) or to the right (E) extends one, ties included. */
enum bi_align_flag {
    BI_ALIGN_DIAGONAL = 1,
    BI_ALIGN_FROM_F = 2,
    BI_ALIGN_FROM_E = 4,
    BI_ALIGN_EXTEND_F = 8,
    BI_ALIGN_EXTEND_E = 16
};

/* Which forms of the recurrences a scoring allows. */
enum bi_align_kind {
    BI_ALIGN_LINEAR, /* o = e: X and Y are 0 */
    BI_ALIGN_AFFINE, /* every S >= -(o + e), so Z >= o - e */
    BI_ALIGN_STEEP   /* any S */
};

/* Differences at the borders: of the first row or column, and of the others. Free begins
 * have o in both. */
struct bi_align_border {
    int32_t first, rest;
};

/* ---- GPU: align.cu ---- */

/* Two pairs with targets of one length, one in each half of packed numbers. */
struct bi_align_job {
    uint32_t query[2], target[2]; /* offsets into codes; both the same = one pair */
    int32_t n[2], m;              /* at least 1 */
    int32_t out[2];               /* places in scores */
};

struct bi_align_params {
    const uint8_t *codes;           /* below letters */
    const struct bi_align_job *jobs; /* [n_jobs] */
    const float *table;             /* [letter of target][32 of query]: S + 2 o */
    int32_t *scores;                /* H[n][m] - H[0][m] */
    float *border;                  /* [n_jobs, a multiple of 2][4][stride], for several strips */
    int64_t stride;                 /* at least the longest target, a multiple of 32 */
    int32_t n_jobs, letters;
    int32_t open, gap;              /* o, o - e */
    struct bi_align_border left, top;
};

enum { BI_ALIGN_GPU_GROUPS = 2, BI_ALIGN_GPU_THREADS = 64 }; /* of a block */

#endif

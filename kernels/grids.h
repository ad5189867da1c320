/* grids.h - values of all pairs of n places: row i n + j of a grid is the pair (i, j). Several
 * grids lie one behind the other.
 *
 * Grids of the tokens of sequences (axis GRID) begin at grid_start [n_seqs + 1]: a sequence of n
 * tokens has a grid of n n rows, and an empty sequence an empty grid. Other grids are of one n. */
#ifndef BI_GRIDS_PARAMS_H
#define BI_GRIDS_PARAMS_H

#include "counts.h"

/* A row of a grid: it is the pair (i, j) of n places. */
struct bi_grid_row {
    int64_t grid, i, j, n; /* grid: where it begins */
    int32_t seq;           /* the number of the grid */
};

/* Gives n of a grid of n n rows. */
static inline int64_t bi_grid_side(int64_t rows)
{
    int64_t n = (int64_t)__builtin_sqrtf((float)rows); /* off by one at most */
    n -= n * n > rows;
    return n + ((n + 1) * (n + 1) <= rows);
}

/* Finds row r of the grids of sequences; of a row behind them it says nothing. There is a
 * sequence. */
static inline struct bi_grid_row bi_grid_row_of(const struct bi_counts *counts,
                                                const int32_t *grid_start, int64_t r)
{
    struct bi_grid_row at = {0, 0, 0, 0, 0};
    for (int32_t end = counts->n_seqs; end - at.seq > 1;) {
        const int32_t middle = at.seq + (end - at.seq) / 2;
        if (grid_start[middle] <= r)
            at.seq = middle;
        else
            end = middle;
    }
    at.grid = grid_start[at.seq];
    at.n = bi_grid_side(grid_start[at.seq + 1] - at.grid);
    at.i = (r - at.grid) / at.n;
    at.j = (r - at.grid) % at.n;
    return at;
}

/* y[i n + j] = (x[i n + j] + x[j n + i]) / 2 in each grid.   x, y: [rows, width] */
struct bi_symmetrise_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, rows; /* a multiple of n n */
    int32_t width, n;
};

/* y[i n + j] = x[i n + j] + a[i] + b[j] in each grid.   x, y: [rows, width], x NULL: 0; a, b:
 * [tokens, width], with start and grid_start of sequences, or, where both are NULL, [rows / n,
 * width]. axis: of the rows of x and y. product: y[i n + j] = a[i] b[j], and x is not read. */
struct bi_outer_add_params {
    const struct bi_counts *counts;
    const int32_t *start, *grid_start; /* [n_seqs + 1] */
    const float *x, *a, *b;
    float *y;
    int64_t ldx, lda, ldb, ldy, rows;
    int32_t axis, width, n, product;
};

/* Finds row r of its grids, and the row of a and b that its place 0 has. */
static inline struct bi_grid_row bi_outer_add_row(const struct bi_outer_add_params *p, int64_t r,
                                                  int64_t *first)
{
    const int64_t n = p->n;
    struct bi_grid_row at = {0, 0, 0, n, 0};
    if (p->start) {
        at = bi_grid_row_of(p->counts, p->grid_start, r);
        *first = p->start[at.seq];
        return at;
    }
    at.i = r / n % n;
    at.j = r % n;
    at.grid = r - at.i * n - at.j;
    *first = at.grid / n;
    return at;
}

/* y[j n + i] = x[i n + j] in each grid of the sequences.   x, y: [rows, width], both float32 or
 * both float16 */
struct bi_turn_params {
    const struct bi_counts *counts;
    const int32_t *grid_start; /* [n_seqs + 1] */
    const float *x;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t width;
};

/* Logits of pairs by content and by distance, for each head h of n_heads:
 *   y[i n + j, h] = s[i, h n + j] + (p[i, h m + c(j - i)] + q[j, h m + c(i - j)]) / 2
 * s: [rows / n, n_heads n]; p, q: [rows / n, n_heads m], m = 2 n_edges + 1; y: [rows, n_heads].
 * c(d) = n_edges + sign(d) k is the class of a distance: k of the n_edges ascending `edges` are at
 * most |d|. */
struct bi_grid_logits_params {
    const struct bi_counts *counts;
    const float *s, *p, *q, *edges;
    float *y;
    int64_t lds, ldp, ldq, ldy, rows;
    int32_t n, n_heads, n_edges;
};

/* The class of a distance, 0 to 2 n_edges: n_edges + k for one above 0 with k of the ascending
 * edges at or below it, n_edges - k for one below 0 with k of them at or below its absolute value,
 * n_edges for 0. */
static inline int bi_grid_class(const float *edges, int n_edges, int64_t distance)
{
    const int64_t far = distance < 0 ? -distance : distance;
    int k = 0;
    while (k < n_edges && edges[k] <= (float)far)
        k++;
    return n_edges + (distance < 0 ? -k : distance ? k : 0);
}

/* y[r, h m + i] = the dot product of head h of x[r] and head h of w[i], in each of `blocks` that
 * the rows of x and of w are cut into.   x: [rows, n_heads d], w: [blocks m, n_heads d], y: [rows,
 * n_heads m] */
struct bi_head_products_params {
    const struct bi_counts *counts;
    const float *x, *w;
    float *y;
    int64_t ldx, ldw, ldy, rows, m;
    int32_t blocks, n_heads, d;
};

#endif

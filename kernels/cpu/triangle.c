/* triangle.c - products of the rows of two grids, channel by channel (kernels/triangle.h).
 *
 * Lanes are channels. A task is SIDE places i of a sequence and VW channels, for all places j, in
 * tiles of SIDE by SIDE pairs: rows of a and of b are packed DEPTH places k at a time, and sums go
 * on from one such piece to the next in the order of k. */
#include "../triangle.h"
#include "entries.h"
#include "rows.h"

enum { SIDE = 16, DEPTH = 64, DOWN = VREGS >= 32 ? 4 : 2, ACROSS = 4 };

static int64_t pieces_of(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

int64_t BI_ISA_NAME(triangle_tasks)(const void *params, int n_threads)
{
    const struct bi_triangle_params *p = params;
    (void)n_threads;
    return pieces_of(p->counts->longest, SIDE) * pieces_of(p->width, VW) * p->counts->n_seqs;
}

size_t BI_ISA_NAME(triangle_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    (void)params;
    (void)rows;
    (void)longest;
    return sizeof(float) * VW * SIDE * (2 * DEPTH + SIDE);
}

/* to[k][i] = channels of the edges of places first + i and triangles from + k, i < SIDE, k < depth;
 * x: of the grid's row 0. Places from n on are 0. */
BI_INLINE void pack(float *to, const struct bi_triangle_params *p, const float *x, int64_t ldx,
                    int64_t n, int64_t first, int64_t from, int depth, int m)
{
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t k = 0; k < depth; k++) {
            const float *row = x + bi_triangle_row(p, n, first + i, from + k) * ldx;
            vf_store(to + (k * SIDE + i) * VW, first + i < n ? vf_load_n(row, m) : vf_zero());
        }
}

/* sums [SIDE][SIDE] += a[k][i] b[k][j] for k < depth, in order. */
BI_INLINE void add_products(float *sums, const float *a, const float *b, int depth)
{
    for (int i = 0; i < SIDE; i += DOWN)
        for (int j = 0; j < SIDE; j += ACROSS) {
            vf sum[DOWN][ACROSS];
            for (int u = 0; u < DOWN; u++)
                for (int v = 0; v < ACROSS; v++)
                    sum[u][v] = vf_load(sums + ((i + u) * SIDE + j + v) * VW);
            for (int k = 0; k < depth; k++) {
                vf x[DOWN];
                for (int u = 0; u < DOWN; u++)
                    x[u] = vf_load(a + (k * SIDE + i + u) * VW);
                for (int v = 0; v < ACROSS; v++) {
                    const vf y = vf_load(b + (k * SIDE + j + v) * VW);
                    for (int u = 0; u < DOWN; u++)
                        sum[u][v] = vf_fma(x[u], y, sum[u][v]);
                }
            }
            for (int u = 0; u < DOWN; u++)
                for (int v = 0; v < ACROSS; v++)
                    vf_store(sums + ((i + u) * SIDE + j + v) * VW, sum[u][v]);
        }
}

void BI_ISA_NAME(triangle_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_triangle_params *p = params;
    const int64_t groups = pieces_of(p->width, VW);
    const int64_t of_seq = groups * pieces_of(p->counts->longest, SIDE), seq = task / of_seq;
    const int64_t grid = p->grid_start[seq], n = bi_grid_side(p->grid_start[seq + 1] - grid);
    const int64_t first = task % of_seq / groups * SIDE;
    const int column = (int)(task % groups) * VW, m = lanes(column, p->width);
    const float *a = p->a + grid * p->lda + column, *b = p->b + grid * p->ldb + column;
    float *left = scratch, *right = left + DEPTH * SIDE * VW, *sums = right + DEPTH * SIDE * VW;
    (void)n_tasks;
    for (int64_t across = 0; first < n && across < n; across += SIDE) {
        memset(sums, 0, sizeof *sums * SIDE * SIDE * VW);
        for (int64_t from = 0; from < n; from += DEPTH) {
            const int depth = n - from < DEPTH ? (int)(n - from) : DEPTH;
            pack(left, p, a, p->lda, n, first, from, depth, m);
            pack(right, p, b, p->ldb, n, across, from, depth, m);
            add_products(sums, left, right, depth);
        }
        for (int64_t i = first; i < n && i < first + SIDE; i++)
            for (int64_t j = across; j < n && j < across + SIDE; j++)
                vf_store_n(p->y + (grid + i * n + j) * p->ldy + column,
                           vf_load(sums + ((i - first) * SIDE + j - across) * VW), m);
    }
}

BI_CPU_ENTRY_SCRATCH(triangle)

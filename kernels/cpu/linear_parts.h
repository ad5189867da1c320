/* linear_parts.h - what the linear kernels of all instruction sets share: how a product is cut into
 * tasks, and what is done with its sums. In front of it MR and NR say how many rows and columns a
 * tile has; VW divides NR. */
#ifndef BI_CPU_LINEAR_PARTS_H
#define BI_CPU_LINEAR_PARTS_H

#include "../linear.h"
#include "math.h"

#include <assert.h>
#include <stdbool.h>

/* The smaller of two. */
static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* a / b rounded up, of a >= 0 and b > 0. */
static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Where part i of n begins, `total` for i = n. Sizes of parts differ by at most one, the larger
 * ones come first, and none is empty where total >= n. */
static int64_t part_start(int64_t total, int64_t i, int64_t n)
{
    return total / n * i + min64(i, total % n);
}

/* Whether a launch of "linear" is the product alone, in float32: its gates in halves of a panel,
 * nothing rotated, no twin, nothing that follows y or that gradients ask for. Bias, residual and
 * act do not matter. */
static bool accepts_product(const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    return bi_cpu_accepts_full(call) && (!p->gated || p->gated == NR / 2) && !p->table &&
           !p->also && !p->odd && !p->twin && !p->more_x && !p->before && !p->slope;
}

struct grid {
    int64_t tiles, panels; /* that the whole product has */
    int64_t rows, columns; /* blocks of tiles, blocks of panels */
};

/* Splits the product in more tasks than before; false: each task is one tile of one panel, and g
 * stays. Panels are not split first where fewer than `wide` would be left for a task, as each packs
 * its rows of x. The grid has at least one row and one column. */
static bool grid_refine(struct grid *g, int64_t wide)
{
    if (g->panels / g->columns >= 2 * wide)
        g->columns *= 2;
    else if (g->tiles / g->rows >= 4)
        g->rows *= 2;
    else if (g->columns < g->panels)
        g->columns = g->panels;
    else if (g->rows < g->tiles)
        g->rows = g->tiles;
    else
        return false;
    return true;
}

/* The first grid of at least `least` tasks, of at most `block_tiles` tiles each, or of as many
 * tasks as can be where that is fewer; it depends on nothing else but the sizes, so a task finds it
 * again with the number of tasks for `least`. m rows, and p->n, must be more than 0. */
static struct grid grid_for(const struct bi_linear_params *p, int64_t m, int64_t least,
                            int64_t block_tiles, int64_t wide)
{
    assert(m > 0 && p->n > 0);
    struct grid g = {.tiles = ceil_div(m, MR), .panels = ceil_div(p->n, NR), .columns = 1};
    g.rows = ceil_div(g.tiles, block_tiles);
    if (g.rows > 2)
        g.rows = min64((g.rows + 3) & ~(int64_t)3, g.tiles);
    while (g.rows * g.columns < least && grid_refine(&g, wide))
        ;
    return g;
}

/* The activation of enum bi_act; z itself for any other. */
BI_INLINE vf activate(vf z, int act)
{
    switch (act) {
    case BI_ACT_GELU:
        return vf_gelu(z);
    case BI_ACT_RELU:
        return vf_relu(z);
    case BI_ACT_SILU:
        return vf_silu(z);
    case BI_ACT_GELU_TANH:
        return vf_gelu_tanh(z);
    default:
        return z;
    }
}

/* y = act(gates) * values, `columns` / 2 of them from column / 2 of y on; a panel is NR / 2 gates
 * and their values, the last one less. There must be no bias and no residual. */
static void finish_gated(const struct bi_linear_params *p, const float *tile, int64_t row,
                         int64_t rows, int64_t column, int columns)
{
    const int half = columns / 2;
    assert(p->gated == NR / 2 && !p->bias && !p->residual);
    for (int64_t r = row; r < row + rows; r++, tile += NR)
        for (int at = 0; at < half; at += VW) {
            const int n = half - at < VW ? half - at : VW;
            vf_store_n(
                p->y + r * p->ldy + column / 2 + at,
                vf_mul(activate(vf_load_n(tile + at, n), p->act), vf_load_n(tile + half + at, n)),
                n);
        }
}

/* y = act(tile + bias) + residual for `rows` rows and `columns` <= NR columns; bias and residual
 * may be NULL. Rows of the tile are NR apart; row and column are the place in y of the first. */
BI_INLINE void finish(const struct bi_linear_params *p, const float *tile, int64_t row,
                      int64_t rows, int64_t column, const int columns)
{
    for (int64_t r = row; r < row + rows; r++, tile += NR) {
        UNROLL
        for (int at = 0; at < NR; at += VW) {
            const int n = columns - at < VW ? columns - at : VW;
            if (n <= 0)
                break;
            vf z = vf_load(tile + at);
            if (p->bias)
                z = vf_add(z, vf_load_n(p->bias + column + at, n));
            z = activate(z, p->act);
            if (p->residual)
                z = vf_add(z, vf_load_n(p->residual + r * p->ldr + column + at, n));
            vf_store_n(p->y + r * p->ldy + column + at, z, n);
        }
    }
}

/* Writes a tile of sums to y: what is made of them behind the last k, else the sums themselves. A
 * gated product has one block of k: `last` is true for it. */
BI_INLINE void write_tile(const struct bi_linear_params *p, const float *tile, int64_t row,
                          int64_t rows, int64_t column, int columns, bool last)
{
    if (p->gated) /* one block of k, which is the last */
        finish_gated(p, tile, row, rows, column, columns);
    else if (last && columns == NR)
        finish(p, tile, row, rows, column, NR);
    else if (last)
        finish(p, tile, row, rows, column, columns);
    else
        for (int64_t r = 0; r < rows; r++)
            memcpy(p->y + (row + r) * p->ldy + column, tile + r * NR,
                   (size_t)columns * sizeof *tile);
}

/* Tiles and panels of a task, up to their ends. */
struct part {
    int64_t tile0, tile1, panel0, panel1;
};

/* The tiles and the panels of a task of a grid that grid_for() gave; neither is ever none. */
static struct part part_of(const struct grid *g, int64_t task)
{
    const int64_t row_block = task / g->columns, column_block = task % g->columns;
    return (struct part){part_start(g->tiles, row_block, g->rows),
                         part_start(g->tiles, row_block + 1, g->rows),
                         part_start(g->panels, column_block, g->columns),
                         part_start(g->panels, column_block + 1, g->columns)};
}

#endif

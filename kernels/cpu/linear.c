/* linear.c - y = act(x w^T + bias) + residual, see kernels/linear.h.
 *
 * Weights are packed once into panels of NR columns: [n / NR][k][NR], zero columns at the end.
 * A task is one block of rows times one block of panels. It packs its rows of x into tiles of
 * at most MR rows, [k / 4][rows of the tile][4], so that the micro kernel walks both operands
 * without a stride; then
 *
 *     for each block of k         partial sums wait in y, exactly as they were
 *         for each panel          k * NR floats, from L2 after the first tile
 *             for each row tile   rows x NR sums in registers
 *
 * Every sum is one chain over k in order; tiles, blocks and tasks only choose which sums a
 * thread makes, so they do not show in the result. */
#include "entries.h"
#include "tile.h"

#include "linear_parts.h"

enum {
    KC = 1280,              /* longest block of k */
    BLOCK_SIZE = 448 << 10, /* packed rows of one task: half of a level-2 cache */
    WIDE = 4                /* panels of a task before rows are split */
};

/* Longest block of k when all blocks are about equal; a multiple of 4. Partial sums of a gated
 * product would not fit into y: there k is one block. */
static int64_t block_k(const struct bi_linear_params *p)
{
    const int64_t n = p->gated ? 1 : ceil_div(p->k, KC);
    return p->k ? (ceil_div(p->k, n) + 3) & ~(int64_t)3 : 4;
}

/* Most tiles of one task: they stay in the level-2 cache beside one panel. */
static int64_t block_tiles(const struct bi_linear_params *p)
{
    int64_t n = BLOCK_SIZE / (MR * block_k(p) * (int64_t)sizeof(float));
    return n < 1 ? 1 : n > 16 ? 16 : n;
}

int64_t BI_ISA_NAME(linear_tasks)(const void *params, int n_threads)
{
    const struct bi_linear_params *p = params;
    int64_t m = bi_live_rows(p->counts, p->axis, p->rows);
    if (m <= 0 || p->n <= 0)
        return 0;
    struct grid g = grid_for(p, m, n_threads > 1 ? 4 * (int64_t)n_threads : 1, block_tiles(p),
                             WIDE);
    return g.rows * g.columns;
}

size_t BI_ISA_NAME(linear_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_linear_params *p = params;
    (void)rows;
    (void)longest;
    return (size_t)(block_tiles(p) * MR * block_k(p)) * sizeof(float);
}

/* One tile times one panel, for one block of k. */
static void tile_times_panel(const struct bi_linear_params *p, struct micro *m, int64_t row,
                             int64_t rows, int64_t column, bool last)
{
    float tile[MR * NR] __attribute__((aligned(64)));
    int columns = (int)min64(p->n - column, NR);
    int64_t height = tile_height(rows);
    float *y = p->y + row * p->ldy + (p->gated ? column / 2 : column);
    void (*kernel)(const struct micro *) = micro_kernels[height / 2 - 1];
    for (int64_t r = 0; r < rows; r++) { /* the end will need these */
        for (int c = 0; c < (p->gated ? columns / 2 : columns); c += 16) {
            __builtin_prefetch(y + r * p->ldy + c, 1);
            if (last && p->residual)
                __builtin_prefetch(p->residual + (row + r) * p->ldr + column + c);
        }
    }
    if (columns == NR && rows == height && !(last && p->act != BI_ACT_NONE) && !p->gated) {
        m->c = y;
        m->ldc = p->ldy;
        m->bias = last && p->bias ? p->bias + column : NULL;
        m->residual = last && p->residual ? p->residual + row * p->ldr + column : NULL;
        m->ldr = p->ldr;
        kernel(m);
        return;
    }
    m->c = tile;
    m->ldc = NR;
    m->bias = m->residual = NULL;
    if (m->more) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(tile + r * NR, y + r * p->ldy, (size_t)columns * sizeof *y);
    }
    kernel(m);
    write_tile(p, tile, row, rows, column, columns, last);
}

void BI_ISA_NAME(linear_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_linear_params *p = params;
    const int64_t m = bi_live_rows(p->counts, p->axis, p->rows), kc = block_k(p);
    const struct grid g = grid_for(p, m, n_tasks, block_tiles(p), WIDE);
    assert(g.rows * g.columns == n_tasks);
    const struct part at = part_of(&g, task);
    const float *w = p->w;
    float *packed = scratch;
    int64_t k0 = 0;

    do {
        const int64_t k = min64(p->k - k0, kc);
        const bool last = k0 + k == p->k;
        for (int64_t t = at.tile0; t < at.tile1; t++)
            pack_tile(packed + (t - at.tile0) * MR * kc, p->x + t * MR * p->ldx + k0, p->ldx,
                      min64(m - t * MR, MR), k);
        for (int64_t j = at.panel0; j < at.panel1; j++) {
            const float *panel = w + (j * p->k + k0) * NR;
            const float *next = j + 1 < at.panel1 ? panel + p->k * NR : panel;
            for (int64_t t = at.tile0; t < at.tile1; t++) {
                struct micro args = {.a = packed + (t - at.tile0) * MR * kc,
                                     .b = panel,
                                     .next = next + (t - at.tile0) % (NR / 4) * k * 4,
                                     .k = k,
                                     .more = k0 > 0};
                tile_times_panel(p, &args, t * MR, min64(m - t * MR, MR), j * NR, last);
            }
        }
        k0 += k;
    } while (k0 < p->k);
}

int64_t BI_ISA_NAME(panel)(void)
{
    return NR;
}

size_t BI_ISA_NAME(pack_size)(int64_t n, int64_t k)
{
    return (size_t)(ceil_div(n, NR) * NR * k) * sizeof(float);
}

void BI_ISA_NAME(pack)(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows,
                       const float *w)
{
    assert(first % NR == 0 && first + rows <= n);
    for (int64_t j = first; j < first + rows; j += NR) {
        float *to = (float *)packed + j * k;
        int64_t columns = min64(first + rows - j, NR);
        for (int64_t i0 = 0; i0 < k; i0 += 16) { /* a line of each row at a time */
            int64_t i1 = min64(i0 + 16, k);
            for (int64_t c = 0; c < NR; c++) {
                const float *from = w + (j - first + (c < columns ? c : 0)) * k;
                for (int64_t i = i0; i < i1; i++)
                    to[i * NR + c] = c < columns ? from[i] : 0;
            }
        }
    }
}

BI_CPU_ENTRY_OF(linear, accepts_product, BI_ISA_NAME(linear_scratch_size))

/* grids.c - values of all pairs of places: symmetrise, outer_add, turn, grid_logits, head_products.
 * A task is a run of rows (rows.h), but for the last. */
#include "../grids.h"
#include "attention_tile.h"
#include "entries.h"
#include "rows.h"

/* The _tasks of an entry with fixed rows of so many numbers. */
#define FIXED_TASKS(name, numbers)                                                                 \
    int64_t BI_ISA_NAME(name##_tasks)(const void *params, int n_threads)                           \
    {                                                                                              \
        const struct bi_##name##_params *p = params;                                               \
        (void)n_threads;                                                                           \
        return row_tasks(p->rows, numbers);                                                        \
    }

FIXED_TASKS(symmetrise, p->width)

void BI_ISA_NAME(symmetrise_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_symmetrise_params *p = params;
    const struct rows rows = task_rows(task, p->rows, p->width);
    const int64_t n = p->n;
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const int64_t i = r / n % n, j = r % n;
        const float *x = p->x + r * p->ldx, *turned = x + (j - i) * (n - 1) * p->ldx;
        for (int c = 0; c < p->width; c += VW) {
            const int m = lanes(c, p->width);
            const vf sum = vf_add(vf_load_n(x + c, m), vf_load_n(turned + c, m));
            vf_store_n(p->y + r * p->ldy + c, vf_mul(sum, vf_set1(0.5f)), m);
        }
    }
}

BI_CPU_ENTRY(symmetrise)

ROW_TASKS(outer_add)

void BI_ISA_NAME(outer_add_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_outer_add_params *p = params;
    const int64_t live = bi_live_rows(p->counts, p->axis, p->rows);
    const struct rows rows = task_rows(task, live, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        int64_t first;
        const struct bi_grid_row at = bi_outer_add_row(p, r, &first);
        const float *x = p->x ? p->x + r * p->ldx : NULL;
        const float *a = p->a + (first + at.i) * p->lda, *b = p->b + (first + at.j) * p->ldb;
        for (int c = 0; c < p->width; c += VW) {
            const int m = lanes(c, p->width);
            const vf left = vf_load_n(a + c, m), right = vf_load_n(b + c, m);
            const vf sum = vf_add(x ? vf_load_n(x + c, m) : vf_zero(), left);
            vf_store_n(p->y + r * p->ldy + c, p->product ? vf_mul(left, right) : vf_add(sum, right),
                       m);
        }
    }
}

BI_CPU_ENTRY(outer_add)

int64_t BI_ISA_NAME(turn_tasks)(const void *params, int n_threads)
{
    const struct bi_turn_params *p = params;
    (void)n_threads;
    return row_tasks(p->counts->n_grid, p->width);
}

void BI_ISA_NAME(turn_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_turn_params *p = params;
    const struct rows rows = task_rows(task, p->counts->n_grid, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const struct bi_grid_row at = bi_grid_row_of(p->counts, p->grid_start, r);
        memcpy(p->y + r * p->ldy, p->x + (at.grid + at.j * at.n + at.i) * p->ldx,
               sizeof *p->y * (size_t)p->width);
    }
}

BI_CPU_ENTRY(turn)

FIXED_TASKS(grid_logits, 4 * p->n_heads)

void BI_ISA_NAME(grid_logits_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_grid_logits_params *p = params;
    const struct rows rows = task_rows(task, p->rows, 4 * p->n_heads);
    const int64_t m = 2 * (int64_t)p->n_edges + 1;
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const int64_t i = r / p->n, j = r % p->n, at = i % p->n;
        const int right = bi_grid_class(p->edges, p->n_edges, j - at);
        const int left = 2 * p->n_edges - right;
        const float *s = p->s + i * p->lds + j, *by_i = p->p + i * p->ldp + right;
        const float *by_j = p->q + (i - at + j) * p->ldq + left;
        float *y = p->y + r * p->ldy;
        for (int32_t h = 0; h < p->n_heads; h++)
            y[h] = s[h * p->n] + 0.5f * (by_i[h * m] + by_j[h * m]);
    }
}

BI_CPU_ENTRY(grid_logits)

/* ---- head_products: lanes are rows of x, a tile of w is packed once for all of them ---- */

static int64_t blocks_of_rows(const struct bi_head_products_params *p)
{
    return (p->rows / p->blocks + BLOCK - 1) / BLOCK;
}

int64_t BI_ISA_NAME(head_products_tasks)(const void *params, int n_threads)
{
    const struct bi_head_products_params *p = params;
    (void)n_threads;
    return blocks_of_rows(p) * p->n_heads * p->blocks;
}

size_t BI_ISA_NAME(head_products_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_head_products_params *p = params;
    const size_t d = (size_t)round_up(p->d, KEY_GROUP);
    (void)rows;
    (void)longest;
    return sizeof(float) * (KEY_TILE * d + (size_t)2 * BLOCK * d + KEY_TILE * BLOCK);
}

void BI_ISA_NAME(head_products_run)(const void *params, int64_t task, int64_t n_tasks,
                                    void *scratch)
{
    const struct bi_head_products_params *p = params;
    const int d = p->d, wide = round_up(d, KEY_GROUP);
    const int64_t pieces = blocks_of_rows(p), size = p->rows / p->blocks;
    const int64_t block = task / (pieces * p->n_heads), head = task / pieces % p->n_heads;
    const int64_t row = task % pieces * BLOCK, first = block * size + row;
    const int n = size - row < BLOCK ? (int)(size - row) : BLOCK;
    float *keys = scratch, *queries = keys + KEY_TILE * wide, *work = queries + BLOCK * wide;
    float *products = work + BLOCK * wide;
    vf unused[BLOCK_VECTORS];
    (void)n_tasks;
    for (int v = 0; v < BLOCK_VECTORS; v++)
        unused[v] = vf_zero();
    pack_queries(queries, p->x + head * d, p->ldx, NULL, first, 0, n, d, 1, work);
    for (int64_t m = 0; m < p->m; m += KEY_TILE) {
        const int n_keys = p->m - m < KEY_TILE ? (int)(p->m - m) : KEY_TILE;
        pack_keys(keys, p->w + head * d, p->ldw, NULL, block * p->m, m, n_keys, d);
        tile_scores(products, queries, keys, n_keys, d, BLOCK_VECTORS, unused, NULL);
        transpose(p->y + first * p->ldy + head * p->m + m, p->ldy, products, BLOCK, n_keys, n);
    }
}

BI_CPU_ENTRY_SCRATCH(head_products)

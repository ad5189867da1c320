/* grids.cu - values of all pairs of places: symmetrise, outer_add, turn, grid_logits,
 * head_products. Rows of gpu_rows.h, but for the products: 32 rows of a head by 32 of w to a
 * block. */
#include "lib/gpu_rows.h"

#include "lib/gpu_heads.h"

#pragma clang force_cuda_host_device begin
#include "../grids.h"
#pragma clang force_cuda_host_device end

KERNEL(symmetrise_f32, struct bi_symmetrise_params, ROW_THREADS, 4)
{
    const int64_t r = my_row(), n = p.n;
    if (r >= p.rows)
        return;
    const float *x = p.x + r * p.ldx, *turned = x + (r % n - r / n % n) * (n - 1) * p.ldx;
    const bool whole_x = fours(p.x, p.ldx), whole = fours(p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(p.y + r * p.ldy, c, p.width, whole,
               (load4(x, c, p.width, whole_x) + load4(turned, c, p.width, whole_x)) * 0.5f);
}

KERNEL(outer_add_f32, struct bi_outer_add_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    int64_t first;
    const struct bi_grid_row at = bi_outer_add_row(&p, r, &first);
    const float *a = p.a + (first + at.i) * p.lda, *b = p.b + (first + at.j) * p.ldb;
    const bool whole_x = fours(p.x, p.ldx), whole_a = fours(p.a, p.lda);
    const bool whole_b = fours(p.b, p.ldb), whole = fours(p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 x = {0, 0, 0, 0};
        if (p.x)
            x = load4(p.x + r * p.ldx, c, p.width, whole_x);
        const f32x4 left = load4(a, c, p.width, whole_a), right = load4(b, c, p.width, whole_b);
        store4(p.y + r * p.ldy, c, p.width, whole, p.product ? left * right : x + left + right);
    }
}

template <typename T> DEV void turn(const struct bi_turn_params &p)
{
    const int64_t r = my_row();
    if (r >= p.counts->n_grid)
        return;
    const struct bi_grid_row at = bi_grid_row_of(p.counts, p.grid_start, r);
    const T *x = (const T *)p.x + (at.grid + at.j * at.n + at.i) * p.ldx;
    T *y = (T *)p.y + r * p.ldy;
    const bool whole = fours((const T *)p.x, p.ldx) && fours((const T *)p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(y, c, p.width, whole, load4(x, c, p.width, whole));
}

KERNEL(turn_f32, struct bi_turn_params, ROW_THREADS, 4)
{
    turn<float>(p);
}

KERNEL(turn_f16, struct bi_turn_params, ROW_THREADS, 4)
{
    turn<f16>(p);
}

KERNEL(grid_logits_f32, struct bi_grid_logits_params, ROW_THREADS, 4)
{
    const int64_t r = my_row(), m = 2 * (int64_t)p.n_edges + 1;
    if (r >= p.rows)
        return;
    const int64_t i = r / p.n, j = r % p.n, at = i % p.n;
    const int right = bi_grid_class(p.edges, p.n_edges, j - at), left = 2 * p.n_edges - right;
    const float *s = p.s + i * p.lds + j, *by_i = p.p + i * p.ldp + right;
    const float *by_j = p.q + (i - at + j) * p.ldq + left;
    for (int h = thread_id() % ROW_LANES; h < p.n_heads; h += ROW_LANES)
        p.y[r * p.ldy + h] = s[(int64_t)h * p.n] + 0.5f * (by_i[h * m] + by_j[h * m]);
}

KERNEL(head_products_f32, struct bi_head_products_params, PAIR_THREADS, 1)
{
    SHARED(pair_tiles, s, sizeof(pair_tiles));
    const int64_t height = p.rows / p.blocks, down = (height + PAIR_ROWS - 1) / PAIR_ROWS;
    const int64_t across = (p.m + PAIR_ROWS - 1) / PAIR_ROWS, block = block_x() / (down * across);
    const int first = (int)(block_x() / across % down) * PAIR_ROWS;
    const int column = (int)(block_x() % across) * PAIR_ROWS, h = block_y();
    const float *x = p.x + (block * height + first) * p.ldx + h * p.d;
    const float *w = p.w + (block * p.m + column) * p.ldw + h * p.d;
    const pair_scores sum = multiply_pairs<float>(
        s, head_rows{x, p.ldx, nullptr, (int)height - first, p.d},
        head_rows{w, p.ldw, nullptr, (int)p.m - column, p.d});
    if (first + pair_row() >= height)
        return;
    float *y = p.y + (block * height + first + pair_row()) * p.ldy + h * p.m + column;
#pragma GCC unroll 4
    for (int c = 0; c < PAIR_OF; c++)
        if (column + pair_column(c) < p.m)
            y[pair_column(c)] = sum.of[c];
}

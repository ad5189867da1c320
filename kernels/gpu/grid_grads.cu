/* grid_grads.cu - derivatives of what makes values of pairs of places: head_products_grad,
 * grid_logits_grad. Rows of gpu_rows.h; sums run over partners in their order. */
#include "lib/gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "../grid_grads.h"
#pragma clang force_cuda_host_device end

KERNEL(head_products_grad_f32, struct bi_head_products_grad_params, ROW_THREADS, 4)
{
    const int64_t r = my_row(), size = p.rows / p.blocks;
    const int h = block_y();
    if (r >= p.out_rows)
        return;
    const int64_t block = r / (p.turned ? p.m : size), n = p.turned ? size : p.m;
    const float *other = p.other + block * n * p.ldo + (int64_t)h * p.d;
    const float *dy = p.turned ? p.dy + block * size * p.lddy + h * p.m + r % p.m
                               : p.dy + r * p.lddy + h * p.m;
    const int64_t step = p.turned ? p.lddy : 1;
    const bool whole_o = fours(other, p.ldo), whole = fours(p.dx + (int64_t)h * p.d, p.lddx);
    for (int c = my_column(); c < p.d; c += 4 * ROW_LANES) {
        f32x4 sum = {0, 0, 0, 0};
#pragma GCC unroll 1
        for (int64_t i = 0; i < n; i++) {
            const f32x4 x = load4(other + i * p.ldo, c, p.d, whole_o);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                sum[k] = fma_(dy[i * step], x[k], sum[k]);
        }
        store4(p.dx + r * p.lddx + (int64_t)h * p.d, c, p.d, whole, sum);
    }
}

KERNEL(grid_logits_grad_f32, struct bi_grid_logits_grad_params, ROW_THREADS, 4)
{
    const int64_t r = my_row(), m = 2 * (int64_t)p.n_edges + 1;
    if (r >= p.rows)
        return;
    const int64_t at = r % p.n, first = r - at;
    for (int h = thread_id() % ROW_LANES; h < p.n_heads; h += ROW_LANES) {
        float *dp = p.dp + r * p.lddp + h * m, *dq = p.dq + r * p.lddq + h * m;
#pragma GCC unroll 1
        for (int64_t k = 0; k < m; k++)
            dp[k] = dq[k] = 0;
#pragma GCC unroll 1
        for (int64_t j = 0; j < p.n; j++) {
            const int k = bi_grid_class(p.edges, p.n_edges, j - at);
            const float by_row = p.dy[(r * p.n + j) * p.lddy + h];
            p.ds[r * p.ldds + (int64_t)h * p.n + j] = by_row;
            dp[k] = fma_(0.5f, by_row, dp[k]);
            dq[k] = fma_(0.5f, p.dy[((first + j) * p.n + at) * p.lddy + h], dq[k]);
        }
    }
}

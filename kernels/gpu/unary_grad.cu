/* unary_grad.cu - derivatives of activations. */
#include "lib/gpu_rows.h"

#include "lib/gpu_math.h"
#include "../unary_grad.h"

KERNEL(unary_grad_f32, struct bi_unary_grad_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const bool whole = fours(p.x, p.ldx) && fours(p.dy, p.lddy) && fours(p.dx, p.lddx);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        const f32x4 x = load4(p.x + r * p.ldx, c, p.width, whole);
        f32x4 d = load4(p.dy + r * p.lddy, c, p.width, whole);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            d[i] *= p.function == BI_UNARY_GELU   ? gelu_slope(x[i])
                    : p.function == BI_UNARY_SILU ? silu_slope(x[i])
                                                  : sigmoid(x[i]) * sigmoid(-x[i]);
        }
        store4(p.dx + r * p.lddx, c, p.width, whole, d);
    }
}

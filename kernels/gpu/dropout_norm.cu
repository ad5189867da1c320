/* dropout_norm.cu - layernorm whose bias by the dropout of training is taken out. */
#include "lib/gpu_rows.h"

#include "../dropout_norm.h"

KERNEL(dropout_norm_f32, struct bi_dropout_norm_params, ROW_THREADS, 4)
{
    const int64_t at = my_row(), live = bi_live_rows(p.counts, p.axis, p.rows);
    if (at - thread_id() / ROW_LANES >= live)
        return;
    /* rows of one wave add up together: one behind the last only keeps company */
    const int64_t r = at < live ? at : live - 1;
    const float *x = p.x + r * p.ldx;
    const bool whole = fours(p.x, p.ldx) && fours(p.y, p.ldy) && fours(p.w, 0) && fours(p.b, 0);
    f32x4 sum = {0, 0, 0, 0}, square = {0, 0, 0, 0};
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        sum += load4(x, c, p.width, whole);
    const float n = (float)p.width;
    const float mean = lanes_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) / n;
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        const f32x4 v = load4(x, c, p.width, whole);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            if (c + i < p.width)
                square[i] = fma_(v[i] - mean, v[i] - mean, square[i]);
    }
    const float v = lanes_sum((square[0] + square[1]) + (square[2] + square[3])) / n;
    const float s = v == 0 ? 0 : p.keep * v / (v + (1 - p.keep) * mean * mean);
    const float by = __builtin_sqrtf(s / (v + p.eps));
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        const f32x4 a = load4(x, c, p.width, whole), w = load4(p.w, c, p.width, whole);
        f32x4 y = load4(p.b, c, p.width, whole);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            y[i] = fma_((a[i] - mean) * by, w[i], y[i]);
        if (at < live)
            store4(p.y + r * p.ldy, c, p.width, whole, y);
    }
}

/* track_grads.cu - derivatives of what stands between convolutions: norm_act_grad, pair_pool_grad,
 * pad_rows, unclip_grad, row_softmax_grad. Rows of gpu_rows.h. */
#include "lib/gpu_rows.h"

#include "lib/gpu_norm_act.h"
#include "../track_grads.h"
#include "../track_rows.h"

/* The slope of an activation at z. */
DEV float slope(float z, int act)
{
    if (act == BI_NORM_ACT_QUICK_GELU) {
        const float s = sigmoid(1.702f * z);
        return fma_(1.702f * z * s, 1 - s, s);
    }
    if (act == BI_NORM_ACT_TANH_GELU) { /* z sigmoid(u) */
        const float s = sigmoid(1.59576912f * fma_(0.044715f, z * z * z, z));
        const float du = fma_(z * z, 3 * 0.044715f * 1.59576912f, 1.59576912f);
        return fma_(z * s * (1 - s), du, s);
    }
    if (act == BI_NORM_ACT_TANH) {
        const float t = tanh_(z);
        return fma_(-t, t, 1);
    }
    return act == BI_NORM_ACT_RELU       ? (z > 0    ? 1
                                            : z <= 0 ? 0
                                                     : z) /* NaN stays */
           : act == BI_NORM_ACT_SOFTPLUS ? sigmoid(z)
                                         : 1;
}

KERNEL(norm_act_grad_f32, struct bi_norm_act_grad_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const bool whole_x = fours(p.x, p.ldx), whole_d = fours(p.dy, p.lddy);
    const bool whole = fours(p.dx, p.lddx), affine = ((u64)p.scale | (u64)p.shift) % 16 == 0;
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 v = load4(p.x + r * p.ldx, c, p.width, whole_x);
        f32x4 d = load4(p.dy + (r + p.pad) * p.lddy, c, p.width, whole_d);
        if (p.scale) {
            const f32x4 by = load4(p.scale, c, p.width, affine);
            v *= by;
            d *= by;
        }
        if (p.shift)
            v += load4(p.shift, c, p.width, affine);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            d[i] *= slope(v[i], p.act);
        store4(p.dx + r * p.lddx, c, p.width, whole, d);
    }
}

KERNEL(pair_pool_grad_f32, struct bi_pair_pool_grad_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.rows)
        return;
    const float *x = p.x + 2 * r * p.ldx, *l = p.logits ? p.logits + 2 * r * p.ldl : nullptr;
    float *dx = p.dx + 2 * r * p.lddx, *dl = p.dlogits ? p.dlogits + 2 * r * p.lddl : nullptr;
    const bool whole_x = fours(p.x, p.ldx), whole_l = fours(p.logits, p.ldl);
    const bool whole_d = fours(p.dy, p.lddy), whole = fours(p.dx, p.lddx);
    const bool whole_dl = fours(p.dlogits, p.lddl);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        const f32x4 a = load4(x, c, p.width, whole_x), b = load4(x + p.ldx, c, p.width, whole_x);
        const f32x4 d = load4(p.dy + r * p.lddy, c, p.width, whole_d);
        f32x4 s, t, slope = {0, 0, 0, 0};
        if (l) {
            const f32x4 z = load4(l, c, p.width, whole_l) - load4(l + p.ldl, c, p.width, whole_l);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                s[i] = sigmoid(z[i]);
                t[i] = sigmoid(-z[i]);
            }
            slope = s * t * (a - b) * d;
        } else {
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                s[i] = a[i] >= b[i] ? 1 : a[i] < b[i] ? 0 : a[i] + b[i]; /* NaN stays */
                t[i] = 1 - s[i];
            }
        }
        store4(dx, c, p.width, whole, s * d);
        store4(dx + p.lddx, c, p.width, whole, t * d);
        if (dl) {
            store4(dl, c, p.width, whole_dl, slope);
            store4(dl + p.lddl, c, p.width, whole_dl, -slope);
        }
    }
}

KERNEL(pad_rows_f32, struct bi_pad_rows_params, ROW_THREADS, 4)
{
    const int64_t r = my_row(), from = r - p.first;
    if (r >= p.rows)
        return;
    const bool there = from >= 0 && from < p.n;
    const bool whole_x = fours(p.x, p.ldx), whole = fours(p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        const f32x4 zero = {0, 0, 0, 0};
        store4(p.y + r * p.ldy, c, p.width, whole,
               there ? load4(p.x + from * p.ldx, c, p.width, whole_x) : zero);
    }
}

/* The slope of unclip at x, but for the mean. */
DEV float unclip_slope(float x, float gain, float exponent)
{
    const float s = softplus(x) * gain, t = s + BI_UNCLIP_FROM;
    const bool far = s > BI_UNCLIP_FROM;
    const float u = far ? t * t * (0.25f / BI_UNCLIP_FROM) : s;
    const float slope = gain * sigmoid(x) * (far ? t * (0.5f / BI_UNCLIP_FROM) : 1);
    if (exponent == 1)
        return slope;
    return slope * exponent * exp_((exponent - 1) * log_(max_(u, 1.17549435e-38f)));
}

KERNEL(unclip_grad_f32, struct bi_unclip_grad_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const bool whole_x = fours(p.x, p.ldx), whole_d = fours(p.dy, p.lddy);
    const bool whole = fours(p.dx, p.lddx), vectors = ((u64)p.gain | (u64)p.mean) % 16 == 0;
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        const f32x4 x = load4(p.x + r * p.ldx, c, p.width, whole_x);
        const f32x4 gain = load4(p.gain, c, p.width, vectors);
        f32x4 d = load4(p.dy + r * p.lddy, c, p.width, whole_d) *
                  load4(p.mean, c, p.width, vectors);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            d[i] *= unclip_slope(x[i], gain[i], p.exponent);
        store4(p.dx + r * p.lddx, c, p.width, whole, d);
    }
}

KERNEL(row_softmax_grad_f32, struct bi_row_softmax_grad_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    const bool live = r < bi_live_rows(p.counts, p.axis, p.rows);
    const float *y = p.y + (live ? r : 0) * p.ldy, *dy = p.dy + (live ? r : 0) * p.lddy;
    const int lane = thread_id() % ROW_LANES;
    float mean = 0;
    for (int c = lane; c < p.width; c += ROW_LANES)
        mean = fma_(y[c], dy[c], mean);
    mean = lanes_sum(mean);
    for (int c = lane; live && c < p.width; c += ROW_LANES)
        p.dx[r * p.lddx + c] = y[c] * (dy[c] - mean);
}

/* pairs.cu - what stands between convolutions, every number visited once: norm_act, pair_diff,
 * pair_pool, upsample, depthwise. Rows of gpu_rows.h. */
#include "lib/gpu_rows.h"

#include "../depthwise.h"
#include "lib/gpu_norm_act.h"
#include "../pairs.h"
#include "../upsample.h"

template <typename X, typename Y> DEV void norm_act(const struct bi_norm_act_params &p)
{
    const int64_t row = my_row(), live = bi_live_rows(p.counts, p.axis, p.rows);
    const int64_t r = row - p.pad;
    if (row >= live + 2 * p.pad)
        return;
    Y *y = (Y *)p.y + row * p.ldy;
    const bool inside = r >= 0 && r < live, whole = fours((const Y *)p.y, p.ldy);
    const X *x = (const X *)p.x + r * p.ldx;
    const bool whole_x = fours((const X *)p.x, p.ldx);
    const bool affine = ((u64)p.scale | (u64)p.shift) % 16 == 0;
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 v = {0, 0, 0, 0};
        if (inside) {
            v = load4(x, c, p.width, whole_x);
            if (p.scale)
                v *= load4(p.scale, c, p.width, affine);
            if (p.shift)
                v += load4(p.shift, c, p.width, affine);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                v[i] = activate<Y>(v[i], p.act);
        }
        store4(y, c, p.width, whole, v);
    }
}

KERNEL(norm_act_f32_f32, struct bi_norm_act_params, ROW_THREADS, 4)
{
    norm_act<float, float>(p);
}

KERNEL(norm_act_f32_f16, struct bi_norm_act_params, ROW_THREADS, 4)
{
    norm_act<float, f16>(p);
}

KERNEL(norm_act_f16_f16, struct bi_norm_act_params, ROW_THREADS, 4)
{
    norm_act<f16, f16>(p);
}

template <typename X, typename Y> DEV void pair_diff(const struct bi_pair_diff_params &p)
{
    const int64_t r = my_row();
    if (r >= p.rows)
        return;
    const X *x = (const X *)p.x + 2 * r * p.ldx;
    const bool whole_x = fours((const X *)p.x, p.ldx), whole = fours((const Y *)p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4((Y *)p.y + r * p.ldy, c, p.width, whole,
               load4(x, c, p.width, whole_x) - load4(x + p.ldx, c, p.width, whole_x));
}

KERNEL(pair_diff_f32_f32, struct bi_pair_diff_params, ROW_THREADS, 4)
{
    pair_diff<float, float>(p);
}

KERNEL(pair_diff_f32_f16, struct bi_pair_diff_params, ROW_THREADS, 4)
{
    pair_diff<float, f16>(p);
}

KERNEL(pair_diff_f16_f16, struct bi_pair_diff_params, ROW_THREADS, 4)
{
    pair_diff<f16, f16>(p);
}

template <typename X, typename Y> DEV void pair_pool(const struct bi_pair_pool_params &p)
{
    const int64_t r = my_row();
    if (r >= p.rows)
        return;
    const X *x = (const X *)p.x + 2 * r * p.ldx;
    const float *l = p.logits ? p.logits + (p.halved ? r : 2 * r) * p.ldl : nullptr;
    const bool whole_x = fours((const X *)p.x, p.ldx), whole = fours((const Y *)p.y, p.ldy);
    const bool whole_l = fours(p.logits, p.ldl);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        const f32x4 a = load4(x, c, p.width, whole_x), b = load4(x + p.ldx, c, p.width, whole_x);
        f32x4 y, z = {0, 0, 0, 0};
        if (l) {
            z = load4(l, c, p.width, whole_l);
            if (!p.halved)
                z -= load4(l + p.ldl, c, p.width, whole_l);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            y[i] = l                             ? b[i] + (a[i] - b[i]) * gate<Y>(z[i])
                   : a[i] > b[i] || a[i] != a[i] ? a[i]
                                                 : b[i]; /* NaN in either stays */
        store4((Y *)p.y + r * p.ldy, c, p.width, whole, y);
    }
}

KERNEL(pair_pool_f32_f32, struct bi_pair_pool_params, ROW_THREADS, 4)
{
    pair_pool<float, float>(p);
}

KERNEL(pair_pool_f16_f32, struct bi_pair_pool_params, ROW_THREADS, 4)
{
    pair_pool<f16, float>(p);
}

KERNEL(pair_pool_f16_f16, struct bi_pair_pool_params, ROW_THREADS, 4)
{
    pair_pool<f16, f16>(p);
}

KERNEL(upsample_f32, struct bi_upsample_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.rows)
        return;
    const bool whole_x = fours(p.x, p.ldx), whole_s = fours(p.skip, p.lds);
    const bool whole = fours(p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(p.y + r * p.ldy, c, p.width, whole,
               load4(p.x + r / p.times * p.ldx, c, p.width, whole_x) +
                   load4(p.skip + r * p.lds, c, p.width, whole_s));
}

template <typename Y> DEV void depthwise(const struct bi_depthwise_params &p)
{
    const int64_t r = my_row();
    if (r >= p.rows)
        return;
    const bool whole_x = fours(p.x, p.ldx), whole_w = fours(p.w, p.width);
    const bool whole = fours((const Y *)p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 sum = {0, 0, 0, 0};
        for (int i = 0; i < p.taps; i++) {
            const f32x4 x = load4(p.x + (r + i) * p.ldx, c, p.width, whole_x);
            const f32x4 w = load4(p.w + (int64_t)i * p.width, c, p.width, whole_w);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                sum[k] = fma_(x[k], w[k], sum[k]);
        }
        store4((Y *)p.y + r * p.ldy, c, p.width, whole, sum);
    }
}

KERNEL(depthwise_f32_f32, struct bi_depthwise_params, ROW_THREADS, 4)
{
    depthwise<float>(p);
}

KERNEL(depthwise_f32_f16, struct bi_depthwise_params, ROW_THREADS, 4)
{
    depthwise<f16>(p);
}

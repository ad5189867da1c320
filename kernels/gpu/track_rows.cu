/* track_rows.cu - rows around the heads of a model of tracks: add_narrow, join_columns, mean_rows,
 * row_softmax, unclip. Rows of gpu_rows.h. */
#include "lib/gpu_rows.h"

#include "lib/gpu_norm_act.h"
#include "../track_rows.h"

KERNEL(add_narrow_f32, struct bi_add_narrow_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const bool whole_a = fours(p.a, p.lda), whole_b = fours(p.b, p.ldb), whole = fours(p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(p.y + r * p.ldy, c, p.width, whole,
               load4(p.a + r * p.lda, c, p.width, whole_a) +
                   load4(p.b + r * p.ldb, c, p.narrow, whole_b));
}

KERNEL(join_columns_f32, struct bi_join_columns_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const bool whole_a = fours(p.a, p.lda), whole_b = fours(p.b, p.ldb);
    const bool whole = fours(p.y, p.ldy), whole_second = fours(p.y + p.first, p.ldy);
    const int second = p.width - p.first;
    float *y = p.y + r * p.ldy;
    for (int c = my_column(); c < p.first; c += 4 * ROW_LANES)
        store4(y, c, p.first, whole, load4(p.a + r * p.lda, c, p.first, whole_a));
    y += p.first;
    for (int c = my_column(); c < second; c += 4 * ROW_LANES)
        store4(y, c, second, whole_second, load4(p.b + r * p.ldb, c, second, whole_b));
}

KERNEL(mean_rows_f32, struct bi_mean_rows_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.rows)
        return;
    const float *x = p.x + r * p.n * p.ldx, by = 1.0f / (float)p.n;
    const bool whole_x = fours(p.x, p.ldx), whole = fours(p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 sum = load4(x, c, p.width, whole_x);
#pragma GCC unroll 1
        for (int i = 1; i < p.n; i++)
            sum += load4(x + i * p.ldx, c, p.width, whole_x);
        store4(p.y + r * p.ldy, c, p.width, whole, sum * by);
    }
}

KERNEL(row_softmax_f32, struct bi_row_softmax_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    const bool live = r < bi_live_rows(p.counts, p.axis, p.rows);
    const float *x = p.x + (live ? r : 0) * p.ldx;
    const int lane = thread_id() % ROW_LANES;
    float most = -INF, sum = 0;
    for (int c = lane; c < p.width; c += ROW_LANES)
        most = max_(most, x[c]);
    most = lanes_max(most);
    for (int c = lane; c < p.width; c += ROW_LANES)
        sum += exp_(x[c] - most);
    sum = lanes_sum(sum);
    for (int c = lane; live && c < p.width; c += ROW_LANES)
        p.y[r * p.ldy + c] = exp_(x[c] - most) / sum;
}

DEV float unclipped(float x, float gain, float mean, float exponent)
{
    const float s = softplus(x) * gain, t = s + BI_UNCLIP_FROM;
    float u = s > BI_UNCLIP_FROM ? t * t * (0.25f / BI_UNCLIP_FROM) : s;
    if (exponent != 1) /* the logarithm of no denormal; NaN stays */
        u = u == u ? exp_(exponent * log_(max_(u, 1.17549435e-38f))) : u;
    return u * mean;
}

KERNEL(unclip_f32, struct bi_unclip_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const bool whole_x = fours(p.x, p.ldx), whole = fours(p.y, p.ldy);
    const bool vectors = ((u64)p.gain | (u64)p.mean) % 16 == 0;
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 v = load4(p.x + r * p.ldx, c, p.width, whole_x);
        const f32x4 gain = load4(p.gain, c, p.width, vectors);
        const f32x4 mean = load4(p.mean, c, p.width, vectors);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            v[i] = unclipped(v[i], gain[i], mean[i], p.exponent);
        store4(p.y + r * p.ldy, c, p.width, whole, v);
    }
}

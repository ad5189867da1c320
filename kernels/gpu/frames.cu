/* frames.cu - rows seen in the eight frames of their axes. */
#include "lib/gpu_rows.h"

#include "../frames.h"

template <typename Y> DEV void see(const struct bi_frames_params &p)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const int code = p.code[r];
    const int64_t t = code / BI_FRAMES;
    const float *base = p.base + t * p.ldb, *at = p.at + 3 * t;
    const float a0 = code & 1 ? -at[0] : at[0], a1 = code & 2 ? -at[1] : at[1];
    const float a2 = code & 4 ? -at[2] : at[2];
    const bool whole = fours(p.base, p.ldb), whole_w = fours(p.w, p.width);
    const bool whole_y = fours((Y *)p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 y = load4(base, c, p.width, whole);
        const f32x4 w0 = load4(p.w, c, p.width, whole_w);
        const f32x4 w1 = load4(p.w + p.width, c, p.width, whole_w);
        const f32x4 w2 = load4(p.w + 2 * (int64_t)p.width, c, p.width, whole_w);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            y[i] = fma_(a2, w2[i], fma_(a1, w1[i], fma_(a0, w0[i], y[i])));
        store4((Y *)p.y + r * p.ldy, c, p.width, whole_y, y);
    }
}

KERNEL(frames_f32, struct bi_frames_params, ROW_THREADS, 4)
{
    see<float>(p);
}

KERNEL(frames_f32_f16, struct bi_frames_params, ROW_THREADS, 4)
{
    see<f16>(p);
}

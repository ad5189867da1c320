/* layernorm.cu - y = norm(x) w + b, or, with `add`, of sum = x + add; y f32 or f16. */
#include "gpu_rows.h"

#include "layernorm.h"

template <typename T> DEV void norm(const struct bi_layernorm_params &p)
{
    const int64_t r = my_row();
    const bool live = r < bi_live_rows(p.counts, p.axis, p.rows);
    const int width = live ? p.width : 0; /* the others only keep company in sums */
    const bool whole = fours(p.x, p.ldx) && fours((T *)p.y, p.ldy) && fours(p.w, 0) &&
                       fours(p.b, 0) && fours(p.add, p.add ? p.lda : 0) &&
                       fours(p.sum, p.add ? p.lds : 0);
    const float *x = p.x + r * p.ldx;

    if (p.add) { /* each thread reads again only what it wrote itself */
        float *sum = p.sum + r * p.lds;
        for (int c = my_column(); c < width; c += 4 * ROW_LANES)
            store4(sum, c, width, whole,
                   load4(x, c, width, whole) + load4(p.add + r * p.lda, c, width, whole));
        x = sum;
    }
    const moments m = row_moments(x, width, whole, p.eps);
    for (int c = my_column(); c < width; c += 4 * ROW_LANES) {
        const f32x4 v = load4(x, c, width, whole), w = load4(p.w, c, width, whole),
                    b = load4(p.b, c, width, whole);
        f32x4 y;
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            y[i] = fma_((v[i] - m.mean) * m.scale, w[i], b[i]);
        store4((T *)p.y + r * p.ldy, c, width, whole, y);
    }
}

KERNEL(layernorm_f32_f16, struct bi_layernorm_params, ROW_THREADS, 4)
{
    norm<f16>(p);
}

KERNEL(layernorm_f32_f32, struct bi_layernorm_params, ROW_THREADS, 4)
{
    norm<float>(p);
}

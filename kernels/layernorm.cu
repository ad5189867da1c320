/* layernorm.cu - y = norm(x) w + b, or, with `add`, of sum = x + add, or root mean square norm;
 * x and y f32 or f16; sums f32 only. Eight rows, or parts of rows (groups), to a block. */
#include "gpu_rows.h"

#include "layernorm.h"

template <typename X, typename Y> DEV void norm(const struct bi_layernorm_params &p)
{
    const int groups = p.groups > 1 ? p.groups : 1;
    const int64_t at = my_row(), r = at / groups;
    const int first = (int)(at % groups) * p.width; /* column of the part */
    const bool live = r < bi_live_rows(p.counts, p.axis, p.rows);
    const int width = live ? p.width : 0; /* the others only keep company in sums */
    const bool whole = fours((const X *)p.x + first, p.ldx) && fours((Y *)p.y + first, p.ldy) &&
                       fours(p.w + first, 0) && fours(p.b + first, 0) &&
                       fours(p.add, p.add ? p.lda : 0) && fours(p.sum, p.add ? p.lds : 0) &&
                       fours((f16 *)p.copy, p.copy ? p.ldc : 0);
    const X *x = (const X *)p.x + r * p.ldx + first;

    if (sizeof(X) == 4 && p.add) { /* each thread reads again only what it wrote itself */
        X *sum = (X *)p.sum + r * p.lds;
        for (int c = my_column(); c < width; c += 4 * ROW_LANES)
            store4(sum, c, width, whole,
                   load4(x, c, width, whole) + load4(p.add + r * p.lda, c, width, whole));
        x = sum;
    }
    const moments m = row_moments(x, width, whole, p.eps, p.rms);
    for (int c = my_column(); c < width; c += 4 * ROW_LANES) {
        const f32x4 v = load4(x, c, width, whole), w = load4(p.w + first, c, width, whole);
        const f32x4 zero = {0, 0, 0, 0};
        const f32x4 b = p.b ? load4(p.b + first, c, width, whole) : zero;
        f32x4 y;
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            y[i] = fma_((v[i] - m.mean) * m.scale, w[i], b[i]);
        store4((Y *)p.y + r * p.ldy + first, c, width, whole, y);
        if (p.copy)
            store4((f16 *)p.copy + r * p.ldc, c, width, whole, y);
    }
}

KERNEL(layernorm_f32_f16, struct bi_layernorm_params, ROW_THREADS, 4)
{
    norm<float, f16>(p);
}

KERNEL(layernorm_f32_f32, struct bi_layernorm_params, ROW_THREADS, 4)
{
    norm<float, float>(p);
}

KERNEL(layernorm_f16_f16, struct bi_layernorm_params, ROW_THREADS, 4)
{
    norm<f16, f16>(p);
}

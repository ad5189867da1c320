/* unary.cu - y = an activation of x, or x times a factor. */
#include "lib/gpu_rows.h"

#include "lib/gpu_math.h"
#include "../unary.h"

template <typename T> DEV void apply(const struct bi_unary_params &p)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const T *x = (const T *)p.x;
    T *y = (T *)p.y;
    const bool whole = fours(x, p.ldx) && fours(y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 v = load4(x + r * p.ldx, c, p.width, whole);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            v[i] = p.function == BI_UNARY_GELU      ? gelu(v[i])
                   : p.function == BI_UNARY_SIGMOID ? sigmoid(v[i])
                   : p.function == BI_UNARY_SILU    ? silu(v[i])
                                                    : v[i] * p.factor;
        store4(y + r * p.ldy, c, p.width, whole, v);
    }
}

KERNEL(unary_f32, struct bi_unary_params, ROW_THREADS, 4)
{
    apply<float>(p);
}

KERNEL(unary_f16, struct bi_unary_params, ROW_THREADS, 4)
{
    apply<f16>(p);
}

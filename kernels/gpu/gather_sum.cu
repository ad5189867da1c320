/* gather_sum.cu - y[r] = factor * the sum of the rows of x that index[r] names. */
#include "lib/gpu_rows.h"

#include "../gather_sum.h"

template <typename Y> DEV void gather(const struct bi_gather_sum_params &p)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const int32_t *index = p.index + r * p.k;
    Y *y = (Y *)p.y + r * p.ldy;
    const bool whole = fours(p.x, p.ldx), whole_y = fours((Y *)p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 sum = {0, 0, 0, 0};
#pragma GCC unroll 1
        for (int k = 0; k < p.k; k++)
            if (index[k] >= 0)
                sum += load4(p.x + index[k] * p.ldx, c, p.width, whole);
        store4(y, c, p.width, whole_y, sum * p.factor);
    }
}

KERNEL(gather_sum_f32, struct bi_gather_sum_params, ROW_THREADS, 4)
{
    gather<float>(p);
}

KERNEL(gather_sum_f32_f16, struct bi_gather_sum_params, ROW_THREADS, 4)
{
    gather<f16>(p);
}

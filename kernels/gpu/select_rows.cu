/* select_rows.cu - y[r, :] = x[index[r], :]. */
#include "lib/gpu_rows.h"

#include "../select_rows.h"

template <typename T, typename Y> DEV void select(const struct bi_select_rows_params &p)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const T *x = (const T *)p.x;
    Y *y = (Y *)p.y;
    const bool whole = fours(x, p.ldx) && fours(y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(y + r * p.ldy, c, p.width, whole, load4(x + p.index[r] * p.ldx, c, p.width, whole));
}

KERNEL(select_rows_f32, struct bi_select_rows_params, ROW_THREADS, 4)
{
    select<float, float>(p);
}

KERNEL(select_rows_f16, struct bi_select_rows_params, ROW_THREADS, 4)
{
    select<f16, f16>(p);
}

KERNEL(select_rows_f32_f16, struct bi_select_rows_params, ROW_THREADS, 4)
{
    select<float, f16>(p);
}

/* scale_rows.cu - y[r, :] = x[r, :] scale[r]. */
#include "lib/gpu_rows.h"

#include "../scale_rows.h"

KERNEL(scale_rows_f32, struct bi_scale_rows_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const bool whole = fours(p.x, p.ldx) && fours(p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(p.y + r * p.ldy, c, p.width, whole,
               load4(p.x + r * p.ldx, c, p.width, whole) * p.scale[r]);
}

/* halves.cu - y = [high | low | high / 2048], x = high + low in float16. */
#include "lib/gpu_rows.h"

#include "../halves.h"

KERNEL(halves_f32_f16, struct bi_halves_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const float *x = p.x + r * p.ldx;
    f16 *y = (f16 *)p.y + r * p.ldy;
    const bool whole = fours(p.x, p.ldx) && fours((const f16 *)p.y, p.ldy) && p.width % 4 == 0;
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        const f32x4 v = load4(x, c, p.width, whole);
        f32x4 high, low;
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            high[i] = (float)(f16)v[i];
            low[i] = v[i] - high[i];
        }
        store4(y, c, p.width, whole, high);
        store4(y + p.width, c, p.width, whole, low);
        store4(y + 2 * p.width, c, p.width, whole, high * (1.0f / BI_HALVES_SCALE));
    }
}

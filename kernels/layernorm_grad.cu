/* layernorm_grad.cu - the derivative of a layer norm, 32 threads to a row. */
#include "gpu_rows.h"

#include "layernorm_grad.h"

KERNEL(layernorm_grad_f32, struct bi_layernorm_grad_params, ROW_THREADS, 2)
{
    const int64_t at = my_row();
    const bool in = at < bi_live_rows(p.counts, p.axis, p.rows);
    const int64_t r = in ? at : 0;
    const int width = in ? p.width : 0; /* the others only keep company in sums */
    const float *x = p.x + r * p.ldx, *dy = p.dy + r * p.lddy;
    const bool whole = fours(p.x, p.ldx) && fours(p.dy, p.lddy) && fours(p.dx, p.lddx) &&
                       fours(p.w, 0);
    const moments m = row_moments(x, width, whole, p.eps, false);
    f32x4 h = {0, 0, 0, 0}, hz = {0, 0, 0, 0};
    for (int c = my_column(); c < width; c += 4 * ROW_LANES) {
        const f32x4 t = load4(dy, c, width, whole) * load4(p.w, c, width, whole);
        h += t;
        hz += t * ((load4(x, c, width, whole) - m.mean) * m.scale);
    }
    const float mean_h = lanes_sum((h[0] + h[1]) + (h[2] + h[3])) / (float)p.width;
    const float mean_hz = lanes_sum((hz[0] + hz[1]) + (hz[2] + hz[3])) / (float)p.width;
    for (int c = my_column(); c < width; c += 4 * ROW_LANES) {
        const f32x4 t = load4(dy, c, width, whole) * load4(p.w, c, width, whole);
        const f32x4 z = (load4(x, c, width, whole) - m.mean) * m.scale;
        store4(p.dx + r * p.lddx, c, width, whole, (t - mean_h - z * mean_hz) * m.scale);
    }
}

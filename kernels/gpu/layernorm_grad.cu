/* layernorm_grad.cu - the derivative of a layer norm or an RMS norm, 32 threads to a row. */
#include "lib/gpu_rows.h"

#include "../layernorm_grad.h"

/* A group of a row: width numbers of x, w and dy. width 0 keeps company in sums. */
DEV void grad_group(const struct bi_layernorm_grad_params &p, const float *x, const float *w,
                    const float *dy, float *dx, int width, bool whole)
{
    const moments m = row_moments(x, width, whole, p.eps, p.rms);
    f32x4 h = {0, 0, 0, 0}, hz = {0, 0, 0, 0};
    for (int c = my_column(); c < width; c += 4 * ROW_LANES) {
        const f32x4 t = load4(dy, c, width, whole) * load4(w, c, width, whole);
        h += t;
        hz += t * ((load4(x, c, width, whole) - m.mean) * m.scale);
    }
    const float sum_h = lanes_sum((h[0] + h[1]) + (h[2] + h[3]));
    const float mean_h = p.rms ? 0 : sum_h / (float)p.width;
    const float mean_hz = lanes_sum((hz[0] + hz[1]) + (hz[2] + hz[3])) / (float)p.width;
    for (int c = my_column(); c < width; c += 4 * ROW_LANES) {
        const f32x4 t = load4(dy, c, width, whole) * load4(w, c, width, whole);
        const f32x4 z = (load4(x, c, width, whole) - m.mean) * m.scale;
        store4(dx, c, width, whole, (t - mean_h - z * mean_hz) * m.scale);
    }
}

KERNEL(layernorm_grad_f32, struct bi_layernorm_grad_params, ROW_THREADS, 2)
{
    const int64_t at = my_row();
    const bool in = at < bi_live_rows(p.counts, p.axis, p.rows);
    const int64_t r = in ? at : 0;
    const bool whole = fours(p.x, p.ldx) && fours(p.dy, p.lddy) && fours(p.dx, p.lddx) &&
                       fours(p.w, 0) && (p.groups == 1 || p.width % 4 == 0);
    for (int g = 0; g < p.groups; g++) {
        const int64_t first = (int64_t)g * p.width;
        grad_group(p, p.x + r * p.ldx + first, p.w + first, p.dy + r * p.lddy + first,
                   p.dx + r * p.lddx + first, in ? p.width : 0, whole);
    }
}

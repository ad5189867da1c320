/* rope.cu - rotates queries or keys by their position; in place allowed. */
#include "lib/gpu_rows.h"

#include "lib/gpu_tiles.h"
#include "../rope.h"

template <typename T, typename Y> DEV void rotate_token(const struct bi_rope_params &p)
{
    const int64_t t = my_row();
    if (t >= bi_live_rows(p.counts, p.axis, p.rows))
        return;
    const int half = p.head_dim / 2;
    const int64_t at_start = p.start ? p.start[sequence_of(p.counts, p.start, t)] : t - t % p.n;
    const float *table = p.table + (t - at_start) * p.head_dim;
    const T *x = (const T *)p.x + t * p.ldx;
    Y *y = (Y *)p.y + t * p.ldy;
    for (int c = thread_id() % ROW_LANES; c < p.n_heads * half; c += ROW_LANES) {
        const int i = c % half, at = c / half * p.head_dim + i;
        const float a = (float)x[at], b = (float)x[at + half], cosine = table[i],
                    sine = table[half + i];
        y[at] = (Y)fma_(a, cosine, -(b * sine));
        y[at + half] = (Y)fma_(b, cosine, a * sine);
    }
}

KERNEL(rope_f32, struct bi_rope_params, ROW_THREADS, 4)
{
    rotate_token<float, float>(p);
}

KERNEL(rope_f16, struct bi_rope_params, ROW_THREADS, 4)
{
    rotate_token<f16, f16>(p);
}

KERNEL(rope_f32_f16, struct bi_rope_params, ROW_THREADS, 4)
{
    rotate_token<float, f16>(p);
}

/* rope_table.cu - cosine and sine of position times frequency, the product in f32. */
#include "lib/gpu_rows.h"

#include "lib/gpu_math.h"
#include "../rope_table.h"

KERNEL(rope_table_f32, struct bi_rope_table_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.counts->longest)
        return;
    float *y = p.y + r * 2 * p.n;
    for (int i = thread_id() % ROW_LANES; i < p.n; i += ROW_LANES) {
        float s, c;
        sin_cos((float)r * p.inv_freq[i], &s, &c);
        y[i] = c;
        y[p.n + i] = s;
    }
}

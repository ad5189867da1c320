/* row_pool.cu - rows of tokens, summed up by a softmax (row_pool.h). Rows of gpu_rows.h, of which
 * each is a token. */
#include "lib/gpu_rows.h"

#include "lib/gpu_math.h"
#include "../row_pool.h"

KERNEL(row_pool_f32, struct bi_row_pool_params, ROW_THREADS, 4)
{
    const int64_t t = my_row();
    if (t >= p.counts->n_tokens)
        return;
    const int64_t first = p.start[t], end = p.start[t + 1];
    const bool whole_x = fours(p.x, p.ldx), whole = fours(p.y, p.ldy);
    float top = -INF;
    for (int64_t r = first; r < end && p.logit; r++)
        top = max_(top, p.logit[r * p.ldl]);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 sum = {0, 0, 0, 0};
        float all = 0;
        for (int64_t r = first; r < end; r++) {
            const float weight = p.logit ? exp_(p.logit[r * p.ldl] - top) : 1;
            all += weight;
            sum += load4(p.x + r * p.ldx, c, p.width, whole_x) * weight;
        }
        store4(p.y + t * p.ldy, c, p.width, whole, sum / all);
    }
}

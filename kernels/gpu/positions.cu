/* positions.cu - y[t, :] = table[first + place of t in its sequence, :]. */
#include "lib/gpu_rows.h"

#include "lib/gpu_tiles.h"
#include "../positions.h"

KERNEL(positions_f32, struct bi_positions_params, ROW_THREADS, 4)
{
    const int64_t t = my_row();
    if (t >= p.counts->n_tokens)
        return;
    const int64_t at = t - p.start[sequence_of(p.counts, p.start, t)] + p.first;
    const float *x = p.table + at * p.width;
    float *y = p.y + t * p.ldy;
    const bool whole = fours(p.table, p.width) && fours(p.y, p.ldy);
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
        store4(y, c, p.width, whole, load4(x, c, p.width, whole));
}

/* sequence_windows.cu - the rows around every residue, side by side. */
#include "lib/gpu_rows.h"

#include "lib/gpu_tiles.h"
#include "../sequence_windows.h"

KERNEL(sequence_windows_f32, struct bi_sequence_windows_params, ROW_THREADS, 4)
{
    const int64_t t = my_row();
    if (t >= p.counts->n_tokens)
        return;
    const int s = sequence_of(p.counts, p.start, t);
    const int64_t first = p.start[s] + p.n_prefix, end = p.start[s + 1] - p.n_suffix;
    const bool whole = fours(p.x, p.ldx) && fours(p.y, p.ldy) && p.width % 4 == 0;
    for (int k = 0; k < p.taps; k++) {
        const int64_t from = t + k - p.taps / 2;
        const bool there = t >= first && t < end && from >= first && from < end;
        float *y = p.y + t * p.ldy + (int64_t)k * p.width;
        for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
            f32x4 v = {0, 0, 0, 0};
            if (there)
                v = load4(p.x + from * p.ldx, c, p.width, whole);
            store4(y, c, p.width, whole, v);
        }
    }
}

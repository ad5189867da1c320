/* pair_embedding.cu - rows of a table for pairs of tokens. Rows of gpu_rows.h. */
#include "lib/gpu_rows.h"

#define BI_RIGID_FUNCTION DEV
#pragma clang force_cuda_host_device begin
#include "../pair_embedding.h"
#pragma clang force_cuda_host_device end

KERNEL(pair_embedding_f32, struct bi_pair_embedding_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.counts->n_grid)
        return;
    const struct bi_grid_row at = bi_grid_row_of(p.counts, p.grid_start, r);
    const int64_t first = p.start[at.seq];
    const float *row = p.table + bi_pair_code(&p, first + at.i, first + at.j) * p.ldt;
    const bool whole_x = fours(p.x, p.ldx), whole_t = fours(p.table, p.ldt);
    const bool whole = fours(p.y, p.ldy), whole_s = fours(p.slope, 4);
    const float far = p.slope ? __builtin_sqrtf(bi_pair_square(&p, first + at.i, first + at.j)) : 0;
    for (int c = my_column(); c < p.width; c += 4 * ROW_LANES) {
        f32x4 x = {0, 0, 0, 0};
        if (p.x)
            x = load4(p.x + r * p.ldx, c, p.width, whole_x);
        x += load4(row, c, p.width, whole_t);
        if (p.slope)
            x += far * load4(p.slope, c, p.width, whole_s);
        store4(p.y + r * p.ldy, c, p.width, whole, x);
    }
}

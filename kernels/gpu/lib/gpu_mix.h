/* gpu_mix.h - which tile of which part of matrices a block of tensor_mix makes. */
#ifndef BI_GPU_MIX_H
#define BI_GPU_MIX_H

#include "gpu.h"

#pragma clang force_cuda_host_device begin
#include "../../tensor_mix.h"
#pragma clang force_cuda_host_device end

/* A tile of a linear layer, in rows of which `rows` are there. */
struct mix_tile {
    struct bi_linear_params layer;
    int64_t rows;
    int block;
};

/* The tile of this block, where tiles have `size` rows and columns: block counts within the part.
 * A block behind the last tile gets one of part 2 whose rows begin at or behind `rows`: nothing to
 * do. */
DEV mix_tile mix_tile_of(const struct bi_tensor_mix_params &p, int size)
{
    const int64_t atoms = bi_live_rows(p.counts, BI_AXIS_TOKENS, p.rows);
    const int tiles_n = (p.n + size - 1) / size;
    const int first = (int)((atoms + size - 1) / size) * tiles_n;
    const int second = first + (int)((3 * atoms + size - 1) / size) * tiles_n;
    const int part = block_x() < first ? 0 : block_x() < second ? 1 : 2;
    return mix_tile{bi_tensor_mix_part(&p, part), (2 * part + 1) * atoms,
                    block_x() - (part == 0   ? 0
                                 : part == 1 ? first
                                             : second)};
}

#endif

/* pair_energy.h - GPU entries of kernels/pair_energy.h, and their grids: a block to a share.
 *
 * All arrays are f32, and distances and sums over threads are in double. */
#ifndef BI_GPU_PAIR_ENERGY_ENTRIES_H
#define BI_GPU_PAIR_ENERGY_ENTRIES_H

#include "../pair_energy.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(pair_energy, p->samples *BI_PAIR_SHARES * 256)

/* clang-format off */
#define BI_GPU_ENTRIES_pair_energy(E) \
    E(pair_energy_f32, pair_energy, pair_energy, 256, 5120, pair_energy, f32)
/* clang-format on */

#endif

/* atom_edges.h - GPU entries of kernels/atom_edges.h, and their grids.
 *
 * Positions and distances are f64, vectors f32, all else is whole numbers. atom_cells_few_f32 is
 * one block, for few atoms; atom_cells_f32 is the first of several parts, and the others,
 * "then_...", follow it. */
#ifndef BI_GPU_ATOM_EDGES_ENTRIES_H
#define BI_GPU_ATOM_EDGES_ENTRIES_H

#include "../atom_edges.h"
#include "grid.h"

/* One number of so many to a thread. */
#define BI_ATOM_EDGES_GRID(name, numbers)                                                          \
    static inline void bi_gpu_grid_atom_edges_##name(                                              \
        const void *params, const struct bi_counts *bucket, int32_t grid[2])                       \
    {                                                                                              \
        const struct bi_atom_edges_params *p = (const struct bi_atom_edges_params *)params;        \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(numbers, 256);                                                     \
        grid[1] = 1;                                                                               \
    }
BI_ATOM_EDGES_GRID(bins, bi_atom_bins(p->rows))
BI_ATOM_EDGES_GRID(atoms, p->rows)
BI_ATOM_EDGES_GRID(shares, p->rows *BI_EDGE_SHARES)
BI_ATOM_EDGES_GRID(once, p->rows > 0)
BI_GPU_TAKES_OF(few_atoms, atom_edges, p->rows <= 512)

/* clang-format off */
#define BI_GPU_ENTRIES_atom_edges(E) \
    E(atom_cells_few_f32, atom_edges, atom_cells, 256, 4096, atom_edges_once, few_atoms) \
    E(atom_cells_f32, atom_edges, atom_cells, 256, 0, atom_edges_bins, f32) \
    E(then_atom_places_f32, atom_edges, atom_cells, 256, 0, atom_edges_atoms, none) \
    E(then_atom_cells_first_f32, atom_edges, atom_cells, 256, 4096, atom_edges_once, none) \
    E(then_atom_cells_fill_f32, atom_edges, atom_cells, 256, 0, atom_edges_atoms, none) \
    E(then_atom_cells_sort_f32, atom_edges, atom_cells, 256, 0, atom_edges_atoms, none) \
    E(edge_count_f32, atom_edges, edge_count, 256, 0, atom_edges_shares, f32) \
    E(edge_start_f32, atom_edges, edge_start, 256, 4096, atom_edges_once, f32) \
    E(edge_list_f32, atom_edges, edge_list, 256, 0, atom_edges_shares, f32) \
    E(edge_reverse_f32, atom_edges, edge_reverse, 256, 0, atom_edges_shares, f32)
/* clang-format on */

#endif

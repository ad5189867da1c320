/* track_grads.h - GPU entries of kernels/track_grads.h, and their grids. All arrays are f32. */
#ifndef BI_GPU_TRACK_GRADS_ENTRIES_H
#define BI_GPU_TRACK_GRADS_ENTRIES_H

#include "../track_grads.h"
#include "grid.h"

BI_GPU_ROWS_GRID(norm_act_grad)
BI_GPU_ROWS_GRID(pair_pool_grad)
BI_GPU_ROWS_GRID(pad_rows)
BI_GPU_ROWS_GRID(unclip_grad)
BI_GPU_ROWS_GRID(row_softmax_grad)

/* clang-format off */
#define BI_GPU_ENTRIES_track_grads(E) \
    E(norm_act_grad_f32, track_grads, norm_act_grad, 256, 0, norm_act_grad, f32) \
    E(pair_pool_grad_f32, track_grads, pair_pool_grad, 256, 0, pair_pool_grad, f32) \
    E(pad_rows_f32, track_grads, pad_rows, 256, 0, pad_rows, f32) \
    E(unclip_grad_f32, track_grads, unclip_grad, 256, 0, unclip_grad, f32) \
    E(row_softmax_grad_f32, track_grads, row_softmax_grad, 256, 0, row_softmax_grad, f32)
/* clang-format on */

#endif

/* kernels.h - all kernels over one lane map, and their list; included once by nvidia.cpp,
 * cdna.cpp and rdna.cpp, each of which says which map. */
#include "../gpu_entries.h"
#include "emu.h"

#include <math.h>
#include <string.h>

namespace
{
#include "../add.cu"
#include "../align.cu"
#include "../align_ends.cu"
#include "../align_trace.cu"
#include "../align_long.cu"
#include "../align_walk.cu"
#include "../attention.cu"
#include "../attention_f32.cu"
#include "../bin_sums.cu"
#include "../contacts.cu"
#include "../decode.cu"
#include "../edges.cu"
#include "../embedding.cu"
#include "../halves.cu"
#include "../layernorm.cu"
#include "../linear.cu"
#include "../linear_f32.cu"
#include "../mean_pool.cu"
#include "../mix.cu"
#include "../pairs.cu"
#include "../rel_attention.cu"
#include "../rope.cu"
#include "../rope_table.cu"
#include "../scale_rows.cu"
#include "../scores.cu"
#include "../select_rows.cu"
#include "../mul.cu"
#include "../positions.cu"
#include "../relative_bias.cu"
#include "../sequence_windows.cu"
#include "../softmax.cu"
#include "../unary.cu"

const struct bi_emu_kernel kernels[] = {
#define E(name, module, params, threads, shared, grid) {#name, name},
    BI_GPU_ENTRIES(E)
#undef E
        {nullptr, nullptr},
};
} // namespace

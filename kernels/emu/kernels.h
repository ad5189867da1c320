/* kernels.h - all kernels over one lane map, and their list; included once by nvidia.cpp,
 * cdna.cpp and rdna.cpp, each of which says which map. */
#include "../gpu/gpu_entries.h"
#include "emu.h"

#include <math.h>
#include <string.h>

namespace
{
#include "kernels/emu_modules.h" /* made by ../meson.build: every kernels/gpu/<module>.cu */

const struct bi_emu_kernel kernels[] = {
#define E(name, module, params, ...) {#name, name},
    BI_GPU_ENTRIES(E)
#undef E
        {nullptr, nullptr},
};
} // namespace

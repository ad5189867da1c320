/* fake_blobs.c - modules for the fake driver libraries, instead of those of the build, so that
 * tests over them need no clang. */
#include "../../kernels/gpu/gpu_blobs.h"
#include "../../kernels/gpu/gpu_entries.h"

/* Images that only look like code: the fakes find kernels by name. zlib of "\177ELFtest". */
static const unsigned char image[] = {120, 218, 171, 119, 245, 113, 43, 73,
                                      45,  46,  1,   0,   13,  98,  3,  23};
const struct bi_gpu_blob bi_gpu_blobs[] = {
#define E(name, module, params, ...)                                                               \
    {"sm_80", #module, NULL, image, sizeof image, 8},                                              \
        {"gfx90a", #module, NULL, image, sizeof image, 8},                                         \
        {"gfx11-generic", #module, NULL, image, sizeof image, 8},
    BI_GPU_ENTRIES(E)
#undef E
        {0, 0, 0, 0, 0, 0},
};

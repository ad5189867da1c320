/* call.h - a launch as rows of kernels see it: what decides which entry it becomes, on the CPU
 * (cpu/cpu.h) and on GPUs (gpu_entries.h). Plain C11 that C++ reads, too. */
#ifndef BI_KERNELS_CALL_H
#define BI_KERNELS_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* A launch, as far as rows of kernels look at it. */
struct bi_call {
    const void *params;         /* struct bi_<params>_params; pointers are device addresses */
    uint32_t half_in, half_out; /* bit k is set where input k, output k is float16 */
    int32_t units;              /* multiprocessors of the device; 0 = the CPU */
    bool near_f32;              /* matrix units of the GPU take float32, or terms of it */
};

#endif

/* call.h - conditions on a launch that GPU entries share (gpu_entries.h). Plain C11 that C++ reads,
 * too. */
#ifndef BI_GPU_CALL_H
#define BI_GPU_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "../call.h"

/* Can Hopper's copy engine read rows of float16, ld elements apart, from base? They may overlap.
 * Alignment alone is looked at: NULL counts as aligned. */
static inline bool bi_gpu_is_mappable(const void *base, int64_t ld)
{
    return (uintptr_t)base % 16 == 0 && ld % 8 == 0 && ld > 0;
}

/* Defines a condition: bi_gpu_takes_<name>(call). */
#define BI_GPU_TAKES(name, condition)                                                              \
    static inline bool bi_gpu_takes_##name(const struct bi_call *call)                             \
    {                                                                                              \
        (void)call;                                                                                \
        return condition;                                                                          \
    }

/* The same for a condition that reads the parameters p of an op. */
#define BI_GPU_TAKES_OF(name, op, condition)                                                       \
    static inline bool bi_gpu_takes_##name(const struct bi_call *call)                             \
    {                                                                                              \
        const struct bi_##op##_params *p = (const struct bi_##op##_params *)call->params;          \
        return condition;                                                                          \
    }

/* The first input, or that and the first output, are of these types. */
BI_GPU_TAKES(f32, !(call->half_in & 1))
BI_GPU_TAKES(f16, call->half_in & 1)
BI_GPU_TAKES(f32_f32, !(call->half_in & 1) && !(call->half_out & 1))
BI_GPU_TAKES(f32_f16, !(call->half_in & 1) && (call->half_out & 1))
BI_GPU_TAKES(f16_f32, (call->half_in & 1) && !(call->half_out & 1))
BI_GPU_TAKES(f16_f16, (call->half_in & 1) && (call->half_out & 1))
/* The first output is of this type. */
BI_GPU_TAKES(to_f32, !(call->half_out & 1))
BI_GPU_TAKES(to_f16, call->half_out & 1)
/* The second input is of this type. */
BI_GPU_TAKES(second_f32, !(call->half_in & 2))
BI_GPU_TAKES(second_f16, call->half_in & 2)
/* Never: named, a launch asks for the entry by its name; none, the entry is a later part of the one
 * before it. */
BI_GPU_TAKES(named, false)
BI_GPU_TAKES(none, false)

#endif

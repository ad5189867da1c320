/* gpu_sums.h - sums in float64, and how they lie among float32 (list_sums.h). */
#ifndef BI_GPU_SUMS_H
#define BI_GPU_SUMS_H

#include "gpu.h"

/* Writes a sum as two rows: the second is what rounding leaves of the first. */
DEV void put_sum(float *y, int64_t ldy, double sum)
{
    const float high = (float)sum;
    y[0] = high;
    y[ldy] = (float)(sum - (double)high);
}

/* Reads a partial sum, whose words are at `part` and a row below. */
DEV double load_part(const float *part, int64_t ld)
{
    return bits<double>((u64)bits<u32>(part[ld]) << 32 | bits<u32>(part[0]));
}

/* Writes it there. */
DEV void store_part(float *part, int64_t ld, double sum)
{
    const u64 raw = bits<u64>(sum);
    part[0] = bits<float>((u32)raw);
    part[ld] = bits<float>((u32)(raw >> 32));
}

#endif

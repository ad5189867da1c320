/* align.c - alignment in 8- and 16-bit lanes; the code is in align_lanes.h. */
#include "align.h"
#include "entries.h"
#include "lanes.h"

#define LANE 8
#include "align_lanes.h"
#undef LANE
#define LANE 16
#include "align_lanes.h"
#undef LANE

const struct bi_align_kernels *BI_ISA_NAME(align)(int bits)
{
    return bits == 8 ? &align_kernels8 : &align_kernels16;
}

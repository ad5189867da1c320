/* align_trace.cu - scores, ends and flags of many pairs (align_cells.h), for align_walk.cu. */
#include "lib/align_cells.h"

ALIGN(align_trace_16x8_l8, 16, 8, 8, true, true, 8192, 8)
ALIGN(align_trace_16x8_l32, 16, 8, 32, true, true, 32768, 1)

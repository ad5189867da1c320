/* align.cu - global scores of many pairs (align_cells.h). */
#include "lib/align_cells.h"

ALIGN(align_8x8_l8, 8, 8, 8, false, false, 8192, 1)
ALIGN(align_16x16_l8, 16, 16, 8, false, false, 16384, 1)
ALIGN(align_32x13_l8, 32, 13, 8, false, false, 16384, 1)
ALIGN(align_16x8_l22, 16, 8, 22, false, false, 22528, 1)
ALIGN(align_16x16_l22, 16, 16, 22, false, false, 45056, 1)
ALIGN(align_32x13_l22, 32, 13, 22, false, false, 45056, 1)
ALIGN(align_16x16_l32, 16, 16, 32, false, false, 65536, 1)

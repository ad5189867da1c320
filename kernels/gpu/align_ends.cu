/* align_ends.cu - scores of many pairs with free ends (align_cells.h). */
#include "lib/align_cells.h"

ALIGN(align_ends_16x16_l8, 16, 16, 8, true, false, 16384, 1)
ALIGN(align_ends_16x16_l32, 16, 16, 32, true, false, 65536, 1)

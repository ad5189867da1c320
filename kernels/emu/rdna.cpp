/* rdna.cpp - the kernels over the lane maps and waves of AMD's RDNA 3 chips. */
#define BI_EMU_RDNA 1
#include "kernels.h"

const struct bi_emu_target bi_emu_rdna = {"rdna", WAVE, kernels, 0};

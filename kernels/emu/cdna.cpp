/* cdna.cpp - the kernels over the lane maps and waves of AMD's CDNA chips. */
#define BI_EMU_CDNA 1
#include "kernels.h"

const struct bi_emu_target bi_emu_cdna = {"cdna", WAVE, kernels, 0};
const struct bi_emu_target bi_emu_cdna2 = {"cdna2", WAVE, kernels, 1};

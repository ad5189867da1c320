/* nvidia.cpp - the kernels over the lane maps and waves of NVIDIA chips. */
#define BI_EMU_NVIDIA 1
#include "kernels.h"

const struct bi_emu_target bi_emu_nvidia = {"nvidia", WAVE, kernels, 0};

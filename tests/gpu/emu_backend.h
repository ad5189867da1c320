/* emu_backend.h - the GPU backend over the host emulation: gpu.c as it is, a driver that runs
 * kernels by fibers and counts every call. */
#ifndef BI_EMU_BACKEND_H
#define BI_EMU_BACKEND_H

#include "../../engine/backend.h"

extern const struct bi_backend_ops emu_nvidia, emu_cdna, emu_cdna2, emu_rdna;

struct emu_counts {
    long copies_in, launches, copies_out, copies_within, allocations, waits;
    uint64_t bytes_in, bytes_out;
    const char *error; /* says how the last launch went wrong */
    uint64_t most;     /* larger blocks of the device cannot be had; 0 = any can */
};
extern struct emu_counts emu_counts;

#endif

/* table.c - the table of one instruction set. */
#include "entries.h"

static const struct bi_cpu_entry *const entries[] = {
#define KERNEL(name) &BI_ISA_NAME(name##_entry),
    BI_KERNELS(KERNEL) NULL,
#undef KERNEL
};

static const struct bi_cpu_kernels kernels = {
    .name = BI_ISA_STRING,
    .precision = "fp32",
    .entries = entries,
    .product = &BI_ISA_NAME(linear_entry),
    .pack_size = BI_ISA_NAME(pack_size),
    .pack = BI_ISA_NAME(pack),
    .panel = BI_ISA_NAME(panel),
    .panels_size = BI_ISA_NAME(pack_size),
    .panels = BI_ISA_NAME(pack),
    .to_half = BI_ISA_NAME(to_half),
    .checksum = BI_ISA_NAME(checksum),
    .align = BI_ISA_NAME(align),
};

const struct bi_cpu_kernels *BI_ISA_NAME(kernels)(void)
{
    return &kernels;
}

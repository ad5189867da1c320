/* table.c - the table of one instruction set. */
#include "entries.h"

#define PLAIN(n) {#n, BI_ISA_NAME(n##_tasks), BI_ISA_NAME(n##_run), NULL},
#define SCRATCH(n)                                                                                 \
    {#n, BI_ISA_NAME(n##_tasks), BI_ISA_NAME(n##_run), BI_ISA_NAME(n##_scratch_size)},
static const struct bi_cpu_entry entries[] = {
    BI_CPU_ENTRY_LIST(PLAIN, SCRATCH) /* ends with name NULL */
    {NULL, NULL, NULL, NULL},
};

static const struct bi_cpu_kernels kernels = {
    .name = BI_ISA_STRING,
    .entries = entries,
    .pack_size = BI_ISA_NAME(pack_size),
    .pack = BI_ISA_NAME(pack),
    .panel = BI_ISA_NAME(panel),
    .to_half = BI_ISA_NAME(to_half),
    .checksum = BI_ISA_NAME(checksum),
    .align = BI_ISA_NAME(align),
};

const struct bi_cpu_kernels *BI_ISA_NAME(kernels)(void)
{
    return &kernels;
}

/* entries.h - the kernels every instruction set has, by the name launches call them. */
#ifndef BI_CPU_ENTRIES_H
#define BI_CPU_ENTRIES_H

#include "cpu.h"
#include "kernels/list.h" /* made by ../meson.build: BI_KERNELS */
#include "simd.h"

/* Every kernel of ops.inc (BI_KERNELS) has bi_cpu_<name>_tasks and bi_cpu_<name>_run, some have
 * bi_cpu_<name>_scratch_size, with the suffix of the set (BI_ISA_NAME). Behind them its file says
 * BI_CPU_ENTRY(name), or BI_CPU_ENTRY_SCRATCH(name) where it has the third, which makes of them the
 * row that the table points to. It accepts launches in float32; BI_CPU_ENTRY_OF(name, accepts,
 * scratch_size) says which instead. */
#define BI_CPU_DECLARE(name)                                                                       \
    int64_t BI_ISA_NAME(name##_tasks)(const void *params, int n_threads);                          \
    void BI_ISA_NAME(name##_run)(const void *params, int64_t task, int64_t n_tasks,                \
                                 void *scratch);                                                   \
    size_t BI_ISA_NAME(name##_scratch_size)(const void *params, int64_t rows, int64_t longest);    \
    extern const struct bi_cpu_entry BI_ISA_NAME(name##_entry);
BI_KERNELS(BI_CPU_DECLARE)
#undef BI_CPU_DECLARE
#define BI_CPU_ENTRY_OF(name, condition, size)                                                     \
    const struct bi_cpu_entry BI_ISA_NAME(name##_entry) = {                                        \
        #name, condition, BI_ISA_NAME(name##_tasks), BI_ISA_NAME(name##_run), size};
#define BI_CPU_ENTRY(name) BI_CPU_ENTRY_OF(name, bi_cpu_accepts_full, NULL)
#define BI_CPU_ENTRY_SCRATCH(name)                                                                 \
    BI_CPU_ENTRY_OF(name, bi_cpu_accepts_full, BI_ISA_NAME(name##_scratch_size))

/* linear.c (packed weights), half.c and checksum.c: see struct bi_cpu_kernels. panel() is NR of
 * tile.h here. */
size_t BI_ISA_NAME(pack_size)(int64_t n, int64_t k);
void BI_ISA_NAME(pack)(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows,
                       const float *w);
int64_t BI_ISA_NAME(panel)(void);
void BI_ISA_NAME(to_half)(uint16_t *dst, const float *src, int64_t n);
void BI_ISA_NAME(checksum)(uint64_t sum[2], const struct bi_checksum_keys *keys, const float *x,
                           int64_t first, int64_t rows, int64_t width);

/* align.c: kernels of 8 bits, or of 16 for any other number; never NULL */
const struct bi_align_kernels *BI_ISA_NAME(align)(int bits);
#if BI_ISA_ID == BI_ISA_ID_avx512
struct bi_align_many;
/* align_vbmi.c, for processors with VBMI: many() of 8 bits. False: the pairs do not suit it, and
 * nothing is computed. Either way a->used may have become narrower: the codes of these pairs. */
bool bi_cpu_align_many_vbmi(struct bi_align_many *a);
#endif

#endif

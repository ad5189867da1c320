/* entries.h - the kernels every instruction set has, by the name launches call them. */
#ifndef BI_CPU_ENTRIES_H
#define BI_CPU_ENTRIES_H

#include "cpu.h"
#include "simd.h"

/* PLAIN(name): bi_cpu_<name>_tasks and bi_cpu_<name>_run; SCRATCH(name): also
 * bi_cpu_<name>_scratch_size; each with the suffix of the set, by BI_ISA_NAME. */
#define BI_CPU_ENTRY_LIST(PLAIN, SCRATCH)                                                          \
    SCRATCH(linear)                                                                                \
    PLAIN(embedding)                                                                               \
    PLAIN(scale_rows)                                                                              \
    PLAIN(halves)                                                                                  \
    PLAIN(select_rows)                                                                             \
    PLAIN(unary)                                                                                   \
    PLAIN(add)                                                                                     \
    PLAIN(mul)                                                                                     \
    PLAIN(positions)                                                                               \
    PLAIN(embedding_windows)                                                                       \
    PLAIN(sequence_windows)                                                                        \
    PLAIN(layernorm)                                                                               \
    SCRATCH(mean_pool)                                                                             \
    PLAIN(rope_table)                                                                              \
    PLAIN(rope)                                                                                    \
    PLAIN(norm_act)                                                                                \
    PLAIN(pair_diff)                                                                               \
    PLAIN(pair_pool)                                                                               \
    PLAIN(upsample)                                                                                \
    PLAIN(bin_sums)                                                                                \
    PLAIN(depthwise)                                                                               \
    SCRATCH(rel_attention)                                                                         \
    SCRATCH(attention)                                                                             \
    SCRATCH(scores)                                                                                \
    PLAIN(relative_bias)                                                                           \
    PLAIN(softmax)                                                                                 \
    SCRATCH(mix)                                                                                   \
    PLAIN(virtual_cb)                                                                              \
    PLAIN(knn)                                                                                     \
    PLAIN(rbf)                                                                                     \
    PLAIN(relative)                                                                                \
    PLAIN(orientation)                                                                             \
    PLAIN(edge_concat)                                                                             \
    PLAIN(edge_sum)                                                                                \
    PLAIN(neighbor_sum)                                                                            \
    PLAIN(row_bias)                                                                                \
    PLAIN(atom_features)                                                                           \
    PLAIN(atom_pairs)                                                                              \
    PLAIN(fill)                                                                                    \
    PLAIN(put_rows)                                                                                \
    PLAIN(next_step)                                                                               \
    PLAIN(draw)                                                                                    \
    SCRATCH(edge_message)                                                                          \
    SCRATCH(contacts)                                                                              \
    SCRATCH(attention_contacts)

#define BI_CPU_DECLARE_PLAIN(name)                                                                 \
    int64_t BI_ISA_NAME(name##_tasks)(const void *params, int n_threads);                          \
    void BI_ISA_NAME(name##_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch);
#define BI_CPU_DECLARE_SCRATCH(name)                                                               \
    BI_CPU_DECLARE_PLAIN(name)                                                                     \
    size_t BI_ISA_NAME(name##_scratch_size)(const void *params, int64_t rows, int64_t longest);
BI_CPU_ENTRY_LIST(BI_CPU_DECLARE_PLAIN, BI_CPU_DECLARE_SCRATCH)
#undef BI_CPU_DECLARE_PLAIN
#undef BI_CPU_DECLARE_SCRATCH

/* linear.c: packed weights, see struct bi_cpu_kernels */
size_t BI_ISA_NAME(pack_size)(int64_t n, int64_t k);
void BI_ISA_NAME(pack)(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows,
                       const float *w);
int64_t BI_ISA_NAME(panel)(void);
void BI_ISA_NAME(to_half)(uint16_t *dst, const float *src, int64_t n);
void BI_ISA_NAME(checksum)(uint64_t sum[2], const struct bi_checksum_keys *keys, const float *x,
                           int64_t first, int64_t rows, int64_t width);

const struct bi_align_kernels *BI_ISA_NAME(align)(int bits); /* align.c */
#if BI_ISA_ID == BI_ISA_ID_avx512
struct bi_align_many;
/* align_vbmi.c: false where pairs do not suit it, and nothing is done */
bool bi_cpu_align_many_vbmi(struct bi_align_many *a);
#endif

#endif

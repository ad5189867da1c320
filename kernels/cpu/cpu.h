/* cpu.h - what a CPU kernel is, and the tables of kernels by instruction set.
 *
 * A kernel is written once over simd.h and compiled per instruction set (generic, avx2,
 * avx512, neon), each giving one const table. The backend picks a table at run time.
 *
 * A launch runs as independent tasks: any thread may run any task, in any order; no task
 * depends on how many there are, so results do not depend on threads. */
#ifndef BI_CPU_H
#define BI_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bi_align_kernels;
struct bi_checksum_keys;

struct bi_cpu_entry {
    const char *name; /* as launches call it: "linear", "attention", ... */
    /* Number of tasks for the true sizes in params->counts. */
    int64_t (*tasks)(const void *params, int n_threads);
    /* Runs task number `task` of `n_tasks`. scratch: 64-byte aligned, of the thread's own. */
    void (*run)(const void *params, int64_t task, int64_t n_tasks, void *scratch);
    /* Bytes of scratch a thread needs for the largest sizes of these params: `rows` and
     * `longest` are the plan's bucket, not the batch. NULL = none. */
    size_t (*scratch_size)(const void *params, int64_t rows, int64_t longest);
};

struct bi_cpu_kernels {
    const char *name;                          /* "avx512" */
    const struct bi_cpu_entry *const *entries; /* ends with NULL */
    /* linear weights: bytes of the packed form of w [n, k] ... */
    size_t (*pack_size)(int64_t n, int64_t k);
    /* ... and packing of rows [first, first + rows) given as plain float32. Rows must come in
     * whole panels: first is a multiple of panel(), rows too but for the last call. Padding is
     * zeroed. */
    void (*pack)(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows, const float *w);
    int64_t (*panel)(void); /* columns of one panel */
    /* n numbers to float16, to nearest even; NaN stays NaN, a quiet one. */
    void (*to_half)(uint16_t *dst, const float *src, int64_t n);
    /* Adds rows [first, first + rows) of a matrix to its checksum (../checksum.h). */
    void (*checksum)(uint64_t sum[2], const struct bi_checksum_keys *keys, const float *x,
                     int64_t first, int64_t rows, int64_t width);
    /* Pairwise alignment (align.h) in lanes of 8 or 16 bits. */
    const struct bi_align_kernels *(*align)(int bits);
};

/* The entry that launches call `name`; NULL: there is none. */
static inline const struct bi_cpu_entry *bi_cpu_find_entry(const struct bi_cpu_kernels *kernels,
                                                           const char *name)
{
    const struct bi_cpu_entry *const *e = kernels->entries;
    while (*e && strcmp((*e)->name, name))
        e++;
    return *e;
}

/* Tables compiled in. Whether this machine has the instructions, and its system saves the
 * registers, only bi_cpu_kernels_usable() says. */
const struct bi_cpu_kernels *bi_cpu_kernels_generic(void);
#if defined __x86_64__
const struct bi_cpu_kernels *bi_cpu_kernels_avx2(void);
const struct bi_cpu_kernels *bi_cpu_kernels_avx512(void);
/* Whether it also has AVX-512 VBMI, which kernels of avx512 (align_vbmi.c) use where it is. */
bool bi_cpu_has_vbmi(void);
#elif defined __aarch64__
const struct bi_cpu_kernels *bi_cpu_kernels_neon(void);
#endif

/* Best first, of those this machine can run: index 0, 1, ...; NULL past the end. */
const struct bi_cpu_kernels *bi_cpu_kernels_usable(int index);
/* CPU brand string for messages. */
void bi_cpu_description(char *text, size_t size);

#endif

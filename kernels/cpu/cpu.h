/* cpu.h - what a CPU kernel is, and the tables of kernels by instruction set.
 *
 * A kernel is written once over simd.h and compiled per instruction set (generic, avx2,
 * avx512, neon), each giving one const table. The backend picks a table at run time. Tables of AMX
 * have a kernel of their own for linear layers (linear_amx.c) and else those of another table.
 *
 * A launch runs as independent tasks: any thread may run any task, in any order; no task
 * depends on how many there are, so results do not depend on threads. */
#ifndef BI_CPU_H
#define BI_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../call.h"

struct bi_align_kernels;
struct bi_checksum_keys;

/* A kernel of one instruction set: a row of its table. */
struct bi_cpu_entry {
    const char *name; /* as launches call it: "linear", "attention", ... */
    /* Can it do a launch, of these types and sizes? */
    bool (*accepts)(const struct bi_call *call);
    /* Number of tasks for the true sizes in params->counts; 0: there is nothing to do. n_threads:
     * how many will share them, a hint alone. */
    int64_t (*tasks)(const void *params, int n_threads);
    /* Runs task number `task` of `n_tasks`, which is what tasks() gave. scratch: 64-byte aligned,
     * of the thread's own, of scratch_size() bytes; what is in it beforehand does not matter. */
    void (*run)(const void *params, int64_t task, int64_t n_tasks, void *scratch);
    /* Bytes of scratch a thread needs for the largest sizes of these params: `rows` and
     * `longest` are the plan's bucket, not the batch. NULL = none. */
    size_t (*scratch_size)(const void *params, int64_t rows, int64_t longest);
};

/* The kernels of one set of instructions. */
struct bi_cpu_kernels {
    const char *name;                           /* "avx512" */
    const char *precision;                      /* that linear layers have: "fp32", "bf16x2" */
    bool by_name;                               /* for tests: taken only when asked for by name */
    const struct bi_cpu_entry *const *entries;  /* ends with NULL */
    const struct bi_cpu_kernels *(*base)(void); /* has the entries that are not here; or NULL */
    const struct bi_cpu_entry *product;         /* linear, for products without a graph */
    /* linear weights: bytes of the packed form of w [n, k] ... */
    size_t (*pack_size)(int64_t n, int64_t k);
    /* ... and packing of rows [first, first + rows) given as plain float32. Rows must come in
     * whole panels: first is a multiple of panel(), rows too but for those at the end of w. Calls
     * may come in any order; w points to row `first`, and packed to the whole form. Padding of
     * panels is zeroed. */
    void (*pack)(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows, const float *w);
    int64_t (*panel)(void); /* columns of one panel */
    /* The same for kernels that make products of tile.h beside other things (edges.c): panels of
     * float32; panel() is a multiple of theirs. */
    size_t (*panels_size)(int64_t n, int64_t k);
    void (*panels)(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows, const float *w);
    /* n numbers to float16, to nearest even; 65520 and more becomes infinity; NaN stays NaN, a
     * quiet one. */
    void (*to_half)(uint16_t *dst, const float *src, int64_t n);
    /* Adds rows [first, first + rows) of a matrix to its checksum (../checksum.h), which is 0, 0 at
     * first; x points to row `first`, and rows have no gap between them. */
    void (*checksum)(uint64_t sum[2], const struct bi_checksum_keys *keys, const float *x,
                     int64_t first, int64_t rows, int64_t width);
    /* Pairwise alignment (align.h) in lanes of 8 bits, or of 16 for any other number; not NULL. */
    const struct bi_align_kernels *(*align)(int bits);
};

/* Does a launch read and write float32 alone? */
static inline bool bi_cpu_accepts_full(const struct bi_call *call)
{
    return !call->half_in && !call->half_out;
}

/* The first entry that launches call `name` and that accepts the call, of these kernels and then of
 * those of base(); NULL: there is none. call NULL: the first of the name. */
static inline const struct bi_cpu_entry *bi_cpu_find_entry(const struct bi_cpu_kernels *kernels,
                                                           const char *name,
                                                           const struct bi_call *call)
{
    const struct bi_cpu_entry *const *e = kernels->entries;
    while (*e && (strcmp((*e)->name, name) || (call && !(*e)->accepts(call))))
        e++;
    return *e || !kernels->base ? *e : bi_cpu_find_entry(kernels->base(), name, call);
}

/* Tables compiled in, never NULL. Whether this machine has the instructions, and its system saves
 * the registers, only bi_cpu_kernels_usable() says. */
const struct bi_cpu_kernels *bi_cpu_kernels_generic(void);
#if defined __x86_64__
const struct bi_cpu_kernels *bi_cpu_kernels_avx2(void);
const struct bi_cpu_kernels *bi_cpu_kernels_avx512(void);
/* Products of two or three bfloat16 terms (terms is 2 or 3), on AMX tiles or on what emulates them
 * with AVX2, which is for tests and equal to the bit. */
const struct bi_cpu_kernels *bi_cpu_kernels_amx(int terms);
const struct bi_cpu_kernels *bi_cpu_kernels_amx_emulated(int terms);
/* One tile instruction: c [16, 16] += a [16, 32] b, b [16][16][2], a and b in bfloat16
 * (tile_amx.h). The first needs tiles that bi_cpu_kernels_usable() was granted. */
void bi_cpu_tile_dot_amx(float *c, const uint16_t *a, const uint16_t *b);
void bi_cpu_tile_dot_amx_emulated(float *c, const uint16_t *a, const uint16_t *b);
/* Whether the processor also has AVX-512 VBMI, which kernels of avx512 (align_vbmi.c) use where it
 * is. Only where those of avx512 are usable does it say that VBMI is, too. */
bool bi_cpu_has_vbmi(void);
#elif defined __aarch64__
const struct bi_cpu_kernels *bi_cpu_kernels_neon(void);
#endif

/* Kernels that this machine can run: index 0, 1, ...; NULL past the end, never for 0. The best ones
 * for float32 come first, AMX behind the plain vectors, emulations last. Where the processor has
 * AMX, it asks Linux for the tiles, for all threads of the process and for good. */
const struct bi_cpu_kernels *bi_cpu_kernels_usable(int index);
/* The best of them that has this name and this precision; NULL or "" = any, but by name alone those
 * that are taken so. NULL: there are none. */
const struct bi_cpu_kernels *bi_cpu_kernels_choose(const char *name, const char *precision);
/* Why the processor has AMX and its kernels are not usable all the same, a constant string; NULL:
 * they are usable, or there is no AMX, or no AVX-512. It asks for the tiles, too. */
const char *bi_cpu_amx_refused(void);
/* The processor's name, "CPU" where it has none, and in brackets that of the first usable kernels:
 * for messages. A text longer than size - 1 bytes is cut. */
void bi_cpu_description(char *text, size_t size);

#endif

/* gpu_entries.h - every GPU entry: its name, module, parameters and launch. Plain C11; read by
 * the host to describe launches, by the emulation to list kernels, and by the tests. The entries
 * stand in kernels/gpu/<file>.h as BI_GPU_ENTRIES_<file>(E), <file> being that of the parameters.
 *
 * BI_GPU_ENTRIES(E) is all of them, with E(name, module, params, threads, shared, grid):
 *   name     as in the module; <op>_<variant>_<dtypes>, dtypes of x and, where it may differ, y
 *   module   kernels/<module>.cu, and `module` of struct bi_gpu_blob (gpu_blobs.h)
 *   params   struct bi_<params>_params of kernels/<...>.h, passed by value: one argument. All
 *            pointers are device pointers; those to activations and weights are float * in C
 *            but point to f16 where the name says so. counts points to the true sizes.
 *   threads  of a block: {threads, 1, 1}
 *   shared   bytes of dynamic shared memory the launch grants on NVIDIA (above 48 KiB after
 *            the function's limit has been raised). On AMD grant 0: the kernel declares it.
 *   grid     bi_gpu_grid_<grid>(params, bucket, grid): grid[2] from the params and the sizes of
 *            the plan's bucket, which bound every batch of the plan; blocks behind the true
 *            sizes return at once.
 *
 * What f16 and f32 in a name mean stands in kernels/gpu/<file>.h above the entries.
 *
 * Alignment is never required, only faster: 16 bytes for base and row stride. */
#ifndef BI_GPU_ENTRIES_H
#define BI_GPU_ENTRIES_H

#include <stddef.h>
#include <string.h>

#include "kernels/gpu_list.h" /* made by meson.build: kernels/gpu/<file>.h, BI_GPU_ENTRIES */

struct bi_gpu_entry {
    const char *name, *module;
    int32_t threads, shared;
    void (*grid)(const void *params, const struct bi_counts *bucket, int32_t grid[2]);
    size_t head, size; /* gpu_entries_sm90.h: where in its params those of the op begin, and end */
};

/* Entries, this one and those behind it, that one launch of an op goes through. */
static inline int bi_gpu_parts(const struct bi_gpu_entry *e)
{
    return !strncmp(e->name, "attention_contacts_", 19) ? 3
           : !strncmp(e->name, "contacts_", 9)          ? 2
                                                        : 1;
}

/* An element of a table of struct bi_gpu_entry. */
#define BI_GPU_ENTRY(name, module, params, threads, shared, grid)                                  \
    {#name, #module, threads, shared, bi_gpu_grid_##grid, 0, 0},

#endif

/* gpu_entries.h - every GPU entry: its name, module, parameters, launch, and which launches it
 * takes. Plain C11; read by the host to choose and describe launches, by the emulation to list
 * kernels, and by the tests. The entries stand in kernels/gpu/<file>.h as
 * BI_GPU_ENTRIES_<file>(E), <file> being that of the parameters; Hopper's own are in
 * gpu_entries_sm90.h.
 *
 * BI_GPU_ENTRIES(E) is all portable ones, as
 * E(name, module, params, threads, shared, grid, takes):
 *   name     as in the module; <op>_<variant>_<dtypes>, dtypes of x and, where it may differ, y
 *   module   kernels/gpu/<module>.cu, and `module` of struct bi_gpu_blob (gpu_blobs.h)
 *   params   struct bi_<params>_params of kernels/<...>.h, passed by value: one argument. All
 *            pointers are device pointers; those to activations and weights are float * in C
 *            but point to f16 where the name says so. counts points to the true sizes. It is also
 *            what launches of the entry are called (bi_launch.entry).
 *   threads  of a block: {threads, 1, 1}
 *   shared   bytes of dynamic shared memory the launch grants on NVIDIA (above 48 KiB after
 *            the function's limit has been raised). On AMD grant 0: the kernel declares it.
 *   grid     bi_gpu_grid_<grid>(params, bucket, grid): grid[2] from the params and the sizes of
 *            the plan's bucket, which bound every batch of the plan; blocks behind the true
 *            sizes return at once.
 *   takes    bi_gpu_takes_<takes>(call): whether it can do a launch (gpu/call.h)
 *
 * A launch becomes the entry of Hopper's own that takes it at the least cost, and where none does
 * the first portable one of the list. All that take a launch give the same bits, but for a twin; so
 * the choice is one of time alone. It is made from the bucket and holds for every batch of a plan.
 *
 * What f16 and f32 in a name mean stands in kernels/gpu/<file>.h above the entries.
 *
 * Alignment is never required, only faster: 16 bytes for base and row stride. */
#ifndef BI_GPU_ENTRIES_H
#define BI_GPU_ENTRIES_H

#include <stddef.h>

#include "kernels/gpu_list.h" /* made by meson.build: kernels/gpu/<file>.h, BI_GPU_ENTRIES */

struct bi_gpu_entry;

/* Rows of f16, ld elements apart, that Hopper's copy engine reads or writes in boxes. */
struct bi_gpu_box {
    const void *base; /* NULL: the kernel does not use this map */
    int64_t rows, columns, ld;
    int32_t box_rows, box_columns;
};

enum { BI_GPU_MOST_MAPS = 8 };

/* The part of a result that a block makes at a time, and its time in nanoseconds as measured on an
 * H200: of a launch, of 64 of k in the first round of tiles over the chip, of 64 of k in each
 * further round. more = 0: a block makes one tile, and all tiles are made at once. */
struct bi_gpu_tile {
    int32_t rows, columns, launch, slice, more;
};

/* Hopper's own entries of one tile have this in common. */
struct bi_gpu_sm90 {
    const char *kernel; /* the name of launches */
    bool (*takes)(const struct bi_gpu_entry *e, const struct bi_call *call);
    int64_t (*cost)(const struct bi_gpu_entry *e, const struct bi_call *call); /* NULL: 0 */
    void (*grid)(const struct bi_gpu_entry *e, const void *params, const struct bi_counts *bucket,
                 int32_t grid[2]);
    /* Describes the maps in front of the params. boxes is zeroed. n_tokens: of the bucket. */
    void (*maps)(const struct bi_gpu_entry *e, const void *params, int64_t n_tokens,
                 struct bi_gpu_box boxes[BI_GPU_MOST_MAPS]);
    bool stays; /* blocks go from tile to tile: launch at most as many as multiprocessors */
    struct bi_gpu_tile tile;
};

/* A row of a kernel of GPUs: an entry, and which launches it takes. */
struct bi_gpu_entry {
    const char *name, *module, *kernel;
    int32_t threads, shared;
    /* for portable ones */
    void (*grid)(const void *params, const struct bi_counts *bucket, int32_t grid[2]);
    bool (*takes)(const struct bi_call *call);
    /* for Hopper's own; NULL and 0 for the others */
    const struct bi_gpu_sm90 *sm90;
    int32_t kind;
    size_t head, size; /* where in its params those of the op begin, and end */
};

/* Hopper's own, then the portable ones; ends with a name of NULL. */
extern const struct bi_gpu_entry bi_gpu_entries[];

/* Finds the entry that a launch becomes; NULL = none takes it, or there is no such name. kernel:
 * the name of the launch, or of an entry, which is given then whatever the call and hopper say.
 * Among Hopper's own of equal cost the first of the list is taken. */
const struct bi_gpu_entry *bi_gpu_choose(const char *kernel, const struct bi_call *call,
                                         bool hopper);
/* The name of launches (bi_launch.entry) that can become the entry; static. */
const char *bi_gpu_kernel(const struct bi_gpu_entry *e);
/* The grid of an entry for the sizes of a bucket, on a chip of so many multiprocessors, which only
 * bound grid[0] of Hopper's own whose blocks go from tile to tile. grid[0] may be 0 where there are
 * no rows. */
void bi_gpu_entry_grid(const struct bi_gpu_entry *e, const void *params,
                       const struct bi_counts *bucket, int32_t units, int32_t grid[2]);
/* Counts the entries, this one and those behind it, that one launch goes through: at least 1. */
int bi_gpu_parts(const struct bi_gpu_entry *e);
/* Is it a part of a launch that goes through the entry before it first? bi_gpu_choose() gives such
 * a one by its own name alone. */
bool bi_gpu_is_later_part(const struct bi_gpu_entry *e);

#endif

/* table.c - the table of all GPU entries, and the choice among them. */
#include "gpu_entries_sm90.h"

#include <string.h>

#define SM90(entry, code, type, block, memory, tile, what)                                         \
    {.name = #entry,                                                                               \
     .module = #code,                                                                              \
     .threads = block,                                                                             \
     .shared = memory,                                                                             \
     .sm90 = &bi_gpu_sm90_##tile,                                                                  \
     .kind = BI_GPU_KIND_##what,                                                                   \
     .head = offsetof(struct bi_##type##_sm90_params, type),                                       \
     .size = sizeof(struct bi_##type##_sm90_params)},
#define PORTABLE(entry, code, type, block, memory, blocks, condition)                              \
    {.name = #entry,                                                                               \
     .module = #code,                                                                              \
     .kernel = #type,                                                                              \
     .threads = block,                                                                             \
     .shared = memory,                                                                             \
     .grid = bi_gpu_grid_##blocks,                                                                 \
     .takes = bi_gpu_takes_##condition},

const struct bi_gpu_entry bi_gpu_entries[] = {BI_GPU_ENTRIES_SM90(SM90)
                                                  BI_GPU_ENTRIES(PORTABLE){.name = NULL}};

const char *bi_gpu_kernel(const struct bi_gpu_entry *e)
{
    return e->sm90 ? e->sm90->kernel : e->kernel;
}

bool bi_gpu_is_later_part(const struct bi_gpu_entry *e)
{
    return e->takes == bi_gpu_takes_none;
}

int bi_gpu_parts(const struct bi_gpu_entry *e)
{
    int n = 1;
    while (e[n].name && bi_gpu_is_later_part(&e[n]))
        n++;
    return n;
}

void bi_gpu_entry_grid(const struct bi_gpu_entry *e, const void *params,
                       const struct bi_counts *bucket, int32_t units, int32_t grid[2])
{
    grid[0] = grid[1] = 1;
    if (e->sm90)
        e->sm90->grid(e, params, bucket, grid);
    else
        e->grid(params, bucket, grid);
    if (e->sm90 && e->sm90->stays && grid[0] > units)
        grid[0] = units;
}

/* Can a chip run the entry, and does it take the call? */
static bool takes(const struct bi_gpu_entry *e, const struct bi_call *call, bool hopper)
{
    return e->sm90 ? hopper && e->sm90->takes(e, call) : e->takes(call);
}

const struct bi_gpu_entry *bi_gpu_choose(const char *kernel, const struct bi_call *call,
                                         bool hopper)
{
    const struct bi_gpu_entry *best = NULL;
    int64_t least = INT64_MAX;
    for (const struct bi_gpu_entry *e = bi_gpu_entries; e->name; e++) {
        int64_t cost = 0;
        if (!strcmp(e->name, kernel))
            return e;
        if (strcmp(bi_gpu_kernel(e), kernel) || !takes(e, call, hopper))
            continue;
        if (e->sm90 && e->sm90->cost)
            cost = e->sm90->cost(e, call);
        else if (best)
            break; /* the portable ones, behind Hopper's own, have no cost: the first is taken */
        if (cost < least) {
            least = cost;
            best = e;
        }
    }
    return best;
}

/* find_sites.c - cases of the find_sites kernel. */
#include "graphs.h"

#include "kernels/junctions.h"

static void cases(struct ck *ck)
{
    typedef struct bi_find_sites_params T;
    for (int i = 0; i < 16 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
        const int32_t n_tiles = (int32_t)ck_random(ck, 1, 9), k = (int32_t)ck_random(ck, 1, 90);
        const int32_t n = BI_JUNCTION_CLASSES * k, step = (int32_t)ck_random(ck, 1, 200);
        int32_t *found = ck_graph_ints(&g, (int64_t)n_tiles * n, 200);
        int32_t *sites = ck_graph_ints(&g, n, 1);
        T p = {.counts = &g.counts,
               .found = found,
               .sites = sites,
               .step = step,
               .n_tiles = n_tiles,
               .k = k};
        for (int32_t j = 0; j < n_tiles * n; j++)
            found[j] -= found[j] < 20 ? found[j] + 1 : 0;
        for (int32_t j = 0; j < n; j++) {
            const int64_t t = ck_random(ck, 0, n_tiles - 1), at = t * n + j;
            sites[j] = ck_random(ck, 0, 4) ? (found[at] < 0 ? -1 : found[at] + (int32_t)t * step)
                                           : (int32_t)ck_random(ck, -1, 2000);
        }
        p.y = (int32_t *)ck_graph_zeros(&g, n);
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "find_sites",
                                   .reference = bi_op_find_sites.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .note = "random",
                                   .arrays = {{offsetof(T, y), 4 * (size_t)n, CK_FIXED_I32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_find_sites = {.stem = "find_sites", .cases = cases};

/* rope_at.c - cases of the rope_at kernel. */
#include <math.h>

#include "graphs.h"

#include "kernels/junctions.h"

static void cases(struct ck *ck)
{
    typedef struct bi_rope_at_params T;
    for (int i = 0; i < 12 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
        const int64_t rows = ck_random(ck, 1, 90);
        const int32_t n = (int32_t)ck_random(ck, 1, 70);
        int32_t *at = ck_graph_ints(&g, rows, 1 << (i % 2 ? 20 : 10));
        float *frequencies = ck_graph_zeros(&g, n);
        T p = {.counts = &g.counts, .rows = rows, .n = n, .at = at, .inv_freq = frequencies};
        for (int32_t k = 0; k < n; k++)
            frequencies[k] = powf(0.9f, (float)k);
        at[0] = -1;
        at[rows - 1] = (1 << 20) - 1;
        p.y = ck_graph_zeros(&g, rows * 2 * n);
        ck_check_fixed(
            ck, &(struct ck_fixed){
                    .entry = "rope_at",
                    .reference = bi_op_rope_at.reference,
                    .params = &p,
                    .params_size = sizeof p,
                    .absolute = 1e-6,
                    .note = "random",
                    .arrays = {{offsetof(T, y), 8 * (size_t)rows * (size_t)n, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_rope_at = {.stem = "rope_at", .cases = cases};

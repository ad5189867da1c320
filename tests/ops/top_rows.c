/* top_rows.c - cases of the top_rows kernel: few and many above the least, and equal ones. */
#include <math.h>

#include "graphs.h"

#include "kernels/junctions.h"

static void cases(struct ck *ck)
{
    typedef struct bi_top_rows_params T;
    for (int i = 0; i < 16 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
        const int64_t rows = ck_random(ck, 1, i % 3 ? 400 : 3000), width = 5;
        T p = {.counts = &g.counts,
               .rows = rows,
               .ldx = width,
               .n_classes = (int32_t)ck_random(ck, 1, 4),
               .k = (int32_t)ck_random(ck, 1, 70),
               .least = i % 4 ? 0.1f : -1};
        float *x = ck_graph_floats(&g, rows * width, 0.3);
        for (int64_t r = 0; i % 2 && r < rows * width; r++) /* many are equal */
            x[r] = roundf(x[r] * 8) / 8;
        if (i == 5)
            x[0] = NAN; /* it counts as none */
        p.x = x;
        p.y = ck_graph_ints(&g, (int64_t)p.n_classes * p.k, 1);
        ck_check_fixed(ck, &(struct ck_fixed){
                               .entry = "top_rows",
                               .reference = bi_op_top_rows.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .note = "random",
                               .arrays = {{offsetof(T, y), 4 * (size_t)p.n_classes * (size_t)p.k,
                                           CK_FIXED_I32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_top_rows = {.stem = "top_rows", .cases = cases};

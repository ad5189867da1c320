/* fill.c - cases of the fill kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 6 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_fill_params p = {.counts = c,
                                   .axis = BI_AXIS_SAMPLED,
                                   .rows = c->n_sampled,
                                   .width = (int32_t)ck_random(ck, 1, 50),
                                   .is_int = i % 2,
                                   .value = 21};
        p.y = ck_graph_floats(&g, p.rows * p.width, 1);
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "fill",
                                   .reference = bi_op_fill.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .absolute = 1e-5,
                                   .relative = 1e-5,
                                   .note = "random",
                                   .arrays = {{offsetof(struct bi_fill_params, y),
                                               4 * (size_t)(p.rows * p.width), CK_FIXED_I32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_fill = {.stem = "fill", .cases = cases};

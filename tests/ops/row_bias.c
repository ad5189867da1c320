/* row_bias.c - cases of the row_bias kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 8 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_row_bias_params p = {.counts = c,
                                       .axis = BI_AXIS_SAMPLED,
                                       .rows = c->n_sampled,
                                       .width = (int32_t)ck_random(ck, 1, 130)};
        p.ldr = p.ldy = p.width;
        p.r = ck_graph_floats(&g, p.rows * p.width, 1);
        p.b = ck_graph_floats(&g, p.width, 1);
        p.c = ck_graph_floats(&g, p.rows, 1);
        p.y = ck_graph_zeros(&g, p.rows * p.width);
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "row_bias",
                                   .reference = bi_op_row_bias.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .absolute = 1e-5,
                                   .relative = 1e-5,
                                   .note = "random",
                                   .arrays = {{offsetof(struct bi_row_bias_params, y),
                                               4 * (size_t)(p.rows * p.width), CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_row_bias = {.stem = "row_bias", .cases = cases};

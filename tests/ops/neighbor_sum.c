/* neighbor_sum.c - cases of the neighbor_sum kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 12 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 40 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_neighbor_sum_params p = {.counts = c,
                                           .axis = BI_AXIS_TOKENS,
                                           .k = g.k,
                                           .rows = c->n_tokens,
                                           .factor = 0.03f,
                                           .width = (int32_t)ck_random(ck, 1, 130)};
        if (i % 3)
            p.index = g.index;
        if (i % 2) /* without neighbours' numbers the mask is that of edges */
            p.mask = p.index ? g.mask : ck_graph_floats(&g, c->n_edges, 1);
        if (i % 4 == 1) {
            p.token = g.sampled_token;
            p.axis = BI_AXIS_SAMPLED;
            p.rows = c->n_sampled;
        }
        p.x = ck_graph_floats(&g, p.rows * g.k * p.width, 1);
        p.sum = ck_graph_zeros(&g, p.rows * p.width);
        p.weight = ck_graph_zeros(&g, p.rows);
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "neighbor_sum",
                                   .reference = bi_op_neighbor_sum.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .absolute = 1e-5,
                                   .relative = 1e-5,
                                   .note = "random",
                                   .arrays = {{offsetof(struct bi_neighbor_sum_params, sum),
                                               4 * (size_t)(p.rows * p.width), CK_FIXED_F32},
                                              {offsetof(struct bi_neighbor_sum_params, weight),
                                               4 * (size_t)p.rows, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_neighbor_sum = {.stem = "neighbor_sum", .cases = cases};

/* edge_sum.c - cases of the edge_sum kernel. */
#include "graphs.h"
#include "kernels/linear.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 12 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 40 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_edge_sum_params p = {.counts = c, .act = i % 2 ? BI_ACT_GELU : BI_ACT_NONE};
        enum bi_axis axis;
        p.terms = ck_graph_terms(&g, i % 4, (int)ck_random(ck, 1, 130), &axis, &p.rows);
        p.axis = (int32_t)axis;
        p.y = ck_graph_zeros(&g, p.rows * g.k * p.terms.width);
        ck_check_fixed(ck,
                       &(struct ck_fixed){
                           .entry = "edge_sum",
                           .reference = bi_op_edge_sum.reference,
                           .params = &p,
                           .params_size = sizeof p,
                           .absolute = 1e-5,
                           .relative = 1e-5,
                           .note = "random",
                           .arrays = {{offsetof(struct bi_edge_sum_params, y),
                                       4 * (size_t)(p.rows * g.k * p.terms.width), CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_edge_sum = {.stem = "edge_sum", .cases = cases};

/* edge_message.c - cases of the edge_message kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 16 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 30 : 1, (int)ck_random(ck, 1, 64));
        const struct bi_counts *c = &g.counts;
        struct bi_edge_message_params p = {.counts = c, .factor = 0.0333f};
        enum bi_axis axis;
        const int width = i % 5 ? 128 : (int)ck_random(ck, 1, 64);
        p.terms = ck_graph_terms(&g, i % 4, width, &axis, &p.rows);
        p.axis = (int32_t)axis;
        if (i % 2)
            p.mask = p.terms.index ? g.mask : ck_graph_floats(&g, c->n_edges, 1);
        p.w = ck_graph_floats(&g, (int64_t)width * width, 0.1);
        p.b = ck_graph_floats(&g, width, 0.1);
        p.sum = ck_graph_zeros(&g, p.rows * width);
        p.weight = ck_graph_zeros(&g, p.rows);
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "edge_message",
                                   .reference = bi_op_edge_message.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .absolute = 2e-5,
                                   .relative = 1e-5,
                                   .note = "random",
                                   .arrays = {{offsetof(struct bi_edge_message_params, sum),
                                               4 * (size_t)(p.rows * width), CK_FIXED_F32},
                                              {offsetof(struct bi_edge_message_params, weight),
                                               4 * (size_t)p.rows, CK_FIXED_F32},
                                              {offsetof(struct bi_edge_message_params, w),
                                               (size_t)width, CK_FIXED_SQUARE}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_edge_message = {.stem = "edge_message", .cases = cases};

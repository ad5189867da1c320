/* edge_concat.c - cases of the edge_concat kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 8 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_edge_concat_params p = {.counts = c,
                                          .rows = c->n_tokens,
                                          .k = g.k,
                                          .width = (int32_t)ck_random(ck, 1, 130),
                                          .edge_width = (int32_t)ck_random(ck, 1, 130),
                                          .index = g.index};
        p.h = ck_graph_floats(&g, (int64_t)c->n_tokens * p.width, 1);
        p.e = ck_graph_floats(&g, (int64_t)c->n_edges * p.edge_width, 1);
        p.y = ck_graph_zeros(&g, (int64_t)c->n_edges * (2 * p.width + p.edge_width));
        ck_check_fixed(ck, &(struct ck_fixed){.entry = "edge_concat",
                                              .reference = bi_op_edge_concat.reference,
                                              .params = &p,
                                              .params_size = sizeof p,
                                              .absolute = 0,
                                              .relative = 0,
                                              .note = "random",
                                              .arrays = {{offsetof(struct bi_edge_concat_params, y),
                                                          4 * (size_t)c->n_edges *
                                                              (size_t)(2 * p.width + p.edge_width),
                                                          CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_edge_concat = {.stem = "edge_concat", .cases = cases};

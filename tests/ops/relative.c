/* relative.c - cases of the relative kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 8 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_relative_params p = {.counts = c,
                                       .rows = c->n_tokens,
                                       .k = g.k,
                                       .width = (int32_t)ck_random(ck, 1, 130),
                                       .number = g.number,
                                       .chain = g.chain,
                                       .index = g.index};
        p.table = ck_graph_floats(&g, 66 * (int64_t)p.width, 1);
        p.y = ck_graph_zeros(&g, (int64_t)c->n_edges * p.width);
        ck_check_fixed(ck, &(struct ck_fixed){.entry = "relative",
                                              .reference = bi_op_relative.reference,
                                              .params = &p,
                                              .params_size = sizeof p,
                                              .absolute = 0,
                                              .relative = 0,
                                              .note = "random",
                                              .arrays = {{offsetof(struct bi_relative_params, y),
                                                          4 * (size_t)c->n_edges * (size_t)p.width,
                                                          CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_relative = {.stem = "relative", .cases = cases};

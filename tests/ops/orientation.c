/* orientation.c - cases of the orientation kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 10 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_orientation_params p = {.counts = c,
                                          .rows = c->n_tokens,
                                          .width = 15,
                                          .first = 3,
                                          .k = g.k,
                                          .x = g.x,
                                          .index = g.index,
                                          .start = g.start};
        p.y = ck_graph_zeros(&g, 7 * (int64_t)c->n_edges);
        ck_check_fixed(ck, &(struct ck_fixed){.entry = "orientation",
                                              .reference = bi_op_orientation.reference,
                                              .params = &p,
                                              .params_size = sizeof p,
                                              .absolute = 2e-3,
                                              .relative = 1e-4,
                                              .note = "random",
                                              .arrays = {{offsetof(struct bi_orientation_params, y),
                                                          28 * (size_t)c->n_edges, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_orientation = {.stem = "orientation", .cases = cases};

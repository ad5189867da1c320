/* rbf.c - cases of the rbf kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 8 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 40 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_rbf_params p = {.counts = c,
                                  .rows = c->n_tokens,
                                  .width = 15,
                                  .k = g.k,
                                  .n_pairs = (int32_t)ck_random(ck, 1, 25),
                                  .x = g.x,
                                  .index = g.index};
        float *pairs = ck_graph_zeros(&g, 50), *distance = ck_graph_floats(&g, c->n_edges, 8);
        for (int n = 0; n < 50; n++)
            pairs[n] = (float)ck_random(ck, 0, 4);
        p.pairs = pairs;
        p.distance = distance;
        p.y = ck_graph_zeros(&g, c->n_edges * 16 * (int64_t)p.n_pairs);
        ck_check_fixed(ck,
                       &(struct ck_fixed){.entry = "rbf",
                                          .reference = bi_op_rbf.reference,
                                          .params = &p,
                                          .params_size = sizeof p,
                                          .absolute = 2e-5,
                                          .relative = 1e-5,
                                          .note = "random",
                                          .arrays = {{offsetof(struct bi_rbf_params, y),
                                                      64 * (size_t)c->n_edges * (size_t)p.n_pairs,
                                                      CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_rbf = {.stem = "rbf", .cases = cases};

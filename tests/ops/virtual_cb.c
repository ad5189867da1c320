/* virtual_cb.c - cases of the virtual_cb kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 12 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_virtual_cb_params p = {.counts = c, .axis = BI_AXIS_TOKENS, .rows = c->n_tokens};
        p.x = ck_graph_floats(&g, 12 * (int64_t)c->n_tokens, 10);
        p.y = ck_graph_zeros(&g, 15 * (int64_t)c->n_tokens);
        ck_check_fixed(ck,
                       &(struct ck_fixed){.entry = "virtual_cb",
                                          .reference = bi_op_virtual_cb.reference,
                                          .params = &p,
                                          .params_size = sizeof p,
                                          .absolute = 1e-4,
                                          .relative = 1e-5,
                                          .note = "random",
                                          .arrays = {{offsetof(struct bi_virtual_cb_params, y),
                                                      60 * (size_t)c->n_tokens, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_virtual_cb = {.stem = "virtual_cb", .cases = cases};

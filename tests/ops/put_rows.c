/* put_rows.c - cases of the put_rows kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 8 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_put_rows_params p = {.counts = c,
                                       .axis = BI_AXIS_SAMPLES,
                                       .rows = c->n_samples,
                                       .width = (int32_t)ck_random(ck, 1, 130),
                                       .row = g.row};
        p.x = ck_graph_floats(&g, (int64_t)c->n_sampled * p.width, 1);
        p.y = ck_graph_floats(&g, p.rows * p.width, 1);
        ck_check_fixed(ck,
                       &(struct ck_fixed){
                           .entry = "put_rows",
                           .reference = bi_op_put_rows.reference,
                           .params = &p,
                           .params_size = sizeof p,
                           .absolute = 0,
                           .relative = 0,
                           .note = "random",
                           .arrays = {{offsetof(struct bi_put_rows_params, x),
                                       4 * (size_t)c->n_sampled * (size_t)p.width, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_put_rows = {.stem = "put_rows", .cases = cases};

/* next_step.c - cases of the next_step kernel. */
#include "graphs.h"

static struct bi_step *make_plan(struct ck_graph *g)
{
    struct bi_step *plan = (void *)ck_graph_ints(g, (int64_t)g->counts.n_sampled * BI_STEP_WIDTH,
                                                 1);
    for (int s = 0; s < g->counts.n_samples; s++) {
        const int32_t n = g->sample_start[s + 1] - g->sample_start[s];
        int32_t since = 0;
        for (int32_t t = 0; t < n; t++) {
            struct bi_step *step = &plan[g->sample_start[s] + t];
            step->position = (t + s) % n;
            step->runs = (int32_t)ck_random(g->ck, 0, 2);
            step->terms = (int32_t)ck_random(g->ck, 0, 2);
            step->code = (int32_t)ck_random(g->ck, 0, 3) ? -1 : (int32_t)ck_random(g->ck, 0, 20);
            step->group = ++since > 2 || t == n - 1 || ck_random(g->ck, 0, 1) ? since : 0;
            since = step->group ? 0 : since;
        }
    }
    return plan;
}

static void cases(struct ck *ck)
{
    for (int i = 0; i < 8 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_next_step_params p = {
            .counts = c, .rows = c->n_samples, .start = g.sample_start, .first = g.sample_first};
        p.plan = make_plan(&g);
        p.step = ck_graph_ints(&g, 1, c->longest + 2);
        p.row = ck_graph_ints(&g, p.rows, 1);
        p.token = ck_graph_ints(&g, p.rows, 1);
        p.alive = ck_graph_zeros(&g, p.rows);
        ck_check_fixed(
            ck,
            &(struct ck_fixed){
                .entry = "next_step",
                .reference = bi_op_next_step.reference,
                .params = &p,
                .params_size = sizeof p,
                .absolute = 0,
                .relative = 0,
                .note = "random",
                .arrays = {
                    {offsetof(struct bi_next_step_params, step), 4, CK_FIXED_I32},
                    {offsetof(struct bi_next_step_params, row), 4 * (size_t)p.rows, CK_FIXED_I32},
                    {offsetof(struct bi_next_step_params, token), 4 * (size_t)p.rows, CK_FIXED_I32},
                    {offsetof(struct bi_next_step_params, alive), 4 * (size_t)p.rows,
                     CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_next_step = {.stem = "next_step", .cases = cases};

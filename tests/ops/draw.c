/* draw.c - cases of the draw kernel. */
#include "graphs.h"

#include <math.h>

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
    for (int i = 0; i < 20 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, (int)ck_random(ck, 1, 48));
        const struct bi_counts *c = &g.counts;
        struct bi_draw_params p = {.counts = c, .rows = c->n_samples, .start = g.sample_start};
        int32_t *step = ck_graph_ints(&g, 1, c->longest + 1);
        float *temperature = ck_graph_zeros(&g, p.rows), *weight;
        double *noise = (double *)ck_graph_zeros(&g, 2 * BI_SYMBOLS * (int64_t)c->n_sampled);
        double *terms = (double *)ck_graph_zeros(&g, 2 * 3 * BI_TERMS);
        ++*step;
        for (int64_t n = 0; n < BI_SYMBOLS * (int64_t)c->n_sampled; n++)
            noise[n] = -log((double)ck_random(ck, 1, 999999) * 1e-6);
        for (int n = 0; n < 3 * BI_TERMS; n++) { /* add, prior, factor, scale */
            const int at = n % BI_TERMS;
            terms[n] = at < BI_SYMBOLS       ? (double)ck_random(ck, -3, 3)
                       : at < 2 * BI_SYMBOLS ? 0.01 * (double)ck_random(ck, 0, 3)
                       : at < 3 * BI_SYMBOLS ? (double)ck_random(ck, 0, 1) + 0.001
                                             : 0.7;
        }
        for (int64_t s = 0; s < p.rows; s++)
            temperature[s] = 0.05f * (float)ck_random(ck, 1, 20);
        weight = ck_graph_floats(&g, c->n_sampled, 1);
        p.plan = make_plan(&g);
        p.step = step;
        p.temperature = temperature;
        p.weight = weight;
        p.noise = noise;
        p.terms = terms;
        p.logits = ck_graph_floats(&g, BI_SYMBOLS * (int64_t)c->n_sampled, 2);
        p.codes = g.codes;
        ck_check_fixed(ck,
                       &(struct ck_fixed){.entry = "draw",
                                          .reference = bi_op_draw.reference,
                                          .params = &p,
                                          .params_size = sizeof p,
                                          .absolute = 0,
                                          .relative = 0,
                                          .note = "random",
                                          .arrays = {{offsetof(struct bi_draw_params, codes),
                                                      4 * (size_t)c->n_sampled, CK_FIXED_I32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_draw = {.stem = "draw", .cases = cases};

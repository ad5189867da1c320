/* draw.c - draw: what a step decides, in place.   codes [M], logits [M, 21], step [1],
 *   start [S + 1], plan [M, 5], weight [M], noise [M, 21] f64, temperature [S], terms [T, 64] f64
 *   -> codes.   Formula: kernels/decode.h. */
#include <math.h>
#include <string.h>

#include "../../../kernels/decode.h"
#include "../../../ops/shared.h"

static int draw_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *codes = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 1, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, BI_SYMBOLS, err);
    if (!st)
        st = bi_expect(g, node, 4, 2, BI_STEP_WIDTH, err);
    if (!st)
        st = bi_expect(g, node, 5, 1, codes->shape[0], err);
    if (!st)
        st = bi_expect(g, node, 6, 2, BI_SYMBOLS, err);
    if (!st)
        st = bi_expect(g, node, 8, 2, BI_TERMS, err);
    if (!st) {
        bi_out_like(g, node, 0, 0);
        bi_out(g, node, 0)->dtype = BI_I32;
    }
    return st;
}

static void draw_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "draw", struct bi_draw_params, .counts = b->counts, .codes = b->out[0],
              .logits = b->in[1], .step = b->in[2], .start = b->in[3], .plan = b->in[4],
              .weight = b->in[5], .noise = b->in[6], .temperature = b->in[7], .terms = b->in[8],
              .rows = bi_in(g, node, 7)->shape[0]);
}

static int32_t draw_symbol(const struct bi_draw_params *p, int64_t s, int64_t at)
{
    const struct bi_step *step = &p->plan[at];
    const double *add = p->terms + (int64_t)step->terms * BI_TERMS, *prior = add + BI_SYMBOLS;
    const double *factor = prior + BI_SYMBOLS, scale = factor[BI_SYMBOLS];
    double q[BI_SYMBOLS], largest, sum = 0, best = -1;
    int32_t choice = 0;
    for (int c = 0; c < BI_SYMBOLS; c++) {
        float z = 0;
        for (int64_t i = at - step->group + 1; i <= at; i++) {
            int64_t row = p->start[s] + p->plan[i].position;
            float part = p->logits[row * BI_SYMBOLS + c] / p->temperature[s];
            z += p->weight[i] * part / (float)step->group;
        }
        q[c] = (double)z + add[c];
    }
    largest = q[0];
    for (int c = 1; c < BI_SYMBOLS; c++)
        largest = q[c] > largest ? q[c] : largest;
    for (int c = 0; c < BI_SYMBOLS; c++)
        sum += q[c] = exp(q[c] - largest);
    for (int c = 0; c < BI_SYMBOLS; c++) {
        double chance = (scale * q[c] / sum + prior[c]) * factor[c] / p->noise[at * BI_SYMBOLS + c];
        if (chance > best) {
            best = chance;
            choice = c;
        }
    }
    return choice;
}

static void draw_reference(const void *params)
{
    const struct bi_draw_params *p = params;
    int64_t rows = bi_live_rows(p->counts, BI_AXIS_SAMPLES, p->rows);
    for (int64_t s = 0; s < rows; s++) {
        int64_t at = p->start[s] + *p->step - 1;
        const struct bi_step *step = &p->plan[at];
        int32_t symbol;
        if (at >= p->start[s + 1] || !step->group)
            continue;
        symbol = step->code >= 0 ? step->code : draw_symbol(p, s, at);
        for (int64_t i = at - step->group + 1; i <= at; i++)
            p->codes[p->start[s] + p->plan[i].position] = symbol;
    }
}

/* In place: codes [M] with what this step decides. */
bi_value_id bi_draw(struct bi_graph *g, bi_value_id codes, bi_value_id logits, bi_value_id step,
                    bi_value_id start, bi_value_id plan, bi_value_id weight, bi_value_id noise,
                    bi_value_id temperature, bi_value_id terms)
{
    return bi_node_add(g, BI_OP_DRAW,
                       BI_IN(codes, logits, step, start, plan, weight, noise, temperature, terms),
                       NULL);
}

const struct bi_op bi_op_draw = {
    .name = "draw",
    .infer = draw_infer,
    .launch = draw_launch,
    .reference = draw_reference,
    .cost = bi_cost_bytes,
    .required = 0x1ff,
    .in_place = true,
};

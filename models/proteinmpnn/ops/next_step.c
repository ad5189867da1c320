/* next_step.c - next_step: what each sample decodes now; the step counter goes on, in place.
 *   step [1], start [S + 1], first [S], plan [M, 5] -> step, row [S], token [S],
 *   alive [S] */
#include <string.h>

#include "../../../kernels/decode.h"
#include "../../../ops/shared.h"

static int next_step_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *first = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 1, 1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, first->shape[0] + 1, err);
    if (!st)
        st = bi_expect(g, node, 3, 2, BI_STEP_WIDTH, err);
    if (st)
        return st;
    bi_out_like(g, node, 0, 0);
    bi_out(g, node, 0)->dtype = BI_I32;
    for (int i = 1; i <= 2; i++) {
        bi_out_shape(g, node, i, BI_AXIS_SAMPLES, 1, (int64_t[]){first->shape[0]});
        bi_out(g, node, i)->dtype = BI_I32;
    }
    bi_out_shape(g, node, 3, BI_AXIS_SAMPLES, 1, (int64_t[]){first->shape[0]});
    return 0;
}

static void next_step_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "next_step", struct bi_next_step_params, .counts = b->counts,
              .step = b->out[0], .row = b->out[1], .token = b->out[2], .alive = b->out[3],
              .start = b->in[1], .first = b->in[2], .plan = b->in[3],
              .rows = bi_in(g, node, 2)->shape[0]);
}

static void next_step_reference(const void *params)
{
    const struct bi_next_step_params *p = params;
    int64_t rows = bi_live_rows(p->counts, BI_AXIS_SAMPLES, p->rows);
    int32_t t = *p->step;
    for (int64_t s = 0; s < rows; s++) {
        bool runs = p->start[s] + t < p->start[s + 1] && p->plan[p->start[s] + t].runs;
        int32_t position = runs ? p->plan[p->start[s] + t].position : 0;
        p->row[s] = runs ? p->start[s] + position : -1;
        p->token[s] = p->first[s] + position;
        p->alive[s] = runs && p->plan[p->start[s] + t].runs == 1;
    }
    *p->step = t + 1;
}

bi_value_id bi_next_step(struct bi_graph *g, bi_value_id step, bi_value_id start, bi_value_id first,
                         bi_value_id plan, struct bi_step_values *now)
{
    bi_value_id id = bi_node_add(g, BI_OP_NEXT_STEP, BI_IN(step, start, first, plan), NULL);
    now->row = bi_other_output(g, id, 1);
    now->token = bi_other_output(g, id, 2);
    now->alive = bi_other_output(g, id, 3);
    return id;
}

const struct bi_op bi_op_next_step = {
    .name = "next_step",
    .infer = next_step_infer,
    .launch = next_step_launch,
    .reference = next_step_reference,
    .cost = bi_cost_bytes,
    .required = 15,
    .in_place = true,
};

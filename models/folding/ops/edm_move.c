/* edm_move.c - edm_move: atoms as a step of a sampler shows them to the network.
 *   state [A, 4], noise [A, 3 | 3 (1 + n)], plan [S, 16 n], start [S + 1], table [n, D]
 *   -> position [A, 3], scaled [A, 3], row [S, D] (kernels/edm.h) */
#include <string.h>

#include "edm.h"

static int edm_move_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *state = bi_in(g, node, 0), *noise = bi_in(g, node, 1);
    int st = bi_expect_edm(g, node, 0, 2, err);
    if (!st)
        st = bi_expect(g, node, 0, 2, BI_EDM_STATE, err);
    if (!st)
        st = bi_expect_atoms(g, node, 1, 0,
                             noise->shape[1] == 3 ? 3 : 3 + 3 * (int64_t)bi_edm_steps(g, node, 2),
                             err);
    if (!st)
        st = bi_expect(g, node, 4, 2, -1, err);
    if (!st && bi_in(g, node, 4)->shape[0] != bi_edm_steps(g, node, 2))
        st = bi_fail(err, BIOINFER_INTERNAL, "edm_move: a table %s for %d steps",
                     bi_shape_text(bi_in(g, node, 4)).text, bi_edm_steps(g, node, 2));
    if (st)
        return st;
    for (int slot = 0; slot < 2; slot++)
        bi_out_shape(g, node, slot, state->axis, 2, (int64_t[]){state->shape[0], 3});
    bi_out_shape(g, node, 2, BI_AXIS_SEQS, 2,
                 (int64_t[]){bi_in(g, node, 2)->shape[0], bi_in(g, node, 4)->shape[1]});
    return 0;
}

static void edm_move_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "edm_move", struct bi_edm_params, .counts = b->counts, .from = b->in[0],
              .noise = b->in[1], .plan = b->in[2], .start = b->in[3], .table = b->in[4],
              .position = b->out[0], .scaled = b->out[1], .row = b->out[2], .lds = b->in_ld[0],
              .ldn = b->in_ld[1], .ldp = b->in_ld[2], .ldt = b->in_ld[4], .ldx = b->out_ld[0],
              .ldc = b->out_ld[1], .ldr = b->out_ld[2], .rows = bi_in(g, node, 0)->shape[0],
              .n_steps = bi_edm_steps(g, node, 2), .width = (int32_t)bi_in(g, node, 4)->shape[1],
              .churns = bi_in(g, node, 1)->shape[1] > 3, .data = BI_ATTR(node, edm_move)->data);
}

static void edm_move_reference(const void *params)
{
    const struct bi_edm_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        const int64_t first = p->start[s], end = p->start[s + 1];
        const int32_t at = first < end ? bi_edm_at(p, p->from, first) : 0;
        double mean[3] = {0};
        for (int32_t c = 0; c < p->width; c++)
            p->row[s * p->ldr + c] = p->table[at * p->ldt + c];
        for (int64_t i = first; i < end; i++)
            for (int k = 0; k < 3; k++)
                mean[k] += (double)p->from[i * p->lds + k] / (double)(end - first);
        for (int64_t i = first; i < end; i++)
            bi_edm_move_atom(p, bi_edm_step_of(p, s, at), at, i, mean);
    }
}

/* in: state, noise, plan, start, table. data: the standard deviation of what the network was
 * trained with, in angstrom. Returns the position; *scaled, *row: the other outputs. */
bi_value_id bi_edm_move(struct bi_graph *g, const bi_value_id in[5], float data,
                        bi_value_id *scaled, bi_value_id *row)
{
    const bi_value_id id = bi_node_add(g, BI_OP_EDM_MOVE, in, 5, BI_ATTRS(edm_move, .data = data));
    *scaled = bi_other_output(g, id, 1);
    *row = bi_other_output(g, id, 2);
    return id;
}

const struct bi_op bi_op_edm_move = {
    .name = "edm_move",
    .infer = edm_move_infer,
    .launch = edm_move_launch,
    .reference = edm_move_reference,
    .cost = bi_cost_bytes,
    .required = 0x1f,
};

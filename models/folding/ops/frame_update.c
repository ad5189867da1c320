/* frame_update.c - a small rotation and translation of each residue's frame.
 *   frame [R, 7]? (identity), u [R, 6] -> [R, 7]
 * kernels/frame_update.h says what is computed. */
#include <math.h>
#include <string.h>

#include "../../../kernels/frame_update.h"
#include "../../../kernels/rigid.h"
#include "../../../ops/shared.h"

static int frame_update_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *frame = bi_in(g, node, 0), *u = bi_in(g, node, 1);
    int st = bi_expect(g, node, 1, 2, 6, err);
    if (!st && frame)
        st = bi_expect(g, node, 0, 2, BI_FRAME, err);
    if (!st && frame && (frame->shape[0] != u->shape[0] || frame->axis != u->axis))
        st = bi_fail(err, BIOINFER_INTERNAL, "frame_update: frames %s and updates %s",
                     bi_shape_text(frame).text, bi_shape_text(u).text);
    if (!st)
        bi_out_shape(g, node, 0, u->axis, 2, (int64_t[]){u->shape[0], BI_FRAME});
    return st;
}

static void frame_update_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *u = bi_in(g, node, 1);
    BI_LAUNCH(launch, "frame_update", struct bi_frame_update_params, .counts = b->counts,
              .frame = b->in[0], .u = b->in[1], .y = b->out[0], .ldf = b->in_ld[0],
              .ldu = b->in_ld[1], .ldy = b->out_ld[0], .rows = u->shape[0],
              .axis = (int32_t)u->axis);
}

/* y = q p of quaternions */
static void hamilton(double y[4], const double q[4], const double p[4])
{
    y[0] = q[0] * p[0] - q[1] * p[1] - q[2] * p[2] - q[3] * p[3];
    y[1] = q[0] * p[1] + q[1] * p[0] + q[2] * p[3] - q[3] * p[2];
    y[2] = q[0] * p[2] - q[1] * p[3] + q[2] * p[0] + q[3] * p[1];
    y[3] = q[0] * p[3] + q[1] * p[2] - q[2] * p[1] + q[3] * p[0];
}

static void frame_update_reference(const void *params)
{
    static const float identity[BI_FRAME] = {1};
    const struct bi_frame_update_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        const float *f = p->frame ? p->frame + r * p->ldf : identity, *u = p->u + r * p->ldu;
        const double q[4] = {(double)f[0], (double)f[1], (double)f[2], (double)f[3]};
        const double back[4] = {q[0], -q[1], -q[2], -q[3]};
        const double turn[4] = {0, (double)u[0], (double)u[1], (double)u[2]};
        const double move[4] = {0, (double)u[3], (double)u[4], (double)u[5]};
        double half[4], moved[4], next[4], size = 0;
        hamilton(half, q, move);
        hamilton(moved, half, back); /* R(q) move */
        hamilton(next, q, turn);
        for (int i = 0; i < 4; i++) {
            next[i] += q[i];
            size += next[i] * next[i];
        }
        for (int i = 0; i < 4; i++)
            p->y[r * p->ldy + i] = (float)(next[i] / sqrt(size));
        for (int i = 0; i < 3; i++)
            p->y[r * p->ldy + 4 + i] = (float)((double)f[4 + i] + moved[1 + i]);
    }
}

/* frame may be BI_NONE: all frames are then the identity. */
bi_value_id bi_frame_update(struct bi_graph *g, bi_value_id frame, bi_value_id u)
{
    return bi_node_add(g, BI_OP_FRAME_UPDATE, BI_IN(frame, u), NULL);
}

const struct bi_op bi_op_frame_update = {
    .name = "frame_update",
    .infer = frame_update_infer,
    .launch = frame_update_launch,
    .reference = frame_update_reference,
    .cost = bi_cost_bytes,
    .required = 2,
};

/* frames.c - frames: rows seen in the eight frames of their axes.
 *   base [M, D], at [M, 3], w [3, D], code [R] i32 -> [R, D]
 * kernels/frames.h says what is computed. */
#include <string.h>

#include "../../../kernels/frames.h"
#include "../../../ops/shared.h"

static int frames_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *code = bi_in(g, node, 3);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, 3, err);
    if (!st)
        st = bi_expect(g, node, 2, 2, bi_in(g, node, 0)->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 3, 1, -1, err);
    if (!st && (bi_in(g, node, 2)->shape[0] != 3 || code->dtype != BI_I32))
        st = bi_fail(err, BIOINFER_INTERNAL, "frames: w %s and codes of %s, expected [3, D], int32",
                     bi_shape_text(bi_in(g, node, 2)).text, bi_dtype_name(code->dtype));
    if (!st)
        bi_out_shape(g, node, 0, code->axis, 2,
                     (int64_t[]){code->shape[0], bi_in(g, node, 0)->shape[1]});
    return st;
}

static void frames_launch(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *base = bi_in(g, node, 0), *code = bi_in(g, node, 3);
    BI_LAUNCH(launch, "frames", struct bi_frames_params, .counts = b->counts, .base = b->in[0],
              .at = b->in[1], .w = b->in[2], .code = b->in[3], .y = b->out[0], .ldb = b->in_ld[0],
              .ldy = b->out_ld[0], .rows = code->shape[0], .axis = (int32_t)code->axis,
              .width = (int32_t)base->shape[1]);
}

static void frames_reference(const void *params)
{
    const struct bi_frames_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t t = p->code[r] / BI_FRAMES;
        for (int32_t c = 0; c < p->width; c++) {
            double sum = (double)p->base[t * p->ldb + c];
            for (int k = 0; k < 3; k++)
                sum += (p->code[r] >> k & 1 ? -1 : 1) * (double)p->at[3 * t + k] *
                       (double)p->w[k * p->width + c];
            p->y[r * p->ldy + c] = (float)sum;
        }
    }
}

static void frames_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                        double *bytes)
{
    *flops = 6.0 * (double)bi_in(g, node, 3)->shape[0] * (double)bi_in(g, node, 0)->shape[1];
    *bytes = bi_bytes(g, node);
}

/* at: coordinates of the rows of base; code: which row in which frame. */
bi_value_id bi_frames(struct bi_graph *g, bi_value_id base, bi_value_id at, bi_value_id w,
                      bi_value_id code)
{
    return bi_node_add(g, BI_OP_FRAMES, BI_IN(base, at, w, code), NULL);
}

const struct bi_op bi_op_frames = {
    .name = "frames",
    .infer = frames_infer,
    .launch = frames_launch,
    .reference = frames_reference,
    .cost = frames_cost,
    .required = 15,
    .half = {.out = 1},
};

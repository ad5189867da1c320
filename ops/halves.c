/* halves.c - halves: a float32 operand as two float16 terms.   x [R, K] -> [R, 3 K] (halves.h)
 *   Made by bi_graph_lower for products that bi_graph_exact asks to be near float32. */
#include <string.h>

#include "../base/dtype.h"
#include "../kernels/halves.h"
#include "shared.h"

static int halves_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2,
                     (int64_t[]){x->shape[0], BI_HALVES_TERMS * x->shape[1]});
    return st;
}

static void halves_launch(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "halves", struct bi_halves_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0], .rows = x->shape[0],
              .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1]);
}

static void halves_reference(const void *params)
{
    const struct bi_halves_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            float x = p->x[r * p->ldx + c], high = bi_f16_to_f32(bi_f32_to_f16(x));
            float *y = p->y + r * p->ldy + c;
            y[0] = high;
            y[p->width] = bi_f16_to_f32(bi_f32_to_f16(x - high));
            y[2 * p->width] = bi_f16_to_f32(bi_f32_to_f16(high / BI_HALVES_SCALE));
        }
}

const struct bi_op bi_op_halves = {
    .name = "halves",
    .infer = halves_infer,
    .launch = halves_launch,
    .reference = halves_reference,
    .cost = bi_cost_bytes,
    .required = 1,
    .half = {.out = 1},
};

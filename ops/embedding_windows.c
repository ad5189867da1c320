/* embedding_windows.c - table rows of the ids around every place: a convolution over symbols.
 *   table [V, C], ids [R] -> [R + 2 pad - taps + 1, taps C], zero beyond the ids
 * In memory, unlike WINDOWS of an EMBEDDING, and in float16 where that is; of one tap they are the
 * rows that windows overlap (follow.c). */
#include <string.h>

#include "../kernels/embedding_windows.h"
#include "shared.h"

static int embedding_windows_infer(struct bi_graph *g, struct bi_node *node,
                                   struct bioinfer_error *err)
{
    const struct bi_value *table = bi_in(g, node, 0), *ids = bi_in(g, node, 1);
    const struct bi_embedding_windows_attr *a = BI_ATTR(node, embedding_windows);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, -1, err);
    if (!st && (ids->dtype != BI_I32 || ids->axis != BI_AXIS_FIXED || a->taps < 1 || a->pad < 0 ||
                ids->shape[0] + 2 * a->pad < a->taps))
        st = bi_fail(err, BIOINFER_INTERNAL,
                     "embedding_windows: %d taps of %s with %d zeros around", a->taps,
                     bi_shape_text(ids).text, a->pad);
    if (!st)
        bi_out_shape(
            g, node, 0, ids->axis, 2,
            (int64_t[]){ids->shape[0] + 2 * a->pad - a->taps + 1, a->taps * table->shape[1]});
    return st;
}

static void embedding_windows_launch(const struct bi_graph *g, const struct bi_node *node,
                                     const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *table = bi_in(g, node, 0), *ids = bi_in(g, node, 1);
    BI_LAUNCH(launch, "embedding_windows", struct bi_embedding_windows_params, .counts = b->counts,
              .table = b->in[0], .ids = b->in[1], .y = b->out[0], .ldy = b->out_ld[0],
              .rows = g->values[node->out[0]].shape[0], .n = ids->shape[0],
              .axis = (int32_t)ids->axis, .width = (int32_t)table->shape[1],
              .taps = BI_ATTR(node, embedding_windows)->taps,
              .pad = BI_ATTR(node, embedding_windows)->pad, .vocab = (int32_t)table->shape[0]);
}

static void embedding_windows_reference(const void *params)
{
    const struct bi_embedding_windows_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t t = 0; t < p->taps; t++) {
            const int64_t at = r + t - p->pad;
            const bool there = at >= 0 && at < p->n;
            for (int32_t c = 0; c < p->width; c++)
                p->y[r * p->ldy + t * p->width + c] =
                    there ? p->table[(int64_t)p->ids[at] * p->width + c] : 0;
        }
}

const struct bi_op bi_op_embedding_windows = {
    .name = "embedding_windows",
    .infer = embedding_windows_infer,
    .launch = embedding_windows_launch,
    .reference = embedding_windows_reference,
    .cost = bi_cost_bytes,
    .required = 3,
    .half = {.out = 1},
};

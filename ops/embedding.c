/* embedding.c - embedding: table rows by token id.
 *   table [V, D], ids [T] i32, scale [T]? -> [T, D] */
#include <string.h>

#include "../kernels/embedding.h"
#include "shared.h"

static int embedding_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *ids = bi_in(g, node, 1), *scale = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, -1, err);
    if (!st && ids->dtype != BI_I32)
        st = bi_fail(err, BIOINFER_INTERNAL, "embedding: ids are %s, expected int32",
                     bi_dtype_name(ids->dtype));
    if (!st && scale)
        st = bi_expect(g, node, 2, 1, ids->shape[0], err);
    if (!st)
        bi_out_shape(g, node, 0, ids->axis, 2,
                     (int64_t[]){ids->shape[0], bi_in(g, node, 0)->shape[1]});
    return st;
}

static void embedding_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *table = bi_in(g, node, 0), *ids = bi_in(g, node, 1);
    BI_LAUNCH(launch, "embedding", struct bi_embedding_params, .counts = b->counts,
              .table = b->in[0], .ids = b->in[1], .scale = b->in[2], .y = b->out[0],
              .ldy = b->out_ld[0], .rows = ids->shape[0], .axis = (int32_t)ids->axis,
              .width = (int32_t)table->shape[1], .vocab = (int32_t)table->shape[0]);
}

static void embedding_reference(const void *params)
{
    const struct bi_embedding_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            float x = p->table[(int64_t)p->ids[r] * p->width + c];
            p->y[r * p->ldy + c] = p->scale ? x * p->scale[r] : x;
        }
}

/* Plain ops (fused ones are made by rules). Shapes as in ops.inc. */
bi_value_id bi_embedding(struct bi_graph *g, bi_value_id table, bi_value_id ids)
{
    return bi_node_add(g, BI_OP_EMBEDDING, BI_IN(table, ids), NULL);
}

const struct bi_op bi_op_embedding = {
    .name = "embedding",
    .infer = embedding_infer,
    .launch = embedding_launch,
    .reference = embedding_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};

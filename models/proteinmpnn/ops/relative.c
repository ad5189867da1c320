/* relative.c - relative: a row of a table by how far apart the ends of an edge are in sequence.
 *   table [66, D], number [N], chain [N], index [N, k] -> [N k, D] */
#include <string.h>

#include "../../../kernels/edges.h"
#include "../../../ops/shared.h"

static int relative_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *table = bi_in(g, node, 0), *index = bi_in(g, node, 3);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 3, 2, -1, err);
    for (int i = 1; !st && i <= 2; i++)
        st = bi_expect(g, node, i, 1, index->shape[0], err);
    if (!st && table->shape[0] != 66)
        st = bi_fail(err, BIOINFER_INTERNAL, "relative: table %s, expected 66 rows",
                     bi_shape_text(table).text);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_EDGES, 2,
                     (int64_t[]){index->shape[0] * index->shape[1], table->shape[1]});
    return st;
}

static void relative_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *index = bi_in(g, node, 3);
    BI_LAUNCH(launch, "relative", struct bi_relative_params, .counts = b->counts, .table = b->in[0],
              .number = b->in[1], .chain = b->in[2], .index = b->in[3], .y = b->out[0],
              .rows = index->shape[0], .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .k = (int32_t)index->shape[1]);
}

static void relative_reference(const void *params)
{
    const struct bi_relative_params *p = params;
    int64_t edges = (int64_t)p->counts->n_tokens * p->k;
    for (int64_t e = 0; e < edges; e++) {
        int32_t i = (int32_t)(e / p->k), j = p->index[e];
        int64_t d = 65;
        if (j < 0) {
            memset(p->y + e * p->width, 0, (size_t)p->width * sizeof *p->y);
            continue;
        }
        if (p->chain[i] == p->chain[j]) {
            d = (int64_t)p->number[i] - p->number[j] + 32;
            d = d < 0 ? 0 : d > 64 ? 64 : d;
        }
        memcpy(p->y + e * p->width, p->table + d * p->width, (size_t)p->width * sizeof *p->y);
    }
}

bi_value_id bi_relative(struct bi_graph *g, bi_value_id table, bi_value_id number,
                        bi_value_id chain, bi_value_id index)
{
    return bi_node_add(g, BI_OP_RELATIVE, BI_IN(table, number, chain, index), NULL);
}

const struct bi_op bi_op_relative = {
    .name = "relative",
    .infer = relative_infer,
    .launch = relative_launch,
    .reference = relative_reference,
    .cost = bi_cost_bytes,
    .required = 15,
};

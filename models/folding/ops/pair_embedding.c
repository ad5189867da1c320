/* pair_embedding.c - rows of a table for pairs of tokens, by their distance.
 *   x [G, D]?, table [V, D], number [T]? i32, frame [T, 7 | 3]?, at [T, 4]?, start,
 *   grid_start [S + 1], slope [D]?
 *   -> [G, D]
 * kernels/pair_embedding.h says what is computed. */
#include <math.h>
#include <string.h>

#include "../../../kernels/pair_embedding.h"
#include "../../../ops/shared.h"

/* Rows of the table: of numbers one more than there are gaps, of distances one more than edges. */
static int32_t steps_of(const struct bi_graph *g, const struct bi_node *node)
{
    const int32_t rows = (int32_t)bi_in(g, node, 1)->shape[0];
    return bi_in(g, node, 2) ? (rows - 2) / 2 : rows - 1;
}

static int pair_embedding_infer(struct bi_graph *g, struct bi_node *node,
                                struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *number = bi_in(g, node, 2);
    const bool frame = bi_in(g, node, 3), at = bi_in(g, node, 4);
    int st = bi_expect(g, node, 1, 2, -1, err);
    if (!st && x)
        st = bi_expect(g, node, 0, 2, bi_in(g, node, 1)->shape[1], err);
    if (!st && number)
        st = bi_expect(g, node, 2, 1, bi_in(g, node, 2)->shape[0], err);
    if (!st && frame)
        st = bi_expect(g, node, 3, 2, at ? BI_FRAME : 3, err);
    if (!st && at)
        st = bi_expect(g, node, 4, 2, 4, err);
    if (!st)
        st = bi_expect_start(g, node, 5, err);
    if (!st)
        st = bi_expect_start(g, node, 6, err);
    if (!st && bi_in(g, node, 7))
        st = bi_expect(g, node, 7, 1, bi_in(g, node, 1)->shape[1], err);
    if (!st && ((at && !frame) || (number && frame) || (number && number->dtype != BI_I32) ||
                steps_of(g, node) < (number ? 1 : 2) || (bi_in(g, node, 7) && !frame) ||
                (number && bi_in(g, node, 1)->shape[0] != 2 * steps_of(g, node) + 2)))
        st = bi_fail(err, BIOINFER_INTERNAL,
                     "pair_embedding: a table of %lld rows by %s%s, expected int32 numbers, or "
                     "frames with places, or places",
                     (long long)bi_in(g, node, 1)->shape[0],
                     number ? bi_dtype_name(number->dtype) : "frames", at ? " with places" : "");
    for (int i = 2; !st && i <= 4; i++)
        if (bi_in(g, node, i) && bi_in(g, node, i)->axis != BI_AXIS_TOKENS)
            st = bi_fail(err, BIOINFER_INTERNAL, "pair_embedding: input %d on axis %s", i,
                         bi_axis_name(bi_in(g, node, i)->axis));
    if (!st && x && x->axis != BI_AXIS_GRID)
        st = bi_fail(err, BIOINFER_INTERNAL, "pair_embedding: rows of axis %s",
                     bi_axis_name(x->axis));
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_GRID, 2,
                     (int64_t[]){g->n_grid, bi_in(g, node, 1)->shape[1]});
    return st;
}

static void pair_embedding_launch(const struct bi_graph *g, const struct bi_node *node,
                                  const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *y = &g->values[node->out[0]];
    BI_LAUNCH(launch, "pair_embedding", struct bi_pair_embedding_params, .counts = b->counts,
              .x = b->in[0], .table = b->in[1], .number = b->in[2], .frame = b->in[3],
              .at = b->in[4], .slope = b->in[7], .start = b->in[5], .grid_start = b->in[6],
              .y = b->out[0], .ldx = b->in_ld[0], .ldt = b->in_ld[1], .ldf = b->in_ld[3],
              .lda = b->in_ld[4], .ldy = b->out_ld[0], .rows = y->shape[0],
              .width = (int32_t)y->shape[1], .n = steps_of(g, node),
              .low = BI_ATTR(node, pair_embedding)->low,
              .high = BI_ATTR(node, pair_embedding)->high);
}

/* The code comes from the function that kernels call, as a distance that differs in its last digit
 * may have another one. */
static void pair_embedding_reference(const void *params)
{
    const struct bi_pair_embedding_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        const int64_t first = p->start[s], n = p->start[s + 1] - first;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const int64_t r = p->grid_start[s] + i * n + j;
                const int64_t code = bi_pair_code(p, first + i, first + j);
                const double far = p->slope ? sqrt((double)bi_pair_square(p, first + i, first + j))
                                            : 0;
                for (int32_t c = 0; c < p->width; c++)
                    p->y[r * p->ldy + c] = (float)((p->x ? (double)p->x[r * p->ldx + c] : 0) +
                                                   (double)p->table[code * p->ldt + c] +
                                                   (p->slope ? far * (double)p->slope[c] : 0));
            }
    }
}

/* in: x, table, number, frame, at (each but the table may be BI_NONE), start, grid_start, slope
 * (may be BI_NONE, and needs frames). Without
 * numbers rows of the table are for distances, in equal steps from low to high; without frames all
 * tokens stand in one place, and without `at` frames are places [T, 3]. */
bi_value_id bi_pair_embedding(struct bi_graph *g, const bi_value_id in[8], float low, float high)
{
    return bi_node_add(g, BI_OP_PAIR_EMBEDDING, in, 8,
                       BI_ATTRS(pair_embedding, .low = low, .high = high));
}

const struct bi_op bi_op_pair_embedding = {
    .name = "pair_embedding",
    .infer = pair_embedding_infer,
    .launch = pair_embedding_launch,
    .reference = pair_embedding_reference,
    .cost = bi_cost_bytes,
    .required = 0x62,
};

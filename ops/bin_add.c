/* bin_add.c - bin_add: bin_sums of a window whose rows are there a tile at a time, in place.
 *   y [19, D] | [38, D], x [R, D], tile [3] i32 -> y (kernels/bin_sums.h) */
#include <math.h>
#include <string.h>

#include "../kernels/bin_sums.h"
#include "shared.h"

/* Inputs of the node. */
enum { Y, X, TILE };

static int bin_add_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *y = bi_in(g, node, Y), *tile = bi_in(g, node, TILE);
    int st = bi_expect(g, node, X, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, Y, 2, bi_in(g, node, X)->shape[1], err);
    if (!st && ((y->shape[0] != BI_SUMS_ROWS && y->shape[0] != 2 * BI_SUMS_ROWS) ||
                tile->rank != 1 || tile->dtype != BI_I32 || tile->shape[0] != BI_TILE_WORDS))
        st = bi_fail(err, BIOINFER_INTERNAL, "bin_add: sums are %s, a tile %s of %s",
                     bi_shape_text(y).text, bi_shape_text(tile).text, bi_dtype_name(tile->dtype));
    if (!st)
        bi_out_like(g, node, 0, Y);
    return st;
}

static void bin_add_launch(const struct bi_graph *g, const struct bi_node *node,
                           const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "bin_add", struct bi_bin_add_params, .counts = b->counts, .x = b->in[X],
              .tile = b->in[TILE], .y = b->out[0], .ldx = b->in_ld[X],
              .width = (int32_t)bi_in(g, node, X)->shape[1],
              .logs = bi_in(g, node, Y)->shape[0] > BI_SUMS_ROWS);
}

static void bin_add_reference(const void *params)
{
    const struct bi_bin_add_params *p = params;
    const int kinds = p->logs ? 2 : 1;
    for (int32_t c = 0; c < p->width; c++)
        for (int kind = 0; kind < kinds; kind++) {
            const int64_t parts = 2 * (kinds + (int64_t)kind * BI_SUMS_SLICES);
            float *y = p->y + 2 * (int64_t)kind * p->width + c, *part = p->y + parts * p->width + c;
            double sum = 0;
            for (int64_t r = p->tile[BI_TILE_FIRST]; r < p->tile[BI_TILE_END]; r++) {
                const double x = (double)p->x[(r - p->tile[BI_TILE_BASE]) * p->ldx + c];
                float *at = part + 2 * (r % BI_SUMS_SLICES) * p->width;
                bi_ref_put_part(at, p->width, bi_ref_part(at, p->width) + (kind ? log2(1 + x) : x));
            }
            for (int64_t s = 0; s < BI_SUMS_SLICES; s++)
                sum += bi_ref_part(part + 2 * s * p->width, p->width);
            y[0] = (float)sum;
            y[p->width] = (float)(sum - (double)y[0]);
        }
}

/* y: all zeros before the first tile; [19, D], or with logarithms [38, D]. */
bi_value_id bi_bin_add(struct bi_graph *g, bi_value_id y, bi_value_id x, bi_value_id tile)
{
    return bi_node_add(g, BI_OP_BIN_ADD, BI_IN(y, x, tile), NULL);
}

const struct bi_op bi_op_bin_add = {
    .name = "bin_add",
    .infer = bin_add_infer,
    .launch = bin_add_launch,
    .reference = bin_add_reference,
    .cost = bi_cost_bytes,
    .required = 7,
    .in_place = true,
};

/* put_listed.c - put_listed: rows of a window that a list names, a tile at a time, in place.
 *   y [N, D], x [R, D], tile [3], list [N] i32 -> y (kernels/list_sums.h) */
#include <string.h>

#include "../kernels/list_sums.h"
#include "shared.h"

/* Inputs of the node. */
enum { Y, X, TILE, LIST };

static int put_listed_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *y = bi_in(g, node, Y), *tile = bi_in(g, node, TILE);
    const struct bi_value *list = bi_in(g, node, LIST);
    int st = bi_expect(g, node, X, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, Y, 2, bi_in(g, node, X)->shape[1], err);
    if (!st && (tile->rank != 1 || tile->dtype != BI_I32 || tile->shape[0] != BI_TILE_WORDS ||
                list->rank != 1 || list->dtype != BI_I32 || list->shape[0] != y->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "put_listed: list %s of %s, a tile %s of %s",
                     bi_shape_text(list).text, bi_dtype_name(list->dtype), bi_shape_text(tile).text,
                     bi_dtype_name(tile->dtype));
    if (!st)
        bi_out_like(g, node, 0, Y);
    return st;
}

static void put_listed_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "put_listed", struct bi_put_listed_params, .counts = b->counts, .x = b->in[X],
              .list = b->in[LIST], .tile = b->in[TILE], .y = b->out[0], .ldx = b->in_ld[X],
              .rows = bi_in(g, node, Y)->shape[0], .width = (int32_t)bi_in(g, node, X)->shape[1]);
}

static void put_listed_reference(const void *params)
{
    const struct bi_put_listed_params *p = params;
    for (int64_t i = 0; i < p->rows; i++)
        if (p->list[i] >= p->tile[BI_TILE_FIRST] && p->list[i] < p->tile[BI_TILE_END])
            memcpy(p->y + i * p->width, p->x + (p->list[i] - p->tile[BI_TILE_BASE]) * p->ldx,
                   (size_t)p->width * sizeof *p->x);
}

/* In place: rows of y whose place in `list` [N] names a row that is the tile's own; its new value.
 * Rows that no tile has stay as they are. */
bi_value_id bi_put_listed(struct bi_graph *g, bi_value_id y, bi_value_id x, bi_value_id tile,
                          bi_value_id list)
{
    return bi_node_add(g, BI_OP_PUT_LISTED, BI_IN(y, x, tile, list), NULL);
}

const struct bi_op bi_op_put_listed = {
    .name = "put_listed",
    .infer = put_listed_infer,
    .launch = put_listed_launch,
    .reference = put_listed_reference,
    .cost = bi_cost_bytes,
    .required = 15,
    .in_place = true,
};

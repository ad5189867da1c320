/* list_add.c - list_add: list_sums of a window whose rows are there a tile at a time, in place.
 *   y [19 n, D], x [R, D], tile [3], lists [2 + n + size], cuts [2 n] i32 -> y; with other [Q, D]
 *   lists [2 + n + 2 size] (kernels/list_sums.h) */
#include <math.h>
#include <string.h>

#include "../kernels/list_sums.h"
#include "shared.h"

/* Inputs of the node. */
enum { Y, X, TILE, LISTS, CUTS, OTHER };

static int expect_ints(const struct bi_graph *g, const struct bi_node *node, int i, int64_t n,
                       struct bioinfer_error *err)
{
    const struct bi_value *v = bi_in(g, node, i);
    if (v->rank == 1 && v->dtype == BI_I32 && v->shape[0] == n)
        return 0;
    return bi_fail(err, BIOINFER_INTERNAL, "list_add: input %d is %s of %s, expected int32 [%lld]",
                   i, bi_shape_text(v).text, bi_dtype_name(v->dtype), (long long)n);
}

static int list_add_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int64_t n = BI_ATTR(node, list_add)->n, size = BI_ATTR(node, list_add)->size;
    const int kind = BI_ATTR(node, list_add)->kind;
    const int64_t width = bi_in(g, node, X)->shape[1];
    int st = bi_expect(g, node, X, 2, -1, err);
    if (!st && (n < 1 || size < 1 || kind < 0 || kind >= BI_LIST_KINDS ||
                (bi_in(g, node, OTHER) == NULL) != (kind == BI_LIST_SUM)))
        st = bi_fail(err, BIOINFER_INTERNAL, "list_add: kind %d, %lld lists, %lld rows", kind,
                     (long long)n, (long long)size);
    if (!st)
        st = bi_expect(g, node, Y, 2, width, err);
    if (!st && bi_in(g, node, Y)->shape[0] != n * BI_SUMS_ROWS)
        st = bi_fail(err, BIOINFER_INTERNAL, "list_add: sums are %s, expected %lld rows",
                     bi_shape_text(bi_in(g, node, Y)).text, (long long)n * BI_SUMS_ROWS);
    if (!st && bi_in(g, node, OTHER))
        st = bi_expect(g, node, OTHER, 2, width, err);
    if (st || (st = expect_ints(g, node, TILE, BI_TILE_WORDS, err)) ||
        (st = expect_ints(g, node, CUTS, 2 * n, err)) ||
        (st = expect_ints(g, node, LISTS, 2 + n + size * (kind == BI_LIST_SUM ? 1 : 2), err)))
        return st;
    bi_out_like(g, node, 0, Y);
    return 0;
}

static void list_add_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "list_add", struct bi_list_add_params, .counts = b->counts, .x = b->in[X],
              .other = b->in[OTHER], .lists = b->in[LISTS], .tile = b->in[TILE],
              .cuts = b->in[CUTS], .y = b->out[0], .ldx = b->in_ld[X], .ldo = b->in_ld[OTHER],
              .size = BI_ATTR(node, list_add)->size, .n = BI_ATTR(node, list_add)->n,
              .width = (int32_t)bi_in(g, node, X)->shape[1], .kind = BI_ATTR(node, list_add)->kind);
}

/* The partial sum of list i that takes the entry at a place in the list. */
static float *part_of(const struct bi_list_add_params *p, int64_t i, int64_t place, int32_t c)
{
    const int64_t row = 2 * (int64_t)p->n + 2 * (i * BI_SUMS_SLICES + place % BI_SUMS_SLICES);
    return p->y + row * p->width + c;
}

double bi_ref_part(const float *part, int64_t ld)
{
    uint32_t words[2];
    uint64_t bits;
    double sum;
    memcpy(&words[0], part, sizeof words[0]);
    memcpy(&words[1], part + ld, sizeof words[1]);
    bits = (uint64_t)words[1] << 32 | words[0];
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

void bi_ref_put_part(float *part, int64_t ld, double sum)
{
    uint32_t words[2];
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    words[0] = (uint32_t)bits;
    words[1] = (uint32_t)(bits >> 32);
    memcpy(part, &words[0], sizeof words[0]);
    memcpy(part + ld, &words[1], sizeof words[1]);
}

static double joined(int kind, double sum, double v)
{
    return kind == BI_LIST_GAP ? fmax(sum, v) : sum + v;
}

/* Adds the entries of list i that are the tile's to column c. */
static void add_list(const struct bi_list_add_params *p, int32_t i, int32_t c)
{
    const int32_t *rows = p->lists + 2 + p->n, *against = rows + p->size, *tile = p->tile;
    const int64_t first = i ? p->lists[2 + i - 1] : 0;
    float *y = p->y + 2 * (int64_t)i * p->width + c;
    float *largest = p->y + ((2 + 2 * BI_SUMS_SLICES) * (int64_t)p->n + i) * p->width + c;
    double sum = 0;
    for (int64_t r = p->lists[0]; r < p->lists[1]; r++) {
        const bool own = r >= tile[BI_TILE_FIRST] && r < tile[BI_TILE_END];
        const float v = own ? p->x[(r - tile[BI_TILE_BASE]) * p->ldx + c] : *largest;
        *largest = r == p->lists[0] && own ? v : fmaxf(*largest, v);
    }
    for (int64_t at = p->cuts[i]; at < p->cuts[p->n + i]; at++) {
        const float v = rows[at] >= 0 ? p->x[(rows[at] - tile[BI_TILE_BASE]) * p->ldx + c]
                        : rows[at] == BI_LIST_NONE ? 0
                                                   : *largest;
        const float other = p->kind == BI_LIST_SUM ? 0 : p->other[against[at] * p->ldo + c];
        const double term = p->kind == BI_LIST_SUM   ? (double)v
                            : p->kind == BI_LIST_GAP ? (double)fabsf(v - other)
                                                     : fabs((double)v - (double)other);
        float *part = part_of(p, i, at - first, c);
        bi_ref_put_part(part, p->width, joined(p->kind, bi_ref_part(part, p->width), term));
    }
    for (int s = 0; s < BI_SUMS_SLICES; s++)
        sum = joined(p->kind, sum, bi_ref_part(part_of(p, i, s, c), p->width));
    y[0] = (float)sum;
    y[p->width] = (float)(sum - (double)y[0]);
}

static void list_add_reference(const void *params)
{
    const struct bi_list_add_params *p = params;
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t c = 0; c < p->width; c++)
            add_list(p, i, c);
}

static void list_add_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                          double *bytes)
{
    const int32_t trips = bi_graph_trips(g, node->phase);
    const double size = (double)BI_ATTR(node, list_add)->size / trips;
    const double width = (double)bi_in(g, node, X)->shape[1];
    const int terms = BI_ATTR(node, list_add)->kind == BI_LIST_SUM ? 1 : 2;
    *flops = terms * size * width;
    *bytes = 4 *
             (terms * size * (width + 1) + 2.0 * BI_SUMS_ROWS * BI_ATTR(node, list_add)->n * width);
}

/* in: y, all zeros before the first tile; x; tile; lists; cuts; other, BI_NONE where kind (enum
 * bi_list_kind) is BI_LIST_SUM. */
bi_value_id bi_list_add(struct bi_graph *g, const bi_value_id in[6], int kind, int64_t n,
                        int64_t size)
{
    return bi_node_add(g, BI_OP_LIST_ADD, in, 6,
                       BI_ATTRS(list_add, .kind = kind, .n = (int32_t)n, .size = (int32_t)size));
}

const struct bi_op bi_op_list_add = {
    .name = "list_add",
    .infer = list_add_infer,
    .launch = list_add_launch,
    .reference = list_add_reference,
    .cost = list_add_cost,
    .required = 31,
    .in_place = true,
};

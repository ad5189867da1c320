/* list_sums.c - list_sums: sums over rows of x that lists name, or what parts them from others.
 *   x [R, D], lists [2 + n + size] i32 -> [2 n, D];  lists [2 + n + 2 size], other [Q, D] -> the
 *   same (kernels/list_sums.h) */
#include <math.h>
#include <string.h>

#include "../kernels/list_sums.h"
#include "shared.h"

const char *const bi_list_kind_names[] = {"sum", "gap", "gaps"};

static int list_sums_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *lists = bi_in(g, node, 1);
    const int64_t n = BI_ATTR(node, list_sums)->n, size = BI_ATTR(node, list_sums)->size;
    const int kind = BI_ATTR(node, list_sums)->kind;
    const int64_t expected = 2 + n + size * (kind == BI_LIST_SUM ? 1 : 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && (n < 1 || size < 1 || kind < 0 || kind >= BI_LIST_KINDS || lists->rank != 1 ||
                lists->dtype != BI_I32 || lists->shape[0] != expected))
        st = bi_fail(err, BIOINFER_INTERNAL,
                     "list_sums: kind %d, lists %s of %s, expected int32 [%lld] of %lld lists",
                     kind, bi_shape_text(lists).text, bi_dtype_name(lists->dtype),
                     (long long)expected, (long long)n);
    if (!st && (bi_in(g, node, 2) == NULL) != (kind == BI_LIST_SUM))
        st = bi_fail(err, BIOINFER_INTERNAL, "list_sums: rows of the other allele: %s",
                     bi_in(g, node, 2) ? "none are compared" : "there are none");
    if (!st && bi_in(g, node, 2))
        st = bi_expect(g, node, 2, 2, x->shape[1], err);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_FIXED, 2, (int64_t[]){2 * n, x->shape[1]});
    return st;
}

static void list_sums_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "list_sums", struct bi_list_sums_params, .counts = b->counts, .x = b->in[0],
              .other = b->in[2], .lists = b->in[1], .y = b->out[0], .ldx = b->in_ld[0],
              .ldo = b->in_ld[2], .ldy = b->out_ld[0], .size = BI_ATTR(node, list_sums)->size,
              .n = BI_ATTR(node, list_sums)->n, .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .kind = BI_ATTR(node, list_sums)->kind);
}

/* Column c of the row that entry `at` of all lists names. */
static float value_of(const struct bi_list_sums_params *p, int64_t at, int32_t c)
{
    const int32_t row = p->lists[2 + p->n + at];
    float largest;
    if (row >= 0)
        return p->x[row * p->ldx + c];
    if (row == BI_LIST_NONE)
        return 0;
    largest = p->x[p->lists[0] * p->ldx + c];
    for (int64_t r = p->lists[0] + 1; r < p->lists[1]; r++)
        largest = fmaxf(largest, p->x[r * p->ldx + c]);
    return largest;
}

static void list_sums_reference(const void *params)
{
    const struct bi_list_sums_params *p = params;
    const int32_t *ends = p->lists + 2, *against = ends + p->n + p->size;
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t c = 0; c < p->width; c++) {
            float *y = p->y + 2 * i * p->ldy + c;
            double sum = 0;
            for (int64_t at = i ? ends[i - 1] : 0; at < ends[i]; at++) {
                const double v = (double)value_of(p, at, c);
                const double other = p->kind == BI_LIST_SUM
                                         ? 0
                                         : (double)p->other[against[at] * p->ldo + c];
                sum = p->kind == BI_LIST_SUM   ? sum + v
                      : p->kind == BI_LIST_GAP ? fmax(sum, (double)fabsf((float)(v - other)))
                                               : sum + fabs(v - other);
            }
            y[0] = (float)sum;
            y[p->ldy] = (float)(sum - (double)y[0]);
        }
}

static void list_sums_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                           double *bytes)
{
    const double size = (double)BI_ATTR(node, list_sums)->size;
    const double width = (double)bi_in(g, node, 0)->shape[1];
    const int terms = BI_ATTR(node, list_sums)->kind == BI_LIST_SUM ? 1 : 2;
    *flops = terms * size * width;
    *bytes = 4 * (terms * size * (width + 1) + 2 * BI_ATTR(node, list_sums)->n * width);
}

/* kind: enum bi_list_kind. other: BI_NONE where it is BI_LIST_SUM. */
bi_value_id bi_list_sums(struct bi_graph *g, bi_value_id x, bi_value_id lists, bi_value_id other,
                         int kind, int64_t n, int64_t size)
{
    return bi_node_add(g, BI_OP_LIST_SUMS, BI_IN(x, lists, other),
                       BI_ATTRS(list_sums, .kind = kind, .n = (int32_t)n, .size = (int32_t)size));
}

const struct bi_op bi_op_list_sums = {
    .name = "list_sums",
    .infer = list_sums_infer,
    .launch = list_sums_launch,
    .reference = list_sums_reference,
    .cost = list_sums_cost,
    .required = 3,
};

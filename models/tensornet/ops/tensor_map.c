/* tensor_map.c - what ops on the matrices of atoms have in common (kernels/tensor_map.h). */
#include <string.h>

#include "../../../kernels/tensor_map.h"
#include "tensors.h"

#define BI_NUM double
#define BI_REAL double
#define BI_TENSOR_FN static inline
#include "../../../kernels/tensor_math.h"

/* The ops stand in the order of the functions. */
static enum bi_tensor_function function_of(const struct bi_node *node)
{
    _Static_assert(BI_OP_TENSOR_SCALE_GRAD - BI_OP_TENSOR_NORM == BI_TENSOR_SCALE_GRAD,
                   "as many ops as functions");
    return (enum bi_tensor_function)(node->op - BI_OP_TENSOR_NORM);
}

static int32_t parts_of(const struct bi_node *node)
{
    const int32_t parts = node->op == BI_OP_TENSOR_NORM ? BI_ATTR(node, tensor_norm)->parts
                          : node->op == BI_OP_TENSOR_NORM_GRAD
                              ? BI_ATTR(node, tensor_norm_grad)->parts
                              : 1;
    return parts == 3 ? 3 : 1;
}

static int32_t so3_of(const struct bi_node *node)
{
    return node->op == BI_OP_TENSOR_PRODUCT        ? BI_ATTR(node, tensor_product)->so3
           : node->op == BI_OP_TENSOR_PRODUCT_GRAD ? BI_ATTR(node, tensor_product_grad)->so3
                                                   : 0;
}

/* Sets the shape of an operand with m numbers for an atom. Three numbers of an atom are rows of a
 * matrix's operand, and columns where `wide`. */
static void set_shape(struct bi_graph *g, const struct bi_node *node, int slot, int m, bool wide)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const enum bi_axis axis = wide || m == 1 ? BI_AXIS_TOKENS
                              : m == 3       ? BI_AXIS_VECTORS
                                             : BI_AXIS_TENSORS;
    const int64_t n = x->shape[0], width = x->shape[1];
    bi_out_shape(g, node, slot, axis, 2, (int64_t[]){wide ? n : n * m, wide ? width * m : width});
}

int bi_infer_tensor_map(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_tensor_shape *s = &bi_tensor_shapes[function_of(node)];
    const struct bi_value *x = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && x->axis != BI_AXIS_TOKENS)
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: x %s is no value of tokens",
                     bi_ops[node->op]->name, bi_shape_text(x).text);
    for (int k = 1; !st && k < BI_TENSOR_MAP_IN && s->n_in[k]; k++) {
        const struct bi_value *v = bi_in(g, node, k);
        const int m = bi_tensor_numbers(s->n_in[k], parts_of(node));
        if (v && (v->dtype != BI_F32 ||
                  bi_value_elements(v) != (m < 0 ? x->shape[0] : m * bi_value_elements(x))))
            st = bi_fail(err, BIOINFER_INTERNAL, "%s: input %d %s beside x %s",
                         bi_ops[node->op]->name, k, bi_shape_text(v).text, bi_shape_text(x).text);
    }
    for (int k = 0; !st && k < BI_TENSOR_MAP_OUT && s->n_out[k]; k++)
        set_shape(g, node, k, bi_tensor_numbers(s->n_out[k], parts_of(node)),
                  s->n_out[k] == 9 || (k == 3 && s->n_out[k] == 3));
    return st;
}

void bi_launch_tensor_map(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *b, struct bi_launch *launch)
{
    struct bi_tensor_map_params *p = (struct bi_tensor_map_params *)launch->params;
    BI_LAUNCH(launch, "tensor_map", struct bi_tensor_map_params, .counts = b->counts,
              .rows = bi_in(g, node, 0)->shape[0], .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .function = (int32_t)function_of(node), .parts = parts_of(node), .so3 = so3_of(node));
    for (int k = 0; k < BI_TENSOR_MAP_IN; k++)
        p->in[k] = b->in[k];
    for (int k = 0; k < BI_TENSOR_MAP_OUT; k++)
        p->out[k] = b->out[k];
}

void bi_ref_tensor_map(const void *params)
{
    const struct bi_tensor_map_params *p = params;
    const struct bi_tensor_shape *s = &bi_tensor_shapes[p->function];
    const int64_t n = bi_live_rows(p->counts, BI_AXIS_TOKENS, p->rows);
    for (int64_t at = 0; at < n * p->width; at++) {
        const int64_t i = at / p->width, f = at % p->width;
        double x[BI_TENSOR_NUMBERS], y[BI_TENSOR_NUMBERS], c = 1;
        int to = 0;
        for (int k = 0; k < BI_TENSOR_MAP_IN; k++) {
            const int m = bi_tensor_numbers(s->n_in[k], p->parts);
            if (m < 0 && p->in[k])
                c = (double)p->in[k][i];
            for (int j = 0; j < m; j++)
                x[to++] = p->in[k] ? (double)p->in[k][(i * m + j) * p->width + f] : 0;
        }
        bi_tensor_apply(p->function, p->parts, p->so3, x, c, y);
        to = 0;
        for (int k = 0; k < BI_TENSOR_MAP_OUT; k++) {
            const int m = bi_tensor_numbers(s->n_out[k], p->parts);
            for (int j = 0; j < m; j++, to++)
                if (p->out[k])
                    p->out[k][(i * m + j) * p->width + f] = (float)y[to];
        }
    }
}

/* ---- two functions ---- */

static int count_in(const struct bi_tensor_shape *s)
{
    int n = 0;
    while (n < BI_TENSOR_MAP_IN && s->n_in[n])
        n++;
    return n;
}

static int count_out(const struct bi_tensor_shape *s)
{
    int n = 0;
    while (n < BI_TENSOR_MAP_OUT && s->n_out[n])
        n++;
    return n;
}

/* The shape of function 0 or 1 of a pair; *parts: of a norm. */
static const struct bi_tensor_shape *shape_of(const struct bi_node *node, int which, int32_t *parts)
{
    const struct bi_tensor_pair_attr *a = BI_ATTR(node, tensor_pair);
    *parts = which ? a->second_parts : a->first_parts;
    return &bi_tensor_shapes[which ? a->second : a->first];
}

int bi_infer_tensor_pair(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_tensor_pair_attr *a = BI_ATTR(node, tensor_pair);
    const struct bi_value *x = bi_in(g, node, 0);
    int at = 0, to = 0, st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && (x->axis != BI_AXIS_TOKENS || a->first < 0 || a->first >= BI_TENSOR_FUNCTIONS ||
                a->second < 0 || a->second >= BI_TENSOR_FUNCTIONS))
        st = bi_fail(err, BIOINFER_INTERNAL, "tensor_pair: %d, %d of x %s", a->first, a->second,
                     bi_shape_text(x).text);
    for (int which = 0; !st && which < 2; which++) {
        int32_t parts;
        const struct bi_tensor_shape *s = shape_of(node, which, &parts);
        for (int k = 0; !st && k < count_in(s); k++) {
            const int m = bi_tensor_numbers(s->n_in[k], parts);
            if (which && k >= a->at && k < a->at + 3)
                continue;
            if (at == BI_NODE_IN)
                return bi_fail(err, BIOINFER_INTERNAL, "tensor_pair: too many inputs");
            const struct bi_value *v = bi_in(g, node, at++);
            if (v && (v->dtype != BI_F32 ||
                      bi_value_elements(v) != (m < 0 ? x->shape[0] : m * bi_value_elements(x))))
                st = bi_fail(err, BIOINFER_INTERNAL, "tensor_pair: input %d %s beside x %s", at - 1,
                             bi_shape_text(v).text, bi_shape_text(x).text);
        }
        for (int k = 0; !st && k < count_out(s); k++)
            set_shape(g, node, to++, bi_tensor_numbers(s->n_out[k], parts),
                      s->n_out[k] == 9 || (k == 3 && s->n_out[k] == 3));
    }
    return st;
}

void bi_launch_tensor_pair(const struct bi_graph *g, const struct bi_node *node,
                           const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_tensor_pair_attr *a = BI_ATTR(node, tensor_pair);
    struct bi_tensor_pair_params *p = (struct bi_tensor_pair_params *)launch->params;
    int at = 0, to = 0;
    BI_LAUNCH(launch, "tensor_pair", struct bi_tensor_pair_params, .of[0].counts = b->counts);
    for (int which = 0; which < 2; which++) {
        struct bi_tensor_map_params *one = &p->of[which];
        int32_t parts;
        const struct bi_tensor_shape *s = shape_of(node, which, &parts);
        *one = (struct bi_tensor_map_params){.counts = b->counts,
                                             .rows = bi_in(g, node, 0)->shape[0],
                                             .width = (int32_t)bi_in(g, node, 0)->shape[1],
                                             .function = which ? a->second : a->first,
                                             .parts = parts};
        for (int k = 0; k < count_in(s); k++)
            one->in[k] = which && k >= a->at && k < a->at + 3 ? p->of[0].out[k - a->at]
                                                              : b->in[at++];
        for (int k = 0; k < count_out(s); k++)
            one->out[k] = b->out[to++];
    }
}

void bi_ref_tensor_pair(const void *params)
{
    const struct bi_tensor_pair_params *p = params;
    bi_ref_tensor_map(&p->of[0]);
    bi_ref_tensor_map(&p->of[1]);
}

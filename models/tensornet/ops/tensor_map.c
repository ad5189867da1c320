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

void bi_tensor_shape_out(struct bi_graph *g, const struct bi_node *node, int slot, int m, bool wide)
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
        bi_tensor_shape_out(g, node, k, bi_tensor_numbers(s->n_out[k], parts_of(node)),
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

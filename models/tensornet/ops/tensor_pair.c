/* tensor_pair.c - tensor_pair: two functions of the matrices of atoms, one behind the other.
 *   inputs of the first, of tensor_map.h and no product, and those of the second but for the matrix
 *   that the first gives -> outputs of both
 * Made by the rule tensor_pair (graph/rules/tensors.c). */
#include "../../../kernels/tensor_map.h"
#include "tensors.h"

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

static int infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
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
            bi_tensor_shape_out(g, node, to++, bi_tensor_numbers(s->n_out[k], parts),
                                s->n_out[k] == 9 || (k == 3 && s->n_out[k] == 3));
    }
    return st;
}

static void launch(const struct bi_graph *g, const struct bi_node *node, const struct bi_bind *b,
                   struct bi_launch *launch)
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

static void reference(const void *params)
{
    const struct bi_tensor_pair_params *p = params;
    bi_ref_tensor_map(&p->of[0]);
    bi_ref_tensor_map(&p->of[1]);
}

const struct bi_op bi_op_tensor_pair = {
    .name = "tensor_pair",
    .infer = infer,
    .launch = launch,
    .reference = reference,
    .cost = bi_cost_bytes,
    .required = 7,
};

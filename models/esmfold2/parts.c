/* parts.c - ESMFold2: products, norms and layers of pairs that all its graphs are made of. */
#include "esmfold2.h"

static const float eps = 1e-5f;

bi_value_id esmfold2_value(const struct esmfold2_graph *b, int index)
{
    return bi_model_value(b->model, b->g, index);
}

bi_value_id esmfold2_product(const struct esmfold2_graph *b, bi_value_id x,
                             struct esmfold2_linear l)
{
    const bi_value_id y = bi_matmul(b->g, x, esmfold2_value(b, l.w));
    return l.b < 0 ? y : bi_add(b->g, y, esmfold2_value(b, l.b));
}

bi_value_id esmfold2_norm(const struct esmfold2_graph *b, bi_value_id x, struct esmfold2_linear l)
{
    return bi_layernorm(b->g, x, esmfold2_value(b, l.w), l.b < 0 ? BI_NONE : esmfold2_value(b, l.b),
                        eps);
}

bi_value_id esmfold2_gated(const struct esmfold2_graph *b, bi_value_id x,
                           struct esmfold2_linear gate, bi_value_id y)
{
    return bi_mul(b->g, bi_sigmoid(b->g, esmfold2_product(b, x, gate)), y);
}

bi_value_id esmfold2_swiglu(const struct esmfold2_graph *b, bi_value_id x,
                            const struct esmfold2_transition *t)
{
    const bi_value_id gate = bi_silu(b->g, esmfold2_product(b, x, t->gate));
    return esmfold2_product(b, bi_mul(b->g, gate, esmfold2_product(b, x, t->up)), t->down);
}

bi_value_id esmfold2_transit(const struct esmfold2_graph *b, bi_value_id x,
                             const struct esmfold2_transition *t)
{
    return bi_add(b->g, x, esmfold2_swiglu(b, esmfold2_norm(b, x, t->norm), t));
}

static bi_value_id triangle(const struct esmfold2_graph *b, const struct esmfold2_triangle *t,
                            bi_value_id z, bool incoming)
{
    const bi_value_id x = esmfold2_norm(b, z, t->norm_in);
    const bi_value_id left = esmfold2_gated(b, x, t->a_gate, esmfold2_product(b, x, t->a_value));
    const bi_value_id right = esmfold2_gated(b, x, t->b_gate, esmfold2_product(b, x, t->b_value));
    const bi_value_id u = bi_triangle(b->g, left, right, b->grid_start, incoming);
    return esmfold2_gated(b, x, t->gate,
                          esmfold2_product(b, esmfold2_norm(b, u, t->norm_out), t->out));
}

bi_value_id esmfold2_pair_layers(const struct esmfold2_graph *b, bi_value_id z,
                                 const struct esmfold2_pair_layer *layers, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        z = bi_add(b->g, z, triangle(b, &layers[i].outgoing, z, false));
        z = bi_add(b->g, z, triangle(b, &layers[i].incoming, z, true));
        z = esmfold2_transit(b, z, &layers[i].transition);
    }
    return z;
}

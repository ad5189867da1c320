/* parts.c - Protenix: products, norms, attention and layers of pairs that its graphs are made of.
 *
 * A layer: z += triangle products, outgoing, then incoming; z += attention along rows, then along
 * columns; z += transition(z); s += attention(LN s, biased by LN z); s += transition(s). */
#include <math.h>

#include "protenix.h"

static const float eps = 1e-5f;

bi_value_id protenix_value(const struct protenix_graph *b, int index)
{
    return bi_model_value(b->model, b->g, index);
}

bi_value_id protenix_product(const struct protenix_graph *b, bi_value_id x,
                             struct protenix_linear l)
{
    const bi_value_id y = bi_matmul(b->g, x, protenix_value(b, l.w));
    return l.b < 0 ? y : bi_add(b->g, y, protenix_value(b, l.b));
}

bi_value_id protenix_norm(const struct protenix_graph *b, bi_value_id x, struct protenix_linear l)
{
    const bi_value_id bias = l.b < 0 ? BI_NONE : protenix_value(b, l.b);
    return bi_layernorm(b->g, x, protenix_value(b, l.w), bias, eps);
}

bi_value_id protenix_plain_norm(const struct protenix_graph *b, bi_value_id x)
{
    const int64_t width = x < 0 ? 1 : b->g->values[x].shape[1];
    const bi_value_id ones = bi_fill(b->g, BI_F32, BI_AXIS_FIXED, width, 0, 1);
    return bi_layernorm(b->g, x, ones, BI_NONE, eps);
}

bi_value_id protenix_relu(const struct protenix_graph *b, bi_value_id x)
{
    return bi_norm_act(b->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 0);
}

bi_value_id protenix_gated(const struct protenix_graph *b, bi_value_id x,
                           struct protenix_linear gate, bi_value_id y)
{
    return bi_mul(b->g, bi_sigmoid(b->g, protenix_product(b, x, gate)), y);
}

bi_value_id protenix_swiglu(const struct protenix_graph *b, bi_value_id x,
                            const struct protenix_transition *t)
{
    const bi_value_id gate = bi_silu(b->g, protenix_product(b, x, t->gate));
    return protenix_product(b, bi_mul(b->g, gate, protenix_product(b, x, t->up)), t->down);
}

bi_value_id protenix_transit(const struct protenix_graph *b, bi_value_id x,
                             const struct protenix_transition *t)
{
    return bi_add(b->g, x, protenix_swiglu(b, protenix_norm(b, x, t->norm), t));
}

/* ---- attention ---- */

bi_value_id protenix_queries(const struct protenix_graph *b, bi_value_id x,
                             const struct protenix_attention *a)
{
    return bi_scale(b->g, protenix_product(b, x, a->q), 1 / sqrtf((float)a->width));
}

bi_value_id protenix_bias(const struct protenix_graph *b, bi_value_id z,
                          const struct protenix_attention *a)
{
    return protenix_product(b, protenix_norm(b, z, a->pair_norm), a->bias);
}

bi_value_id protenix_attend(const struct protenix_graph *b, bi_value_id x, bi_value_id bias,
                            const struct protenix_attention *a)
{
    struct bi_graph *g = b->g;
    bi_value_id y = bi_scores(g, protenix_queries(b, x, a), protenix_product(b, x, a->k), b->start,
                              a->heads);
    y = bi_grid_bias(g, y, bias, b->start, b->grid_start);
    y = bi_mix(g, bi_softmax(g, y, b->start), protenix_product(b, x, a->v), b->start);
    return protenix_product(b, protenix_gated(b, x, a->gate, y), a->out);
}

/* Attention of each row of pairs over its columns. */
static bi_value_id attend_rows(const struct protenix_graph *b, const struct protenix_rows *r,
                               bi_value_id z)
{
    struct bi_graph *g = b->g;
    const bi_value_id x = protenix_norm(b, z, r->norm);
    const bi_value_id q = bi_scale(g, protenix_product(b, x, r->q), 1 / sqrtf((float)r->width));
    bi_value_id y = bi_scores(g, q, protenix_product(b, x, r->k), b->row_start, r->heads);
    y = bi_grid_bias(g, y, protenix_product(b, x, r->bias), b->row_start, b->grid_start);
    y = bi_mix(g, bi_softmax(g, y, b->row_start), protenix_product(b, x, r->v), b->row_start);
    return protenix_product(b, protenix_gated(b, x, r->gate, y), r->out);
}

/* ---- layers of pairs ---- */

static bi_value_id triangle(const struct protenix_graph *b, const struct protenix_triangle *t,
                            bi_value_id z, bool incoming)
{
    const bi_value_id x = protenix_norm(b, z, t->norm_in);
    const bi_value_id left = protenix_gated(b, x, t->a_gate, protenix_product(b, x, t->a_value));
    const bi_value_id right = protenix_gated(b, x, t->b_gate, protenix_product(b, x, t->b_value));
    const bi_value_id u = bi_triangle(b->g, left, right, b->grid_start, incoming);
    return protenix_gated(b, x, t->gate,
                          protenix_product(b, protenix_norm(b, u, t->norm_out), t->out));
}

void protenix_layers(const struct protenix_graph *b, const struct protenix_stack *stack,
                     bi_value_id *s, bi_value_id *z)
{
    struct bi_graph *g = b->g;
    for (int64_t i = 0; i < stack->n; i++) {
        const struct protenix_layer *l = &stack->layers[i];
        bi_value_id turned;
        *z = bi_add(g, *z, triangle(b, &l->outgoing, *z, false));
        *z = bi_add(g, *z, triangle(b, &l->incoming, *z, true));
        *z = bi_add(g, *z, attend_rows(b, &l->start, *z));
        turned = attend_rows(b, &l->end, bi_turn(g, *z, b->grid_start));
        *z = bi_add(g, *z, bi_turn(g, turned, b->grid_start));
        *z = protenix_transit(b, *z, &l->transition);
        if (!s)
            continue;
        *s = bi_add(g, *s,
                    protenix_attend(b, protenix_norm(b, *s, l->norm),
                                    protenix_bias(b, *z, &l->attention), &l->attention));
        *s = protenix_transit(b, *s, &l->single_transition);
    }
}

bi_value_id protenix_positions(const struct protenix_graph *b, struct protenix_linear table)
{
    return bi_gather_sum(b->g, bi_weight_transposed(b->g, protenix_value(b, table.w)), b->relations,
                         1);
}

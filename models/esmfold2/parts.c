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

/* ---- pairs, in parts where memory asks for it ---- */

/* A triangle needs all rows of both factors, but no channel needs another one: in parts, some
 * channels are made after the others. */
enum { CHANNEL_PARTS = 4, MOST_CHANNELS = 1024 };

bool esmfold2_in_parts(const struct esmfold2_graph *b)
{
    return b->shape->n_parts > 1;
}

void esmfold2_begin(const struct esmfold2_graph *b)
{
    bi_trips_begin(b->g, esmfold2_in_parts(b) ? b->shape->n_parts : 1);
}

void esmfold2_end(const struct esmfold2_graph *b)
{
    bi_trips_end(b->g);
}

bi_value_id esmfold2_rows(const struct esmfold2_graph *b, bi_value_id x)
{
    const int64_t n = esmfold2_in_parts(b) ? b->shape->n_grid / b->shape->n_parts : 0;
    return n ? bi_trip_rows(b->g, x, n, n) : x;
}

bi_value_id esmfold2_put(const struct esmfold2_graph *b, bi_value_id x, bi_value_id rows)
{
    return esmfold2_in_parts(b) ? bi_put_rows(b->g, x, rows, esmfold2_rows(b, b->grid_rows)) : rows;
}

bi_value_id esmfold2_room(const struct esmfold2_graph *b, int64_t width)
{
    return esmfold2_in_parts(b) ? bi_fill(b->g, BI_F32, BI_AXIS_GRID, b->shape->n_grid, width, 0)
                                : BI_NONE;
}

/* Channels [first, first + n) of a product. */
static bi_value_id channels(const struct esmfold2_graph *b, bi_value_id x, struct esmfold2_linear l,
                            int64_t first, int64_t n)
{
    int32_t rows[MOST_CHANNELS];
    if (!esmfold2_in_parts(b))
        return esmfold2_product(b, x, l);
    for (int64_t i = 0; i < n; i++)
        rows[i] = (int32_t)(first + i);
    return bi_matmul(b->g, x, bi_weight_rows(b->g, esmfold2_value(b, l.w), rows, n));
}

/* Some channels of a factor of a triangle. */
static bi_value_id factor(const struct esmfold2_graph *b, bi_value_id x,
                          struct esmfold2_linear gate, struct esmfold2_linear value, int64_t first,
                          int64_t n)
{
    const bi_value_id y = channels(b, x, value, first, n);
    return bi_mul(b->g, bi_sigmoid(b->g, channels(b, x, gate, first, n)), y);
}

/* z plus the product of a triangle. */
static bi_value_id add_triangle(const struct esmfold2_graph *b, const struct esmfold2_triangle *t,
                                bi_value_id z, bool incoming)
{
    const int64_t c = b->f->size[ESMFOLD2_PAIR];
    const int64_t each = esmfold2_in_parts(b) ? (c + CHANNEL_PARTS - 1) / CHANNEL_PARTS : c;
    struct bi_graph *g = b->g;
    bi_value_id u[CHANNEL_PARTS], x = BI_NONE, old, all;
    int n = 0;
    for (int64_t first = 0; first < c; first += each) {
        const int64_t width = each < c - first ? each : c - first;
        bi_value_id left = esmfold2_room(b, width), right = esmfold2_room(b, width);
        esmfold2_begin(b);
        x = esmfold2_norm(b, esmfold2_rows(b, z), t->norm_in);
        left = esmfold2_put(b, left, factor(b, x, t->a_gate, t->a_value, first, width));
        right = esmfold2_put(b, right, factor(b, x, t->b_gate, t->b_value, first, width));
        esmfold2_end(b);
        u[n++] = bi_triangle(g, left, right, b->grid_start, incoming);
    }
    esmfold2_begin(b);
    old = esmfold2_rows(b, z);
    if (esmfold2_in_parts(b))
        x = esmfold2_norm(b, old, t->norm_in);
    all = esmfold2_rows(b, u[0]);
    for (int k = 1; k < n; k++)
        all = bi_join_columns(g, all, esmfold2_rows(b, u[k]));
    all = esmfold2_product(b, esmfold2_norm(b, all, t->norm_out), t->out);
    z = esmfold2_put(b, z, bi_add(g, old, esmfold2_gated(b, x, t->gate, all)));
    esmfold2_end(b);
    return z;
}

bi_value_id esmfold2_pair_layers(const struct esmfold2_graph *b, bi_value_id z,
                                 const struct esmfold2_pair_layer *layers, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        z = add_triangle(b, &layers[i].outgoing, z, false);
        z = add_triangle(b, &layers[i].incoming, z, true);
        esmfold2_begin(b);
        z = esmfold2_put(b, z, esmfold2_transit(b, esmfold2_rows(b, z), &layers[i].transition));
        esmfold2_end(b);
    }
    return z;
}

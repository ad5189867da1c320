/* atoms.c - ESMFold2: layers over atoms, of the input embedder and of both ends of the diffusion.
 *
 * A layer of h [A, a] on the condition c [A, a], which is the encoder's features:
 *   [shift, scale, gate] twice = modulation(silu(c))
 *   x = rms(h) (1 + scale) + shift; h += gate out(attention(x) sigmoid(gate(x)))
 *   x = rms(h) (1 + scale') + shift'; h += gate' down(silu(gate(x)) up(x))
 * Attention is within half a window of atoms, of all chains of a record (window_attention.h). */
#include "structure.h"

static const float rms_eps = 1e-6f;

bi_value_id esmfold2_atom_features(const struct esmfold2_graph *b,
                                   const struct esmfold2_atom_encoder *e)
{
    const bi_value_id w = esmfold2_value(b, e->features.w);
    const bi_value_id x = bi_matmul(b->g, b->numbers,
                                    bi_weight_columns(b->g, w, 0, ESMFOLD2_ATOM_NUMBERS));
    const bi_value_id y = bi_gather_sum(b->g, bi_weight_transposed(b->g, w), b->codes, 1);
    return esmfold2_norm(b, bi_add(b->g, x, y), e->norm);
}

bi_value_id esmfold2_ones(const struct esmfold2_graph *b, enum esmfold2_size width)
{
    return bi_fill(b->g, BI_F32, BI_AXIS_FIXED, b->f->size[width], 0, 1);
}

bi_value_id esmfold2_modulation(const struct esmfold2_graph *b, bi_value_id condition,
                                const struct esmfold2_atom_layer *layer)
{
    return esmfold2_product(b, bi_silu(b->g, condition), layer->modulation);
}

/* Part `which` of six of a modulation. */
static bi_value_id part(const struct esmfold2_graph *b, bi_value_id modulation, int which)
{
    const int32_t width = (int32_t)b->f->size[ESMFOLD2_ATOM];
    return bi_columns(b->g, modulation, which * width, width);
}

/* rms(h) (1 + scale) + shift, by parts `first` and first + 1 of the modulation. */
static bi_value_id modulated(const struct esmfold2_graph *b, bi_value_id h, bi_value_id modulation,
                             bi_value_id ones, int first)
{
    const bi_value_id x = bi_rmsnorm(b->g, h, ones, rms_eps);
    const bi_value_id y = bi_mul(b->g, x, part(b, modulation, first + 1));
    return bi_add(b->g, bi_add(b->g, x, y), part(b, modulation, first));
}

bi_value_id esmfold2_atom_layer(const struct esmfold2_graph *b, bi_value_id h,
                                bi_value_id modulation, bi_value_id ones,
                                const struct esmfold2_atom_layer *layer)
{
    const int64_t *n = b->f->size;
    bi_value_id x = modulated(b, h, modulation, ones, 0), y;
    y = bi_window_attention(
        b->g,
        (const bi_value_id[]){esmfold2_product(b, x, layer->q), esmfold2_product(b, x, layer->k),
                              esmfold2_product(b, x, layer->v), b->turns, b->atom_start},
        (int32_t)n[ESMFOLD2_ATOM_HEADS], (int32_t)n[ESMFOLD2_WINDOW] / 2, rms_eps);
    y = esmfold2_product(b, esmfold2_gated(b, x, layer->gate, y), layer->out);
    h = bi_add(b->g, h, bi_mul(b->g, part(b, modulation, 2), y));
    x = modulated(b, h, modulation, ones, 3);
    y = esmfold2_swiglu(b, x, &layer->transition);
    return bi_add(b->g, h, bi_mul(b->g, part(b, modulation, 5), y));
}

bi_value_id esmfold2_atom_layers(const struct esmfold2_graph *b, bi_value_id h,
                                 bi_value_id condition, const struct esmfold2_atom_layer *layers,
                                 int64_t n)
{
    const bi_value_id ones = esmfold2_ones(b, ESMFOLD2_ATOM);
    for (int64_t i = 0; i < n; i++)
        h = esmfold2_atom_layer(b, h, esmfold2_modulation(b, condition, &layers[i]), ones,
                                &layers[i]);
    return h;
}

bi_value_id esmfold2_to_tokens(const struct esmfold2_graph *b, bi_value_id h,
                               struct esmfold2_linear to_token)
{
    const bi_value_id x = esmfold2_product(b, h, to_token);
    return bi_row_pool(b->g, bi_norm_act(b->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 0), BI_NONE,
                       b->token_atoms);
}

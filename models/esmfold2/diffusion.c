/* diffusion.c - ESMFold2: atoms out of noise, on what the trunk leaves.
 *
 * Once a sample: pairs p = W LN [z, R], two transitions, and of them a bias of each token layer;
 * s0 = W LN single; features of atoms and what modulates their layers. A step at noise sigma, for
 * atoms y (kernels/edm.h makes steps of what follows):
 *   g = s0 + W LN cos(2 pi (ln(sigma / data) / 4 frequencies + phases)), two transitions
 *   h = features + W y / sqrt(sigma^2 + data^2), layers of atoms
 *   a = tokens of h + W LN g; layers of tokens:
 *     a += sigmoid(W g + b) out(attention(ada(a, g), biased by pairs) sigmoid(gate))
 *     a += sigmoid(W g + b) down(silu(gate(ada(a, g))) up(ada(a, g)))
 *     ada(a, g) = sigmoid(W LN g + b) LN a + W LN g
 *   h += W LN a of its token, layers of atoms; the update is W LN h */
#include <math.h>

#include "structure.h"

static const float eps = 1e-5f;

/* Values that no step changes. */
struct conditions {
    bi_value_id encoder[ESMFOLD2_ATOM_LAYERS], decoder[ESMFOLD2_ATOM_LAYERS]; /* modulations */
    bi_value_id features, single, ones_of_atoms, ones_of_tokens;
    bi_value_id bias[ESMFOLD2_LAYERS];
    bi_value_id record; /* [T, 1] */
};

/* Two transitions. */
static bi_value_id transit(const struct esmfold2_graph *b, bi_value_id x,
                           const struct esmfold2_transition t[2])
{
    return esmfold2_transit(b, esmfold2_transit(b, x, &t[0]), &t[1]);
}

static void prepare(const struct esmfold2_graph *b, const struct esmfold2_trunk *t,
                    struct conditions *to)
{
    const struct esmfold2_diffusion *d = &b->f->diffusion;
    const int64_t *n = b->f->size;
    bi_value_id p;
    for (int64_t i = 0; i < n[ESMFOLD2_TOKEN_LAYERS]; i++)
        to->bias[i] = esmfold2_room(b, n[ESMFOLD2_TOKEN_HEADS]);
    esmfold2_begin(b);
    p = bi_join_columns(b->g, esmfold2_rows(b, t->pair), esmfold2_rows(b, t->positions));
    p = transit(b, esmfold2_product(b, esmfold2_norm(b, p, d->pair_norm), d->pair),
                d->pair_transition);
    for (int64_t i = 0; i < n[ESMFOLD2_TOKEN_LAYERS]; i++)
        to->bias[i] = esmfold2_put(
            b, to->bias[i],
            esmfold2_product(b, esmfold2_norm(b, p, d->layers[i].pair_norm), d->layers[i].bias));
    esmfold2_end(b);
    to->single = esmfold2_product(b, esmfold2_norm(b, t->single, d->single_norm), d->single);
    to->features = esmfold2_atom_features(b, &d->encoder);
    for (int64_t i = 0; i < n[ESMFOLD2_N_ATOM_LAYERS]; i++) {
        to->encoder[i] = esmfold2_modulation(b, to->features, &d->encoder.layers[i]);
        to->decoder[i] = esmfold2_modulation(b, to->features, &d->decoder[i]);
    }
    to->ones_of_atoms = esmfold2_ones(b, ESMFOLD2_ATOM);
    to->ones_of_tokens = esmfold2_ones(b, ESMFOLD2_TOKEN);
    to->record = bi_input_matrix(b->g, "record", BI_I32, BI_AXIS_TOKENS, b->shape->n_tokens, 1);
}

static bi_value_id adaptive(const struct esmfold2_graph *b, const struct conditions *c,
                            bi_value_id a, bi_value_id g, const struct esmfold2_adaptive *w)
{
    const bi_value_id s = esmfold2_norm(b, g, w->norm);
    const bi_value_id x = bi_layernorm(b->g, a, c->ones_of_tokens, BI_NONE, eps);
    return bi_add(b->g, esmfold2_gated(b, s, w->gate, x), esmfold2_product(b, s, w->shift));
}

static bi_value_id token_layer(const struct esmfold2_graph *b, const struct conditions *c,
                               bi_value_id a, bi_value_id g, int64_t i)
{
    const struct esmfold2_token_layer *l = &b->f->diffusion.layers[i];
    const int32_t heads = (int32_t)b->f->size[ESMFOLD2_TOKEN_HEADS];
    const float by = 1 / sqrtf((float)b->f->size[ESMFOLD2_TOKEN] / (float)heads);
    const bi_value_id x = adaptive(b, c, a, g, &l->before_attention);
    const bi_value_id q = bi_scale(b->g, esmfold2_product(b, x, l->q), by);
    bi_value_id y = bi_scores(b->g, q, esmfold2_product(b, x, l->k), b->start, heads);
    y = bi_grid_bias(b->g, y, c->bias[i], b->start, b->grid_start);
    y = bi_mix(b->g, bi_softmax(b->g, y, b->start), esmfold2_product(b, x, l->v), b->start);
    y = esmfold2_product(b, esmfold2_gated(b, x, l->gate, y), l->out);
    a = bi_add(b->g, a, esmfold2_gated(b, g, l->attention_gate, y));
    y = esmfold2_swiglu(b, adaptive(b, c, a, g, &l->before_transition), &l->transition);
    return bi_add(b->g, a, esmfold2_gated(b, g, l->transition_gate, y));
}

/* The update [A, 3] by scaled atoms [A, 3] and the row of the step for each record. */
static bi_value_id denoise(const struct esmfold2_graph *b, const struct conditions *c,
                           bi_value_id scaled, bi_value_id row)
{
    const struct esmfold2_diffusion *d = &b->f->diffusion;
    const int64_t *n = b->f->size;
    const bi_value_id w = bi_weight_columns(b->g, esmfold2_value(b, d->coordinates.w), 0, 3);
    bi_value_id h = bi_add(b->g, c->features, bi_matmul(b->g, scaled, w)), a;
    bi_value_id g = bi_add(b->g, c->single, bi_gather_sum(b->g, row, c->record, 1));
    g = transit(b, g, d->single_transition);
    for (int64_t i = 0; i < n[ESMFOLD2_N_ATOM_LAYERS]; i++)
        h = esmfold2_atom_layer(b, h, c->encoder[i], c->ones_of_atoms, &d->encoder.layers[i]);
    a = bi_add(b->g, esmfold2_to_tokens(b, h, d->encoder.to_token),
               esmfold2_product(b, esmfold2_norm(b, g, d->step_norm), d->single_to_token));
    for (int64_t i = 0; i < n[ESMFOLD2_TOKEN_LAYERS]; i++)
        a = token_layer(b, c, a, g, i);
    a = esmfold2_product(b, esmfold2_norm(b, a, d->token_norm), d->to_atom);
    h = bi_add(b->g, h, bi_gather_sum(b->g, a, b->atom_token, 1));
    for (int64_t i = 0; i < n[ESMFOLD2_N_ATOM_LAYERS]; i++)
        h = esmfold2_atom_layer(b, h, c->decoder[i], c->ones_of_atoms, &d->decoder[i]);
    return esmfold2_product(b, esmfold2_norm(b, h, d->atom_norm), d->position);
}

bi_value_id esmfold2_sample(const struct esmfold2_graph *b, const struct esmfold2_trunk *t)
{
    const struct esmfold2_diffusion *d = &b->f->diffusion;
    const float *real = b->f->real, data = real[ESMFOLD2_SIGMA];
    const int64_t steps = b->shape->n_steps;
    const int64_t draws = 3 * (real[ESMFOLD2_NOISE_SCALE] > 0 ? 1 + steps : 1);
    struct bi_graph *g = b->g;
    struct conditions c;
    const bi_value_id noise = bi_input_rows(g, "noise", BI_AXIS_ATOMS, b->shape->n_atoms, draws);
    const bi_value_id plan = bi_input_rows(g, "plan", BI_AXIS_SEQS, b->shape->n_records,
                                           BI_EDM_WORDS * steps);
    const bi_value_id levels = bi_input_rows(g, "levels", BI_AXIS_FIXED, steps,
                                             b->f->size[ESMFOLD2_FOURIER]);
    const bi_value_id rows = esmfold2_product(b, esmfold2_norm(b, levels, d->noise_norm), d->noise);
    bi_value_id state = bi_edm_start(g, noise, plan, b->atom_start), position, scaled, row, update;
    prepare(b, t, &c);
    bi_loop_begin(g, BI_COUNTER_n_steps);
    position = bi_edm_move(g, (const bi_value_id[]){state, noise, plan, b->atom_start, rows}, data,
                           &scaled, &row);
    update = denoise(b, &c, scaled, row);
    state = bi_edm_step(g, (const bi_value_id[]){state, position, update, plan, b->atom_start},
                        data, real[ESMFOLD2_STEP_SCALE], false);
    bi_loop_end(g);
    return bi_scale(g, bi_columns(g, state, 0, 3), 1); /* an output is no part of a value */
}

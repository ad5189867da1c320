/* diffusion.c - Protenix: atoms out of noise, on what the trunk leaves.
 *
 * Once a sample: pairs p = W LN [z, R], two transitions, and of them a bias of each token layer;
 * s0 = W LN [s, inputs]; atoms, their pairs, and what modulates their layers. A step at noise
 * sigma, for atoms y (kernels/edm.h makes plain steps of what follows):
 *   t = s0 + W LN cos(2 pi (ln(sigma / 16) / 4 frequencies + phases)), two transitions
 *   h = condition + W y / sqrt(sigma^2 + 16^2), layers of atoms
 *   a = tokens of h + W LN t; layers of tokens on t, biased by pairs
 *   h += W LN a of its token, layers of atoms; the update is W LN h */
#include "protenix.h"

#include "../../kernels/edm.h"

static const float data = 16; /* angstrom */

/* Values that no step changes. */
struct protenix_conditions {
    struct protenix_atoms atoms;
    struct protenix_atom_condition encoder[PROTENIX_LAYERS], decoder[PROTENIX_LAYERS];
    bi_value_id single, record, bias[PROTENIX_LAYERS];
};

static bi_value_id transit(const struct protenix_graph *b, bi_value_id x,
                           const struct protenix_transition t[2])
{
    return protenix_transit(b, protenix_transit(b, x, &t[0]), &t[1]);
}

static void prepare(const struct protenix_graph *b, const struct protenix_trunk *t,
                    struct protenix_conditions *to)
{
    const struct protenix_diffusion *d = &b->f->diffusion;
    struct bi_graph *g = b->g;
    bi_value_id p = bi_join_columns(g, t->pair, protenix_positions(b, d->positions));
    bi_value_id s = bi_join_columns(g, t->single, t->inputs);
    p = protenix_product(b, protenix_norm(b, p, d->pair_norm), d->pair);
    p = transit(b, p, d->pair_transition);
    for (int64_t i = 0; i < d->tokens.n; i++)
        to->bias[i] = protenix_bias(b, p, &d->tokens.layers[i].attention);
    to->single = protenix_product(b, protenix_norm(b, s, d->single_norm), d->single);
    to->atoms = protenix_atoms(b, &d->encoder, t->single, p);
    for (int64_t i = 0; i < d->encoder.layers.n; i++)
        to->encoder[i] = protenix_condition(b, &to->atoms, &d->encoder.layers.layers[i]);
    for (int64_t i = 0; i < d->decoder.n; i++)
        to->decoder[i] = protenix_condition(b, &to->atoms, &d->decoder.layers[i]);
    to->record = bi_input_matrix(g, "record", BI_I32, BI_AXIS_TOKENS, b->shape->n_tokens, 1);
}

static bi_value_id token_layer(const struct protenix_graph *b, bi_value_id a, bi_value_id t,
                               bi_value_id bias, const struct protenix_conditioned *l)
{
    bi_value_id x = protenix_adapt(b, a, protenix_modulate(b, t, &l->before_attention));
    a = bi_add(b->g, a,
               protenix_gated(b, t, l->attention_gate, protenix_attend(b, x, bias, &l->attention)));
    x = protenix_adapt(b, a, protenix_modulate(b, t, &l->before_transition));
    return bi_add(b->g, a,
                  protenix_gated(b, t, l->transition_gate, protenix_swiglu(b, x, &l->transition)));
}

/* The update [A, 3] by scaled atoms [A, 3] and the row of the step for each record. */
static bi_value_id denoise(const struct protenix_graph *b, const struct protenix_conditions *c,
                           bi_value_id scaled, bi_value_id row)
{
    const struct protenix_diffusion *d = &b->f->diffusion;
    struct bi_graph *g = b->g;
    bi_value_id h = bi_add(g, c->atoms.condition, protenix_product(b, scaled, d->encoder.noisy));
    bi_value_id t = bi_add(g, c->single, bi_gather_sum(g, row, c->record, 1)), a;
    t = transit(b, t, d->single_transition);
    for (int64_t i = 0; i < d->encoder.layers.n; i++)
        h = protenix_atom_layer(b, h, &c->encoder[i], &d->encoder.layers.layers[i]);
    a = bi_add(g, protenix_to_tokens(b, h, d->encoder.to_token),
               protenix_product(b, protenix_norm(b, t, d->step_norm), d->step));
    for (int64_t i = 0; i < d->tokens.n; i++)
        a = token_layer(b, a, t, c->bias[i], &d->tokens.layers[i]);
    a = protenix_product(b, protenix_norm(b, a, d->token_norm), d->to_atom);
    h = bi_add(g, h, bi_gather_sum(g, a, b->atom_token, 1));
    for (int64_t i = 0; i < d->decoder.n; i++)
        h = protenix_atom_layer(b, h, &c->decoder[i], &d->decoder.layers[i]);
    return protenix_product(b, protenix_norm(b, h, d->atom_norm), d->position);
}

bi_value_id protenix_sample(const struct protenix_graph *b, const struct protenix_trunk *t)
{
    const struct protenix_diffusion *d = &b->f->diffusion;
    const int64_t steps = b->shape->n_steps;
    struct bi_graph *g = b->g;
    struct protenix_conditions *c = bi_arena_calloc(&g->arena, 1, sizeof *c);
    const bi_value_id noise = bi_input_rows(g, "noise", BI_AXIS_ATOMS, b->shape->n_atoms,
                                            3 * (1 + steps));
    const bi_value_id plan = bi_input_rows(g, "plan", BI_AXIS_SEQS, b->shape->n_records,
                                           BI_EDM_WORDS * steps);
    const bi_value_id levels = bi_input_rows(g, "levels", BI_AXIS_FIXED, steps, b->f->fourier);
    const bi_value_id rows = protenix_product(b, protenix_norm(b, levels, d->noise_norm), d->noise);
    bi_value_id state = bi_edm_start(g, noise, plan, b->atom_start), position, scaled, row, update;
    if (!c)
        return bi_graph_fail(g, BIOINFER_NOMEM, "protenix: conditions of layers");
    prepare(b, t, c);
    bi_loop_begin(g, BI_COUNTER_n_steps);
    position = bi_edm_move(g, (const bi_value_id[]){state, noise, plan, b->atom_start, rows}, data,
                           &scaled, &row);
    update = denoise(b, c, scaled, row);
    state = bi_edm_step(g, (const bi_value_id[]){state, position, update, plan, b->atom_start},
                        data, b->f->step_scale, true);
    bi_loop_end(g);
    return bi_scale(g, bi_columns(g, state, 0, 3), 1); /* an output is no part of a value */
}

/* atoms.c - Protenix: layers over atoms, of the input embedder and of both ends of the diffusion.
 *
 * The condition c of an atom is products of its place in its conformer, its charge and codes; in
 * the diffusion also its token's. A pair of an atom and a key (kernels/block_attention.h) is
 *   p = same (offset d + near 1 / (1 + |d|^2) + same 1) + pair + query relu(c) + key relu(c'),
 *   p += mlp(p), d the difference of places, same: is it one conformer?
 * A layer of h, ada(a, c) = sigmoid(W LN c + b) LN a + W LN c, biased by LN p:
 *   x = ada(h, c); q of x, k and v of ada'(x, c); h += sigmoid(W c + b) out(attention sigmoid(x))
 *   h += sigmoid(W c + b) swiglu(ada(h, c)) */
#include "../../kernels/block_attention.h"
#include "protenix.h"

struct protenix_atoms protenix_atoms(const struct protenix_graph *b,
                                     const struct protenix_encoder *e, bi_value_id single,
                                     bi_value_id pair)
{
    const int64_t n = b->shape->n_atoms, keys = BI_BLOCK_KEYS * n;
    struct bi_graph *g = b->g;
    const bi_value_id place = bi_input_rows(g, "places", BI_AXIS_ATOMS, n, 3);
    const bi_value_id charge = bi_input_rows(g, "charges", BI_AXIS_ATOMS, n, 1);
    const bi_value_id codes = bi_input_matrix(g, "codes", BI_I32, BI_AXIS_ATOMS, n, PROTENIX_CODES);
    const bi_value_id offset = bi_input_rows(g, "key_offset", BI_AXIS_PAIRS, keys, 3);
    const bi_value_id near = bi_input_rows(g, "key_near", BI_AXIS_PAIRS, keys, 1);
    const bi_value_id same = bi_input_rows(g, "key_same", BI_AXIS_PAIRS, keys, 1);
    const bi_value_id table = bi_weight_transposed(g, protenix_value(b, e->features.w));
    bi_value_id c = bi_add(g, protenix_product(b, place, e->place),
                           protenix_product(b, charge, e->charge));
    bi_value_id p = bi_add(g, protenix_product(b, offset, e->offset),
                           protenix_product(b, near, e->near));
    bi_value_id y;
    c = bi_add(g, c, bi_gather_sum(g, table, codes, 1));
    p = bi_add(g, p, protenix_product(b, same, e->same));
    if (single != BI_NONE) {
        y = protenix_product(b, protenix_norm(b, single, e->single_norm), e->single);
        c = bi_add(g, c, bi_gather_sum(g, y, b->atom_token, 1));
        y = protenix_product(b, protenix_norm(b, pair, e->pair_norm), e->pair);
        p = bi_add(g, p, bi_gather_sum(g, y, b->key_pair, 1));
    }
    y = protenix_relu(b, c);
    p = bi_add(g, p, bi_gather_sum(g, protenix_product(b, y, e->query), b->key_query, 1));
    p = bi_add(g, p, bi_gather_sum(g, protenix_product(b, y, e->key), b->key_atom, 1));
    y = p;
    for (int i = 0; i < 3; i++)
        y = protenix_product(b, protenix_relu(b, y), e->mlp[i]);
    return (struct protenix_atoms){c, bi_add(g, p, y)};
}

struct protenix_modulation protenix_modulate(const struct protenix_graph *b, bi_value_id condition,
                                             const struct protenix_adaptive *w)
{
    const bi_value_id s = protenix_norm(b, condition, w->norm);
    return (struct protenix_modulation){bi_sigmoid(b->g, protenix_product(b, s, w->gate)),
                                        protenix_product(b, s, w->shift)};
}

bi_value_id protenix_adapt(const struct protenix_graph *b, bi_value_id a,
                           struct protenix_modulation m)
{
    return bi_add(b->g, bi_mul(b->g, m.gate, protenix_plain_norm(b, a)), m.shift);
}

struct protenix_atom_condition protenix_condition(const struct protenix_graph *b,
                                                  const struct protenix_atoms *atoms,
                                                  const struct protenix_conditioned *layer)
{
    const bi_value_id c = atoms->condition;
    return (struct protenix_atom_condition){
        .before_attention = protenix_modulate(b, c, &layer->before_attention),
        .before_keys = protenix_modulate(b, c, &layer->before_keys),
        .before_transition = protenix_modulate(b, c, &layer->before_transition),
        .attention_gate = bi_sigmoid(b->g, protenix_product(b, c, layer->attention_gate)),
        .transition_gate = bi_sigmoid(b->g, protenix_product(b, c, layer->transition_gate)),
        .bias = protenix_bias(b, atoms->pairs, &layer->attention)};
}

bi_value_id protenix_atom_layer(const struct protenix_graph *b, bi_value_id h,
                                const struct protenix_atom_condition *c,
                                const struct protenix_conditioned *layer)
{
    const struct protenix_attention *a = &layer->attention;
    struct bi_graph *g = b->g;
    const bi_value_id x = protenix_adapt(b, h, c->before_attention);
    const bi_value_id keys = protenix_adapt(b, x, c->before_keys);
    bi_value_id y = bi_block_attention(
        g,
        (const bi_value_id[]){protenix_product(b, x, a->q), protenix_product(b, keys, a->k),
                              protenix_product(b, keys, a->v), c->bias, b->atom_start},
        a->heads);
    y = protenix_product(b, protenix_gated(b, x, a->gate, y), a->out);
    h = bi_add(g, h, bi_mul(g, c->attention_gate, y));
    y = protenix_swiglu(b, protenix_adapt(b, h, c->before_transition), &layer->transition);
    return bi_add(g, h, bi_mul(g, c->transition_gate, y));
}

bi_value_id protenix_to_tokens(const struct protenix_graph *b, bi_value_id h,
                               struct protenix_linear to_token)
{
    return bi_row_pool(b->g, protenix_relu(b, protenix_product(b, h, to_token)), BI_NONE,
                       b->token_atoms);
}

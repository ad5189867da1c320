/* trunk.c - Protenix: what is known of tokens, and passes over pairs and single tokens.
 *
 *   inputs = [mean over atoms of relu(W layers of atoms), kind, profile, deletions]
 *   s0 = W inputs, z0 = W s0_i + W s0_j + R + W bonds, R rows of a table for relative positions
 *   pass: z = z0 + W LN z; z += templates(z); z = alignment(z); s = s0 + W LN s; layers of s and z
 *
 * s and z are 0 before the first pass. */
#include <stdio.h>

#include "../../kernels/block_attention.h"
#include "protenix.h"

void protenix_add_inputs(struct protenix_graph *b)
{
    const int64_t n = b->shape->n_tokens, atoms = b->shape->n_atoms, records = b->shape->n_records;
    const int64_t keys = BI_BLOCK_KEYS * atoms;
    struct bi_graph *g = b->g;
    bi_axis_times(g, BI_AXIS_PAIRS, BI_AXIS_ATOMS, BI_BLOCK_KEYS);
    b->start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, records + 1);
    b->grid_start = bi_input(g, "grid_start", BI_I32, BI_AXIS_SEQS, records + 1);
    b->row_start = bi_input(g, "row_start", BI_I32, BI_AXIS_TOKENS, n + 1);
    b->atom_start = bi_input(g, "atom_start", BI_I32, BI_AXIS_SEQS, records + 1);
    b->token_atoms = bi_input(g, "token_atoms", BI_I32, BI_AXIS_TOKENS, n + 1);
    b->atom_token = bi_input_matrix(g, "atom_token", BI_I32, BI_AXIS_ATOMS, atoms, 1);
    b->key_query = bi_input_matrix(g, "key_query", BI_I32, BI_AXIS_PAIRS, keys, 1);
    b->key_atom = bi_input_matrix(g, "key_atom", BI_I32, BI_AXIS_PAIRS, keys, 1);
    b->key_pair = bi_input_matrix(g, "key_pair", BI_I32, BI_AXIS_PAIRS, keys, 1);
    b->seen_atom = bi_input_matrix(g, "seen_atom", BI_I32, BI_AXIS_TOKENS, n, 1);
    b->relations = bi_input_matrix(g, "relations", BI_I32, BI_AXIS_GRID, b->shape->n_grid,
                                   PROTENIX_RELATIONS);
}

bi_value_id protenix_inputs(const struct protenix_graph *b)
{
    const struct protenix_encoder *e = &b->f->atoms;
    const struct protenix_atoms atoms = protenix_atoms(b, e, BI_NONE, BI_NONE);
    const bi_value_id tail = bi_input_rows(b->g, "tail", BI_AXIS_TOKENS, b->shape->n_tokens,
                                           PROTENIX_TAIL);
    bi_value_id h = atoms.condition;
    for (int64_t i = 0; i < e->layers.n; i++) {
        const struct protenix_atom_condition c = protenix_condition(b, &atoms,
                                                                    &e->layers.layers[i]);
        h = protenix_atom_layer(b, h, &c, &e->layers.layers[i]);
    }
    return bi_join_columns(b->g, protenix_to_tokens(b, h, e->to_token), tail);
}

/* ---- templates ---- */

/* [G, template's width], what slot i adds to pairs. */
static bi_value_id template_pairs(const struct protenix_graph *b, bi_value_id x, int i)
{
    const struct protenix_template *t = &b->f->template;
    const bi_value_id w = protenix_value(b, t->features.w), table = bi_weight_transposed(b->g, w);
    const int64_t n = b->shape->n_tokens, pairs = b->shape->n_grid;
    struct bi_graph *g = b->g;
    char name[40];
    bi_value_id row, column;
    snprintf(name, sizeof name, "template_row_%d", i);
    row = bi_input_matrix(g, name, BI_I32, BI_AXIS_TOKENS, n, 1);
    snprintf(name, sizeof name, "template_column_%d", i);
    column = bi_input_matrix(g, name, BI_I32, BI_AXIS_TOKENS, n, 1);
    x = bi_outer_add(g, x, bi_gather_sum(g, table, row, 1), bi_gather_sum(g, table, column, 1),
                     b->start, b->grid_start);
    if (b->slots[i].placed) {
        bi_value_id y;
        snprintf(name, sizeof name, "template_distances_%d", i);
        y = bi_input_rows(g, name, BI_AXIS_GRID, pairs, PROTENIX_DISTANCES);
        x = bi_add(g, x, bi_matmul(g, y, bi_weight_columns(g, w, 0, PROTENIX_DISTANCES)));
        snprintf(name, sizeof name, "template_axes_%d", i);
        y = bi_input_rows(g, name, BI_AXIS_GRID, pairs, PROTENIX_AXES);
        x = bi_add(g, x,
                   bi_matmul(g, y,
                             bi_weight_columns(g, w, PROTENIX_DISTANCES + 2 * PROTENIX_TYPES,
                                               PROTENIX_AXES)));
    }
    protenix_layers(b, &t->layers, NULL, &x);
    return protenix_norm(b, x, t->norm);
}

bi_value_id protenix_templates(const struct protenix_graph *b, bi_value_id z)
{
    const struct protenix_template *t = &b->f->template;
    bi_value_id x, sum = BI_NONE;
    int32_t n = 0;
    if (!t->layers.n)
        return z;
    x = protenix_product(b, protenix_norm(b, z, t->pair_norm), t->pair);
    for (int i = 0; i < PROTENIX_TEMPLATES && b->slots[i].copies; i++) {
        bi_value_id y = template_pairs(b, x, i);
        if (b->slots[i].copies > 1)
            y = bi_scale(b->g, y, (float)b->slots[i].copies);
        sum = sum == BI_NONE ? y : bi_add(b->g, sum, y);
        n += b->slots[i].copies;
    }
    sum = bi_scale(b->g, sum, (float)(1 / (n + 1e-7)));
    return bi_add(b->g, z, protenix_product(b, protenix_relu(b, sum), t->out));
}

/* ---- alignments ---- */

/* Inputs of alignments: M rows, token by token (kernels/alignments.h). */
struct aligned {
    bi_value_id start;   /* [B + 1] first aligned row of each record */
    bi_value_id token;   /* [M, 1] */
    bi_value_id type;    /* [M, 1] its kind */
    bi_value_id numbers; /* [M, 2] is one deleted, a measure of how many */
    bi_value_id share;   /* [G] 1 / (rows of the alignment + 0.001) */
};

static bi_value_id embed(const struct protenix_graph *b, const struct aligned *in,
                         bi_value_id inputs)
{
    struct bi_graph *g = b->g;
    const bi_value_id w = protenix_value(b, b->f->alignment.rows.w);
    const bi_value_id kind = bi_gather_sum(g, bi_weight_transposed(g, w), in->type, 1);
    const bi_value_id deleted = bi_matmul(g, in->numbers,
                                          bi_weight_columns(g, w, PROTENIX_TYPES, 2));
    const bi_value_id single = protenix_product(b, inputs, b->f->alignment.single);
    return bi_add(g, bi_add(g, kind, deleted), bi_gather_sum(g, single, in->token, 1));
}

static bi_value_id outer_mean(const struct protenix_graph *b, const struct aligned *in,
                              const struct protenix_aligned *l, bi_value_id m)
{
    const bi_value_id x = protenix_norm(b, m, l->outer_norm);
    const bi_value_id sums = bi_outer_sums(b->g, protenix_product(b, x, l->left),
                                           protenix_product(b, x, l->right), b->start,
                                           b->grid_start, in->start);
    return bi_scale_rows(b->g, protenix_product(b, sums, l->outer), in->share);
}

static bi_value_id average(const struct protenix_graph *b, const struct aligned *in,
                           const struct protenix_aligned *l, bi_value_id m, bi_value_id z)
{
    const bi_value_id x = protenix_norm(b, m, l->row_norm);
    const bi_value_id logits = protenix_product(b, protenix_norm(b, z, l->pair_norm), l->weight);
    const bi_value_id y = bi_pair_average(b->g, bi_pair_softmax(b->g, logits, b->row_start),
                                          protenix_product(b, x, l->value), b->start, b->grid_start,
                                          in->start);
    return protenix_product(b, protenix_gated(b, x, l->gate, y), l->out);
}

bi_value_id protenix_align(const struct protenix_graph *b, bi_value_id z, bi_value_id inputs)
{
    const struct protenix_alignment *a = &b->f->alignment;
    const int64_t rows = b->shape->n_aligned;
    struct bi_graph *g = b->g;
    const struct aligned in = {
        .start = bi_input(g, "aligned_start", BI_I32, BI_AXIS_SEQS, b->shape->n_records + 1),
        .token = bi_input_matrix(g, "aligned_token", BI_I32, BI_AXIS_ALIGNED, rows, 1),
        .type = bi_input_matrix(g, "aligned_type", BI_I32, BI_AXIS_ALIGNED, rows, 1),
        .numbers = bi_input_rows(g, "aligned_numbers", BI_AXIS_ALIGNED, rows, 2),
        .share = bi_input(g, "aligned_share", BI_F32, BI_AXIS_GRID, b->shape->n_grid)};
    bi_value_id m = embed(b, &in, inputs);
    for (int64_t i = 0; i < a->pairs.n; i++) {
        const struct protenix_aligned *l = &a->layers[i];
        z = bi_add(g, z, outer_mean(b, &in, l, m));
        if (i + 1 < a->pairs.n) {
            m = bi_add(g, m, average(b, &in, l, m, z));
            m = protenix_transit(b, m, &l->transition);
        }
        protenix_layers(b, &(struct protenix_stack){&a->pairs.layers[i], 1}, NULL, &z);
    }
    return z;
}

/* ---- a pass ---- */

struct protenix_trunk protenix_pass(const struct protenix_graph *b,
                                    const struct protenix_trunk *before)
{
    const struct protenix *f = b->f;
    struct bi_graph *g = b->g;
    const bi_value_id bonds = bi_input_rows(g, "bonds", BI_AXIS_GRID, b->shape->n_grid, 1);
    const bi_value_id s0 = protenix_product(b, before->inputs, f->single_init);
    bi_value_id z = bi_add(g, protenix_positions(b, f->positions),
                           protenix_product(b, bonds, f->bonds));
    bi_value_id s = protenix_product(b, protenix_norm(b, before->single, f->single_norm),
                                     f->single_again);
    z = bi_outer_add(g, z, protenix_product(b, s0, f->row_init),
                     protenix_product(b, s0, f->column_init), b->start, b->grid_start);
    z = bi_add(g, z,
               protenix_product(b, protenix_norm(b, before->pair, f->pair_norm), f->pair_again));
    z = protenix_templates(b, z);
    z = protenix_align(b, z, before->inputs);
    s = bi_add(g, s, s0);
    protenix_layers(b, &f->trunk, &s, &z);
    return (struct protenix_trunk){before->inputs, s, z};
}

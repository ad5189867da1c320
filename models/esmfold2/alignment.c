/* alignment.c - ESMFold2: layers over an alignment, which change the pairs that a pass begins with.
 *
 *   m[i, s] = W [kind of row s at i, is one deleted, how many] + W' single_i
 *   layer: z += (outer(sum over s of left(m[i, s]) right(m[j, s])) + b) / rows
 *          m += out(sigmoid(gate m) (sum over j of softmax_j(weight z[i, j]) value(m[j, s])))
 *          m += transition(m), then a layer of pairs on z
 *
 * left, right, gate and value read norms of m, weight one of z. The last layer leaves m as it is. A
 * sequence without an alignment is one of a single row. All rows count: the published program
 * neither drops rows nor hides columns of them. */
#include "structure.h"

/* Inputs of alignments: M rows, token by token (kernels/alignments.h). */
struct inputs {
    bi_value_id start;   /* [B + 1] first aligned row of each record */
    bi_value_id token;   /* [M, 1] the token of each row: an index for gather_sum */
    bi_value_id type;    /* [M, 1] its kind */
    bi_value_id numbers; /* [M, 2] */
    bi_value_id share;   /* [G] 1 / rows of the alignment */
};

static struct inputs add_inputs(const struct esmfold2_graph *b)
{
    const struct bi_fold_shape *shape = b->shape;
    const int64_t m = shape->n_aligned;
    return (struct inputs){
        .start = bi_input(b->g, "aligned_start", BI_I32, BI_AXIS_SEQS, shape->n_records + 1),
        .token = bi_input_matrix(b->g, "aligned_token", BI_I32, BI_AXIS_ALIGNED, m, 1),
        .type = bi_input_matrix(b->g, "aligned_type", BI_I32, BI_AXIS_ALIGNED, m, 1),
        .numbers = bi_input_rows(b->g, "aligned_numbers", BI_AXIS_ALIGNED, m,
                                 ESMFOLD2_ALIGNED_NUMBERS),
        .share = bi_input(b->g, "aligned_share", BI_F32, BI_AXIS_GRID, shape->n_grid)};
}

/* [M, m] */
static bi_value_id embed(const struct esmfold2_graph *b, const struct inputs *in,
                         bi_value_id single)
{
    struct bi_graph *g = b->g;
    const bi_value_id w = esmfold2_value(b, b->f->alignment.rows.w);
    const bi_value_id kind = bi_gather_sum(g, bi_weight_transposed(g, w), in->type, 1);
    const bi_value_id deleted = bi_matmul(
        g, in->numbers, bi_weight_columns(g, w, ESMFOLD2_TYPES, ESMFOLD2_ALIGNED_NUMBERS));
    const bi_value_id x = bi_gather_sum(g, esmfold2_product(b, single, b->f->alignment.single),
                                        in->token, 1);
    return bi_add(g, bi_add(g, kind, deleted), x);
}

static bi_value_id outer_mean(const struct esmfold2_graph *b, const struct inputs *in,
                              const struct esmfold2_aligned_layer *layer, bi_value_id m)
{
    const bi_value_id x = esmfold2_norm(b, m, layer->outer_norm);
    const bi_value_id sums = bi_outer_sums(b->g, esmfold2_product(b, x, layer->left),
                                           esmfold2_product(b, x, layer->right), b->start,
                                           b->grid_start, in->start);
    return bi_scale_rows(b->g, esmfold2_product(b, sums, layer->outer), in->share);
}

static bi_value_id average(const struct esmfold2_graph *b, const struct inputs *in,
                           const struct esmfold2_aligned_layer *layer, bi_value_id m, bi_value_id z)
{
    const bi_value_id x = esmfold2_norm(b, m, layer->row_norm);
    const bi_value_id weight = bi_pair_softmax(
        b->g, esmfold2_product(b, esmfold2_norm(b, z, layer->pair_norm), layer->weight),
        b->row_start);
    const bi_value_id y = bi_pair_average(b->g, weight, esmfold2_product(b, x, layer->value),
                                          b->start, b->grid_start, in->start);
    return esmfold2_product(b, esmfold2_gated(b, x, layer->gate, y), layer->out);
}

bi_value_id esmfold2_align(const struct esmfold2_graph *b, bi_value_id z, bi_value_id single)
{
    const struct esmfold2_alignment *a = &b->f->alignment;
    const int64_t n = b->f->size[ESMFOLD2_ALIGNED_LAYERS];
    struct inputs in;
    bi_value_id m;
    if (!n)
        return z;
    in = add_inputs(b);
    m = embed(b, &in, single);
    for (int64_t i = 0; i < n; i++) {
        const struct esmfold2_aligned_layer *layer = &a->layers[i];
        z = bi_add(b->g, z, outer_mean(b, &in, layer, m));
        if (i + 1 < n) {
            m = bi_add(b->g, m, average(b, &in, layer, m, z));
            m = esmfold2_transit(b, m, &layer->transition);
        }
        z = esmfold2_pair_layers(b, z, &a->pairs[i], 1);
    }
    return z;
}

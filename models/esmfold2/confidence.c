/* confidence.c - ESMFold2: how sure the network is of atoms.
 *
 *   z = LN pair + R + A s_i + B s_j + O (C s_i * D s_j) + table[class of the distance of i and j],
 *       s = LN single; z += layers(z), so that the input counts twice
 *   single = W (sum over j of softmax_j(w z_ij) z_ij)
 * Logits of pLDDT are of single, by the place of an atom in its token; probabilities of errors are
 * of z, and not made symmetric. */
#include <math.h>

#include "structure.h"

static const float nearest = 2, farthest = 52; /* classes of distances, in angstrom */

int esmfold2_check_distances(const struct bi_model *model, struct bioinfer_error *err)
{
    const struct esmfold2 *f = model->config;
    const int64_t n = f->size[ESMFOLD2_DISTANCES] - 1;
    const struct bi_weight *w = &model->weights[f->confidence.boundaries.w];
    float *edges = bi_calloc(model->env, (size_t)n, sizeof *edges);
    int st = edges ? bi_weight_read(model, w, 0, n, edges, err)
                   : bi_fail(err, BIOINFER_NOMEM, "%s: classes of distances", model->cp->path);
    for (int64_t i = 0; !st && i < n; i++) {
        const double want = (double)nearest +
                            (double)(farthest - nearest) * (double)i / (double)(n > 1 ? n - 1 : 1);
        if (!(fabs((double)edges[i] - want) < 1e-3))
            st = bi_fail(err, BIOINFER_UNSUPPORTED,
                         "%s: confidence_head.boundaries: number %lld is %g, expected %g",
                         model->cp->path, (long long)i, (double)edges[i], want);
    }
    bi_free(model->env, edges);
    return st;
}

/* Probabilities of bins of pairs. */
static bi_value_id bins(const struct esmfold2_graph *b, bi_value_id z, struct esmfold2_linear norm,
                        struct esmfold2_linear w, int64_t n)
{
    bi_value_id x = esmfold2_room(b, n);
    esmfold2_begin(b);
    x = esmfold2_put(b, x, esmfold2_product(b, esmfold2_norm(b, esmfold2_rows(b, z), norm), w));
    esmfold2_end(b);
    return bi_row_softmax(b->g, x);
}

static bi_value_id pairs(const struct esmfold2_graph *b, const struct esmfold2_trunk *t,
                         bi_value_id atoms)
{
    const struct esmfold2_confidence *c = &b->f->confidence;
    struct bi_graph *g = b->g;
    const bi_value_id s = esmfold2_norm(b, t->single, c->single_norm);
    const bi_value_id places = bi_gather_sum(g, atoms, b->seen_atom, 1);
    const bi_value_id products = bi_outer_mul(g, esmfold2_product(b, s, c->product_row),
                                              esmfold2_product(b, s, c->product_column), b->start,
                                              b->grid_start);
    bi_value_id z = t->positions, layers;
    esmfold2_begin(b);
    z = esmfold2_put(b, z,
                     bi_add(g, esmfold2_norm(b, esmfold2_rows(b, t->pair), c->pair_norm),
                            esmfold2_rows(b, t->positions)));
    esmfold2_end(b);
    z = bi_outer_add(g, z, esmfold2_product(b, s, c->row), esmfold2_product(b, s, c->column),
                     b->start, b->grid_start);
    esmfold2_begin(b);
    z = esmfold2_put(b, z,
                     bi_add(g, esmfold2_rows(b, z),
                            esmfold2_product(b, esmfold2_rows(b, products), c->product_out)));
    esmfold2_end(b);
    z = bi_pair_embedding(g,
                          (const bi_value_id[]){z, esmfold2_value(b, c->distances.w), BI_NONE,
                                                places, BI_NONE, b->start, b->grid_start, BI_NONE},
                          nearest, farthest);
    layers = esmfold2_pair_layers(b, esmfold2_in_parts(b) ? bi_scale(g, z, 1) : z, c->layers,
                                  b->f->size[ESMFOLD2_CONFIDENCE]);
    esmfold2_begin(b);
    z = esmfold2_put(b, z, bi_add(g, esmfold2_rows(b, z), esmfold2_rows(b, layers)));
    esmfold2_end(b);
    return z;
}

void esmfold2_rate(const struct esmfold2_graph *b, const struct esmfold2_trunk *t,
                   bi_value_id atoms)
{
    const struct esmfold2_confidence *c = &b->f->confidence;
    const bi_value_id z = pairs(b, t, atoms);
    bi_value_id s = bi_row_pool(b->g, z, esmfold2_product(b, z, c->pool), b->row_start);
    s = esmfold2_norm(b, esmfold2_product(b, s, c->pooled), c->level_norm);
    bi_output(b->g, atoms, BI_FOLD_PLACES, -1, "places");
    bi_output(b->g, esmfold2_product(b, s, c->levels), BI_FOLD_LEVELS, -1, "levels");
    bi_output(b->g, bins(b, z, c->errors_norm, c->errors, b->f->size[ESMFOLD2_ERROR_BINS]),
              BI_FOLD_ERRORS, -1, "errors");
    bi_output(
        b->g,
        bins(b, z, c->distance_errors_norm, c->distance_errors, b->f->size[ESMFOLD2_DISTANCE_BINS]),
        BI_FOLD_DISTANCE_ERRORS, -1, "distance_errors");
}

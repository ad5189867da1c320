/* confidence.c - Protenix: how sure the network is of atoms.
 *
 *   s = LN s, each number cut to -512 ... 512 before
 *   z = z + W inputs_i + W inputs_j + table[class of the distance of i and j] + w distance
 *   layers of s and z
 * pLDDT and whether an atom is resolved follow from s, by the place of the atom in its token;
 * aligned errors from z, errors of distances from z and its transpose. Distances have classes from
 * 3.25 on, each 1.25 wide; below the first there is none. */
#include "protenix.h"

static const float nearest = 3.25f, farthest = 50.75f, most = 512;

/* x between -most and most; numbers between are not rounded. */
static bi_value_id cut(const struct protenix_graph *b, bi_value_id x)
{
    struct bi_graph *g = b->g;
    const bi_value_id edge = bi_fill(g, BI_F32, BI_AXIS_FIXED, b->f->single, 0, -most);
    const bi_value_id minus = bi_scale(g, x, -1);
    const bi_value_id above = bi_norm_act(g, x, BI_NONE, edge, BI_NORM_ACT_RELU, 0);
    const bi_value_id below = bi_norm_act(g, minus, BI_NONE, edge, BI_NORM_ACT_RELU, 0);
    return bi_add(g, bi_add(g, x, bi_scale(g, above, -1)), below);
}

/* Probabilities of bins of pairs. */
static bi_value_id bins(const struct protenix_graph *b, bi_value_id z, struct protenix_linear norm,
                        struct protenix_linear w)
{
    return bi_row_softmax(b->g, protenix_product(b, protenix_norm(b, z, norm), w));
}

/* z and its transpose. */
static bi_value_id both_ways(const struct protenix_graph *b, bi_value_id z)
{
    return bi_add(b->g, z, bi_turn(b->g, z, b->grid_start));
}

void protenix_rate(const struct protenix_graph *b, const struct protenix_trunk *t,
                   bi_value_id atoms)
{
    const struct protenix_confidence *c = &b->f->confidence;
    struct bi_graph *g = b->g;
    const bi_value_id places = bi_gather_sum(g, atoms, b->seen_atom, 1);
    const bi_value_id far = both_ways(b, protenix_product(b, t->pair, b->f->distogram));
    bi_value_id s = protenix_norm(b, cut(b, t->single), c->single_norm);
    bi_value_id z = bi_outer_add(g, t->pair, protenix_product(b, t->inputs, c->row),
                                 protenix_product(b, t->inputs, c->column), b->start,
                                 b->grid_start);
    z = bi_pair_embedding(g,
                          (const bi_value_id[]){z, protenix_value(b, c->distances.w), BI_NONE,
                                                places, BI_NONE, b->start, b->grid_start,
                                                protenix_value(b, c->slope.w)},
                          nearest, farthest);
    protenix_layers(b, &c->layers, &s, &z);
    bi_output(g, atoms, BI_FOLD_PLACES, -1, "places");
    bi_output(g, protenix_product(b, protenix_norm(b, s, c->levels_norm), c->levels),
              BI_FOLD_LEVELS, -1, "levels");
    bi_output(g, bins(b, z, c->errors_norm, c->errors), BI_FOLD_ERRORS, -1, "errors");
    bi_output(g, bins(b, both_ways(b, z), c->distance_errors_norm, c->distance_errors),
              BI_FOLD_DISTANCE_ERRORS, -1, "distance_errors");
    bi_output(g, protenix_product(b, protenix_norm(b, s, c->resolved_norm), c->resolved), 0, -1,
              "resolved");
    bi_output(g, protenix_product(b, bi_row_softmax(g, far), b->f->contacts), BI_FOLD_CONTACTS, -1,
              "contacts");
}

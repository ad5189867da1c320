/* pair_energy.c - pair_energy: products of rows of two sets of points, over pairs within a cutoff.
 *   u [A, D], row [A] i32, w [T, D], x [T, 3], span [S, 4] i32 -> [S, 2 * 8]: the sums of eight
 *   shares, then their pairs
 * cutoff: in the unit of x. kernels/pair_energy.h says what is computed. */
#include <string.h>

#include "../../../kernels/pair_energy.h"
#include "../../../ops/shared.h"

static int pair_energy_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *span = bi_in(g, node, 4);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, bi_in(g, node, 0)->shape[0], err);
    if (!st)
        st = bi_expect(g, node, 2, 2, bi_in(g, node, 0)->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 3, 2, 3, err);
    if (!st)
        st = bi_expect(g, node, 4, 2, BI_PAIR_SPAN_WIDTH, err);
    if (!st && (span->dtype != BI_I32 || span->axis != BI_AXIS_SAMPLES))
        st = bi_fail(err, BIOINFER_INTERNAL, "pair_energy: span %s, expected int32 of samples",
                     bi_shape_text(span).text);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_SAMPLES, 2, (int64_t[]){span->shape[0], BI_PAIR_WIDTH});
    return st;
}

static void pair_energy_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "pair_energy", struct bi_pair_energy_params, .counts = b->counts,
              .u = b->in[0], .row = b->in[1], .w = b->in[2], .x = b->in[3], .span = b->in[4],
              .y = b->out[0], .ldu = b->in_ld[0], .ldw = b->in_ld[2],
              .samples = bi_in(g, node, 4)->shape[0], .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .cutoff = BI_ATTR(node, pair_energy)->cutoff);
}

/* Gives the sum and the pairs of one share. */
static void add_share(const struct bi_pair_energy_params *p, const struct bi_pair_span *span,
                      int share, double *sum, double *n)
{
    *sum = *n = 0;
    for (int64_t j = span->w_begin + share; j < span->w_end; j += BI_PAIR_SHARES)
        for (int64_t i = span->u_begin; i < span->u_end; i++) {
            const float *xi = p->x + 3 * (int64_t)p->row[i];
            if (p->row[i] < 0 || !bi_pair_is_near(xi, p->x + 3 * j, (double)p->cutoff))
                continue;
            for (int32_t c = 0; c < p->width; c++)
                *sum += (double)p->u[i * p->ldu + c] * (double)p->w[j * p->ldw + c];
            ++*n;
        }
}

static void pair_energy_reference(const void *params)
{
    const struct bi_pair_energy_params *p = params;
    for (int32_t s = 0; s < p->counts->n_samples; s++)
        for (int share = 0; share < BI_PAIR_SHARES; share++) {
            float *y = p->y + BI_PAIR_WIDTH * s + share;
            double sum, n;
            add_share(p, &p->span[s], share, &sum, &n);
            y[0] = (float)sum;
            y[BI_PAIR_SHARES] = (float)n;
        }
}

static void pair_energy_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                             double *bytes)
{
    const struct bi_value *u = bi_in(g, node, 0);
    /* about a hundred points are within the cutoff of one */
    *flops = 2.0 * 100 * (double)u->shape[0] * (double)u->shape[1];
    *bytes = bi_bytes(g, node);
}

/* span: struct bi_pair_span of each sample; cutoff: strictly below it. */
bi_value_id bi_pair_energy(struct bi_graph *g, bi_value_id u, bi_value_id row, bi_value_id w,
                           bi_value_id x, bi_value_id span, float cutoff)
{
    return bi_node_add(g, BI_OP_PAIR_ENERGY, BI_IN(u, row, w, x, span),
                       BI_ATTRS(pair_energy, .cutoff = cutoff));
}

const struct bi_op bi_op_pair_energy = {
    .name = "pair_energy",
    .infer = pair_energy_infer,
    .launch = pair_energy_launch,
    .reference = pair_energy_reference,
    .cost = pair_energy_cost,
    .required = 31,
};

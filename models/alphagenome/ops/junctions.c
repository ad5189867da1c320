/* junctions.c - junctions: counts of reads from each donor to each acceptor.
 *   x [4 k, d], at [4 k] i32 (-1 = none), table [4 k, d] of rope_at, w of donors and acceptors of
 *   the strand + [2 n, d], of the strand - [2 m, d]; either pair may be left out -> [k k, n + m]
 * kernels/junctions.h has the formula. */
#include <math.h>
#include <string.h>

#include "../../../kernels/junctions.h"
#include "../../../ops/shared.h"

/* Tracks of a strand that donors (0) or acceptors (1) have; none where the input is left out. */
static int64_t tracks_of(const struct bi_graph *g, const struct bi_node *node, int strand,
                         int acceptors)
{
    const struct bi_value *w = bi_in(g, node, 3 + 2 * strand + acceptors);
    return w ? w->shape[0] / 2 : 0;
}

static int junctions_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *at = bi_in(g, node, 1);
    const int64_t k = x->shape[0] / BI_JUNCTION_CLASSES;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, BI_JUNCTION_CLASSES * k, err);
    for (int i = 2; !st && i < 7; i++)
        if (i == 2 || bi_in(g, node, i))
            st = bi_expect(g, node, i, 2, x->shape[1], err);
    for (int strand = 0; !st && strand < 2; strand++)
        if (tracks_of(g, node, strand, 0) != tracks_of(g, node, strand, 1))
            st = bi_fail(
                err, BIOINFER_INTERNAL, "junctions: %lld tracks of donors, %lld of acceptors",
                (long long)tracks_of(g, node, strand, 0), (long long)tracks_of(g, node, strand, 1));
    if (!st && (x->axis != BI_AXIS_FIXED || at->dtype != BI_I32 || x->shape[1] % 2 || k < 1 ||
                x->shape[0] != at->shape[0] || bi_in(g, node, 2)->shape[0] != at->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "junctions: sites %s at %s", bi_shape_text(x).text,
                     bi_shape_text(at).text);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_FIXED, 2,
                     (int64_t[]){k * k, tracks_of(g, node, 0, 0) + tracks_of(g, node, 1, 0)});
    return st;
}

static void junctions_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "junctions", struct bi_junctions_params, .counts = b->counts, .x = b->in[0],
              .at = b->in[1], .table = b->in[2], .w = {b->in[3], b->in[4], b->in[5], b->in[6]},
              .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .k = (int32_t)(x->shape[0] / BI_JUNCTION_CLASSES), .d = (int32_t)x->shape[1],
              .n_tracks = {(int32_t)tracks_of(g, node, 0, 0), (int32_t)tracks_of(g, node, 1, 0)});
}

/* Number c of site i of a class, for a track. */
static double site(const struct bi_junctions_params *p, int class, int32_t i, int32_t t, int32_t c)
{
    const int32_t n = p->n_tracks[class / 2], even = c - c % 2;
    const int64_t row = (int64_t)class * p->k + i;
    const float *x = p->x + row * p->ldx + even, *table = p->table + row * p->d;
    const float *scale = p->w[class] + (int64_t)t * p->d + even,
                *offset = scale + (int64_t)n * p->d;
    const double a = (double)scale[0] * (double)x[0] + (double)offset[0];
    const double b = (double)scale[1] * (double)x[1] + (double)offset[1];
    const double cosine = (double)table[c / 2], sine = (double)table[p->d / 2 + c / 2];
    return c % 2 ? b * cosine + a * sine : a * cosine - b * sine;
}

static void junctions_reference(const void *params)
{
    const struct bi_junctions_params *p = params;
    for (int64_t r = 0; r < (int64_t)p->k * p->k; r++)
        for (int32_t t = 0; t < p->n_tracks[0] + p->n_tracks[1]; t++) {
            const int strand = t >= p->n_tracks[0];
            const int32_t i = (int32_t)(r / p->k), j = (int32_t)(r % p->k);
            const int32_t *at = p->at + 2 * strand * (int64_t)p->k;
            const int32_t track = strand ? t - p->n_tracks[0] : t;
            double sum = 0;
            for (int32_t c = 0; c < p->d; c++)
                sum += site(p, 2 * strand, i, track, c) * site(p, 2 * strand + 1, j, track, c);
            sum = fmax(sum, 0) + log1p(exp(-fabs(sum)));
            p->y[r * p->ldy + t] = at[i] < 0 || at[p->k + j] < 0 ? 0 : (float)sum;
        }
}

static void junctions_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                           double *bytes)
{
    *flops = 2.0 * (double)bi_value_elements(&g->values[node->out[0]]) *
             (double)bi_in(g, node, 0)->shape[1];
    *bytes = bi_bytes(g, node);
}

/* in: x, at, table, then donors and acceptors of +, donors and acceptors of -. */
bi_value_id bi_junctions(struct bi_graph *g, const bi_value_id in[7])
{
    return bi_node_add(g, BI_OP_JUNCTIONS, in, 7, NULL);
}

const struct bi_op bi_op_junctions = {
    .name = "junctions",
    .infer = junctions_infer,
    .launch = junctions_launch,
    .reference = junctions_reference,
    .cost = junctions_cost,
    .required = 7,
};

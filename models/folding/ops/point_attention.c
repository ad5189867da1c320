/* point_attention.c - invariant point attention within each sequence.
 *   q, k, v [T, H C], points [T, 3 H P], more [T, 3 H (P + V)], frame [T, 7]? (identity), w [H],
 *   start [S + 1], number [T]? i32, bias [G, H]?, pair [G, D]?, grid_start [S + 1]?
 *   -> [T, H (C + 4 V + bins + D)]
 * kernels/point_attention.h says what is computed. */
#include <math.h>
#include <string.h>

#include "../../../kernels/point_attention.h"
#include "../../../kernels/rigid.h"
#include "../../../ops/shared.h"

/* Inputs of pairs of tokens. */
enum { BIAS = 9, PAIR, GRIDS };

/* Widths of a head, and of values of pairs, from the shapes of inputs; what does not fit is left
 * for infer. */
struct widths {
    int32_t c, keys, values, pair;
};

static struct widths widths_of(const struct bi_graph *g, const struct bi_node *node)
{
    const int64_t heads = BI_ATTR(node, point_attention)->n_heads;
    const int64_t keys = bi_in(g, node, 3)->shape[1] / (3 * heads);
    return (struct widths){(int32_t)(bi_in(g, node, 0)->shape[1] / heads), (int32_t)keys,
                           (int32_t)(bi_in(g, node, 4)->shape[1] / (3 * heads) - keys),
                           bi_in(g, node, PAIR) ? (int32_t)bi_in(g, node, PAIR)->shape[1] : 0};
}

static int point_attention_infer(struct bi_graph *g, struct bi_node *node,
                                 struct bioinfer_error *err)
{
    const struct bi_point_attention_attr *a = BI_ATTR(node, point_attention);
    const struct bi_value *number = bi_in(g, node, 8);
    const int64_t tokens = bi_in(g, node, 0)->shape[0], heads = a->n_heads;
    struct widths w;
    int st = 0;
    if (heads < 1 || a->bins < 0 || a->bins > BI_POINT_BINS || !number != !a->bins ||
        (number && bi_in(g, node, GRIDS)))
        return bi_fail(err, BIOINFER_INTERNAL,
                       "point_attention: %d heads, %d bins with%s numbers of residues%s",
                       a->n_heads, a->bins, number ? "" : "out",
                       bi_in(g, node, GRIDS) ? " and pairs" : "");
    for (int i = 0; !st && i <= 4; i++)
        st = bi_expect(g, node, i, 2, -1, err);
    if (st)
        return st;
    w = widths_of(g, node);
    for (int i = 0; !st && i <= 4; i++)
        st = bi_expect(g, node, i, 2,
                       heads * (i < 3    ? w.c
                                : i == 3 ? 3 * w.keys
                                         : 3 * (w.keys + w.values)),
                       err);
    if (!st && bi_in(g, node, 5))
        st = bi_expect(g, node, 5, 2, BI_FRAME, err);
    if (!st)
        st = bi_expect(g, node, 6, 1, heads, err);
    if (!st)
        st = bi_expect_start(g, node, 7, err);
    if (!st && number)
        st = bi_expect(g, node, 8, 1, tokens, err);
    for (int i = 0; !st && i <= 8; i++)
        if (i != 6 && i != 7 && bi_in(g, node, i) &&
            (bi_in(g, node, i)->shape[0] != tokens || bi_in(g, node, i)->axis != BI_AXIS_TOKENS))
            st = bi_fail(err, BIOINFER_INTERNAL,
                         "point_attention: input %d is %s, expected %lld "
                         "tokens",
                         i, bi_shape_text(bi_in(g, node, i)).text, (long long)tokens);
    if (!st && number && number->dtype != BI_I32)
        st = bi_fail(err, BIOINFER_INTERNAL, "point_attention: numbers are %s, expected int32",
                     bi_dtype_name(number->dtype));
    if (!st && (w.c < 1 || w.c > BI_POINT_HEAD || w.keys < 1 || w.keys > BI_POINT_KEYS ||
                w.values < 1 || w.c + 3 * w.values > BI_POINT_VALUES))
        st = bi_fail(err, BIOINFER_UNSUPPORTED,
                     "point_attention: heads of width %d with %d points of keys and %d of values",
                     w.c, w.keys, w.values);
    if (!st && bi_in(g, node, BIAS))
        st = bi_expect_pairs(g, node, BIAS, GRIDS, heads, err);
    if (!st && bi_in(g, node, PAIR))
        st = bi_expect_pairs(g, node, PAIR, GRIDS, w.pair, err);
    if (!st && w.pair > BI_POINT_PAIR)
        st = bi_fail(err, BIOINFER_UNSUPPORTED, "point_attention: %d values of a pair", w.pair);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_TOKENS, 2,
                     (int64_t[]){tokens, heads * (w.c + 4 * w.values + a->bins + w.pair)});
    return st;
}

static void point_attention_launch(const struct bi_graph *g, const struct bi_node *node,
                                   const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_point_attention_attr *a = BI_ATTR(node, point_attention);
    const struct widths w = widths_of(g, node);
    BI_LAUNCH(launch, "point_attention", struct bi_point_attention_params, .counts = b->counts,
              .q = b->in[0], .k = b->in[1], .v = b->in[2], .points = b->in[3], .more = b->in[4],
              .frame = b->in[5], .w = b->in[6], .start = b->in[7], .number = b->in[8],
              .bias = b->in[BIAS], .pair = b->in[PAIR], .grid_start = b->in[GRIDS],
              .ldb = b->in_ld[BIAS], .ldz = b->in_ld[PAIR], .width = w.pair, .y = b->out[0],
              .ldq = b->in_ld[0], .ldk = b->in_ld[1], .ldv = b->in_ld[2], .ldp = b->in_ld[3],
              .ldm = b->in_ld[4], .ldf = b->in_ld[5], .ldy = b->out_ld[0], .n_heads = a->n_heads,
              .head_dim = w.c, .n_keys = w.keys, .n_values = w.values, .n_bins = a->bins,
              .scale = (float)(1 / sqrt(3.0 * w.c)),
              .by_distance = (float)(0.5 / sqrt(13.5 * w.keys)), .eps = a->eps);
}

/* ---- reference ---- */

typedef struct bi_point_attention_params P;

/* Rotation and translation of token i, row by row. */
static void frame_of(const P *p, int64_t i, double r[9], double t[3])
{
    static const float identity[BI_FRAME] = {1};
    const float *f = p->frame ? p->frame + i * p->ldf : identity;
    const double w = (double)f[0], x = (double)f[1], y = (double)f[2], z = (double)f[3];
    const double of[9] = {w * w + x * x - y * y - z * z, 2 * (x * y - w * z),
                          2 * (x * z + w * y),           2 * (x * y + w * z),
                          w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
                          2 * (x * z - w * y),           2 * (y * z + w * x),
                          w * w - x * x - y * y + z * z};
    memcpy(r, of, sizeof of);
    for (int c = 0; c < 3; c++)
        t[c] = (double)f[4 + c];
}

/* The point of token i in column `at` of x, of `stride` columns a coordinate, in space. */
static void place(const P *p, const float *x, int64_t stride, int64_t at, int64_t i, double to[3])
{
    double r[9];
    frame_of(p, i, r, to);
    for (int c = 0; c < 3; c++)
        for (int d = 0; d < 3; d++)
            to[c] += r[3 * c + d] * (double)x[d * stride + at];
}

/* ij: the row of the pair. */
static double logit(const P *p, int32_t h, int64_t i, int64_t j, int64_t ij)
{
    const int32_t c = p->head_dim, more = p->n_keys + p->n_values;
    const double w = (double)p->w[h], softplus = fmax(w, 0) + log1p(exp(-fabs(w)));
    double sum = 0, squares = 0, bias = 0;
    for (int32_t e = 0; e < c; e++)
        sum += (double)p->q[i * p->ldq + h * c + e] * (double)p->k[j * p->ldk + h * c + e];
    for (int32_t e = 0; e < p->n_keys; e++) {
        double a[3], b[3];
        place(p, p->points + i * p->ldp, (int64_t)p->n_heads * p->n_keys, h * p->n_keys + e, i, a);
        place(p, p->more + j * p->ldm, (int64_t)p->n_heads * more, h * more + e, j, b);
        for (int d = 0; d < 3; d++)
            squares += (a[d] - b[d]) * (a[d] - b[d]);
    }
    if (p->bias)
        bias = sqrt(1.0 / 3) * (double)p->bias[ij * p->ldb + h];
    return (double)p->scale * sum + bias - softplus * (double)p->by_distance * squares;
}

/* Query i of head h against keys [first, end), whose grid begins at row `grid`. */
static void attend(const P *p, int32_t h, int64_t i, int64_t first, int64_t end, int64_t grid)
{
    const int32_t c = p->head_dim, n = p->n_values, more = p->n_keys + n, bins = p->n_bins;
    const int64_t width = (int64_t)p->n_heads * n, row = grid + (i - first) * (end - first) - first;
    double top = -INFINITY, total = 0, sum[BI_POINT_VALUES] = {0}, bin[BI_POINT_BINS] = {0};
    double pair[BI_POINT_PAIR] = {0};
    double r[9], t[3];
    float *y = p->y + i * p->ldy, *points = y + p->n_heads * c;
    for (int64_t j = first; j < end; j++)
        top = fmax(top, logit(p, h, i, j, row + j));
    for (int64_t j = first; j < end; j++) {
        const double weight = exp(logit(p, h, i, j, row + j) - top);
        total += weight;
        for (int32_t e = 0; e < c; e++)
            sum[e] += weight * (double)p->v[j * p->ldv + h * c + e];
        for (int32_t e = 0; e < n; e++) {
            double x[3];
            place(p, p->more + j * p->ldm, (int64_t)p->n_heads * more, h * more + p->n_keys + e, j,
                  x);
            for (int d = 0; d < 3; d++)
                sum[c + 3 * e + d] += weight * x[d];
        }
        for (int32_t e = 0; e < p->width; e++)
            pair[e] += weight * (double)p->pair[(row + j) * p->ldz + e];
        if (bins) {
            const int64_t gap = ((int64_t)p->number[j] - p->number[i]) % bins;
            bin[gap < 0 ? gap + bins : gap] += weight;
        }
    }
    for (int32_t e = 0; e < c; e++)
        y[h * c + e] = (float)(sum[e] / total);
    frame_of(p, i, r, t);
    for (int32_t e = 0; e < n; e++) {
        double squares = (double)p->eps;
        for (int d = 0; d < 3; d++) {
            double x = 0;
            for (int a = 0; a < 3; a++)
                x += r[3 * a + d] * (sum[c + 3 * e + a] / total - t[a]);
            points[d * width + h * n + e] = (float)x;
            squares += x * x;
        }
        points[3 * width + h * n + e] = (float)sqrt(squares);
    }
    for (int32_t e = 0; e < bins; e++)
        points[4 * width + h * bins + e] = (float)(bin[e] / total);
    for (int32_t e = 0; e < p->width; e++)
        points[4 * width + h * p->width + e] = (float)(pair[e] / total);
}

static void point_attention_reference(const void *params)
{
    const P *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++)
        for (int64_t i = p->start[s]; i < p->start[s + 1]; i++)
            for (int32_t h = 0; h < p->n_heads; h++)
                attend(p, h, i, p->start[s], p->start[s + 1], p->grid_start ? p->grid_start[s] : 0);
}

static void point_attention_cost(const struct bi_graph *g, const struct bi_node *node,
                                 double *flops, double *bytes)
{
    const struct widths w = widths_of(g, node);
    *flops = 2.0 * (double)bi_in(g, node, 0)->shape[0] * (double)g->longest *
             BI_ATTR(node, point_attention)->n_heads *
             (2 * w.c + 4.5 * w.keys + 3 * w.values + w.pair);
    *bytes = bi_bytes(g, node);
}

/* in: q, k, v, points, more, frame (BI_NONE: identity), w, start, number (BI_NONE where bins is
 * 0), bias, pair (each may be BI_NONE), grid_start (BI_NONE where both are). */
bi_value_id bi_point_attention(struct bi_graph *g, const bi_value_id in[12], int32_t n_heads,
                               int32_t bins, float eps)
{
    return bi_node_add(g, BI_OP_POINT_ATTENTION, in, 12,
                       BI_ATTRS(point_attention, .n_heads = n_heads, .bins = bins, .eps = eps));
}

const struct bi_op bi_op_point_attention = {
    .name = "point_attention",
    .pairs = true,
    .infer = point_attention_infer,
    .launch = point_attention_launch,
    .reference = point_attention_reference,
    .cost = point_attention_cost,
    .required = 0xdf,
};

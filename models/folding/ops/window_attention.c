/* window_attention.c - attention of each row to the rows of its sequence that are near it.
 *   q, k, v [R, H d], table [R, d], start [S + 1] -> [R, H d]
 * kernels/window_attention.h says what is computed. */
#include <math.h>
#include <string.h>

#include "../../../kernels/window_attention.h"
#include "../../../ops/shared.h"

static int window_attention_infer(struct bi_graph *g, struct bi_node *node,
                                  struct bioinfer_error *err)
{
    const struct bi_window_attention_attr *a = BI_ATTR(node, window_attention);
    const struct bi_value *q = bi_in(g, node, 0);
    int st = 0;
    for (int i = 0; !st && i < 3; i++)
        st = bi_expect_heads(g, node, i, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect(g, node, 3, 2, a->head_dim, err);
    if (!st)
        st = bi_expect_start(g, node, 4, err);
    for (int i = 1; !st && i < 4; i++)
        if (bi_in(g, node, i)->axis != q->axis || bi_in(g, node, i)->shape[0] != q->shape[0])
            st = bi_fail(err, BIOINFER_INTERNAL, "window_attention: input %d is %s beside %s", i,
                         bi_shape_text(bi_in(g, node, i)).text, bi_shape_text(q).text);
    if (!st && (a->head_dim % 2 || a->head_dim > BI_WINDOW_HEAD || a->reach < 0))
        st = bi_fail(err, BIOINFER_UNSUPPORTED,
                     "window_attention: heads of width %d, expected an even width of at most %d, "
                     "in reach %d",
                     a->head_dim, BI_WINDOW_HEAD, a->reach);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void window_attention_launch(const struct bi_graph *g, const struct bi_node *node,
                                    const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_window_attention_attr *a = BI_ATTR(node, window_attention);
    BI_LAUNCH(launch, "window_attention", struct bi_window_attention_params, .counts = b->counts,
              .q = b->in[0], .k = b->in[1], .v = b->in[2], .table = b->in[3], .start = b->in[4],
              .y = b->out[0], .ldq = b->in_ld[0], .ldk = b->in_ld[1], .ldv = b->in_ld[2],
              .ldt = b->in_ld[3], .ldy = b->out_ld[0], .rows = bi_in(g, node, 0)->shape[0],
              .n_heads = a->n_heads, .head_dim = a->head_dim, .reach = a->reach, .eps = a->eps,
              .scale = (float)(1 / sqrt((double)a->head_dim)));
}

/* ---- reference ---- */

typedef struct bi_window_attention_params P;

/* A head of row r of x, normed and rotated. */
static void turn(const P *p, const float *x, int64_t r, double y[BI_WINDOW_HEAD])
{
    const int32_t d = p->head_dim, half = d / 2;
    const float *table = p->table + r * p->ldt;
    double square = 0;
    for (int32_t c = 0; c < d; c++)
        square += (double)x[c] * (double)x[c];
    const double by = 1 / sqrt(square / d + (double)p->eps);
    for (int32_t c = 0; c < half; c++) {
        const double a = by * (double)x[c], b = by * (double)x[half + c];
        y[c] = a * (double)table[c] - b * (double)table[half + c];
        y[half + c] = b * (double)table[c] + a * (double)table[half + c];
    }
}

/* A head, from column `at` on, of row i of the rows [first, end). */
static void attend(const P *p, int32_t at, int64_t i, int64_t first, int64_t end)
{
    const int64_t low = i - p->reach < first ? first : i - p->reach;
    const int64_t high = i + p->reach + 1 > end ? end : i + p->reach + 1;
    double q[BI_WINDOW_HEAD], k[BI_WINDOW_HEAD], sum[BI_WINDOW_HEAD] = {0}, total = 0;
    double top = -INFINITY;
    turn(p, p->q + i * p->ldq + at, i, q);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = low; j < high; j++) {
            double score = 0;
            turn(p, p->k + j * p->ldk + at, j, k);
            for (int32_t c = 0; c < p->head_dim; c++)
                score += (double)p->scale * q[c] * k[c];
            if (!pass) {
                top = fmax(top, score);
                continue;
            }
            total += exp(score - top);
            for (int32_t c = 0; c < p->head_dim; c++)
                sum[c] += exp(score - top) * (double)p->v[j * p->ldv + at + c];
        }
    for (int32_t c = 0; c < p->head_dim; c++)
        p->y[i * p->ldy + at + c] = (float)(sum[c] / total);
}

static void window_attention_reference(const void *params)
{
    const P *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++)
        for (int64_t i = p->start[s]; i < p->start[s + 1]; i++)
            for (int32_t h = 0; h < p->n_heads; h++)
                attend(p, h * p->head_dim, i, p->start[s], p->start[s + 1]);
}

static void window_attention_cost(const struct bi_graph *g, const struct bi_node *node,
                                  double *flops, double *bytes)
{
    const struct bi_value *q = bi_in(g, node, 0);
    *flops = 4.0 * (double)q->shape[0] * (double)q->shape[1] *
             (2.0 * BI_ATTR(node, window_attention)->reach + 1);
    *bytes = bi_bytes(g, node);
}

/* in: q, k, v, table, start. eps: of the norms of heads. */
bi_value_id bi_window_attention(struct bi_graph *g, const bi_value_id in[5], int32_t n_heads,
                                int32_t reach, float eps)
{
    return bi_node_add(g, BI_OP_WINDOW_ATTENTION, in, 5,
                       BI_ATTRS(window_attention, .n_heads = n_heads, .reach = reach, .eps = eps,
                                .head_dim = bi_head_dim(g, in[0], n_heads)));
}

const struct bi_op bi_op_window_attention = {
    .name = "window_attention",
    .infer = window_attention_infer,
    .launch = window_attention_launch,
    .reference = window_attention_reference,
    .cost = window_attention_cost,
    .required = 0x1f,
};

/* contacts.c - attention maps to contact logits, one layer's share.
 *   maps [T, H, longest], w [H], start [B + 1], before [T, longest]? -> [T, longest], work */
#include <string.h>

#include "../kernels/contacts.h"
#include "shared.h"

static int contacts_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 3, g->longest, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, BI_ATTR(node, contacts)->n_heads, err);
    if (!st)
        st = bi_expect_start(g, node, 2, err);
    if (!st && bi_in(g, node, 3))
        st = bi_expect(g, node, 3, 2, g->longest, err);
    if (!st) {
        bi_out_shape(g, node, 0, BI_AXIS_TOKENS, 2, (int64_t[]){g->n_tokens, g->longest});
        bi_out_shape(g, node, 1, BI_AXIS_TOKENS, 2,
                     (int64_t[]){g->n_tokens, 2 * BI_ATTR(node, contacts)->n_heads});
    }
    return st;
}

static void contacts_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "contacts", struct bi_contacts_params, .counts = b->counts, .p = b->in[0],
              .w = b->in[1], .start = b->in[2], .before = b->in[3], .y = b->out[0],
              .sums = b->out[1], .ldh = g->longest,
              .ldp = g->longest * BI_ATTR(node, contacts)->n_heads, .ldb = b->in_ld[3],
              .ldy = b->out_ld[0], .n_heads = BI_ATTR(node, contacts)->n_heads,
              .n_prefix = BI_ATTR(node, contacts)->n_prefix,
              .n_suffix = BI_ATTR(node, contacts)->n_suffix);
}

/* Row sum i of A + A^T over n residues. */
static double row_sum(const float *a, int64_t ld, int64_t i, int64_t n)
{
    double sum = 0;
    for (int64_t u = 0; u < n; u++)
        sum += (double)a[i * ld + u] + (double)a[u * ld + i];
    return sum;
}

static void contacts_reference(const void *params)
{
    const struct bi_contacts_params *p = params;
    double total[1024]; /* per head; models have at most 1,024 heads */
    assert(p->n_heads <= (int32_t)BI_COUNT(total));
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        int64_t start = p->start[s], end = p->start[s + 1];
        int64_t n = end - start - p->n_prefix - p->n_suffix;
        const float *maps = p->p + (start + p->n_prefix) * p->ldp + p->n_prefix;
        for (int32_t h = 0; h < p->n_heads; h++) {
            total[h] = 0;
            for (int64_t i = 0; i < n; i++)
                total[h] += row_sum(maps + h * p->ldh, p->ldp, i, n);
        }
        for (int64_t t = start; t < end; t++)
            for (int64_t j = 0; j < p->ldy; j++) {
                int64_t i = t - start - p->n_prefix;
                bool inside = i >= 0 && i < n && j < n;
                double sum = inside && p->before ? (double)p->before[t * p->ldb + j] : 0;
                for (int32_t h = 0; inside && h < p->n_heads; h++) {
                    const float *a = maps + h * p->ldh;
                    sum += (double)p->w[h] *
                           ((double)a[i * p->ldp + j] + (double)a[j * p->ldp + i] -
                            row_sum(a, p->ldp, i, n) * row_sum(a, p->ldp, j, n) / total[h]);
                }
                p->y[t * p->ldy + j] = (float)sum;
            }
    }
}

static void contacts_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                          double *bytes)
{
    *flops = 6.0 * (double)bi_value_elements(bi_in(g, node, 0));
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_contacts(struct bi_graph *g, bi_value_id maps, bi_value_id w, bi_value_id start,
                        bi_value_id before, int32_t n_prefix, int32_t n_suffix)
{
    int32_t n_heads = maps == BI_NONE ? 1 : (int32_t)g->values[maps].shape[1];
    return bi_node_add(
        g, BI_OP_CONTACTS, BI_IN(maps, w, start, before),
        BI_ATTRS(contacts, .n_heads = n_heads, .n_prefix = n_prefix, .n_suffix = n_suffix));
}

const struct bi_op bi_op_contacts = {
    .name = "contacts",
    .infer = contacts_infer,
    .launch = contacts_launch,
    .reference = contacts_reference,
    .cost = contacts_cost,
    .required = 7,
};

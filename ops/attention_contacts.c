/* attention_contacts.c - contact logits straight from queries and keys, one layer's share.
 *   q, k [T, H d], w [H], start [B + 1], table [longest, d]?, before [T, longest]?
 *   -> [T, longest], work
 * The maps are computed again, one head at a time, so that attention itself can stay one op and
 * no [H, T, T] block is stored: twice the q k^T work, a small part of the total. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/contacts.h"
#include "../kernels/attention.h"
#include "../kernels/rope.h"
#include "shared.h"

static int attention_contacts_infer(struct bi_graph *g, struct bi_node *node,
                                    struct bioinfer_error *err)
{
    const struct bi_attention_contacts_attr *a = BI_ATTR(node, attention_contacts);
    int st = bi_expect_heads(g, node, 0, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect_heads(g, node, 1, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect(g, node, 2, 1, a->n_heads, err);
    if (!st)
        st = bi_expect_start(g, node, 3, err);
    if (!st && bi_in(g, node, 4))
        st = bi_expect(g, node, 4, 2, a->head_dim, err);
    if (!st && bi_in(g, node, 5))
        st = bi_expect(g, node, 5, 2, g->longest, err);
    if (!st) {
        bi_out_shape(g, node, 0, BI_AXIS_TOKENS, 2, (int64_t[]){g->n_tokens, g->longest});
        bi_out_shape(g, node, 1, BI_AXIS_TOKENS, 2, (int64_t[]){g->n_tokens, 2 * a->n_heads});
    }
    return st;
}

static void attention_contacts_launch(const struct bi_graph *g, const struct bi_node *node,
                                      const struct bi_bind *b, struct bi_launch *launch)
{
    (void)g;
    BI_LAUNCH(launch, "attention_contacts", struct bi_attention_contacts_params,
              .counts = b->counts, .q = b->in[0], .k = b->in[1], .w = b->in[2], .start = b->in[3],
              .table = b->in[4], .before = b->in[5], .y = b->out[0], .sums = b->out[1],
              .ldq = b->in_ld[0], .ldk = b->in_ld[1], .ldb = b->in_ld[5], .ldy = b->out_ld[0],
              .n_heads = BI_ATTR(node, attention_contacts)->n_heads,
              .head_dim = BI_ATTR(node, attention_contacts)->head_dim,
              .n_prefix = BI_ATTR(node, attention_contacts)->n_prefix,
              .n_suffix = BI_ATTR(node, attention_contacts)->n_suffix,
              .scale = BI_ATTR(node, attention_contacts)->scale);
}

/* The definition by its parts: rope, scores, softmax, contacts. Memory is taken from malloc:
 * references run in tests only; without memory the output is filled with NaN. */
static void attention_contacts_reference(const void *params)
{
    const struct bi_attention_contacts_params *p = params;
    const struct bi_counts *c = p->counts;
    int64_t width = (int64_t)p->n_heads * p->head_dim, ldh = c->longest, ldp = ldh * p->n_heads;
    float *q = malloc((size_t)(c->n_tokens * width) * sizeof *q);
    float *k = malloc((size_t)(c->n_tokens * width) * sizeof *k);
    float *maps = malloc((size_t)(c->n_tokens * ldp) * sizeof *maps);
    if (!q || !k || !maps) {
        for (int64_t i = 0; i < c->n_tokens * p->ldy; i++)
            p->y[i] = NAN;
        goto out;
    }
    for (int64_t t = 0; t < c->n_tokens; t++) {
        memcpy(q + t * width, p->q + t * p->ldq, (size_t)width * sizeof *q);
        memcpy(k + t * width, p->k + t * p->ldk, (size_t)width * sizeof *k);
    }
    if (p->table) {
        struct bi_rope_params r = {.counts = c,
                                   .start = p->start,
                                   .x = q,
                                   .y = q,
                                   .table = p->table,
                                   .ldx = width,
                                   .ldy = width,
                                   .axis = BI_AXIS_TOKENS,
                                   .n_heads = p->n_heads,
                                   .head_dim = p->head_dim};
        bi_op_rope.reference(&r);
        r.x = r.y = k;
        bi_op_rope.reference(&r);
    }
    bi_op_scores.reference(&(struct bi_scores_params){.counts = c,
                                                      .axis = BI_AXIS_TOKENS,
                                                      .seqs = BI_AXIS_SEQS,
                                                      .start = p->start,
                                                      .q = q,
                                                      .k = k,
                                                      .p = maps,
                                                      .ldq = width,
                                                      .ldk = width,
                                                      .ldp = ldp,
                                                      .ldh = ldh,
                                                      .n_heads = p->n_heads,
                                                      .head_dim = p->head_dim,
                                                      .scale = p->scale});
    bi_op_softmax.reference(&(struct bi_softmax_params){.counts = c,
                                                        .axis = BI_AXIS_TOKENS,
                                                        .seqs = BI_AXIS_SEQS,
                                                        .start = p->start,
                                                        .x = maps,
                                                        .p = maps,
                                                        .ldp = ldp,
                                                        .ldh = ldh,
                                                        .n_heads = p->n_heads});
    bi_op_contacts.reference(&(struct bi_contacts_params){.counts = c,
                                                          .start = p->start,
                                                          .p = maps,
                                                          .w = p->w,
                                                          .before = p->before,
                                                          .y = p->y,
                                                          .ldp = ldp,
                                                          .ldh = ldh,
                                                          .ldb = p->ldb,
                                                          .ldy = p->ldy,
                                                          .n_heads = p->n_heads,
                                                          .n_prefix = p->n_prefix,
                                                          .n_suffix = p->n_suffix});
out:
    free(q);
    free(k);
    free(maps);
}

static void attention_contacts_cost(const struct bi_graph *g, const struct bi_node *node,
                                    double *flops, double *bytes)
{
    *flops = (double)g->n_tokens * (double)g->longest * BI_ATTR(node, attention_contacts)->n_heads *
             (2.0 * BI_ATTR(node, attention_contacts)->head_dim + 6);
    *bytes = bi_bytes(g, node);
}

const struct bi_op bi_op_attention_contacts = {
    .name = "attention_contacts",
    .pairs = true,
    .infer = attention_contacts_infer,
    .launch = attention_contacts_launch,
    .reference = attention_contacts_reference,
    .cost = attention_contacts_cost,
    .required = 15,
    .half = {.in = 3, .all = 3},
};

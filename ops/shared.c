/* shared.c - checks and costs that several ops have in common. */
#include "shared.h"

int bi_infer_like_first(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    (void)err;
    bi_out_like(g, node, 0, 0);
    return 0;
}

void bi_cost_bytes(const struct bi_graph *g, const struct bi_node *node, double *flops,
                   double *bytes)
{
    *flops = 0;
    *bytes = bi_bytes(g, node);
}

int bi_expect_heads(const struct bi_graph *g, const struct bi_node *node, int i,
                    struct bioinfer_error *err)
{
    int64_t width = (int64_t)node->attr.n_heads * node->attr.head_dim;
    int st = bi_expect(g, node, i, 2, width, err);
    if (!st && (node->attr.n_heads < 1 || node->attr.head_dim < 1))
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: %d heads of width %d", bi_ops[node->op]->name,
                     node->attr.n_heads, node->attr.head_dim);
    return st;
}

/* grid_logits.c - cases of the grid_logits_grad kernel. */
#include "graphs.h"

#include "kernels/grid_grads.h"

static void cases(struct ck *ck)
{
    typedef struct bi_grid_logits_grad_params T;
    for (int i = 0; i < 16 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
        const int32_t edges = (int32_t)ck_random(ck, 1, 6), heads = (int32_t)ck_random(ck, 1, 9);
        const int32_t n = (int32_t)ck_random(ck, 1, 40), blocks = (int32_t)ck_random(ck, 1, 2);
        const int64_t classes = heads * (2 * (int64_t)edges + 1), rows = (int64_t)blocks * n;
        float *edge = ck_graph_floats(&g, edges, 1);
        T p = {.counts = &g.counts,
               .n = n,
               .n_heads = heads,
               .n_edges = edges,
               .rows = rows,
               .lddy = heads + 4,
               .ldds = heads * n,
               .lddp = classes,
               .lddq = classes};
        for (int32_t k = 0; k < edges; k++) /* the first is a distance itself */
            edge[k] = (float)(k * k + 1) + 0.25f * (float)k;
        p.edges = edge;
        p.dy = ck_graph_floats(&g, rows * n * p.lddy, 1);
        p.ds = ck_graph_zeros(&g, rows * p.ldds);
        p.dp = ck_graph_zeros(&g, rows * classes);
        p.dq = ck_graph_zeros(&g, rows * classes);
        ck_check_fixed(
            ck, &(struct ck_fixed){
                    .entry = "grid_logits_grad",
                    .reference = bi_op_grid_logits_grad.reference,
                    .params = &p,
                    .params_size = sizeof p,
                    .absolute = 5e-6,
                    .relative = 1e-6,
                    .note = "random",
                    .arrays = {{offsetof(T, ds), 4 * (size_t)(rows * p.ldds), CK_FIXED_F32},
                               {offsetof(T, dp), 4 * (size_t)(rows * classes), CK_FIXED_F32},
                               {offsetof(T, dq), 4 * (size_t)(rows * classes), CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_grid_logits_grad = {.stem = "grid_logits_grad", .cases = cases};

/* shared.h - references and launches that several ops have in common. */
#ifndef BI_OPS_SHARED_H
#define BI_OPS_SHARED_H

#include "op.h"

void bi_ref_linear(const void *params);    /* linear.c: linear, matmul */
void bi_ref_unary(const void *params);     /* gelu.c: gelu, sigmoid, silu, scale */
void bi_ref_layernorm(const void *params); /* layernorm.c: all norms of rows */
void bi_ref_mean_pool(const void *params); /* mean_pool.c: mean_pool, norm_pool */

/* Checks a [H, 2 reach + 1] bias. */
int bi_expect_reach(const struct bi_graph *g, const struct bi_node *node, int i, int64_t n_heads,
                    struct bioinfer_error *err);
void bi_launch_unary(const struct bi_graph *g, const struct bi_node *node,
                     const struct bi_bind *bind, struct bi_launch *launch, int function);
/* pair_pool.c: [2 R, C] -> [R, C] */
int bi_infer_pairs(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err);
/* Norms of rows: inputs from `w` on are w and an optional b as wide as x. */
int bi_expect_norm(const struct bi_graph *g, const struct bi_node *node, int w,
                   struct bioinfer_error *err);
int bi_infer_like_first(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err);
void bi_cost_bytes(const struct bi_graph *g, const struct bi_node *node, double *flops,
                   double *bytes);
/* Checks a [T, H d] value against attr.n_heads and attr.head_dim. */
int bi_expect_heads(const struct bi_graph *g, const struct bi_node *node, int i,
                    struct bioinfer_error *err);

/* Copies a parameter struct into the launch. */
#define BI_LAUNCH(launch, entry_name, type, ...)                                         \
    do {                                                                                 \
        const type params_ = {__VA_ARGS__};                                              \
        _Static_assert(sizeof(type) <= BI_PARAMS_SIZE, "enlarge BI_PARAMS_SIZE");        \
        (launch)->entry = entry_name;                                                    \
        memcpy((launch)->params, &params_, sizeof params_);                              \
    } while (0)

#endif

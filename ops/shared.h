/* shared.h - references and launches that several ops have in common. */
#ifndef BI_OPS_SHARED_H
#define BI_OPS_SHARED_H

#include "op.h"
#include "../kernels/linear.h"
#include "../kernels/unary_grad.h"

/* Names of activations, by enum bi_act (linear.c) and by enum bi_norm_act (norm_act.c). */
extern const char *const bi_act_names[], *const bi_norm_act_names[];
/* Names of what lists of rows become, by enum bi_list_kind (list_sums.c). */
extern const char *const bi_list_kind_names[];

/* bi_ref_...: a reference (bi_op.reference), which takes the kernel's parameters and writes its
 * outputs. bi_cost_...: bi_op.cost. bi_infer_...: bi_op.infer, 0 or INTERNAL. */
void bi_ref_linear(const void *params); /* linear.c: linear, matmul */
/* linear.c: x, w and bias of inputs 0 to 2, y of output 0, and `then`, what follows y; inputs from
 * 3 on are left to the caller, as are the fields that go with `then`. Attributes count where the op
 * is linear or matmul. Gives the parameters in the launch, for what is to be changed of them. */
struct bi_linear_params *bi_launch_linear(const struct bi_graph *g, const struct bi_node *node,
                                          const struct bi_bind *bind, struct bi_launch *launch,
                                          int32_t then);
/* linear.c: bi_op.weight_form for linear and matmul, by their attributes: halves where these ask
 * for terms and the layout is of float16; gated of input 1 alone. */
void bi_linear_weight_form(const struct bi_node *node, int k, struct bi_weight_form *form);
void bi_cost_linear(const struct bi_graph *g, const struct bi_node *node, double *flops,
                    double *bytes);
double bi_ref_norm_act(double z, int act); /* norm_act.c: its activations; z of any other */
void bi_ref_unary(const void *params);     /* gelu.c: gelu, sigmoid, silu, scale */
void bi_ref_layernorm(const void *params); /* layernorm.c: all norms of rows */
void bi_ref_mean_pool(const void *params); /* mean_pool.c: mean_pool, norm_pool */
/* list_add.c: the partial sum whose words are at `part` and ld further (kernels/list_sums.h), and
 * another one in its place. */
double bi_ref_part(const float *part, int64_t ld);
void bi_ref_put_part(float *part, int64_t ld, double sum);

/* Checks a [n_heads, 2 reach + 1] bias, with any reach. */
int bi_expect_reach(const struct bi_graph *g, const struct bi_node *node, int i, int64_t n_heads,
                    struct bioinfer_error *err);
/* Checks a bias [G, n_heads] by pairs of tokens, and input `starts`: where their grids begin. */
int bi_expect_pairs(const struct bi_graph *g, const struct bi_node *node, int i, int starts,
                    int64_t n_heads, struct bioinfer_error *err);
/* Fills a launch of unary x -> y, input 0 and output 0, of any rank. factor: of BI_UNARY_SCALE, not
 * read for others. */
void bi_launch_unary(const struct bi_graph *g, const struct bi_node *node,
                     const struct bi_bind *bind, struct bi_launch *launch, int function,
                     float factor);
/* shared.c: the same of derivatives; inputs x and dy are of one shape [R, C]. The reference knows
 * gelu and silu, and takes any other function for sigmoid. */
void bi_launch_unary_grad(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *bind, struct bi_launch *launch, int function);
void bi_ref_unary_grad(const void *params);
int bi_infer_pair_like_first(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err);
/* pair_pool.c: [2 R, C] -> [R, C]; rows are BI_AXIS_FIXED, else INTERNAL */
int bi_infer_pairs(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err);
/* Norms of rows: x, input 0, has rank 2, and inputs w and w + 1, where the op has them and they are
 * there, are as wide; bi_op.required says which must be. */
int bi_expect_norm(const struct bi_graph *g, const struct bi_node *node, int w,
                   struct bioinfer_error *err);
int bi_infer_like_first(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err);
void bi_cost_bytes(const struct bi_graph *g, const struct bi_node *node, double *flops,
                   double *bytes);
/* Checks a [T, n_heads head_dim] value, both at least 1. */
int bi_expect_heads(const struct bi_graph *g, const struct bi_node *node, int i, int32_t n_heads,
                    int32_t head_dim, struct bioinfer_error *err);

/* Head width of a packed value [T, H d], 0 of BI_NONE, rounded down: infer checks that n_heads, at
 * least 1, divides it. */
int32_t bi_head_dim(const struct bi_graph *g, bi_value_id x, int32_t n_heads);
/* Output `slot` of the node that makes `id`, no input and no weight; BI_NONE where `id` is. */
bi_value_id bi_other_output(const struct bi_graph *g, bi_value_id id, int slot);

/* The first n outputs of that node; all BI_NONE where `id` is. */
void bi_node_outputs(const struct bi_graph *g, bi_value_id id, bi_value_id *out, int n);

/* Inputs of bi_node_add() and how many they are. */
#define BI_IN(...)                                                                                 \
    (const bi_value_id[]){__VA_ARGS__},                                                            \
        (int)(sizeof((bi_value_id[]){__VA_ARGS__}) / sizeof(bi_value_id))

/* rel_attention_grad_keys.c: checks inputs q, k, v, r, u, w and dy of both derivatives, and what
 * they cost. Besides INTERNAL the check has UNSUPPORTED: no heads, or wider ones than kernels
 * take. */
int bi_expect_rel_attention_grad(const struct bi_graph *g, const struct bi_node *node,
                                 const struct bi_rel_attention_attr *a, struct bioinfer_error *err);
void bi_cost_rel_attention_grad(const struct bi_graph *g, const struct bi_node *node, double *flops,
                                double *bytes);

/* Copies a parameter struct into the launch. */
#define BI_LAUNCH(launch, entry_name, type, ...)                                                   \
    do {                                                                                           \
        type params_;                                                                              \
        _Static_assert(sizeof(type) <= BI_PARAMS_SIZE, "enlarge BI_PARAMS_SIZE");                  \
        memset(&params_, 0, sizeof params_); /* padding too: tools/same.py compares bytes */       \
        params_ = (type){__VA_ARGS__};                                                             \
        (launch)->entry = entry_name;                                                              \
        memcpy((launch)->params, &params_, sizeof params_);                                        \
    } while (0)

#endif

/* rel_attention_grad_keys.c - cases of the rel_attention_grad_keys kernel. */
#include <math.h>

#include "rel_attention_grads.h"

static void check(struct ck *ck, const struct ck_lengths *one, int windows, int n, int first,
                  int queries, int heads, int key_dim, int value_dim, const char *note)
{
    typedef struct bi_rel_attention_grad_keys_params T;
    const int64_t d = heads * key_dim, e = heads * value_dim;
    T p = {.n = n,
           .first = first,
           .n_queries = queries,
           .n_heads = heads,
           .key_dim = key_dim,
           .value_dim = value_dim,
           .n_windows = windows,
           .scale = 1 / sqrtf((float)key_dim)};
    ck_check(
        ck,
        &(struct ck_case){
            .entry = "rel_attention_grad_keys",
            .reference = bi_op_rel_attention_grad_keys.reference,
            .params = &p,
            .params_size = sizeof p,
            .arrays =
                {
                    {CK_ARRAY(T, q, ldq), CK_IN, BI_AXIS_FIXED, .rows = windows * queries,
                     .width = d},
                    {CK_ARRAY(T, k, ldk), CK_IN, BI_AXIS_FIXED, .rows = windows * n, .width = d,
                     .scale = 0.2},
                    {CK_ARRAY(T, v, ldv), CK_IN, BI_AXIS_FIXED, .rows = windows * n, .width = e},
                    {CK_ARRAY(T, r, ldr), CK_IN, BI_AXIS_FIXED, .rows = 2 * (int64_t)n - 1,
                     .width = d, .scale = 0.2},
                    {CK_PLAIN(T, u), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = d, .scale = 0.2},
                    {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = d, .scale = 0.2},
                    {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_FIXED, .rows = windows * queries,
                     .width = e},
                    {CK_ARRAY(T, sums, lds), CK_IN, BI_AXIS_FIXED, .rows = windows * queries,
                     .width = 3 * (int64_t)heads, .scale = 0.1},
                    {CK_ARRAY(T, dk, lddk), CK_OUT, BI_AXIS_FIXED, .rows = windows * n, .width = d},
                    {CK_ARRAY(T, dv, lddv), CK_OUT, BI_AXIS_FIXED, .rows = windows * n, .width = e},
                },
            .lengths = one->of,
            .n_seqs = one->n,
            .absolute = 2e-5,
            .relative = 2e-5,
            .nmse = 1e-10,
            .note = note});
}

static void cases(struct ck *ck)
{
    grad_cases(ck, check);
}

const struct ck_op ck_rel_attention_grad_keys = {.stem = "rel_attention_grad_keys", .cases = cases};

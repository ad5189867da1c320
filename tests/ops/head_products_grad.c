/* head_products.c - cases of the head_products_grad kernel, by rows and by weights. */
#include "checkkernel.h"
#include "kernels/grid_grads.h"

static void cases(struct ck *ck)
{
    typedef struct bi_head_products_grad_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        T p = {.blocks = (int32_t)ck_random(ck, 1, 3),
               .n_heads = (int32_t)ck_random(ck, 1, 4),
               .d = (int32_t)ck_random(ck, 1, i % 2 ? 20 : 130),
               .m = ck_random(ck, 1, i % 3 ? 40 : 300)};
        p.rows = p.blocks * ck_random(ck, 1, 70);
        p.turned = i % 4 < 2;
        p.out_rows = p.turned ? p.blocks * p.m : p.rows;
        ck_check(ck, &(struct ck_case){.entry = "head_products_grad",
                                       .reference = bi_op_head_products_grad.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.n_heads * p.m},
                                               {CK_ARRAY(T, other, ldo), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.turned ? p.rows : p.blocks * p.m,
                                                .width = p.n_heads * p.d},
                                               {CK_ARRAY(T, dx, lddx), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.out_rows, .width = p.n_heads * p.d},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .absolute = 2e-5,
                                       .relative = 1e-5,
                                       .note = "random"});
    }
}

const struct ck_op ck_head_products_grad = {.stem = "head_products_grad", .cases = cases};

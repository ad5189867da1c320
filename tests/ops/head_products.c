/* head_products.c - cases of the head_products kernel. */
#include "checkkernel.h"
#include "kernels/grids.h"

static void cases(struct ck *ck)
{
    typedef struct bi_head_products_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        T p = {.blocks = (int32_t)ck_random(ck, 1, 3),
               .n_heads = (int32_t)ck_random(ck, 1, 4),
               .d = (int32_t)ck_random(ck, 1, i % 2 ? 20 : 130),
               .m = ck_random(ck, 1, i % 3 ? 40 : 300)};
        p.rows = p.blocks * ck_random(ck, 1, 70);
        ck_check(ck, &(struct ck_case){.entry = "head_products",
                                       .reference = bi_op_head_products.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.n_heads * p.d},
                                               {CK_ARRAY(T, w, ldw), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.blocks * p.m, .width = p.n_heads * p.d},
                                               {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.n_heads * p.m},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .absolute = 2e-5,
                                       .relative = 1e-5,
                                       .note = "random"});
    }
}

const struct ck_op ck_head_products = {.stem = "head_products", .cases = cases};

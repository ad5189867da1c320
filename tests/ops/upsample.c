/* upsample.c - cases of the upsample kernel. */
#include "checkkernel.h"
#include "kernels/upsample.h"

static void cases(struct ck *ck)
{
    typedef struct bi_upsample_params T;
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 20 && !ck_bench(ck); i++) {
        const int32_t times = i % 3 ? 2 : (int32_t)ck_random(ck, 1, 130);
        T p = {.rows = times * ck_random(ck, 1, 40),
               .times = times,
               .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 600)};
        ck_check(ck, &(struct ck_case){.entry = "upsample",
                                       .reference = bi_op_upsample.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows / times, .width = p.width},
                                               {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                               {CK_ARRAY(T, skip, lds), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .note = "random"});
    }
}

const struct ck_op ck_upsample = {.stem = "upsample", .cases = cases};

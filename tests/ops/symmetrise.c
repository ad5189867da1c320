/* symmetrise.c - cases of the symmetrise kernel. */
#include "checkkernel.h"
#include "kernels/grids.h"

static void cases(struct ck *ck)
{
    typedef struct bi_symmetrise_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        T p = {.width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 200),
               .n = (int32_t)ck_random(ck, 1, 12)};
        p.rows = p.n * p.n * ck_random(ck, 1, 3);
        ck_check(ck, &(struct ck_case){.entry = "symmetrise",
                                       .reference = bi_op_symmetrise.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                               {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .absolute = 2e-6,
                                       .relative = 2e-6,
                                       .note = "random"});
    }
}

const struct ck_op ck_symmetrise = {.stem = "symmetrise", .cases = cases};

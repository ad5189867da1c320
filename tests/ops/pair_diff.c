/* pair_diff.c - cases of the pair_diff kernel. */
#include "checkkernel.h"
#include "kernels/pairs.h"

static void cases(struct ck *ck)
{
    typedef struct bi_pair_diff_params T;
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 20 && !ck_bench(ck); i++) {
        T p = {.rows = ck_random(ck, 1, 50), .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 600)};
        ck_check(ck, &(struct ck_case){.entry = "pair_diff",
                                       .reference = bi_op_pair_diff.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                .rows = 2 * p.rows, .width = p.width},
                                               {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .note = "random"});
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"pair_diff_f32_f16", {CK_AT(pair_diff, y), CK_END}, 1e-6, 6e-4, 1e-7, NULL},
    {"pair_diff_f16_f16", {CK_AT(pair_diff, x), CK_AT(pair_diff, y), CK_END},
     1e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_pair_diff = {.stem = "pair_diff", .cases = cases, .entries = entries};

/* depthwise.c - cases of the depthwise kernel. */
#include "checkkernel.h"
#include "kernels/depthwise.h"

static void cases(struct ck *ck)
{
    typedef struct bi_depthwise_params T;
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 20 && !ck_bench(ck); i++) {
        T p = {.rows = ck_random(ck, 1, 50),
               .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 600),
               .taps = (int32_t)ck_random(ck, 1, 7)};
        ck_check(ck, &(struct ck_case){.entry = "depthwise",
                                       .reference = bi_op_depthwise.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows + p.taps - 1, .width = p.width},
                                               {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                               {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.taps, .width = p.width},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .absolute = 3e-6,
                                       .relative = 3e-6,
                                       .note = "random"});
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"depthwise_f32_f16", {CK_AT(depthwise, y), CK_END}, 1e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_depthwise = {.stem = "depthwise", .cases = cases, .entries = entries};

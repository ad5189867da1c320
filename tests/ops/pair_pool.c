/* pair_pool.c - cases of the pair_pool kernel: both forms of logits, and the maximum. */
#include "checkkernel.h"
#include "kernels/pairs.h"

static void cases(struct ck *ck)
{
    typedef struct bi_pair_pool_params T;
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 30 && !ck_bench(ck); i++) {
        T p = {.rows = ck_random(ck, 1, 50),
               .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 600),
               .halved = i % 3 == 1};
        ck_check(
            ck, &(struct ck_case){.entry = "pair_pool",
                                  .reference = bi_op_pair_pool.reference,
                                  .params = &p,
                                  .params_size = sizeof p,
                                  .arrays =
                                      {
                                          {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                           .rows = 2 * p.rows, .width = p.width},
                                          {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                           .rows = p.rows, .width = p.width},
                                          {CK_ARRAY(T, logits, ldl), CK_IN, BI_AXIS_FIXED,
                                           .rows = p.halved ? p.rows : 2 * p.rows, .width = p.width,
                                           .scale = i % 5 ? 3 : 60, .absent = i % 3 == 2},
                                      },
                                  .lengths = one.of,
                                  .n_seqs = one.n,
                                  .absolute = 2e-6,
                                  .relative = 2e-6,
                                  .note = i % 3 == 0   ? "logits"
                                          : i % 3 == 1 ? "logits of the difference"
                                                       : "larger"});
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"pair_pool_f16_f32", {CK_AT(pair_pool, x), CK_END}, 0, 0, 0, NULL},
    {"pair_pool_f16_f16", {CK_AT(pair_pool, x), CK_AT(pair_pool, y), CK_END},
     1e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_pair_pool = {.stem = "pair_pool", .cases = cases, .entries = entries};

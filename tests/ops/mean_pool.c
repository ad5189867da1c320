/* mean_pool.c - cases of the mean_pool kernel. */
#include "checkkernel.h"
#include "kernels/mean_pool.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int prefix, int suffix,
                  const char *note)
{
    typedef struct bi_mean_pool_params T;
    T p = {.width = width, .n_prefix = prefix, .n_suffix = suffix, .eps = 1e-5f};
    ck_check(ck,
             &(struct ck_case){.entry = "mean_pool",
                               .reference = bi_op_mean_pool.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .start = offsetof(T, start),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = width},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_SEQS, .width = width},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .blind = prefix + suffix,
                               .absolute = 3e-6,
                               .relative = 3e-6,
                               .nmse = 1e-10 /* sums may cancel */,
                               .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 320, 1, 1, "3800 x 320");
        check(ck, &n, 1280, 1, 1, "3800 x 1280");
        return;
    }
    static const int32_t edges[] = {1, 2, 3, 4, 0, 5, 50, -1};
    struct ck_lengths n = ck_lengths_of(edges);
    check(ck, &n, 20, 1, 1, "edges");
    for (int i = 0; i < 45; i++) {
        n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 3 ? 70 : 900), (int)ck_random(ck, 0, 2),
              (int)ck_random(ck, 0, 2), "random");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"mean_pool_f16", {CK_AT(mean_pool, x), CK_END}, 0, 0, 0, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_mean_pool = {.stem = "mean_pool", .cases = cases, .entries = entries};

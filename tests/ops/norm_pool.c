/* norm_pool.c - cases of the mean_pool kernel over normalised rows. */
#include "checkkernel.h"
#include "kernels/mean_pool.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int prefix, int suffix,
                  int rms, const char *note)
{
    /* two or three numbers may lie so close together that their mean is known no better */
    typedef struct bi_mean_pool_params T;
    T p = {.width = width, .n_prefix = prefix, .n_suffix = suffix, .rms = rms, .eps = 1e-5f};
    ck_check(ck,
             &(struct ck_case){.entry = "mean_pool",
                               .reference = bi_op_norm_pool.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .start = offsetof(T, start),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = width},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_SEQS, .width = width},
                                       {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                        .width = width, .fill = CK_GAIN, .scale = 0.3},
                                       {CK_PLAIN(T, b), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                        .width = width, .absent = rms},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .blind = prefix + suffix,
                               .absolute = width < 8 ? 4e-3 : 4e-6,
                               .relative = 4e-6,
                               .nmse = width < 8 ? 1e-7 : 1e-12,
                               .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 320, 1, 1, 0, "3800 x 320");
        check(ck, &n, 1280, 1, 1, 0, "3800 x 1280");
        return;
    }
    static const int32_t edges[] = {1, 2, 3, 4, 0, 5, 50, -1};
    struct ck_lengths n = ck_lengths_of(edges);
    check(ck, &n, 20, 1, 1, 0, "edges");
    for (int i = 0; i < 45; i++) {
        n = ck_lengths(ck, 6, 20);
        check(ck, &n, (int)ck_random(ck, 1, i % 3 ? 70 : 200), (int)ck_random(ck, 0, 2),
              (int)ck_random(ck, 0, 2), i % 2, "random");
    }
}

const struct ck_op ck_norm_pool = {.stem = "norm_pool", .cases = cases};

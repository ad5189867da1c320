/* norm_split.c - cases of the layernorm kernel as norm_split. */
#include "checkkernel.h"
#include "kernels/layernorm.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, double spread, int mode,
                  const char *note)
{
    /* two or three numbers may lie so close together that their mean is known no better */
    typedef struct bi_layernorm_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width, .rms = mode, .eps = 1e-5f};
    ck_check(ck, &(struct ck_case){
                     .entry = "layernorm",
                     .reference = bi_op_norm_split.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = width,
                              .scale = spread},
                             {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                              .fill = CK_GAIN, .scale = 0.3},
                             {CK_PLAIN(T, b), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                              .absent = mode},
                             {CK_ARRAY(T, copy, ldc), CK_OUT, BI_AXIS_TOKENS, .width = width},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = width < 8 ? 4e-3 : 4e-6,
                     .relative = 4e-6,
                     .nmse = width < 8 ? 1e-7 : 1e-12,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const double spreads[] = {1, 0.1, 100};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 1024, 1, 1, "3800 x 1024");
        return;
    }
    for (int i = 0; i < 40; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 30);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 1100), spreads[i % 3], i % 2, "random");
    }
}

const struct ck_op ck_norm_split = {.stem = "norm_split", .cases = cases};

/* linear_pool.c - cases of linear that pools pairs of rows by its logits, with norm and activation
 * or without. */
#include "checkkernel.h"
#include "kernels/linear.h"
#include "kernels/norm_act.h"

static void check(struct ck *ck, int64_t rows, int width, int then, int pad, const char *note)
{
    typedef struct bi_linear_params T;
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    T p = {.axis = BI_AXIS_FIXED, .rows = rows, .n = width, .k = width, .then = then, .pad = pad};
    ck_check(
        ck, &(struct ck_case){
                .entry = "linear",
                .reference = bi_op_linear_pool.reference,
                .params = &p,
                .params_size = sizeof p,
                .gpu_only = 1,
                .arrays =
                    {
                        {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = width},
                        {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = width, .width = width,
                         .scale = 0.2},
                        {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED, .rows = rows + 2 * pad,
                         .width = width},
                        {CK_ARRAY(T, odd, ldo), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = width},
                        {CK_PLAIN(T, scale), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                         .fill = CK_GAIN, .absent = !then},
                        {CK_PLAIN(T, shift), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                         .absent = !then},
                    },
                .lengths = one.of,
                .n_seqs = one.n,
                .absolute = 1e-4,
                .relative = 1e-5,
                .nmse = 1e-11,
                .flops = 2.0 * (double)rows * width * width,
                .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 98304, 768, BI_NORM_ACT_QUICK_GELU, 2, "98304 x 768 x 768");
        check(ck, 12288, 1024, BI_NORM_ACT_QUICK_GELU, 2, "12288 x 1024 x 1024");
        return;
    }
    for (int i = 0; i < 40; i++)
        check(ck, ck_random(ck, 2, i % 3 ? 300 : 40), 8 * (int)ck_random(ck, 1, i % 4 ? 20 : 60),
              i % 4 == 3 ? BI_NORM_ACT_NONE
              : i % 2    ? BI_NORM_ACT_QUICK_GELU
                         : BI_NORM_ACT_TANH_GELU,
              i % 3, "random");
}

const struct ck_op ck_linear_pool = {.stem = "linear_pool", .cases = cases};

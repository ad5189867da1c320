/* linear_norm.c - cases of linear with a norm and an activation of y beside y. */
#include "checkkernel.h"
#include "kernels/linear.h"
#include "kernels/norm_act.h"

/* taps > 1: rows of x are windows of in / taps channels. alone: the norm without y. twin: two rows
 * of five taps share products. */
static void check_as(struct ck *ck, int64_t rows, int out, int in, int taps, int then, int bias,
                     int alone, int twin, const char *note)
{
    typedef struct bi_linear_params T;
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    T p = {.axis = BI_AXIS_FIXED,
           .rows = rows,
           .n = out,
           .k = in,
           .then = then,
           .ldx = taps > 1 ? in / taps : 0,
           .twin = twin};
    ck_check(
        ck, &(struct ck_case){
                .entry = "linear",
                .reference = bi_op_linear_norm.reference,
                .params = &p,
                .params_size = sizeof p,
                .gpu_only = 1,
                .arrays =
                    {
                        {.pointer = offsetof(T, x),
                         .ld = taps > 1 ? CK_NONE : offsetof(T, ldx),
                         .role = CK_IN,
                         .axis = BI_AXIS_FIXED,
                         .rows = rows + taps - 1,
                         .width = in / taps},
                        {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = out, .width = in,
                         .scale = 0.2},
                        {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED, .rows = rows, .width = out,
                         .absent = alone},
                        {CK_ARRAY(T, also, lda), CK_OUT, BI_AXIS_FIXED, .rows = rows, .width = out},
                        {CK_PLAIN(T, bias), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = out,
                         .absent = !bias},
                        {CK_PLAIN(T, scale), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = out,
                         .fill = CK_GAIN},
                        {CK_PLAIN(T, shift), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = out},
                    },
                .lengths = one.of,
                .n_seqs = one.n,
                .absolute = 1e-4,
                .relative = 1e-5,
                .nmse = 1e-11,
                .flops = 2.0 * (double)rows * out * in,
                .note = note});
}

static void check(struct ck *ck, int64_t rows, int out, int in, int taps, int then, int bias,
                  int alone, const char *note)
{
    check_as(ck, rows, out, in, taps, then, bias, alone, 0, note);
}

/* The convolutions of five taps. */
static const struct {
    int64_t rows;
    int out, channels;
    const char *note[2];
} enformer[] = {{98304, 768, 768, {"98304 x 768 x 5 768", "98304 x 768 x 5 768, twin"}},
                {49152, 896, 768, {"49152 x 896 x 5 768", "49152 x 896 x 5 768, twin"}},
                {24576, 1024, 896, {"24576 x 1024 x 5 896", "24576 x 1024 x 5 896, twin"}},
                {12288, 1152, 1024, {"12288 x 1152 x 5 1024", "12288 x 1152 x 5 1024, twin"}},
                {6144, 1280, 1152, {"6144 x 1280 x 5 1152", "6144 x 1280 x 5 1152, twin"}},
                {3072, 1536, 1280, {"3072 x 1536 x 5 1280", "3072 x 1536 x 5 1280, twin"}},
                {16384, 768, 768, {"16384 x 768 x 5 768", "16384 x 768 x 5 768, twin"}}};

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 24576, 896, 4480, 1, BI_NORM_ACT_QUICK_GELU, 1, 0, "24576 x 896 x 4480");
        for (size_t i = 0; i < BI_COUNT(enformer); i++)
            for (int twin = 0; twin < 2; twin++)
                check_as(ck, enformer[i].rows, enformer[i].out, 5 * enformer[i].channels, 5,
                         BI_NORM_ACT_QUICK_GELU, 1, 0, twin, enformer[i].note[twin]);
        check(ck, 98304, 768, 120, 1, BI_NORM_ACT_QUICK_GELU, 1, 1, "98304 x 768 x 120");
        check(ck, 98304, 768, 120, 15, BI_NORM_ACT_QUICK_GELU, 1, 1, "98304 x 768 x 15 8");
        return;
    }
    for (int i = 0; i < 30; i++)
        check(ck, ck_random(ck, 1, i % 3 ? 300 : 40), 8 * (int)ck_random(ck, 1, i % 4 ? 20 : 60),
              8 * (int)ck_random(ck, 1, i % 5 ? 12 : 90), 1,
              i % 2 ? BI_NORM_ACT_QUICK_GELU : BI_NORM_ACT_TANH_GELU, i / 2 % 2, i % 5 == 4,
              "random");
    for (int i = 0; i < 12; i++) {
        const int taps = (int)ck_random(ck, 2, 19);
        check(ck, ck_random(ck, 1, i % 3 ? 300 : 40), 8 * (int)ck_random(ck, 1, 60),
              8 * (int)ck_random(ck, 1, 8) * taps, taps,
              i % 2 ? BI_NORM_ACT_QUICK_GELU : BI_NORM_ACT_TANH_GELU, i / 2 % 2, i % 5 == 4,
              "windows");
    }
    for (int i = 0; i < 24;
         i++) /* several tiles of 256 x 128 and parts of 64 channels, whole and not */
        check_as(ck, 2 * ck_random(ck, 1, i % 3 ? 400 : 20),
                 8 * (int)ck_random(ck, 1, i % 4 ? 40 : 8),
                 5 * 8 * (int)ck_random(ck, 1, i % 5 ? 30 : 8), 5,
                 i % 2 ? BI_NORM_ACT_QUICK_GELU : BI_NORM_ACT_TANH_GELU, i / 2 % 2, i % 5 == 4, 1,
                 "twin");
}

const struct ck_op ck_linear_norm = {.stem = "linear_norm", .cases = cases};

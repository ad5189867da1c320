/* linear_pairs.c - cases of linear that gives odd rows, and differences of even ones to them. */
#include "checkkernel.h"
#include "kernels/linear.h"

/* more: columns of the product that is made in place of a residual, in windows of `taps` rows. */
static void check(struct ck *ck, int64_t pairs, int out, int in, int bias, int residual, int more,
                  int taps, const char *note)
{
    typedef struct bi_linear_params T;
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    T p = {.axis = BI_AXIS_FIXED,
           .rows = 2 * pairs,
           .n = out,
           .k = in,
           .more_k = more,
           .ldm = taps > 1 ? more / taps : 0};
    ck_check(
        ck,
        &(struct ck_case){
            .entry = "linear",
            .reference = bi_op_linear_pairs.reference,
            .params = &p,
            .params_size = sizeof p,
            .gpu_only = 1,
            .arrays =
                {
                    {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = 2 * pairs, .width = in},
                    {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = out, .width = in,
                     .scale = 0.2},
                    {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED, .rows = pairs, .width = out},
                    {CK_ARRAY(T, also, lda), CK_OUT, BI_AXIS_FIXED, .rows = pairs, .width = out},
                    {CK_PLAIN(T, bias), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = out,
                     .absent = !bias},
                    {CK_ARRAY(T, residual, ldr), CK_IN, BI_AXIS_FIXED, .rows = 2 * pairs,
                     .width = out, .absent = !residual || more},
                    {.pointer = offsetof(T, more_x),
                     .ld = taps > 1 ? CK_NONE : offsetof(T, ldm),
                     .role = CK_IN,
                     .axis = BI_AXIS_FIXED,
                     .rows = 2 * pairs + taps - 1,
                     .width = more ? more / taps : 8,
                     .absent = !more},
                    {CK_PLAIN(T, more_w), CK_WEIGHT, BI_AXIS_FIXED, .rows = out,
                     .width = more ? more : 8, .scale = 0.2, .absent = !more},
                    {CK_PLAIN(T, more_bias), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = out,
                     .absent = !(more && bias)},
                },
            .lengths = one.of,
            .n_seqs = one.n,
            .absolute = 4e-5,
            .relative = 1e-5,
            .nmse = 1e-11,
            .flops = 4.0 * (double)pairs * out * (in + more),
            .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 98304, 768, 768, 1, 0, 120, 15, "196608 x 768 x 768 + 120");
        check(ck, 49152, 768, 768, 1, 1, 0, 1, "98304 x 768 x 768");
        check(ck, 12288, 1024, 1024, 1, 1, 0, 1, "24576 x 1024 x 1024");
        return;
    }
    for (int i = 0; i < 30; i++)
        check(ck, ck_random(ck, 1, i % 3 ? 150 : 20), 8 * (int)ck_random(ck, 1, i % 4 ? 20 : 60),
              8 * (int)ck_random(ck, 1, i % 5 ? 12 : 90), i % 2, i / 2 % 2,
              i % 6 == 5 ? 8 * (int)ck_random(ck, 1, 20) : 0, 1, "random");
    for (int i = 0; i < 8; i++) {
        const int taps = (int)ck_random(ck, 2, 19);
        check(ck, ck_random(ck, 1, i % 3 ? 150 : 20), 8 * (int)ck_random(ck, 1, 20),
              8 * (int)ck_random(ck, 1, 12), i % 2, 0, 8 * taps * (int)ck_random(ck, 1, 3), taps,
              "more of windows");
    }
}

const struct ck_op ck_linear_pairs = {.stem = "linear_pairs", .cases = cases};

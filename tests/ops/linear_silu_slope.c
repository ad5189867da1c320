/* linear_silu_slope.c - cases of linear times the derivative of silu. */
#include "checkkernel.h"
#include "kernels/linear.h"

static void check(struct ck *ck, const struct ck_lengths *n, int out, int in, const char *note)
{
    typedef struct bi_linear_params T;
    T p = {.axis = BI_AXIS_TOKENS, .n = out, .k = in};
    ck_check(ck,
             &(struct ck_case){
                 .entry = "linear",
                 .reference = bi_op_linear_silu_slope.reference,
                 .params = &p,
                 .params_size = sizeof p,
                 .rows = offsetof(T, rows),
                 .gpu_only = 1,
                 .arrays =
                     {
                         {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = in},
                         {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = out, .width = in,
                          .scale = 0.2},
                         {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = out},
                         {CK_ARRAY(T, slope, ldz), CK_IN, BI_AXIS_TOKENS, .width = out, .scale = 3},
                     },
                 .lengths = n->of,
                 .n_seqs = n->n,
                 .absolute = 2e-5,
                 .relative = 1e-5,
                 .nmse = 1e-11,
                 .flops = 2.0 * n->tokens * out * in,
                 .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t one[] = {1, -1};
    struct ck_lengths n = ck_lengths_of(one);
    if (ck_bench(ck)) {
        n = ck_same(1, 2489);
        check(ck, &n, 128, 128, "128x128");
        return;
    }
    check(ck, &n, 1, 1, "1x1");
    for (int i = 0; i < 12; i++) {
        n = ck_lengths(ck, 4, 90);
        check(ck, &n, (int)ck_random(ck, i % 2 ? 64 : 1, 300),
              (int)ck_random(ck, i % 2 ? 64 : 1, 200), "random");
    }
}

const struct ck_op ck_linear_silu_slope = {.stem = "linear_silu_slope", .cases = cases};

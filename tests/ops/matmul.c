/* matmul.c - cases of the linear kernel as a bare product. */
#include "checkkernel.h"
#include "kernels/linear.h"

static void check(struct ck *ck, const struct ck_lengths *n, int out, int in, const char *note)
{
    typedef struct bi_linear_params T;
    T p = {.axis = BI_AXIS_TOKENS, .n = out, .k = in};
    ck_check(ck, &(struct ck_case){
                     .entry = "linear",
                     .reference = bi_op_matmul.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = in},
                             {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = out, .width = in},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = out},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 1e-4,
                     .relative = 1e-5,
                     .nmse = 1e-11,
                     .flops = 2.0 * n->tokens * out * in,
                     .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(2, 475);
        check(ck, &n, 33, 320, "950 x 33 x 320");
        return;
    }
    for (int i = 0; i < 40; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 50);
        check(ck, &n, (int)ck_random(ck, 1, i % 4 ? 70 : 400),
              (int)ck_random(ck, 1, i % 5 ? 90 : 700), "random");
    }
}

const struct ck_op ck_matmul = {.stem = "matmul", .cases = cases};

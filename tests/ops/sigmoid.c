/* sigmoid.c - cases of the unary kernel as sigmoid. */
#include "checkkernel.h"
#include "kernels/unary.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, enum ck_fill fill,
                  enum bi_axis axis, const char *note)
{
    typedef struct bi_unary_params T;
    T p = {.axis = (int32_t)axis, .width = width, .function = BI_UNARY_SIGMOID, .factor = 0};
    ck_check(ck, &(struct ck_case){
                     .entry = "unary",
                     .reference = bi_op_sigmoid.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, axis, .rows = n->tokens, .width = width,
                              .fill = fill, .scale = 6},
                             {CK_ARRAY(T, y, ldy), CK_OUT, axis, .rows = n->tokens, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 1e-37,
                     .relative = 4e-7,
                     .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 640, CK_NORMAL, BI_AXIS_TOKENS, "3800 x 640");
        return;
    }
    for (int i = 0; i < 40; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 700), i % 4 ? CK_NORMAL : CK_WIDE,
              i % 5 ? BI_AXIS_TOKENS : BI_AXIS_FIXED, "random");
    }
}

const struct ck_op ck_sigmoid = {.stem = "sigmoid", .cases = cases};

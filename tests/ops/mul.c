/* mul.c - cases of the mul kernel. */
#include "checkkernel.h"
#include "kernels/mul.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, const char *note)
{
    typedef struct bi_mul_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width};
    ck_check(
        ck, &(struct ck_case){.entry = "mul",
                              .reference = bi_op_mul.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .rows = offsetof(T, rows),
                              .arrays =
                                  {
                                      {CK_ARRAY(T, a, lda), CK_IN, BI_AXIS_TOKENS, .width = width},
                                      {CK_ARRAY(T, b, ldb), CK_IN, BI_AXIS_TOKENS, .width = width},
                                      {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                                  },
                              .lengths = n->of,
                              .n_seqs = n->n,
                              .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 1536, "3800 x 1536");
        return;
    }
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 700), "random");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"mul_f16", {CK_AT(mul, a), CK_AT(mul, b), CK_AT(mul, y), CK_END}, 1e-7, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_mul = {.stem = "mul", .cases = cases, .entries = entries};

/* halves.c - cases of the halves kernel. */
#include "checkkernel.h"
#include "kernels/halves.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, const char *note)
{
    typedef struct bi_halves_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width};
    ck_check(ck,
             &(struct ck_case){.entry = "halves",
                               .reference = bi_op_halves.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .rows = offsetof(T, rows),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = width},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS,
                                        .width = BI_HALVES_TERMS * width},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 1152, "3800 x 1152");
        return;
    }
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 700), "random");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"halves_f32_f16", {CK_AT(halves, y), CK_END}, 0, 0, 0, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_halves = {.stem = "halves", .cases = cases, .entries = entries};

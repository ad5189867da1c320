/* gelu.c - cases of the unary kernel as gelu. */
#include "unary.h"

static void cases(struct ck *ck)
{
    unary_cases(ck, &(struct unary_case){.function = BI_UNARY_GELU,
                                         .reference = bi_op_gelu.reference,
                                         .scale = 4,
                                         .absolute = 1e-7,
                                         .relative = 4e-7});
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"unary_f32", {CK_END}, 1e-8, 4e-7, 0, NULL},
    {"unary_f16", {CK_AT(unary, x), CK_AT(unary, y), CK_END}, 1e-7, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_gelu = {.stem = "gelu", .cases = cases, .entries = entries};

/* scale.c - cases of the unary kernel as scale. */
#include "unary.h"

static void cases(struct ck *ck)
{
    unary_cases(ck, &(struct unary_case){.function = BI_UNARY_SCALE,
                                         .factor = -1.75f,
                                         .reference = bi_op_scale.reference,
                                         .scale = 1,
                                         .absolute = 1e-45,
                                         .relative = 1e-7});
}

const struct ck_op ck_scale = {.stem = "scale", .cases = cases};

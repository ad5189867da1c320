/* silu.c - cases of the unary kernel as silu. */
#include "unary.h"

static void cases(struct ck *ck)
{
    unary_cases(ck, &(struct unary_case){.function = BI_UNARY_SILU,
                                         .reference = bi_op_silu.reference,
                                         .scale = 6,
                                         .absolute = 1e-36,
                                         .relative = 4e-7});
}

const struct ck_op ck_silu = {.stem = "silu", .cases = cases};

/* sigmoid.c - cases of the unary kernel as sigmoid. */
#include "unary.h"

static void cases(struct ck *ck)
{
    unary_cases(ck, &(struct unary_case){.function = BI_UNARY_SIGMOID,
                                         .reference = bi_op_sigmoid.reference,
                                         .scale = 6,
                                         .absolute = 1e-37,
                                         .relative = 4e-7});
}

const struct ck_op ck_sigmoid = {.stem = "sigmoid", .cases = cases};

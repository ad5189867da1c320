/* silu_grad.c - cases of unary_grad with this function. */
#include "unary_grad.h"

static void cases(struct ck *ck)
{
    unary_grad_cases(ck, BI_UNARY_SILU, bi_op_silu_grad.reference, "silu");
}

const struct ck_op ck_silu_grad = {.stem = "silu_grad", .cases = cases};

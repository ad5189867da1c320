/* gelu_grad.c - cases of unary_grad with this function. */
#include "unary_grad.h"

static void cases(struct ck *ck)
{
    unary_grad_cases(ck, BI_UNARY_GELU, bi_op_gelu_grad.reference, "gelu");
}

const struct ck_op ck_gelu_grad = {.stem = "gelu_grad", .cases = cases};

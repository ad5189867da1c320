/* sigmoid_grad.c - cases of unary_grad with this function. */
#include "unary_grad.h"

static void cases(struct ck *ck)
{
    unary_grad_cases(ck, BI_UNARY_SIGMOID, bi_op_sigmoid_grad.reference, "sigmoid");
}

const struct ck_op ck_sigmoid_grad = {.stem = "sigmoid_grad", .cases = cases};

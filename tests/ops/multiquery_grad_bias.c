/* multiquery_grad_bias.c - cases of the derivative of multiquery by the bias. */
#include "multiquery_grad.h"

static void cases(struct ck *ck)
{
    mg_cases(ck, MG_BIAS);
}

const struct ck_op ck_multiquery_grad_bias = {.stem = "multiquery_grad_bias", .cases = cases};

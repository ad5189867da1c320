/* multiquery_grad_keys.c - cases of the derivative of multiquery by keys and values. */
#include "multiquery_grad.h"

static void cases(struct ck *ck)
{
    mg_cases(ck, MG_KEYS);
}

const struct ck_op ck_multiquery_grad_keys = {.stem = "multiquery_grad_keys", .cases = cases};

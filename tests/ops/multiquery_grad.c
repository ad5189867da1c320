/* multiquery_grad.c - cases of the derivative of multiquery by queries. */
#include "multiquery_grad.h"

static void cases(struct ck *ck)
{
    mg_cases(ck, MG_QUERIES);
}

const struct ck_op ck_multiquery_grad = {.stem = "multiquery_grad", .cases = cases};

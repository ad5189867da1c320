/* linear_silu_pair.c - cases of linear with silu, and the product beside it. */
#include "linear_silu.h"

static void cases(struct ck *ck)
{
    ck_linear_silu_cases(ck, true);
}

const struct ck_op ck_linear_silu_pair = {.stem = "linear_silu_pair", .cases = cases};

/* linear_silu_slope.c - cases of linear times the derivative of silu. */
#include "linear_silu.h"

static void cases(struct ck *ck)
{
    ck_linear_silu_cases(ck, false);
}

const struct ck_op ck_linear_silu_slope = {.stem = "linear_silu_slope", .cases = cases};

/* outer_mul.c - cases of the outer_add kernel as outer_mul launches it. */
#include "outer.h"

static void cases(struct ck *ck)
{
    ck_outer_grids(ck, &bi_op_outer_mul, 1);
}

const struct ck_op ck_outer_mul = {.stem = "outer_mul", .cases = cases};

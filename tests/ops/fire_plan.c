/* fire_plan.c - cases of this kernel. */
#include "fires.h"

static void cases(struct ck *ck)
{
    ck_fires(ck, &bi_op_fire_plan);
}

const struct ck_op ck_fire_plan = {.stem = "fire_plan", .cases = cases};

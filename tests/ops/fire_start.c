/* fire_start.c - cases of this kernel. */
#include "fires.h"

static void cases(struct ck *ck)
{
    ck_fires(ck, &bi_op_fire_start);
}

const struct ck_op ck_fire_start = {.stem = "fire_start", .cases = cases};

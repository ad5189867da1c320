/* fire_place.c - cases of this kernel. */
#include "fires.h"

static void cases(struct ck *ck)
{
    ck_fires(ck, &bi_op_fire_place);
}

const struct ck_op ck_fire_place = {.stem = "fire_place", .cases = cases};

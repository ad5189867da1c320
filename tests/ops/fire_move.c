/* fire_move.c - cases of this kernel. */
#include "fires.h"

static void cases(struct ck *ck)
{
    ck_fires(ck, &bi_op_fire_move);
}

const struct ck_op ck_fire_move = {.stem = "fire_move", .cases = cases};

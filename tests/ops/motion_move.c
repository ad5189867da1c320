/* motion_move.c - cases of this kernel. */
#include "motions.h"

static void cases(struct ck *ck)
{
    ck_motions(ck, &bi_op_motion_move);
}

const struct ck_op ck_motion_move = {.stem = "motion_move", .cases = cases};

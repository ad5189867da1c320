/* motion_kick.c - cases of this kernel. */
#include "motions.h"

static void cases(struct ck *ck)
{
    ck_motions(ck, &bi_op_motion_kick);
}

const struct ck_op ck_motion_kick = {.stem = "motion_kick", .cases = cases};

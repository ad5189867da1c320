/* motion_start.c - cases of this kernel. */
#include "motions.h"

static void cases(struct ck *ck)
{
    ck_motions(ck, &bi_op_motion_start);
}

const struct ck_op ck_motion_start = {.stem = "motion_start", .cases = cases};

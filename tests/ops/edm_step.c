/* edm_step.c - cases of this kernel. */
#include "edms.h"

static void cases(struct ck *ck)
{
    ck_edms(ck, &bi_op_edm_step);
}

const struct ck_op ck_edm_step = {.stem = "edm_step", .cases = cases};

/* edm_start.c - cases of this kernel. */
#include "edms.h"

static void cases(struct ck *ck)
{
    ck_edms(ck, &bi_op_edm_start);
}

const struct ck_op ck_edm_start = {.stem = "edm_start", .cases = cases};

/* edm_move.c - cases of this kernel. */
#include "edms.h"

static void cases(struct ck *ck)
{
    ck_edms(ck, &bi_op_edm_move);
}

const struct ck_op ck_edm_move = {.stem = "edm_move", .cases = cases};

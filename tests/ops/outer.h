/* outer.h - grids of tokens, for the cases of ops of the kernel outer_add. */
#ifndef BI_CK_OUTER_H
#define BI_CK_OUTER_H

#include "checkkernel.h"

/* Cases of one of the ops. product: outer_mul, which has no x. */
void ck_outer_grids(struct ck *ck, const struct bi_op *op, int product);

#endif

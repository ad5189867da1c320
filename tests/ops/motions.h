/* motions.h - random atoms that move, for the cases of ops of kernels/motion.h. */
#ifndef BI_CK_MOTIONS_H
#define BI_CK_MOTIONS_H

#include "checkkernel.h"

/* Cases of one of the ops, all of whose numbers are equal to the bit. */
void ck_motions(struct ck *ck, const struct bi_op *op);

#endif

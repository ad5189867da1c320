/* fires.h - random relaxations, for the cases of ops of kernels/fire.h. */
#ifndef BI_CK_FIRES_H
#define BI_CK_FIRES_H

#include "checkkernel.h"

/* Cases of one of the ops, all of whose numbers are equal to the bit. */
void ck_fires(struct ck *ck, const struct bi_op *op);

#endif

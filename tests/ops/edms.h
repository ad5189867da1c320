/* edms.h - random steps of a sampler of atoms, for the cases of ops of kernels/edm.h. */
#ifndef BI_CK_EDMS_H
#define BI_CK_EDMS_H

#include "checkkernel.h"

void ck_edms(struct ck *ck, const struct bi_op *op);

#endif

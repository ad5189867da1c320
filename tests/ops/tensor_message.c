/* tensor_message.c - cases of this kernel. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_atoms_message(ck, &bi_op_tensor_message, false);
}

const struct ck_op ck_tensor_message = {.stem = "tensor_message", .cases = cases};

/* tensor_message_grad.c - cases of this kernel. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_atoms_message(ck, &bi_op_tensor_message_grad, true);
}

const struct ck_op ck_tensor_message_grad = {.stem = "tensor_message_grad", .cases = cases};

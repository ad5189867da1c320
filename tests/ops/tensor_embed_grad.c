/* tensor_embed_grad.c - cases of this kernel. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_atoms_embed(ck, &bi_op_tensor_embed_grad, true);
}

const struct ck_op ck_tensor_embed_grad = {.stem = "tensor_embed_grad", .cases = cases};

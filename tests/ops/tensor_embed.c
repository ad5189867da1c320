/* tensor_embed.c - cases of this kernel. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_atoms_embed(ck, &bi_op_tensor_embed, false);
}

const struct ck_op ck_tensor_embed = {.stem = "tensor_embed", .cases = cases};

/* tensor_update.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_update, BI_TENSOR_UPDATE);
}

const struct ck_op ck_tensor_update = {.stem = "tensor_update", .cases = cases};

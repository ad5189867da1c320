/* tensor_norm.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_norm, BI_TENSOR_NORM);
}

const struct ck_op ck_tensor_norm = {.stem = "tensor_norm", .cases = cases};

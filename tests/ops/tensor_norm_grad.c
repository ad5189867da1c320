/* tensor_norm_grad.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_norm_grad, BI_TENSOR_NORM_GRAD);
}

const struct ck_op ck_tensor_norm_grad = {.stem = "tensor_norm_grad", .cases = cases};

/* tensor_scale_grad.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_scale_grad, BI_TENSOR_SCALE_GRAD);
}

const struct ck_op ck_tensor_scale_grad = {.stem = "tensor_scale_grad", .cases = cases};

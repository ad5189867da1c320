/* tensor_update_grad.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_update_grad, BI_TENSOR_UPDATE_GRAD);
}

const struct ck_op ck_tensor_update_grad = {.stem = "tensor_update_grad", .cases = cases};

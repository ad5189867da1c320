/* tensor_normalise_grad.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_normalise_grad, BI_TENSOR_NORMALISE_GRAD);
}

const struct ck_op ck_tensor_normalise_grad = {.stem = "tensor_normalise_grad", .cases = cases};

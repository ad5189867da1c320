/* tensor_product_grad.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_product_grad, BI_TENSOR_PRODUCT_GRAD);
}

const struct ck_op ck_tensor_product_grad = {.stem = "tensor_product_grad", .cases = cases};

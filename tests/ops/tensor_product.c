/* tensor_product.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_product, BI_TENSOR_PRODUCT);
}

const struct ck_op ck_tensor_product = {.stem = "tensor_product", .cases = cases};

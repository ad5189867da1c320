/* tensor_scale.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_scale, BI_TENSOR_SCALE);
}

const struct ck_op ck_tensor_scale = {.stem = "tensor_scale", .cases = cases};

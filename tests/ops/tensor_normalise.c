/* tensor_normalise.c - cases of tensor_map with this function. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_matrices(ck, &bi_op_tensor_normalise, BI_TENSOR_NORMALISE);
}

const struct ck_op ck_tensor_normalise = {.stem = "tensor_normalise", .cases = cases};

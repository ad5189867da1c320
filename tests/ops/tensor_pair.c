/* tensor_pair.c - cases of two functions of matrices, one behind the other. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    ck_pairs(ck, BI_TENSOR_SCALE, BI_TENSOR_NORMALISE);
    ck_pairs(ck, BI_TENSOR_UPDATE, BI_TENSOR_NORMALISE);
    ck_pairs(ck, BI_TENSOR_UPDATE, BI_TENSOR_NORM);
    ck_pairs(ck, BI_TENSOR_NORM_GRAD, BI_TENSOR_UPDATE_GRAD);
    ck_pairs(ck, BI_TENSOR_NORMALISE_GRAD, BI_TENSOR_UPDATE_GRAD);
    ck_pairs(ck, BI_TENSOR_NORMALISE_GRAD, BI_TENSOR_SCALE_GRAD);
}

const struct ck_op ck_tensor_pair = {.stem = "tensor_pair", .cases = cases};

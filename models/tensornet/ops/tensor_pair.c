/* tensor_pair.c - tensor_pair: two functions of the matrices of atoms, one behind the other.
 *   inputs of the first, of tensor_map.h and no product, and those of the second but for the matrix
 *   that the first gives -> outputs of both
 * Made by the rule tensor_pair (graph/rules/tensors.c). */
#include "tensors.h"

const struct bi_op bi_op_tensor_pair = {
    .name = "tensor_pair",
    .infer = bi_infer_tensor_pair,
    .launch = bi_launch_tensor_pair,
    .reference = bi_ref_tensor_pair,
    .cost = bi_cost_bytes,
    .required = 7,
};

/* linear_sm90.h - linear.h for Hopper's own kernel. */
#ifndef BI_LINEAR_SM90_PARAMS_H
#define BI_LINEAR_SM90_PARAMS_H

#include "linear.h"
#include "sm90_maps.h"

struct bi_linear_sm90_params {
    struct bi_tensor_map maps[2]; /* x [rows, k], w [n, k] */
    struct bi_linear_params linear;
};

/* And with what follows y. */
struct bi_linear_followed_sm90_params {
    struct bi_tensor_map maps[6]; /* linear_sm90_kinds.h */
    struct bi_linear_params linear_followed;
};

#endif

/* attention_sm90.h - attention.h for Hopper's own kernel. */
#ifndef BI_ATTENTION_SM90_PARAMS_H
#define BI_ATTENTION_SM90_PARAMS_H

#include "../../attention.h"
#include "sm90_maps.h"

struct bi_attention_sm90_params {
    struct bi_tensor_map maps[3]; /* q, k, v [tokens, n_heads * head_dim] */
    struct bi_attention_params attention;
};

#endif

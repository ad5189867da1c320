/* rel_attention_sm90.h - rel_attention.h for Hopper's own kernel. */
#ifndef BI_REL_ATTENTION_SM90_PARAMS_H
#define BI_REL_ATTENTION_SM90_PARAMS_H

#include "../../rel_attention.h"
#include "sm90_maps.h"

struct bi_rel_attention_sm90_params {
    struct bi_tensor_map maps[4]; /* k, v [windows * n, width], r [2 n - 1, width], q */
    struct bi_rel_attention_params rel_attention;
};

#endif

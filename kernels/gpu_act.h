/* gpu_act.h - what linear does to a sum before it is stored. */
#ifndef BI_GPU_ACT_H
#define BI_GPU_ACT_H

#include "gpu_math.h"

#include "linear.h"

/* v after the activation of enum bi_act (linear.h); v itself for any other. */
DEV float linear_act(float v, int act)
{
    return act == BI_ACT_GELU        ? gelu(v)
           : act == BI_ACT_RELU      ? relu(v)
           : act == BI_ACT_SILU      ? silu(v)
           : act == BI_ACT_GELU_TANH ? gelu_tanh(v)
                                     : v;
}

#endif

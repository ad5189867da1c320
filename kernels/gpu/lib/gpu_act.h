/* gpu_act.h - what linear does to a sum before it is stored. */
#ifndef BI_GPU_ACT_H
#define BI_GPU_ACT_H

#include "gpu_math.h"

#include "../../linear.h"

/* v after the activation of enum bi_act (linear.h); v itself for any other. */
DEV float linear_act(float v, int act)
{
    return act == BI_ACT_GELU        ? gelu(v)
           : act == BI_ACT_RELU      ? relu(v)
           : act == BI_ACT_SILU      ? silu(v)
           : act == BI_ACT_GELU_TANH ? gelu_tanh(v)
                                     : v;
}

/* Element [m, n] of y in float32 but for the residual, of the sum d with its bias. */
DEV float linear_result(const struct bi_linear_params &p, int64_t m, int n, float d)
{
    if (p.before)
        p.before[m * p.ldb + n] = d;
    const float v = linear_act(d, p.act);
    return p.slope ? v * silu_slope(p.slope[m * p.ldz + n]) : v;
}

/* Writes element [m, n] of y in float32, of the sum d, where it is one of `rows` and columns. */
DEV void linear_put(const struct bi_linear_params &p, int64_t m, int n, int64_t rows, float d)
{
    if (m >= rows || n >= p.n)
        return;
    float v = linear_result(p, m, n, d + (p.bias ? p.bias[n] : 0));
    if (p.residual)
        v += p.residual[m * p.ldr + n];
    p.y[m * p.ldy + n] = v;
}

#endif

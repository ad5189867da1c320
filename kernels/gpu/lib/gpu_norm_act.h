/* gpu_norm_act.h - the activations of norm_act.h, for results of type Y. */
#ifndef BI_GPU_NORM_ACT_H
#define BI_GPU_NORM_ACT_H

#include "gpu_math.h"
#include "../../norm_act.h"

/* log(1 + e^z); see vf_softplus in cpu/math.h. -infinity gives NaN. */
DEV float softplus(float z)
{
    const float e = exp_(z < 0 ? z : -z), t = e / (2.0f + e), x = t * t;
    float q = 2.0f / 15;
    q = fma_(q, x, 2.0f / 13);
    q = fma_(q, x, 2.0f / 11);
    q = fma_(q, x, 2.0f / 9);
    q = fma_(q, x, 2.0f / 7);
    q = fma_(q, x, 2.0f / 5);
    q = fma_(q, x, 2.0f / 3);
    return (z > 0 ? z : 0 * z) + fma_(q * x, t, 2.0f * t);
}

/* The hyperbolic tangent, 1 and -1 at the infinities; see vf_tanh in cpu/math.h. */
DEV float tanh_(float z)
{
    const float a = z < 0 ? -z : z, x = z * z, e = exp_(-2.0f * a);
    const float near = z * fma_(x, 105.0f + x, 945.0f) / fma_(x, fma_(15.0f, x, 420.0f), 945.0f);
    const float far = (1.0f - e) / (1.0f + e);
    return a < 0.5f ? near : z < 0 ? -far : far;
}

/* 1 / (1 + e^-x) for a factor of what is rounded to Y. For f16 the chip's exponential and
 * reciprocal do, 3e-7 off: a division has branches, and there are 10^8 of them. */
template <typename Y> DEV float gate(float x)
{
    return sizeof(Y) == 4 ? 1.0f / (1.0f + exp_(-x)) : reciprocal(1.0f + exp2_(x * -LOG2E));
}

/* z sigmoid(1.702 z). -infinity gives NaN, here and in the next one. */
template <typename Y> DEV float quick_gelu(float z)
{
    return z * gate<Y>(1.702f * z);
}

/* z/2 (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))). */
template <typename Y> DEV float tanh_gelu(float z) /* 1/2 (1 + tanh x) = sigmoid(2 x) */
{
    return z * gate<Y>(1.59576912f * fma_(0.044715f, z * z * z, z));
}

/* The activation of enum bi_norm_act; z itself for any other, BI_NORM_ACT_NONE too. */
template <typename Y> DEV float activate(float z, int act)
{
    return act == BI_NORM_ACT_QUICK_GELU  ? quick_gelu<Y>(z)
           : act == BI_NORM_ACT_TANH_GELU ? tanh_gelu<Y>(z)
           : act == BI_NORM_ACT_RELU      ? (z < 0 ? 0 : z) /* NaN stays */
           : act == BI_NORM_ACT_SOFTPLUS  ? softplus(z)
           : act == BI_NORM_ACT_TANH      ? tanh_(z)
                                          : z;
}

#endif

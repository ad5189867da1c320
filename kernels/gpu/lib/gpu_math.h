/* gpu_math.h - exp, log, activations, sine and cosine of kernels, without any vendor's library.
 * Errors as measured by tests/gpu/math_test.cpp on the host. NaN gives NaN. */
#ifndef BI_GPU_MATH_H
#define BI_GPU_MATH_H

#include "gpu.h"

#define LOG2E 1.44269504f

/* x 2^n, n an integer in [-252, 254], which is not checked, in two steps so that denormal results
 * are right; a result too large is infinity. */
DEV float scale2(float x, float n)
{
    const int i = (int)n, half = i / 2;
    return x * bits<float>((half + 127) << 23) * bits<float>((i - half + 127) << 23);
}

/* e^x; see vf_exp in cpu/math.h, whose coefficients these are. At most 1.01 ulp; infinity where e^x
 * is too large for a float (also of infinity), 0 where it is too small. */
DEV float exp_(float x)
{
    const float c = x < -105.0f ? -105.0f : x > 90.0f ? 90.0f : x; /* NaN stays */
    const float n = round_(c * LOG2E);
    float r = fma_(n, -0.693145752f, c);
    r = fma_(n, -1.42860677e-06f, r);
    float q = 1.381457783e-03f;
    q = fma_(q, r, 8.368726820e-03f);
    q = fma_(q, r, 4.166838899e-02f);
    q = fma_(q, r, 1.666652113e-01f);
    q = fma_(q, r, 4.999999404e-01f);
    q = fma_(r * r, q, r);
    return c == c ? scale2(q + 1.0f, n) : x;
}

/* The natural logarithm of a normal x > 0, 2 ulp (1e-7 near x = 1): x = m 2^e with m in
 * [sqrt 1/2, sqrt 2), and the series of atanh((m - 1) / (m + 1)). Infinities and NaN stay; for 0,
 * denormal and negative x it is a number without meaning, no NaN. */
DEV float log_(float x)
{
    const int raw = bits<int>(x) - 0x3f3504f3, e = raw >> 23;
    const float m = bits<float>((raw & 0x7fffff) + 0x3f3504f3);
    const float t = (m - 1.0f) / (m + 1.0f), z = t * t;
    float q = 0.22222222f;
    q = fma_(q, z, 0.28571429f);
    q = fma_(q, z, 0.4f);
    q = fma_(q, z, 0.66666667f);
    const float r = fma_(q * z, t, 2.0f * t);
    return x - x == 0 ? fma_((float)e, 0.693147182f, r) : x;
}

/* z/2 (1 + erf(z / sqrt 2)) = max(z, 0) - t/2 erfc(t / sqrt 2), t = |z|; erfc is 2 to a
 * polynomial in t (coefficients of vf_gelu in cpu/math.h). z >= 0: 2 ulp; z < 0: 4e-8 absolute;
 * and what exp2_ is off. */
DEV float erfc_power(float t) /* log2 of erfc(t / sqrt 2) */
{
    float q = -2.000289356e-08f;
    q = fma_(q, t, 6.443548273e-07f);
    q = fma_(q, t, -8.776383766e-06f);
    q = fma_(q, t, 6.421949365e-05f);
    q = fma_(q, t, -2.390479349e-04f);
    q = fma_(q, t, -8.142329170e-05f);
    q = fma_(q, t, 7.042827085e-03f);
    q = fma_(q, t, -5.250303447e-02f);
    q = fma_(q, t, -4.592021108e-01f);
    q = fma_(q, t, -1.151106119f);
    return q * t;
}
DEV float gelu(float z)
{
    const float a = z < 0 ? -z : z, t = a > 12.5f ? 12.5f : a; /* NaN stays */
    return fma_(-0.5f * t, exp2_(erfc_power(t)), z > 0 ? z : 0 * t);
}
/* The slope of gelu: the normal distribution and z times its density. NaN for infinities. */
DEV float gelu_slope(float z)
{
    const float a = z < 0 ? -z : z, t = a > 12.5f ? 12.5f : a;
    const float tail = 0.5f * exp2_(erfc_power(t)), p = z < 0 ? tail : 1 - tail;
    return fma_(z, 0.398942280f * exp_(-0.5f * z * z), p);
}

/* The same for results that are rounded to f16, with two thirds of the instructions: 8e-6 of the
 * result beside what exp2_ is off; -6e-9 in place of nothing below -6. */
DEV float gelu_half(float z)
{
    const float t = min_(z < 0 ? -z : z, 6.0f);
    float q = -1.793763886e-06f;
    q = fma_(q, t, 6.072587348e-05f);
    q = fma_(q, t, -9.231838048e-04f);
    q = fma_(q, t, 8.476841263e-03f);
    q = fma_(q, t, -5.389092863e-02f);
    q = fma_(q, t, -4.585416019e-01f);
    q = fma_(q, t, -1.151214361e+00f);
    return fma_(-0.5f * t, exp2_(q * t), above_zero(z));
}

/* 1 / (1 + e^-x), 0 and 1 at the infinities. */
DEV float sigmoid(float x)
{
    const float e = exp_(x < 0 ? x : -x); /* at most 1 */
    return x < 0 ? e / (1.0f + e) : 1.0f / (1.0f + e);
}

/* x sigmoid(x). -infinity gives NaN, as 0 times it, here and in gelu_tanh(). */
DEV float silu(float x)
{
    return x * sigmoid(x);
}

/* The derivative of silu. */
DEV float silu_slope(float x)
{
    const float s = sigmoid(x), t = sigmoid(-x);
    return fma_(x * s, t, s);
}

/* x/2 (1 + tanh u) = x sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3) */
DEV float gelu_tanh(float x)
{
    return x * sigmoid(x * fma_(x * x, 0.0713548162726f, 1.59576912161f));
}

/* max(x, 0). */
DEV float relu(float x)
{
    return above_zero(x);
}

/* Sine and cosine for |x| <= 1e5: x - n pi/2 with pi/2 in three parts, each product fused;
 * the first subtraction is exact. 1.5 ulp. A larger |x| is not refused: results lose their digits,
 * and are NaN or without meaning at infinities. */
DEV void sin_cos(float x, float *sine, float *cosine)
{
    const float n = round_(x * 0.636619772f);
    float r = fma_(n, -1.57079637f, x);
    r = fma_(n, 4.37113883e-08f, r);
    r = fma_(n, 1.71512451e-15f, r);
    const float z = r * r;
    float s = fma_(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = fma_(s, z, -1.6666654611e-1f);
    s = fma_(s * z, r, r);
    float c = fma_(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = fma_(c, z, 4.166664568298827e-2f);
    c = fma_(c * z, z, fma_(-0.5f, z, 1.0f));
    const int quadrant = (int)n & 3;
    const float first = quadrant & 1 ? c : s, second = quadrant & 1 ? s : c;
    *sine = quadrant & 2 ? -first : first;
    *cosine = (quadrant + 1) & 2 ? -second : second;
}

#endif

/* math.h - exp and activations of vectors. Polynomials are fitted by tools/fit_math.py; the stated
 * errors are measured over all floats of the range by tests/ops/math_test.c, which checks
 * them. One ulp is the spacing of floats at the exact result. NaN gives NaN. */
#ifndef BI_CPU_MATH_H
#define BI_CPU_MATH_H

#include "simd.h"

/* e^x; 0 below -103.98, infinity above 88.73, denormal results rounded like others.
 * Error: at most 1.01 ulp. x = n ln 2 + r; the high part of ln 2 has 16 bits, so n times it is
 * exact without fused operations. */
BI_INLINE vf vf_exp(vf x)
{
    x = vf_max(vf_set1(-105.0f), vf_min(vf_set1(90.0f), x)); /* in this order for NaN */
    vf n = vf_round(vf_mul(x, vf_set1(1.44269504f)));
    vf r = vf_fnma(n, vf_set1(0.693145752f), x);
    r = vf_fnma(n, vf_set1(1.42860677e-06f), r);
    vf q = vf_set1(1.381457783e-03f);
    q = vf_fma(q, r, vf_set1(8.368726820e-03f));
    q = vf_fma(q, r, vf_set1(4.166838899e-02f));
    q = vf_fma(q, r, vf_set1(1.666652113e-01f));
    q = vf_fma(q, r, vf_set1(4.999999404e-01f));
    q = vf_fma(vf_mul(r, r), q, r);
    return vf_scale2(vf_add(q, vf_set1(1.0f)), n);
}

/* erfc(t / sqrt 2) / 2, t in [0, 11.5], or NaN: a power of two whose exponent is a polynomial in t.
 * For a larger t the result means nothing. */
BI_INLINE vf vf_half_erfc(vf t)
{
    vf q = vf_set1(-2.000289356e-08f);
    q = vf_fma(q, t, vf_set1(6.443548273e-07f));
    q = vf_fma(q, t, vf_set1(-8.776383766e-06f));
    q = vf_fma(q, t, vf_set1(6.421949365e-05f));
    q = vf_fma(q, t, vf_set1(-2.390479349e-04f));
    q = vf_fma(q, t, vf_set1(-8.142329170e-05f));
    q = vf_fma(q, t, vf_set1(7.042827085e-03f));
    q = vf_fma(q, t, vf_set1(-5.250303447e-02f));
    q = vf_fma(q, t, vf_set1(-4.592021108e-01f));
    q = vf_fma(q, t, vf_set1(-1.151106119f));
    vf n = vf_round(vf_mul(q, t));
    vf f = vf_fma(q, t, vf_neg(n));
    /* 2^f / 2: the halves of the fitted coefficients */
    vf e = vf_set1(0.5f * 1.326472731e-03f);
    e = vf_fma(e, f, vf_set1(0.5f * 9.671512991e-03f));
    e = vf_fma(e, f, vf_set1(0.5f * 5.550733581e-02f));
    e = vf_fma(e, f, vf_set1(0.5f * 2.402224243e-01f));
    e = vf_fma(e, f, vf_set1(0.5f * 6.931470037e-01f));
    e = vf_fma(e, f, vf_set1(0.5f));
    return vf_scale2_normal(e, n);
}

/* gelu(z) = z/2 (1 + erf(z / sqrt 2)), as max(z, 0) - t/2 erfc(t / sqrt 2) with t = |z|: no
 * cancellation where z < 0.
 * Error: z >= 0: 2.5 ulp. z < 0: 4.2 ulp to -1, 14 ulp to -3; below -3, where gelu > -0.0041,
 * 5e-9 absolute. z/2 (1 + erf) in floats is off by up to 1e-7 there, even with a perfect erf. */
BI_INLINE vf vf_gelu(vf z)
{
    /* gelu(-11.5) = -1e-35 stands for all below it: no denormals arise, which are slow. In
     * this order for NaN. */
    const vf t = vf_min(vf_set1(11.5f), vf_abs(z));
    return vf_fnma(t, vf_half_erfc(t), vf_max(vf_zero(), z));
}

/* The slope of gelu, P(z) + z e^(-z^2 / 2) / sqrt(2 pi); P is the normal distribution. Of an
 * infinite z it is NaN. */
BI_INLINE vf vf_gelu_slope(vf z)
{
    const vf t = vf_min(vf_set1(11.5f), vf_abs(z)), tail = vf_half_erfc(t);
    const vf p = vf_select(vf_lt(z, vf_zero()), tail, vf_sub(vf_set1(1), tail));
    const vf density = vf_mul(vf_exp(vf_mul(vf_mul(z, z), vf_set1(-0.5f))), vf_set1(0.398942280f));
    return vf_fma(z, density, p);
}

/* log(1 + e^z) = max(z, 0) + log(1 + e), e = e^-|z| in (0, 1], the logarithm as twice the
 * series of atanh(e / (2 + e)), whose argument is at most 1/3. Error: at most 3 ulp. */
BI_INLINE vf vf_softplus(vf z)
{
    const vf e = vf_exp(vf_neg(vf_abs(z))), t = vf_div(e, vf_add(vf_set1(2), e));
    const vf x = vf_mul(t, t);
    vf q = vf_set1(2.0f / 15);
    q = vf_fma(q, x, vf_set1(2.0f / 13));
    q = vf_fma(q, x, vf_set1(2.0f / 11));
    q = vf_fma(q, x, vf_set1(2.0f / 9));
    q = vf_fma(q, x, vf_set1(2.0f / 7));
    q = vf_fma(q, x, vf_set1(2.0f / 5));
    q = vf_fma(q, x, vf_set1(2.0f / 3));
    q = vf_fma(vf_mul(q, x), t, vf_mul(vf_set1(2), t));
    return vf_add(vf_max(vf_zero(), z), q);
}

/* (1 - e) / (1 + e), e = e^-2|z|, with the sign of z; below 1/2, where the difference would lose
 * digits, the continued fraction z / (1 + z^2 / (3 + z^2 / (5 + ...))) to its fifth term. 4 ulp. */
BI_INLINE vf vf_tanh(vf z)
{
    const vf one = vf_set1(1), a = vf_abs(z), x = vf_mul(z, z);
    const vf e = vf_exp(vf_mul(vf_set1(-2), a));
    const vf above = vf_fma(x, vf_add(vf_set1(105), x), vf_set1(945));
    const vf below = vf_fma(x, vf_fma(vf_set1(15), x, vf_set1(420)), vf_set1(945));
    const vf far = vf_div(vf_sub(one, e), vf_add(one, e));
    return vf_select(vf_lt(a, vf_set1(0.5f)), vf_div(vf_mul(z, above), below),
                     vf_select(vf_lt(z, vf_zero()), vf_neg(far), far));
}

/* The natural logarithm of a normal z > 0, 2 ulp (1e-7 near z = 1); log_ of gpu_math.h. Zero,
 * denormals, negative numbers, infinity and NaN give finite numbers that mean nothing. */
BI_INLINE vf vf_log(vf z)
{
    const vi raw = vi_sub(vf_bits(z), vi_set1(0x3f3504f3));
    const vf e = vi_to_float(vi_sar(raw, 23)), one = vf_set1(1);
    const vf m = vi_float_bits(vi_add(vi_and(raw, vi_set1(0x7fffff)), vi_set1(0x3f3504f3)));
    const vf t = vf_div(vf_sub(m, one), vf_add(m, one)), x = vf_mul(t, t);
    vf q = vf_set1(0.22222222f);
    q = vf_fma(q, x, vf_set1(0.28571429f));
    q = vf_fma(q, x, vf_set1(0.4f));
    q = vf_fma(q, x, vf_set1(0.66666667f));
    return vf_fma(e, vf_set1(0.693147182f), vf_fma(vf_mul(q, x), t, vf_add(t, t)));
}

/* z / (1 + e^-z); 3 ulp. Below -88.73, where it is above -1e-36, -0, but NaN for -infinity. */
BI_INLINE vf vf_silu(vf z)
{
    return vf_div(z, vf_add(vf_set1(1), vf_exp(vf_neg(z))));
}

/* z/2 (1 + tanh u) = z / (1 + e^-2u), u = sqrt(2/pi) (z + 0.044715 z^3); the exponent is off by
 * its rounding: 4 ulp where |z| < 1, 1e-6 relative to -5, 1e-6 absolute below; NaN for -infinity.
 */
BI_INLINE vf vf_gelu_tanh(vf z)
{
    const vf u = vf_fma(vf_mul(z, z), vf_set1(-0.0713548162726f), vf_set1(-1.59576912161f));
    return vf_div(z, vf_add(vf_set1(1), vf_exp(vf_mul(z, u))));
}

/* max(z, 0); NaN stays. */
BI_INLINE vf vf_relu(vf z)
{
    return vf_max(vf_zero(), z); /* in this order for NaN */
}

#endif

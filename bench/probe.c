/* probe.c - the arithmetic peak of one core: independent multiply-adds in registers. */
#include "kernels/cpu/simd.h"

#include "probe.h"

/* 12 chains cover a latency of 4 or 5 cycles on 2 pipes and fit 16 registers. */
double BI_ISA_NAME(probe)(int64_t rounds)
{
    vf a = vf_set1(0.999f), b = vf_set1(1e-3f), s[12];
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        s[i] = vf_set1((float)i);
    for (int64_t n = 0; n < rounds; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++)
            s[i] = vf_fma(s[i], a, b);
    }
    float sum = 0;
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++)
        sum += vf_hsum(s[i]);
    /* sum is never negative, but the compiler must not know */
    return sum < -1e30f ? 0 : (double)rounds * 12 * VW * 2;
}

/* grad_rows.h - rows of derivatives of attention: products along lanes, sums, exponentials. */
#ifndef BI_CPU_GRAD_ROWS_H
#define BI_CPU_GRAD_ROWS_H

#include <float.h>

#include "math.h"
#include "rows.h"

/* The sum of a[c] b[c], n of them, in one order for a set of instructions; 0 for n 0. */
BI_INLINE float dot(const float *a, const float *b, int n)
{
    vf sum = vf_zero();
    for (int c = 0; c < n; c += VW)
        sum = vf_fma(vf_load_n(a + c, lanes(c, n)), vf_load_n(b + c, lanes(c, n)), sum);
    return vf_hsum(sum);
}

/* y += x by, of n numbers; y is x or does not overlap it. */
BI_INLINE void add_row(float *y, const float *x, float by, int n)
{
    for (int c = 0; c < n; c += VW) {
        const int k = lanes(c, n);
        vf_store_n(y + c, vf_fma(vf_load_n(x + c, k), vf_set1(by), vf_load_n(y + c, k)), k);
    }
}

/* Each of z[n] becomes e^(z - largest); gives the largest of the z as they were, at least -FLT_MAX,
 * and in *total the sum of what they became: 0 where all are -infinity, and for n 0. */
BI_INLINE float exponentials(float *z, int n, float *total)
{
    vf most = vf_set1(-FLT_MAX), sum = vf_zero();
    for (int j = 0; j < n; j += VW) {
        const int k = lanes(j, n);
        most = vf_max(most, vf_select(vm_first(k), vf_load_n(z + j, k), most));
    }
    const float top = vf_hmax(most);
    for (int j = 0; j < n; j += VW) {
        const int k = lanes(j, n);
        const vf e = vf_exp(vf_sub(vf_load_n(z + j, k), vf_set1(top)));
        vf_store_n(z + j, e, k);
        sum = vf_add(sum, vf_select(vm_first(k), e, vf_zero()));
    }
    *total = vf_hsum(sum);
    return top;
}

#endif

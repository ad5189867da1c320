/* tensor_math.h - the formulas of tensor_map.h for one atom and channel, in numbers of any kind.
 *
 * Before it is included BI_NUM is the kind of number (double, float, a vector of floats), BI_REAL
 * the type of its elements, and BI_TENSOR_FN the words in front of a function. The reference in
 * double, the CPU's kernels and the GPU's are made of these same lines. Sums have one order.
 *
 * Coordinates c of a matrix m: 0 along unit / sqrt 3; 1 to 3 along [e]x / sqrt 2 for x, y, z, where
 * [u]x has the rows (0, -z, y), (z, 0, -x), (-y, x, 0); 4 to 8 along xy, xz, yz, xx - yy (/ sqrt 2)
 * and 2 zz - xx - yy (/ sqrt 6). They are orthonormal: |m|^2 is the sum of the squares of c, and
 * the derivative by c is what the derivative by m has along the same matrices. */
#ifndef BI_TENSOR_MATH_H
#define BI_TENSOR_MATH_H

#include "tensor_map.h"

#define BI_TENSOR_C(x) ((BI_REAL)(x))
#define BI_TENSOR_UNROLL _Pragma("GCC unroll 9") /* numbers stay in registers */
#define BI_SQRT_HALF BI_TENSOR_C(0.70710678118654752440)
#define BI_SQRT_THIRD BI_TENSOR_C(0.57735026918962576451)
#define BI_SQRT_SIXTH BI_TENSOR_C(0.40824829046386301637)

/* c [9] -> m [9], row by row; m must not be c, here and in the inverse. */
BI_TENSOR_FN void bi_tensor_compose(const BI_NUM *c, BI_NUM *m)
{
    const BI_NUM i = c[0] * BI_SQRT_THIRD, d = c[7] * BI_SQRT_HALF, z = c[8] * BI_SQRT_SIXTH;
    m[0] = i + d - z;
    m[4] = i - d - z;
    m[8] = i + z + z;
    m[1] = (c[4] - c[3]) * BI_SQRT_HALF;
    m[3] = (c[4] + c[3]) * BI_SQRT_HALF;
    m[2] = (c[5] + c[2]) * BI_SQRT_HALF;
    m[6] = (c[5] - c[2]) * BI_SQRT_HALF;
    m[5] = (c[6] - c[1]) * BI_SQRT_HALF;
    m[7] = (c[6] + c[1]) * BI_SQRT_HALF;
}

/* m [9] -> c [9], the inverse. */
BI_TENSOR_FN void bi_tensor_decompose(const BI_NUM *m, BI_NUM *c)
{
    c[0] = (m[0] + m[4] + m[8]) * BI_SQRT_THIRD;
    c[1] = (m[7] - m[5]) * BI_SQRT_HALF;
    c[2] = (m[2] - m[6]) * BI_SQRT_HALF;
    c[3] = (m[3] - m[1]) * BI_SQRT_HALF;
    c[4] = (m[1] + m[3]) * BI_SQRT_HALF;
    c[5] = (m[2] + m[6]) * BI_SQRT_HALF;
    c[6] = (m[5] + m[7]) * BI_SQRT_HALF;
    c[7] = (m[0] - m[4]) * BI_SQRT_HALF;
    c[8] = (m[8] + m[8] - m[0] - m[4]) * BI_SQRT_SIXTH;
}

/* Adds a b to y, all 3 x 3; ta, tb: a, b is transposed. y must be neither, a may be b. */
BI_TENSOR_FN void bi_tensor_add_times(const BI_NUM *a, int ta, const BI_NUM *b, int tb, BI_NUM *y)
{
    BI_TENSOR_UNROLL
    for (int r = 0; r < 3; r++)
        BI_TENSOR_UNROLL
    for (int s = 0; s < 3; s++)
        BI_TENSOR_UNROLL
    for (int k = 0; k < 3; k++)
        y[3 * r + s] = y[3 * r + s] + a[ta ? 3 * k + r : 3 * r + k] * b[tb ? 3 * s + k : 3 * k + s];
}

/* The sum of a[k] b[k], n >= 1 of them, in their order. */
BI_TENSOR_FN BI_NUM bi_tensor_dot(const BI_NUM *a, const BI_NUM *b, int n)
{
    BI_NUM sum = a[0] * b[0];
    BI_TENSOR_UNROLL
    for (int k = 1; k < n; k++)
        sum = sum + a[k] * b[k];
    return sum;
}

/* y = x / (|x|^2 + 1), coordinates [9]; y may be x. */
BI_TENSOR_FN void bi_tensor_normalised(const BI_NUM *x, BI_NUM *y)
{
    const BI_NUM n = bi_tensor_dot(x, x, 9) + BI_TENSOR_C(1);
    BI_TENSOR_UNROLL
    for (int k = 0; k < 9; k++)
        y[k] = x[k] / n;
}

/* y = the derivative by x, from g by x / (|x|^2 + 1); y may be x or g. */
BI_TENSOR_FN void bi_tensor_normalised_grad(const BI_NUM *x, const BI_NUM *g, BI_NUM *y)
{
    const BI_NUM n = bi_tensor_dot(x, x, 9) + BI_TENSOR_C(1);
    const BI_NUM by = BI_TENSOR_C(2) * bi_tensor_dot(x, g, 9) / n;
    BI_TENSOR_UNROLL
    for (int k = 0; k < 9; k++)
        y[k] = (g[k] - by * x[k]) / n;
}

/* c, or 2 where the product is that of SO(3): then c must be finite, as NaN would stay. */
BI_TENSOR_FN BI_NUM bi_tensor_factor(BI_NUM c, int so3)
{
    if (so3)
        c = c * BI_TENSOR_C(0) + BI_TENSOR_C(2);
    return c;
}

/* to = C of BI_TENSOR_PRODUCT of matrices y and m, as a matrix: with so3 2 y m, whatever c is. to
 * must be neither. */
BI_TENSOR_FN void bi_tensor_both(const BI_NUM *y, const BI_NUM *m, BI_NUM c, int so3, BI_NUM *to)
{
    BI_TENSOR_UNROLL
    for (int k = 0; k < 9; k++)
        to[k] = c * BI_TENSOR_C(0);
    bi_tensor_add_times(y, 0, m, 0, to);
    if (!so3)
        bi_tensor_add_times(m, 0, y, 0, to);
    c = bi_tensor_factor(c, so3);
    BI_TENSOR_UNROLL
    for (int k = 0; k < 9; k++)
        to[k] = to[k] * c;
}

/* x [18]: coordinates of Y, of M; y [9]: of the result, C / (|C|^2 + 1). */
BI_TENSOR_FN void bi_tensor_product_of(const BI_NUM *x, BI_NUM c, int so3, BI_NUM *y)
{
    BI_NUM a[9], b[9], m[9];
    bi_tensor_compose(x, a);
    bi_tensor_compose(x + 9, b);
    bi_tensor_both(a, b, c, so3, m);
    bi_tensor_decompose(m, a);
    bi_tensor_normalised(a, y);
}

/* x [27]: coordinates of Y, M and the derivative by the result; y [18]: of those by Y and M. c gets
 * none. */
BI_TENSOR_FN void bi_tensor_product_grad_of(const BI_NUM *x, BI_NUM c, int so3, BI_NUM *y)
{
    BI_NUM a[9], b[9], m[9], t[9], g[9];
    bi_tensor_compose(x, a);
    bi_tensor_compose(x + 9, b);
    bi_tensor_both(a, b, c, so3, m);
    bi_tensor_decompose(m, t);
    bi_tensor_normalised_grad(t, x + 18, m);
    bi_tensor_compose(m, g);
    BI_TENSOR_UNROLL
    for (int k = 0; k < 9; k++) {
        g[k] = g[k] * bi_tensor_factor(c, so3);
        m[k] = t[k] = c * BI_TENSOR_C(0);
    }
    bi_tensor_add_times(g, 0, b, 1, m);
    bi_tensor_add_times(a, 1, g, 0, t);
    if (!so3) {
        bi_tensor_add_times(b, 1, g, 0, m);
        bi_tensor_add_times(g, 0, a, 1, t);
    }
    bi_tensor_decompose(m, y);
    bi_tensor_decompose(t, y + 9);
}

/* Adds c (d d) to y, or, where g is not NULL, its derivative by d: c (g d^T + d^T g). All are
 * coordinates [9]. */
BI_TENSOR_FN void bi_tensor_add_square(const BI_NUM *d, const BI_NUM *g, BI_NUM c, BI_NUM *y)
{
    BI_NUM a[9], b[9], m[9];
    bi_tensor_compose(d, a);
    BI_TENSOR_UNROLL
    for (int k = 0; k < 9; k++)
        m[k] = c * BI_TENSOR_C(0);
    if (g) {
        bi_tensor_compose(g, b);
        bi_tensor_add_times(b, 0, a, 1, m);
        bi_tensor_add_times(a, 1, b, 0, m);
    } else {
        bi_tensor_add_times(a, 0, a, 0, m);
    }
    bi_tensor_decompose(m, a);
    BI_TENSOR_UNROLL
    for (int k = 0; k < 9; k++)
        y[k] = y[k] + c * a[k];
}

/* The operand, 0 to 2, of each of the nine coordinates, 0 to 8. */
BI_TENSOR_FN int bi_tensor_part(int k)
{
    return k == 0 ? 0 : k < 4 ? 1 : 2;
}

/* All numbers of the inputs, one operand behind the other (without c), to those of the outputs, as
 * bi_tensor_shapes counts them; y must not overlap x. `function` is one of the list, which is not
 * checked; parts, 1 or 3, is of norms alone, c and so3 of products and, c, of updates. */
BI_TENSOR_FN void bi_tensor_apply(int function, int parts, int so3, const BI_NUM *x, BI_NUM c,
                                  BI_NUM *y)
{
    switch (function) {
    case BI_TENSOR_NORM:
        if (parts == 1) {
            y[0] = bi_tensor_dot(x, x, 9);
        } else {
            y[0] = x[0] * x[0];
            y[1] = bi_tensor_dot(x + 1, x + 1, 3);
            y[2] = bi_tensor_dot(x + 4, x + 4, 5);
        }
        break;
    case BI_TENSOR_NORM_GRAD:
        BI_TENSOR_UNROLL
        for (int k = 0; k < 9; k++)
            y[k] = BI_TENSOR_C(2) * x[k] * x[9 + (parts == 1 ? 0 : bi_tensor_part(k))];
        break;
    case BI_TENSOR_NORMALISE:
        bi_tensor_normalised(x, y);
        break;
    case BI_TENSOR_NORMALISE_GRAD:
        bi_tensor_normalised_grad(x, x + 9, y);
        break;
    case BI_TENSOR_PRODUCT:
        bi_tensor_product_of(x, c, so3, y);
        break;
    case BI_TENSOR_PRODUCT_GRAD:
        bi_tensor_product_grad_of(x, c, so3, y);
        break;
    case BI_TENSOR_UPDATE:
        BI_TENSOR_UNROLL
        for (int k = 0; k < 9; k++)
            y[k] = x[k] + x[9 + k];
        bi_tensor_add_square(x + 9, 0, c, y);
        break;
    case BI_TENSOR_UPDATE_GRAD:
        BI_TENSOR_UNROLL
        for (int k = 0; k < 9; k++)
            y[k] = x[9 + k];
        bi_tensor_add_square(x, x + 9, c, y);
        break;
    case BI_TENSOR_SCALE:
        BI_TENSOR_UNROLL
        for (int k = 0; k < 9; k++)
            y[k] = x[k] * x[9 + bi_tensor_part(k)];
        break;
    default: /* BI_TENSOR_SCALE_GRAD */
        BI_TENSOR_UNROLL
        for (int k = 0; k < 9; k++)
            y[k] = x[12 + k] * x[9 + bi_tensor_part(k)];
        y[9] = x[0] * x[12];
        y[10] = bi_tensor_dot(x + 1, x + 13, 3);
        y[11] = bi_tensor_dot(x + 4, x + 16, 5);
    }
}

#endif

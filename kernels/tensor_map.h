/* tensor_map.h - functions of the 3 x 3 matrices that an atom has in each channel, atom by atom and
 * channel by channel.
 *
 * A matrix is nine numbers, its coordinates along orthonormal matrices (tensor_math.h): one along
 * the unit matrix, three along antisymmetric ones, five along symmetric ones without a trace. They
 * are three arrays, [N, F], [3 N, F] and [5 N, F], the rows of an atom one behind the other. */
#ifndef BI_TENSOR_MAP_PARAMS_H
#define BI_TENSOR_MAP_PARAMS_H

#include "counts.h"

/* Operands of a function, each with so many numbers for an atom and a channel. A matrix X stands
 * for three operands of 1, 3 and 5; c is a number for an atom alone, 1 where it is left out. */
enum bi_tensor_function {
    BI_TENSOR_NORM,           /* X -> |X|^2, or with parts = 3 that of each of its operands */
    BI_TENSOR_NORM_GRAD,      /* X, g -> gX */
    BI_TENSOR_NORMALISE,      /* X -> X / (|X|^2 + 1) */
    BI_TENSOR_NORMALISE_GRAD, /* X, G -> gX */
    BI_TENSOR_PRODUCT,        /* Y, M, c -> C / (|C|^2 + 1), C = c (Y M + M Y), or 2 Y M */
    BI_TENSOR_PRODUCT_GRAD,   /* Y, M, G, c -> gY, gM */
    BI_TENSOR_UPDATE,         /* X, D, c -> X + D + c D D */
    BI_TENSOR_UPDATE_GRAD,    /* D, G, c -> gD */
    BI_TENSOR_SCALE,          /* X, s of 3 -> s0 X0, s1 X1, s2 X2 */
    BI_TENSOR_SCALE_GRAD,     /* X, s of 3, G -> gX, gs of 3 */
    BI_TENSOR_FUNCTIONS
};

enum { BI_TENSOR_MAP_IN = 10, BI_TENSOR_MAP_OUT = 6, BI_TENSOR_NUMBERS = 27 };

/* n_in[k], n_out[k]: numbers of an operand for an atom and a channel; -1: c; 0: there is none;
 * 9: as many as `parts`. */
struct bi_tensor_shape {
    signed char n_in[BI_TENSOR_MAP_IN], n_out[BI_TENSOR_MAP_OUT];
};

static const struct bi_tensor_shape bi_tensor_shapes[BI_TENSOR_FUNCTIONS] = {
    {{1, 3, 5}, {9}},
    {{1, 3, 5, 9}, {1, 3, 5}},
    {{1, 3, 5}, {1, 3, 5}},
    {{1, 3, 5, 1, 3, 5}, {1, 3, 5}},
    {{1, 3, 5, 1, 3, 5, -1}, {1, 3, 5}},
    {{1, 3, 5, 1, 3, 5, 1, 3, 5, -1}, {1, 3, 5, 1, 3, 5}},
    {{1, 3, 5, 1, 3, 5, -1}, {1, 3, 5}},
    {{1, 3, 5, 1, 3, 5, -1}, {1, 3, 5}},
    {{1, 3, 5, 3}, {1, 3, 5}},
    {{1, 3, 5, 3, 1, 3, 5}, {1, 3, 5, 3}}};

/* Operands are dense: number k of an operand with n of them, atom i, channel f, is at
 * (i n + k) width + f. An input that is NULL is 0 everywhere (c: 1). */
struct bi_tensor_map_params {
    const struct bi_counts *counts;
    const float *in[BI_TENSOR_MAP_IN];
    float *out[BI_TENSOR_MAP_OUT];
    int64_t rows; /* atoms, by BI_AXIS_TOKENS */
    int32_t width, function, parts, so3;
};

/* Two functions, the second behind the first, some of whose results are operands of it: numbers of
 * an atom and a channel follow from those of the same alone. Neither is a product. */
struct bi_tensor_pair_params {
    struct bi_tensor_map_params of[2]; /* counts, rows and width are the same */
};

/* Numbers of an input or output, by n of struct bi_tensor_shape: n, also -1 and 0, but `parts`
 * where n is 9. */
static inline int bi_tensor_numbers(int n, int parts)
{
    return n == 9 ? parts : n;
}

#endif

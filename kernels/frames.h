/* frames.h - rows seen in the eight frames of their axes. */
#ifndef BI_FRAMES_PARAMS_H
#define BI_FRAMES_PARAMS_H

#include "counts.h"

enum { BI_FRAMES = 8 };

/* code[r] = 8 t + f: y[r] = base[t] + sum over k = 0, 1, 2 of s_k at[t, k] w[k], where s_k is -1
 * if bit k of f is set, else 1. base [M, width], at [M, 3], w [3, width], y [rows, width]. So is a
 * product of a matrix with rows and coordinates, of which the part of the rows is the same in all
 * frames. */
struct bi_frames_params {
    const struct bi_counts *counts;
    const float *base, *at, *w;
    const int32_t *code;
    float *y;
    int64_t ldb, ldy, rows;
    int32_t axis, width;
};

#endif

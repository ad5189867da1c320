/* decode.h - loops that decide: parameters of what a step reads and writes.
 *
 * n_samples samples are decoded side by side; sample s has steps t = 0 ... n - 1, one for each of
 * its tokens start[s] ... start[s + 1] - 1. What a step does stands in plan[start[s] + t], made
 * by the host before the loop. */
#ifndef BI_DECODE_PARAMS_H
#define BI_DECODE_PARAMS_H

#include "counts.h"

enum { BI_SYMBOLS = 21, BI_TERMS = 3 * BI_SYMBOLS + 1 };

struct bi_step {
    int32_t position; /* which token of the sample, from 0 */
    int32_t runs;     /* 1; 0: nothing is computed for it; 2: it is, and counts as zero */
    int32_t group;    /* n > 0: decides the positions of the last n steps; 0: none yet */
    int32_t code;     /* >= 0: what it decides; -1: drawn */
    int32_t terms;    /* row of `terms` */
};

enum { BI_STEP_WIDTH = 5 }; /* int32 of a struct bi_step */

/* y[r, :] = value for all live rows; dtype float32 or int32. */
struct bi_fill_params {
    const struct bi_counts *counts;
    void *y;
    int64_t rows;
    int32_t axis, width, is_int;
    float value;
};

/* x[row[r], :] = y[r, :] where row[r] >= 0. */
struct bi_put_rows_params {
    const struct bi_counts *counts;
    float *x;
    const float *y;
    const int32_t *row;
    int64_t rows;
    int32_t axis, width;
};

/* For each sample: row = its token that step *step decodes, token = that of the structure,
 * first[s] + position; -1 and first[s] when the sample is done or nothing runs. alive = 1 when
 * runs is 1, else 0. Then *step + 1. */
struct bi_next_step_params {
    const struct bi_counts *counts;
    int32_t *step, *row, *token;
    float *alive;
    const int32_t *start, *first;
    const struct bi_step *plan;
    int64_t rows;
};

/* The step before *step of each sample decides. Over the n steps of its group, in order,
 *   z = sum of weight_i (logits_i / temperature) / n, each term and the sum in float32, then
 *   p_c = (scale softmax(z + add)_c + prior_c) factor_c in double, terms = add, prior, factor,
 *   scale
 * and the symbol is the first largest p_c / noise[start + step, c]. */
struct bi_draw_params {
    const struct bi_counts *counts;
    int32_t *codes;
    const int32_t *step, *start;
    const struct bi_step *plan;
    const float *logits, *weight, *temperature;
    const double *noise, *terms;
    int64_t rows;
};

#endif

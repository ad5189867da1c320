/* align_params.h - parameters of alignments as texts give them: costs are decimals, in points.
 *
 * struct bioinfer_align_params has whole numbers in 1/scale of a point. It follows from the rows of
 * tasks/align.inc. */
#ifndef BI_TASKS_ALIGN_PARAMS_H
#define BI_TASKS_ALIGN_PARAMS_H

#include "../engine/engine.h"

/* Values that were given, costs in thousandths of a point. zero_match: match was given as 0. */
struct bi_align_given {
    struct bioinfer_align_params params; /* first: bioinfer_params_struct() gives it */
    const char *matrix, *device;
    int match, mismatch, zero_match, zero_mismatch;
    int letters, nucleotides; /* nucleotides: these were asked for by name */
    const int *gap_open, *gap_extend;
    int n_gap_open, n_gap_extend; /* 2: a gap has two pieces */
    int gap_convention;           /* 1: the first residue costs the sum of both */
    int mode, global;             /* mode 1: ends-free; global: that was asked for by name */
    unsigned free_ends;
    int local, ties, score_only, identity;
    int64_t memory_limit;
};

/* Makes given->params of the other members, with the smallest scale that makes all costs
 * whole. Costs that bi_align_check() refuses give numbers that no task takes. */
void bi_align_settle(void *given);
/* Returns INVALID where parameters exclude each other, or costs of gaps do not go together. Without
 * a matrix and match, default costs are not looked at: a caller may still set the matrix. */
int bi_align_check(const void *given, struct bioinfer_error *err);

#endif

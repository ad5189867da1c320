/* counts.h - the true sizes of a batch, as every kernel sees them.
 *
 * A plan is compiled for a bucket of sizes; a batch in it is usually a little smaller. Its true
 * sizes lie in the input block (on the device, for a GPU) and kernels skip the rest. They write
 * n_claimed and the counts that a graph makes; one that ends a loop early sets n_tokens to 0, for
 * trips that have nothing to do (fire.h). axes.inc has the list. */
#ifndef BI_COUNTS_H
#define BI_COUNTS_H

#include <stdint.h>

struct bi_counts {
#define BI_COUNT_ROW(field, joins) int32_t field;
#include "axes.inc"
};

/* Names the count that limits dimension 0 of a value. */
enum bi_axis {
    BI_AXIS_FIXED,
#define BI_AXIS_ROW(NAME, field, times) BI_AXIS_##NAME,
#include "axes.inc"
    BI_AXES
};

/* Gives the true size of an axis in this batch, as it stands; `rows`, the size in the plan, of an
 * axis that has none, such as FIXED, or that is none. */
static inline int64_t bi_live_rows(const struct bi_counts *counts, int axis, int64_t rows)
{
    switch (axis) {
#define BI_AXIS_ROW(NAME, field, times)                                                            \
    case BI_AXIS_##NAME:                                                                           \
        return times * (int64_t)counts->field;
#include "axes.inc"
    default:
        return rows;
    }
}

#endif

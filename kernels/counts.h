/* counts.h - the true sizes of a batch, as every kernel sees them.
 *
 * A plan is compiled for a bucket of sizes; a batch in it is usually a little smaller. Its
 * true sizes lie in the input block (on the device, for a GPU) and kernels skip the rest. */
#ifndef BI_COUNTS_H
#define BI_COUNTS_H

#include <stdint.h>

struct bi_counts {
    int32_t n_tokens; /* packed tokens of all sequences */
    int32_t n_seqs;
    int32_t n_rows;   /* rows picked by select_rows */
    int32_t longest;  /* tokens of the longest sequence */
};

/* Which count limits dimension 0 of a value. */
enum bi_axis { BI_AXIS_FIXED, BI_AXIS_TOKENS, BI_AXIS_SEQS, BI_AXIS_ROWS, BI_AXIS_LONGEST };

static inline int64_t bi_live_rows(const struct bi_counts *counts, int axis, int64_t rows)
{
    switch (axis) {
    case BI_AXIS_TOKENS:
        return counts->n_tokens;
    case BI_AXIS_SEQS:
        return counts->n_seqs;
    case BI_AXIS_ROWS:
        return counts->n_rows;
    case BI_AXIS_LONGEST:
        return counts->longest;
    default:
        return rows;
    }
}

#endif

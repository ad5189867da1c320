/* counts.h - the true sizes of a batch, as every kernel sees them.
 *
 * A plan is compiled for a bucket of sizes; a batch in it is usually a little smaller. Its
 * true sizes lie in the input block (on the device, for a GPU) and kernels skip the rest. They
 * write n_claimed alone. */
#ifndef BI_COUNTS_H
#define BI_COUNTS_H

#include <stdint.h>

struct bi_counts {
    int32_t n_tokens; /* packed tokens of all sequences */
    int32_t n_seqs;
    int32_t n_rows;  /* rows picked by select_rows */
    int32_t longest; /* tokens of the longest sequence */
    /* Graphs over residues, and what is decoded over them (docs/architecture.md, Loops). */
    int32_t n_edges;        /* n_tokens x neighbours */
    int32_t n_samples;      /* chains of decisions that run side by side */
    int32_t n_sample_edges; /* n_samples x neighbours */
    int32_t n_sampled;      /* packed tokens of all samples */
    int32_t n_sampled_edges;
    int32_t n_atoms; /* n_tokens x atoms around a residue */
    int32_t n_pairs; /* n_atoms x atoms around a residue */
    int32_t n_steps; /* trips of the decoding loop: tokens of the longest sample */
    int32_t
        n_claimed; /* pieces that blocks have claimed of the launch that runs; 0 between launches */
};

/* Which count limits dimension 0 of a value. */
enum bi_axis {
    BI_AXIS_FIXED,
    BI_AXIS_TOKENS,
    BI_AXIS_SEQS,
    BI_AXIS_ROWS,
    BI_AXIS_LONGEST,
    BI_AXIS_EDGES,
    BI_AXIS_SAMPLES,
    BI_AXIS_SAMPLE_EDGES,
    BI_AXIS_SAMPLED,
    BI_AXIS_SAMPLED_EDGES,
    BI_AXIS_ATOMS,
    BI_AXIS_PAIRS,
    /* Components of what a token has in three dimensions: three rows a token, and five. */
    BI_AXIS_VECTORS,
    BI_AXIS_TENSORS
};

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
    case BI_AXIS_EDGES:
        return counts->n_edges;
    case BI_AXIS_SAMPLES:
        return counts->n_samples;
    case BI_AXIS_SAMPLE_EDGES:
        return counts->n_sample_edges;
    case BI_AXIS_SAMPLED:
        return counts->n_sampled;
    case BI_AXIS_SAMPLED_EDGES:
        return counts->n_sampled_edges;
    case BI_AXIS_ATOMS:
        return counts->n_atoms;
    case BI_AXIS_PAIRS:
        return counts->n_pairs;
    case BI_AXIS_VECTORS:
        return 3 * (int64_t)counts->n_tokens;
    case BI_AXIS_TENSORS:
        return 5 * (int64_t)counts->n_tokens;
    default:
        return rows;
    }
}

#endif

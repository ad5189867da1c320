/* alignments.h - random alignments for the cases of ops over their rows (kernels/alignments.h). */
#ifndef BI_CK_ALIGNMENTS_H
#define BI_CK_ALIGNMENTS_H

#include "graphs.h"
#include "kernels/alignments.h"

/* Sets the starts, which live as long as the graph, and the counts of pairs and aligned rows: 1 to
 * `deepest` rows for each sequence, one of the first. */
struct bi_aligned_starts ck_alignments(struct ck_graph *g, int deepest);

#endif

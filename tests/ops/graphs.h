/* graphs.h - random residue graphs for the cases of ops over edges. */
#ifndef BI_CK_GRAPHS_H
#define BI_CK_GRAPHS_H

#include "checkkernel.h"
#include "kernels/decode.h"
#include "kernels/edges.h"

enum { CK_GRAPH_BLOCKS = 40 };

/* Structures of a few residues, their neighbours, and samples over them. */
struct ck_graph {
    struct ck *ck;
    struct bi_counts counts;
    int32_t k;
    int32_t *start;                        /* [n_seqs + 1] */
    float *x, *mask;                       /* [n_tokens, 15], [n_tokens] */
    int32_t *index, *number, *chain;       /* [n_tokens, k], -1 where there are fewer */
    int32_t *sample_start, *sample_first;  /* the samples' */
    int32_t *row, *token;                  /* [n_samples], some idle */
    int32_t *sampled_token, *rank, *codes; /* [n_sampled] */
    void *blocks[CK_GRAPH_BLOCKS];
    int n_blocks;
};

struct ck_graph ck_graph_new(struct ck *ck, int max_structures, int max_length, int k);
void ck_graph_free(struct ck_graph *g);
/* Memory that lives as long as the graph: normal numbers times scale, zeros, ints below limit. */
float *ck_graph_floats(struct ck_graph *g, int64_t n, double scale);
float *ck_graph_zeros(struct ck_graph *g, int64_t n);
int32_t *ck_graph_ints(struct ck_graph *g, int64_t n, int32_t limit);
/* Terms of which = 0: tokens of structures, 1: all tokens of samples, 2: a step of samples, 3: rows
 * whose neighbours are theirs alone. */
struct bi_edge_terms ck_graph_terms(struct ck_graph *g, int which, int width, enum bi_axis *axis,
                                    int64_t *rows);

#endif

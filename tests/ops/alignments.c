/* alignments.c - random alignments for the cases of ops over their rows. */
#include "alignments.h"

struct bi_aligned_starts ck_alignments(struct ck_graph *g, int deepest)
{
    struct bi_counts *c = &g->counts;
    int32_t *grid = ck_graph_ints(g, c->n_seqs + 1, 1);
    int32_t *aligned = ck_graph_ints(g, c->n_seqs + 1, 1);
    for (int32_t s = 0; s < c->n_seqs; s++) {
        const int32_t n = g->start[s + 1] - g->start[s];
        grid[s + 1] = grid[s] + n * n;
        aligned[s + 1] = aligned[s] + n * (s ? (int32_t)ck_random(g->ck, 1, deepest) : 1);
    }
    c->n_grid = grid[c->n_seqs];
    c->n_aligned = aligned[c->n_seqs];
    return (struct bi_aligned_starts){g->start, grid, aligned};
}

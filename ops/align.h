/* align.h - pairwise alignment: what it means.
 *
 * Alignment is no node of a graph (its shapes are those of each pair, its numbers integers), so
 * it has no line in ops.inc; it is an op all the same: a definition in plain loops here, kernels
 * in kernels/align.*, and a launch that align/align*.c describes.
 *
 *   H[0][0] = 0   H[i][0] = -(o + (i-1) e)   H[0][j] = -(o + (j-1) e)      global
 *   E[i][j] = max(H[i][j-1] - o, E[i][j-1] - e)   gap that consumes the target, CIGAR D
 *   F[i][j] = max(H[i-1][j] - o, F[i-1][j] - e)   gap that consumes the query, CIGAR I
 *   H[i][j] = max(H[i-1][j-1] + S(q_i, t_j), E[i][j], F[i][j])     E[i][0] = F[0][j] = -inf
 * A gap of length k costs o + (k-1) e, o >= e >= 0. Gaps of two pieces cost the less of that and of
 * o2 + (k-1) e2, o2 > o, e2 < e: E2 and F2 are as E and F, and H[i][j] is the largest of five. On
 * the way back E and F each stand for the larger of their two, and of equal ones the second is
 * taken, as in WFA2-lib. A free end makes a border 0 or lets the
 * best of the last row or column count, H[n][0] and H[0][m] included: where these are the best,
 * nothing is aligned with anything.
 * Local (Smith, Waterman 1981): H is at least 0, at the borders 0. The alignment ends at the
 * largest H, of equal ones in the first column and there in the first row, as with parasail; with
 * EMBOSS in the first row and there in the first column. It begins behind the first H of 0 on the
 * way back.
 * Sources: Needleman, Wunsch 1970; Gotoh 1982; tie-breaking as parasail 2.6, EMBOSS 6.6 needle
 * -endweight and WFA2-lib give it. */
#ifndef BI_OPS_ALIGN_H
#define BI_OPS_ALIGN_H

#include "../base/base.h"
#include "../kernels/align.h"

/* Scores and costs, in whole numbers. */
struct bi_align_scoring {
    int32_t score[BI_ALIGN_LETTERS][BI_ALIGN_LETTERS]; /* [query][target] */
    int32_t n_letters;
    int32_t open, extend;
    int32_t open2, extend2; /* the second piece's; open2 0: there is one piece */
    unsigned free_ends;     /* bits of enum bioinfer_align_end */
    bool local;             /* then no end is */
    int ties;               /* enum bioinfer_align_ties */
};

/* Letters as codes below n_letters; n, m >= 1. */
struct bi_align_input {
    const uint8_t *query, *target;
    int64_t n, m;
};

/* CIGAR runs, length << 4 | op with the codes of BAM: I 1, D 2, = 7, X 8. Filled from the end
 * to the start, then turned round by bi_align_path_finish(). */
struct bi_align_path {
    const struct bi_env *env;
    uint32_t *run;
    size_t n, cap;
    bool failed; /* out of memory, or a run of 2^28 */
};
enum { BI_CIGAR_I = 1, BI_CIGAR_D = 2, BI_CIGAR_EQ = 7, BI_CIGAR_X = 8 };
/* push: adds a run in front of those there, joined with the last one of the same op; length 0 adds
 * none. Once `failed` is set every push does nothing, and the runs are not to be read. finish:
 * turns the runs round. free: leaves an empty path with its env; it is to be called after a
 * failure, too. */
void bi_align_path_push(struct bi_align_path *path, int op, int64_t length);
void bi_align_path_finish(struct bi_align_path *path);
void bi_align_path_free(struct bi_align_path *path);

/* Where a traceback is: the next cell is (i, j), entered as `state`. It ends with i or j 0. */
struct bi_align_walk {
    int64_t i, j;
    enum { BI_WALK_H, BI_WALK_F, BI_WALK_E, BI_WALK_F2, BI_WALK_E2 } state;
};
/* Leaves cell (i, j), both above 0, whose flags (enum bi_align_flag) are given: goes to the cell
 * before it, sets the state in which that is entered, and pushes what lies between. */
void bi_align_step(const struct bi_align_scoring *s, const struct bi_align_input *in,
                   unsigned flags, struct bi_align_walk *walk, struct bi_align_path *path);
/* Whether a local alignment begins behind the cell: its H is 0, and no gap goes on from it. False
 * of one that is not local, as its cells lack BI_ALIGN_BEGIN. */
bool bi_align_begins(const struct bi_align_scoring *s, unsigned flags,
                     const struct bi_align_walk *walk);
/* A border has one gap left: pushes it and goes to 0, or leaves *walk where that begin is free. At
 * (0, 0) it does nothing. Not for local alignments, which begin where they are. */
void bi_align_border(const struct bi_align_scoring *s, struct bi_align_walk *walk,
                     struct bi_align_path *path);

/* The cost of a gap of n residues, n >= 1. */
int64_t bi_align_gap(const struct bi_align_scoring *s, int64_t n);
/* H at the borders of an alignment that is not local: of i residues of the query, j of the target;
 * 0 of none, and where BIOINFER_FREE_QUERY_BEGIN, or of top ..._TARGET_BEGIN, is set. */
int64_t bi_align_left(const struct bi_align_scoring *s, int64_t i);
int64_t bi_align_top(const struct bi_align_scoring *s, int64_t j);

/* The alignment ends at the best cell of the last row or column when ends are free. Of equal ones
 * with i, j >= 1 parasail takes the first in the last row when that is not the corner, else the
 * first in the last column; EMBOSS the corner before these. */
struct bi_align_end {
    int64_t score, i, j;
};

/* Offers H[n][j] (j from 1) or H[i][m] (i from 1) to the best so far of the row or column, which it
 * becomes where it is larger: of equal ones the first that was offered stays. */
void bi_align_offer(struct bi_align_end *best, int64_t score, int64_t i, int64_t j);
/* The end among the corner and the best of the last row and of the last column; the score of
 * one that does not count is INT64_MIN. */
struct bi_align_end bi_align_best_end(const struct bi_align_scoring *s, struct bi_align_end corner,
                                      struct bi_align_end row, struct bi_align_end column);
/* That end, or (n, 0) or (0, m) where these are better and BIOINFER_FREE_TARGET_END, or of (0, m)
 * ..._QUERY_END, is set. parasail never takes them, so that they come last of equal ones, with WFA,
 * too; EMBOSS takes them before all but the corner. Of the two, if equal, (n, 0) is taken, but with
 * EMBOSS (0, m) where n is 1 and m above. */
struct bi_align_end bi_align_or_nothing(const struct bi_align_scoring *s, int64_t n, int64_t m,
                                        struct bi_align_end best);

/* The definition: plain loops, sums in 64 bits. *end is where the alignment ends, *begin where its
 * path begins, all 0 for a local one that scores nothing above 0; path NULL = the score and the end
 * alone, in O(m) memory, and *begin is left as it was. path is empty but for its env, and takes n m
 * bytes more; the caller frees it, after a failure, too. NOMEM is the only failure, also of a run
 * of 2^28. */
int bi_align_reference(const struct bi_env *env, const struct bi_align_scoring *s,
                       const struct bi_align_input *in, struct bi_align_end *end,
                       struct bi_align_walk *begin, struct bi_align_path *path,
                       struct bioinfer_error *err);

#endif

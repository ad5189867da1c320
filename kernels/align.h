/* align.h - pairwise alignment by difference recurrences: what the kernels share.
 *
 * Rows i = 1..n are the query, columns j = 1..m the target. A gap of length k costs
 * o + (k - 1) e. With H, E (gap that consumes the target), F (gap that consumes the query) as
 * in ops/align.h, only differences of neighbours are kept, each with an offset that makes it
 * non-negative:
 *   U[i][j] = H[i][j] - H[i-1][j] + o         Y[i][j] = max(0, E[i][j] - H[i][j] + o - e)
 *   V[i][j] = H[i][j] - H[i][j-1] + o         X[i][j] = max(0, F[i][j] - H[i][j] + o - e)
 * and with S2 = S(q_i, t_j) + 2 o, at least 0,
 *   A = X[i-1][j] + V[i-1][j]   B = Y[i][j-1] + U[i][j-1]   Z = max(S2, A, B)
 *   U[i][j] = Z - V[i-1][j]     X[i][j] = max(0, A - Z + o - e)
 *   V[i][j] = Z - U[i][j-1]     Y[i][j] = max(0, B - Z + o - e)
 * All values lie in [0, 3 o + max(S, 0)] whatever the lengths, so 8-bit lanes are exact for
 * sequences of any length and only the scores decide when wider lanes are needed. The score is
 * the border value of one corner plus the differences along one side.
 *
 * Gaps may have two pieces: length k costs min(o + (k - 1) e, o2 + (k - 1) e2), o < o2, e > e2.
 * U and V keep the offset o. The second piece has E2, F2 and differences of its own:
 *   X2[i][j] = max(0, F2[i][j] - H[i][j] + o2 - e2)      A2 = X2[i-1][j] + V[i-1][j] - (o2 - o)
 *   Z = max(S2, A, B, A2, B2)                            X2[i][j] = max(0, A2 - Z + o2 - e2)
 * and Y2, B2 likewise. All values lie in [0, 2 o + o2 + max(S, 0)] then.
 * Source: Suzuki, Kasahara, BMC Bioinformatics 19:45 (2018). */
#ifndef BI_ALIGN_KERNELS_H
#define BI_ALIGN_KERNELS_H

#include <stdint.h>

enum { BI_ALIGN_LETTERS = 32 }; /* codes of residues are 0 .. 31 */

/* Bits of a cell's flags: which of S2, A, B is Z; whether the gap that leaves the cell
 * downwards (F) or to the right (E) extends one, ties included.
 *
 * With two pieces the bits of EXTEND_F and EXTEND_F2 also say which piece is Z, as one that is Z
 * always extends: without FROM_F they are what their names say; with it
 *   both or EXTEND_F2 alone   F2 is Z and extends, F does where EXTEND_F is set
 *   none or EXTEND_F alone    F is Z, F2 is not; F extends, F2 does where EXTEND_F is not set
 * and those of E likewise. */
enum bi_align_flag {
    BI_ALIGN_DIAGONAL = 1,
    BI_ALIGN_FROM_F = 2,
    BI_ALIGN_FROM_E = 4,
    BI_ALIGN_EXTEND_F = 8,
    BI_ALIGN_EXTEND_E = 16,
    BI_ALIGN_BEGIN = 32, /* H is 0: a local alignment begins behind this cell */
    BI_ALIGN_EXTEND_F2 = 64,
    BI_ALIGN_EXTEND_E2 = 128
};

/* Which forms of the recurrences a scoring allows. */
enum bi_align_kind {
    BI_ALIGN_LINEAR, /* o = e: X and Y are 0 */
    BI_ALIGN_AFFINE, /* every S >= -(o + e), so Z >= o - e */
    BI_ALIGN_STEEP,  /* any S */
    BI_ALIGN_TWO     /* any S, gaps of two pieces */
};

/* Differences at the borders: of the first row or column, and of the others. Free begins
 * have o in both. With two pieces those behind number `turn` are `far`, and it has `turning`. */
struct bi_align_border {
    int32_t first, rest;
    int32_t turning, far;
    int64_t turn; /* 0: none */
};

/* The difference of row or column k, from 0; `turn` 0: there is one piece. */
static inline int32_t bi_align_border_at(const struct bi_align_border *b, int64_t k)
{
    if (b->turn && k >= b->turn)
        return k == b->turn ? b->turning : b->far;
    return k ? b->rest : b->first;
}

/* ---- GPU: align.cu, align_ends.cu, align_trace.cu, align_long.cu over align_cells.h ----
 *
 * There scores are whole, H'[i][j] = H[i][j] + e (i + j), and E' and F' likewise, so that a gap
 * costs g = o - e once and its length nothing:
 *   P = max(H'[i-1][j-1] + S + 2 e, E')   H' = max(P, F')   E' = max(E', H' - g) of the next column
 *   F' = max(F', P - g) of the next row: P does for H', as F' - g is never more than F'
 * Borders are 0 at the corner and -g elsewhere, where free e i or e j; a constant on top keeps
 * all numbers of 16 bits from being negative. These are exact while that and max(S) min(n, m) +
 * e (n + m) stay below 2^15. */

/* Two pairs with targets of one length, one in each half of packed numbers. */
struct bi_align_job {
    uint32_t query[2], target[2]; /* offsets into codes; both the same = one pair */
    int32_t n[2], m;              /* at least 1 */
    int32_t out[2];               /* places in found */
    uint64_t flags[2];            /* where each one's flags begin */
    uint64_t border;              /* place in border, in columns */
};

/* Where an alignment ends, and its H there. */
struct bi_align_found {
    int32_t score, i, j;
};

/* The scoring, as all of them know it. */
struct bi_align_rules {
    int32_t gap, extend;           /* o - e, e */
    int32_t corner;                /* H'[0][0], added to all others, too */
    int32_t left, left_step;       /* H'[i][0] = left + left_step i, i >= 1 */
    int32_t top, top_step;         /* H'[0][j] */
    int32_t free_row, free_column; /* the best of the last row, column counts */
    int32_t corner_first;          /* among equal ends the corner comes first */
    int32_t letters;               /* letters of targets, numbered by map */
};

struct bi_align_params {
    const uint8_t *codes;            /* below BI_ALIGN_LETTERS */
    const uint8_t *map;              /* [code] of a target: its number below letters */
    const int8_t *table;             /* [code of query][number of target's letter]: S + 2 e */
    const struct bi_align_job *jobs; /* [n_jobs] */
    struct bi_align_found *found;
    int32_t *border; /* [column][H', F'] that one strip hands on to the next */
    uint8_t *flags;  /* for each pair [strip][step][row of strip], below */
    int32_t n_jobs;
    struct bi_align_rules rules;
};
/* Row i of a pair lies in strip (i - 1) / height as row r = (i - 1) % height; with `rows` rows a
 * lane, column j passes it in step j - 1 + r / rows, of m + height / rows - 1. Bytes of a pair: */
static inline uint64_t bi_align_flags_size(int64_t n, int64_t m, int32_t height, int32_t rows)
{
    return (uint64_t)((n + height - 1) / height) * (uint64_t)(m + height / rows - 1) *
           (uint64_t)height;
}

enum {
    BI_ALIGN_GPU_THREADS = 64, /* threads of a block */
    BI_ALIGN_LONG_ROWS = 4,    /* rows of a lane of align_long; */
    BI_ALIGN_LONG_HEIGHT = 128 /* rows of a strip */
};

/* A pair whose strips are waves of many blocks; a strip waits for columns of the one above. */
struct bi_align_long {
    uint32_t query, target;
    int32_t n, m, out;
    int32_t strips, pad;
    int64_t border_step;       /* columns from what one strip hands on to the next one's */
    uint64_t border, progress; /* places of strip 0's: columns in border; counts in progress */
    uint64_t flags;
};

struct bi_align_long_params {
    const uint8_t *codes;
    const int32_t *table; /* [code of query][code of target]: S + 2 e */
    const struct bi_align_long *pairs;
    const int32_t *tasks; /* [n_tasks][pair, strip], a strip behind the one above */
    struct bi_align_found *found;
    int32_t *border;               /* [column][H', F'] */
    int32_t *progress;             /* columns done of each strip; [0] counts tasks: zeros */
    struct bi_align_found *column; /* as progress: the best of the last column so far */
    uint8_t *flags;                /* NULL: none */
    int32_t n_tasks;
    int32_t first_strip; /* whose flags come first */
    int32_t again;       /* borders are all there: nobody waits, nobody writes */
    struct bi_align_rules rules;
};

/* As enum bioinfer_align_ties: which move goes first where several give H. */
enum bi_align_ties { BI_ALIGN_TIES_PARASAIL, BI_ALIGN_TIES_EMBOSS, BI_ALIGN_TIES_WFA };

/* A path through flags, from its end: 2 bits a move, 16 in a word, the first lowest. */
enum bi_align_move { BI_ALIGN_MOVE_DIAGONAL, BI_ALIGN_MOVE_F, BI_ALIGN_MOVE_E };
struct bi_align_trail {
    uint32_t query, target; /* offsets into codes */
    int32_t out;            /* place in found and walked */
    int32_t m;
    int32_t height_log, rows_log; /* powers of two: strips that made the flags */
    uint64_t flags, moves;        /* flags: of the strip below row `floor` on; a place in moves */
};
/* How far a path has come: cell (i, j) is next, in `state` (enum bi_align_move). */
struct bi_align_walked {
    int32_t i, j, state, n_moves;
};
struct bi_align_walk_params {
    const uint8_t *codes, *flags;
    const struct bi_align_trail *trails; /* [n_trails] */
    const struct bi_align_found *found;
    struct bi_align_walked *walked; /* in, too, when it resumes */
    uint32_t *moves;
    int32_t n_trails, ties; /* enum bi_align_ties */
    int32_t floor, resumes; /* stops at row `floor` or column 0; begins at found */
};

#endif

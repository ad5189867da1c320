/* align.h - the alignment kernels of one instruction set, for lanes of 8 and of 16 bits.
 *
 * `void *` to lanes means uint8_t or uint16_t by the table's `bits`. A scoring fits b bits when
 * 3 o + max(S, 0) < 2^b, with two pieces 2 o + o2 + max(S, 0). */
#ifndef BI_CPU_ALIGN_H
#define BI_CPU_ALIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "../align.h"

enum {
    BI_ALIGN_BLOCK = 16,       /* steps that strip() does at a time */
    BI_ALIGN_STRIP_ROWS = 256, /* most rows of a strip() of 8-bit lanes */
    BI_ALIGN_MANY = 64         /* most pairs of a many() */
};

/* The best cell of a last row or column, the first of equal ones: its place in it, from 1. */
struct bi_align_best {
    int64_t score, at;
    int32_t matches, aligned;
};

/* Scores of up to `lanes` pairs, one pair a lane. */
struct bi_align_many {
    int32_t n_pairs;
    const uint8_t *query[BI_ALIGN_MANY], *target[BI_ALIGN_MANY]; /* codes */
    int64_t n[BI_ALIGN_MANY], m[BI_ALIGN_MANY];                  /* at least 1 */
    const void *table;                    /* lanes [letter of target][letter of query]: S2 */
    bool symmetric;                       /* the table is */
    int32_t letters;                      /* codes are below it */
    uint32_t used;                        /* a bit for each code that may be in the sequences */
    int32_t open, extend, open2, extend2; /* the latter for BI_ALIGN_TWO */
    enum bi_align_kind kind;
    struct bi_align_border left, top; /* U of column 0, V of row 0 */
    bool free_row, free_column;       /* the best of the last row / column counts */
    void *scratch;                    /* many_scratch() bytes, 64-byte aligned */
    uint8_t *flags;               /* NULL or [N][M][lanes]: enum bi_align_flag of every cell; pair l
                              * has its first cell at row N - n[l] and column M - m[l] */
    bool band;                    /* flags are there for diagonals low to high alone: */
    int64_t low, high;            /* (M - m + j) - (N - n + i) - (M - N), 0 at the end of all */
    bool counts;                  /* gives these as well, where they fit a lane; */
    int ties;                     /* enum bi_align_ties, for them */
    int64_t score[BI_ALIGN_MANY]; /* H without the borders' own value: see below */
    int32_t matches[BI_ALIGN_MANY], aligned[BI_ALIGN_MANY];
    int64_t corner[BI_ALIGN_MANY]; /* counts set: the score of (n, m) */
    struct bi_align_best row[BI_ALIGN_MANY], column[BI_ALIGN_MANY]; /* counts set and free ends */
};
/* score: H[n][m] - H[n][0]; with a free end the best over the last row (column n, 0 included)
 * and column, as H - H[n][0], too.
 * matches, aligned: equal letters, and letters that face letters, on the path that a traceback from
 * the corner finds, or of row and column from these cells, whose scores are H - H[n][0].
 * Without flags, BI_ALIGN_STEEP and BI_ALIGN_TWO, and every S >= -2 o.
 * They count on the way down what the traceback would meet: at every cell the path of H, E and F is
 * known by the choice that the flags hold. */

/* Steps [first, last) of one strip of `rows` rows of one pair. At step s (from 1) row r of the
 * strip, from 0, is at column s - r; a strip of m columns takes m + rows - 1 steps. */
struct bi_align_strip {
    const uint8_t *query;   /* rows codes */
    int32_t rows, pad;      /* the first `pad` rows pass on what is above them */
    const void *profile;    /* lanes: S2 of letter a at column j is [a * stride + j - 1] */
    int64_t stride;         /* readable from rows before column 1 to rows + BLOCK behind m */
    int64_t m, first, last; /* first = 1 + a multiple of BLOCK */
    int32_t gap;            /* o - e; for BI_ALIGN_TWO also o - e2, o2 - o */
    int32_t gap2, dearer;
    enum bi_align_kind kind;
    const void *v_in, *x_in; /* lanes [m + rows + BLOCK]: V, X above the strip */
    void *v_out, *x_out;     /* lanes [m + BLOCK]: below it; may be v_in, x_in */
    const void *x2_in;       /* X2 likewise */
    void *x2_out;
    void *state;    /* lanes [4][rows]: U, Y (at first = 1: the left border), V, X; then Y2, X2 */
    uint8_t *flags; /* NULL or [last - first, a whole number of BLOCKs][rows] */
};

/* A strip of rows of one local alignment, from its first to its last column: H, E and F as in
 * ops/align.h, in whole numbers of 16 or 32 bits. */
enum { BI_ALIGN_LOCAL_ROWS = 64 };
struct bi_align_local {
    const uint8_t *query;   /* n_rows codes, at most LOCAL_ROWS */
    int32_t n_rows, no_row; /* no_row: a code of the profile whose scores are all 0 */
    const uint8_t *profile; /* S + bias of letter a, column j: [a * stride + j - 1]; 0 outside */
    int64_t stride;         /* readable from LOCAL_ROWS before column 1 to 2 LOCAL_ROWS behind m */
    int64_t m;
    int32_t bias, open, extend;
    int32_t open2, extend2;  /* the second piece's; open2 0: none */
    const void *h_in, *f_in; /* lanes [m]: H and F of the row above */
    void *h_out, *f_out;     /* lanes [m]: of the last row; may be h_in, f_in */
    const void *f2_in;       /* F2 likewise */
    void *f2_out;
    uint8_t *flags;  /* NULL or [m + LOCAL_ROWS - 1][LOCAL_ROWS], by step and row */
    int32_t best;    /* gives the largest H */
    int32_t wanted;  /* not 0: looks for such an H, in the first column that has it */
    bool by_row;     /* or in the first row */
    int64_t found_j; /* gives where it is first there; 0 = nowhere */
    int32_t found_r;
};

/* One wavefront: of every diagonal k = j - i in [lo, hi] the furthest column j to which a path of
 * one penalty leads, in a gap (f, e as F and E of ../align.h) or at all (h), matches at its end
 * included. Paths that lead nowhere have a negative offset, about NONE.
 *   f[k] = max(open_f[k + 1], more_f[k + 1])   e[k] = max(open_e[k - 1], more_e[k - 1]) + 1
 *   h[k] = max(mismatch[k] + 1, f[k], e[k])  and the matches behind it
 * An offset beyond column m or row n is NONE. Arrays are indexed by k; those that are read have
 * all of [lo - 1, hi + 1]. Linear costs have no f, e, more_f and more_e: open_f and open_e do. Gaps
 * of two pieces have f2 and e2, which are as f and e, and h is the furthest of five; else f2 is
 * NULL.
 * Source: Marco-Sola et al., Bioinformatics 37:456 (2021). */
enum { BI_ALIGN_WAVE_NONE = INT32_MIN / 2, BI_ALIGN_WAVE_PAD = 8 };
struct bi_align_wave {
    const int32_t *open_f, *open_e, *more_f, *more_e, *mismatch;
    const int32_t *open_f2, *open_e2, *more_f2, *more_e2;
    int32_t *f, *e, *h, *f2, *e2;
    int32_t lo, hi;
    int32_t n, m;
    const uint8_t *query, *target; /* codes; PAD bytes behind each end differ from all others */
};

enum { BI_ALIGN_NO_CODE = 0x80 }; /* this and all above stand for no code in tables */

/* Turns letters into codes, and notes which codes there were. */
struct bi_align_coder {
    const uint8_t *code; /* [256], below 32 or NO_CODE */
    uint8_t met[32];     /* code of '@' + i, once that was met; all NO_CODE at first */
    uint32_t used;       /* a bit for each code */
};

/* The alignment kernels of one set of instructions. */
struct bi_align_kernels {
    int32_t bits, lanes;
    int32_t rows[3]; /* sizes of strips, ascending; 0 = none */
    int32_t columns; /* N is the longest n in whole BLOCKs, M the longest m in whole columns */
    void (*many)(struct bi_align_many *a);
    size_t (*many_scratch)(int64_t n, int64_t m, int32_t letters, bool counts); /* longest n, m */
    void (*strip)(const struct bi_align_strip *a);
    void (*wave)(const struct bi_align_wave *a);
    void (*local16)(struct bi_align_local *a); /* H + S + bias below 2^16 */
    void (*local32)(struct bi_align_local *a); /* below 2^30 */
    /* n letters; false: one of them has no code, and codes are all 0 */
    bool (*encode)(struct bi_align_coder *coder, const char *letters, size_t n, uint8_t *codes);
};

#endif

/* align.h - alignment inside the engine: one pair on the CPU (align_pair.c), batches and the
 * public calls (align.c). */
#ifndef BI_ENGINE_ALIGN_H
#define BI_ENGINE_ALIGN_H

#include "../kernels/cpu/align.h"
#include "../ops/align.h"

/* A scoring made ready for one set of kernels. */
struct bi_align_plan {
    struct bi_align_scoring scoring;
    const struct bi_align_kernels *kernels; /* NULL: no lanes are wide enough */
    enum bi_align_kind kind;
    struct bi_align_border left, top;
    bool symmetric; /* S(a, b) = S(b, a) */
    bool counts;    /* many() can count what a traceback would meet */
    /* S + 2 o, at least 0, in 8 and in 16 bits; _t: [target][query] */
    uint8_t table8[BI_ALIGN_LETTERS * BI_ALIGN_LETTERS];
    uint8_t table8_t[BI_ALIGN_LETTERS * BI_ALIGN_LETTERS];
    uint16_t table16[BI_ALIGN_LETTERS * BI_ALIGN_LETTERS];
    uint16_t table16_t[BI_ALIGN_LETTERS * BI_ALIGN_LETTERS];
    uint64_t memory_limit; /* bytes of one pair's traceback */
};

/* The largest number that divides both, never negative; of 0 and 0: 0. */
int64_t bi_align_divisor(int64_t a, int64_t b);

/* The largest number that kernels of differences meet; high: the largest score, at least 0. */
int64_t bi_align_most(const struct bi_align_scoring *s, int32_t high);

/* Fills *plan. kernels(bits): those of the CPU with lanes of 8 or 16 bits, asked once for the
 * narrowest that hold the scores; where 16 are too few, or it gives NULL, the plan has none. The
 * memory limit is 0, which is for the caller to set. */
void bi_align_plan_make(struct bi_align_plan *plan, const struct bi_align_scoring *scoring,
                        const struct bi_align_kernels *(*kernels)(int bits));

/* Memory of one thread, kept between pairs. */
struct bi_align_buffer {
    void *ptr;
    uint64_t size;
};
struct bi_align_work {
    const struct bi_env *env;
    struct bi_align_buffer profile, rows, corners, flags, state, scratch;
};
/* Frees the buffers, which are empty then and may be used again; env stays. */
void bi_align_work_free(struct bi_align_work *work);
/* Makes room for `size` bytes, not zeroed; the content is lost where the buffer grows, else it
 * stays. 0, or NOMEM, and it is empty. bi_align_work_free(), or the owner by bi_free(), frees
 * it. */
int bi_align_buffer_need(const struct bi_env *env, struct bi_align_buffer *b, uint64_t size,
                         struct bioinfer_error *err);

/* One pair by strips, on n_threads threads: *end has the score and the last cell, *begin the cell
 * where the path begins, `path` its runs. path NULL: the score and the end alone, and *begin is not
 * to be read. *sparse is set, or cleared, as the traceback kept only some rows, to stay below the
 * memory limit, or all. Neither sequence is empty, and the scoring is not local. A plan without
 * kernels takes one thread. LIMIT: the traceback, even one of some rows, is above the limit; NOMEM
 * also where path->failed is set. *end is not to be used after either. */
int bi_align_pair(const struct bi_align_plan *plan, struct bi_align_work *work,
                  const struct bi_align_input *in, int n_threads, struct bi_align_end *end,
                  struct bi_align_walk *begin, struct bi_align_path *path, bool *sparse,
                  struct bioinfer_error *err);

/* One pair locally; all of *end and *begin are 0 where nothing scores above 0, and the path is
 * empty. path NULL: the score alone is sure. *sparse as above. LIMIT: the traceback is above the
 * memory limit, whose measure is all cells where costs take more than 8 bits, else some rows, twice
 * the root of the number of strips of 64 rows. */
int bi_align_local(const struct bi_align_plan *plan, struct bi_align_work *work,
                   const struct bi_align_input *in, struct bi_align_end *end,
                   struct bi_align_walk *begin, struct bi_align_path *path, bool *sparse,
                   struct bioinfer_error *err);

/* ---- align_owns.c ---- */

/* Scores as penalties, for pairs without free ends: with own[a] + own[b] never below 2 S(a, b), the
 * own of all residues less twice the score is a sum of what letters that face each other lack, and
 * of 2 cost + own for what is in gaps. */
struct bi_align_owns {
    bool usable; /* a gap that goes on always adds to it, and the pairs that are meant are global */
    int32_t own[BI_ALIGN_LETTERS], least; /* by code; the least of those that are used */
    int32_t mismatch;                     /* the average of two letters that differ */
};
void bi_align_owns_make(struct bi_align_owns *o, const struct bi_align_scoring *s, uint32_t used);
/* The penalty of such a pair with this score. */
int64_t bi_align_owns_penalty(const struct bi_align_owns *o, const struct bi_align_input *in,
                              int64_t score);
/* The diagonals *low <= j - i <= *high that paths of at most such a penalty have, 0 and m - n among
 * them: those that lie beyond take gaps there and back. */
void bi_align_owns_band(const struct bi_align_owns *o, const struct bi_align_scoring *s,
                        const struct bi_align_input *in, int64_t penalty, int64_t *low,
                        int64_t *high);

/* ---- bands: align_pair.c ---- */

/* A part of a pair where alignments with free ends lie: residues from query_begin and target_begin
 * on, `in` of them, and there the diagonals low <= j - i <= high, 0 and m - n of `in` among them.
 * free_ends: those that are ends of this part, too; corner: its last cell is that of the pair. */
struct bi_align_place {
    int64_t query_begin, target_begin;
    struct bi_align_input in;
    int64_t low, high;
    unsigned free_ends;
    bool corner;
};

/* One pair globally, of the diagonals low <= j - i <= high alone, 0 and m - n among them: what it
 * finds is the best of the paths there. The plan has kernels and no free ends, and neither sequence
 * is empty. path NULL: the score and the end alone, and *begin is untouched. LIMIT: the traceback
 * is above the memory limit; INTERNAL: a path leaves the band, which has not all of the best. */
int bi_align_band(const struct bi_align_plan *plan, struct bi_align_work *work,
                  const struct bi_align_input *in, int64_t low, int64_t high,
                  struct bi_align_end *end, struct bi_align_walk *begin, struct bi_align_path *path,
                  struct bioinfer_error *err);
/* The same of a pair with free ends, in a place that has all of its best paths, and where the best
 * score is above that of aligning nothing. *end and *begin are those in place->in. */
int bi_align_band_free(const struct bi_align_plan *plan, struct bi_align_work *work,
                       const struct bi_align_place *place, struct bi_align_end *end,
                       struct bi_align_walk *begin, struct bi_align_path *path,
                       struct bioinfer_error *err);

#endif

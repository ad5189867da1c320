/* align_wave.h - pairs that differ little: wavefronts, whose cost grows with the difference.
 *
 * Where letters have one score for all matches and one for all mismatches, a global alignment with
 * the best score is one with the least penalty: with S = match, X = mismatch, twice the score is
 * S (n + m) - P, where P adds 2 (S - X) for each mismatch, 2 o + S for each gap's first residue and
 * 2 e + S for every other one. All three are divided by what divides them all.
 *
 * Where ends are free it is S n - P, or S m - P: one sequence, the shorter, is to be aligned, and
 * the other may begin and end where it likes. P adds then S - X for each mismatch, o and e for
 * residues of that other in a gap, o + S and e + S for those of the first, and S for each that free
 * ends leave out of it. A second piece of gaps has costs of its own, of the same form. */
#ifndef BI_ENGINE_ALIGN_WAVE_H
#define BI_ENGINE_ALIGN_WAVE_H

#include "align.h"

enum bi_wave_whole { BI_WAVE_BOTH, BI_WAVE_QUERY, BI_WAVE_TARGET };

struct bi_wave_costs {
    int32_t mismatch, open, extend; /* 0: scores are not of that kind; gaps of the query's */
    int32_t open_e, extend_e;       /* residues, and of the target's */
    int32_t open2, extend2;         /* a second piece of the query's; 0: there is none */
    int32_t open2_e, extend2_e;     /* a second piece of the target's */
    int32_t least;                  /* the smallest of all extend */
    int32_t trim;                   /* a residue that free ends leave out of the whole sequence */
    int32_t unit, match, other;     /* P in points: unit P; S, X */
    uint32_t letters;               /* a bit for each code that pairs may have */
    int32_t most;                   /* the largest of mismatch and all open */
    enum bi_wave_whole whole;       /* is to be aligned; BOTH: no end is free */
    unsigned free_ends;             /* bits of enum bioinfer_align_end */
};

/* Costs for pairs of codes of `used`, as far as these are of the kind above; mismatch, open and
 * extend are 0 where fewer than two are used, ends are free, the scoring is local, a match is no
 * better than a mismatch or than both residues in gaps, or costs are too large or too unlike. Pairs
 * may have the codes in c->letters alone: the first one, and those that fit the scores of the first
 * two, by their numbers. */
void bi_wave_costs_make(struct bi_wave_costs *c, const struct bi_align_scoring *s, uint32_t used);
/* The same where some end is free; `whole` is QUERY or TARGET. Gaps must cost something, and where
 * ends of the whole sequence are free, matches must score above 0. */
void bi_wave_costs_make_free(struct bi_wave_costs *c, const struct bi_align_scoring *s,
                             uint32_t used, enum bi_wave_whole whole);

/* Wavefronts of one thread: memory that is kept between pairs, and those of the pair at hand. */
struct bi_wave;
/* Makes an empty one, whose kernels must stay; *out is NULL after a failure (NOMEM alone). */
int bi_wave_new(struct bi_wave **out, const struct bi_env *env,
                const struct bi_align_kernels *kernels, struct bioinfer_error *err);
void bi_wave_free(struct bi_wave **w); /* NULL-safe */

/* Begins a pair, with all wavefronts kept for its path, up to `keep` bytes. With keep 0 only the
 * last wavefronts are kept, and there is no path. It aligns nothing yet: it copies both sequences,
 * but *c and *in must stay until the pair ends. Then run() as far as `most` cells, and where these
 * do not do bound(), which finds some alignment's penalty; with it the next run() has fewer cells
 * to fill. Both: 1 = done; 0 = gave up, as `most` cells are filled, the penalty is beyond what
 * lists hold, or what is kept is above `keep`; < 0 = a status, NOMEM alone. start(): 0 or NOMEM.
 * Neither sequence is empty. `most` counts all cells since start() for run(), which goes on where
 * it gave up, and those of this call for bound(), which begins anew and leaves an earlier bound
 * where it gives up. */
int bi_wave_start(struct bi_wave *w, const struct bi_wave_costs *c, const struct bi_align_input *in,
                  uint64_t keep, struct bioinfer_error *err);
/* The same with free ends: of paths on the diagonals of *place alone, and of a penalty up to
 * `limit`, beyond which run() gives up. *place must stay, too. */
int bi_wave_start_free(struct bi_wave *w, const struct bi_wave_costs *c,
                       const struct bi_align_place *place, int32_t limit, uint64_t keep,
                       struct bioinfer_error *err);
int bi_wave_run(struct bi_wave *w, int64_t most, struct bioinfer_error *err);
int bi_wave_bound(struct bi_wave *w, int64_t most, struct bioinfer_error *err);

/* penalty: P, in points, after a run that is done, else what it has got to. most: the bound that
 * was found, INT32_MAX before. cells: cells filled so far, by run() and the last bound(), with some
 * for each wavefront; left: about those that are left to fill with this bound, no number to go by
 * before there is one. */
int32_t bi_wave_penalty(const struct bi_wave *w);
int32_t bi_wave_most(const struct bi_wave *w);
int64_t bi_wave_cells(const struct bi_wave *w);
int64_t bi_wave_left(const struct bi_wave *w);
uint64_t bi_wave_left_size(const struct bi_wave *w); /* bytes of them, when they are kept */
/* The diagonals *low <= j - i <= *high that a path with at most such a penalty can reach, 0 and
 * m - n among them, maybe beyond -n and m. */
void bi_wave_band(const struct bi_wave_costs *c, const struct bi_align_input *in, int64_t penalty,
                  int64_t *low, int64_t *high);
/* Score of the pair whose penalty P, in points, that is. */
int64_t bi_wave_score(const struct bi_wave_costs *c, const struct bi_align_input *in,
                      int64_t penalty);
/* The penalty of a pair with free ends and this score. */
int64_t bi_wave_free_penalty(const struct bi_wave_costs *c, const struct bi_align_input *in,
                             int64_t score);
/* Gives memory back that few pairs need; the pair ends with it, but for its penalty, bound and
 * counts. May be left out before the next start(). */
void bi_wave_end(struct bi_wave *w);
/* The path after a run that is done, with `keep` not 0, as bi_align_step() takes it through flags
 * of all cells; *begin is where it begins, *end where it ends, without the score. path->failed is
 * set where there is no memory. */
void bi_wave_path(const struct bi_wave *w, const struct bi_align_scoring *s,
                  struct bi_align_walk *begin, struct bi_align_end *end,
                  struct bi_align_path *path);

/* ---- align_words.c: where an alignment with free ends can lie ---- */

/* Words of the whole sequence of a pair, each of eight letters behind the one before, and where the
 * other sequence has them. All zeros but env at first; its buffers are kept between pairs. */
struct bi_align_words {
    const struct bi_env *env;
    struct bi_align_buffer table, next, diagonals;
    int64_t n, n_found; /* words; diagonals j - i at which they occur, sorted */
};
void bi_align_words_free(struct bi_align_words *words);
/* Finds them: 1; 0 where the whole sequence is too short or they occur too often; or NOMEM. */
int bi_align_words_find(struct bi_align_words *words, const struct bi_align_input *in,
                        enum bi_wave_whole whole, struct bioinfer_error *err);
/* How many occur at the most on diagonals that lie no more than `reach` apart. */
int64_t bi_align_words_most(const struct bi_align_words *words, int64_t reach);
/* The diagonals *low <= j - i <= *high that all alignments of a penalty up to `limit` have; false:
 * there are none, or, where *anywhere is set, they may lie on any. */
bool bi_align_words_range(const struct bi_align_words *words, const struct bi_wave_costs *c,
                          int64_t limit, int64_t *low, int64_t *high, bool *anywhere);
/* The part of a pair that has these diagonals; false: no alignment has these alone. */
bool bi_align_place_make(const struct bi_wave_costs *c, const struct bi_align_input *in,
                         int64_t low, int64_t high, struct bi_align_place *place);

/* ---- align_bits.c ---- */

/* Finds P of a global alignment where all costs are 1, among the paths on the diagonals
 * low <= j - i <= high, 0 and m - n among them. path NULL: P alone; else the path that
 * bi_align_step() takes through flags of all cells, *begin where it does. Neither sequence is
 * empty. NOMEM is the only failure, and *penalty is untouched then; where the path had no memory
 * the call gives 0, and path->failed is set. `s` counts for the path alone. */
int bi_align_bits(struct bi_align_work *work, const struct bi_align_input *in, int64_t low,
                  int64_t high, int64_t *penalty, const struct bi_align_scoring *s,
                  struct bi_align_walk *begin, struct bi_align_path *path,
                  struct bioinfer_error *err);
/* Bytes of memory that bi_align_bits() takes for a path on these diagonals. */
uint64_t bi_align_bits_size(const struct bi_align_input *in, int64_t low, int64_t high);

#endif

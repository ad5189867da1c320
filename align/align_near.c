/* align_near.c - pairs that differ little, before all others: by wavefronts (align_wave.c).
 *
 * What a pair takes by wavefronts is not known before it is aligned, but what its matrix takes is.
 * So every pair earns a part of that for attempts, less where the last ones failed, and what an
 * attempt saves adds to it. Before an attempt a sample of the pair is taken: words of eight
 * letters, which few unrelated sequences share at about the same place; where too few are shared
 * nothing else is done. An attempt may take a share of the matrix, which doubles when it fails. A
 * bound on the penalty, which an inexact run along the best diagonals finds, says beforehand what
 * the rest of an exact one takes.
 *
 * Where ends are free, the words of the shorter sequence say where alignments can lie
 * (align_words.c): for a guess of the penalty they give the diagonals that all alignments of at
 * most that penalty have, and where one is found there it is the best; else the guess is raised.
 *
 * Results are those of the matrix, so that it does not matter what is tried.
 *
 * Costs that wavefronts do not take, matrices of proteins among them, have a band: the score of a
 * narrow one says how far from it the best path can lie (align_owns.c).
 *
 * Sections: samples, attempts, a band, free ends, all pairs. */
#include "aligner.h"

#include <stdatomic.h>
#include <string.h>

enum {
    CLAIM = 32,            /* short pairs that a thread takes at a time */
    SHORT = 1 << 22,       /* their cells at most */
    START_CELLS = 256,     /* cells that stand for what an attempt costs in any case */
    SURE_CELLS = 1 << 14,  /* cells before a bound is looked for */
    MOST_KEPT = 192 << 20, /* bytes of wavefronts, beyond which page faults cost more */
    BAND_EDGES = 160,      /* columns of a strip beside its band, about */
    MOST_LENGTH = 1 << 28, /* residues whose sums fit 32 bits */
    WORD = 8,              /* letters of a word that is looked for */
    LEAST_WORDS = 4,       /* words of a sample */
    WORD_ROWS = 64,        /* rows in a word of align_bits.c */
    SHARED = 1 << 27,      /* cells from which a pair is left to all threads together */
    MOST_WORDS = 48,
    NARROW = 24,          /* diagonals beside those of the ends where a first score is looked for */
    NARROW_PART = 64,     /* residues for one more of them */
    DIRECT = 1 << 22,     /* cells of a pair whose flags are all kept, about */
    STEP_CELLS = 32,      /* cells that stand for what a wavefront costs beside its own */
    MOST_LIMIT = 1 << 28, /* penalties */
    LARGE = 1 << 18,      /* cells of a pair that is large among those of a many() */
    BOUND_GAIN = 2,       /* a known bound makes a pair so much cheaper, about */
    FEW_FAILED = 4,       /* attempts in a row that failed: pairs earn half as much for the next */
    MOST_FAILED = 28,     /* attempts in a row that count */
    MOST_NO_WAVE = 32,    /* pairs that go without wavefronts before these are tried again */
    LEAST_FOUND = 4, /* words of 1 / LEAST_FOUND of a sequence are found before anything is tried */
    MOST_DRIFT = 64  /* diagonals on either side of a word's that are looked at */
};

/* Nanoseconds of a cell on one core, about: only what is tried hangs on them. Those of many() are
 * for all its lanes. */
static const double wave_cell = 1.5, strip_cell = 0.085, many_cell = 2.8, many_flags_cell = 0.2,
                    many_count_cell = 0.1, many_band_cell = 0.085, plain_cell = 3,
                    linear_part = 0.7, two_part = 1.9, word_place = 0.6, bits_cell = 0.028,
                    bits_path = 1.4; /* times as much with a path */
/* As much of a wavefront whose gaps have two pieces, and where ends are free, too. */
static const double two_wave = 1.5, two_free_wave = 2.5;
/* Nanoseconds of a word that is looked for, and of a place where it may be; how much more a cell
 * takes whose flags are kept. */
static const double find_word_time = 6, find_place = 1.2, direct_part = 2;
/* How much more wavefronts and bands take where ends are free, and the part of a matrix's time that
 * is worth it, which is less sure there. A cell of a large pair takes so much of another's. */
static const double free_more = 1.5, free_worth = 0.6, large_part = 0.75;
static const double least_share = 1.0 / 24, most_share = 0.5, earned = 1.0 / 16, most_saved = 6;
/* The part of a matrix's time that a sample may take. */
static const double sample_part = 1.0 / 96;
/* Another way is worth it where it takes so much of the matrix's time; a band takes so much of its
 * strips' time, with edges and with rows that are kept. */
static const double worth = 0.8, band_part = 1.2;
/* The part of a first score's time in a band that wavefronts may take for theirs, without a path
 * and with one. */
static const double bound_part[] = {0.2, 1};

/* The part of an affine cell's time that a cell of these costs takes. */
static double kind_part(const struct bi_aligner *a)
{
    return a->plan.kind == BI_ALIGN_LINEAR ? linear_part
           : a->plan.kind == BI_ALIGN_TWO  ? two_part
                                           : 1;
}

/* Whether pairs have a band alone; with gaps of two pieces they may have both. */
static bool by_owns(const struct bi_aligner *a)
{
    return a->owns.usable && !a->waves.extend;
}

/* Nanoseconds of a cell by wavefronts. */
static double wave_time(const struct bi_aligner *a)
{
    const struct bi_align_scoring *s = &a->plan.scoring;
    return wave_cell * (!s->open2 ? 1 : s->free_ends ? two_free_wave : two_wave);
}

/* Nanoseconds of so many cells by strips. */
static double strip_time(const struct bi_aligner *a, double cells)
{
    return strip_cell * cells * kind_part(a) * (double)(a->plan.kernels->bits / 8);
}

/* Whether an alignment may end where it likes: many() finds no paths then. */
static bool has_free_last(const struct bi_aligner *a)
{
    return a->plan.scoring.free_ends & (BIOINFER_FREE_QUERY_END | BIOINFER_FREE_TARGET_END);
}

/* Nanoseconds of the whole matrix of a pair; alone: few others share a many() with it. */
static double matrix_time(const struct bi_aligner *a, const struct bi_align_input *in, bool alone)
{
    const struct bi_align_kernels *k = a->plan.kernels;
    const double cells = (double)in->n * (double)in->m;
    if (!k)
        return plain_cell * cells;
    if (a->traceback && has_free_last(a) && !(a->identity && a->plan.counts))
        return (cells < DIRECT ? direct_part : 1) *
               strip_time(a, (double)(in->n + BAND_EDGES / 2) * (double)(in->m + BAND_EDGES));
    if (alone || bi_aligner_is_single(a, in))
        return strip_time(a, cells);
    const double path_cell = a->identity && a->plan.counts ? many_count_cell
                             : by_owns(a)                  ? many_band_cell
                                                           : many_flags_cell;
    const double large = a->plan.scoring.free_ends && cells > LARGE ? large_part : 1;
    const double one_cell = many_cell / (double)k->lanes * large;
    return (a->traceback ? path_cell : one_cell) * cells * kind_part(a);
}

/* Whether its lengths and letters are those that wavefronts take. */
static bool is_fit(const struct bi_aligner *a, const struct bi_wave_costs *c,
                   const struct bi_align_input *in)
{
    const uint32_t others = a->used & ~c->letters;
    uint32_t used = 0;
    if (in->n > MOST_LENGTH || in->m > MOST_LENGTH)
        return false;
    for (int64_t i = 0; others && i < in->n && !(used & others); i++)
        used |= 1u << in->query[i];
    for (int64_t j = 0; others && j < in->m && !(used & others); j++)
        used |= 1u << in->target[j];
    return !(used & others);
}

/* ---- samples ---- */

static uint64_t word_at(const uint8_t *codes)
{
    uint64_t word;
    memcpy(&word, codes, WORD);
    return word;
}

/* Looks for the query's word at i in the target, up to `drift` places from `at`: the place nearest
 * to that, or -1. */
static int64_t find_word(const struct bi_align_input *in, int64_t i, int64_t at, int64_t drift)
{
    const uint64_t word = word_at(in->query + i);
    const int64_t last = in->m - WORD;
    for (int64_t d = 0; d <= drift; d++) {
        if (at + d >= 0 && at + d <= last && word_at(in->target + at + d) == word)
            return at + d;
        if (at - d >= 0 && at - d <= last && word_at(in->target + at - d) == word)
            return at - d;
    }
    return -1;
}

/* Counts those of n words of the query, spread over it, that the target has near their diagonal.
 * Words of the first half are looked for from the start on, those of the second half from the end
 * back, each at the diagonal where the one before was found. */
static int shared_words(const struct bi_align_input *in, int n, int64_t drift)
{
    const int64_t gap = (in->n - WORD) / n;
    int64_t first = 0, last = in->m - in->n;
    int shared = 0;
    for (int k = 0; k < n / 2; k++) {
        const int64_t i = gap * k + gap / 2, back = in->n - WORD - i;
        const int64_t found = find_word(in, i, i + first, drift);
        const int64_t found_back = find_word(in, back, back + last, drift);
        first = found >= 0 ? found - i : first;
        last = found_back >= 0 ? found_back - back : last;
        shared += (found >= 0) + (found_back >= 0);
    }
    return shared;
}

/* The least share of words that pairs have in common for which a band is worth it, where 1 - share
 * of the residues differ by mismatches: see bi_wave_band(). by_strips: how many times longer than
 * the matrix its cells take by strips; counts where wavefronts are of no use. */
static double least_shared(const struct bi_aligner *a, double by_strips)
{
    const struct bi_align_scoring *s = &a->plan.scoring;
    const bool waves = a->waves.extend;
    const double extend = waves      ? a->waves.least
                          : s->open2 ? 2 * s->extend2 + a->owns.least
                                     : 2 * s->extend + a->owns.least;
    const double differ = worth / band_part * extend /
                          (waves ? a->waves.mismatch : by_strips * a->owns.mismatch);
    const double equal = differ < 1 ? 1 - differ : 0, two = equal * equal, four = two * two;
    return four * four;
}

/* Whether a sample says that a pair may differ little. A worker takes none before its pairs have
 * earned what it costs. */
static bool looks_near(const struct bi_aligner *a, struct bi_align_worker *w,
                       const struct bi_align_input *in, double matrix)
{
    const double places = 65536; /* words of 4 letters */
    const double strips = by_owns(a) ? strip_time(a, (double)in->n * (double)in->m) : 0;
    const double least = least_shared(a, strips > matrix ? strips / matrix : 1);
    const int64_t shorter = in->n < in->m ? in->n : in->m;
    const int64_t drift = shorter / 16 < MOST_DRIFT ? shorter / 16 : MOST_DRIFT;
    const double word = word_place * (double)(2 * drift + 1);
    const double by_time = sample_part * matrix / word;
    int64_t n = shorter / (2 * WORD);
    if (least < 0.01) /* for a band, sequences are near enough by chance */
        return true;
    n = (double)n < by_time ? n : (int64_t)by_time;
    n = n < LEAST_WORDS ? LEAST_WORDS : n > MOST_WORDS ? MOST_WORDS : n;
    w->sampling += sample_part * matrix;
    if (shorter < n * WORD || w->sampling < word * (double)n)
        return false;
    w->sampling = 0;
    return shared_words(in, (int)n, drift) >= (by_owns(a) ? least : least / 2) * (double)n +
                                                  4 * (double)(n * (2 * drift + 1)) / places;
}

/* ---- attempts ---- */

/* The ways to align a pair. */
enum way { BY_MATRIX, BY_WAVE, BY_BAND, BY_BITS };

/* Whether 64 rows of a column fit in a word: all costs are the same. */
static bool is_unit(const struct bi_aligner *a)
{
    const struct bi_wave_costs *c = &a->waves;
    return c->mismatch == 1 && c->open == 1 && c->extend == 1;
}

/* Nanoseconds of the diagonals of a band by words. */
static double bits_time(const struct bi_aligner *a, const struct bi_align_input *in, int64_t low,
                        int64_t high)
{
    const int64_t rows = high - low + 2 * WORD_ROWS, all = in->n + WORD_ROWS;
    const double cell = a->traceback ? bits_cell * bits_path : bits_cell;
    return cell * (double)in->m * (double)(rows < all ? rows : all);
}

/* Chooses what is fastest once there is a bound on the penalty. */
static enum way choose(const struct bi_aligner *a, const struct bi_wave *w,
                       const struct bi_align_input *in, uint64_t limit, double matrix, int64_t *low,
                       int64_t *high)
{
    double wave = wave_time(a) * (double)bi_wave_left(w), band = matrix, bits = matrix;
    if (a->traceback && bi_wave_left_size(w) > limit)
        wave = matrix;
    bi_wave_band(&a->waves, in, bi_wave_most(w), low, high);
    if (a->plan.kernels)
        band = band_part * strip_time(a, (double)in->n * (double)(*high - *low + BAND_EDGES));
    if (is_unit(a) && (!a->traceback || bi_align_bits_size(in, *low, *high) <= limit))
        bits = bits_time(a, in, *low, *high);
    if (wave > worth * matrix && band > worth * matrix && bits > worth * matrix)
        return BY_MATRIX;
    if (bits < wave && bits < band)
        return BY_BITS;
    return wave < band ? BY_WAVE : BY_BAND;
}

/* Finds how a pair is aligned, and by wavefronts aligns it: 1; 0 = by the matrix; < 0 = a status.
 * most: cells of wavefronts that may be tried. */
static int try_wave(struct bi_aligner *a, struct bi_wave *w, const struct bi_align_input *in,
                    int64_t most, double matrix, enum way *way, int64_t *low, int64_t *high,
                    struct bioinfer_error *err)
{
    const uint64_t limit = a->plan.memory_limit < MOST_KEPT ? a->plan.memory_limit : MOST_KEPT;
    int st;
    *way = BY_WAVE;
    if ((st = bi_wave_start(w, &a->waves, in, a->traceback ? limit : 0, err)))
        return st;
    if ((st = bi_wave_run(w, most < SURE_CELLS ? most : SURE_CELLS, err)))
        return st;
    if (most <= SURE_CELLS || (st = bi_wave_bound(w, most - SURE_CELLS, err)) <= 0)
        return st;
    *way = choose(a, w, in, limit, matrix, low, high);
    return *way == BY_WAVE ? bi_wave_run(w, INT64_MAX, err) : *way != BY_MATRIX;
}

/* Nanoseconds of a band by strips. */
static double band_time(const struct bi_aligner *a, const struct bi_align_input *in, int64_t low,
                        int64_t high)
{
    return band_part * strip_time(a, (double)in->n * (double)(high - low + BAND_EDGES));
}

/* Makes what was found the result of place i; begin: where its path does. */
static int put_result(struct bi_aligner *a, struct bi_align_worker *w, size_t i,
                      const struct bi_align_walk *begin, const struct bi_align_end *end,
                      struct bioinfer_alignment *r, struct bioinfer_error *err)
{
    r->score = end->score * a->unit;
    if (!a->traceback)
        return 0;
    return w->path.failed ? bi_fail(err, BIOINFER_NOMEM, "path of an alignment")
                          : bi_aligner_put_path(a, i, w, begin, end, false, r, err);
}

/* Returns the status of a band. The log has it where a path leaves a band that was proven, which no
 * path does: the pair goes through its matrix, and its result would not show it. */
static int from_band(const struct bi_aligner *a, int status, const struct bioinfer_error *err)
{
    if (status == BIOINFER_INTERNAL)
        bi_log(&a->ctx->env, BIOINFER_LOG_WARNING, "a defect: %s; its whole matrix is filled",
               err->text);
    return status;
}

/* The time that a worker has for a pair; 0: none. cell: what one of wavefronts takes. */
static double budget_of(struct bi_align_worker *w, double cell, double matrix)
{
    const double least = cell * START_CELLS, sure = cell * SURE_CELLS;
    const double most = most_share * matrix;
    double budget;
    w->share = w->share < least_share ? least_share : w->share;
    budget = w->share * matrix > least ? w->share * matrix : least;
    w->credit += earned * matrix / (1 + (double)w->n_failed / FEW_FAILED);
    if (w->credit < budget || budget > most)
        return 0;
    /* earlier pairs saved that much: for a short pair it may be more than the matrix takes */
    budget = w->credit / 4 > budget ? w->credit / 4 : budget;
    return budget > most && budget > sure ? (most > sure ? most : sure) : budget;
}

/* Tries the pair at place i within so many cells; whether it has a result. Without memory for an
 * attempt it goes the way of all others. *time: what it took. */
static bool attempt(struct bi_aligner *a, struct bi_align_worker *w, size_t i, int64_t most,
                    double matrix, double *time, struct bioinfer_alignment *results)
{
    const struct bi_align_input *in = &a->inputs[i];
    struct bi_align_path *path = a->traceback ? &w->path : NULL;
    struct bi_align_end end = {.i = in->n, .j = in->m};
    struct bi_align_walk begin = {0};
    struct bioinfer_error err = {0};
    int64_t low = 0, high = 0;
    enum way way;
    *time = 0;
    if (!is_fit(a, &a->waves, in) ||
        (!w->wave && bi_wave_new(&w->wave, &a->ctx->env, a->coders, &err)))
        return false;
    int st = try_wave(a, w->wave, in, most, matrix, &way, &low, &high, &err);
    *time = wave_time(a) * (double)(START_CELLS + bi_wave_cells(w->wave));
    w->path.n = 0;
    w->path.failed = false;
    if (st == 1 && way == BY_BAND) {
        st = !from_band(
            a, bi_align_band(&a->plan, &w->work, in, low, high, &end, &begin, path, &err), &err);
        *time += strip_time(a, (double)in->n * (double)(high - low + BAND_EDGES));
    } else if (st == 1 && way == BY_BITS) {
        int64_t penalty = 0;
        st = !bi_align_bits(&w->work, in, low, high, &penalty, &a->plan.scoring, &begin, path,
                            &err);
        end.score = bi_wave_score(&a->waves, in, penalty);
        *time += bits_time(a, in, low, high);
    } else if (st == 1) {
        if (path)
            bi_wave_path(w->wave, &a->plan.scoring, &begin, &end, path);
        end.score = bi_wave_score(&a->waves, in, bi_wave_penalty(w->wave));
    }
    bi_wave_end(w->wave);
    if (st != 1)
        return false;
    st = put_result(a, w, i, &begin, &end, &results[a->pair[i]], &err);
    if (st)
        bi_aligner_fail(a, results, a->pair[i], st, "%s", err.text);
    return true;
}

/* Aligns a pair of unit costs by words, whatever its difference; whether that is worth it. */
static bool align_far(struct bi_aligner *a, struct bi_align_worker *w, size_t i, double matrix,
                      struct bioinfer_alignment *results)
{
    const struct bi_align_input *in = &a->inputs[i];
    struct bi_align_end end = {.i = in->n, .j = in->m};
    struct bi_align_walk begin = {0};
    struct bioinfer_error err = {0};
    int64_t penalty;
    if (!is_unit(a) || bits_time(a, in, -in->n, in->m) > worth * matrix ||
        !is_fit(a, &a->waves, in) || (a->ctx->n_threads > 1 && in->n > SHARED / in->m) ||
        (a->traceback && bi_align_bits_size(in, -in->n, in->m) > a->plan.memory_limit))
        return false;
    w->path.n = 0;
    w->path.failed = false;
    if (bi_align_bits(&w->work, in, -in->n, in->m, &penalty, &a->plan.scoring, &begin,
                      a->traceback ? &w->path : NULL, &err))
        return false;
    end.score = bi_wave_score(&a->waves, in, penalty);
    const int st = put_result(a, w, i, &begin, &end, &results[a->pair[i]], &err);
    if (st)
        bi_aligner_fail(a, results, a->pair[i], st, "%s", err.text);
    return true;
}

/* ---- a band ---- */

/* The diagonals where a first score is looked for. */
static void narrow_band(const struct bi_align_input *in, int64_t *low, int64_t *high)
{
    const int64_t shorter = in->n < in->m ? in->n : in->m, beyond = in->m - in->n;
    const int64_t beside = NARROW + shorter / NARROW_PART;
    *low = (beyond < 0 ? beyond : 0) - beside;
    *high = (beyond > 0 ? beyond : 0) + beside;
}

/* As attempt() where no wavefronts are: strips of a narrow band find some score, and what that says
 * about the best path is the band that is filled then, if it is not the same. */
static bool attempt_band(struct bi_aligner *a, struct bi_align_worker *w, size_t i, double matrix,
                         double *time, struct bioinfer_alignment *results)
{
    const struct bi_align_input *in = &a->inputs[i];
    const struct bi_align_scoring *s = &a->plan.scoring;
    struct bi_align_path *path = a->traceback ? &w->path : NULL;
    struct bi_align_end end = {.i = in->n, .j = in->m};
    struct bi_align_walk begin = {0};
    struct bioinfer_error err = {0};
    int64_t low, high, near_low, near_high;
    narrow_band(in, &near_low, &near_high);
    *time = band_time(a, in, near_low, near_high);
    if (*time > most_share * matrix) {
        *time = 0;
        return false;
    }
    if (bi_align_band(&a->plan, &w->work, in, near_low, near_high, &end, &begin, NULL, &err))
        return false;
    bi_align_owns_band(&a->owns, s, in, bi_align_owns_penalty(&a->owns, in, end.score), &low,
                       &high);
    if (path || low < near_low || high > near_high) {
        const double more = (path ? direct_part : 1) * band_time(a, in, low, high);
        if (*time + more > worth * matrix)
            return false;
        *time += more;
        w->path.n = 0;
        w->path.failed = false;
        if (from_band(a, bi_align_band(&a->plan, &w->work, in, low, high, &end, &begin, path, &err),
                      &err))
            return false;
    }
    const int st = put_result(a, w, i, &begin, &end, &results[a->pair[i]], &err);
    if (st)
        bi_aligner_fail(a, results, a->pair[i], st, "%s", err.text);
    return true;
}

/* By wavefronts, or, where gaps have two pieces, in a band: there wavefronts may take but a part of
 * the time until it has its first score, as they cost more than with one piece, and where they fail
 * again and again ever more pairs go without. */
static bool attempt_either(struct bi_aligner *a, struct bi_align_worker *w, size_t i, double budget,
                           double matrix, double *time, struct bioinfer_alignment *results)
{
    const struct bi_align_input *in = &a->inputs[i];
    int64_t most = (int64_t)(budget / wave_time(a)), low, high;
    double by_band;
    if (!a->owns.usable)
        return attempt(a, w, i, most, matrix, time, results);
    *time = 0;
    if (!w->no_wave) {
        narrow_band(in, &low, &high);
        const double first = bound_part[a->traceback] * band_time(a, in, low, high) / wave_time(a);
        most = first + SURE_CELLS < (double)most ? (int64_t)first + SURE_CELLS : most;
        if (attempt(a, w, i, most, matrix, time, results)) {
            w->more_no_wave = 0;
            return true;
        }
        w->no_wave = w->more_no_wave + 1;
        w->more_no_wave = 2 * w->no_wave < MOST_NO_WAVE ? 2 * w->no_wave - 1 : MOST_NO_WAVE - 1;
    }
    w->no_wave--;
    const bool found = attempt_band(a, w, i, matrix, &by_band, results);
    *time += by_band;
    return found;
}

/* ---- free ends ---- */

/* Costs where the shorter sequence is to be aligned, or the longer one where these are none. */
static const struct bi_wave_costs *free_costs(const struct bi_aligner *a,
                                              const struct bi_align_input *in)
{
    const bool by_query = a->waves.extend && (in->n <= in->m || !a->waves_target.extend);
    return by_query ? &a->waves : &a->waves_target;
}

/* Nanoseconds until words are found. */
static double find_time(const struct bi_wave_costs *c, const struct bi_align_input *in)
{
    const bool by_query = c->whole == BI_WAVE_QUERY;
    return find_word_time * (double)(by_query ? in->n : in->m) / WORD +
           find_place * (double)(by_query ? in->m : in->n);
}

/* A penalty that the best alignment may have, by the words that are not found; INT64_MAX: hardly
 * any is. */
static int64_t guess(const struct bi_align_words *words, const struct bi_wave_costs *c)
{
    const int64_t found = bi_align_words_most(words, words->n / 2 + 4);
    const int64_t missing = found < words->n ? words->n - found : 0;
    const int64_t open = c->open < c->open_e ? c->open : c->open_e;
    /* three mismatches and a gap for four changes, some of which share a word; a third more */
    const int64_t changes = missing + missing * missing / (2 * words->n);
    return found * LEAST_FOUND < words->n
               ? INT64_MAX
               : (3 * c->mismatch + open) * changes / 3 + c->open / 2 + 1;
}

/* A way to align a pair in a place, and the nanoseconds that it takes. */
struct free_way {
    bool by_wave;
    double time;
};

static struct free_way choose_free(const struct bi_aligner *a, const struct bi_align_place *place,
                                   int64_t limit, uint64_t kept)
{
    const double width = (double)(place->high - place->low + 1), cells = (double)limit * width;
    const double wave = free_more * wave_time(a) * (cells + STEP_CELLS * (double)limit);
    const double lists = a->plan.scoring.open2 ? 5 : 3; /* that a wavefront has */
    struct free_way way = {true, lists * sizeof(int32_t) * cells < (double)kept ? wave : 1e300};
    if (a->plan.kernels) {
        const double rows = (double)place->in.n * (width + BAND_EDGES);
        const double band = (a->traceback ? direct_part : 1) * free_more * strip_time(a, rows);
        way = band < way.time ? (struct free_way){false, band} : way;
    }
    return way;
}

/* The pair at hand with free ends, and what was found. */
struct free_pair {
    struct bi_aligner *a;
    struct bi_align_worker *w;
    const struct bi_wave_costs *c;
    const struct bi_align_input *in;
    uint64_t kept;               /* bytes that wavefronts may take */
    double budget, matrix, time; /* budget: for what is not known beforehand */
    struct bi_align_end end;
    struct bi_align_walk begin;
};

/* Aligns a pair in a place, among penalties up to `most` where wavefronts do it: *penalty is the
 * least there, or INT64_MAX where none is found. 0 or a status. */
static int align_in(struct free_pair *p, const struct bi_align_place *place, int64_t most,
                    bool by_wave, int64_t *penalty, struct bioinfer_error *err)
{
    struct bi_align_worker *w = p->w;
    struct bi_align_path *path = p->a->traceback ? &w->path : NULL;
    int st;
    *penalty = INT64_MAX;
    w->path.n = 0;
    w->path.failed = false;
    if (!by_wave) {
        st = bi_align_band_free(&p->a->plan, &w->work, place, &p->end, &p->begin, path, err);
        if (!from_band(p->a, st, err))
            *penalty = bi_wave_free_penalty(p->c, p->in, p->end.score);
        return st;
    }
    st = bi_wave_start_free(w->wave, p->c, place, (int32_t)most, path ? p->kept : 0, err);
    if (!st && (st = bi_wave_run(w->wave, INT64_MAX, err)) == 1) {
        *penalty = bi_wave_penalty(w->wave);
        if (path)
            bi_wave_path(w->wave, &p->a->plan.scoring, &p->begin, &p->end, path);
        p->end.score = bi_wave_score(p->c, p->in, *penalty);
        st = 0;
    }
    bi_wave_end(w->wave);
    return st;
}

/* Finds some alignment's penalty in a place: that; 0 = none is found, or a status. */
static int64_t bound_in(struct free_pair *p, const struct bi_align_place *place,
                        struct bioinfer_error *err)
{
    const double cell = free_more * wave_time(p->a);
    const int64_t most = p->budget > p->time ? (int64_t)((p->budget - p->time) / cell) : 0;
    int st = bi_wave_start_free(p->w->wave, p->c, place, MOST_LIMIT, 0, err);
    st = st ? st : bi_wave_bound(p->w->wave, most, err);
    p->time += cell * (double)bi_wave_cells(p->w->wave);
    return st == 1 ? bi_wave_most(p->w->wave) : st;
}

/* Finds the best alignment within the budget; false: no time, no memory, or no proof. */
static bool find_free(struct free_pair *p, struct bioinfer_error *err)
{
    const struct bi_align_words *words = &p->w->words;
    struct bi_align_place place;
    bool anywhere, bounded = false;
    int64_t limit, low, high, penalty;
    p->time = find_time(p->c, p->in);
    if (bi_align_words_find(&p->w->words, p->in, p->c->whole, err) != 1)
        return false;
    for (limit = guess(words, p->c);;) {
        if (limit > MOST_LIMIT)
            return false;
        if (!bi_align_words_range(words, p->c, limit, &low, &high, &anywhere) ||
            !bi_align_place_make(p->c, p->in, low, high, &place)) {
            if (anywhere)
                return false;
            limit *= 2;
            continue;
        }
        const struct free_way way = choose_free(p->a, &place, limit, p->kept);
        if (way.time > BOUND_GAIN * free_worth * p->matrix)
            return false;
        if (!bounded && way.time > wave_time(p->a) * SURE_CELLS) {
            if ((penalty = bound_in(p, &place, err)) <= 0)
                return false;
            bounded = true;
            limit = penalty;
            continue;
        }
        if (p->time + way.time > free_worth * p->matrix)
            return false;
        p->time += way.time;
        if (align_in(p, &place, 2 * limit, way.by_wave, &penalty, err))
            return false;
        if (penalty <= limit)
            break;
        limit = penalty < 2 * limit ? penalty : 2 * limit;
    }
    p->end.i += place.query_begin;
    p->end.j += place.target_begin;
    p->begin.i += place.query_begin;
    p->begin.j += place.target_begin;
    return true;
}

/* Whether it is better to align nothing at all, or as good. */
static bool is_nothing(const struct bi_align_scoring *s, const struct bi_align_input *in,
                       int64_t score)
{
    return (s->free_ends & BIOINFER_FREE_TARGET_END && score <= bi_align_left(s, in->n)) ||
           (s->free_ends & BIOINFER_FREE_QUERY_END && score <= bi_align_top(s, in->m));
}

/* As attempt() with free ends. */
static bool attempt_free(struct bi_aligner *a, struct bi_align_worker *w, size_t i, double budget,
                         double matrix, double *time, struct bioinfer_alignment *results)
{
    const struct bi_align_input *in = &a->inputs[i];
    const struct bi_wave_costs *c = free_costs(a, in);
    struct free_pair p = {.a = a, .w = w, .c = c, .in = in, .budget = budget, .matrix = matrix};
    struct bioinfer_error err = {0};
    *time = 0;
    p.kept = a->plan.memory_limit < MOST_KEPT ? a->plan.memory_limit : MOST_KEPT;
    w->words.env = &a->ctx->env;
    if (!is_fit(a, c, in) || (!w->wave && bi_wave_new(&w->wave, &a->ctx->env, a->coders, &err)))
        return false;
    const bool found = find_free(&p, &err) && !is_nothing(&a->plan.scoring, in, p.end.score);
    *time = p.time;
    if (!found)
        return false;
    const int st = put_result(a, w, i, &p.begin, &p.end, &results[a->pair[i]], &err);
    if (st)
        bi_aligner_fail(a, results, a->pair[i], st, "%s", err.text);
    return true;
}

/* Whether a worker's pairs have earned that the words of one are looked for. */
static bool may_find(const struct bi_aligner *a, struct bi_align_worker *w,
                     const struct bi_align_input *in, double matrix)
{
    w->sampling += sample_part * matrix;
    if (w->sampling < find_time(free_costs(a, in), in))
        return false;
    w->sampling = 0;
    return true;
}

/* ---- all pairs ---- */

bool bi_aligner_try_near(struct bi_aligner *a, struct bi_align_worker *w, size_t i,
                         struct bioinfer_alignment *results)
{
    const double no_matrix = 1e300;
    double time;
    if (a->plan.scoring.free_ends)
        return (a->waves.extend || a->waves_target.extend) &&
               attempt_free(a, w, i, no_matrix, no_matrix, &time, results);
    return (a->waves.extend && attempt(a, w, i, INT64_MAX, no_matrix, &time, results)) ||
           (a->owns.usable && attempt_band(a, w, i, no_matrix, &time, results));
}

/* Tries the pair at place i, if the worker has time for it. */
static bool align_near(struct bi_aligner *a, struct bi_align_worker *w, size_t i, bool alone,
                       struct bioinfer_alignment *results)
{
    const struct bi_align_input *in = &a->inputs[i];
    const bool free = a->plan.scoring.free_ends;
    const double matrix = matrix_time(a, in, alone), budget = budget_of(w, wave_time(a), matrix);
    double time;
    if (budget == 0 ||
        (!w->near && !(free ? may_find(a, w, in, matrix) : looks_near(a, w, in, matrix))))
        return !free && align_far(a, w, i, matrix, results);
    w->near = free         ? attempt_free(a, w, i, budget, matrix, &time, results)
              : by_owns(a) ? attempt_band(a, w, i, matrix, &time, results)
                           : attempt_either(a, w, i, budget, matrix, &time, results);
    if (!w->near) {
        w->credit -= time;
        w->n_failed += w->n_failed < MOST_FAILED;
        if (time > 0)
            w->share = w->share * 2 < most_share ? w->share * 2 : most_share;
        return !free && align_far(a, w, i, matrix, results);
    }
    w->n_failed = 0;
    w->share = 2 * time < most_share * matrix ? 2 * time / matrix : most_share;
    w->credit += time < matrix ? (matrix - time) / 2 : 0;
    w->credit = w->credit < most_saved * matrix ? w->credit : most_saved * matrix;
    return true;
}

struct near_job {
    struct bi_aligner *a;
    bool alone, tried; /* tried: costs allow it */
    struct bioinfer_alignment *results;
    atomic_size_t n_left;
};

static void align_some(void *user, int thread, int64_t first, int64_t end)
{
    struct near_job *job = user;
    struct bi_aligner *a = job->a;
    uint32_t left[CLAIM];
    size_t n = 0;
    for (int64_t i = first; i < end; i++)
        if (!job->results[a->pair[i]].status &&
            !(job->tried &&
              align_near(a, &a->workers[thread], (size_t)i, job->alone, job->results)))
            left[n++] = (uint32_t)i;
    if (n)
        memcpy(a->order + atomic_fetch_add(&job->n_left, n), left, n * sizeof *left);
}

static int count_letters(uint32_t set)
{
    int n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

size_t bi_aligner_run_near(struct bi_aligner *a, size_t n, struct bioinfer_alignment *results)
{
    enum { PART = 4 };
    struct near_job job = {.a = a, .results = results};
    if (a->plan.scoring.free_ends) {
        bi_wave_costs_make_free(&a->waves, &a->plan.scoring, a->used, BI_WAVE_QUERY);
        bi_wave_costs_make_free(&a->waves_target, &a->plan.scoring, a->used, BI_WAVE_TARGET);
    } else {
        bi_wave_costs_make(&a->waves, &a->plan.scoring, a->used);
    }
    /* Some amino acids have such scores by chance, and no pair consists of these alone. */
    a->owns.usable = false;
    if (PART * count_letters(a->waves.letters) < count_letters(a->used))
        a->waves.extend = a->waves_target.extend = 0;
    if ((!a->waves.extend || a->plan.scoring.open2) && a->plan.kernels)
        bi_align_owns_make(&a->owns, &a->plan.scoring, a->used);
    job.tried = a->waves.extend || a->waves_target.extend || a->owns.usable;
    const bool are_short = a->cells < (double)n * SHORT;
    const size_t claims = are_short ? (n + CLAIM - 1) / CLAIM : n;
    const int n_threads = a->ctx->n_threads;
    job.alone = a->plan.kernels && n * 3 < (size_t)a->plan.kernels->lanes;
    bi_team_for(&a->ctx->env, claims < (size_t)n_threads ? (int)claims : n_threads, (int64_t)n,
                are_short ? CLAIM : 1, align_some, &job);
    return job.n_left;
}

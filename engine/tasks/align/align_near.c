/* align_near.c - pairs that differ little, before all others: by wavefronts (align_wave.c).
 *
 * What a pair takes by wavefronts is not known before it is aligned, but what its matrix takes is.
 * So every pair earns a part of that for attempts, and what an attempt saves adds to it. Before an
 * attempt a sample of the pair is taken: words of eight letters, which few unrelated sequences
 * share at about the same place; where too few are shared nothing else is done. An attempt may take
 * a share of the matrix, which doubles when it fails. A bound on the penalty, which an inexact run
 * along the best diagonals finds, says beforehand what the rest of an exact one takes.
 *
 * Results are those of the matrix, so that it does not matter what is tried. */
#include "aligner.h"

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
    MOST_DRIFT = 64 /* diagonals on either side of a word's that are looked at */
};

/* Nanoseconds of a cell on one core, about: only what is tried hangs on them. Those of many() are
 * for all its lanes. */
static const double wave_cell = 1.5, strip_cell = 0.085, many_cell = 2.8, many_flags_cell = 0.2,
                    many_count_cell = 0.1, plain_cell = 3, linear_part = 0.7, word_place = 0.6,
                    bits_cell = 0.028, bits_path = 1.4; /* times as much with a path */
static const double least_share = 1.0 / 24, most_share = 0.5, earned = 1.0 / 16, most_saved = 6;
/* The part of a matrix's time that a sample may take. */
static const double sample_part = 1.0 / 96;
/* Another way is worth it where it takes so much of the matrix's time; a band takes so much of its
 * strips' time, with edges and with rows that are kept. */
static const double worth = 0.8, band_part = 1.2;

/* Nanoseconds of so many cells by strips. */
static double strip_time(const struct bi_aligner *a, double cells)
{
    const double part = a->plan.kind == BI_ALIGN_LINEAR ? linear_part : 1;

    return strip_cell * cells * part * (double)(a->plan.kernels->bits / 8);
}

/* Nanoseconds of the whole matrix of a pair; alone: few others share a many() with it. */
static double matrix_time(const struct bi_aligner *a, const struct bi_align_input *in, bool alone)
{
    const struct bi_align_kernels *k = a->plan.kernels;
    const double cells = (double)in->n * (double)in->m;
    const double part = a->plan.kind == BI_ALIGN_LINEAR ? linear_part : 1;

    if (!k)
        return plain_cell * cells;
    if (alone || bi_aligner_is_single(a, in))
        return strip_time(a, cells);
    const double path_cell = a->identity && a->plan.counts ? many_count_cell : many_flags_cell;
    return (a->traceback ? path_cell : many_cell / (double)k->lanes) * cells * part;
}

/* Whether its lengths and letters are those that wavefronts take. */
static bool is_fit(const struct bi_aligner *a, const struct bi_align_input *in)
{
    const uint32_t others = a->used & ~a->waves.letters;
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
 * of the residues differ by mismatches: see bi_wave_band(). */
static double least_shared(const struct bi_wave_costs *c)
{
    const double differ = worth / band_part * c->extend / c->mismatch;
    const double equal = differ < 1 ? 1 - differ : 0, two = equal * equal, four = two * two;

    return four * four;
}

/* Whether a sample says that a pair may differ little. A worker takes none before its pairs have
 * earned what it costs. */
static bool looks_near(const struct bi_aligner *a, struct bi_align_worker *w,
                       const struct bi_align_input *in, double matrix)
{
    const double places = 65536, least = least_shared(&a->waves); /* places: words of 4 letters */
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
    return shared_words(in, (int)n, drift) >=
           least / 2 * (double)n + 4 * (double)(n * (2 * drift + 1)) / places;
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
    double wave = wave_cell * (double)bi_wave_left(w), band = matrix, bits = matrix;

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

/* The time that a worker has for a pair; 0: none. */
static double budget_of(struct bi_align_worker *w, double matrix)
{
    const double least = wave_cell * START_CELLS, sure = wave_cell * SURE_CELLS;
    const double most = most_share * matrix;
    double budget;

    w->share = w->share < least_share ? least_share : w->share;
    budget = w->share * matrix > least ? w->share * matrix : least;
    w->credit += earned * matrix;
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
    if (!is_fit(a, in) || (!w->wave && bi_wave_new(&w->wave, &a->ctx->env, a->coders, &err)))
        return false;
    int st = try_wave(a, w->wave, in, most, matrix, &way, &low, &high, &err);
    *time = wave_cell * (double)(START_CELLS + bi_wave_cells(w->wave));
    w->path.n = 0;
    w->path.failed = false;
    if (st == 1 && way == BY_BAND) {
        st = !bi_align_band(&a->plan, &w->work, in, low, high, &end, &begin, path, &err);
        *time += strip_time(a, (double)in->n * (double)(high - low + BAND_EDGES));
    } else if (st == 1 && way == BY_BITS) {
        int64_t penalty = 0;
        st = !bi_align_bits(&w->work, in, low, high, &penalty, &a->plan.scoring, &begin, path,
                            &err);
        end.score = bi_wave_score(&a->waves, in, penalty);
        *time += bits_time(a, in, low, high);
    } else if (st == 1) {
        end.score = bi_wave_score(&a->waves, in, bi_wave_penalty(w->wave));
        if (path)
            bi_wave_path(w->wave, &a->plan.scoring, &begin, path);
    }
    bi_wave_end(w->wave);
    if (st != 1)
        return false;
    st = put_result(a, w, i, &begin, &end, &results[a->pair[i]], &err);
    if (st)
        bi_aligner_fail(a, results, a->pair[i], st, "%s", err.text);
    return true;
}

bool bi_aligner_try_near(struct bi_aligner *a, struct bi_align_worker *w, size_t i,
                         struct bioinfer_alignment *results)
{
    const double no_matrix = 1e300;
    double time;

    return a->waves.extend && attempt(a, w, i, INT64_MAX, no_matrix, &time, results);
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

    if (!is_unit(a) || bits_time(a, in, -in->n, in->m) > worth * matrix || !is_fit(a, in) ||
        (a->ctx->n_threads > 1 && in->n > SHARED / in->m) ||
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

/* Tries the pair at place i, if the worker has time for it. */
static bool align_near(struct bi_aligner *a, struct bi_align_worker *w, size_t i, bool alone,
                       struct bioinfer_alignment *results)
{
    const double matrix = matrix_time(a, &a->inputs[i], alone), budget = budget_of(w, matrix);
    double time;

    if (budget == 0 || (!w->near && !looks_near(a, w, &a->inputs[i], matrix)))
        return align_far(a, w, i, matrix, results);
    w->near = attempt(a, w, i, (int64_t)(budget / wave_cell), matrix, &time, results);
    if (!w->near) {
        w->credit -= time;
        if (time > 0)
            w->share = w->share * 2 < most_share ? w->share * 2 : most_share;
        return align_far(a, w, i, matrix, results);
    }
    w->share = 2 * time < most_share * matrix ? 2 * time / matrix : most_share;
    w->credit += time < matrix ? (matrix - time) / 2 : 0;
    w->credit = w->credit < most_saved * matrix ? w->credit : most_saved * matrix;
    return true;
}

struct near_job {
    struct bi_aligner *a;
    bool alone;
    struct bioinfer_alignment *results;
};

static void align_some(void *user, int thread, int64_t first, int64_t end)
{
    const struct near_job *job = user;
    struct bi_aligner *a = job->a;

    for (int64_t i = first; i < end; i++)
        if (!job->results[a->pair[i]].status &&
            align_near(a, &a->workers[thread], (size_t)i, job->alone, job->results))
            a->inputs[i].query = NULL;
}

static int count_letters(uint32_t set)
{
    int n = 0;

    for (; set; set &= set - 1)
        n++;
    return n;
}

void bi_aligner_run_near(struct bi_aligner *a, size_t n, struct bioinfer_alignment *results)
{
    enum { PART = 4 };
    struct near_job job = {.a = a, .results = results};

    bi_wave_costs_make(&a->waves, &a->plan.scoring, a->used);
    /* Some amino acids have such scores by chance, and no pair consists of these alone. */
    if (!a->waves.extend || PART * count_letters(a->waves.letters) < count_letters(a->used))
        return;
    const bool are_short = a->cells < (double)n * SHORT;
    const size_t claims = are_short ? (n + CLAIM - 1) / CLAIM : n;
    const int n_threads = a->ctx->n_threads;
    job.alone = a->plan.kernels && n * 3 < (size_t)a->plan.kernels->lanes;
    bi_team_for(&a->ctx->env, claims < (size_t)n_threads ? (int)claims : n_threads, (int64_t)n,
                are_short ? CLAIM : 1, align_some, &job);
}

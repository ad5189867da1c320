/* scores_values.c - what a variant changes in the tracks of a window, as numbers: from sums around
 * it, over exons and in front of polyadenylation sites; largest differences; sites and junctions.
 *
 * Pure functions. Of arrays, tracks are taken BLOCK at a time, so that what is found of a block is
 * at hand while rows go by.
 *
 * Source: model/variant_scoring/ of the research code that docs/genomics.md names (commit 3f79219).
 *
 * Sections: alignment, sums, largest differences, polyadenylation, sites of junctions,
 * junctions. */
#include "scores_values.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32 };

static int count(int n, int first, int most)
{
    return n - first < most ? n - first : most;
}

/* Values are finite, and fmaxf() is a call. */
static float larger(float a, float b)
{
    return a > b ? a : b;
}

/* ---- alignment ---- */

int64_t bi_aligned_row(const struct bi_alleles *a, int64_t row)
{
    const int64_t more = a->inserted;
    if (more >= 0) {
        if (more && row >= a->n_rows - more)
            return BI_ROW_ZEROS;
        if (!more || row < a->joint)
            return row;
        return row > a->joint ? row + more : BI_ROW_SPAN;
    }
    if (row <= a->joint)
        return row < a->n_rows + more ? row : BI_ROW_ZEROS;
    return row <= a->joint - more ? BI_ROW_ZEROS : row + more;
}

/* Finds row `row` of the alternative as it lies beside the reference; NULL: zeros. Values are those
 * of tracks from `first` on, in the array or in `largest` [n]. */
static const float *aligned(const struct bi_alleles *a, int64_t row, int first, int n,
                            float *largest)
{
    const float *values = a->alternative + first;
    const int64_t width = a->n_tracks, at = bi_aligned_row(a, row);
    if (at >= 0)
        return values + at * width;
    if (at == BI_ROW_ZEROS)
        return NULL;
    memcpy(largest, values + row * width, (size_t)n * sizeof *largest);
    for (int64_t i = row + 1; i <= row + a->inserted && i < a->n_rows; i++)
        for (int k = 0; k < n; k++)
            largest[k] = larger(largest[k], values[i * width + k]);
    return largest;
}

int bi_alleles_check(const struct bi_alleles *a)
{
    return a->n_rows > 0 && a->n_tracks > 0 &&
                   (!a->inserted || (a->joint >= 0 && a->joint < a->n_rows &&
                                     a->inserted <= a->n_rows && a->inserted >= -a->n_rows))
               ? 0
               : BIOINFER_INVALID;
}

static bool usable(const struct bi_alleles *a)
{
    return a && a->reference && a->alternative && !bi_alleles_check(a);
}

/* ---- sums ---- */

double bi_score_of_sums(enum bi_aggregation how, double reference, double alternative,
                        int64_t n_rows)
{
    const double n = (double)n_rows;
    switch (how) {
    case BI_DIFF_MEAN:
        return alternative / n - reference / n;
    case BI_DIFF_SUM:
        return alternative - reference;
    case BI_DIFF_LOG2_SUM:
        return log2(1 + alternative) - log2(1 + reference);
    case BI_ACTIVE_MEAN:
        return fmax(alternative / n, reference / n);
    case BI_ACTIVE_SUM:
        break;
    }
    return fmax(alternative, reference);
}

void bi_center_rows(int64_t window, int64_t width, int64_t resolution, int64_t at, int64_t *first,
                    int64_t *end)
{
    const int64_t n = window / resolution, rows = (width + resolution - 1) / resolution;
    const int64_t from = at / resolution - rows / 2, to = from + rows;
    *first = !width || from < 0 ? 0 : from;
    *end = !width || to > n ? n : to;
}

double bi_score_of_gene(enum bi_gene_score how, double reference, double alternative,
                        int64_t n_rows)
{
    const double r = reference / (double)n_rows, x = alternative / (double)n_rows;
    if (!n_rows)
        return (double)NAN;
    return how == BI_GENE_ACTIVE ? fmax(x, r) : log(x + 1e-3) - log(r + 1e-3);
}

/* ---- largest differences ---- */

int bi_alleles_gap(const struct bi_alleles *a, int64_t first, int64_t end, float *scores)
{
    static const float zeros[BLOCK];
    if (!usable(a) || !scores || first < 0 || first > end || end > a->n_rows)
        return BIOINFER_INVALID;
    for (int t = 0; t < a->n_tracks; t += BLOCK) {
        const int n = count(a->n_tracks, t, BLOCK);
        float gaps[BLOCK] = {0}, largest[BLOCK];
        for (int64_t i = first; i < end; i++) {
            const float *r = a->reference + i * a->n_tracks + t;
            const float *x = aligned(a, i, t, n, largest);
            x = x ? x : zeros;
            for (int k = 0; k < n; k++)
                gaps[k] = larger(gaps[k], fabsf(x[k] - r[k]));
        }
        memcpy(scores + t, gaps, (size_t)n * sizeof *gaps);
    }
    return 0;
}

/* ---- polyadenylation ---- */

double bi_score_of_sites(const double *reference, const double *alternative, size_t n)
{
    double ratios[BI_MOST_SITES], front = 0, best = 0;
    for (size_t i = 0; i < n; i++) {
        const double ratio = alternative[i] / reference[i];
        ratios[i] = isfinite(ratio) ? ratio : 0;
    }
    for (size_t k = 1; k < n; k++) {
        double behind = 0, score;
        front += ratios[k - 1];
        for (size_t i = k; i < n; i++)
            behind += ratios[i];
        score = fabs(log2((double)(n - k) / (double)k * front / behind));
        if (isfinite(score) && score > best)
            best = score;
    }
    return best;
}

/* ---- sites of junctions ---- */

static const float LEAST_SITE = 0.1F;

struct candidate {
    float p;
    int32_t row;
};

static int by_probability(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->p != y->p ? (x->p > y->p ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* Finds the rows where sites of a class may be. */
static int64_t find_candidates(const struct bi_alleles *a, const unsigned char *known, int class,
                               struct candidate *of)
{
    int64_t n = 0;
    for (int64_t row = 0; row < a->n_rows; row++) {
        float largest, p;
        const float *other;
        if (!(known[row] & BI_SITES_WANTED))
            continue;
        other = aligned(a, row, class, 1, &largest);
        p = larger(a->reference[row * a->n_tracks + class], other ? *other : 0);
        p = known[row] & 1 << class ? larger(p, 1) : p;
        if (p >= LEAST_SITE)
            of[n++] = (struct candidate){p, (int32_t)row};
    }
    return n;
}

int bi_alleles_junction_sites(const struct bi_env *env, const struct bi_alleles *a,
                              const unsigned char *known, int64_t n, int32_t *sites)
{
    struct candidate *of;
    if (!usable(a) || a->n_tracks < BI_SITE_CLASSES || a->n_rows > INT32_MAX || !known || n < 1)
        return BIOINFER_INVALID;
    if (!(of = bi_calloc(env, (size_t)a->n_rows, sizeof *of)))
        return BIOINFER_NOMEM;
    for (int c = 0; c < BI_SITE_CLASSES; c++) {
        int64_t m = find_candidates(a, known, c, of);
        qsort(of, (size_t)m, sizeof *of, by_probability);
        m = m < n ? m : n;
        qsort(of, (size_t)m, sizeof *of, by_row);
        for (int64_t i = 0; i < n; i++)
            sites[c * n + i] = i < m ? of[i].row : -1;
    }
    bi_free(env, of);
    return 0;
}

/* ---- junctions ---- */

/* The junctions of a gene. */
struct junctions {
    const struct bi_alleles *alleles;
    const float *donors, *acceptors; /* [n_sites], -1 behind the last */
    int64_t n_sites, start, end;
    bool reversed; /* strand - */
    int n_tracks;  /* on one strand */
};

/* Tells where junction (donor, acceptor) is; false: it is none of the gene's. */
static bool place_junction(const struct junctions *j, int64_t donor, int64_t acceptor,
                           struct bi_junction *junction)
{
    const float d = j->donors[donor], a = j->acceptors[acceptor];
    if (!(d >= 0) || !(a >= 0))
        return false;
    junction->start = (int64_t)(j->reversed ? a : d) + 1;
    junction->end = (int64_t)(j->reversed ? d : a);
    return junction->start < junction->end && junction->start > j->start && junction->end < j->end;
}

/* Rounds to float16, as the released tool keeps differences. */
static float to_half(float x)
{
    float step;
    int e;
    frexpf(x, &e);
    step = ldexpf(1, (e < -13 ? -13 : e) - 11);
    return rintf(x / step) * step;
}

static float junction_score(const struct junctions *j, int64_t donor, int64_t acceptor, int track)
{
    const struct bi_alleles *a = j->alleles;
    const int64_t at = (donor * a->n_rows + acceptor) * a->n_tracks +
                       (j->reversed ? j->n_tracks : 0) + track;
    const float r = logf(a->reference[at] + 1e-7F), x = logf(a->alternative[at] + 1e-7F);
    return fabsf(to_half(x - r));
}

/* Finds the first junction with the largest score of each track: best [n_tracks], -1 = none. */
static void find_best(const struct junctions *j, float *scores, int64_t *best)
{
    struct bi_junction unused;
    for (int k = 0; k < j->n_tracks; k++)
        best[k] = -1;
    for (int64_t d = 0; d < j->n_sites; d++)
        for (int64_t a = 0; a < j->n_sites; a++)
            for (int k = 0; place_junction(j, d, a, &unused) && k < j->n_tracks; k++) {
                const float score = junction_score(j, d, a, k);
                if (best[k] < 0 || score > scores[k]) {
                    scores[k] = score;
                    best[k] = d * j->n_sites + a;
                }
            }
}

int bi_alleles_junctions(const struct bi_env *env, const struct bi_alleles *a, const float *sites,
                         char strand, int64_t start, int64_t end,
                         int (*take)(void *user, const struct bi_junction *junction), void *user)
{
    struct junctions j = {.alleles = a, .reversed = strand == '-', .start = start, .end = end};
    int64_t *best = NULL;
    float *scores = NULL;
    int st = 0;
    if (!usable(a) || !sites || !take || a->n_tracks % 2)
        return BIOINFER_INVALID;
    j.n_tracks = a->n_tracks / 2;
    j.n_sites = a->n_rows < BI_JUNCTION_SITES ? a->n_rows : BI_JUNCTION_SITES;
    j.donors = sites + (j.reversed ? 2 : 0) * a->n_rows;
    j.acceptors = j.donors + a->n_rows;
    best = bi_calloc(env, (size_t)j.n_tracks, sizeof *best);
    scores = bi_calloc(env, (size_t)j.n_tracks, sizeof *scores);
    if (!best || !scores)
        st = BIOINFER_NOMEM;
    else
        find_best(&j, scores, best);
    for (int i = 0; !st && i < j.n_tracks && best[i] >= 0; i++) {
        const int64_t d = best[i] / j.n_sites, at = best[i] % j.n_sites;
        struct bi_junction junction = {.scores = scores};
        bool told = false;
        for (int k = 0; k < i; k++)
            told |= best[k] == best[i];
        if (told)
            continue;
        place_junction(&j, d, at, &junction);
        for (int k = 0; k < j.n_tracks; k++)
            scores[k] = junction_score(&j, d, at, k);
        st = take(user, &junction);
    }
    bi_free(env, best);
    bi_free(env, scores);
    return st > 0 ? 0 : st;
}

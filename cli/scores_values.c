/* scorers.c - what a variant changes in the tracks of a window, as numbers: sums around it, means
 * over exons, largest differences over genes, contacts, polyadenylation and junctions.
 *
 * Pure functions of arrays. Tracks are taken BLOCK at a time, so that sums of a block are at hand
 * while rows go by.
 *
 * Source: google-deepmind/alphagenome_research (commit 3f79219): model/variant_scoring/.
 *
 * Sections: alignment, rows, genes, contacts, polyadenylation, sites of junctions, junctions. */
#include "scores_values.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, SITE_BLOCK = 4 };

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

/* Finds row `row` of the alternative as it lies beside the reference: bases that were inserted are
 * the largest value of theirs and the one in front, in one row; bases that were deleted are zeros,
 * and so is what moved in from outside the window. NULL: zeros. Values are those of tracks from
 * `first` on, in the array or in `largest` [n]. */
static const float *aligned(const struct alleles *a, int64_t row, int first, int n, float *largest)
{
    const float *values = a->alternative + first;
    const int64_t more = a->inserted, width = a->n_tracks;

    if (more >= 0) {
        if (more && row >= a->n_rows - more)
            return NULL;
        if (!more || row < a->joint)
            return values + row * width;
        if (row > a->joint)
            return values + (row + more) * width;
        memcpy(largest, values + row * width, (size_t)n * sizeof *largest);
        for (int64_t i = row + 1; i <= row + more && i < a->n_rows; i++)
            for (int k = 0; k < n; k++)
                largest[k] = larger(largest[k], values[i * width + k]);
        return largest;
    }
    if (row <= a->joint)
        return row < a->n_rows + more ? values + row * width : NULL;
    return row <= a->joint - more ? NULL : values + (row + more) * width;
}

static bool usable(const struct alleles *a)
{
    return a && a->reference && a->alternative && a->n_rows > 0 && a->n_tracks > 0 &&
           (!a->inserted || (a->joint >= 0 && a->joint < a->n_rows && a->inserted <= a->n_rows &&
                             a->inserted >= -a->n_rows));
}

static bool has_ranges(const struct alleles *a, const int64_t (*ranges)[2], size_t n)
{
    if (!usable(a) || (n && !ranges))
        return false;
    for (size_t i = 0; i < n; i++)
        if (ranges[i][0] < 0 || ranges[i][0] > ranges[i][1] || ranges[i][1] > a->n_rows)
            return false;
    return true;
}

/* ---- rows ---- */

/* Adds a row of n tracks of both alleles to the sums that an aggregation is made of. */
static void add_rows(enum aggregation how, const float *reference, const float *other, int n,
                     double *sums, double *other_sums)
{
    for (int k = 0; k < n; k++) {
        const double r = (double)reference[k], a = (double)other[k];
        if (how == L2_DIFF) {
            sums[k] += (a - r) * (a - r);
        } else if (how == L2_DIFF_LOG1P) {
            const double d = log1p(a) - log1p(r);
            sums[k] += d * d;
        } else if (how == DIFF_SUM_LOG2) {
            sums[k] += log2(r + 1);
            other_sums[k] += log2(a + 1);
        } else {
            sums[k] += r;
            other_sums[k] += a;
        }
    }
}

static double aggregate(enum aggregation how, double reference, double other, int64_t n_rows)
{
    const double n = (double)n_rows;

    switch (how) {
    case DIFF_MEAN:
        return other / n - reference / n;
    case DIFF_SUM:
    case DIFF_SUM_LOG2:
        return other - reference;
    case DIFF_LOG2_SUM:
        return log2(1 + other) - log2(1 + reference);
    case L2_DIFF:
    case L2_DIFF_LOG1P:
        return sqrt(reference);
    case ACTIVE_MEAN:
        return fmax(other / n, reference / n);
    case ACTIVE_SUM:
        break;
    }
    return fmax(other, reference);
}

int alleles_rows(const struct alleles *a, int64_t first, int64_t end, enum aggregation how,
                 float *scores)
{
    if (!usable(a) || !scores || first < 0 || first > end || end > a->n_rows ||
        (unsigned)how > ACTIVE_SUM)
        return BIOINFER_INVALID;
    for (int t = 0; t < a->n_tracks; t += BLOCK) {
        const int n = count(a->n_tracks, t, BLOCK);
        double sums[BLOCK] = {0}, other[BLOCK] = {0};
        for (int64_t i = first; i < end; i++)
            add_rows(how, a->reference + i * a->n_tracks + t, a->alternative + i * a->n_tracks + t,
                     n, sums, other);
        for (int k = 0; k < n; k++)
            scores[t + k] = (float)aggregate(how, sums[k], other[k], end - first);
    }
    return 0;
}

void center_rows(int64_t window, int64_t width, int64_t resolution, int64_t at, int64_t *first,
                 int64_t *end)
{
    const int64_t n = window / resolution, rows = (width + resolution - 1) / resolution;
    const int64_t from = at / resolution - rows / 2, to = from + rows;

    *first = !width || from < 0 ? 0 : from;
    *end = !width || to > n ? n : to;
}

/* ---- genes ---- */

struct gene_sums {
    double reference[BLOCK], other[BLOCK];
    float largest[BLOCK]; /* difference */
};

static void add_range(const struct alleles *a, const int64_t *range, int first, int n,
                      struct gene_sums *s)
{
    static const float zeros[BLOCK];
    float largest[BLOCK];

    for (int64_t i = range[0]; i < range[1]; i++) {
        const float *r = a->reference + i * a->n_tracks + first;
        const float *x = aligned(a, i, first, n, largest);
        x = x ? x : zeros;
        for (int k = 0; k < n; k++) {
            s->reference[k] += (double)r[k];
            s->other[k] += (double)x[k];
            s->largest[k] = larger(s->largest[k], fabsf(x[k] - r[k]));
        }
    }
}

int alleles_gene(const struct alleles *a, const int64_t (*ranges)[2], size_t n, enum gene_score how,
                 float *scores)
{
    int64_t n_rows = 0;

    if (!has_ranges(a, ranges, n) || !scores || (unsigned)how > GENE_SPLICING)
        return BIOINFER_INVALID;
    for (size_t i = 0; i < n; i++)
        n_rows += ranges[i][1] - ranges[i][0];
    for (int t = 0; t < a->n_tracks; t += BLOCK) {
        const int m = count(a->n_tracks, t, BLOCK);
        struct gene_sums s = {.reference = {0}};
        for (size_t i = 0; i < n; i++)
            add_range(a, ranges[i], t, m, &s);
        for (int k = 0; k < m; k++) {
            const double r = s.reference[k] / (double)n_rows, x = s.other[k] / (double)n_rows;
            scores[t + k] = how == GENE_SPLICING ? s.largest[k]
                            : !n_rows            ? NAN
                            : how == GENE_ACTIVE ? (float)fmax(x, r)
                                                 : (float)(log(x + 1e-3) - log(r + 1e-3));
        }
    }
    return 0;
}

/* ---- contacts ---- */

int alleles_contacts(const struct alleles *a, int64_t bin, float *scores)
{
    if (!usable(a) || !scores || bin < 0 || bin >= a->n_rows)
        return BIOINFER_INVALID;
    for (int k = 0; k < a->n_tracks; k++) {
        double sum = 0;
        for (int64_t i = 0; i < a->n_rows; i++) {
            const int64_t at = (i * a->n_rows + bin) * a->n_tracks + k;
            sum += fabs((double)a->alternative[at] - (double)a->reference[at]);
        }
        scores[k] = (float)(sum / (double)a->n_rows);
    }
    return 0;
}

/* ---- polyadenylation ---- */

/* The ratios of up to SITE_BLOCK tracks from `first` on at each site. */
static void site_ratios(const struct alleles *a, const int64_t (*ranges)[2], size_t n, int first,
                        int n_tracks, double (*ratios)[MOST_SITES])
{
    for (size_t i = 0; i < n; i++) {
        struct gene_sums s = {.reference = {0}};
        add_range(a, ranges[i], first, n_tracks, &s);
        for (int k = 0; k < n_tracks; k++) {
            const double ratio = s.other[k] / s.reference[k];
            ratios[k][i] = isfinite(ratio) ? ratio : 0;
        }
    }
}

static double best_split(const double *ratios, size_t n)
{
    double front = 0, best = 0;

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

int alleles_sites(const struct alleles *a, const int64_t (*ranges)[2], size_t n, float *scores)
{
    double ratios[SITE_BLOCK][MOST_SITES];

    if (n > MOST_SITES || !has_ranges(a, ranges, n) || !scores)
        return BIOINFER_INVALID;
    for (int t = 0; t < a->n_tracks; t += SITE_BLOCK) {
        const int m = count(a->n_tracks, t, SITE_BLOCK);
        site_ratios(a, ranges, n, t, m, ratios);
        for (int k = 0; k < m; k++)
            scores[t + k] = (float)best_split(ratios[k], n);
    }
    return 0;
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
static int64_t find_candidates(const struct alleles *a, const unsigned char *known, int class,
                               struct candidate *of)
{
    int64_t n = 0;

    for (int64_t row = 0; row < a->n_rows; row++) {
        float largest, p;
        const float *other;
        if (!(known[row] & SITES_WANTED))
            continue;
        other = aligned(a, row, class, 1, &largest);
        p = larger(a->reference[row * a->n_tracks + class], other ? *other : 0);
        p = known[row] & 1 << class ? larger(p, 1) : p;
        if (p >= LEAST_SITE)
            of[n++] = (struct candidate){p, (int32_t)row};
    }
    return n;
}

int alleles_junction_sites(const struct alleles *a, const unsigned char *known, int64_t n,
                           int32_t *sites)
{
    struct candidate *of;

    if (!usable(a) || a->n_tracks < SITE_CLASSES || a->n_rows > INT32_MAX || !known || n < 1)
        return BIOINFER_INVALID;
    if (!(of = calloc((size_t)a->n_rows, sizeof *of)))
        return BIOINFER_NOMEM;
    for (int c = 0; c < SITE_CLASSES; c++) {
        int64_t m = find_candidates(a, known, c, of);
        qsort(of, (size_t)m, sizeof *of, by_probability);
        m = m < n ? m : n;
        qsort(of, (size_t)m, sizeof *of, by_row);
        for (int64_t i = 0; i < n; i++)
            sites[c * n + i] = i < m ? of[i].row : -1;
    }
    free(of);
    return 0;
}

/* ---- junctions ---- */

/* The junctions of a gene. */
struct junctions {
    const struct alleles *alleles;
    const float *donors, *acceptors; /* [n_sites], -1 behind the last */
    int64_t n_sites, start, end;
    bool reversed; /* strand - */
    int n_tracks;  /* on one strand */
};

/* Tells where junction (donor, acceptor) is; false: it is none of the gene's. */
static bool place_junction(const struct junctions *j, int64_t donor, int64_t acceptor,
                           struct junction *junction)
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
    const struct alleles *a = j->alleles;
    const int64_t at = (donor * a->n_rows + acceptor) * a->n_tracks +
                       (j->reversed ? j->n_tracks : 0) + track;
    const float r = logf(a->reference[at] + 1e-7F), x = logf(a->alternative[at] + 1e-7F);

    return fabsf(to_half(x - r));
}

/* Finds the first junction with the largest score of each track: best [n_tracks], -1 = none. */
static void find_best(const struct junctions *j, float *scores, int64_t *best)
{
    struct junction unused;

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

int alleles_junctions(const struct alleles *a, const float *sites, char strand, int64_t start,
                      int64_t end, int (*take)(void *user, const struct junction *junction),
                      void *user)
{
    struct junctions j = {.alleles = a, .reversed = strand == '-', .start = start, .end = end};
    int64_t *best = NULL;
    float *scores = NULL;
    int st = 0;

    if (!usable(a) || !sites || !take || a->n_tracks % 2)
        return BIOINFER_INVALID;
    j.n_tracks = a->n_tracks / 2;
    j.n_sites = a->n_rows < JUNCTION_SITES ? a->n_rows : JUNCTION_SITES;
    j.donors = sites + (j.reversed ? 2 : 0) * a->n_rows;
    j.acceptors = j.donors + a->n_rows;
    best = calloc((size_t)j.n_tracks, sizeof *best);
    scores = calloc((size_t)j.n_tracks, sizeof *scores);
    if (!best || !scores)
        st = BIOINFER_NOMEM;
    else
        find_best(&j, scores, best);
    for (int i = 0; !st && i < j.n_tracks && best[i] >= 0; i++) {
        const int64_t d = best[i] / j.n_sites, at = best[i] % j.n_sites;
        struct junction junction = {.scores = scores};
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
    free(best);
    free(scores);
    return st > 0 ? 0 : st;
}

/* scores.c - ESMFold2: scores of a sample, from logits and probabilities of the network. */
#include <math.h>
#include <string.h>

#include "../folding/confidence.h"
#include "structure.h"

static const double tiny = 1e-6; /* in the divisors of means, as published */
static const double contact = 8; /* angstrom between tokens of two chains */

/* The weight of each atom of token i in the mean of those at interfaces. */
static double interface(const struct esmfold2_sampled *s, int64_t i)
{
    const float *a = s->places + s->seen[i] * s->ld_places;
    if (s->ligand && s->ligand[i])
        return 2;
    for (int64_t j = 0; j < s->n_tokens; j++) {
        const float *b = s->places + s->seen[j] * s->ld_places;
        double square = 0;
        for (int k = 0; k < 3; k++)
            square += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
        if (s->chain[i] != s->chain[j] && square < contact * contact)
            return 1;
    }
    return 0;
}

static void score_levels(const struct esmfold2_sampled *s, double *levels,
                         struct esmfold2_scores *scores)
{
    double sum = 0, weighted = 0, weights = 0, weight = 0;
    int64_t place = 0;
    for (int64_t a = 0; a < s->n_atoms; a++) {
        const int64_t i = s->token[a];
        const bool begins = !a || s->token[a - 1] != i;
        place = begins ? 0 : place + (place + 1 < ESMFOLD2_PLACES);
        if (begins)
            weight = interface(s, i);
        levels[a] = bi_folded_level(s->levels + i * s->ld_levels + place * s->bins, (int)s->bins);
        sum += levels[a];
        weighted += weight * levels[a];
        weights += weight;
    }
    scores->plddt = sum / ((double)s->n_atoms + tiny);
    scores->interface_plddt = weighted / (weights + tiny);
}

/* The larger of two, or NaN where one is. */
static double larger(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

/* The share of a pair in a TM score, by the probabilities of its errors. */
static double term(const float *p, double d0)
{
    double sum = 0;
    for (int k = 0; k < BI_FOLDED_ERRORS; k++) {
        const double error = (k + 0.5) / 2 / d0;
        sum += (double)p[k] / (1 + error * error);
    }
    return sum;
}

void esmfold2_score(const struct esmfold2_sampled *s, double *levels, double *sums, double *chains,
                    struct esmfold2_scores *scores)
{
    const int64_t n = s->n_tokens, of = s->n_chains;
    const double d0 = 1.24 * cbrt((double)(n > 19 ? n : 19) - 15) - 1.8;
    double *counts = sums + of;
    *scores = (struct esmfold2_scores){0};
    if (chains)
        memset(chains, 0, sizeof *chains * (size_t)(of * of));
    memset(counts, 0, sizeof *counts * (size_t)of);
    for (int64_t j = 0; j < n; j++)
        counts[s->chain[j]]++;
    score_levels(s, levels, scores);
    for (int64_t i = 0; i < n; i++) {
        double all = 0, others = 0, n_others = 0;
        memset(sums, 0, sizeof *sums * (size_t)of);
        for (int64_t j = 0; j < n; j++)
            sums[s->chain[j]] += term(s->errors + (i * n + j) * s->ld_errors, d0);
        for (int64_t c = 0; c < of; c++) {
            if (chains) {
                double *best = &chains[c * of + s->chain[i]];
                *best = larger(*best, sums[c] / (counts[c] + tiny));
            }
            all += sums[c];
            others += c == s->chain[i] ? 0 : sums[c];
            n_others += c == s->chain[i] ? 0 : counts[c];
        }
        scores->ptm = larger(scores->ptm, all / ((double)n + tiny));
        scores->iptm = larger(scores->iptm, others / (n_others + tiny));
    }
}

/* scores.c - Protenix: scores of a sample, from logits and probabilities of the network.
 *
 *   pTM     the largest mean over j of sum_k p_k / (1 + (c_k / d0)^2) of a token i with a frame
 *   ipTM    the same over j of other chains
 *   ranking 0.8 ipTM + 0.2 pTM - 100 where polymers clash
 * c_k is the middle of a bin, d0 follows from how many tokens are looked at. ipTM of two chains is
 * their tokens' alone. A chain's own is the mean over pairs with it whose first chain has a
 * frame. */
#include <math.h>
#include <string.h>

#include "../folding/confidence.h"
#include "structure.h"

static const double tiny = 1e-8; /* in the divisors of ipTM, as published */
static const double close = 1.1; /* angstrom between atoms that clash */
static const int64_t many = 100; /* clashes that may be */

/* The larger of two, or NaN where one is. */
static double larger(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

/* The share of a pair in a TM score. */
static double term(const struct protenix_sampled *s, int64_t i, int64_t j, double d0)
{
    const float *p = s->errors + (i * s->f->n_tokens + j) * s->ld_errors;
    double sum = 0;
    for (int k = 0; k < PROTENIX_BINS; k++) {
        const double error = (k + 0.5) / 2 / d0;
        sum += (double)p[k] / (1 + error * error);
    }
    return sum;
}

static double scale_of(int64_t n)
{
    return 1.24 * cbrt((double)(n > 19 ? n : 19) - 15) - 1.8;
}

static int64_t count(const struct protenix_sampled *s, int64_t chain)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->f->n_tokens; i++)
        n += s->f->chain[i] == chain;
    return n;
}

/* pTM of a chain; -1: of all. */
static double tm(const struct protenix_sampled *s, int64_t chain)
{
    const int64_t n = chain < 0 ? s->f->n_tokens : count(s, chain);
    const double d0 = scale_of(n);
    double best = 0;
    for (int64_t i = 0; i < s->f->n_tokens; i++) {
        double sum = 0;
        if (!s->frame[i] || (chain >= 0 && s->f->chain[i] != chain))
            continue;
        for (int64_t j = 0; j < s->f->n_tokens; j++)
            if (chain < 0 || s->f->chain[j] == chain)
                sum += term(s, i, j, d0);
        best = larger(best, sum / (double)n);
    }
    return best;
}

/* ipTM of two chains; a < 0: of all. */
static double interface_tm(const struct protenix_sampled *s, int64_t a, int64_t b)
{
    const struct protenix_features *f = s->f;
    const double d0 = scale_of(a < 0 ? f->n_tokens : count(s, a) + count(s, b));
    double best = 0;
    for (int64_t i = 0; i < f->n_tokens; i++) {
        double sum = 0, n = 0;
        if (!s->frame[i] || (a >= 0 && f->chain[i] != a && f->chain[i] != b))
            continue;
        for (int64_t j = 0; j < f->n_tokens; j++)
            if (f->chain[j] != f->chain[i] && (a < 0 || f->chain[j] == a || f->chain[j] == b)) {
                sum += term(s, i, j, d0);
                n++;
            }
        best = larger(best, sum / (tiny + n));
    }
    return best;
}

/* Atoms of a chain, from *first on: tokens of a chain follow each other. */
static int64_t atoms_of(const struct protenix_sampled *s, int64_t chain, int64_t *first)
{
    int64_t n = 0;
    for (int64_t i = s->f->n_tokens - 1; i >= 0; i--)
        if (s->f->chain[i] == chain) {
            *first = s->f->first_atom[i];
            n += s->f->first_atom[i + 1] - s->f->first_atom[i];
        }
    return n;
}

/* Do two chains clash, both of polymers? */
static bool clash(const struct protenix_sampled *s, int64_t a, int64_t b)
{
    int64_t at_a = 0, at_b = 0, found = 0;
    const int64_t n_a = atoms_of(s, a, &at_a), n_b = atoms_of(s, b, &at_b);
    const double half = 0.5 * (double)(n_a < n_b ? n_a : n_b);
    if (!n_a || !n_b || !s->polymer[at_a] || !s->polymer[at_b])
        return false;
    for (int64_t i = at_a; i < at_a + n_a; i++)
        for (int64_t j = at_b; j < at_b + n_b; j++) {
            double square = 0;
            for (int k = 0; k < 3; k++) {
                const double d = (double)s->places[i * s->ld_places + k] -
                                 (double)s->places[j * s->ld_places + k];
                square += d * d;
            }
            found += square < close * close;
            if (found > many || (double)found > half)
                return true;
        }
    return false;
}

/* Is it a chain of a ligand? At least half of its tokens, rounded down, have an atom of one. */
static bool is_ligand(const struct protenix_sampled *s, int64_t chain)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->f->n_tokens; i++) {
        bool ligand = false;
        if (s->f->chain[i] != chain)
            continue;
        for (int64_t a = s->f->first_atom[i]; a < s->f->first_atom[i + 1]; a++)
            ligand |= !s->polymer[a];
        n += ligand;
    }
    return n >= count(s, chain) / 2;
}

static bool has_frame(const struct protenix_sampled *s, int64_t chain)
{
    for (int64_t i = 0; i < s->f->n_tokens; i++)
        if (s->f->chain[i] == chain && s->frame[i])
            return true;
    return false;
}

static void score_pairs(const struct protenix_sampled *s, struct protenix_scores *to)
{
    const int64_t n = s->n_chains;
    for (int64_t a = 0; a < n; a++) {
        to->pair_iptm[a * n + a] = to->pair_iptm_global[a * n + a] = 0;
        for (int64_t b = a + 1; b < n; b++) {
            to->pair_iptm[a * n + b] = to->pair_iptm[b * n + a] = interface_tm(s, a, b);
            to->clash = to->clash || clash(s, a, b);
        }
    }
    for (int64_t a = 0; a < n; a++) {
        double sum = 0, pairs = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n && has_frame(s, i); j++)
                if (i != j && (i == a || j == a)) {
                    sum += to->pair_iptm[i * n + j];
                    pairs++;
                }
        to->chain_iptm[a] = pairs > 0 ? sum / pairs : 0;
    }
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++)
            if (a != b)
                to->pair_iptm_global[a * n + b] = is_ligand(s, a) ? to->chain_iptm[a]
                                                  : is_ligand(s, b)
                                                      ? to->chain_iptm[b]
                                                      : (to->chain_iptm[a] + to->chain_iptm[b]) / 2;
}

/* sums: [n_chains] room for atoms of each chain. */
static void score_levels(const struct protenix_sampled *s, double *levels, double *sums,
                         struct protenix_scores *to)
{
    double all = 0;
    memset(sums, 0, sizeof *sums * (size_t)s->n_chains);
    memset(to->chain_plddt, 0, sizeof *sums * (size_t)s->n_chains);
    for (int64_t i = 0; i < s->f->n_tokens; i++)
        for (int64_t a = s->f->first_atom[i]; a < s->f->first_atom[i + 1]; a++) {
            levels[a] = bi_folded_level(
                s->levels + i * s->ld_levels + s->f->slot[a] * PROTENIX_LEVELS, PROTENIX_LEVELS);
            all += levels[a];
            to->chain_plddt[s->f->chain[i]] += levels[a];
            sums[s->f->chain[i]]++;
        }
    to->plddt = all / (double)s->f->n_atoms;
    for (int64_t c = 0; c < s->n_chains; c++)
        to->chain_plddt[c] /= sums[c];
}

void protenix_score(const struct protenix_sampled *s, double *levels, double *sums,
                    struct protenix_scores *scores)
{
    const int64_t pairs = s->f->n_tokens * s->f->n_tokens;
    double weighted = 0, weights = 0;
    scores->clash = false;
    score_levels(s, levels, sums, scores);
    for (int64_t r = 0; r < pairs; r++) {
        const double contact = (double)s->contacts[r * s->ld_contacts];
        weighted += contact * bi_folded_error(s->distance_errors + r * s->ld_distance_errors);
        weights += contact;
    }
    scores->gpde = weighted / weights;
    scores->ptm = tm(s, -1);
    scores->iptm = interface_tm(s, -1, -1);
    for (int64_t a = 0; a < s->n_chains; a++)
        scores->chain_ptm[a] = tm(s, a);
    score_pairs(s, scores);
    scores->ranking = 0.8 * scores->iptm + 0.2 * scores->ptm - 100 * scores->clash;
}

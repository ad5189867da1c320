/* structure.h - Protenix: what the host does for a sample: levels of noise, draws, scores. */
#ifndef BI_PROTENIX_STRUCTURE_H
#define BI_PROTENIX_STRUCTURE_H

#include "../folding/draws.h"
#include "features.h"

/* ---- a sample (steps.c) ---- */

/* Levels of noise in angstrom of n >= 1 steps: to[0 ... n], of which the last is 0. */
void protenix_schedule(int64_t n, double *to);
/* Sets n steps of these levels [n + 1], which turn and move nothing. */
void protenix_plan(const struct protenix *f, const double *levels, int64_t n,
                   struct bi_edm_step *steps);
/* The sampler's streams and weights, for the functions of draws.h. */
struct bi_sampler protenix_sampler(const struct protenix *f);

/* ---- scores of a sample (scores.c) ---- */

/* A sample of one record, whose chains are numbered from 0 and have a token each. */
struct protenix_sampled {
    const struct protenix_features *f;
    int64_t n_chains;
    const bool *frame;   /* [tokens] do its atoms give a frame? */
    const bool *polymer; /* [atoms] */
    const float *places; /* [atoms, 3] ... */
    const float *levels; /* [tokens, PROTENIX_PLACES PROTENIX_LEVELS] logits ... */
    const float *errors, *distance_errors; /* [tokens tokens, PROTENIX_BINS] probabilities ... */
    const float *contacts;                 /* [tokens tokens] ... */
    int64_t ld_places, ld_levels, ld_errors, ld_distance_errors, ld_contacts; /* ... numbers from a
                                                                               * row to the next */
};

/* Scores from 0 to 1, but for gpde in angstrom and ranking; NaN where a number of the sample is. */
struct protenix_scores {
    double plddt, gpde, ptm, iptm, ranking;
    bool clash;
    /* Room of the caller, of n chains: n numbers each, and n n for pairs. */
    double *chain_ptm, *chain_iptm, *chain_plddt, *pair_iptm, *pair_iptm_global;
};

/* Sets levels [atoms], pLDDT of each, and the scores; their room is set. sums is room for n_chains
 * numbers. */
void protenix_score(const struct protenix_sampled *s, double *levels, double *sums,
                    struct protenix_scores *scores);

#endif

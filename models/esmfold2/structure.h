/* structure.h - ESMFold2: parts of its graphs that sampling shares with the embedder, and what the
 * host does for a sample: noise levels, draws, scores. */
#ifndef BI_ESMFOLD2_STRUCTURE_H
#define BI_ESMFOLD2_STRUCTURE_H

#include "../../base/random.h"
#include "../../kernels/edm.h"
#include "esmfold2.h"

/* ---- layers of atoms, in pieces, for graphs with loops (atoms.c) ---- */

/* A vector of ones of that size. */
bi_value_id esmfold2_ones(const struct esmfold2_graph *b, enum esmfold2_size width);
/* [A, 6 a] of a layer, which its condition [A, a] alone decides. */
bi_value_id esmfold2_modulation(const struct esmfold2_graph *b, bi_value_id condition,
                                const struct esmfold2_atom_layer *layer);
/* [A, a] after the layer. ones: of ESMFOLD2_ATOM. */
bi_value_id esmfold2_atom_layer(const struct esmfold2_graph *b, bi_value_id h,
                                bi_value_id modulation, bi_value_id ones,
                                const struct esmfold2_atom_layer *layer);

/* Are boundaries of classes of distances as graphs have them? UNSUPPORTED: one is not; statuses of
 * bi_weight_read(). Weights are bound, and model->config is set (confidence.c). */
int esmfold2_check_distances(const struct bi_model *model, struct bioinfer_error *err);

/* ---- a sample (steps.c) ---- */

/* Levels of noise in angstrom of a schedule of `points` points, at least 1: to[0 ... n], of which
 * the last is 0, for n steps, which is returned; n <= points + 1. to has room for points + 2. A cap
 * that is infinite cuts nothing. */
int64_t esmfold2_schedule(const struct esmfold2 *f, int64_t points, double *to);
/* Sets n steps of these levels [n + 1], which turn and move nothing. */
void esmfold2_plan(const struct esmfold2 *f, const double *levels, int64_t n,
                   struct bi_edm_step *steps);
/* Sets the input "levels" [n, fourier] for steps: what the network is told of their noise. Statuses
 * of bi_weight_read(). */
int esmfold2_levels(const struct bi_model *model, const struct bi_edm_step *steps, int64_t n,
                    float *to, struct bioinfer_error *err);
/* Draws the rotations and the translations of n steps of a sample, by a native stream. */
void esmfold2_turns(const struct bi_random *r, uint32_t sample, struct bi_edm_step *steps,
                    int64_t n);
/* Draws the input "noise" [atoms, 3 (1 + churned steps)] of a sample; churned: 0, or its steps. */
void esmfold2_noise(const struct bi_random *r, uint32_t sample, int64_t atoms, int64_t churned,
                    float *to);

/* ---- scores of a sample (scores.c) ---- */

enum { ESMFOLD2_PLACES = 23 }; /* places of atoms in their token; later atoms share the last one */

/* A sample of one record. */
struct esmfold2_sampled {
    int64_t n_tokens, n_atoms, n_chains, bins; /* bins: of pLDDT */
    const int32_t *chain;                      /* [tokens] from 0; each chain has a token */
    const bool *ligand;                        /* [tokens] NULL: none is of one */
    const int32_t *token;                      /* [atoms] of each atom, in order */
    const int32_t *seen;                       /* [tokens] the atom by which distances are told */
    const float *places;                       /* [atoms, 3] ... */
    const float *levels;                       /* [tokens, ESMFOLD2_PLACES bins] logits ... */
    const float *errors;                       /* [tokens tokens, 64] probabilities ... */
    int64_t ld_places, ld_levels, ld_errors;   /* ... numbers from a row to the next */
};

/* 0 to 1: means of atoms' pLDDT, of all and of those at interfaces, and TM scores. NaN where a
 * number of the sample is. */
struct esmfold2_scores {
    double plddt, interface_plddt, ptm, iptm;
};

/* Sets levels [atoms] and the scores; sums [2 n_chains] is room. chains [n_chains, n_chains], NULL
 * = not wanted: entry (a, b) is the largest mean over columns of chain a of a row of chain b. */
void esmfold2_score(const struct esmfold2_sampled *s, double *levels, double *sums, double *chains,
                    struct esmfold2_scores *scores);

#endif

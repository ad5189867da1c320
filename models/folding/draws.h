/* draws.h - what samplers of atoms draw (kernels/edm.h), by a native stream of random numbers, and
 * what networks are told of noise. */
#ifndef BI_FOLDING_DRAWS_H
#define BI_FOLDING_DRAWS_H

#include "../../base/random.h"
#include "../../kernels/edm.h"
#include "../model.h"

/* A sampler: its numbers are of streams from `stream` on, four for each step (base/random.h). */
struct bi_sampler {
    uint32_t stream;
    int frequencies, phases; /* weights [width]: turns, and parts of a turn */
    int64_t width;
    double data; /* standard deviation of what the network was trained with, in angstrom */
};

/* Sets the input "levels" [n, width] for steps: cos(2 pi (ln(sigma / data) / 4 frequency + phase)).
 * Statuses of bi_weight_read(). */
int bi_sampler_levels(const struct bi_sampler *s, const struct bi_model *model,
                      const struct bi_edm_step *steps, int64_t n, float *to,
                      struct bioinfer_error *err);
/* Draws the rotations and the translations of n steps of a sample. */
void bi_sampler_turns(const struct bi_sampler *s, const struct bi_random *r, uint32_t sample,
                      struct bi_edm_step *steps, int64_t n);
/* Draws the input "noise" [atoms, 3 (1 + churned steps)] of a sample; churned: 0, or its steps. */
void bi_sampler_noise(const struct bi_sampler *s, const struct bi_random *r, uint32_t sample,
                      int64_t atoms, int64_t churned, float *to);

#endif

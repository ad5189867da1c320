/* steps.c - ESMFold2: levels of noise of a sample, and its draws. */
#include <math.h>

#include "../folding/draws.h"
#include "structure.h"

enum { STREAM = 0x32460000 }; /* base/random.h */

int64_t esmfold2_schedule(const struct esmfold2 *f, int64_t points, double *to)
{
    const double data = (double)f->real[ESMFOLD2_SIGMA], p = (double)f->real[ESMFOLD2_EXPONENT];
    const double most = pow((double)f->real[ESMFOLD2_SIGMA_MAX], 1 / p);
    const double least = pow((double)f->real[ESMFOLD2_SIGMA_MIN], 1 / p);
    const double cap = (double)f->real[ESMFOLD2_SIGMA_CAP];
    int64_t n = 0;
    if (isfinite(cap))
        to[n++] = cap;
    for (int64_t k = 0; k < points; k++) {
        const double at = points > 1 ? (double)k / (double)(points - 1) : 0;
        const double level = data * pow(most + at * (least - most), p);
        if (level <= cap)
            to[n++] = level;
    }
    to[n] = 0;
    return n;
}

void esmfold2_plan(const struct esmfold2 *f, const double *levels, int64_t n,
                   struct bi_edm_step *steps)
{
    for (int64_t i = 0; i < n; i++) {
        const bool raised = levels[i + 1] > (double)f->real[ESMFOLD2_GAMMA_MIN];
        const double raise = raised ? (double)f->real[ESMFOLD2_GAMMA] : 0;
        const double sigma = levels[i] * (1 + raise);
        steps[i] = (struct bi_edm_step){
            .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1},
            .from = (float)levels[i],
            .sigma = (float)sigma,
            .to = (float)levels[i + 1],
            .churn = (float)((double)f->real[ESMFOLD2_NOISE_SCALE] *
                             sqrt(fmax(sigma * sigma - levels[i] * levels[i], 0)))};
    }
}

static struct bi_sampler sampler(const struct esmfold2 *f)
{
    return (struct bi_sampler){.stream = STREAM,
                               .frequencies = f->diffusion.frequencies.w,
                               .phases = f->diffusion.phases.w,
                               .width = f->size[ESMFOLD2_FOURIER],
                               .data = (double)f->real[ESMFOLD2_SIGMA]};
}

int esmfold2_levels(const struct bi_model *model, const struct bi_edm_step *steps, int64_t n,
                    float *to, struct bioinfer_error *err)
{
    const struct bi_sampler s = sampler(model->config);
    return bi_sampler_levels(&s, model, steps, n, to, err);
}

void esmfold2_turns(const struct bi_random *r, uint32_t sample, struct bi_edm_step *steps,
                    int64_t n)
{
    bi_sampler_turns(&(struct bi_sampler){.stream = STREAM}, r, sample, steps, n);
}

void esmfold2_noise(const struct bi_random *r, uint32_t sample, int64_t atoms, int64_t churned,
                    float *to)
{
    bi_sampler_noise(&(struct bi_sampler){.stream = STREAM}, r, sample, atoms, churned, to);
}

/* steps.c - Protenix: levels of noise of a sample. */
#include <math.h>

#include "structure.h"

static const double data = 16; /* angstrom */
static const double noise_scale = 1.003, gamma_least = 1;

enum { STREAM = 0x50540000 }; /* base/random.h */

void protenix_schedule(int64_t n, double *to)
{
    const double most = pow(160, 1 / 7.0), least = pow(4e-4, 1 / 7.0);
    for (int64_t i = 0; i < n; i++)
        to[i] = data * pow(most + (double)i / (double)n * (least - most), 7);
    to[n] = 0;
}

void protenix_plan(const struct protenix *f, const double *levels, int64_t n,
                   struct bi_edm_step *steps)
{
    for (int64_t i = 0; i < n; i++) {
        const double raise = levels[i + 1] > gamma_least ? (double)f->gamma : 0;
        const double sigma = levels[i] * (1 + raise);
        const double added = fmax(sigma * sigma - levels[i] * levels[i], 0);
        steps[i] = (struct bi_edm_step){.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                        .from = (float)levels[i],
                                        .sigma = (float)sigma,
                                        .to = (float)levels[i + 1],
                                        .churn = (float)(noise_scale * sqrt(added))};
    }
}

struct bi_sampler protenix_sampler(const struct protenix *f)
{
    return (struct bi_sampler){.stream = STREAM,
                               .frequencies = f->diffusion.frequencies.w,
                               .phases = f->diffusion.phases.w,
                               .width = f->fourier,
                               .data = data};
}

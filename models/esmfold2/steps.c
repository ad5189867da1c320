/* steps.c - ESMFold2: levels of noise of a sample, and its draws. */
#include <math.h>

#include "structure.h"

/* Streams of random numbers (base/random.h): four for each step. */
enum { START, ROTATION, TRANSLATION, CHURN, STREAM = 0x32460000 };

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

int esmfold2_levels(const struct bi_model *model, const struct bi_edm_step *steps, int64_t n,
                    float *to, struct bioinfer_error *err)
{
    const struct esmfold2 *f = model->config;
    const struct esmfold2_diffusion *d = &f->diffusion;
    const int64_t width = f->size[ESMFOLD2_FOURIER];
    const double turn = 6.283185307179586476925;
    float *read = bi_calloc(model->env, 2 * (size_t)width, sizeof *read);
    int st = read ? 0 : bi_fail(err, BIOINFER_NOMEM, "levels of noise");
    if (!st)
        st = bi_weight_read(model, &model->weights[d->frequencies.w], 0, width, read, err);
    if (!st)
        st = bi_weight_read(model, &model->weights[d->phases.w], 0, width, read + width, err);
    for (int64_t i = 0; !st && i < n; i++) {
        const double level = log((double)steps[i].sigma / (double)f->real[ESMFOLD2_SIGMA]) / 4;
        for (int64_t k = 0; k < width; k++)
            to[i * width + k] = (float)cos(turn *
                                           (level * (double)read[k] + (double)read[width + k]));
    }
    bi_free(model->env, read);
    return st;
}

/* Numbers of a stream for each purpose of a step. */
static double draw(const struct bi_random *r, uint32_t sample, int64_t step, uint32_t purpose,
                   int64_t index)
{
    return bi_random_normal_at(r, STREAM + 4 * (uint32_t)step + purpose, sample, (uint32_t)index);
}

void esmfold2_turns(const struct bi_random *r, uint32_t sample, struct bi_edm_step *steps,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double q[4], square = 0;
        for (int k = 0; k < 4; k++) {
            q[k] = draw(r, sample, i, ROTATION, k);
            square += q[k] * q[k];
        }
        const double w = q[0], x = q[1], y = q[2], z = q[3], by = 2 / square;
        const double rotation[9] = {
            1 - by * (y * y + z * z), by * (x * y - w * z),     by * (x * z + w * y),
            by * (x * y + w * z),     1 - by * (x * x + z * z), by * (y * z - w * x),
            by * (x * z - w * y),     by * (y * z + w * x),     1 - by * (x * x + y * y)};
        for (int k = 0; k < 9; k++)
            steps[i].rotation[k] = (float)rotation[k];
        for (int k = 0; k < 3; k++)
            steps[i].translation[k] = (float)draw(r, sample, i, TRANSLATION, k);
    }
}

void esmfold2_noise(const struct bi_random *r, uint32_t sample, int64_t atoms, int64_t churned,
                    float *to)
{
    const int64_t width = 3 * (1 + churned);
    for (int64_t a = 0; a < atoms; a++)
        for (int64_t c = 0; c < width; c++)
            to[a * width + c] = (float)draw(r, sample, c / 3 - (c >= 3), c < 3 ? START : CHURN,
                                            3 * a + c % 3);
}

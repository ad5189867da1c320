/* draws.c - rotations, translations and noise of a sampler of atoms, and its levels of noise. */
#include <math.h>

#include "draws.h"

enum { START, ROTATION, TRANSLATION, CHURN }; /* streams of a step */

int bi_sampler_levels(const struct bi_sampler *s, const struct bi_model *model,
                      const struct bi_edm_step *steps, int64_t n, float *to,
                      struct bioinfer_error *err)
{
    const int64_t width = s->width;
    const double turn = 6.283185307179586476925;
    float *read = bi_calloc(model->env, 2 * (size_t)width, sizeof *read);
    int st = read ? 0 : bi_fail(err, BIOINFER_NOMEM, "levels of noise");
    if (!st)
        st = bi_weight_read(model, &model->weights[s->frequencies], 0, width, read, err);
    if (!st)
        st = bi_weight_read(model, &model->weights[s->phases], 0, width, read + width, err);
    for (int64_t i = 0; !st && i < n; i++) {
        const double level = log((double)steps[i].sigma / s->data) / 4;
        for (int64_t k = 0; k < width; k++)
            to[i * width + k] = (float)cos(turn *
                                           (level * (double)read[k] + (double)read[width + k]));
    }
    bi_free(model->env, read);
    return st;
}

/* Numbers of a stream for each purpose of a step. */
static double draw(const struct bi_sampler *s, const struct bi_random *r, uint32_t sample,
                   int64_t step, uint32_t purpose, int64_t index)
{
    return bi_random_normal_at(r, s->stream + 4 * (uint32_t)step + purpose, sample,
                               (uint32_t)index);
}

void bi_sampler_turns(const struct bi_sampler *s, const struct bi_random *r, uint32_t sample,
                      struct bi_edm_step *steps, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double q[4], square = 0;
        for (int k = 0; k < 4; k++) {
            q[k] = draw(s, r, sample, i, ROTATION, k);
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
            steps[i].translation[k] = (float)draw(s, r, sample, i, TRANSLATION, k);
    }
}

void bi_sampler_noise(const struct bi_sampler *s, const struct bi_random *r, uint32_t sample,
                      int64_t atoms, int64_t churned, float *to)
{
    const int64_t width = 3 * (1 + churned);
    for (int64_t a = 0; a < atoms; a++)
        for (int64_t c = 0; c < width; c++)
            to[a * width + c] = (float)draw(s, r, sample, c / 3 - (c >= 3), c < 3 ? START : CHURN,
                                            3 * a + c % 3);
}

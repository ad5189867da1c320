/* edm.h - steps of a sampler that turns noise into atoms (EDM, Karras et al. 2022), in a loop.
 *
 *   edm_start  makes the noise that the first step begins with
 *   edm_move   centres the atoms of a sequence, turns and moves them, and adds noise
 *   edm_step   takes the answer of the network, and makes the step
 *
 * A row of the state is an atom: its place in angstrom, and how many steps were made. Sequences may
 * be many, and none changes the bits of another. Sums are in float64. */
#ifndef BI_EDM_PARAMS_H
#define BI_EDM_PARAMS_H

#include "counts.h"

/* A step: from one standard deviation of noise to another, in angstrom. */
struct bi_edm_step {
    float rotation[9], translation[3]; /* a row of coordinates times the rotation, row by row */
    float from, sigma, to;             /* sigma: what the network is told, at least `from` */
    float churn;                       /* factor of the normal numbers that are added */
};

enum { BI_EDM_STATE = 4, BI_EDM_WORDS = sizeof(struct bi_edm_step) / sizeof(float) };

/* plan: [n_seqs] rows of n_steps struct bi_edm_step. noise: [rows, 3 or 3 (1 + n_steps)] normal
 * numbers, the first three of which the atoms begin with, and the rest are of the steps; where
 * those are left out nothing is added. table: [n_steps, width], a row for each step.
 *
 *   edm_start  state = (from of step 0) noise, 0
 *   edm_move   position = (x - mean x) rotation + translation + churn noise
 *              scaled = position / sqrt(sigma^2 + data^2), row of each sequence = table[step]
 *   edm_step   d = data^2 / (data^2 + sigma^2) position + data sigma / sqrt(data^2 + sigma^2)
 *              update; y = position, turned and moved onto d by least squares, or, plain, as it
 *              is; state = y + scale (to - sigma) / sigma (y - d), step + 1 */
struct bi_edm_params {
    const struct bi_counts *counts;
    const int32_t *start; /* [n_seqs + 1] */
    const float *plan, *noise, *table, *from, *update;
    float *state, *position, *scaled, *row;
    int64_t ldp, ldn, ldt, ldu, lds, ldf, ldx, ldc, ldr, rows;
    int32_t n_steps, width, churns, plain; /* churns: noise has columns of steps */
    float data, scale;
};

#define bi_edm_start_params bi_edm_params
#define bi_edm_move_params bi_edm_params
#define bi_edm_step_params bi_edm_params

/* The step at hand of a sequence that begins with atom `first`, from 0; state: of edm_move the
 * input. */
static inline int32_t bi_edm_at(const struct bi_edm_params *p, const float *state, int64_t first)
{
    const float made = state[first * p->lds + 3];
    return made < (float)p->n_steps ? (int32_t)made : p->n_steps - 1;
}

/* That step of a sequence. */
static inline const struct bi_edm_step *bi_edm_step_of(const struct bi_edm_params *p, int64_t seq,
                                                       int32_t step)
{
    return (const struct bi_edm_step *)(p->plan + seq * p->ldp) + step;
}

/* Sets the state of atom i of a sequence. */
static inline void bi_edm_start_atom(const struct bi_edm_params *p, int64_t seq, int64_t i)
{
    float *x = p->state + i * p->lds;
    for (int k = 0; k < 3; k++)
        x[k] = bi_edm_step_of(p, seq, 0)->from * p->noise[i * p->ldn + k];
    x[3] = 0;
}

/* Moves atom i; mean: of the atoms of its sequence. */
static inline void bi_edm_move_atom(const struct bi_edm_params *p, const struct bi_edm_step *s,
                                    int32_t step, int64_t i, const double *mean)
{
    const float *x = p->from + i * p->lds;
    const float *noise = p->noise + i * p->ldn + 3 * (1 + (int64_t)step);
    const double sigma = (double)s->sigma, data = (double)p->data;
    const double by = 1 / __builtin_sqrt(sigma * sigma + data * data);
    for (int c = 0; c < 3; c++) {
        double y = (double)s->translation[c];
        for (int k = 0; k < 3; k++)
            y += ((double)x[k] - mean[k]) * (double)s->rotation[3 * k + c];
        if (p->churns)
            y += (double)s->churn * (double)noise[c];
        p->position[i * p->ldx + c] = (float)y;
        p->scaled[i * p->ldc + c] = (float)(by * y);
    }
}

/* Coordinate k of atom i without noise, as the network has it. */
static inline double bi_edm_denoised(const struct bi_edm_params *p, const struct bi_edm_step *s,
                                     int64_t i, int k)
{
    const double sigma = (double)s->sigma, data = (double)p->data;
    const double all = sigma * sigma + data * data;
    return data * data / all * (double)p->position[i * p->ldx + k] +
           data * sigma / __builtin_sqrt(all) * (double)p->update[i * p->ldu + k];
}

/* Adds an atom to products[3 a + b] = the sum of (position_a - mean_a) (d_b - mean_b); means: three
 * of positions, three of d. */
static inline double bi_edm_product(const struct bi_edm_params *p, const struct bi_edm_step *s,
                                    int64_t i, int ab, const double *means)
{
    return ((double)p->position[i * p->ldx + ab / 3] - means[ab / 3]) *
           (bi_edm_denoised(p, s, i, ab % 3) - means[3 + ab % 3]);
}

enum { BI_EDM_WORK = 32 };

/* Makes one turn of the matrix a [4, 4], which is symmetric, that sets a[i, j] to 0, and the same
 * of the columns of v. */
static inline void bi_edm_jacobi(double *a, double *v, int i, int j)
{
    const double off = a[4 * i + j];
    if (off == 0)
        return;
    const double theta = (a[5 * j] - a[5 * i]) / (2 * off);
    const double by = __builtin_fabs(theta) + __builtin_sqrt(theta * theta + 1);
    const double t = (theta < 0 ? -1 : 1) / by, c = 1 / __builtin_sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 4; k++) {
        const double x = a[4 * k + i], y = a[4 * k + j], z = v[4 * k + i], w = v[4 * k + j];
        a[4 * k + i] = c * x - s * y;
        a[4 * k + j] = s * x + c * y;
        v[4 * k + i] = c * z - s * w;
        v[4 * k + j] = s * z + c * w;
    }
    for (int k = 0; k < 4; k++) {
        const double x = a[4 * i + k], y = a[4 * j + k];
        a[4 * i + k] = c * x - s * y;
        a[4 * j + k] = s * x + c * y;
    }
    a[4 * i + j] = a[4 * j + i] = 0;
}

/* The rotation, row by row, that takes positions nearest to d by their products: the eigenvector of
 * the largest eigenvalue of a 4 x 4 matrix is its quaternion (Horn 1987). Where several are as near
 * it is one of them, of products that are all 0 the identity. work: BI_EDM_WORK numbers. */
static inline void bi_edm_rotation(const double *h, double *work, double *r)
{
    double *a = work, *v = work + 16;
    int best = 0;
    a[0] = h[0] + h[4] + h[8];
    a[5] = h[0] - h[4] - h[8];
    a[10] = -h[0] + h[4] - h[8];
    a[15] = -h[0] - h[4] + h[8];
    a[1] = a[4] = h[5] - h[7];
    a[2] = a[8] = h[6] - h[2];
    a[3] = a[12] = h[1] - h[3];
    a[6] = a[9] = h[1] + h[3];
    a[7] = a[13] = h[6] + h[2];
    a[11] = a[14] = h[5] + h[7];
    for (int k = 0; k < 16; k++)
        v[k] = k % 5 == 0;
    for (int sweep = 0; sweep < 16; sweep++)
        for (int i = 0; i < 3; i++)
            for (int j = i + 1; j < 4; j++)
                bi_edm_jacobi(a, v, i, j);
    for (int k = 1; k < 4; k++)
        best = a[5 * k] > a[5 * best] ? k : best;
    const double w = v[best], x = v[4 + best], y = v[8 + best], z = v[12 + best];
    r[0] = w * w + x * x - y * y - z * z;
    r[1] = 2 * (x * y - w * z);
    r[2] = 2 * (x * z + w * y);
    r[3] = 2 * (x * y + w * z);
    r[4] = w * w - x * x + y * y - z * z;
    r[5] = 2 * (y * z - w * x);
    r[6] = 2 * (x * z - w * y);
    r[7] = 2 * (y * z + w * x);
    r[8] = w * w - x * x - y * y + z * z;
}

/* Makes the step of atom i; r, means: as above, not read of a plain one. */
static inline void bi_edm_step_atom(const struct bi_edm_params *p, const struct bi_edm_step *s,
                                    int64_t i, const double *r, const double *means)
{
    const double by = (double)p->scale * ((double)s->to - (double)s->sigma) / (double)s->sigma;
    float *x = p->state + i * p->lds;
    for (int c = 0; c < 3; c++) {
        double y = p->plain ? (double)p->position[i * p->ldx + c] : means[3 + c];
        for (int k = 0; k < 3 && !p->plain; k++)
            y += r[3 * c + k] * ((double)p->position[i * p->ldx + k] - means[k]);
        x[c] = (float)(y + by * (y - bi_edm_denoised(p, s, i, c)));
    }
    x[3] += 1;
}

#endif

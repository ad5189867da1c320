/* motion.h - steps of molecular dynamics on the device: a trip of a loop is a step.
 *
 *   motion_start  takes the atoms as they were uploaded
 *   motion_move   B, A, O and A of tasks/motion/dynamics.c: to where forces are to be known
 *   motion_kick   takes these forces, and B
 *
 * A batch may hold many frames, each with facts of its own, and none changes the bits of another;
 * all make the same number of steps. The host makes the same steps, with the same bits: it adds and
 * multiplies in the same order (dynamics.c), and random numbers come from the functions below on
 * either side. Units are as in tasks/motion/motion.h. Arrays are dense. */
#ifndef BI_MOTION_PARAMS_H
#define BI_MOTION_PARAMS_H

#include "atom_edges.h"

/* An atom that moves. */
struct bi_motion_atom {
    double x[3], p[3], f[3], mass;
    double step; /* the last one that was made */
    double bad;  /* the first step that an atom may not make; 0: there was none */
    double held; /* 0 to 7: the sum of 1 << k over the components k of x that do not change */
};

/* A run of steps. */
struct bi_motion_facts {
    double dt; /* units of time */
    double keep,
        heat;   /* the thermostat's: exp(-friction dt), (1 - keep^2) k T in eV; keep 1: none */
    double std; /* eV of a unit of the forces */
    uint64_t seed;
};

enum {
    BI_MOTION_NUMBERS = sizeof(struct bi_motion_atom) / 8,
    BI_MOTION_WORDS = sizeof(struct bi_motion_facts) / 4,
    BI_MOTION_STREAM = 256 /* steps draw from it; those beyond 2^32 take the next one */
};

/* An atom that goes farther in one step, in angstrom, has left all chemistry. */
#define BI_MOTION_FARTHEST 1.0

struct bi_motion_params {
    const struct bi_counts *counts;
    const struct bi_motion_facts *facts; /* [n_seqs] */
    const struct bi_atom_frame *frame;   /* [n_seqs]; NULL: the batch is one frame */
    const struct bi_motion_atom *from;   /* [rows] of motion_start */
    struct bi_motion_atom *atom;         /* [rows] changed in place */
    const float *force;                  /* [rows, 12] of edge_forces, of motion_kick */
    double *position;                    /* [rows, 3] of motion_move */
    int64_t rows;
};

#define bi_motion_start_params bi_motion_params
#define bi_motion_move_params bi_motion_params
#define bi_motion_kick_params bi_motion_params

/* Atoms of the batch. */
static inline int64_t bi_motion_rows(const struct bi_motion_params *p)
{
    return bi_live_rows(p->counts, BI_AXIS_TOKENS, p->rows);
}

/* ---- random numbers ---- */

/* Philox4x32-10, as base/random.h has it: words for a counter. out may be counter. */
static inline void bi_motion_philox(uint64_t key, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < 4; i++)
        out[i] = counter[i];
    for (int i = 0; i < 10; i++) {
        const uint64_t a = (uint64_t)0xD2511F53u * out[0], b = (uint64_t)0xCD9E8D57u * out[2];
        out[0] = (uint32_t)(b >> 32) ^ out[1] ^ k0;
        out[2] = (uint32_t)(a >> 32) ^ out[3] ^ k1;
        out[1] = (uint32_t)b;
        out[3] = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* The logarithm of a normal number above 0 (nothing else is looked for), off by about 1e-16 of it
 * or of 1e-16: with x = 2^k (1 + s) / (1 - s), 2 (s + s^3 / 3 + s^5 / 5 + ...) and k ln 2. */
static inline double bi_motion_log(double x)
{
    uint64_t bits;
    int32_t k;
    __builtin_memcpy(&bits, &x, sizeof bits);
    k = (int32_t)(bits >> 52) - 1022;
    bits = (bits & 0xfffffffffffffull) | 0x3fe0000000000000ull; /* 1/2 to 1 */
    __builtin_memcpy(&x, &bits, sizeof x);
    if (x < 0.70710678118654752440) {
        x *= 2;
        k--;
    }
    const double s = (x - 1) / (x + 1), z = s * s;
    double sum = 1.0 / 23;
    for (int i = 21; i > 0; i -= 2)
        sum = sum * z + 1.0 / i;
    return 2 * s * sum + k * 0.69314718055994530942;
}

/* cos(2 pi u), 0 <= u <= 1, off by about 1e-16: by powers of what is left of quarters. */
static inline double bi_motion_cos(double u)
{
    const int32_t quarter = (int32_t)(4 * u + 0.5);
    const double r = (4 * u - quarter) * 1.57079632679489661923, z = -(r * r);
    const int odd = quarter & 1;
    double sum = 0;
    for (int i = 18; i >= 0; i -= 2)
        sum = sum * z / ((i + 1 + odd) * (i + 2 + odd)) + 1;
    sum = odd ? -(r * sum) : sum;
    return quarter & 2 ? -sum : sum;
}

/* A normal number, of mean 0 and variance 1, always finite, for component `index` of 3 N of a step:
 * the same for the same three. */
static inline double bi_motion_normal(uint64_t seed, uint64_t step, uint32_t index)
{
    const uint32_t counter[4] = {index, (uint32_t)step, BI_MOTION_STREAM + (uint32_t)(step >> 32),
                                 0};
    uint32_t w[4];
    double u[2];
    bi_motion_philox(seed, counter, w);
    for (int i = 0; i < 2; i++)
        u[i] = ((double)(((uint64_t)w[2 * i] << 32 | w[2 * i + 1]) >> 12) + 0.5) * 0x1p-52;
    return __builtin_sqrt(-2 * bi_motion_log(u[0])) * bi_motion_cos(u[1]);
}

/* ---- steps ---- */

/* 1 where an atom goes farther than BI_MOTION_FARTHEST in dt, or its momentum is not finite; else
 * 0. */
static inline int bi_motion_flies(double dt, const double p[3], double mass)
{
    const double way = dt * __builtin_sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / mass;
    return !(way <= BI_MOTION_FARTHEST);
}

/* Notes in `bad` the step at which an atom became bad, which is a->step, above 0; the first one
 * stays. */
static inline void bi_motion_mark(struct bi_motion_atom *a, int is_bad)
{
    if (is_bad && a->bad == 0)
        a->bad = a->step;
}

/* Takes away the momentum of the components that an atom holds. */
static inline void bi_motion_hold(double held, double p[3])
{
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++)
        if ((int)held >> k & 1)
            p[k] = 0;
}

/* A step of atom i up to its new place: half a kick, half the drift, heat where there is friction,
 * and the other half. It counts the step, and marks an atom that flies apart, which is moved all
 * the same. i: the atom's number in the frame, by which it gets its random numbers. */
static inline void bi_motion_move_atom(const struct bi_motion_facts *f, struct bi_motion_atom *a,
                                       uint32_t i)
{
    const double half = f->dt / 2;
    a->step += 1;
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++)
        a->p[k] += half * a->f[k];
    bi_motion_hold(a->held, a->p);
    bi_motion_mark(a, bi_motion_flies(f->dt, a->p, a->mass));
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++)
        a->x[k] += half * a->p[k] / a->mass;
    if (f->keep < 1) {
        const double width = __builtin_sqrt(f->heat * a->mass);
#pragma GCC unroll 3 /* so that no number is picked by k, which needs memory */
        for (int k = 0; k < 3; k++)
            a->p[k] = f->keep * a->p[k] +
                      width * bi_motion_normal(f->seed, (uint64_t)a->step, 3 * i + (uint32_t)k);
        bi_motion_hold(a->held, a->p);
        bi_motion_mark(a, bi_motion_flies(f->dt, a->p, a->mass));
    }
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++)
        a->x[k] += half * a->p[k] / a->mass;
}

/* The rest of the step: takes the force at the new place, in the unit of the model, and kicks by
 * half a step. It marks an atom whose force is not finite, and kicks that one too. */
static inline void bi_motion_kick_atom(const struct bi_motion_facts *f, struct bi_motion_atom *a,
                                       const float force[3])
{
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        a->f[k] = f->std * (double)force[k];
        bi_motion_mark(a, !(a->f[k] - a->f[k] == 0)); /* not finite */
        a->p[k] += f->dt / 2 * a->f[k];
    }
    bi_motion_hold(a->held, a->p);
}

/* ---- launches ---- */

/* The frame of atom i of the batch. */
static inline int32_t bi_motion_frame_of(const struct bi_motion_params *p, int64_t i)
{
    return p->frame ? bi_frame_of_atom(p->frame, p->counts->n_seqs, i) : 0;
}

/* Moves atom i of the batch, and says where it is. */
static inline void bi_motion_move_at(const struct bi_motion_params *p, int64_t i)
{
    const int32_t frame = bi_motion_frame_of(p, i);
    const int64_t first = p->frame ? p->frame[frame].first_atom : 0;
    struct bi_motion_atom a = p->atom[i];
    bi_motion_move_atom(&p->facts[frame], &a, (uint32_t)(i - first));
    p->atom[i] = a;
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++)
        p->position[3 * i + k] = a.x[k];
}

/* Kicks atom i of the batch. */
static inline void bi_motion_kick_at(const struct bi_motion_params *p, int64_t i)
{
    struct bi_motion_atom a = p->atom[i];
    bi_motion_kick_atom(&p->facts[bi_motion_frame_of(p, i)], &a, p->force + 12 * i);
    p->atom[i] = a;
}

#endif

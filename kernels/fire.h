/* fire.h - steps of a relaxation on the device: a trip of a loop finds forces and makes a step.
 *
 *   fire_start  takes the atoms and the state as they were uploaded
 *   fire_place  says where the atoms and the vectors of their cell are
 *   fire_plan   takes the forces there, adds up over the atoms of a frame, and decides what its
 *               step is
 *   fire_move   moves the atoms
 *
 * A batch may hold many frames, each with a state of its own, and none changes the bits of
 * another. A frame that is over stays as it is while the others go on. When all are over fire_plan
 * sets the atoms of the batch to none: trips that follow have nothing to do, and change nothing.
 * The host makes the same steps, with the same bits (tasks/motion/fire.c, which says what the
 * variables are).
 *
 * Sums over the variables of a frame, three of each atom and then nine of the cell, have one order
 * on every device: variable i is added to those before it in lane i % BI_FIRE_LANES, and then the
 * lanes are added one by one. So up to BI_FIRE_LANES numbers are added one by one.
 *
 * Lengths are in angstrom, energies in eV, masses are 1. Arrays are dense. */
#ifndef BI_FIRE_PARAMS_H
#define BI_FIRE_PARAMS_H

#include "atom_edges.h"

enum { BI_FIRE_LANES = 256, BI_FIRE_PATIENCE = 5 /* steps downhill before dt grows */ };

/* Variables of an atom, and how fast they change. */
struct bi_fire_atom {
    double x[3], v[3];
    double held; /* 0 to 7: the sum of 1 << k over the variables k that do not change */
};

/* Why no step follows. */
enum bi_fire_end {
    BI_FIRE_GOES_ON,
    BI_FIRE_RELAXED, /* no force is larger than fmax */
    BI_FIRE_STEPS,   /* all steps are made */
    BI_FIRE_FAILED   /* a force is not finite, or the cell is none to go on with */
};

/* A relaxation: what is wanted, how far it is, and the step at hand. All are float64, counts and
 * the end too. */
struct bi_fire {
    double fmax, steps; /* eV / angstrom; at most */
    double std;         /* eV of a unit of the forces */
    double cell_moves;  /* 1: there are variables of the cell; 0: there are none */
    double given[9];    /* the cell that the variables are of */

    double made, end; /* steps; enum bi_fire_end */
    double dt, mix;
    double downhill;         /* steps in a row; -1: there was none yet */
    double largest;          /* force on an atom, or row of the cell's */
    double x[9], v[9], f[9]; /* variables of the cell, how fast they change, their forces */
    double gradient[9], cell[9];
    double before[9]; /* the gradient that the forces at hand are of, as the step moves the cell */

    double power, keep, ratio, scale;
};

enum {
    BI_FIRE_ATOM_NUMBERS = sizeof(struct bi_fire_atom) / 8,
    BI_FIRE_NUMBERS = sizeof(struct bi_fire) / 8
};

struct bi_fire_params {
    struct bi_counts *counts;             /* fire_plan may set n_tokens to 0 */
    const struct bi_fire_atom *from;      /* [rows] fire_start takes them */
    const struct bi_fire *begin;          /* [n_seqs] likewise */
    struct bi_fire_atom *atom;            /* [rows] */
    struct bi_fire *state;                /* [n_seqs] */
    const struct bi_atom_frame *uploaded; /* [n_seqs] all but fire_start read them; NULL of
                                           * fire_move: the batch is one frame */
    struct bi_atom_frame *frame;          /* [n_seqs] fire_place makes them */
    double *position;                     /* [rows, 3] likewise */
    const float *force;                   /* [rows, 12] as edge_forces makes them */
    int64_t rows;
};

#define bi_fire_start_params bi_fire_params
#define bi_fire_place_params bi_fire_params
#define bi_fire_plan_params bi_fire_params
#define bi_fire_move_params bi_fire_params

/* Atoms of the batch; 0 when all frames are over. */
static inline int64_t bi_fire_rows(const struct bi_fire_params *p)
{
    return bi_live_rows(p->counts, BI_AXIS_TOKENS, p->rows);
}

/* The frame of atom i of the batch. */
static inline int32_t bi_fire_frame_of(const struct bi_fire_params *p, int64_t i)
{
    return p->uploaded ? bi_frame_of_atom(p->uploaded, p->counts->n_seqs, i) : 0;
}

/* ---- matrices ---- */

/* The determinant; of a cell it is the volume, below 0 where the vectors are left-handed. */
static inline double bi_fire_determinant(const double a[9])
{
    return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
           a[2] * (a[3] * a[7] - a[4] * a[6]);
}

/* y = A x, or with the transposed A; y is not x. */
static inline void bi_fire_turn(const double a[9], int transposed, const double x[3], double y[3])
{
    for (int r = 0; r < 3; r++) {
        y[r] = 0;
        for (int c = 0; c < 3; c++)
            y[r] += a[transposed ? 3 * c + r : 3 * r + c] * x[c];
    }
}

/* out = A^-1; A must have one. */
static inline void bi_fire_invert(const double a[9], double out[9])
{
    const double d = bi_fire_determinant(a);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (j + 1) % 3, i2 = (j + 2) % 3, j1 = (i + 1) % 3, j2 = (i + 2) % 3;
            out[3 * i + j] = (a[3 * i1 + j1] * a[3 * i2 + j2] - a[3 * i1 + j2] * a[3 * i2 + j1]) /
                             d;
        }
}

/* ---- the cell ---- */

/* Sets gradient and cell by the variables of the cell, where there are any, of n atoms. Gives 0
 * where the cell collapsed, or grew without end; else 1. */
static inline int bi_fire_take_cell(struct bi_fire *s, double n)
{
    if (!(s->cell_moves > 0))
        return 1;
    for (int k = 0; k < 9; k++)
        s->gradient[k] = s->x[k] / n;
    const double by = bi_fire_determinant(s->gradient);
    for (int k = 0; k < 9; k += 3)
        bi_fire_turn(s->gradient, 0, s->given + k, s->cell + k); /* each vector: F v */
    return by > 0.05 && by <= 20;
}

/* Sets the forces on the variables of the cell of n atoms from its stress, eV / angstrom^3. */
static inline void bi_fire_cell_forces(struct bi_fire *s, const double stress[9], double n)
{
    const double volume = __builtin_fabs(bi_fire_determinant(s->cell));
    double inverse[9], virial[9];
    for (int k = 0; k < 9; k++)
        s->before[k] = s->gradient[k];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            virial[3 * i + j] = -volume * (stress[3 * i + j] + stress[3 * j + i]) / 2;
    bi_fire_invert(s->gradient, inverse);
    for (int k = 0; k < 9; k += 3) {
        bi_fire_turn(inverse, 0, virial + k, s->f + k); /* solve(F, virial^T)^T: it is symmetric */
        for (int c = 0; c < 3; c++)
            s->f[k + c] /= n;
    }
}

/* Where the variables x of an atom lie. */
static inline void bi_fire_position(const struct bi_fire *s, const double x[3], double out[3])
{
    if (s->cell_moves > 0)
        bi_fire_turn(s->gradient, 0, x, out);
    else
        for (int k = 0; k < 3; k++)
            out[k] = x[k];
}

/* The force on the variables of an atom, of that on the atom; behind bi_fire_cell_forces(). */
static inline void bi_fire_force(const struct bi_fire *s, const double force[3], double out[3])
{
    if (s->cell_moves > 0)
        bi_fire_turn(s->before, 1, force, out);
    else
        for (int k = 0; k < 3; k++)
            out[k] = force[k];
}

/* Takes away the force on the variables that an atom holds. Velocities begin with 0, so these stay
 * where they are: with a cell, an atom keeps its place in the cell that was given. */
static inline void bi_fire_hold(double held, double f[3])
{
    for (int k = 0; k < 3; k++)
        if ((int)held >> k & 1)
            f[k] = 0;
}

/* Sets how the pairs of a frame that is periodic along all axes are looked for in the cell of the
 * state. Gives 0 where that would be too many images; else 1. Which bins there are stays. */
static inline int bi_fire_frame(const struct bi_fire *s, struct bi_atom_frame *f)
{
    const double volume = bi_fire_determinant(s->cell), most = 1000, most_places = 1e6;
    const double cutoff = __builtin_sqrt(f->nearly2);
    double places = 1;
    int fits = 1;
    for (int k = 0; k < 3; k++) {
        const double *a = s->cell + (k + 1) % 3 * 3, *b = s->cell + (k + 2) % 3 * 3;
        double square = 0, reach;
        for (int c = 0; c < 3; c++) {
            const int c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            const double area = a[c1] * b[c2] - a[c2] * b[c1];
            f->inverse[3 * c + k] = area / volume;
            f->cell[3 * k + c] = s->cell[3 * k + c];
            square += area * area;
        }
        reach = cutoff * f->n_bins[k] * __builtin_sqrt(square) / __builtin_fabs(volume) + 1;
        fits = fits && reach <= most; /* nor is what is no number */
        f->reach[k] = reach <= most ? (int32_t)reach : (int32_t)most;
        places *= 2 * f->reach[k] + 1;
    }
    return fits && places <= most_places;
}

/* ---- the step ---- */

/* Sets a state whose task is set to that of no step. */
static inline void bi_fire_begin(struct bi_fire *s)
{
    s->made = 0;
    s->end = BI_FIRE_GOES_ON;
    s->dt = s->mix = 0.1;
    s->downhill = -1;
}

/* The larger one of two squares, of which one that is not finite counts as larger; the first one is
 * 0 or came from here. */
static inline double bi_fire_larger(double a, double b)
{
    return a - a == 0 && !(b <= a) ? b : a;
}

/* Ends the relaxation where the largest square of a force, or the number of steps, says so; gives 1
 * where it ends. */
static inline int bi_fire_is_over(struct bi_fire *s, double square)
{
    const int finite = square - square == 0;
    s->largest = finite ? __builtin_sqrt(square) : __builtin_inf();
    if (!finite)
        s->end = BI_FIRE_FAILED;
    else if (s->largest <= s->fmax)
        s->end = BI_FIRE_RELAXED;
    else if (!(s->made < s->steps))
        s->end = BI_FIRE_STEPS;
    return s->end > BI_FIRE_GOES_ON;
}

/* Decides how velocities change, by the sums over all variables of f v, v v and f f. */
static inline void bi_fire_decide(struct bi_fire *s, double fv, double vv, double ff)
{
    const double most_dt = 1, grow = 1.1, shrink = 0.5, start_mix = 0.1, less_mix = 0.99;
    s->power = fv;
    s->keep = s->ratio = 0;
    if (fv > 0) {
        s->keep = 1 - s->mix;
        s->ratio = s->mix * __builtin_sqrt(vv / ff);
        s->downhill += 1;
        if (s->downhill > BI_FIRE_PATIENCE) {
            s->dt = s->dt * grow < most_dt ? s->dt * grow : most_dt;
            s->mix *= less_mix;
        }
    } else {
        s->mix = start_mix;
        s->dt *= s->downhill < 0 ? 1 : shrink; /* the first step is no uphill one */
        s->downhill = 0;
    }
    s->made += 1;
}

/* The velocity of a variable in the step. */
static inline double bi_fire_velocity(const struct bi_fire *s, double v, double f)
{
    return (s->power > 0 ? s->keep * v + s->ratio * f : 0) + s->dt * f;
}

/* Decides how far the step goes, by the sum of v v over its velocities. */
static inline void bi_fire_limit(struct bi_fire *s, double vv)
{
    const double most_step = 0.2, length = s->dt * __builtin_sqrt(vv);
    s->scale = length > most_step ? most_step / length : 1;
}

/* Moves n variables x and v by the forces f. */
static inline void bi_fire_go(const struct bi_fire *s, double *x, double *v, const double *f, int n)
{
    for (int k = 0; k < n; k++) {
        v[k] = bi_fire_velocity(s, v[k], f[k]);
        x[k] += s->dt * v[k] * s->scale;
    }
}

/* ---- launches ---- */

/* The force on the variables of atom i, whose frame has state s. */
static inline void bi_fire_force_at(const struct bi_fire_params *p, const struct bi_fire *s,
                                    int64_t i, double out[3])
{
    double force[3];
    for (int k = 0; k < 3; k++)
        force[k] = s->std * (double)p->force[12 * i + k];
    bi_fire_force(s, force, out);
    bi_fire_hold(p->atom[i].held, out);
}

/* Sets frame number f of fire_place, which is read even where no atoms are. */
static inline void bi_fire_place_frame(const struct bi_fire_params *p, int64_t f)
{
    p->frame[f] = p->uploaded[f];
    if (p->state[f].cell_moves > 0)
        bi_fire_frame(&p->state[f], &p->frame[f]);
}

/* Says where atom i is. */
static inline void bi_fire_place_atom(const struct bi_fire_params *p, int64_t i)
{
    bi_fire_position(&p->state[bi_fire_frame_of(p, i)], p->atom[i].x, p->position + 3 * i);
}

/* Makes the step of atom i, unless its frame is over. */
static inline void bi_fire_move_atom(const struct bi_fire_params *p, int64_t i)
{
    const struct bi_fire *s = &p->state[bi_fire_frame_of(p, i)];
    double f[3];
    if (s->end > BI_FIRE_GOES_ON)
        return;
    bi_fire_force_at(p, s, i, f);
    bi_fire_go(s, p->atom[i].x, p->atom[i].v, f, 3);
}

/* The stress of the cell from the sums of virials over all atoms. */
static inline void bi_fire_take_virial(struct bi_fire *s, const double sum[9], double n)
{
    const double volume = __builtin_fabs(bi_fire_determinant(s->cell));
    double stress[9];
    for (int k = 0; k < 9; k++)
        stress[k] = sum[k] / volume;
    bi_fire_cell_forces(s, stress, n);
}

/* The rest of the plan, behind bi_fire_limit(): moves the cell, and ends a relaxation whose cell
 * is none to go on with. frame: the one that fire_place had uploaded. */
static inline void bi_fire_move_cell(struct bi_fire *s, const struct bi_atom_frame *frame, double n)
{
    struct bi_atom_frame next;
    if (!(s->cell_moves > 0))
        return;
    bi_fire_go(s, s->x, s->v, s->f, 9);
    next = *frame;
    if (!bi_fire_take_cell(s, n) || !bi_fire_frame(s, &next))
        s->end = BI_FIRE_FAILED;
}

/* The sum of lanes, of which the first n have numbers. */
static inline double bi_fire_lanes(const double lane[BI_FIRE_LANES], int64_t n)
{
    double sum = 0;
    for (int i = 0; i < BI_FIRE_LANES && i < n; i++)
        sum += lane[i];
    return sum;
}

/* |f|^2 */
static inline double bi_fire_square(const double f[3])
{
    return f[0] * f[0] + f[1] * f[1] + f[2] * f[2];
}

/* Takes n variables, the first of which is number `first`, into the lanes. */
static inline void bi_fire_add(double fv[], double vv[], double ff[], int64_t first,
                               const double *f, const double *v, int n)
{
    for (int k = 0; k < n; k++) {
        const int64_t lane = (first + k) % BI_FIRE_LANES;
        fv[lane] += f[k] * v[k];
        vv[lane] += v[k] * v[k];
        ff[lane] += f[k] * f[k];
    }
}

/* Takes the squares of n velocities in the step into the lanes. */
static inline void bi_fire_add_velocities(const struct bi_fire *s, double vv[], int64_t first,
                                          const double *f, const double *v, int n)
{
    for (int k = 0; k < n; k++) {
        const double next = bi_fire_velocity(s, v[k], f[k]);
        vv[(first + k) % BI_FIRE_LANES] += next * next;
    }
}

/* The parameters of fire_plan as if frame f were the first one. */
static inline struct bi_fire_params bi_fire_of_frame(const struct bi_fire_params *p, int64_t f)
{
    struct bi_fire_params of = *p;
    const int64_t first = p->uploaded[f].first_atom;
    of.uploaded += f;
    of.state += f;
    of.atom += first;
    of.force += 12 * first;
    return of;
}

/* Plans the step of the first frame, which goes on, by one thread. */
static inline void bi_fire_plan_first(const struct bi_fire_params *p)
{
    struct bi_fire *s = p->state;
    const int64_t n = p->uploaded->n_atoms;
    const int of_cell = s->cell_moves > 0 ? 9 : 0;
    double fv[BI_FIRE_LANES] = {0}, vv[BI_FIRE_LANES] = {0}, ff[BI_FIRE_LANES] = {0};
    double then[BI_FIRE_LANES] = {0}, virial[9] = {0}, f[3], square = 0;
    for (int64_t i = 0; i < n && of_cell; i++)
        for (int k = 0; k < 9; k++)
            virial[k] += s->std * (double)p->force[12 * i + 3 + k];
    if (of_cell)
        bi_fire_take_virial(s, virial, (double)n);
    for (int64_t i = 0; i < n; i++) {
        bi_fire_force_at(p, s, i, f);
        square = bi_fire_larger(square, bi_fire_square(f));
        bi_fire_add(fv, vv, ff, 3 * i, f, p->atom[i].v, 3);
    }
    for (int k = 0; k < of_cell; k += 3)
        square = bi_fire_larger(square, bi_fire_square(s->f + k));
    bi_fire_add(fv, vv, ff, 3 * n, s->f, s->v, of_cell);
    if (!bi_fire_is_over(s, square)) {
        const int64_t all = 3 * n + of_cell;
        bi_fire_decide(s, bi_fire_lanes(fv, all), bi_fire_lanes(vv, all), bi_fire_lanes(ff, all));
        for (int64_t i = 0; i < n; i++) {
            bi_fire_force_at(p, s, i, f);
            bi_fire_add_velocities(s, then, 3 * i, f, p->atom[i].v, 3);
        }
        bi_fire_add_velocities(s, then, 3 * n, s->f, s->v, of_cell);
        bi_fire_limit(s, bi_fire_lanes(then, all));
        bi_fire_move_cell(s, p->uploaded, (double)n);
    }
}

/* All of fire_plan, by one thread. */
static inline void bi_fire_plan_all(const struct bi_fire_params *p)
{
    const int32_t n_frames = p->counts->n_seqs;
    int go_on = 0;
    if (bi_fire_rows(p) < 1)
        return;
    for (int32_t f = 0; f < n_frames; f++) {
        const struct bi_fire_params of = bi_fire_of_frame(p, f);
        if (!(of.state->end > BI_FIRE_GOES_ON))
            bi_fire_plan_first(&of);
        go_on |= !(of.state->end > BI_FIRE_GOES_ON);
    }
    if (!go_on)
        p->counts->n_tokens = 0;
}

#endif

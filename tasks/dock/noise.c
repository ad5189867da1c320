/* noise.c - the times of a sampler's steps, how much noise poses have at each, and random numbers.
 *
 * Noise of a kind grows from low to high as low^(1 - t) high^t. A step from t to t - dt goes by
 * g^2 dt times the score and g sqrt(dt) times a random number, with g^2 the growth of the noise's
 * square. */
#include <float.h>
#include <math.h>

#include "../../base/random.h"
#include "dock.h"

enum { GRID = 2000, TERMS = 2000 };

static const double pi = 3.14159265358979323846;

/* ---- schedules ---- */

void bi_dock_schedule_fill(struct bi_dock_schedule *out, enum bi_dock_release release)
{
    static const struct bi_dock_cold plain = {1, 0, 0.5};
    static const struct bi_dock_cold cold[BI_DOCK_KINDS] = {
        {1.170050527854316, 0.727287304570729, 0.9299802531572672},
        {2.06391612594481, 0.9022615585677628, 0.7464326999906034},
        {7.044261621607846, 0.5946212391366862, 0.6943254174849822}};
    static const double low[BI_DOCK_KINDS] = {0.1, 0.03, 0.0314};
    static const double high[BI_DOCK_KINDS] = {19, 1.55, 3.14};
    const bool new = release == BI_DOCK_V11;
    *out = (struct bi_dock_schedule){.release = release,
                                     .n_steps = 20,
                                     .n_run = new ? 19 : 18,
                                     .quiet_end = true,
                                     .start_spread = new ? 1.4602 : -1};
    for (int k = 0; k < BI_DOCK_KINDS; k++) {
        out->low[k] = low[k];
        out->high[k] = high[k];
        out->cold[k] = new ? cold[k] : plain;
    }
}

/* `name` lies in [least, most]; NaN does not. */
static int check(const char *name, double value, double least, double most,
                 struct bioinfer_error *err)
{
    if (value >= least && value <= most)
        return 0;
    return bi_fail(err, BIOINFER_INVALID, "%s is %g, expected %g to %g", name, value, least, most);
}

int bi_dock_schedule_check(const struct bi_dock_schedule *s, struct bioinfer_error *err)
{
    static const char *const names[BI_DOCK_KINDS][4] = {
        {"lowest noise of shifts", "highest noise of shifts", "temperature of shifts",
         "psi of shifts"},
        {"lowest noise of rotations", "highest noise of rotations", "temperature of rotations",
         "psi of rotations"},
        {"lowest noise of torsions", "highest noise of torsions", "temperature of torsions",
         "psi of torsions"}};
    int st = check("number of steps", s->n_steps, 1, BI_DOCK_MOST_STEPS, err);
    if (!st)
        st = check("number of steps that are run", s->n_run, 1, s->n_steps, err);
    if (!st)
        st = check("spread of the first shift", s->start_spread, -100, 100, err);
    for (int k = 0; !st && k < BI_DOCK_KINDS; k++) {
        if (!(st = check(names[k][0], s->low[k], 1e-4, 1e3, err)) &&
            !(st = check(names[k][1], s->high[k], s->low[k], 1e3, err)) &&
            !(st = check(names[k][2], s->cold[k].temperature, 1e-3, 1e3, err)))
            st = check(names[k][3], s->cold[k].psi, 0, 1e3, err);
    }
    return st;
}

static void fill_kind(struct bi_dock_step *out, const struct bi_dock_schedule *s, int kind,
                      double dt, bool quiet)
{
    const struct bi_dock_cold *c = &s->cold[kind];
    const double low = log(s->low[kind]), high = log(s->high[kind]);
    const double sigma = exp((1 - out->time) * low + out->time * high);
    /* v1.0 turns by twice the square that its noise grows by */
    const double twice = s->release == BI_DOCK_V10 && kind == BI_DOCK_TURN ? 4 : 2;
    const double g2 = sigma * sigma * twice * (high - low);
    const double data = exp(c->data * high + (1 - c->data) * low);
    const double warm = (data + sigma) / (data + sigma / c->temperature);
    const bool plain = c->temperature == 1;
    out->sigma[kind] = sigma;
    out->score[kind] = g2 * dt * (plain ? 1 : warm + c->temperature * c->psi / 2);
    out->noise[kind] = quiet ? 0 : sqrt(g2 * dt * (plain ? 1 : 1 + c->psi));
}

void bi_dock_step_fill(struct bi_dock_step *out, const struct bi_dock_schedule *s, int i)
{
    const bool last = i + 1 == s->n_run;
    out->time = 1 - (double)i / s->n_steps;
    const double dt = last ? out->time : 1.0 / s->n_steps;
    for (int k = 0; k < BI_DOCK_KINDS; k++)
        fill_kind(out, s, k, dt, last && s->quiet_end);
    out->turn_norm = bi_dock_turn_norm(s->release, out->sigma[BI_DOCK_TURN]);
    out->torsion_norm = bi_dock_torsion_norm(out->sigma[BI_DOCK_TORSION]);
}

/* ---- expected scores ---- */

/* The density of a rotation by the angle w, but for a factor, and its slope:
 * sum (2 l + 1) exp(-l (l + 1) h) sin((l + 1/2) w) / sin(w / 2). */
static void density_at(double w, double h, double *f, double *slope)
{
    const double a = sin(w / 2), b = cos(w / 2) / 2, step_c = cos(w), step_s = sin(w);
    double s = a, c = 2 * b; /* sine and cosine of (l + 1/2) w */
    *f = *slope = 0;
    for (int l = 0; l < TERMS; l++) {
        const double g = (2 * l + 1) * exp(-(double)l * (l + 1) * h);
        const double next = c * step_c - s * step_s;
        if (g < DBL_MIN)
            return;
        *f += g * s / a;
        *slope += g * (a * (l + 0.5) * c - s * b) / (a * a);
        s = s * step_c + c * step_s;
        c = next;
    }
}

double bi_dock_turn_norm(enum bi_dock_release release, double sigma)
{
    const bool new = release == BI_DOCK_V11;
    const int n = new ? 2000 : 1000;
    const double low = log10(new ? 5e-4 : 0.01), high = log10(new ? 4.0 : 2.0);
    /* the program looks up point `at` of n, which lies a little beside sigma */
    const double at = fmin(fmax(rint((log10(sigma) - low) / (high - low) * n), 0), n - 1);
    const double e = pow(10, low + (high - low) * at / (n - 1));
    double sum = 0, weights = 0, most = 0;
    for (int k = 1; k <= GRID; k++) {
        const double w = pi * k / GRID;
        double f, slope;
        density_at(w, e * e * (new ? 0.5 : 1), &f, &slope);
        most = f > most ? f : most;
        if (f <= 1e-9 * most) /* where nothing is left but rounding */
            break;
        const double p = f * (1 - cos(w)) / pi, score = slope / f;
        sum += score * score * p;
        weights += p;
    }
    return sqrt(sum / weights / pi);
}

double bi_dock_torsion_norm(double sigma)
{
    enum { POINTS = 4000, WRAPS = 20 };
    const double by = 1 / (2 * sigma * sigma);
    double sum = 0, weights = 0;
    for (int i = 0; i < POINTS; i++) {
        const double x = (i + 0.5) / POINTS * 2 * pi - pi;
        double p = 0, q = 0;
        for (int k = -WRAPS; k <= WRAPS; k++) {
            const double y = x + 2 * pi * k, e = exp(-y * y * by);
            p += e;
            q += 2 * by * y * e;
        }
        sum += p > 0 ? q * q / p : 0;
        weights += p;
    }
    return sum / weights;
}

/* ---- random numbers ---- */

/* Two numbers in (0, 1) of a place: no two places share a counter. */
static void units_at(const struct bi_dock_place *at, enum bi_dock_kind kind, uint32_t k,
                     double u[2])
{
    const uint32_t counter[4] = {(uint32_t)kind << 16 | k, at->sample << 16 | at->step,
                                 (uint32_t)at->record, (uint32_t)(at->record >> 32)};
    uint32_t w[4];
    bi_philox(at->seed, counter, w);
    for (int i = 0; i < 2; i++)
        u[i] = ((double)(((uint64_t)w[2 * i] << 32 | w[2 * i + 1]) >> 12) + 0.5) * 0x1p-52;
}

double bi_dock_normal(const struct bi_dock_place *at, enum bi_dock_kind kind, uint32_t k)
{
    double u[2];
    units_at(at, kind, k, u);
    return sqrt(-2 * log(u[0])) * cos(2 * pi * u[1]);
}

double bi_dock_uniform(const struct bi_dock_place *at, enum bi_dock_kind kind, uint32_t k)
{
    double u[2];
    units_at(at, kind, k, u);
    return u[0];
}

/* vina.c - Vina's scoring function: terms of pairs, tabulated as AutoDock Vina 1.2.7 does. */
#include <math.h>
#include <string.h>

#include "rescore.h"

enum { LEAST_SUM = 24 }; /* two radii of metals, in tenths of an angstrom */

const double bi_vina_weights[BI_VINA_TERMS] = {-0.035579, -0.005156, 0.840245, -0.035069,
                                               -0.587439};
static const double rotor_weight = 0.05846;

/* Types: radius in tenths of an angstrom, and what they are. */
static const struct {
    uint8_t radius, hydrophobic, donor, acceptor;
} types[] = {
#define BI_X(name, radius, hydrophobic, donor, acceptor) {radius, hydrophobic, donor, acceptor},
    BI_VINA_TYPES(BI_X)
#undef BI_X
};

/* 1 up to `full`, 0 from `none` on, a line between. */
static double slope(double d, double full, double none)
{
    return d <= full ? 1 : d >= none ? 0 : (none - d) / (none - full);
}

/* Terms of atoms whose surfaces are d apart. */
static void terms_at(double d, double out[BI_VINA_TERMS])
{
    out[0] = exp(-(d / 0.5) * (d / 0.5));
    out[1] = exp(-((d - 3) / 2) * ((d - 3) / 2));
    out[2] = d < 0 ? d * d : 0;
    out[3] = slope(d, 0.5, 1.5);
    out[4] = slope(d, -0.7, 0);
}

void bi_vina_fill(struct bi_vina *v)
{
    for (int sum = 0; sum < BI_VINA_SUMS; sum++) {
        double low[BI_VINA_TERMS], high[BI_VINA_TERMS];
        terms_at(-0.1 * (sum + LEAST_SUM), low);
        for (int bin = 0; bin < BI_VINA_BINS; bin++) {
            if (bin + 1 < BI_VINA_BINS)
                terms_at(sqrt((bin + 1) / 32.0) - 0.1 * (sum + LEAST_SUM), high);
            else
                memset(high, 0, sizeof high); /* at the cutoff there is nothing */
            for (int t = 0; t < BI_VINA_TERMS; t++)
                v->term[sum][bin][t] = (float)(0.5 * (low[t] + high[t]));
            memcpy(low, high, sizeof low);
        }
    }
}

/* Adds the terms of a pair. */
static inline void add_pair(const struct bi_vina *v, uint8_t a, uint8_t b, double r2,
                            double sums[BI_VINA_TERMS])
{
    const float *t = v->term[types[a].radius + types[b].radius - LEAST_SUM][(int)(32 * r2)];
    for (int k = 0; k < 3; k++)
        sums[k] += (double)t[k];
    if (types[a].hydrophobic && types[b].hydrophobic)
        sums[3] += (double)t[3];
    if ((types[a].donor && types[b].acceptor) || (types[a].acceptor && types[b].donor))
        sums[4] += (double)t[4];
}

/* Adds the pairs of one atom of the pose to sums; how many there are. */
static int64_t add_atom(const struct bi_vina *v, const struct bi_site *s, const double x[3],
                        uint8_t type, double sums[BI_VINA_TERMS])
{
    const struct bi_cells *c = &s->cells;
    int32_t from[3], to[3];
    int64_t n = 0;
    if (!bi_cells_range(c, x, BI_VINA_CUTOFF, from, to))
        return 0;
    for (int32_t k = from[2]; k <= to[2]; k++)
        for (int32_t j = from[1]; j <= to[1]; j++) {
            const int32_t row = (k * c->n[1] + j) * c->n[0];
            for (int32_t i = c->start[row + from[0]]; i < c->start[row + to[0] + 1]; i++) {
                const double dx = x[0] - s->x[i][0], dy = x[1] - s->x[i][1], dz = x[2] - s->x[i][2],
                             r2 = dx * dx + dy * dy + dz * dz;
                if (r2 >= BI_VINA_CUTOFF * BI_VINA_CUTOFF)
                    continue;
                add_pair(v, type, s->type[i], r2, sums);
                n++;
            }
        }
    return n;
}

void bi_vina_score(const struct bi_vina *v, const struct bi_site *s, const struct bi_pose *p,
                   struct bi_vina_sums *out)
{
    *out = (struct bi_vina_sums){.n_pairs = 0};
    for (int32_t i = 0; i < p->n; i++) {
        double sums[BI_VINA_TERMS] = {0}, e = 0;
        out->n_pairs += add_atom(v, s, p->x[i], p->type[i], sums);
        for (int t = 0; t < BI_VINA_TERMS; t++) {
            e += bi_vina_weights[t] * sums[t];
            out->terms[t] += sums[t];
        }
        out->inter += e > 0 ? e * BI_VINA_CURL / (BI_VINA_CURL + e) : e;
    }
}

double bi_vina_affinity(double inter, double n_rotors)
{
    return inter / (1 + rotor_weight * n_rotors);
}

/* ---- slopes ---- */

/* Energy and its slope by d, by kind of pair, of atoms whose surfaces are d apart. */
static void energy_at(double d, int kind, double *e, double *slope_of)
{
    const double *w = bi_vina_weights;
    double t[BI_VINA_TERMS];
    terms_at(d, t);
    *e = w[0] * t[0] + w[1] * t[1] + w[2] * t[2];
    *slope_of = w[0] * -8 * d * t[0] + w[1] * -(d - 3) / 2 * t[1] + w[2] * (d < 0 ? 2 * d : 0);
    if (kind == 1) {
        *e += w[3] * t[3];
        *slope_of += w[3] * (d > 0.5 && d < 1.5 ? -1 : 0);
    } else if (kind == 2) {
        *e += w[4] * t[4];
        *slope_of += w[4] * (d > -0.7 && d < 0 ? -1 / 0.7 : 0);
    }
}

/* Energy and slope by the square of the distance at the begin of a bin. */
static void node_at(int sum, int kind, int bin, float out[2])
{
    const double r = sqrt((bin > 0 ? bin : 0.25) /
                          BI_SLOPES_PER); /* at 0 the slope has no bounds */
    double e, by_d;
    energy_at(r - 0.1 * (sum + LEAST_SUM), kind, &e, &by_d);
    out[0] = (float)e;
    out[1] = (float)(by_d / (2 * r));
}

void bi_slopes_fill(struct bi_slopes *s)
{
    for (int sum = 0; sum < BI_VINA_SUMS; sum++)
        for (int kind = 0; kind < 3; kind++)
            for (int bin = 0; bin < BI_SLOPES_BINS; bin++) {
                float(*n)[4] = s->node[sum][kind];
                if (bin)
                    memcpy(n[bin], n[bin - 1] + 2, 2 * sizeof(float));
                else
                    node_at(sum, kind, 0, n[0]);
                node_at(sum, kind, bin + 1, n[bin] + 2);
            }
}

const float (*bi_slopes_of(const struct bi_slopes *s, uint8_t a, uint8_t b))[4]
{
    const int kind = types[a].hydrophobic && types[b].hydrophobic ? 1
                     : (types[a].donor && types[b].acceptor) ||
                             (types[a].acceptor && types[b].donor)
                         ? 2
                         : 0;
    return (const float(*)[4])s->node[types[a].radius + types[b].radius - LEAST_SUM][kind];
}

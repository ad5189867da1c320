/* confidence.c - pLDDT, aligned errors and pTM from logits or probabilities of their bins. */
#include "confidence.h"

#include <math.h>
#include <string.h>

#include "../../base/larger.h"

/* clang-format off */
static const char names[BI_FOLDED_NAMES][4] = {
    "N", "CA", "C", "CB", "O", "CG", "CG1", "CG2", "OG", "OG1", "SG", "CD", "CD1", "CD2", "ND1",
    "ND2", "OD1", "OD2", "SD", "CE", "CE1", "CE2", "CE3", "NE", "NE1", "NE2", "OE1", "OE2", "CH2",
    "NH1", "NH2", "OH", "CZ", "CZ2", "CZ3", "NZ", "OXT"};
/* clang-format on */

int bi_folded_name(const char *name)
{
    for (int i = 0; i < BI_FOLDED_NAMES; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

double bi_folded_level(const float *logits, int n)
{
    double top = -INFINITY, total = 0, sum = 0;
    for (int k = 0; k < n; k++)
        top = bi_larger(top, (double)logits[k]);
    for (int k = 0; k < n; k++) {
        const double p = exp((double)logits[k] - top);
        total += p;
        sum += p * (k + 0.5) / n;
    }
    return sum / total;
}

/* The middle of a bin in angstrom; the last one's, as if it were as wide as the others. */
static double centre(int k)
{
    return 0.5 * k + 0.25;
}

double bi_folded_error(const float *p)
{
    double sum = 0;
    for (int k = 0; k < BI_FOLDED_ERRORS; k++)
        sum += (double)p[k] * centre(k);
    return sum;
}

double bi_folded_tm(const float *p, int64_t ld, int64_t n)
{
    const double size = n > 19 ? (double)n : 19, d0 = 1.24 * cbrt(size - 15) - 1.8;
    double term[BI_FOLDED_ERRORS], best = 0;
    for (int k = 0; k < BI_FOLDED_ERRORS; k++)
        term[k] = 1 / (1 + centre(k) * centre(k) / (d0 * d0));
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            for (int k = 0; k < BI_FOLDED_ERRORS; k++)
                sum += (double)p[(i * n + j) * ld + k] * term[k];
        if (!isnan(best) && !(sum / (double)n <= best))
            best = sum / (double)n;
    }
    return best;
}

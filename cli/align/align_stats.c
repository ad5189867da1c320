/* align_stats.c - how likely scores of local alignments are by chance: bit scores, E-values.
 *
 * A score S has (lambda S - ln K) / ln 2 bits, and E = K A exp(-lambda S) alignments of such a
 * score or a better one are expected of a random query of m residues and n random residues, where A
 * is m n for long sequences (Karlin, Altschul, PNAS 87:2264, 1990). An alignment has a length, so
 * fewer places than m n can begin one:
 *   proteins     A by Park, Sheetlin, Ma, Madden, Spouge (BMC Res. Notes 5:286, 2012), as blastp
 *                has had it since 2.2.26
 *   nucleotides  A = (m - l) (n - N l) for N sequences, where l = alpha / lambda ln(K A) + beta
 *                (Altschul et al., Nucleic Acids Res. 29:351, 2001), in whole residues, as blastn
 * All parameters of gapped alignments are known by simulation, for these costs alone. Source: the
 * tables of NCBI BLAST (blast_stat.c). Other costs get A = m n. */
#include "align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Costs in points: a gap of k residues costs open + k extend. spread and covariance: of the
 * lengths of alignments, by the score (Alpha and Sigma of BLAST); 0 of nucleotides. */
struct known {
    const char *matrix; /* NULL: match and mismatch */
    double match, mismatch, open, extend, lambda, k, alpha, beta, spread, covariance;
    bool even; /* scores are rounded down to even ones for E-values */
};

/* Alpha and spread of BLOSUM62 without gaps. */
static const double ungapped_alpha = 0.7916, ungapped_spread = 4.964660;

/* clang-format off */
static const struct known known[] = {
    {"BLOSUM62", 0, 0, 11, 2, 0.297, 0.082, 1.1, -10, 12.6738, 12.7576, false},
    {"BLOSUM62", 0, 0, 10, 2, 0.291, 0.075, 1.3, -15, 16.4740, 16.6026, false},
    {"BLOSUM62", 0, 0, 9, 2, 0.279, 0.058, 1.5, -19, 22.7519, 22.9500, false},
    {"BLOSUM62", 0, 0, 8, 2, 0.264, 0.045, 1.8, -26, 35.4838, 35.8213, false},
    {"BLOSUM62", 0, 0, 7, 2, 0.239, 0.027, 2.5, -46, 61.2383, 61.8860, false},
    {"BLOSUM62", 0, 0, 6, 2, 0.201, 0.012, 3.3, -58, 140.417, 141.882, false},
    {"BLOSUM62", 0, 0, 13, 1, 0.292, 0.071, 1.2, -11, 19.5063, 19.8931, false},
    {"BLOSUM62", 0, 0, 12, 1, 0.283, 0.059, 1.5, -19, 27.8562, 28.4699, false},
    {"BLOSUM62", 0, 0, 11, 1, 0.267, 0.041, 1.9, -30, 42.6028, 43.6362, false},
    {"BLOSUM62", 0, 0, 10, 1, 0.243, 0.024, 2.5, -44, 83.1787, 85.0656, false},
    {"BLOSUM62", 0, 0, 9, 1, 0.206, 0.010, 4.0, -87, 210.333, 214.842, false},
    {NULL, 2, -3, 6, 2, 0.63, 0.42, 0.75, -2, 0, 0, true},
    {NULL, 2, -3, 5, 2, 0.625, 0.41, 0.8, -2, 0, 0, true},
    {NULL, 2, -3, 4, 2, 0.61, 0.35, 0.9, -3, 0, 0, true},
    {NULL, 2, -3, 2, 2, 0.515, 0.14, 1.55, -9, 0, 0, true},
    {NULL, 1, -2, 0, 2.5, 1.28, 0.46, 1.5, -2, 0, 0, false},
    {NULL, 1, -2, 2, 2, 1.33, 0.62, 1.2, 0, 0, 0, false},
    {NULL, 1, -2, 1, 2, 1.30, 0.52, 1.4, -2, 0, 0, false},
    {NULL, 1, -2, 0, 2, 1.19, 0.34, 1.8, -3, 0, 0, false},
    {NULL, 1, -2, 3, 1, 1.32, 0.57, 1.3, -1, 0, 0, false},
    {NULL, 1, -2, 2, 1, 1.29, 0.49, 1.4, -1, 0, 0, false},
    {NULL, 1, -2, 1, 1, 1.14, 0.26, 2.2, -5, 0, 0, false}};
/* clang-format on */

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* A number above 0 that an option gives. */
static bool parse_positive(const char *name, const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end != text && !*end && isfinite(*value) && *value > 0)
        return true;
    cli_say(NULL, "--%s: '%s' is not a number above 0", name, text);
    return false;
}

/* Finds lambda and K of the costs of w; matrix: NULL = match and mismatch, in points. */
static bool find_known(struct cli_align_stats *s, const struct cli_align_out *w, const char *matrix,
                       double match, double mismatch)
{
    const double open = w->open - w->extend;
    for (size_t i = 0; !w->open2 && i < CLI_COUNT(known); i++) {
        const struct known *k = &known[i];
        if (!matrix != !k->matrix || (matrix && strcasecmp(matrix, k->matrix)) ||
            (!matrix && (!is_near(match, k->match) || !is_near(mismatch, k->mismatch))) ||
            !is_near(open, k->open) || !is_near(w->extend, k->extend))
            continue;
        s->lambda = k->lambda;
        s->k = k->k;
        s->even = k->even;
        s->alpha = k->alpha;
        s->beta = k->beta;
        s->spread = k->spread;
        s->covariance = k->covariance;
        s->gap = k->open + k->extend;
        return true;
    }
    cli_say(
        NULL,
        "--format blast: lambda and K of %s with gaps of %.10g + %.10g for each residue%s are not "
        "known: say --lambda and --karlin-k, or take BLOSUM62 with --gap-convention w "
        "--gap-open 11 --gap-extend 1, or --match 2 --mismatch -3 with --gap-convention w "
        "--gap-open 5 --gap-extend 2",
        matrix ? matrix : "this match and mismatch", open, w->extend,
        w->open2 ? " and a second piece" : "");
    return false;
}

int cli_align_stats_make(struct cli_align_stats *s, const struct cli_options *o,
                         const struct cli_align_out *w, const struct bioinfer_align_params *p)
{
    const bool blast = !strcmp(w->format, "blast");
    const bool given = o->lambda || o->karlin_k;
    *s = (struct cli_align_stats){.residues = (double)o->db_size,
                                  .records = o->db_records ? (double)o->db_records : 1,
                                  .most = INFINITY};
    if (!blast && (given || o->db_size || o->db_records || o->max_evalue)) {
        cli_say(NULL, "--lambda, --karlin-k, --db-size, --db-records and --max-evalue are for "
                      "--format blast");
        return CLI_EXIT_USAGE;
    }
    if (!blast)
        return CLI_EXIT_OK;
    if (!w->local || w->score_only) {
        cli_say(NULL, "--format blast is for the alignments of --local, without --score-only");
        return CLI_EXIT_USAGE;
    }
    if (given && !(o->lambda && o->karlin_k)) {
        cli_say(NULL, "--lambda and --karlin-k come together");
        return CLI_EXIT_USAGE;
    }
    if ((o->max_evalue && !parse_positive("max-evalue", o->max_evalue, &s->most)) ||
        (given && (!parse_positive("lambda", o->lambda, &s->lambda) ||
                   !parse_positive("karlin-k", o->karlin_k, &s->k))) ||
        (!given && !find_known(s, w, p->matrix, p->match / w->scale, p->mismatch / w->scale)))
        return CLI_EXIT_USAGE;
    return CLI_EXIT_OK;
}

double cli_align_bits(const struct cli_align_stats *s, double score)
{
    return (s->lambda * score - log(s->k)) / log(2);
}

/* ---- places ---- */

/* The length that alignments are expected to have, in whole residues: the largest l that is not
 * above alpha / lambda ln(K (m - l) (n - N l)) + beta, found as BLAST does, so that it is the same
 * where that stops early. */
static double expected_length(const struct cli_align_stats *s, double m, double n, double records)
{
    const double slope = s->alpha / s->lambda, both = m * records + n;
    const double c = n * m - fmax(m, n) / s->k;
    double low = 0, high, length = 0, next;
    bool found = false;
    if (c < 0)
        return 0;
    high = 2 * c / (both + sqrt(both * both - 4 * records * c));
    for (int i = 1; i <= 20 && !found; i++) {
        next = slope * log(s->k * (m - length) * (n - records * length)) + s->beta;
        if (next >= length) {
            low = length;
            found = next - low <= 1;
            if (low == high)
                break;
        } else {
            high = length;
        }
        if (low <= next && next <= high)
            length = next;
        else
            length = i == 1 ? high : (low + high) / 2;
    }
    length = ceil(low);
    if (found && length <= high &&
        slope * log(s->k * (m - length) * (n - records * length)) + s->beta >= length)
        return length;
    return floor(low);
}

/* Gives what is left of m residues where an alignment takes a normal share of this mean and
 * variance: its mean where that is positive, and in *share how often it is. */
static double rest_of(double m, double mean, double variance, double *share)
{
    const double sigma = sqrt(variance), left = m - mean, at = left / sigma;
    *share = erfc(-at / sqrt(2)) / 2;
    return left * *share + sigma * exp(-at * at / 2) / sqrt(2 * acos(-1));
}

/* Pairs of places where an alignment of this score may begin, in a protein of m residues and one of
 * n. */
static double places(const struct cli_align_stats *s, double score, double m, double n)
{
    const double two = 2 * s->gap;
    const double mean = fmax(0, s->alpha * score + two * (ungapped_alpha - s->alpha));
    const double variance = fmax(2 * s->spread / s->lambda,
                                 s->spread * score + two * (ungapped_spread - s->spread));
    const double common = fmax(2 * s->covariance / s->lambda,
                               s->covariance * score + two * (ungapped_spread - s->covariance));
    double share[2];
    const double a = rest_of(m, mean, variance, &share[0]);
    const double b = rest_of(n, mean, variance, &share[1]);
    return a * b + common * share[0] * share[1];
}

double cli_align_evalue(const struct cli_align_stats *s, double score, size_t query, size_t target)
{
    const double m = (double)query, n = s->residues > 0 ? s->residues : (double)target;
    const double points = s->even ? 2 * floor(score / 2) : score;
    double area = m * n;
    if (s->spread > 0) {
        area = places(s, points, m, (double)target) * n / (double)target;
    } else if (s->alpha > 0) {
        const double length = expected_length(s, m, n, s->records);
        area = fmax(m - length, 1) * fmax(n - s->records * length, 1);
    }
    return s->k * area * exp(-s->lambda * points);
}

/* align_stats.c - how likely scores of local alignments are by chance: bit scores, E-values.
 *
 * A score S has (lambda S - ln K) / ln 2 bits, and E = K m n exp(-lambda S) alignments of such a
 * score or a better one are expected of a random query of m residues among n random residues
 * (Karlin, Altschul, PNAS 87:2264, 1990). lambda and K of gapped alignments are known by
 * simulation, for these costs alone. Source: Altschul, Gish, Methods Enzymol. 266:460 (1996), as
 * the tables of NCBI BLAST (blast_stat.c) have them. BLAST also shortens m and n by a length that
 * alignments are expected to have, which is not done here: its E-values are smaller. */
#include "align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Costs in points: a gap of k residues costs open + k extend. */
struct known {
    const char *matrix; /* NULL: match and mismatch */
    double match, mismatch, open, extend, lambda, k;
    bool even; /* scores are rounded down to even ones first */
};

/* clang-format off */
static const struct known known[] = {
    {"BLOSUM62", 0, 0, 11, 2, 0.297, 0.082, false}, {"BLOSUM62", 0, 0, 10, 2, 0.291, 0.075, false},
    {"BLOSUM62", 0, 0, 9, 2, 0.279, 0.058, false},  {"BLOSUM62", 0, 0, 8, 2, 0.264, 0.045, false},
    {"BLOSUM62", 0, 0, 7, 2, 0.239, 0.027, false},  {"BLOSUM62", 0, 0, 6, 2, 0.201, 0.012, false},
    {"BLOSUM62", 0, 0, 13, 1, 0.292, 0.071, false}, {"BLOSUM62", 0, 0, 12, 1, 0.283, 0.059, false},
    {"BLOSUM62", 0, 0, 11, 1, 0.267, 0.041, false}, {"BLOSUM62", 0, 0, 10, 1, 0.243, 0.024, false},
    {"BLOSUM62", 0, 0, 9, 1, 0.206, 0.010, false},
    {NULL, 2, -3, 6, 2, 0.63, 0.42, true},          {NULL, 2, -3, 5, 2, 0.625, 0.41, true},
    {NULL, 2, -3, 4, 2, 0.61, 0.35, true},          {NULL, 2, -3, 2, 2, 0.515, 0.14, true},
    {NULL, 1, -2, 0, 2.5, 1.28, 0.46, false},       {NULL, 1, -2, 2, 2, 1.33, 0.62, false},
    {NULL, 1, -2, 1, 2, 1.30, 0.52, false},         {NULL, 1, -2, 0, 2, 1.19, 0.34, false},
    {NULL, 1, -2, 3, 1, 1.32, 0.57, false},         {NULL, 1, -2, 2, 1, 1.29, 0.49, false},
    {NULL, 1, -2, 1, 1, 1.14, 0.26, false}};
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

    for (size_t i = 0; i < CLI_COUNT(known); i++) {
        const struct known *k = &known[i];
        if (!matrix != !k->matrix || (matrix && strcasecmp(matrix, k->matrix)) ||
            (!matrix && (!is_near(match, k->match) || !is_near(mismatch, k->mismatch))) ||
            !is_near(open, k->open) || !is_near(w->extend, k->extend))
            continue;
        s->lambda = k->lambda;
        s->k = k->k;
        s->even = k->even;
        return true;
    }
    cli_say(
        NULL,
        "--format blast: lambda and K of %s with gaps of %.10g + %.10g for each residue are not "
        "known: say --lambda and --karlin-k, or take BLOSUM62 with --gap-convention w "
        "--gap-open 11 --gap-extend 1, or --match 2 --mismatch -3 with --gap-convention w "
        "--gap-open 5 --gap-extend 2",
        matrix ? matrix : "this match and mismatch", open, w->extend);
    return false;
}

int cli_align_stats_make(struct cli_align_stats *s, const struct cli_options *o,
                         const struct cli_align_out *w, double match, double mismatch)
{
    const bool blast = !strcmp(w->format, "blast");
    const bool given = o->lambda || o->karlin_k;

    *s = (struct cli_align_stats){.residues = (double)o->db_size, .most = INFINITY};
    if (!blast && (given || o->db_size || o->max_evalue)) {
        cli_say(NULL, "--lambda, --karlin-k, --db-size and --max-evalue are for --format blast");
        return CLI_EXIT_USAGE;
    }
    if (!blast)
        return CLI_EXIT_OK;
    if (!o->local || o->score_only) {
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
        (!given && !find_known(s, w, o->match || o->mismatch ? NULL : w->matrix, match, mismatch)))
        return CLI_EXIT_USAGE;
    return CLI_EXIT_OK;
}

static double rounded(const struct cli_align_stats *s, double score)
{
    return s->even ? 2 * floor(score / 2) : score;
}

double cli_align_bits(const struct cli_align_stats *s, double score)
{
    return (s->lambda * rounded(s, score) - log(s->k)) / log(2);
}

double cli_align_evalue(const struct cli_align_stats *s, double score, size_t query, size_t target)
{
    const double residues = s->residues > 0 ? s->residues : (double)target;

    return s->k * (double)query * residues * exp(-s->lambda * rounded(s, score));
}

/* align_params.c - costs of alignments in points become whole numbers and their scale. */
#include "align_params.h"

#include <strings.h>

#include "../base/base.h"

/* Costs in thousandths of a point. */
struct costs {
    int64_t match, mismatch, open, extend, open2, extend2;
    bool two; /* gaps have a second piece */
};

/* Returns true if match and mismatch take the place of a matrix. */
static bool is_simple(const struct bi_align_given *g)
{
    return g->match || g->zero_match || g->mismatch || g->zero_mismatch;
}

static struct costs costs_of(const struct bi_align_given *g)
{
    const bool nucleotides = g->matrix ? !strcasecmp(g->matrix, "EDNAFULL") : !g->letters;
    struct costs c = {
        g->match, g->mismatch, nucleotides ? 10000 : 11000, nucleotides ? 500 : 1000, 0, 0, false};
    if (g->n_gap_open)
        c.open = g->gap_open[0];
    if (g->n_gap_extend)
        c.extend = g->gap_extend[0];
    if (g->n_gap_open && !g->n_gap_extend && c.extend > c.open && c.open >= 0)
        c.extend = c.open;
    c.two = g->n_gap_open > 1 && g->n_gap_extend > 1;
    if (c.two) {
        c.open2 = g->gap_open[1];
        c.extend2 = g->gap_extend[1];
    }
    if (g->gap_convention) {
        c.open += c.extend;
        c.open2 += c.extend2;
    }
    return c;
}

/* The smallest factor that makes all costs whole. */
static int whole_factor(const struct costs *c)
{
    const int64_t costs[] = {c->match, c->mismatch, c->open, c->extend, c->open2, c->extend2};
    int64_t common = 1000;
    for (size_t i = 0; i < BI_COUNT(costs); i++)
        for (int64_t rest = costs[i] < 0 ? -costs[i] : costs[i]; rest;) {
            const int64_t x = common % rest;
            common = rest;
            rest = x;
        }
    return (int)(1000 / common);
}

void bi_align_settle(void *given)
{
    struct bi_align_given *g = given;
    const struct costs c = costs_of(g);
    const int scale = whole_factor(&c);
    g->params = (struct bioinfer_align_params){.struct_size = sizeof g->params,
                                               .matrix = g->matrix,
                                               .match = (int)(c.match * scale / 1000),
                                               .mismatch = (int)(c.mismatch * scale / 1000),
                                               .gap_open = (int)(c.open * scale / 1000),
                                               .gap_extend = (int)(c.extend * scale / 1000),
                                               .scale = scale,
                                               .free_ends = g->mode ? (unsigned)BIOINFER_FREE_ENDS
                                                                    : g->free_ends,
                                               .ties = g->ties,
                                               .traceback = !g->score_only,
                                               .memory_limit = (uint64_t)g->memory_limit,
                                               .device = g->device,
                                               .free_gaps = !c.open,
                                               .local = g->local,
                                               .gap_open2 = (int)(c.open2 * scale / 1000),
                                               .gap_extend2 = (int)(c.extend2 * scale / 1000),
                                               .identity = g->identity,
                                               .any_letters = g->letters};
}

/* Checks the costs of a gap's first residue and of every other one. */
static int check_gaps(const struct costs *c, struct bioinfer_error *err)
{
    const double open = (double)c->open / 1000, extend = (double)c->extend / 1000;
    const double open2 = (double)c->open2 / 1000, extend2 = (double)c->extend2 / 1000;
    if (open < 0 || extend < 0)
        return bi_fail(err, BIOINFER_INVALID,
                       "gap-open: the first residue costs %.10g and every other one %.10g, "
                       "expected 0 or more",
                       open, extend);
    if (extend > open)
        return bi_fail(err, BIOINFER_INVALID,
                       "gap-open: the first residue costs %.10g, every other one %.10g, expected "
                       "at most as much: a gap would cost more than two side by side; "
                       "gap-convention w takes the sum of both costs for the first",
                       open, extend);
    if (c->two && (open2 <= open || extend2 >= extend || extend2 < 0))
        return bi_fail(err, BIOINFER_INVALID,
                       "gap-open: by the second piece the first residue costs %.10g and every "
                       "other one %.10g, expected more than %.10g and less than %.10g, not below "
                       "0: else one piece never counts",
                       open2, extend2, open, extend);
    return 0;
}

static int check_ends(const struct bi_align_given *g, struct bioinfer_error *err)
{
    const bool mode = g->mode || g->global;
    if (g->local && (mode || g->free_ends))
        return bi_fail(err, BIOINFER_INVALID,
                       "local and %s exclude each other: local alignments begin and end anywhere",
                       mode ? "mode" : "free-ends");
    if (g->mode && g->free_ends)
        return bi_fail(err, BIOINFER_INVALID,
                       "free-ends names ends that mode ends-free frees: one of them does");
    return 0;
}

int bi_align_check(const void *given, struct bioinfer_error *err)
{
    const struct bi_align_given *g = given;
    const bool match = g->match || g->zero_match, mismatch = g->mismatch || g->zero_mismatch;
    const struct costs c = costs_of(g);
    const int n_open = g->n_gap_open ? g->n_gap_open : 1;
    const int n_extend = g->n_gap_extend ? g->n_gap_extend : 1;
    if (g->matrix && (match || mismatch))
        return bi_fail(err, BIOINFER_INVALID, "matrix excludes match and mismatch");
    if (match != mismatch)
        return bi_fail(err, BIOINFER_INVALID, "match and mismatch come together");
    if ((g->letters || g->nucleotides) && !match)
        return bi_fail(err, BIOINFER_INVALID,
                       "letters: needs match and mismatch, which it applies to");
    if (match && !g->match && !g->mismatch)
        return bi_fail(err, BIOINFER_INVALID, "match and mismatch are both 0");
    if (n_open != n_extend || n_open > 2)
        return bi_fail(err, BIOINFER_INVALID,
                       "gap-open has %d costs and gap-extend %d, expected one or two of both, as "
                       "4,24 and 2,1",
                       n_open, n_extend);
    if ((g->matrix || is_simple(g) || (g->n_gap_open && g->n_gap_extend)) && check_gaps(&c, err))
        return BIOINFER_INVALID;
    return check_ends(g, err);
}

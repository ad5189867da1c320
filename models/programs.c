/* programs.c - graphs of programs over a network of tracks, from the parts that a family writes. */
#include "programs.h"

#include <stdio.h>

struct features {
    bi_value_id of[BI_TRACKS_FEATURES];
};

/* ---- features ---- */

/* Counts the features, the first of the model's, that the heads which are asked for read. */
static int count_features(const struct bi_tracks *t, const struct bi_tracks_shape *shape)
{
    int n = 0;
    for (int i = 0; i < shape->n_asked; i++) {
        const int of = t->heads[shape->asked[i].head].n_features;
        n = of > n ? of : n;
    }
    return n;
}

/* Makes the features of n tokens, the bases of which are an input of each trip. Where the program
 * goes on behind them they have the bits that they have where it is cut. */
static struct features compute(const struct bi_model *m, struct bi_graph *g, const char *input,
                               int64_t n, int n_features, bool goes_on)
{
    const int64_t n_bases = n * m->tracks->token_size;
    struct features f;
    m->def->tracks->features(m, g, bi_input_trips(g, input, BI_I32, BI_AXIS_FIXED, n_bases), f.of);
    for (int i = 0; goes_on && i < n_features; i++)
        bi_graph_keep_wide(g, f.of[i]);
    return f;
}

/* Makes the features of the windows that are computed whole, one window below the other. */
static struct features of_windows(const struct bi_model *m, struct bi_graph *g,
                                  const struct bi_tracks_program *p, int n_features)
{
    struct features f;
    bi_trips_begin(g, p->n_windows);
    f = compute(m, g, "bases", p->n_tokens, n_features, p->to != BI_AT_FEATURES);
    bi_trips_end(g);
    for (int i = 0; i < n_features; i++)
        f.of[i] = bi_all_trips(g, f.of[i]);
    return f;
}

static struct features kept(const struct bi_model *m, struct bi_graph *g,
                            const struct bi_tracks_program *p, int n_features)
{
    const struct bi_feature *of = m->tracks->features;
    struct features f;
    for (int i = 0; i < n_features; i++)
        f.of[i] = bi_input_kept(g, of[i].name, BI_AXIS_FIXED, p->n_tokens * of[i].rows,
                                of[i].width);
    return f;
}

/* Makes the features of n_given windows: those that "from" lists, but where "at" is not -1 those
 * of the cuts. */
static struct features changed(const struct bi_model *m, struct bi_graph *g,
                               const struct bi_tracks_program *p, struct features whole,
                               int64_t n_given)
{
    const int64_t n_cut = p->n_changed * p->n_cut;
    struct features f;
    if (p->from == BI_AT_BASES)
        bi_phase_next(g);
    f = compute(m, g, "cut", n_cut, 1, true);
    whole.of[0] = bi_select_rows(
        g, whole.of[0], bi_input(g, "from", BI_I32, BI_AXIS_FIXED, n_given * m->tracks->n_tokens));
    f.of[0] = bi_put_rows(g, whole.of[0], f.of[0], bi_input(g, "at", BI_I32, BI_AXIS_FIXED, n_cut));
    return f;
}

/* ---- outputs ---- */

/* Gives what lists of rows of x make. */
static void give_lists(struct bi_graph *g, bi_value_id x, const struct bi_tracks_lists *l,
                       int index)
{
    const bool compared = l->kind != BI_LIST_SUM;
    char lists[24], reference[24];
    bi_value_id in, other = BI_NONE;
    if (g->status)
        return;
    snprintf(lists, sizeof lists, "lists%d", index);
    snprintf(reference, sizeof reference, "reference%d", index);
    if (l->kept) {
        x = bi_gather_sum(g, x, bi_input(g, lists, BI_I32, BI_AXIS_FIXED, l->size), 1);
        bi_graph_keep_wide(g, x);
        bi_output_kept(g, x, reference);
        return;
    }
    in = bi_input(g, lists, BI_I32, BI_AXIS_FIXED, 2 + l->n + l->size * (compared ? 2 : 1));
    if (compared)
        other = bi_input_kept(g, reference, BI_AXIS_FIXED, l->others, g->values[x].shape[1]);
    bi_output(g, bi_list_sums(g, x, in, other, l->kind, l->n, l->size), 0, -1, "tracks");
}

/* The rows of x at given sites: one each, none, or the largest of a span. */
static bi_value_id given_rows(struct bi_graph *g, bi_value_id x, int64_t n_sites, int64_t n_span)
{
    bi_value_id rows = bi_input(g, "site_rows", BI_I32, BI_AXIS_FIXED, n_sites);
    bi_value_id spans = bi_input(g, "spans", BI_I32, BI_AXIS_FIXED, n_span);
    bi_value_id at = bi_input(g, "site_spans", BI_I32, BI_AXIS_FIXED, n_sites);
    bi_value_id largest = bi_gather_sum(g, x, spans, 1);
    for (; n_span > 1; n_span /= 2)
        largest = bi_pair_pool(g, largest, BI_NONE);
    return bi_add(g, bi_gather_sum(g, x, rows, 1), bi_gather_sum(g, largest, at, 1));
}

/* Gives the junctions of an output that is asked for, counted from rows x. The sites that are found
 * are returned; BI_NONE: they are given. */
static bi_value_id give_counts(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                               const struct bi_tracks_asked *asked, int64_t n_span)
{
    const struct bi_tracks_def *def = m->def->tracks;
    const int64_t n = BI_TRACKS_SITES * m->tracks->heads[asked->head].side;
    const bi_value_id sites = n_span ? bi_input(g, "sites", BI_I32, BI_AXIS_FIXED, n)
                                     : def->sites(m, g, x, asked);
    x = n_span ? given_rows(g, x, n, n_span) : bi_gather_sum(g, x, sites, 1);
    bi_output(g, def->counts(m, g, x, sites, asked), 0, -1, "tracks");
    return n_span ? BI_NONE : sites;
}

/* Computes all heads that are asked for, of n windows, and gives their values. */
static void give(const struct bi_model *m, struct bi_graph *g, const struct features *f, int64_t n,
                 const struct bi_tracks_shape *shape)
{
    const struct bi_tracks_head *heads = m->tracks->heads;
    struct bi_tracks_trunk of = {n, BI_NONE, shape->asked, shape->n_asked};
    bi_value_id rows[BI_TRACKS_ROWS] = {BI_NONE, BI_NONE, BI_NONE}, sites = BI_NONE;
    if (n > 1) /* the heads of such a family have the same bins */
        of.kept = bi_input(g, "kept", BI_I32, BI_AXIS_FIXED, n * heads[shape->asked->head].n_bins);
    m->def->tracks->trunk(m, g, f->of, &of, rows);
    for (int i = 0; i < shape->n_asked; i++) {
        const struct bi_tracks_asked *asked = &shape->asked[i];
        const struct bi_tracks_head *h = &heads[asked->head];
        bi_value_id x = m->def->tracks->head(m, g, rows, asked);
        if (shape->lists && shape->lists[i].any) {
            give_lists(g, x, &shape->lists[i], i);
        } else if (h->kind == BIOINFER_JUNCTIONS) {
            sites = give_counts(m, g, x, asked, shape->n_span);
        } else {
            if (shape->sums)
                x = bi_bin_sums(g, x, h->n_bins, shape->sums > 1);
            bi_output(g, x, 0, -1, "tracks");
        }
    }
    if (sites != BI_NONE)
        bi_output(g, sites, 0, -1, "sites");
}

/* ---- programs ---- */

void bi_tracks_write(const struct bi_model *m, struct bi_graph *g,
                     const struct bi_tracks_program *p, const struct bi_tracks_shape *shape)
{
    const int n_features = count_features(m->tracks, shape);
    int64_t n = p->n_windows;
    struct features f;
    if (p->from == BI_AT_ROWS) {
        const int64_t width = m->tracks->heads[shape->asked->head].row_width;
        give_counts(m, g, bi_input_kept(g, "rows", BI_AXIS_FIXED, shape->lists->size, width),
                    shape->asked, shape->n_span);
        return;
    }
    f = p->from == BI_AT_FEATURES ? kept(m, g, p, n_features) : of_windows(m, g, p, n_features);
    if (p->n_changed) {
        n = p->n_changed + (p->beside ? n : 0);
        f = changed(m, g, p, f, n);
    }
    if (p->to == BI_AT_FEATURES)
        for (int i = 0; i < n_features; i++)
            bi_output_kept(g, f.of[i], m->tracks->features[i].name);
    else
        give(m, g, &f, n, shape);
}

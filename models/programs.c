/* programs.c - graphs of programs over a network of tracks, from its two stages. */
#include "programs.h"

struct features {
    bi_value_id of[BI_TRACKS_FEATURES];
};

/* Makes the features of n tokens, the bases of which are an input of each trip. Where the program
 * goes on behind them they have the bits that they have where it is cut. */
static struct features compute(const struct bi_model *m, struct bi_graph *g, const char *input,
                               int64_t n, int n_features, bool goes_on)
{
    const int64_t n_bases = n * m->tracks.token_size;
    struct features f;
    m->def->build_features(m, g, bi_input_trips(g, input, BI_I32, BI_AXIS_FIXED, n_bases), f.of);
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
    const struct bi_feature *of = m->tracks.features;
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
        g, whole.of[0], bi_input(g, "from", BI_I32, BI_AXIS_FIXED, n_given * m->tracks.n_tokens));
    f.of[0] = bi_put_rows(g, whole.of[0], f.of[0], bi_input(g, "at", BI_I32, BI_AXIS_FIXED, n_cut));
    return f;
}

void bi_tracks_write(const struct bi_model *m, struct bi_graph *g,
                     const struct bi_tracks_program *p, const struct bi_tracks_shape *shape)
{
    const int n_features = bi_tracks_features(&m->tracks, shape);
    struct bi_tracks_shape given = *shape;
    if (p->from == BI_AT_ROWS) {
        m->def->build_counts(m, g,
                             bi_input_kept(g, "rows", BI_AXIS_FIXED, shape->lists->size,
                                           m->tracks.heads[shape->asked->head].row_width),
                             shape);
        return;
    }
    struct features f;
    f = p->from == BI_AT_FEATURES ? kept(m, g, p, n_features) : of_windows(m, g, p, n_features);
    given.n_windows = p->n_windows;
    if (p->n_changed) {
        given.n_windows = p->n_changed + (p->beside ? p->n_windows : 0);
        f = changed(m, g, p, f, given.n_windows);
    }
    if (p->to == BI_AT_FEATURES)
        for (int i = 0; i < n_features; i++)
            bi_output_kept(g, f.of[i], m->tracks.features[i].name);
    else
        m->def->build_tracks(m, g, f.of, &given);
}

/* programs.c - graphs of programs over a network of tracks, from the parts that a family writes.
 *
 * Sections: tiles, features, outputs, programs. */
#include "programs.h"

#include <stdio.h>

struct features {
    bi_value_id of[BI_TRACKS_FEATURES];
};

/* ---- tiles ---- */

struct bi_tracks_tiles bi_tracks_tiles(const struct bi_tracks *t, int64_t n)
{
    struct bi_tracks_tiles tiles = {.n = 1, .n_tokens = t->n_tokens, .step = t->n_tokens};
    const int64_t step = n > 1 ? (t->n_tokens - 2 * t->halo) / n / 2 * 2 : 0;
    if (t->halo && step > 0 && n <= BI_TRIPS_MAX)
        tiles = (struct bi_tracks_tiles){n, t->n_tokens - (n - 1) * step, step};
    return tiles;
}

void bi_tracks_own(const struct bi_tracks *t, const struct bi_tracks_tiles *tiles, int64_t k,
                   int64_t *first, int64_t *end)
{
    *first = k ? k * tiles->step + t->halo : 0;
    *end = k + 1 < tiles->n ? (k + 1) * tiles->step + t->halo : t->n_tokens;
}

/* In a stage of tiles: the part of x, which has `rows` rows a token, that is a tile's. */
static bi_value_id part_of(struct bi_graph *g, const struct bi_tracks_tiles *tiles, bi_value_id x,
                           int64_t rows)
{
    return bi_trip_rows(g, x, tiles->step * rows, tiles->n_tokens * rows);
}

/* In a stage of tiles: where rows of a feature go in the window. */
static bi_value_id own_rows(const struct bi_model *m, struct bi_graph *g,
                            const struct bi_tracks_tiles *tiles, int feature)
{
    char name[24];
    snprintf(name, sizeof name, "own%d", feature);
    return bi_input_trips(g, name, BI_I32, BI_AXIS_FIXED,
                          tiles->n_tokens * m->tracks->features[feature].rows);
}

/* Rows of a feature of a window, of which tiles make some each. */
static bi_value_id of_window(const struct bi_model *m, struct bi_graph *g, int feature,
                             int64_t width)
{
    return bi_fill(g, BI_F32, BI_AXIS_FIXED,
                   m->tracks->n_tokens * m->tracks->features[feature].rows, width, 0);
}

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

/* The bases of n tokens, an input of each trip. */
static bi_value_id bases_of(const struct bi_model *m, struct bi_graph *g, const char *input,
                            int64_t n)
{
    return bi_input_trips(g, input, BI_I32, BI_AXIS_FIXED, n * m->tracks->token_size);
}

/* Makes the features of bases. Where the program goes on behind them they have the bits that they
 * have where it is cut. */
static struct features compute(const struct bi_model *m, struct bi_graph *g, bi_value_id bases,
                               int n_features, bool goes_on)
{
    struct features f;
    m->def->tracks->features(m, g, bases, f.of);
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
    f = compute(m, g, bases_of(m, g, "bases", p->n_tokens), n_features, p->to != BI_AT_FEATURES);
    bi_trips_end(g);
    for (int i = 0; i < n_features; i++)
        f.of[i] = bi_all_trips(g, f.of[i]);
    return f;
}

/* Makes the features of a window in tiles, but for the last one where tiles of fine rows make it
 * again; *bases: those of the window. */
static struct features of_tiles(const struct bi_model *m, struct bi_graph *g,
                                const struct bi_tracks_program *p, int n_features,
                                bi_value_id *bases)
{
    const struct bi_tracks *t = m->tracks;
    const struct bi_tracks_tiles tiles = bi_tracks_tiles(t, p->n_tiles);
    const bool goes_on = p->to != BI_AT_FEATURES;
    const int n = n_features - (goes_on && n_features == t->n_features);
    struct features f, whole;
    *bases = bases_of(m, g, "bases", t->n_tokens);
    for (int i = 0; i < n_features; i++)
        whole.of[i] = i < n ? of_window(m, g, i, t->features[i].width) : BI_NONE;
    bi_trips_begin(g, tiles.n);
    f = compute(m, g, part_of(g, &tiles, *bases, t->token_size), n_features, goes_on);
    for (int i = 0; i < n; i++)
        whole.of[i] = bi_put_rows(g, whole.of[i], f.of[i], own_rows(m, g, &tiles, i));
    bi_trips_end(g);
    return whole;
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
    f = compute(m, g, bases_of(m, g, "cut", n_cut), 1, true);
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

/* Windows as they come to their trunk. */
struct front {
    struct features f;
    int64_t n, n_tiles; /* windows, or tiles of the one */
    bi_value_id bases;  /* bases of a window in tiles; BI_NONE where all features are there */
};

/* Does a head read what `refine` makes? */
static bool is_fine(const struct bi_model *m, const struct bi_tracks_asked *asked)
{
    return m->def->tracks->refine &&
           m->tracks->heads[asked->head].n_features == m->tracks->n_features;
}

/* Makes the values of heads that are fine in tiles, so that there are never more of the rows which
 * they read than those of a tile; but for rows that junctions are counted from, which are such a
 * head's values. rows: the trunk's. */
static void refine_tiles(const struct bi_model *m, struct bi_graph *g, const struct front *front,
                         const struct bi_tracks_trunk *of, const bi_value_id *rows,
                         bi_value_id *values)
{
    const struct bi_tracks *t = m->tracks;
    const struct bi_tracks_tiles tiles = bi_tracks_tiles(t, front->n_tiles);
    const struct features *f = &front->f;
    const int last = t->n_features - 1;
    bi_value_id own, part[BI_TRACKS_ROWS];
    struct features tile;
    for (int i = 0; i < of->n_asked; i++) {
        const struct bi_tracks_asked *asked = &of->asked[i];
        const struct bi_tracks_head *h = &t->heads[asked->head];
        if (is_fine(m, asked))
            values[i] = of_window(m, g, last,
                                  h->kind == BIOINFER_JUNCTIONS ? h->row_width
                                  : asked->tracks               ? asked->n_tracks
                                                                : h->n_tracks);
    }
    bi_trips_begin(g, tiles.n);
    for (int i = 0; i <= last; i++)
        tile.of[i] = f->of[i] == BI_NONE ? BI_NONE
                                         : part_of(g, &tiles, f->of[i], t->features[i].rows);
    if (tile.of[last] == BI_NONE) {
        tile.of[last] = m->def->tracks->last(m, g, part_of(g, &tiles, front->bases, t->token_size));
        bi_graph_keep_wide(g, tile.of[last]);
    }
    for (int i = 0; i < BI_TRACKS_ROWS; i++)
        part[i] = !g->status && rows[i] != BI_NONE && g->values[rows[i]].shape[0] == t->n_tokens
                      ? part_of(g, &tiles, rows[i], 1)
                      : BI_NONE;
    m->def->tracks->refine(m, g, tile.of, of, part);
    own = own_rows(m, g, &tiles, last);
    for (int i = 0; i < of->n_asked; i++)
        if (is_fine(m, &of->asked[i]))
            values[i] = bi_put_rows(g, values[i], m->def->tracks->head(m, g, part, &of->asked[i]),
                                    own);
    bi_trips_end(g);
}

/* Computes all heads that are asked for, and gives their values. */
static void give(const struct bi_model *m, struct bi_graph *g, const struct front *front,
                 const struct bi_tracks_shape *shape)
{
    const struct bi_tracks_head *heads = m->tracks->heads;
    const struct bi_tracks_def *def = m->def->tracks;
    struct bi_tracks_trunk of = {front->n, BI_NONE, shape->asked, shape->n_asked};
    bi_value_id rows[BI_TRACKS_ROWS] = {BI_NONE, BI_NONE, BI_NONE, BI_NONE}, sites = BI_NONE;
    bi_value_id values[BI_TRACKS_HEADS];
    bool fine = false;
    for (int i = 0; i < shape->n_asked; i++) {
        values[i] = BI_NONE;
        fine |= is_fine(m, &shape->asked[i]);
    }
    if (front->n > 1) /* the heads of such a family have the same bins */
        of.kept = bi_input(g, "kept", BI_I32, BI_AXIS_FIXED,
                           front->n * heads[shape->asked->head].n_bins);
    def->trunk(m, g, front->f.of, &of, rows);
    if (fine && front->n_tiles > 1)
        refine_tiles(m, g, front, &of, rows, values);
    else if (fine)
        def->refine(m, g, front->f.of, &of, rows);
    for (int i = 0; i < shape->n_asked; i++) {
        const struct bi_tracks_asked *asked = &shape->asked[i];
        const struct bi_tracks_head *h = &heads[asked->head];
        bi_value_id x = values[i] == BI_NONE ? def->head(m, g, rows, asked) : values[i];
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
    struct front front = {
        .n = p->n_windows, .n_tiles = bi_tracks_tiles(m->tracks, p->n_tiles).n, .bases = BI_NONE};
    if (p->from == BI_AT_ROWS) {
        const int64_t width = m->tracks->heads[shape->asked->head].row_width;
        give_counts(m, g, bi_input_kept(g, "rows", BI_AXIS_FIXED, shape->lists->size, width),
                    shape->asked, shape->n_span);
        return;
    }
    front.f = p->from == BI_AT_FEATURES ? kept(m, g, p, n_features)
              : front.n_tiles > 1       ? of_tiles(m, g, p, n_features, &front.bases)
                                        : of_windows(m, g, p, n_features);
    if (p->n_changed) {
        front.n = p->n_changed + (p->beside ? front.n : 0);
        front.f = changed(m, g, p, front.f, front.n);
    }
    if (p->to == BI_AT_FEATURES)
        for (int i = 0; i < n_features; i++)
            bi_output_kept(g, front.f.of[i], m->tracks->features[i].name);
    else
        give(m, g, &front, shape);
}

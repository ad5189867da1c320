/* programs.c - graphs of programs over a network of tracks, from the parts that a family writes.
 *
 * Sections: tiles, features, outputs, outputs in tiles, programs. */
#include "programs.h"

#include <stdio.h>

struct features {
    bi_value_id of[BI_TRACKS_FEATURES];
};

/* ---- tiles ---- */

struct bi_tracks_tiles bi_tracks_tiles(const struct bi_tracks *t, int64_t n, bool anew)
{
    struct bi_tracks_tiles tiles = {.n = 1, .n_tokens = t->n_tokens, .step = t->n_tokens};
    const int64_t halo = anew ? t->halo_anew : t->halo;
    const int64_t step = n > 1 ? (t->n_tokens - 2 * halo) / n / 2 * 2 : 0;
    if (halo && step > 0 && n <= BI_TRIPS_MAX)
        tiles = (struct bi_tracks_tiles){n, t->n_tokens - (n - 1) * step, step, halo};
    return tiles;
}

void bi_tracks_own(const struct bi_tracks *t, const struct bi_tracks_tiles *tiles, int64_t k,
                   int64_t *first, int64_t *end)
{
    *first = k ? k * tiles->step + tiles->halo : 0;
    *end = k + 1 < tiles->n ? (k + 1) * tiles->step + tiles->halo : t->n_tokens;
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

static const struct bi_tracks_def *def_of(const struct bi_model *m)
{
    return m->def->def;
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
    def_of(m)->features(m, g, bases, f.of);
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

/* Makes the features of a window in tiles, but for those that tiles of fine rows make again;
 * *bases: those of the window. */
static struct features of_tiles(const struct bi_model *m, struct bi_graph *g,
                                const struct bi_tracks_program *p, struct bi_tracks_tiles tiles,
                                int n_features, bi_value_id *bases)
{
    const struct bi_tracks *t = m->tracks;
    const bool goes_on = p->to != BI_AT_FEATURES;
    const bool again = goes_on && n_features == t->n_features;
    const int n = again && p->anew ? 1 : n_features - again;
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

/* An input or a kept value of output `index`. */
struct name {
    char text[24];
};

static struct name name_of(const char *what, int index)
{
    struct name name;
    snprintf(name.text, sizeof name.text, "%s%d", what, index);
    return name;
}

/* The lists of an output; NULL: all of its rows are used alike. */
static const struct bi_tracks_lists *lists_of(const struct bi_tracks_shape *shape, int index)
{
    return shape->lists && shape->lists[index].any ? &shape->lists[index] : NULL;
}

static bi_value_id lists_input(struct bi_graph *g, const struct bi_tracks_lists *l, int index)
{
    const int32_t n = l->kept ? l->size : 2 + l->n + l->size * (l->kind == BI_LIST_SUM ? 1 : 2);
    return bi_input(g, name_of("lists", index).text, BI_I32, BI_AXIS_FIXED, n);
}

/* The rows that those of lists are compared with; BI_NONE: none are. */
static bi_value_id others_of(struct bi_graph *g, const struct bi_tracks_lists *l, int64_t width,
                             int index)
{
    return l->kind == BI_LIST_SUM ? BI_NONE
                                  : bi_input_kept(g, name_of("reference", index).text,
                                                  BI_AXIS_FIXED, l->others, width);
}

/* Gives what lists of rows of x make. */
static void give_lists(struct bi_graph *g, bi_value_id x, const struct bi_tracks_lists *l,
                       int index)
{
    bi_value_id in;
    if (g->status)
        return;
    in = lists_input(g, l, index);
    if (l->kept) {
        x = bi_gather_sum(g, x, in, 1);
        bi_graph_keep_wide(g, x);
        bi_output_kept(g, x, name_of("reference", index).text);
        return;
    }
    bi_output(g,
              bi_list_sums(g, x, in, others_of(g, l, g->values[x].shape[1], index), l->kind, l->n,
                           l->size),
              0, -1, "tracks");
}

/* Inputs that say where the sites of junctions are which are given. */
struct given {
    bi_value_id sites, rows, spans, in_span;
    int64_t n, n_span;
};

static struct given given_sites(struct bi_graph *g, int64_t n, int64_t n_span)
{
    const bi_value_id sites = bi_input(g, "sites", BI_I32, BI_AXIS_FIXED, n);
    const bi_value_id rows = bi_input(g, "site_rows", BI_I32, BI_AXIS_FIXED, n);
    const bi_value_id spans = bi_input(g, "spans", BI_I32, BI_AXIS_FIXED, n_span);
    const bi_value_id in_span = bi_input(g, "site_spans", BI_I32, BI_AXIS_FIXED, n);
    return (struct given){sites, rows, spans, in_span, n, n_span};
}

/* The rows at given sites: one each, none, or the largest of the span. */
static bi_value_id rows_at(struct bi_graph *g, const struct given *of, bi_value_id rows,
                           bi_value_id spans)
{
    for (int64_t n = of->n_span; n > 1; n /= 2)
        spans = bi_pair_pool(g, spans, BI_NONE);
    return bi_add(g, rows, bi_gather_sum(g, spans, of->in_span, 1));
}

static int64_t n_sites(const struct bi_model *m, const struct bi_tracks_asked *asked)
{
    return BI_TRACKS_SITES * m->tracks->heads[asked->head].side;
}

/* Gives the junctions of an output that is asked for, counted from rows x. The sites that are found
 * are returned; BI_NONE: they are given. */
static bi_value_id give_counts(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                               const struct bi_tracks_asked *asked, int64_t n_span)
{
    const struct bi_tracks_def *def = def_of(m);
    bi_value_id sites, spans;
    if (n_span) {
        const struct given of = given_sites(g, n_sites(m, asked), n_span);
        spans = bi_gather_sum(g, x, of.spans, 1);
        x = rows_at(g, &of, bi_gather_sum(g, x, of.rows, 1), spans);
        bi_output(g, def->counts(m, g, x, of.sites, asked), 0, -1, "tracks");
        return BI_NONE;
    }
    sites = def->sites(m, g, def->classes(m, g, x, asked), asked);
    bi_output(g, def->counts(m, g, bi_gather_sum(g, x, sites, 1), sites, asked), 0, -1, "tracks");
    return sites;
}

/* Gives an output of all rows x of a window; what it returns is give_counts()'. */
static bi_value_id give_rows(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                             const struct bi_tracks_shape *shape, int index)
{
    const struct bi_tracks_asked *asked = &shape->asked[index];
    const struct bi_tracks_head *h = &m->tracks->heads[asked->head];
    const struct bi_tracks_lists *l = lists_of(shape, index);
    if (l)
        give_lists(g, x, l, index);
    else if (h->kind == BIOINFER_JUNCTIONS)
        return give_counts(m, g, x, asked, shape->n_span);
    else
        bi_output(g, shape->sums ? bi_bin_sums(g, x, h->n_bins, shape->sums > 1) : x, 0, -1,
                  "tracks");
    return BI_NONE;
}

/* Windows as they come to their trunk. */
struct front {
    struct features f;
    int64_t n;                    /* windows */
    struct bi_tracks_tiles tiles; /* the one's, where it is cut */
    bi_value_id bases; /* bases of a window in tiles; BI_NONE where all features are there */
};

/* Does a head read what `refine` makes? */
static bool is_fine(const struct bi_model *m, const struct bi_tracks_asked *asked)
{
    return def_of(m)->refine && m->tracks->heads[asked->head].n_features == m->tracks->n_features;
}

/* ---- outputs in tiles ---- */

/* Uses of the rows of an output, of which a tile has some. */
enum use {
    USE_NONE,   /* the head is not fine */
    USE_ALL,    /* the window's are put together */
    USE_LISTED, /* some are kept */
    USE_LISTS,  /* lists are added up */
    USE_BINS,   /* all are added up */
    USE_GIVEN,  /* junctions are counted from those at given sites */
    USE_FOUND   /* junctions are counted from those of the most likely sites */
};

/* An output, and what tiles change of it. */
struct left {
    enum use use;
    bi_value_id value; /* rows, or sums; of sites that are found, the classes of all rows */
    bi_value_id list, others, spans;
    bi_value_id found, found_rows; /* a tile's most likely sites, and their rows */
    struct given given;
};

static bi_value_id zeros(struct bi_graph *g, int64_t rows, int64_t width)
{
    return bi_fill(g, BI_F32, BI_AXIS_FIXED, rows, width, 0);
}

static enum use use_of(const struct bi_model *m, const struct bi_tracks_shape *shape, int index)
{
    const struct bi_tracks_lists *l = lists_of(shape, index);
    if (!is_fine(m, &shape->asked[index]))
        return USE_NONE;
    if (l)
        return l->kept ? USE_LISTED : l->scattered ? USE_ALL : USE_LISTS;
    if (m->tracks->heads[shape->asked[index].head].kind == BIOINFER_JUNCTIONS)
        return shape->n_span ? USE_GIVEN : USE_FOUND;
    return shape->sums ? USE_BINS : USE_ALL;
}

/* Makes what tiles will change, in front of them. */
static struct left begin_output(const struct bi_model *m, struct bi_graph *g,
                                const struct bi_tracks_shape *shape, int index)
{
    const struct bi_tracks_asked *asked = &shape->asked[index];
    const struct bi_tracks_head *h = &m->tracks->heads[asked->head];
    const struct bi_tracks_lists *l = lists_of(shape, index);
    const int64_t width = h->kind == BIOINFER_JUNCTIONS ? h->row_width
                          : asked->tracks               ? asked->n_tracks
                                                        : h->n_tracks;
    struct left left = {.use = use_of(m, shape, index), .value = BI_NONE, .others = BI_NONE};
    if (left.use == USE_LISTED || left.use == USE_LISTS)
        left.list = lists_input(g, l, index);
    if (left.use == USE_LISTS)
        left.others = others_of(g, l, width, index);
    if (left.use == USE_GIVEN) {
        left.given = given_sites(g, n_sites(m, asked), shape->n_span);
        left.spans = zeros(g, shape->n_span, width);
    }
    if (left.use != USE_NONE)
        left.value = left.use == USE_LISTED  ? zeros(g, l->size, width)
                     : left.use == USE_LISTS ? zeros(g, (int64_t)l->n * BI_SUMS_ROWS, width)
                     : left.use == USE_BINS  ? zeros(g, (int64_t)shape->sums * BI_SUMS_ROWS, width)
                     : left.use == USE_GIVEN
                         ? zeros(g, left.given.n, width)
                         : of_window(m, g, m->tracks->n_features - 1,
                                     left.use == USE_FOUND ? h->n_classes : width);
    return left;
}

/* Inputs of a tile that its outputs share; BI_NONE: none has needed it yet. */
struct tile_inputs {
    const struct bi_tracks_tiles *tiles;
    bi_value_id own, tile;
};

static bi_value_id own_of(const struct bi_model *m, struct bi_graph *g, struct tile_inputs *in)
{
    if (in->own == BI_NONE)
        in->own = own_rows(m, g, in->tiles, m->tracks->n_features - 1);
    return in->own;
}

static bi_value_id tile_of(struct bi_graph *g, struct tile_inputs *in)
{
    if (in->tile == BI_NONE)
        in->tile = bi_input_trips(g, "tile", BI_I32, BI_AXIS_FIXED, BI_TILE_WORDS);
    return in->tile;
}

/* Finds the most likely sites among the tile's own rows, and takes the rows of these along. */
static void find_in_tile(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                         const struct bi_tracks_asked *asked, bi_value_id own, struct left *left)
{
    const struct bi_tracks_def *def = def_of(m);
    bi_value_id mine;
    left->value = bi_put_rows(g, left->value, def->classes(m, g, x, asked), own);
    mine = bi_gather_sum(g, left->value, own, 1); /* zeros in a row that is another tile's */
    left->found = def->sites(m, g, mine, asked);
    left->found_rows = bi_gather_sum(g, x, left->found, 1);
}

/* Uses rows x of a tile, within its stage. */
static void use_tile(const struct bi_model *m, struct bi_graph *g, bi_value_id x,
                     const struct bi_tracks_shape *shape, int index, struct tile_inputs *in,
                     struct left *left)
{
    const struct bi_tracks_lists *l = lists_of(shape, index);
    if (left->use == USE_ALL)
        left->value = bi_put_rows(g, left->value, x, own_of(m, g, in));
    if (left->use == USE_FOUND)
        find_in_tile(m, g, x, &shape->asked[index], own_of(m, g, in), left);
    if (left->use == USE_LISTED)
        left->value = bi_put_listed(g, left->value, x, tile_of(g, in), left->list);
    if (left->use == USE_BINS)
        left->value = bi_bin_add(g, left->value, x, tile_of(g, in));
    if (left->use == USE_GIVEN) {
        left->value = bi_put_listed(g, left->value, x, tile_of(g, in), left->given.rows);
        left->spans = bi_put_listed(g, left->spans, x, tile_of(g, in), left->given.spans);
    }
    if (left->use == USE_LISTS) {
        const bi_value_id cuts = bi_input_trips(g, name_of("cuts", index).text, BI_I32,
                                                BI_AXIS_FIXED, 2 * (int64_t)l->n);
        left->value = bi_list_add(
            g, (bi_value_id[]){left->value, x, tile_of(g, in), left->list, cuts, left->others},
            l->kind, l->n, l->size);
    }
}

/* The features of a tile, within its stage: parts of the window's, or made of its bases. */
static struct features of_tile(const struct bi_model *m, struct bi_graph *g,
                               const struct front *front)
{
    const struct bi_tracks *t = m->tracks;
    const int last = t->n_features - 1;
    struct features f = front->f;
    bi_value_id bases = BI_NONE;
    if (f.of[last] == BI_NONE)
        bases = part_of(g, &front->tiles, front->bases, t->token_size);
    if (f.of[last - 1] == BI_NONE)
        return compute(m, g, bases, t->n_features, true);
    for (int i = 0; i <= last; i++)
        if (f.of[i] != BI_NONE)
            f.of[i] = part_of(g, &front->tiles, f.of[i], t->features[i].rows);
    if (f.of[last] == BI_NONE) {
        f.of[last] = def_of(m)->last(m, g, bases);
        bi_graph_keep_wide(g, f.of[last]);
    }
    return f;
}

/* Makes the rows that heads which are fine read in a tile, within its stage, and uses them, so that
 * there are never more of them than those of a tile. rows: the trunk's. */
static void refine_tile(const struct bi_model *m, struct bi_graph *g, const struct front *front,
                        const struct bi_tracks_trunk *of, const struct bi_tracks_shape *shape,
                        const bi_value_id *rows, struct left *left)
{
    const struct bi_tracks *t = m->tracks;
    const struct features tile = of_tile(m, g, front);
    struct tile_inputs in = {&front->tiles, BI_NONE, BI_NONE};
    bi_value_id part[BI_TRACKS_ROWS];
    for (int i = 0; i < BI_TRACKS_ROWS; i++)
        part[i] = !g->status && rows[i] != BI_NONE && g->values[rows[i]].shape[0] == t->n_tokens
                      ? part_of(g, &front->tiles, rows[i], 1)
                      : BI_NONE;
    def_of(m)->refine(m, g, tile.of, of, part);
    for (int i = 0; i < of->n_asked; i++)
        if (left[i].use)
            use_tile(m, g, def_of(m)->head(m, g, part, &of->asked[i]), shape, i, &in, &left[i]);
}

/* Gives the first rows of a value that is changed in place. */
static void give_first(struct bi_graph *g, bi_value_id x, int64_t n)
{
    bi_output(g, bi_scale(g, bi_windows(g, x, 0, n, 1), 1), 0, -1, "tracks");
}

/* Gives an output, behind all tiles; what it returns is give_counts()'. */
static bi_value_id give_left(const struct bi_model *m, struct bi_graph *g,
                             const struct bi_tracks_shape *shape, int index,
                             const struct bi_tracks_tiles *tiles, const struct left *left)
{
    const struct bi_tracks *t = m->tracks;
    const struct bi_tracks_def *def = def_of(m);
    const struct bi_tracks_asked *asked = &shape->asked[index];
    bi_value_id x = left->value, sites;
    switch (left->use) {
    case USE_LISTED:
        bi_output_kept(g, x, name_of("reference", index).text);
        return BI_NONE;
    case USE_LISTS:
        give_first(g, x, 2 * (int64_t)shape->lists[index].n);
        return BI_NONE;
    case USE_BINS:
        give_first(g, x, 2 * (int64_t)shape->sums);
        return BI_NONE;
    case USE_GIVEN:
        x = rows_at(g, &left->given, x, left->spans);
        bi_output(g, def->counts(m, g, x, left->given.sites, asked), 0, -1, "tracks");
        return BI_NONE;
    case USE_FOUND:
        sites = def->sites(m, g, x, asked);
        x = bi_gather_sum(g, bi_all_trips(g, left->found_rows),
                          def->find(m, g, bi_all_trips(g, left->found), sites,
                                    tiles->step * t->features[t->n_features - 1].rows),
                          1);
        bi_output(g, def->counts(m, g, x, sites, asked), 0, -1, "tracks");
        return sites;
    default:
        return give_rows(m, g, x, shape, index);
    }
}

/* Computes all heads that are asked for, and gives their values. */
static void give(const struct bi_model *m, struct bi_graph *g, const struct front *front,
                 const struct bi_tracks_shape *shape)
{
    const struct bi_tracks_def *def = def_of(m);
    const bool tiled = front->tiles.n > 1;
    struct bi_tracks_trunk of = {front->n, BI_NONE, shape->asked, shape->n_asked};
    bi_value_id rows[BI_TRACKS_ROWS] = {BI_NONE, BI_NONE, BI_NONE, BI_NONE}, sites = BI_NONE;
    struct left left[BI_TRACKS_HEADS] = {{USE_NONE}};
    bool fine = false;
    for (int i = 0; i < shape->n_asked; i++)
        fine |= is_fine(m, &shape->asked[i]);
    if (front->n > 1) /* the heads of such a family have the same bins */
        of.kept = bi_input(g, "kept", BI_I32, BI_AXIS_FIXED,
                           front->n * m->tracks->heads[shape->asked->head].n_bins);
    def->trunk(m, g, front->f.of, &of, rows);
    for (int i = 0; fine && tiled && i < of.n_asked; i++)
        left[i] = begin_output(m, g, shape, i);
    if (fine && tiled) {
        bi_trips_begin(g, front->tiles.n);
        refine_tile(m, g, front, &of, shape, rows, left);
        bi_trips_end(g);
    } else if (fine) {
        def->refine(m, g, front->f.of, &of, rows);
    }
    for (int i = 0; i < shape->n_asked; i++) {
        const bi_value_id found = left[i].use
                                      ? give_left(m, g, shape, i, &front->tiles, &left[i])
                                      : give_rows(m, g, def->head(m, g, rows, &shape->asked[i]),
                                                  shape, i);
        sites = found == BI_NONE ? sites : found;
    }
    if (sites != BI_NONE)
        bi_output(g, sites, 0, -1, "sites");
}

/* ---- programs ---- */

void bi_tracks_write(const struct bi_model *m, struct bi_graph *g,
                     const struct bi_tracks_program *p, const struct bi_tracks_shape *shape)
{
    const int n_features = count_features(m->tracks, shape);
    struct front front = {.n = p->n_windows,
                          .tiles = bi_tracks_tiles(m->tracks, p->n_tiles, p->anew),
                          .bases = BI_NONE};
    if (p->from == BI_AT_ROWS) {
        const int64_t width = m->tracks->heads[shape->asked->head].row_width;
        give_counts(m, g, bi_input_kept(g, "rows", BI_AXIS_FIXED, shape->lists->size, width),
                    shape->asked, shape->n_span);
        return;
    }
    front.f = p->from == BI_AT_FEATURES ? kept(m, g, p, n_features)
              : front.tiles.n > 1       ? of_tiles(m, g, p, front.tiles, n_features, &front.bases)
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

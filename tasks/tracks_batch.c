/* tracks_batch.c - views of windows as items of batches: programs, inputs, values.
 *
 * What an item takes and gives follows from the part of the network that it runs. Several of one
 * kind make a program: products of many rows, weights read once. Each row is what it would be
 * alone, to the bit; neighbours in the input are edges like those of any cut. A program takes 1, 2,
 * 4 ... of them; the last one is repeated where there are fewer.
 *
 * Sections: items, graphs, inputs, values. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../base/team.h"
#include "tracks.h"

enum { MANY_VALUES = 1 << 18 }; /* several threads bring so many in */

const struct bi_tracks_part bi_whole_window = {BI_AT_BASES, BI_AT_TRACKS, true, false};

/* ---- items ---- */

static const struct bi_tracks_work *work_of(const struct bi_item *item)
{
    return &((const struct bi_window_unit *)item->unit)->work[item->number];
}

static const struct bi_window_unit *unit_of(const struct bi_item *item)
{
    return (const struct bi_window_unit *)item->unit;
}

static struct bi_features *kept_of(const struct bi_item *item)
{
    return &((struct bi_window_unit *)item->unit)->kept[work_of(item)->view];
}

/* The features that an item which ends there gives. */
static struct bi_features *features_of(const struct bi_item *item)
{
    struct bi_tracks_work *work = &((struct bi_window_unit *)item->unit)->work[item->number];
    return work->change < 0 ? kept_of(item) : &work->patch;
}

/* The number of items that has a plan: n, filled up. */
static int64_t filled_up(int64_t n)
{
    int64_t all = 1;
    while (all < n)
        all *= 2;
    return all;
}

/* Does the device compute other tracks for this item than those of the first strand? */
static bool other_tracks(const struct bi_tracks_task *s, const struct bi_tracks_work *work)
{
    bool other = false;
    for (int i = 0; i < s->n_outputs; i++)
        other |= s->of[i].other_pairs && !s->of[i].all_tracks;
    return other && work->part.to == BI_AT_TRACKS && bi_view_reversed(s, work->view);
}

/* Tokens that an item's convolutions compute, or the tokens of a window where it has none. */
static int64_t tokens_of(const struct bi_tracks_task *s, const struct bi_tracks_work *work)
{
    const struct bi_tracks_part *p = &work->part;
    return p->from == BI_AT_ROWS                   ? 1
           : p->changed || p->to == BI_AT_FEATURES ? work->cut.n
                                                   : s->t->n_tokens;
}

void bi_tracks_item(const struct bi_tracks_task *s, struct bi_window_unit *w, int32_t number,
                    struct bi_tracks_work work)
{
    const struct bi_tracks_part *p = &work.part;
    const bool joins = p->changed && !p->whole; /* others that differ from the same window */
    const int32_t n = (int32_t)tokens_of(s, &work);
    w->work[number] = work;
    w->unit.items[number] = (struct bi_item){
        .unit = &w->unit,
        .number = number,
        .program = (int32_t)p->from | (int32_t)p->to << 2 | p->whole << 4 | p->changed << 5 |
                   other_tracks(s, &work) << 6,
        .part = joins ? &w->kept[work.view] : NULL,
        .weight = n,
        /* n_seqs is the load: as many changed windows run together as take() allows */
        .size = {.n_tokens = n, .n_seqs = joins ? 0 : 1, .longest = n}};
}

/* How many items of a part a batch takes at most; NULL: one. */
static int *most_of(struct bi_tracks_task *s, const struct bi_tracks_part *p)
{
    return p->changed              ? p->whole ? &s->most_pairs : &s->most_changed
           : bi_is_whole_window(p) ? &s->most
                                   : NULL;
}

size_t bi_tracks_take(const struct bioinfer_task *t, struct bi_item *const *items, size_t n)
{
    const struct bi_tracks_part *p = &work_of(items[0])->part;
    const int *most = most_of((struct bi_tracks_task *)(uintptr_t)t, p);
    size_t k = 1;
    if (unit_of(items[0])->given.at)
        return 1;
    while (most && k < n && k < (size_t)*most && items[k]->part == items[0]->part &&
           !unit_of(items[k])->given.at)
        k++;
    if (p->from == BI_AT_BASES && 3 * (filled_up((int64_t)k) - (int64_t)k) > (int64_t)k)
        k = (size_t)filled_up((int64_t)k) / 2; /* too much to fill up */
    return k;
}

enum { NOT_TILED = -1 };

/* The place in n_tiles of programs with such work, which are of a whole window, or NOT_TILED. */
static int tiled_as(const struct bi_tracks_work *work)
{
    const struct bi_tracks_part *p = &work->part;
    if (bi_is_whole_window(p))
        return BI_TILED_WINDOW;
    if (p->changed || (p->to == BI_AT_FEATURES && work->change >= 0))
        return NOT_TILED;
    return p->to == BI_AT_FEATURES     ? BI_TILED_FEATURES
           : p->from == BI_AT_FEATURES ? BI_TILED_REST
                                       : NOT_TILED;
}

/* Do tiles of such work make features anew? */
static bool is_anew(const struct bi_tracks_task *s, const struct bi_tracks_work *work)
{
    return s->anew && tiled_as(work) == BI_TILED_WINDOW;
}

/* The tiles of a window with such work. */
static struct bi_tracks_tiles tiles_of(const struct bi_tracks_task *s,
                                       const struct bi_tracks_work *work)
{
    const int as = tiled_as(work);
    return bi_tracks_tiles(s->t, as == NOT_TILED ? 1 : s->n_tiles[as], is_anew(s, work));
}

/* Twice the tiles of such work, where that makes them smaller, or the first ones that make features
 * anew; else 0. */
static int more_tiles(const struct bi_tracks_task *s, const struct bi_tracks_work *work, bool *anew)
{
    const struct bi_tracks_tiles now = tiles_of(s, work);
    const struct bi_tracks_tiles more = bi_tracks_tiles(s->t, 2 * now.n, is_anew(s, work));
    *anew = is_anew(s, work);
    if (tiled_as(work) == NOT_TILED || (work->part.from == BI_AT_FEATURES && s->n_features == 1))
        return 0;
    if (more.n > 1 && more.n_tokens < now.n_tokens)
        return (int)more.n;
    if (*anew || tiled_as(work) != BI_TILED_WINDOW || s->n_features < s->t->n_features)
        return 0;
    *anew = true;
    return bi_tracks_tiles(s->t, 2, true).n > 1 ? 2 : 0;
}

/* Is such work to end where memory does not hold it beside kept values, as other programs do the
 * same in less? That is so where these lie in host memory anyway: it would be moved in vain. */
static bool kept_stay(const struct bi_tracks_task *s, const struct bi_tracks_work *work)
{
    bool anew;
    return s->t->halo && s->task.model->caps.host &&
           (more_tiles(s, work, &anew) || !bi_is_whole_window(&work->part)) &&
           work->part.from != BI_AT_ROWS;
}

/* Takes tiles of such work that more_tiles() knows. */
static bool take_more_tiles(struct bi_tracks_task *s, const struct bi_tracks_work *work)
{
    bool anew;
    const int more = more_tiles(s, work, &anew);
    if (!more)
        return false;
    s->n_tiles[tiled_as(work)] = more;
    s->anew |= anew;
    bi_log(s->task.env, BIOINFER_LOG_INFO,
           "a window takes more memory than there is: %d tiles of it%s", more,
           anew ? ", and the encoder runs twice" : "");
    return true;
}

/* Makes spare item k, 0 or 1, of a unit, which may have been another one. */
static void take_spare(struct bi_tracks_task *s, struct bi_window_unit *w, int k,
                       struct bi_tracks_work work)
{
    const int32_t number = (int32_t)w->n_work - 2 + k;
    bi_kept_free(s->task.exec, &w->work[number].patch.kept);
    bi_tracks_item(s, w, number, work);
    w->instead[k] = &w->unit.items[number];
}

size_t bi_tracks_too_large(struct bioinfer_task *t, const struct bi_item *item, size_t n,
                           struct bi_item ***instead)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)t;
    struct bi_window_unit *w = (struct bi_window_unit *)item->unit;
    const struct bi_tracks_work work = *work_of(item);
    const struct bi_tracks_part *p = &work.part;
    const bool pair = p->whole && p->changed;
    const int fewer = (int)filled_up((int64_t)n) / 2;
    /* the item itself may be a spare one, which is in use as long as it is looked at */
    const int k = item->number == (int32_t)w->n_work - 2 || pair;
    int *most = most_of(s, p);
    if (most && (n > 1 || pair) && fewer < *most)
        *most = fewer;
    if (n == 1 && take_more_tiles(s, &work)) {
        w->work[item->number].patch.kept = NULL; /* it goes over to the other one */
        take_spare(s, w, k, work);
        *instead = &w->instead[k];
        return 1;
    }
    if (n == 1 && bi_is_whole_window(p) && tiles_of(s, &work).n > 1)
        bi_log(s->task.env, BIOINFER_LOG_WARNING,
               "a window takes more memory than there is in %d tiles, too, and more are no smaller",
               (int)tiles_of(s, &work).n);
    if (n > 1 || p->from == BI_AT_ROWS || bi_is_whole_window(p))
        return 0;
    if (p->to == BI_AT_FEATURES) /* nobody will read them */
        bi_kept_free(s->task.exec, &features_of(item)->kept);
    if (pair)
        take_spare(
            s, w, 0,
            (struct bi_tracks_work){.part = bi_whole_window, .change = -1, .view = work.view});
    take_spare(
        s, w, k,
        (struct bi_tracks_work){.part = bi_whole_window, .change = work.change, .view = work.view});
    *instead = &w->instead[pair ? 0 : k];
    return pair ? 2 : 1;
}

/* ---- graphs ---- */

static int build_graph(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const struct bi_tracks_task *s = user;
    const struct bi_tracks_graph *of = shape;
    struct bi_tracks_shape written = of->shape;
    (void)err;
    written.lists = s->building;
    g->n_tokens = g->longest = of->n_tokens;
    g->n_seqs = 1;
    bi_tracks_write(&s->task.model->base, g, &of->program, &written);
    return 0;
}

/* Takes room for the features that an item is to give. */
static int take_room(struct bi_tracks_task *s, const struct bi_item *item,
                     struct bioinfer_error *err)
{
    const struct bi_tracks_work *work = work_of(item);
    const int64_t n_tokens = work->change < 0 ? s->t->n_tokens : work->cut.n_tokens;
    struct bi_features *f = features_of(item);
    return f->kept ? 0
                   : bi_kept_new(&f->kept, s->task.exec, bi_tracks_features_size(s, n_tokens), err);
}

/* The program for n items with such work. */
static struct bi_tracks_program program_of(const struct bi_tracks_task *s,
                                           const struct bi_tracks_work *work, int64_t n)
{
    const struct bi_tracks_part *p = &work->part;
    return (struct bi_tracks_program){.from = p->from,
                                      .to = p->to,
                                      .n_windows = p->from == BI_AT_FEATURES ? 1 : n,
                                      .n_tokens = p->to == BI_AT_FEATURES ? work->cut.n
                                                                          : s->t->n_tokens,
                                      .n_changed = p->changed ? n : 0,
                                      .n_cut = p->changed ? work->cut.n : 0,
                                      .beside = p->whole,
                                      .n_tiles = tiles_of(s, work).n,
                                      .anew = is_anew(s, work)};
}

int bi_tracks_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                     struct bioinfer_error *err)
{
    const struct bi_tracks_work window = {.part = bi_whole_window, .change = -1};
    struct bi_tracks_task *s = (struct bi_tracks_task *)t;
    const struct bi_item *item = b->n_items ? b->items[0] : NULL;
    struct bi_window_unit *w = item ? (struct bi_window_unit *)item->unit : NULL;
    const struct bi_tracks_work *work = item ? work_of(item) : &window;
    const struct bi_window_lists *l = w ? w->lists : NULL;
    const int64_t n = filled_up((int64_t)b->n_items);
    const bool counts = work->part.from == BI_AT_ROWS, changed = work->change >= 0;
    const int64_t n_span = work->of_window ? 1
                           : counts        ? l->sites[work->change].n_span
                           : w             ? w->given.n_span
                                           : 0;
    const uint64_t generation = l ? l->generation : s->lists_generation;
    int st = 0;
    if (item && work->part.to == BI_AT_FEATURES)
        st = take_room(s, item, err);
    else if (item && !counts)
        st = bi_lists_take_room(s, w, work->change, err);
    if (st)
        return st;
    s->building = l ? l->shape[changed] : s->lists[changed];
    s->graph = (struct bi_tracks_graph){
        .n_tokens = n * tokens_of(s, work),
        .lists = s->building ? 1 + 2 * generation + (changed && !work->of_window) : 0,
        .program = program_of(s, work, n),
        .shape = {.asked = s->asked[other_tracks(s, work)],
                  .n_asked = s->n_outputs,
                  .sums = s->sums,
                  .n_span = n_span}};
    if (counts) {
        const int64_t output = s->junctions - s->of;
        s->graph.shape.asked += output;
        s->graph.shape.n_asked = 1;
        s->building = l->shape[!work->of_window] + output;
    }
    /* the outputs are those of the task */
    *recipe = (struct bi_recipe){.build = build_graph,
                                 .user = s,
                                 .shape = &s->graph,
                                 .shape_size = sizeof s->graph,
                                 .wide = b->wide,
                                 .kept_stay = item && kept_stay(s, work),
                                 .no_rules = s->no_rules};
    return 0;
}

/* ---- inputs ---- */

/* Fills "from", the token that each token of n windows starts with: that of the first `some`
 * windows, again and again. */
static void fill_from(const struct bi_batch_place *place, int64_t n_tokens, int64_t n, int64_t some)
{
    int32_t *from = bi_batch_input(place, "from");
    for (int64_t i = 0; from && i < n * n_tokens; i++)
        from[i] = (int32_t)(i % (some * n_tokens));
}

/* Fills "kept", the tokens of n windows that are given. */
static void fill_kept(const struct bi_tracks_task *s, const struct bi_batch_place *place, int64_t n)
{
    const struct bi_tracks_head *h = s->of[0].h; /* where programs have `kept`, all are alike */
    int32_t *kept = bi_batch_input(place, "kept");
    for (int64_t i = 0; kept && i < n * h->n_bins; i++)
        kept[i] = (int32_t)(i / h->n_bins * s->t->n_tokens + h->first_bin + i % h->n_bins);
}

/* Fills "own<feature>" and "tile" of the tiles of a window. */
static void fill_own(const struct bi_tracks_task *s, const struct bi_item *item,
                     const struct bi_batch_place *place)
{
    const struct bi_tracks_tiles tiles = tiles_of(s, work_of(item));
    const int64_t last_rows = s->t->features[s->t->n_features - 1].rows;
    for (int64_t k = 0; tiles.n > 1 && k < tiles.n; k++) {
        int32_t *tile = bi_batch_input_trip(place, "tile", k);
        int64_t first, end;
        bi_tracks_own(s->t, &tiles, k, &first, &end);
        if (!tile)
            break;
        tile[BI_TILE_BASE] = (int32_t)(k * tiles.step * last_rows);
        tile[BI_TILE_FIRST] = (int32_t)(first * last_rows);
        tile[BI_TILE_END] = (int32_t)(end * last_rows);
    }
    for (int i = 0; tiles.n > 1 && i < s->n_features; i++) {
        const int64_t rows = s->t->features[i].rows;
        char name[24];
        snprintf(name, sizeof name, "own%d", i);
        for (int64_t k = 0; k < tiles.n; k++) {
            int32_t *own = bi_batch_input_trip(place, name, k);
            int64_t first, end;
            bi_tracks_own(s->t, &tiles, k, &first, &end);
            for (int64_t r = 0; own && r < tiles.n_tokens * rows; r++) {
                const int64_t at = k * tiles.step * rows + r;
                own[r] = at >= first * rows && at < end * rows ? (int32_t)at : -1;
            }
        }
    }
}

/* Gives the tokens that a cut computes their row in window `at` of a program; -1: those that do not
 * change. */
static void fill_changes(const struct bi_tracks_task *s, const struct bi_cut *c, int64_t at,
                         int32_t *row)
{
    for (int64_t k = 0; k < c->n; k++) {
        const int64_t token = c->first + k;
        const bool changes = token >= c->token && token < c->token + c->n_tokens;
        row[k] = changes ? (int32_t)(at * s->t->n_tokens + token) : -1;
    }
}

/* Writes bases [from, to) of the item's view, of its change where `changed`. */
static void fill_bases(const struct bi_tracks_task *s, const struct bi_item *item, bool changed,
                       int64_t from, int64_t to, int32_t *bases)
{
    const struct bi_window_unit *w = (const struct bi_window_unit *)item->unit;
    const struct bi_tracks_work *work = work_of(item);
    bi_view_bases(s, w->sequence, changed && work->change >= 0 ? &w->changes[work->change] : NULL,
                  work->view, from, to, bases);
}

/* Writes the bases of whole windows, those of an item in its trip, or of the cut of one; of pairs,
 * those of the first of each. */
static void fill_windows(const struct bi_tracks_task *s, const struct bi_item *item,
                         const struct bi_batch_place *place)
{
    const struct bi_tracks_part *how = &work_of(item)->part;
    const struct bi_cut *c = &work_of(item)->cut;
    const bool cut = how->to == BI_AT_FEATURES;
    const int64_t token = s->t->token_size, first = cut ? c->first * token : 0;
    const int64_t n = cut ? c->n * token : s->t->window;
    int32_t *bases = bi_batch_input_trip(place, "bases", place->index);
    fill_bases(s, item, !how->changed, first, first + n, bases);
    if (place->index + 1 == place->n_items)
        for (int64_t i = place->n_items; i < filled_up(place->n_items); i++)
            memcpy(bi_batch_input_trip(place, "bases", i), bases, (size_t)n * sizeof *bases);
}

/* Writes the bases of the cuts of changed windows, end to end, and where their tokens go: behind
 * those of the windows that are given beside them. */
static void fill_cuts(const struct bi_tracks_task *s, const struct bi_item *item,
                      const struct bi_batch_place *place)
{
    const struct bi_cut *c = &work_of(item)->cut;
    const int64_t token = s->t->token_size, size = c->n * token;
    const int64_t at = place->index, all = filled_up(place->n_items);
    const int64_t first = work_of(item)->part.whole ? all : 0;
    int32_t *bases = bi_batch_input(place, "cut"), *row = bi_batch_input(place, "at");
    fill_bases(s, item, true, c->first * token, (c->first + c->n) * token, bases + at * size);
    fill_changes(s, c, first + at, row + at * c->n);
    for (int64_t i = place->n_items; at + 1 == place->n_items && i < all; i++) {
        memcpy(bases + i * size, bases + at * size, (size_t)size * sizeof *bases);
        fill_changes(s, c, first + i, row + i * c->n);
    }
}

/* Fills what all batches of a plan have, unless the slot has it. */
static void fill_held(struct bi_tracks_task *s, const struct bi_item *item,
                      const struct bi_batch_place *place)
{
    const struct bi_tracks_part *how = &work_of(item)->part;
    struct bi_tracks_held *h = &s->held[place->slot->index];
    const int64_t all = filled_up(place->n_items);
    const int64_t given = how->whole && how->changed ? 2 * all : all;
    if (memcmp(&h->key, &place->slot->plan->key, sizeof h->key))
        *h = (struct bi_tracks_held){.key = place->slot->plan->key};
    if (h->generation == place->slot->generation)
        return;
    h->generation = place->slot->generation;
    fill_from(place, s->t->n_tokens, given, how->whole ? all : 1);
    fill_kept(s, place, given);
    fill_own(s, item, place);
}

/* Takes the features of a window, or of a change: the window's but for those of a few tokens. */
static void take_features(const struct bi_tracks_task *s, const struct bi_item *item,
                          const struct bi_batch_place *place)
{
    const struct bi_tracks_work *work = work_of(item);
    struct bi_kept *whole = kept_of(item)->kept, *patch = work->patch.kept;
    uint64_t at = 0, at_patch = 0;
    for (int i = 0; i < s->n_features; i++) {
        const char *name = s->t->features[i].name;
        const uint64_t token = (uint64_t)bi_tracks_feature_width(s, i) * sizeof(float);
        const uint64_t size = (uint64_t)s->t->n_tokens * token;
        const uint64_t n_patch = (uint64_t)work->cut.n_tokens * token;
        bi_kept_take(place->slot, name, 0, whole, at, size);
        if (patch)
            bi_kept_take(place->slot, name, (uint64_t)work->cut.token * token, patch, at_patch,
                         n_patch);
        at += size;
        at_patch += n_patch;
    }
}

/* Gives the features of a window, or of the tokens that change, to their kept value. */
static void give_features(const struct bi_tracks_task *s, const struct bi_item *item,
                          const struct bi_batch_place *place)
{
    const struct bi_tracks_work *work = work_of(item);
    const struct bi_cut *c = &work->cut;
    const bool changed = work->change >= 0;
    const int64_t skip = changed ? c->token - c->first : 0;
    const int64_t count = changed ? c->n_tokens : s->t->n_tokens;
    uint64_t at = 0;
    for (int i = 0; i < s->n_features; i++) {
        const uint64_t token = (uint64_t)bi_tracks_feature_width(s, i) * sizeof(float);
        bi_kept_give(place->slot, &place->slot->plan->graph->outputs[i], (uint64_t)skip * token,
                     features_of(item)->kept, at, (uint64_t)count * token);
        at += (uint64_t)count * token;
    }
}

void bi_tracks_fill(const struct bioinfer_task *t, const struct bi_item *item,
                    const struct bi_batch_place *place)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)(uintptr_t)t;
    const struct bi_tracks_part *how = &work_of(item)->part;
    const struct bi_tracks_tiles tiles = tiles_of(s, work_of(item));
    const struct bi_window_unit *w = unit_of(item);
    if (how->from == BI_AT_ROWS) {
        bi_counts_fill(s, w, work_of(item)->change, work_of(item)->of_window, place);
        return;
    }
    if (!place->index)
        fill_held(s, item, place);
    if (how->from == BI_AT_BASES)
        fill_windows(s, item, place);
    else if (!place->index)
        take_features(s, item, place);
    if (how->changed)
        fill_cuts(s, item, place);
    if (how->to == BI_AT_FEATURES)
        give_features(s, item, place);
    else if (w->given.at)
        bi_sites_fill(s, &w->given, false, NULL, place);
    else if (w->lists)
        bi_lists_fill(s, w, work_of(item)->change, &tiles, place);
}

/* ---- values ---- */

/* Splits a sum: high + low have more digits than one number. */
static void put_sum(float *high, float *low, double sum)
{
    *high = (float)sum;
    *low = (float)(sum - (double)*high);
}

/* Values of a bin, of tracks `which` or, where it is NULL, in order; the first of several views, or
 * the only one, is not added to what is there. False when one is not finite. */
static bool take_bin(float *to, const float *from, const int32_t *which, int n, bool first)
{
    const int32_t infinity = 0x7f800000;
    int32_t largest = 0; /* the largest bits without signs */
    for (int i = 0; which && i < n; i++)
        to[i] = from[which[i]] + (first ? 0 : to[i]);
    for (int i = 0; !which && !first && i < n; i++)
        to[i] += from[i];
    if (!which && first)
        memcpy(to, from, (size_t)n * sizeof *to);
    for (int i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &to[i], sizeof bits);
        bits &= INT32_MAX;
        largest = bits > largest ? bits : largest;
    }
    return largest < infinity;
}

/* Rows of an output's values to be added. */
struct rows {
    const struct bi_tracks_task *s;
    const struct bi_tracks_output *of;
    const float *from;
    int64_t ld, n;
    const int32_t *which; /* NULL = in order */
    bool reversed, alone; /* alone: nothing is there yet, and nothing follows */
    float *values;
    _Atomic bool infinite; /* a value is not finite */
};

/* Adds sums over bins of a view. False: one is not finite. */
static bool add_sums(const struct rows *r)
{
    const int n = r->of->n_tracks;
    const float *from = r->from;
    float *values = r->values;
    bool finite = true;
    for (int kind = 0; kind < r->s->sums; kind++, from += 2 * r->ld, values += 2 * n)
        for (int i = 0; i < n; i++) {
            const int of = r->which ? r->which[i] : i;
            const double v = (double)from[of] + (double)from[r->ld + of];
            float *high = values + i, *low = high + n;
            finite &= isfinite(v) != 0;
            put_sum(high, low, (double)*high + (double)*low + v);
        }
    return finite;
}

static void take_bins(void *user, int thread, int64_t first, int64_t end)
{
    struct rows *r = user;
    const struct bi_tracks_head *h = r->of->h;
    const int n = r->of->n_tracks;
    (void)thread;
    for (int64_t b = first; b < end; b++) {
        const int64_t from = r->reversed ? r->n - 1 - b + h->reverse_shift : b;
        float *to = r->values + b * n;
        if (from < r->n && !take_bin(to, r->from + from * r->ld, r->which, n, r->alone))
            r->infinite = true;
        if (from >= r->n && r->alone)
            memset(to, 0, (size_t)n * sizeof *to);
    }
}

/* Adds a view's values to those there; false when one is not finite. */
static bool add_rows(struct rows *r)
{
    const struct bi_tracks_task *s = r->s;
    const int64_t n = r->n;
    const int n_threads = n * r->of->n_tracks < MANY_VALUES ? 1 : s->task.model->ctx->n_threads;
    if (s->sums)
        return add_sums(r);
    if (!n)
        return true;
    bi_team_for(s->task.env, n_threads, n, (n + n_threads - 1) / n_threads, take_bins, r);
    return !r->infinite;
}

/* Where a window's values are, or those of a change of the piece at hand. */
struct target {
    float *values;
    int *n_added, *status;
};

static void clear_values(const struct bi_tracks_task *s, int64_t n, float *values)
{
    if (s->n_views > 1 || s->sums)
        memset(values, 0, (size_t)(n * s->n_values) * sizeof *values);
}

static int find_target(struct bi_tracks_task *s, struct bi_window_unit *w, int32_t change,
                       struct target *to, struct bioinfer_error *err)
{
    const int64_t size = bi_n_values(s, w, change >= 0), at = change - (int64_t)w->first;
    float **values = change < 0 ? &w->values : &w->changed;
    const size_t n = change < 0 ? 1 : w->n;
    if (!*values) {
        *values = n == 1 && !w->lists
                      ? bi_pool_take(s->task.env, &s->values)
                      : bi_calloc(s->task.env, n, ((size_t)size + 1) * sizeof **values);
        if (!*values)
            return bi_fail(err, BIOINFER_NOMEM, "values of %zu windows", n);
        clear_values(s, (int64_t)n, *values);
    }
    *to = change < 0 ? (struct target){w->values, &w->n_added, &w->unit.status}
                     : (struct target){w->changed + at * size, &w->added[at],
                                       &w->added[(int64_t)w->n + at]};
    return 0;
}

static int failed(const struct bi_tracks_task *s, struct bi_window_unit *w, int32_t change,
                  const struct target *to)
{
    if (change < 0)
        bi_unit_fail(s->task.env, &w->unit, BIOINFER_NONFINITE, "tracks are not finite");
    else
        *to->status = BIOINFER_NONFINITE;
    return 0;
}

/* Adds the values of all outputs of an item's view, those of window `index` of the batch, to
 * `values`. alone: nothing is there yet. False: one is not finite. */
static bool add_outputs(const struct bi_tracks_task *s, const struct bi_window_unit *w,
                        int32_t change, const struct bi_batch_place *place, int64_t index,
                        bool reversed, bool alone, float *values)
{
    bool finite = true;
    for (int i = 0; i < s->n_outputs; i++) {
        const struct bi_tracks_output *o = &s->of[i];
        const struct bi_tracks_extent extent = bi_extent(s, w, change >= 0, i);
        struct rows r = {.s = s,
                         .of = o,
                         .which = !o->all_tracks || o->in_order[reversed] ? NULL
                                  : reversed                              ? o->pairs
                                                                          : o->tracks,
                         .reversed = reversed,
                         .alone = alone,
                         .values = values + extent.at};
        r.n = bi_lists_rows(s, w, change, i);
        r.from = bi_batch_output(place, &place->slot->plan->graph->outputs[i], &r.ld);
        r.from += index * extent.rows * r.ld;
        finite &= add_rows(&r);
    }
    return finite;
}

/* Sets values of a view aside until those of the views in front of it are there. */
static int keep_early(struct bi_tracks_task *s, const struct bi_item *item, int32_t change,
                      const struct bi_batch_place *place, int64_t index, struct bioinfer_error *err)
{
    struct bi_window_unit *w = (struct bi_window_unit *)item->unit;
    const int32_t view = work_of(item)->view;
    struct bi_tracks_early *e = w->early;
    while (e && (e->change != change || e->view != view))
        e = e->next;
    if (e)
        return 0;
    if (!(e = bi_zalloc(s->task.env, sizeof *e + (size_t)s->n_values * sizeof(float))))
        return bi_fail(err, BIOINFER_NOMEM, "values of a view");
    e->change = change;
    e->view = view;
    e->next = w->early;
    w->early = e;
    /* a value that is not finite stays so when it is added */
    add_outputs(s, w, change, place, index, bi_view_reversed(s, view), true, e->values);
    return 0;
}

/* Adds the values of views that came early and whose turn it is. */
static bool add_early(struct bi_tracks_task *s, struct bi_window_unit *w, int32_t change,
                      const struct target *to)
{
    bool finite = true;
    for (struct bi_tracks_early **at = &w->early; *at;) {
        struct bi_tracks_early *e = *at;
        if (e->change != change || e->view != *to->n_added) {
            at = &e->next;
            continue;
        }
        for (int i = 0; i < s->n_outputs; i++) {
            const struct bi_tracks_output *o = &s->of[i];
            struct rows r = {.s = s,
                             .of = o,
                             .from = e->values + o->at,
                             .ld = o->n_tracks,
                             .n = o->h->n_bins,
                             .values = to->values + o->at};
            finite &= add_rows(&r);
        }
        ++*to->n_added;
        *at = e->next;
        bi_free(s->task.env, e);
        at = &w->early;
    }
    return finite;
}

/* Adds values of an item's view, those of window `index` of the batch, to a window's or a change's;
 * once, also where the batch is run again. */
static int add_view(struct bi_tracks_task *s, const struct bi_item *item, int32_t change,
                    const struct bi_batch_place *place, int64_t index, struct bioinfer_error *err)
{
    struct bi_window_unit *w = (struct bi_window_unit *)item->unit;
    const int view = work_of(item)->view;
    struct target to;
    bool finite;
    int st;
    if ((st = find_target(s, w, change, &to, err)))
        return st;
    if (view < *to.n_added)
        return 0;
    if (view > *to.n_added)
        return keep_early(s, item, change, place, index, err);
    finite = add_outputs(s, w, change, place, index, bi_view_reversed(s, view), s->n_views == 1,
                         to.values);
    ++*to.n_added;
    finite &= add_early(s, w, change, &to);
    return finite ? 0 : failed(s, w, change, &to);
}

/* Keeps where the sites of a window are, as floats, which have every place exactly. */
static int collect_sites(struct bi_tracks_task *s, const struct bi_item *item,
                         const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct bi_window_unit *w = (struct bi_window_unit *)item->unit;
    const int64_t n = BI_TRACKS_SITES * s->junctions->h->side;
    int64_t ld;
    const int32_t *at = bi_batch_output(place, &place->slot->plan->graph->outputs[s->n_outputs],
                                        &ld);
    if (!w->sites && !(w->sites = bi_calloc(s->task.env, (size_t)n, sizeof *w->sites)))
        return bi_fail(err, BIOINFER_NOMEM, "sites of a window");
    for (int64_t i = 0; i < n; i++)
        w->sites[i] = (float)at[i];
    return 0;
}

/* Takes the counts of a change, or of its window between the same sites. */
static int collect_counts(struct bi_tracks_task *s, const struct bi_item *item,
                          const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct bi_window_unit *w = (struct bi_window_unit *)item->unit;
    const struct bi_tracks_work *work = work_of(item);
    const int64_t n = s->junctions->h->n_bins;
    struct rows r = {.s = s, .of = s->junctions, .n = n, .alone = true};
    struct target to;
    const int st = find_target(s, w, work->change, &to, err);
    if (st)
        return st;
    r.values = to.values + bi_extent(s, w, true, (int)(s->junctions - s->of)).at +
               (work->of_window ? 0 : n * s->junctions->n_tracks);
    r.from = bi_batch_output(place, &place->slot->plan->graph->outputs[0], &r.ld);
    return add_rows(&r) ? 0 : failed(s, w, work->change, &to);
}

int bi_tracks_collect(struct bioinfer_task *t, struct bi_item *item,
                      const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)t;
    const struct bi_tracks_part *how = &work_of(item)->part;
    const struct bi_tracks_work *work = work_of(item);
    const bool tracks = how->to == BI_AT_TRACKS, pair = how->whole && how->changed;
    const bool cut = how->changed || (!tracks && work->change >= 0);
    const bool whole = how->whole && tracks && (how->from == BI_AT_BASES || work->change < 0);
    int st = 0;
    if (item->state == BI_ITEM_DONE)
        return 0; /* it is counted; then memory did not do for another item of the batch */
    if (how->from == BI_AT_ROWS)
        return collect_counts(s, item, place, err);
    if (tracks)
        st = add_view(s, item, pair ? -1 : work->change, place, place->index, err);
    else
        features_of(item)->there = true;
    if (!st && s->junctions && !s->lists[0] && !unit_of(item)->given.at && tracks)
        st = collect_sites(s, item, place, err);
    if (!st && pair)
        st = add_view(s, item, work->change, place, filled_up(place->n_items) + place->index, err);
    if (st)
        return st;
    s->n_whole += whole;
    s->n_cut += cut;
    s->cut_tokens += cut ? (uint64_t)work->cut.n : 0;
    return 0;
}

void bi_tracks_mean(const struct bi_tracks_task *s, int64_t n, float *values)
{
    if (s->n_views == 1)
        return;
    if (s->sums == BIOINFER_NO_SUMS) {
        for (int64_t i = 0; i < n * s->n_values; i++)
            values[i] /= (float)s->n_views;
        return;
    }
    for (int64_t i = 0; i < n; i++, values += s->n_values)
        for (int o = 0; o < s->n_outputs; o++) {
            const int n_tracks = s->of[o].n_tracks;
            for (int k = 0; k < s->sums * n_tracks; k++) {
                float *high = values + s->of[o].at + k / n_tracks * 2 * n_tracks + k % n_tracks;
                float *low = high + n_tracks;
                put_sum(high, low, ((double)*high + (double)*low) / s->n_views);
            }
        }
}

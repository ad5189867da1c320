/* tracks.c - the task tracks: windows of DNA to values in bins, and windows that differ from them.
 *
 * A window with no changes is one wave: its views, whole. So is one with a single change where the
 * device takes pairs. Else the window runs in two halves, and its features are kept in between; its
 * changes follow in pieces, all of them from these features.
 *
 * Sections: life, waves, one window, public calls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tracks.h"
#include "table.h"

enum {
    ENOUGH_TOKENS = 12288, /* rows that fill a GPU */
    /* bytes of values of a batch: more is no faster, as they must be brought out; and of a piece */
    MOST_OUTPUT = 64 << 20,
    LEAST_PIECE = 8,
    MOST_PIECE = 4096,
    MOST_CHANGES = 1 << 24
};

int64_t bi_tracks_rows(const struct bi_tracks_task *s, const struct bi_tracks_output *o)
{
    return s->sums ? 2 * s->sums : o->h->n_bins;
}

int64_t bi_tracks_feature_width(const struct bi_tracks_task *s, int feature)
{
    return s->t->features[feature].rows * s->t->features[feature].width;
}

uint64_t bi_tracks_features_size(const struct bi_tracks_task *s, int64_t n_tokens)
{
    int64_t n = 0;
    for (int i = 0; i < s->n_features; i++)
        n += n_tokens * bi_tracks_feature_width(s, i);
    return (uint64_t)n * sizeof(float);
}

/* ---- life ---- */

void *bi_pool_take(const struct bi_env *env, struct bi_block_pool *pool)
{
    void *block = pool->first;
    if (!block)
        return bi_alloc(env, pool->size);
    memcpy(&pool->first, block, sizeof pool->first);
    return block;
}

static void pool_give(struct bi_block_pool *pool, void *block)
{
    if (block)
        memcpy(block, &pool->first, sizeof pool->first);
    pool->first = block ? block : pool->first;
}

static void pool_free(const struct bi_env *env, struct bi_block_pool *pool)
{
    while (pool->first)
        bi_free(env, bi_pool_take(env, pool));
}

static void pool_size(struct bi_block_pool *pool, int64_t n_floats)
{
    const size_t size = (size_t)n_floats * sizeof(float);
    pool->size = size > sizeof pool->first ? size : sizeof pool->first;
}

/* Takes the tracks of an output that are asked for; none = all. */
static int take_tracks(struct bi_tracks_task *s, struct bi_tracks_output *o,
                       const struct bioinfer_tracks_output *p, struct bioinfer_error *err)
{
    const int all = o->h->n_tracks;
    o->n_tracks = p->n_tracks ? p->n_tracks : all;
    o->all_tracks = o->n_tracks >= all || o->h->whole;
    o->tracks = bi_calloc(s->task.env, (size_t)o->n_tracks, sizeof *o->tracks);
    o->pairs = bi_calloc(s->task.env, (size_t)o->n_tracks, sizeof *o->pairs);
    if (!o->tracks || !o->pairs)
        return bi_fail(err, BIOINFER_NOMEM, "tracks");
    o->in_order[0] = o->in_order[1] = true;
    for (int i = 0; i < o->n_tracks; i++) {
        int track = p->n_tracks ? p->tracks[i] : i;
        if (track < 0 || track >= all)
            return bi_fail(err, BIOINFER_INVALID, "track %d: head %s has tracks 0 to %d", track,
                           o->h->name, all - 1);
        if (o->h->kind == BIOINFER_JUNCTIONS && i && track <= o->tracks[i - 1])
            return bi_fail(err, BIOINFER_INVALID, "track %d: tracks of junctions are ascending",
                           track);
        o->tracks[i] = track;
        o->pairs[i] = p->strand_pairs ? p->strand_pairs[track] : track;
        if (o->pairs[i] < 0 || o->pairs[i] >= all)
            return bi_fail(err, BIOINFER_INVALID,
                           "track %d: the other strand's is %d, head %s has "
                           "tracks 0 to %d",
                           track, o->pairs[i], o->h->name, all - 1);
        o->other_pairs |= o->pairs[i] != track;
        o->in_order[0] &= track == i;
        o->in_order[1] &= o->pairs[i] == i;
    }
    return 0;
}

/* Names the arrays: a resolution follows where two outputs have one name. */
static int name_arrays(struct bi_tracks_task *s, struct bioinfer_error *err)
{
    for (int i = 0; i < s->n_outputs; i++) {
        struct bi_tracks_output *o = &s->of[i];
        char text[96];
        bool repeated = false;
        for (int k = 0; k < s->n_outputs; k++)
            repeated |= k != i && !strcmp(s->of[k].h->output, o->h->output);
        o->array = s->n_outputs == 1 ? "tracks" : o->h->output;
        if (!repeated)
            continue;
        snprintf(text, sizeof text, "%.60s.%lld", o->h->output, (long long)o->h->bin_size);
        if (!(o->array = o->array_text = bi_strdup(s->task.env, text)))
            return bi_fail(err, BIOINFER_NOMEM, "outputs");
    }
    return 0;
}

/* Lists what graphs are asked for, of both strands. */
static int list_asked(struct bi_tracks_task *s, struct bioinfer_error *err)
{
    const size_t n = (size_t)s->n_outputs;
    for (int other = 0; other < 2; other++) {
        if (!(s->asked[other] = bi_calloc(s->task.env, n, sizeof **s->asked)))
            return bi_fail(err, BIOINFER_NOMEM, "outputs");
        for (size_t i = 0; i < n; i++) {
            const struct bi_tracks_output *o = &s->of[i];
            s->asked[other][i] = (struct bi_tracks_asked){.head = o->head,
                                                          .n_tracks = o->n_tracks,
                                                          .tracks = o->all_tracks ? NULL
                                                                    : other       ? o->pairs
                                                                                  : o->tracks};
        }
    }
    return 0;
}

/* Takes output i, whose head shares the trunk of those in front of it. */
static int take_output(struct bi_tracks_task *s, int i, const struct bioinfer_tracks_output *p,
                       const struct bioinfer_tracks_params *params, struct bioinfer_error *err)
{
    struct bi_tracks_output *o = &s->of[i];
    int st = bioinfer_model_find_output(s->task.model, p->name, params->organism,
                                        params->resolution, &o->head, err);
    if (st)
        return st;
    o->h = &s->t->heads[o->head];
    for (int k = 0; k < i; k++) {
        if (s->of[k].head == o->head)
            return bi_fail(err, BIOINFER_INVALID, "output %s is asked for twice", o->h->name);
        if (s->of[k].h->trunk != o->h->trunk)
            return bi_fail(err, BIOINFER_INVALID,
                           "outputs %s and %s are of two organisms, which take a run each",
                           s->of[k].h->name, o->h->name);
    }
    if (o->h->kind == BIOINFER_JUNCTIONS)
        s->junctions = o;
    if (o->h->n_features > s->n_features)
        s->n_features = o->h->n_features;
    return take_tracks(s, o, p, err);
}

static int take_outputs(struct bi_tracks_task *s, const struct bioinfer_tracks_params *p,
                        struct bioinfer_error *err)
{
    const struct bioinfer_tracks_output one = {p->head, p->tracks, p->n_tracks, p->strand_pairs};
    int st = 0;
    if (p->n_outputs < 0 || p->n_outputs > s->t->n_heads || (p->n_outputs && !p->outputs))
        return bi_fail(err, BIOINFER_INVALID, "outputs: %d of them, the model has %d", p->n_outputs,
                       s->t->n_heads);
    if (p->n_outputs && (p->head || p->n_tracks || p->strand_pairs))
        return bi_fail(err, BIOINFER_INVALID, "outputs and a head: expected one of the two");
    s->n_outputs = p->n_outputs ? p->n_outputs : 1;
    if (!(s->of = bi_calloc(s->task.env, (size_t)s->n_outputs, sizeof *s->of)))
        return bi_fail(err, BIOINFER_NOMEM, "outputs");
    for (int i = 0; i < s->n_outputs && !st; i++)
        st = take_output(s, i, p->n_outputs ? &p->outputs[i] : &one, p, err);
    if (st || (st = name_arrays(s, err)))
        return st;
    return list_asked(s, err);
}

static int take_views(struct bi_tracks_task *s, const struct bioinfer_tracks_params *p,
                      struct bioinfer_error *err)
{
    s->n_shifts = p->n_shifts ? p->n_shifts : 1;
    if (p->n_shifts < 0 || p->n_shifts > BI_TRACKS_SHIFTS || (p->n_shifts && !p->shifts))
        return bi_fail(err, BIOINFER_INVALID, "shifts: %d of them, expected up to %d", p->n_shifts,
                       BI_TRACKS_SHIFTS);
    for (int i = 0; i < p->n_shifts; i++) {
        s->shifts[i] = p->shifts[i];
        if (s->shifts[i] <= -s->t->window || s->shifts[i] >= s->t->window)
            return bi_fail(err, BIOINFER_INVALID, "shift %d: a window has %lld bases", s->shifts[i],
                           (long long)s->t->window);
    }
    s->n_views = s->n_shifts * (p->reverse_complement ? 2 : 1);
    if (s->junctions && (s->n_views > 1 || s->shifts[0] || p->sums))
        return bi_fail(
            err, BIOINFER_INVALID,
            "%s: junctions have no shifts, other strand or sums, which scores of variants "
            "are: scorers have their own",
            s->junctions->h->name);
    s->task.wide = s->junctions && s->task.model->half;
    if (s->task.wide && s->task.model->half_asked)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "precision fp16: %s is computed in fp32, as its sites are chosen by rank",
                       s->junctions->h->name);
    if (s->task.wide)
        bi_log(s->task.env, BIOINFER_LOG_NAMED,
               "%s: this run is computed in fp32, as sites of junctions are chosen by rank",
               s->junctions->h->name);
    bi_tracks_codes(s->codes, p->quarter != 0);
    s->sums = p->sums;
    if (p->sums < BIOINFER_NO_SUMS || p->sums > BIOINFER_SUMS_AND_LOGS)
        return bi_fail(err, BIOINFER_INVALID, "tracks: sums %d, expected up to %d", p->sums,
                       BIOINFER_SUMS_AND_LOGS);
    if (p->sums == BIOINFER_SUMS_AND_LOGS && s->n_views > 1)
        return bi_fail(err, BIOINFER_INVALID,
                       "tracks: sums of logarithms are of one window, %d make a mean", s->n_views);
    return 0;
}

/* Several windows in a program have more rows: a gain where one has too few to fill the device. */
static int most_together(const struct bi_tracks_task *s)
{
    const int64_t output = s->n_values * (int64_t)sizeof(float);
    int most = 1;
    while (s->task.model->caps.async && s->t->batches && !s->lists[0] &&
           2 * most <= BI_TRACKS_TOGETHER && 2 * most * s->t->n_tokens <= ENOUGH_TOKENS &&
           2 * most * output <= MOST_OUTPUT)
        most *= 2;
    return most;
}

/* Sizes of batches, pieces and blocks. */
static void take_sizes(struct bi_tracks_task *s)
{
    int64_t most;
    for (int i = 0; i < s->n_outputs; i++) {
        s->of[i].at = s->n_values;
        if (!s->lists[0] || !s->lists[0][i].any) /* others are few, and the records' own */
            s->n_values += bi_tracks_rows(s, &s->of[i]) * s->of[i].n_tracks;
    }
    most = MOST_OUTPUT / ((s->n_values ? s->n_values : 1) * (int64_t)sizeof(float));
    s->usual = bi_cut_around(s->t, s->t->window / 2, s->t->window / 2).n;
    s->most = most_together(s);
    s->most_pairs = s->most / 2;
    s->most_changed = 2;
    while (s->most_changed < BI_TRACKS_COMPANY && 2 * s->most_changed <= most)
        s->most_changed *= 2;
    s->piece = most < LEAST_PIECE ? LEAST_PIECE : most > MOST_PIECE ? MOST_PIECE : most;
    s->piece -= s->piece % s->most_changed;
    if (s->lists[0] && s->junctions) /* whose changes keep rows until junctions are counted */
        s->piece = LEAST_PIECE;
    pool_size(&s->values, s->n_values);
}

static int open_tracks(struct bi_tracks_task *s, const struct bioinfer_tracks_params *params,
                       const int *lists, struct bioinfer_error *err)
{
    const struct bioinfer_model *model = s->task.model;
    struct bioinfer_tracks_params p = {0};
    int st;
    if ((st = bi_params_take(&p, sizeof p, params, "tracks", err)))
        return st;
    s->t = model->base.tracks;
    s->task.window_load = model->caps.async ? 0 : 1; /* else reading ahead gains nothing */
    s->task.progress = p.progress;
    s->task.progress_user = p.progress_user;
    if ((st = take_outputs(s, &p, err)) || (st = take_views(s, &p, err)) ||
        (st = bi_lists_open(s, lists, err)))
        return st;
    take_sizes(s);
    if (p.no_rules && !(s->no_rules = bi_strdup(s->task.env, p.no_rules)))
        return bi_fail(err, BIOINFER_NOMEM, "tracks");
    /* as many views as fill programs, whatever their number is */
    return bi_task_open(&s->task, model, (int64_t)s->most * s->n_views, p.memory_limit, err);
}

int bi_tracks_open(bioinfer_task **out, const bioinfer_model *model,
                   const struct bioinfer_tracks_params *params, const int *lists,
                   struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_tracks, sizeof(struct bi_tracks_task), err);
    if (!st && (st = open_tracks((struct bi_tracks_task *)*out, params, lists, err)))
        bioinfer_task_close(out);
    return st;
}

int bioinfer_tracks_open(bioinfer_task **out, const bioinfer_model *model,
                         const struct bioinfer_tracks_params *params, struct bioinfer_error *err)
{
    return bi_tracks_open(out, model, params, NULL, err);
}

int bi_tracks_compute(bioinfer_task *task, const struct bioinfer_record *record,
                      const struct bi_tracks_asks *asks, bioinfer_sink sink, void *sink_user,
                      struct bioinfer_error *err)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)task;
    int st;
    s->asks = asks;
    st = bioinfer_task_compute(task, record, 1, sink, sink_user, err);
    s->asks = NULL;
    return st;
}

static void tracks_free(struct bioinfer_task *t)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)t;
    pool_free(t->env, &s->values);
    for (int i = 0; s->of && i < s->n_outputs; i++) {
        bi_free(t->env, s->of[i].tracks);
        bi_free(t->env, s->of[i].pairs);
        bi_free(t->env, s->of[i].array_text);
    }
    bi_free(t->env, s->of);
    bi_free(t->env, s->asked[0]);
    bi_free(t->env, s->asked[1]);
    bi_free(t->env, s->lists[0]);
    bi_free(t->env, s->lists[1]);
    bi_free(t->env, s->no_rules);
}

/* ---- waves ---- */

/* Makes room for n items, and for two that are computed in place of one. */
static int make_room(struct bi_tracks_task *s, struct bi_window_unit *w, size_t n,
                     struct bioinfer_error *err)
{
    const size_t all = n + 2;
    for (size_t i = 0; i < w->n_work; i++)
        bi_kept_free(s->task.exec, &w->work[i].patch.kept);
    bi_free(s->task.env, w->work);
    bi_free(s->task.env, w->unit.items);
    w->unit.n_items = w->n_work = 0;
    w->unit.items = bi_calloc(s->task.env, all, sizeof *w->unit.items);
    w->work = bi_calloc(s->task.env, all, sizeof *w->work);
    if (!w->unit.items || !w->work)
        return bi_fail(err, BIOINFER_NOMEM, "%zu windows", n);
    w->n_work = all;
    return 0;
}

/* Parts of the network, beside a whole window: convolutions keep the features of a window, or of a
 * cut of one; the rest begins with them; windows that differ from one by a cut each begin with its
 * features; a pair is a window and one that differs from it; junctions are counted from kept rows.
 */
static const struct bi_tracks_part convolutions = {BI_AT_BASES, BI_AT_FEATURES, true, false},
                                   rest = {BI_AT_FEATURES, BI_AT_TRACKS, true, false},
                                   differing = {BI_AT_FEATURES, BI_AT_TRACKS, false, true},
                                   pair = {BI_AT_BASES, BI_AT_TRACKS, true, true},
                                   junctions = {BI_AT_ROWS, BI_AT_TRACKS, false, false};

static void add_item(const struct bi_tracks_task *s, struct bi_window_unit *w,
                     struct bi_tracks_part part, int32_t change, int view, struct bi_cut cut)
{
    bi_tracks_item(
        s, w, (int32_t)w->unit.n_items++,
        (struct bi_tracks_work){.part = part, .change = change, .view = view, .cut = cut});
}

/* How a change is computed in a view: whole, where the tokens to compute are most of the window, or
 * the window's features are not there as memory did not do; together with others; by convolutions
 * of the cut, and the rest behind them; or the rest alone, where nothing differs. */
static struct bi_tracks_part part_of(const struct bi_tracks_task *s, const struct bi_window_unit *w,
                                     size_t change, int view, struct bi_cut *cut)
{
    *cut = (struct bi_cut){0};
    if (w->kept && !w->kept[view].there)
        return bi_whole_window;
    if (!bi_find_cut(s, w->sequence, &w->changes[change], view, cut))
        return rest;
    if (2 * cut->n > s->t->n_tokens)
        return bi_whole_window;
    return s->t->batches && !s->lists[0] && bi_cut_is_usual(s, cut) ? differing : convolutions;
}

/* Are there convolutions whose features a later wave reads? */
static bool any_convolutions(const struct bi_window_unit *w)
{
    bool any = false;
    for (size_t i = 0; i < w->unit.n_items; i++)
        any |= w->work[i].part.to == BI_AT_FEATURES;
    return any;
}

/* Does a change use the window's features in this view? */
static bool uses_features(const struct bi_tracks_task *s, const struct bi_window_unit *w, int view)
{
    bool uses = false;
    for (size_t i = 0; i < w->n_changes && !uses; i++) {
        struct bi_cut cut;
        const struct bi_tracks_part part = part_of(s, w, i, view, &cut);
        uses = !bi_is_whole_window(&part);
    }
    return uses;
}

/* Begins a piece: up to s->piece changes, from w->first on. */
static int begin_piece(struct bi_tracks_task *s, struct bi_window_unit *w,
                       struct bioinfer_error *err)
{
    const size_t left = w->n_changes - w->first;
    w->n = left < (size_t)s->piece ? left : (size_t)s->piece;
    bi_free(s->task.env, w->added);
    if (!(w->added = bi_calloc(s->task.env, 2 * w->n + 1, sizeof *w->added)))
        return bi_fail(err, BIOINFER_NOMEM, "%zu windows", w->n);
    return 0;
}

/* Adds the items of the changes of the piece. */
static void add_changes(const struct bi_tracks_task *s, struct bi_window_unit *w)
{
    for (int v = 0; v < s->n_views; v++)
        for (size_t i = w->first; i < w->first + w->n; i++) {
            struct bi_cut cut;
            const struct bi_tracks_part part = part_of(s, w, i, v, &cut);
            add_item(s, w, part, (int32_t)i, v, cut);
        }
}

/* Says that after these items nothing follows, or that a piece is complete, unless there are
 * convolutions, or junctions to be counted. */
static void end_piece(struct bi_window_unit *w)
{
    const bool more = any_convolutions(w) ||
                      (w->lists && w->lists->counted && w->n && w->stage != BI_STAGE_COUNTS);
    w->unit.has_piece = !more && w->first + w->n < w->n_changes;
    w->unit.is_over = !more && w->first + w->n == w->n_changes;
}

/* Makes the items of a window and its change that run side by side. */
static int make_pair(struct bi_tracks_task *s, struct bi_window_unit *w, struct bioinfer_error *err)
{
    const int64_t middle = s->t->window / 2;
    int st;
    if ((st = begin_piece(s, w, err)) || (st = make_room(s, w, 2 * (size_t)s->n_views, err)))
        return st;
    for (int v = 0; v < s->n_views; v++) {
        struct bi_cut cut = bi_cut_around(s->t, middle, middle); /* where nothing differs */
        bi_find_cut(s, w->sequence, w->changes, v, &cut);
        if (s->most_pairs && bi_cut_is_usual(s, &cut)) {
            add_item(s, w, pair, 0, v, cut);
        } else {
            add_item(s, w, bi_whole_window, -1, v, cut);
            add_item(s, w, bi_whole_window, 0, v, cut);
        }
    }
    w->unit.is_over = true;
    return 0;
}

/* Makes the first items of a window. */
static int make_first(struct bi_tracks_task *s, struct bi_window_unit *w,
                      struct bioinfer_error *err)
{
    const struct bi_cut all = {0, s->t->n_tokens, 0, s->t->n_tokens};
    bool kept[2 * BI_TRACKS_SHIFTS], any = false, alone;
    int st;
    if (w->n_changes == 1 && s->most > 1)
        return make_pair(s, w, err);
    for (int v = 0; v < s->n_views; v++)
        any |= kept[v] = uses_features(s, w, v);
    if (any && !(w->kept = bi_calloc(s->task.env, (size_t)s->n_views, sizeof *w->kept)))
        return bi_fail(err, BIOINFER_NOMEM, "features of a window");
    alone = any || (w->lists && w->lists->compares);
    if ((!alone && (st = begin_piece(s, w, err))) ||
        (st = make_room(s, w, (w->n + 1) * (size_t)s->n_views, err)))
        return st;
    for (int v = 0; v < s->n_views; v++)
        add_item(s, w, kept[v] ? convolutions : bi_whole_window, -1, v, all);
    if (alone)
        return 0; /* the piece begins when the features are there, or what it is compared with */
    add_changes(s, w);
    w->stage = BI_STAGE_PIECE;
    end_piece(w);
    return 0;
}

/* Makes the second halves of the window alone. */
static int make_alone(struct bi_tracks_task *s, struct bi_window_unit *w,
                      struct bioinfer_error *err)
{
    int st;
    if ((st = make_room(s, w, (size_t)s->n_views, err)))
        return st;
    for (int v = 0; v < s->n_views; v++)
        add_item(s, w, rest, -1, v, (struct bi_cut){0});
    return 0;
}

/* Makes the items of a piece, and with the first one those of the second halves of the window,
 * unless these are done. */
static int make_piece(struct bi_tracks_task *s, struct bi_window_unit *w,
                      struct bioinfer_error *err)
{
    const bool alone = w->lists && w->lists->compares;
    int st;
    if ((st = begin_piece(s, w, err)) ||
        (st = make_room(s, w, (w->n + 1) * (size_t)s->n_views, err)))
        return st;
    for (int v = 0; !w->first && !alone && v < s->n_views; v++)
        if (w->kept[v].there)
            add_item(s, w, rest, -1, v, (struct bi_cut){0});
    add_changes(s, w);
    end_piece(w);
    return 0;
}

/* Makes the second halves of those changes whose convolutions are there: 1; 0 = none were asked
 * for. Where whole windows took the place of all of them, the piece is complete without items. */
static int make_patched(struct bi_tracks_task *s, struct bi_window_unit *w,
                        struct bioinfer_error *err)
{
    struct bi_tracks_work *of = w->work;
    bool any;
    size_t n = 0;
    int st;
    for (size_t i = 0; i < w->n_work; i++)
        if (of[i].patch.there)
            of[n++] = of[i];
    if (!n) {
        any = any_convolutions(w);
        w->unit.n_items = 0;
        if (any)
            end_piece(w);
        return any;
    }
    w->work = NULL;
    w->n_work = 0;
    if ((st = make_room(s, w, n, err)))
        while (n)
            bi_kept_free(s->task.exec, &of[--n].patch.kept);
    for (size_t i = 0; i < n; i++) {
        of[i].part = rest;
        bi_tracks_item(s, w, (int32_t)i, of[i]);
    }
    w->unit.n_items = n;
    bi_free(s->task.env, of);
    end_piece(w);
    return st ? st : 1;
}

/* The arrays of a window: one of each output, and the sites of junctions. */
static int list_arrays(const struct bi_tracks_task *s, const struct bi_window_unit *w,
                       struct bioinfer_array *arrays)
{
    int n = 0;
    for (; n < s->n_outputs; n++) {
        const struct bi_tracks_output *o = &s->of[n];
        const struct bi_tracks_extent extent = bi_extent(s, w, false, n);
        const bool listed = s->lists[0] && s->lists[0][n].any;
        const bool paired = o->h->kind != BIOINFER_BINS && !s->sums && !listed;
        const int64_t side = paired ? o->h->side : 0;
        arrays[n] = (struct bioinfer_array){
            .kind = o->array,
            .n_dims = paired ? 3 : 2,
            .shape = {paired ? side : extent.rows, paired ? side : o->n_tracks, o->n_tracks},
            .data = w->values ? w->values + extent.at : NULL};
    }
    if (w->sites)
        arrays[n++] = (struct bioinfer_array){.kind = "sites",
                                              .n_dims = 2,
                                              .shape = {BI_TRACKS_SITES, s->junctions->h->side},
                                              .data = w->sites};
    return n;
}

/* A result, and what it points to. */
struct result {
    struct bioinfer_array arrays[BI_TRACKS_HEADS + 1];
    int64_t values_at[BI_TRACKS_HEADS];
    struct bioinfer_changed changed;
    struct bioinfer_result is;
};

/* Tells of the piece at hand. */
static void make_result(const struct bi_tracks_task *s, const struct bi_window_unit *w,
                        struct result *r)
{
    const struct bi_unit *u = &w->unit;
    const int n = list_arrays(s, w, r->arrays);
    for (int i = 0; i < s->n_outputs; i++)
        r->values_at[i] = bi_extent(s, w, true, i).at;
    r->changed = (struct bioinfer_changed){.first = w->first,
                                           .n = u->status ? 0 : w->n,
                                           .values = w->changed,
                                           .statuses = w->n ? w->added + w->n : NULL,
                                           .n_values = bi_n_values(s, w, true),
                                           .values_at = r->values_at};
    r->is = (struct bioinfer_result){.ordinal = w->ordinal,
                                     .id = u->id,
                                     .length = s->t->window,
                                     .status = u->status,
                                     .message = bi_unit_message(u),
                                     .n_arrays = u->status ? 0 : n,
                                     .arrays = r->arrays,
                                     .n_layers_kept = 1,
                                     .n_kinds = n,
                                     .piece = w->n_pieces,
                                     .more = !u->is_over,
                                     .changed = &r->changed};
}

/* Makes the items that count junctions of the piece at hand, whose other values are there. */
static int make_counts(struct bi_tracks_task *s, struct bi_window_unit *w,
                       struct bioinfer_error *err)
{
    struct result r;
    size_t n;
    int st;
    make_result(s, w, &r);
    if ((st = bi_lists_choose(s, w, &r.is, &n, err)) || (st = make_room(s, w, 2 * n, err)))
        return st;
    for (size_t i = w->first; i < w->first + w->n; i++)
        for (int of_window = 0; w->lists->sites[i].at && of_window < 2; of_window++)
            bi_tracks_item(s, w, (int32_t)w->unit.n_items++,
                           (struct bi_tracks_work){.part = junctions,
                                                   .change = (int32_t)i,
                                                   .of_window = of_window != 0});
    end_piece(w);
    return 1;
}

static int tracks_next(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)t;
    struct bi_window_unit *w = (struct bi_window_unit *)u;
    int st;
    if (w->stage == BI_STAGE_PIECE && (st = make_patched(s, w, err))) {
        w->stage = BI_STAGE_PATCHED;
        return st;
    }
    if (w->stage == BI_STAGE_FIRST && w->lists && w->lists->compares && !w->n_added) {
        w->stage = BI_STAGE_ALONE;
        st = make_alone(s, w, err);
        return st ? st : 1;
    }
    if (w->lists && w->lists->counted && w->stage > BI_STAGE_ALONE && w->stage != BI_STAGE_COUNTS) {
        w->stage = BI_STAGE_COUNTS;
        return make_counts(s, w, err);
    }
    if (w->stage > BI_STAGE_ALONE)
        w->first += w->n;
    if (w->first == w->n_changes)
        return 0;
    w->stage = BI_STAGE_PIECE;
    st = make_piece(s, w, err);
    return st ? st : 1;
}

/* ---- one window ---- */

/* Takes the sites that a record gives, which are an array of its result as well. */
static int take_sites(const struct bi_tracks_task *s, struct bi_window_unit *w,
                      const struct bi_given_sites *sites, struct bioinfer_error *err)
{
    const int st = s->lists[0] ? bi_fail(err, BIOINFER_INVALID, "sites of a window with lists")
                               : bi_sites_take(s, &w->given, sites, err);
    const int64_t n = st ? 0 : BI_TRACKS_SITES * s->junctions->h->side;
    if (st)
        return st;
    if (!(w->sites = bi_calloc(s->task.env, (size_t)n, sizeof *w->sites)))
        return bi_fail(err, BIOINFER_NOMEM, "sites of a window");
    for (int64_t i = 0; i < n; i++)
        w->sites[i] = (float)w->given.at[i];
    return 0;
}

/* Copies what the source gives. A failure of the window is its own status; the return value is for
 * what ends the run. */
static int copy_window(struct bi_tracks_task *s, struct bi_window_unit *w,
                       const struct bioinfer_record *from, struct bioinfer_error *err)
{
    const int64_t window = s->t->window;
    struct bioinfer_error why = {0}, letter = {0};
    size_t size = 0;
    char *bases;
    if (!from->sequence || from->length != (size_t)window)
        bi_fail(&why, BIOINFER_INVALID, "a window of %zu bases, expected %lld", from->length,
                (long long)window);
    else if (from->n_changes > MOST_CHANGES || (from->n_changes && !from->changes))
        bi_fail(&why, BIOINFER_INVALID, "%zu changes of a window, expected up to %d",
                from->n_changes, MOST_CHANGES);
    else
        bi_tracks_letters(from->sequence, from->length, &why);
    if (!why.status && from->n_changes && s->junctions && !s->lists[0])
        bi_fail(&why, BIOINFER_UNSUPPORTED, "changes of a window, whose junctions are asked for");
    for (size_t i = 0; !why.status && i < from->n_changes; i++) {
        const struct bioinfer_change *c = &from->changes[i];
        if (c->first < 0 || c->length < 0 || c->first > window || c->length > window - c->first ||
            (c->length && !c->bases))
            bi_fail(&why, BIOINFER_INVALID, "change %zu: %lld bases from %lld on, of %lld", i,
                    (long long)c->length, (long long)c->first, (long long)window);
        else if (bi_tracks_letters(c->bases, (size_t)c->length, &letter))
            bi_fail(&why, letter.status, "change %zu: %s", i, letter.text);
    }
    if (!why.status && s->asks && s->asks->sites &&
        take_sites(s, w, s->asks->sites, &why) == BIOINFER_NOMEM)
        return bi_fail(err, BIOINFER_NOMEM, "sites of a window");
    if (!why.status && bi_lists_take(s, w, from, &why) == BIOINFER_NOMEM)
        return bi_fail(err, BIOINFER_NOMEM, "lists of a window");
    if (why.status) {
        bi_unit_fail(s->task.env, &w->unit, why.status, why.text);
        return 0;
    }
    if (!(w->sequence = bi_alloc(s->task.env, (size_t)window)))
        return bi_fail(err, BIOINFER_NOMEM, "a window");
    memcpy(w->sequence, from->sequence, (size_t)window);
    w->n_changes = from->n_changes;
    if (!w->n_changes)
        return 0;
    for (int trimmed = 0; trimmed < 2; trimmed++) {
        bases = trimmed ? (char *)(w->changes + w->n_changes) : NULL;
        for (size_t i = 0; i < w->n_changes; i++) {
            const struct bioinfer_change *c = &from->changes[i];
            struct bi_change mine = {c->first, c->first + c->length, c->bases};
            bi_change_trim(&mine, w->sequence);
            if (!trimmed) {
                size += (size_t)(mine.end - mine.first);
                continue;
            }
            memcpy(bases, mine.bases ? mine.bases : "", (size_t)(mine.end - mine.first));
            mine.bases = bases;
            bases += mine.end - mine.first;
            w->changes[i] = mine;
        }
        if (!trimmed &&
            !(w->changes = bi_alloc(s->task.env, w->n_changes * sizeof *w->changes + size)))
            return bi_fail(err, BIOINFER_NOMEM, "%zu changes of a window", w->n_changes);
    }
    return 0;
}

static int tracks_read(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)t;
    struct bi_window_unit *w = (struct bi_window_unit *)u;
    struct bioinfer_record from = {0};
    int st = t->source(t->source_user, &from, err);
    size_t n;
    if (st != 1)
        return st;
    w->ordinal = from.ordinal;
    if (!(u->id = bi_strdup(t->env, from.id ? from.id : "")))
        return bi_fail(err, BIOINFER_NOMEM, "window");
    if (from.status)
        bi_unit_fail(t->env, u, from.status, from.message ? from.message : "");
    else if ((st = copy_window(s, w, &from, err)))
        return st;
    if (u->status)
        return 1;
    if ((st = make_first(s, w, err)))
        return st;
    /* the load of a window is also that of the changes to come */
    n = w->n_changes / (size_t)s->most_changed;
    u->items[0].size.n_seqs += u->is_over ? 0 : (int32_t)n;
    n = w->n_changes < (size_t)s->piece ? w->n_changes : (size_t)s->piece;
    u->result_size =
        (w->lists ? ((uint64_t)bi_n_values(s, w, false) + n * (uint64_t)bi_n_values(s, w, true)) *
                        sizeof(float)
                  : (n + 1) * s->values.size) +
        (size_t)s->t->window +
        (w->kept ? (size_t)s->n_views * bi_tracks_features_size(s, s->t->n_tokens) : 0);
    for (size_t i = 0; i < w->n_changes; i++)
        u->result_size += sizeof *w->changes + (uint64_t)(w->changes[i].end - w->changes[i].first);
    return 1;
}

/* Gives back what the piece at hand holds. */
static void drop_piece(struct bi_tracks_task *s, struct bi_window_unit *w)
{
    if (w->n == 1 && !w->lists)
        pool_give(&s->values, w->changed);
    else
        bi_free(s->task.env, w->changed);
    w->changed = NULL;
    bi_lists_drop_piece(s, w);
    for (struct bi_tracks_early *e = w->early, *next; e; e = next) {
        next = e->next;
        bi_free(s->task.env, e);
    }
    w->early = NULL;
}

static int tracks_result(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)t;
    struct bi_window_unit *w = (struct bi_window_unit *)u;
    struct result r;
    uint64_t n_done = w->first ? 0 : 1;
    int st;
    make_result(s, w, &r);
    w->n_pieces++;
    if (!u->status) {
        if (!w->first)
            bi_tracks_mean(s, 1, w->values);
        bi_tracks_mean(s, (int64_t)w->n, w->changed);
        for (size_t i = 0; i < w->n; i++)
            n_done += !r.changed.statuses[i];
        t->exec->profile.records += n_done;
        t->exec->profile.residues += n_done * (uint64_t)s->t->window;
    }
    st = t->sink(t->sink_user, &r.is, err);
    drop_piece(s, w);
    return st;
}

static void tracks_drop(struct bioinfer_task *t, struct bi_unit *u)
{
    struct bi_tracks_task *s = (struct bi_tracks_task *)t;
    struct bi_window_unit *w = (struct bi_window_unit *)u;
    drop_piece(s, w);
    if (w->lists)
        bi_free(t->env, w->values);
    else
        pool_give(&s->values, w->values);
    bi_lists_drop(s, w);
    for (int v = 0; w->kept && v < s->n_views; v++)
        bi_kept_free(t->exec, &w->kept[v].kept);
    for (size_t i = 0; i < w->n_work; i++)
        bi_kept_free(t->exec, &w->work[i].patch.kept);
    bi_free(t->env, w->kept);
    bi_free(t->env, w->added);
    bi_free(t->env, w->work);
    bi_free(t->env, u->items);
    bi_free(t->env, w->changes);
    bi_free(t->env, w->sequence);
    bi_free(t->env, w->sites);
    bi_free(t->env, w->given.at);
}

static int64_t tracks_load(const struct bi_counts *counts)
{
    return counts->n_seqs;
}

/* Inputs of all programs. */
static const char *const made[] = {
    "bases",  "from",   "kept",    "cut",     "at",         "sites",   "site_rows", "spans",
    "lists0", "lists1", "lists2",  "lists3",  "lists4",     "lists5",  "lists6",    "lists7",
    "lists8", "lists9", "lists10", "lists11", "lists12",    "lists13", "lists14",   "lists15",
    "cuts0",  "cuts1",  "cuts2",   "cuts3",   "cuts4",      "cuts5",   "cuts6",     "cuts7",
    "cuts8",  "cuts9",  "cuts10",  "cuts11",  "cuts12",     "cuts13",  "cuts14",    "cuts15",
    "own0",   "own1",   "own2",    "own3",    "own4",       "own5",    "own6",      "own7",
    "own8",   "own9",   "own10",   "own11",   "site_spans", "tile"};

const struct bi_task_def bi_task_tracks = {.name = "tracks",
                                           .kind = &bi_kind_tracks,
                                           .unit_size = sizeof(struct bi_window_unit),
                                           .smallest = {.n_tokens = 1, .n_seqs = 1, .longest = 1},
                                           .read = tracks_read,
                                           .load = tracks_load,
                                           .take = bi_tracks_take,
                                           .too_large = bi_tracks_too_large,
                                           .recipe = bi_tracks_recipe,
                                           .fill = bi_tracks_fill,
                                           .made = made,
                                           .n_made = BI_COUNT(made),
                                           .collect = bi_tracks_collect,
                                           .next = tracks_next,
                                           .result = tracks_result,
                                           .drop = tracks_drop,
                                           .free = tracks_free};

/* ---- public calls ---- */

/* The output of contributions, which are of single bases. */
static int explained_output(const bioinfer_task *task, int index, struct bioinfer_tracks_info *info)
{
    struct bioinfer_tracks_info i = {.struct_size = sizeof i};
    const size_t size = info ? info->struct_size : 0;
    if (size < sizeof size || bioinfer_contributions_get_info(task, &i))
        return BIOINFER_INVALID;
    if (index)
        return BIOINFER_NOT_FOUND;
    i.struct_size = size;
    i.bin_size = 1;
    i.first_bin = 0;
    memcpy(info, &i, size < sizeof i ? size : sizeof i);
    return 0;
}

int bioinfer_tracks_get_output(const bioinfer_task *task, int index,
                               struct bioinfer_tracks_info *info)
{
    const struct bi_tracks_task *s = (const struct bi_tracks_task *)task;
    struct bioinfer_tracks_info i = {0};
    const struct bi_tracks_output *o;
    size_t size;
    if (task && task->inner && task->inner->def == &bi_task_contributions)
        return explained_output(task->inner, index, info);
    if (task && task->inner)
        s = (const struct bi_tracks_task *)(task = task->inner);
    if (!task || task->def->result != tracks_result || !info ||
        info->struct_size < sizeof info->struct_size)
        return BIOINFER_INVALID;
    if (index < 0 || index >= s->n_outputs)
        return BIOINFER_NOT_FOUND;
    o = &s->of[index];
    i.head = o->h->name;
    i.window = s->t->window;
    i.bin_size = o->h->bin_size;
    i.first_bin = o->h->first_bin;
    i.n_bins = o->h->n_bins;
    i.n_rows = s->lists[0] && s->lists[0][index].any ? 0 : bi_tracks_rows(s, o);
    i.kind = (int)o->h->kind;
    i.n_tracks = o->n_tracks;
    i.n_head_tracks = o->h->n_tracks;
    i.n_tokens = s->t->n_tokens;
    i.n_whole = s->n_whole;
    i.n_cut = s->n_cut;
    i.cut_tokens = s->cut_tokens;
    i.n_outputs = s->n_outputs;
    i.n_values = s->n_values;
    i.values_at = o->at;
    i.array = o->array;
    i.output = o->h->output;
    i.organism = o->h->organism;
    size = info->struct_size < sizeof i ? info->struct_size : sizeof i;
    i.struct_size = info->struct_size;
    memcpy(info, &i, size);
    return 0;
}

int bioinfer_tracks_get_info(const bioinfer_task *task, struct bioinfer_tracks_info *info)
{
    return bioinfer_tracks_get_output(task, 0, info);
}

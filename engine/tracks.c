/* tracks.c - windows of DNA to tracks, and variants of a window by what they change.
 *
 * A window runs whole, or in two halves cut where the convolutions end. With the features of a
 * reference kept, a changed window recomputes only the tokens that can see the change: every
 * row of every layer is one chain of operations whatever its neighbours, so the patched
 * features are those of a full run, bit for bit, and the second half runs as it is.
 *
 * Sections: life, views of a window, parts, what differs, windows on their way, the kept reference,
 * changed windows in company, pairs, public calls. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../base/team.h"
#include "engine.h"

enum {
    MAX_SHIFTS = 64,
    CUT_STEP = 8,                           /* tokens of a cut window: few plans */
    AT_ONCE = 16,                           /* changed windows in a program, a power of two */
    TOGETHER = BIOINFER_STARTED / BI_SLOTS, /* whole ones, the same */
    ENOUGH_TOKENS = 12288,                  /* rows that fill a GPU */
    MOST_OUTPUT =
        64 << 20, /* bytes of tracks of several: more is no faster, as they must be brought out */
    MANY_VALUES = 1 << 18 /* of a window, that several threads bring in */
};

/* The reference as one view sees it. */
struct kept {
    float *features[BI_TRACKS_FEATURES];
    bool valid;
};

/* The tokens that see a base between first and last, and the tokens to compute so that the
 * edges of the cut, which pad where the window goes on, do not reach them. */
struct cut {
    int64_t token, n_tokens; /* that change */
    int64_t first, n;        /* to compute */
};

/* Changed windows in company: which of the caller's they are. */
struct company {
    int n, of[AT_ONCE];
};

/* Those that wait for company, and those on their way. */
struct waiting {
    struct company all;
    struct cut cuts[AT_ONCE];
    int32_t *bases; /* [AT_ONCE][usual cut]; NULL = there is no company */
    int most;       /* in one program; 1: memory does not do for several */
    struct company running;
    struct bi_exec_slot *slot; /* of them, NULL = there are none */
};

/* A window on its way, or a pair of them: where its values go, those of the changed one behind the other's,
 * how many of its views are to come in. */
struct window {
    float *values;
    int n_windows;
    int n_left;
    bool finite;
};

/* Views of windows that are of one program: of whole ones or, where `pairs`, of a whole one each and of one
 * that differs by the bases of a cut. */
struct group {
    struct bi_exec_slot *slot; /* once they are at work */
    bool pairs;
    int n;
    struct {
        struct window *window;
        int view;
        bool changed; /* a whole window that is the second of a pair */
        struct cut cut;
    } of[TOGETHER];
};

/* Windows in the order they set out: a ring. Their views that are at work, and those that wait for
 * company. */
struct started {
    struct window of[BIOINFER_STARTED];
    int oldest, n;
    struct group runs[BI_SLOTS],
        waiting; /* waiting: bases of view i are those of window i of s->bases */
    int n_runs;
    int most;       /* views in a program, a power of two; 1: there is no gain, or not the memory */
    int most_pairs; /* views of pairs, the same; 0: none */
    int room_pairs; /* what it was at first: half the windows of s->bases */
    int32_t *cut_bases; /* [most_pairs][usual cut] of those that wait */
};

/* A slot's input block holds the features of a view's reference for a plan. */
struct held {
    struct bi_plan_key key;
    uint64_t generation, reference; /* 0 = it does not */
    int view;
};

struct bioinfer_tracks {
    struct bioinfer_model *model;
    const struct bi_tracks *t;
    const struct bi_env *env;
    struct bi_exec *exec;
    int head, n_tracks, n_views, n_shifts;
    int sums;                /* enum bioinfer_tracks_sums */
    int32_t *tracks, *pairs; /* pairs: the other strand's track of each wanted one */
    bool all_tracks;         /* as many as the head has: they are put in order here, else only the
                          * wanted rows of the head's weight are on the device */
    bool other_pairs;        /* pairs differ from tracks */
    bool in_order[2];        /* tracks, and pairs, are 0, 1, 2 ... */
    int shifts[MAX_SHIFTS];
    bool both_strands, quarter;
    char *no_rules;
    int64_t usual;      /* tokens of the cut around one base, of families that take company */
    struct kept *kept;  /* [n_views], NULL = nothing is kept */
    char *sequence;     /* [window] that the caller gave as reference */
    uint64_t reference; /* how many there were */
    struct held held[BI_SLOTS];
    struct waiting waiting;
    struct started started;
    int32_t *bases; /* [started.most][window] of those that wait, or [window] of the view at hand */
    uint64_t n_whole, n_cut, cut_tokens;
    atomic_flag busy;
};

/* Rows of a window's values. */
static int64_t n_rows_of(const struct bioinfer_tracks *s)
{
    return s->sums ? 2 * s->sums : s->t->n_bins;
}

static int64_t n_values_of(const struct bioinfer_tracks *s)
{
    return n_rows_of(s) * s->n_tracks;
}

/* ---- life ---- */

static int find_head(const struct bioinfer_tracks *s, const char *name, int *head,
                     struct bioinfer_error *err)
{
    char list[160] = "";
    *head = 0;
    for (int i = 0; name && i < s->t->n_heads; i++) {
        if (!strcmp(s->t->heads[i].name, name)) {
            *head = i;
            return 0;
        }
        if (strlen(list) + strlen(s->t->heads[i].name) + 3 < sizeof list)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "",
                     s->t->heads[i].name);
    }
    return name ? bi_fail(err, BIOINFER_INVALID, "%s: no head '%.60s'; it has %s", s->model->path,
                          name, list)
                : 0;
}

static int take_tracks(struct bioinfer_tracks *s, const struct bioinfer_tracks_params *p,
                       struct bioinfer_error *err)
{
    int all = s->t->heads[s->head].n_tracks;
    if (p->n_tracks < 0 || (p->n_tracks && !p->tracks))
        return bi_fail(err, BIOINFER_INVALID, "tracks: %d of them, none given", p->n_tracks);
    s->n_tracks = p->n_tracks ? p->n_tracks : all;
    s->all_tracks = s->n_tracks >= all;
    s->tracks = bi_calloc(s->env, (size_t)s->n_tracks, sizeof *s->tracks);
    s->pairs = bi_calloc(s->env, (size_t)s->n_tracks, sizeof *s->pairs);
    if (!s->tracks || !s->pairs)
        return bi_fail(err, BIOINFER_NOMEM, "tracks");
    s->in_order[0] = s->in_order[1] = true;
    for (int i = 0; i < s->n_tracks; i++) {
        int track = p->n_tracks ? p->tracks[i] : i;
        if (track < 0 || track >= all)
            return bi_fail(err, BIOINFER_INVALID, "track %d: head %s has tracks 0 to %d", track,
                           s->t->heads[s->head].name, all - 1);
        s->tracks[i] = track;
        s->pairs[i] = p->strand_pairs ? p->strand_pairs[track] : track;
        if (s->pairs[i] < 0 || s->pairs[i] >= all)
            return bi_fail(err, BIOINFER_INVALID,
                           "track %d: the other strand's is %d, head %s has "
                           "tracks 0 to %d",
                           track, s->pairs[i], s->t->heads[s->head].name, all - 1);
        s->other_pairs |= s->pairs[i] != track;
        s->in_order[0] &= track == i;
        s->in_order[1] &= s->pairs[i] == i;
    }
    return 0;
}

static int take_views(struct bioinfer_tracks *s, const struct bioinfer_tracks_params *p,
                      struct bioinfer_error *err)
{
    s->n_shifts = p->n_shifts ? p->n_shifts : 1;
    if (p->n_shifts < 0 || p->n_shifts > MAX_SHIFTS || (p->n_shifts && !p->shifts))
        return bi_fail(err, BIOINFER_INVALID, "shifts: %d of them, expected up to %d", p->n_shifts,
                       MAX_SHIFTS);
    for (int i = 0; i < p->n_shifts; i++) {
        s->shifts[i] = p->shifts[i];
        if (s->shifts[i] <= -s->t->window || s->shifts[i] >= s->t->window)
            return bi_fail(err, BIOINFER_INVALID, "shift %d: a window has %lld bases", s->shifts[i],
                           (long long)s->t->window);
    }
    s->both_strands = p->reverse_complement != 0;
    s->quarter = p->quarter != 0;
    s->n_views = s->n_shifts * (s->both_strands ? 2 : 1);
    s->sums = p->sums;
    if (p->sums < BIOINFER_NO_SUMS || p->sums > BIOINFER_SUMS_AND_LOGS)
        return bi_fail(err, BIOINFER_INVALID, "tracks: sums %d, expected up to %d", p->sums,
                       BIOINFER_SUMS_AND_LOGS);
    if (p->sums == BIOINFER_SUMS_AND_LOGS && s->n_views > 1)
        return bi_fail(err, BIOINFER_INVALID,
                       "tracks: sums of logarithms are of one window, %d make a mean", s->n_views);
    return 0;
}

static struct cut cut_around(const struct bi_tracks *t, int64_t first, int64_t last)
{
    const int64_t margin = (t->reach + t->token_size - 1) / t->token_size;
    int64_t low = first - t->reach, high = last + t->reach;
    struct cut c;
    low = low < 0 ? 0 : low / t->token_size;
    high = high / t->token_size + 1;
    high = high > t->n_tokens ? t->n_tokens : high;
    c.token = low;
    c.n_tokens = high - low;
    c.first = low > margin ? low - margin : 0;
    c.n = (high + margin - c.first + CUT_STEP - 1) / CUT_STEP * CUT_STEP;
    if (c.first + c.n > t->n_tokens)
        c.first = t->n_tokens > c.n ? t->n_tokens - c.n : 0;
    if (c.n > t->n_tokens)
        c.n = t->n_tokens;
    return c;
}

static int keep_memory(struct bioinfer_tracks *s, struct bioinfer_error *err)
{
    s->kept = bi_calloc(s->env, (size_t)s->n_views, sizeof *s->kept);
    if (!(s->sequence = bi_calloc(s->env, (size_t)s->t->window, 1)))
        return bi_fail(err, BIOINFER_NOMEM, "a reference window");
    for (int v = 0; s->kept && v < s->n_views; v++) {
        struct kept *k = &s->kept[v];
        bool ok = true;
        for (int i = 0; ok && i < s->t->n_features; i++) {
            const struct bi_feature *f = &s->t->features[i];
            ok = (k->features[i] = bi_calloc(s->env, (size_t)(s->t->n_tokens * f->rows),
                                             (size_t)f->width * sizeof(float)));
        }
        if (!ok)
            return bi_fail(err, BIOINFER_NOMEM, "features of a reference window");
    }
    if (s->kept && s->t->batches) {
        const int64_t most = MOST_OUTPUT / (n_values_of(s) * (int64_t)sizeof(float));
        for (s->waiting.most = 2; s->waiting.most < AT_ONCE && 2 * s->waiting.most <= most;)
            s->waiting.most *= 2;
        s->waiting.bases = bi_calloc(s->env, (size_t)(AT_ONCE * s->usual),
                                     (size_t)s->t->token_size * sizeof *s->waiting.bases);
        if (!s->waiting.bases)
            return bi_fail(err, BIOINFER_NOMEM, "bases of changed windows");
    }
    return s->kept ? 0 : bi_fail(err, BIOINFER_NOMEM, "features of a reference window");
}

/* Several windows in a program have more rows: a gain where one has too few to fill the device. */
static int most_together(const struct bioinfer_tracks *s)
{
    const int64_t output = n_values_of(s) * (int64_t)sizeof(float);
    int most = 1;
    while (s->model->caps.async && s->t->batches && 2 * most <= TOGETHER &&
           2 * most * s->t->n_tokens <= ENOUGH_TOKENS && 2 * most * output <= MOST_OUTPUT)
        most *= 2;
    return most;
}

int bioinfer_tracks_new(bioinfer_tracks **out, const bioinfer_model *model,
                        const struct bioinfer_tracks_params *params, struct bioinfer_error *err)
{
    struct bioinfer_tracks_params p = {0};
    struct bioinfer_tracks *s = NULL;
    int st;
    if (!out || !model)
        return bi_fail(err, BIOINFER_INVALID, "tracks: out and model must be given");
    *out = NULL;
    if ((st = bi_context_check(model->ctx, err)) ||
        (st = bi_params_copy(&p, sizeof p, params, "tracks params", err)))
        return st;
    if (!model->base.def->build_tracks)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s gives no tracks", model->path,
                       model->base.def->name);
    if (!(s = bi_zalloc(model->base.env, sizeof *s)))
        return bi_fail(err, BIOINFER_NOMEM, "tracks");
    s->env = model->base.env;
    s->model = (struct bioinfer_model *)(uintptr_t)model; /* its store fills under a lock */
    s->t = &model->base.tracks;
    atomic_flag_clear(&s->busy);
    if ((st = find_head(s, p.head, &s->head, err)) || (st = take_tracks(s, &p, err)) ||
        (st = take_views(s, &p, err)))
        goto out;
    s->usual = cut_around(s->t, s->t->window / 2, s->t->window / 2).n;
    s->started.most = most_together(s);
    s->started.most_pairs = s->started.room_pairs = s->started.most / 2;
    if ((p.no_rules && !(s->no_rules = bi_strdup(s->env, p.no_rules))) ||
        !(s->bases = bi_calloc(s->env, (size_t)(s->started.most * s->t->window),
                               sizeof *s->bases)) ||
        (s->started.most_pairs &&
         !(s->started.cut_bases = bi_calloc(s->env, (size_t)(s->started.most_pairs * s->usual),
                                            (size_t)s->t->token_size * sizeof(int32_t))))) {
        st = bi_fail(err, BIOINFER_NOMEM, "tracks");
        goto out;
    }
    if ((p.keep && (st = keep_memory(s, err))) ||
        (st = bi_exec_new(&s->exec, s->model, p.memory_limit, err)))
        goto out;
    *out = s;
    s = NULL;
out:
    bioinfer_tracks_free(&s);
    return st;
}

void bioinfer_tracks_free(bioinfer_tracks **tracks)
{
    struct bioinfer_tracks *s = tracks ? *tracks : NULL;
    if (!s)
        return;
    bi_exec_free(&s->exec);
    for (int v = 0; s->kept && v < s->n_views; v++)
        for (int i = 0; i < BI_TRACKS_FEATURES; i++)
            bi_free(s->env, s->kept[v].features[i]);
    bi_free(s->env, s->kept);
    bi_free(s->env, s->sequence);
    bi_free(s->env, s->waiting.bases);
    bi_free(s->env, s->started.cut_bases);
    bi_free(s->env, s->bases);
    bi_free(s->env, s->tracks);
    bi_free(s->env, s->pairs);
    bi_free(s->env, s->no_rules);
    bi_free(s->env, s);
    *tracks = NULL;
}

/* ---- views: a strand, moved by a shift ---- */

static bool reversed(const struct bioinfer_tracks *s, int view)
{
    return view >= s->n_shifts;
}

/* Codes of all characters, or of their complements. */
static void fill_codes(int32_t codes[256], bool quarter, bool complement)
{
    static const char letters[] = "ACGT";
    for (int i = 0; i < 256; i++)
        codes[i] = BI_BASE_NONE;
    for (int32_t b = 0; b < 4; b++)
        codes[(int)letters[b]] = codes[letters[b] | 0x20] = complement ? 3 - b : b;
    if (quarter)
        codes['.'] = BI_BASE_QUARTER;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Bases [from, to) of a view, to bases[0]. What moves in at the end of a shifted window is no base. */
static void read_part(const struct bioinfer_tracks *s, const char *sequence, int view, int64_t from,
                      int64_t to, int32_t *bases)
{
    const int64_t n = s->t->window, shift = s->shifts[view % s->n_shifts];
    const int64_t first = clamp(shift, from, to), end = clamp(n + shift, from, to);
    const unsigned char *letters = (const unsigned char *)sequence;
    int32_t codes[256];
    fill_codes(codes, s->quarter, reversed(s, view));
    for (int64_t i = from; i < first; i++)
        bases[i - from] = BI_BASE_NONE;
    for (int64_t i = first; i < end && !reversed(s, view); i++)
        bases[i - from] = codes[letters[i - shift]];
    for (int64_t i = first; i < end && reversed(s, view); i++)
        bases[i - from] = codes[letters[n - 1 - (i - shift)]];
    for (int64_t i = end; i < to; i++)
        bases[i - from] = BI_BASE_NONE;
}

static void read_view(const struct bioinfer_tracks *s, const char *sequence, int view,
                      int32_t *bases)
{
    read_part(s, sequence, view, 0, s->t->window, bases);
}

/* ---- parts ---- */

struct graph_of {
    const struct bi_model *model;
    struct bi_tracks_shape shape;
};

static int build_graph(void *user, struct bi_graph *g, struct bioinfer_error *err)
{
    const struct graph_of *of = user;
    (void)err;
    g->n_tokens = g->longest = of->shape.n_tokens * of->shape.n_windows;
    g->n_seqs = 1;
    of->model->def->build_tracks(of->model, g, &of->shape);
    return 0;
}

static const int32_t *tracks_of(const struct bioinfer_tracks *s, int view)
{
    return reversed(s, view) ? s->pairs : s->tracks;
}

static struct bi_tracks_shape shape_of(const struct bioinfer_tracks *s, enum bi_tracks_part part,
                                       int view, int64_t n_tokens, int64_t n_windows)
{
    return (struct bi_tracks_shape){.part = part,
                                    .n_tokens = n_tokens,
                                    .n_windows = n_windows,
                                    .head = s->head,
                                    .n_tracks = s->n_tracks,
                                    .tracks = s->all_tracks ? NULL : tracks_of(s, view),
                                    .sums = s->sums};
}

/* Does the device compute other tracks of this view than of the first strand? */
static bool other_tracks(const struct bioinfer_tracks *s, int view)
{
    return reversed(s, view) && s->other_pairs && !s->all_tracks;
}

/* 1: not beside the batch that is on its way. */
static int begin_some(struct bioinfer_tracks *s, enum bi_tracks_part part, int view,
                      int64_t n_tokens, int64_t n_windows, struct bi_exec_slot **slot,
                      struct bioinfer_error *err)
{
    struct graph_of of = {&s->model->base, shape_of(s, part, view, n_tokens, n_windows)};
    const int32_t all = (int32_t)(n_tokens * n_windows);
    struct bi_recipe recipe = {
        /* the head is that of the session */
        .key = {{(uint64_t)part, (uint64_t)n_tokens, (uint64_t)n_windows, other_tracks(s, view)}},
        .build = build_graph,
        .user = &of,
        .no_rules = s->no_rules};
    struct bi_exec_batch b = {.recipe = &recipe,
                              .counts = {.n_tokens = all, .n_seqs = 1, .longest = all}};
    int st = bi_exec_begin(s->exec, &b, slot, err);
    if (!st && memcmp(&s->held[(*slot)->index].key, &recipe.key, sizeof recipe.key))
        s->held[(*slot)->index].reference = 0;
    return st;
}

static int begin(struct bioinfer_tracks *s, enum bi_tracks_part part, int view, int64_t n_tokens,
                 struct bi_exec_slot **slot, struct bioinfer_error *err)
{
    const int st = begin_some(s, part, view, n_tokens, 1, slot, err);
    return st > 0 ? bi_fail(err, BIOINFER_INTERNAL, "tracks: two batches at once") : st;
}

static int run(struct bioinfer_tracks *s, struct bi_exec_slot *slot, struct bioinfer_error *err)
{
    int st = bi_exec_submit(s->exec, slot, err);
    return st ? st : bi_exec_wait(s->exec, slot, err);
}

/* high + low, which have more digits than one number. */
static void put_sum(float *high, float *low, double sum)
{
    *high = (float)sum;
    *low = (float)(sum - (double)*high);
}

/* Adds the wanted sums over bins of a view, see add_tracks_of. */
static bool add_sums_of(const struct bioinfer_tracks *s, const float *from, int64_t ld,
                        const int32_t *which, float *values)
{
    bool finite = true;
    for (int kind = 0; kind < s->sums; kind++, from += 2 * ld, values += 2 * s->n_tracks)
        for (int i = 0; i < s->n_tracks; i++) {
            const int of = which ? which[i] : i;
            const double v = (double)from[of] + (double)from[ld + of];
            float *high = values + i, *low = high + s->n_tracks;
            finite &= isfinite(v) != 0;
            put_sum(high, low, (double)*high + (double)*low + v);
        }
    return finite;
}

/* Values of a bin, of tracks `which` or, where it is NULL, in order; the first of several views, or the only
 * one, is not added to what is there. false when one is not finite. */
static bool take_bin(float *to, const float *from, const int32_t *which, int n, bool first)
{
    const int32_t infinity = 0x7f800000;
    int32_t largest = 0; /* of the bits without signs */
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

struct taking {
    const struct bioinfer_tracks *s;
    const float *from;
    float *values;
    const int32_t *which;
    int64_t ld;
    int view;
    _Atomic bool infinite; /* a value is not finite */
};

static void take_bins(void *user, int thread, int64_t first, int64_t end)
{
    struct taking *t = user;
    const struct bioinfer_tracks *s = t->s;
    (void)thread;
    for (int64_t b = first; b < end; b++) {
        const int64_t from = reversed(s, t->view) ? s->t->n_bins - 1 - b : b;
        if (!take_bin(t->values + b * s->n_tracks, t->from + from * t->ld, t->which, s->n_tracks,
                      s->n_views == 1))
            t->infinite = true;
    }
}

/* Takes in the wanted tracks of a view, of window `at` of several; false when a value is not finite. */
static bool add_tracks_of(const struct bioinfer_tracks *s, const struct bi_exec_slot *slot,
                          int view, int at, float *values)
{
    const int64_t n = s->t->n_bins;
    const int32_t *which = s->all_tracks && !s->in_order[reversed(s, view)] ? tracks_of(s, view)
                                                                            : NULL;
    const int n_threads = n_values_of(s) < MANY_VALUES ? 1 : s->model->ctx->n_threads;
    int64_t ld;
    const float *from = bi_exec_output(slot, &slot->plan->graph->outputs[0], &ld);
    struct taking taking = {.s = s, .values = values, .which = which, .view = view};
    taking.from = from + at * n_rows_of(s) * ld;
    taking.ld = ld;
    if (s->sums)
        return add_sums_of(s, taking.from, ld, which, values);
    bi_team_for(s->env, n_threads, n, (n + n_threads - 1) / n_threads, take_bins, &taking);
    return !taking.infinite;
}

static bool add_tracks(const struct bioinfer_tracks *s, const struct bi_exec_slot *slot, int view,
                       float *sums)
{
    return add_tracks_of(s, slot, view, 0, sums);
}

/* Windows are filled up with the last one to a number that has a plan. */
static int filled_up(int n)
{
    int all = 1;
    while (all < n)
        all *= 2;
    return all;
}

/* Features of tokens first ... first + n - 1 into `to`, of which rows from `skip` on for
 * `count` tokens are wanted. */
static int run_convolutions(struct bioinfer_tracks *s, int64_t first, int64_t n, int64_t skip,
                            int64_t count, float *const *to, struct bioinfer_error *err)
{
    struct bi_exec_slot *slot;
    int st = begin(s, BI_TRACKS_CONVOLUTIONS, 0, n, &slot, err);
    if (st)
        return st;
    memcpy(bi_exec_input(slot, "bases"), s->bases + first * s->t->token_size,
           (size_t)(n * s->t->token_size) * sizeof *s->bases);
    if ((st = run(s, slot, err)))
        return st;
    for (int i = 0; i < s->t->n_features; i++) {
        const struct bi_feature *f = &s->t->features[i];
        int64_t ld, size = f->rows * f->width;
        const float *from = bi_exec_output(slot, &slot->plan->graph->outputs[i], &ld);
        memcpy(to[i] + (first + skip) * size, from + skip * size,
               (size_t)(count * size) * sizeof *from);
    }
    return 0;
}

static int run_rest(struct bioinfer_tracks *s, int view, float *const *features, float *sums,
                    struct bioinfer_error *err)
{
    struct bi_exec_slot *slot;
    int st = begin(s, BI_TRACKS_REST, view, s->t->n_tokens, &slot, err);
    if (st)
        return st;
    for (int i = 0; i < s->t->n_features; i++) {
        const struct bi_feature *f = &s->t->features[i];
        memcpy(bi_exec_input(slot, f->name), features[i],
               (size_t)(s->t->n_tokens * f->rows * f->width) * sizeof(float));
    }
    if ((st = run(s, slot, err)))
        return st;
    return add_tracks(s, slot, view, sums)
               ? 0
               : bi_fail(err, BIOINFER_NONFINITE, "tracks are not finite");
}

/* Of n windows in a program: the tokens they start with, all with those of one. */
static void fill_from(const struct bioinfer_tracks *s, const struct bi_exec_slot *slot, int n)
{
    const int64_t n_tokens = s->t->n_tokens;
    int32_t *from = bi_exec_input(slot, "from");
    for (int64_t i = 0; i < n * n_tokens; i++)
        from[i] = (int32_t)(i % n_tokens);
}

/* And those that are given. */
static void fill_kept(const struct bioinfer_tracks *s, const struct bi_exec_slot *slot, int n)
{
    const struct bi_tracks *t = s->t;
    int32_t *kept = bi_exec_input(slot, "kept");
    for (int64_t i = 0; i < n * t->n_bins; i++)
        kept[i] = (int32_t)(i / t->n_bins * t->n_tokens + t->first_bin + i % t->n_bins);
}

/* Of the tokens that a cut computes those that change, in window `at` of a program; -1: the others. */
static void fill_changes(const struct bioinfer_tracks *s, const struct cut *c, int64_t at,
                         int32_t *row)
{
    for (int64_t k = 0; k < s->usual; k++) {
        const int64_t token = c->first + k;
        const bool changes = token >= c->token && token < c->token + c->n_tokens;
        row[k] = changes ? (int32_t)(at * s->t->n_tokens + token) : -1;
    }
}

/* ---- what differs ---- */

/* Letters first ... last of the window are others than the reference's; false: none is. */
static bool find_letters(const struct bioinfer_tracks *s, const char *reference,
                         const char *sequence, int64_t *first, int64_t *last)
{
    enum { STEP = 512 };
    int64_t low = 0, high = s->t->window; /* equal in front of low and from high on */
    while (low + STEP <= high && !memcmp(sequence + low, reference + low, STEP))
        low += STEP;
    while (low < high && sequence[low] == reference[low])
        low++;
    while (low + STEP <= high && !memcmp(sequence + high - STEP, reference + high - STEP, STEP))
        high -= STEP;
    while (low < high && sequence[high - 1] == reference[high - 1])
        high--;
    *first = low;
    *last = high - 1;
    return low < high;
}

/* The letter that a view has at a place. */
static unsigned char letter_at(const struct bioinfer_tracks *s, const char *sequence, int view,
                               int64_t place)
{
    const int64_t from = place - s->shifts[view % s->n_shifts];
    return (unsigned char)sequence[reversed(s, view) ? s->t->window - 1 - from : from];
}

/* What to compute of a view; false: it is that of the reference. */
static bool find_cut(const struct bioinfer_tracks *s, const char *reference, const char *sequence,
                     int view, struct cut *c)
{
    const int64_t n = s->t->window, shift = s->shifts[view % s->n_shifts];
    int64_t low, high, first, end;
    int32_t codes[256];
    if (!find_letters(s, reference, sequence, &low, &high))
        return false;
    fill_codes(codes, s->quarter, false);
    first = clamp(shift + (reversed(s, view) ? n - 1 - high : low), 0, n);
    end = clamp(shift + (reversed(s, view) ? n - 1 - low : high) + 1, 0, n);
    while (first < end && codes[letter_at(s, sequence, view, first)] ==
                              codes[letter_at(s, reference, view, first)])
        first++;
    while (first < end && codes[letter_at(s, sequence, view, end - 1)] ==
                              codes[letter_at(s, reference, view, end - 1)])
        end--;
    if (first < end)
        *c = cut_around(s->t, first, end - 1);
    return first < end;
}

/* Is a cut one of those that go in company: as large as that around one base, and off the window's ends,
 * which would move it? */
static bool is_usual(const struct bioinfer_tracks *s, const struct cut *c)
{
    return c->n == s->usual && c->first && c->first + c->n < s->t->n_tokens;
}

/* ---- windows on their way ----
 *
 * Views of windows, and of pairs of them, wait until they fill a program, or one of them is asked for; each
 * has the bits that it has alone. */

/* The input of window i of several. */
static int32_t *input_of(const struct bi_exec_slot *slot, const char *name, int i)
{
    char full[16];
    snprintf(full, sizeof full, i ? "%s%d" : "%s", name, i);
    return bi_exec_input(slot, full);
}

static void fill_group(struct bioinfer_tracks *s, const struct bi_exec_slot *slot, int first, int n)
{
    const int all = filled_up(n);
    const int64_t window = s->t->window;
    for (int i = 0; i < all; i++)
        memcpy(input_of(slot, "bases", i), s->bases + (first + (i < n ? i : n - 1)) * window,
               (size_t)window * sizeof *s->bases);
    for (int i = 1; i < all; i++) {
        int32_t *row = input_of(slot, "row", i);
        for (int32_t k = 0; k < s->t->n_tokens; k++)
            row[k] = i * (int32_t)s->t->n_tokens + k;
    }
    if (all > 1)
        fill_from(s, slot, all);
}

/* What a program of n pairs has beside their whole windows. */
static void fill_pairs(struct bioinfer_tracks *s, const struct bi_exec_slot *slot, int first, int n)
{
    const struct started *on = &s->started;
    const int all = filled_up(n);
    const int64_t size = s->usual * s->t->token_size, n_tokens = s->t->n_tokens;
    int32_t *cut = bi_exec_input(slot, "cut"), *at = bi_exec_input(slot, "at");
    int32_t *beside = bi_exec_input(slot, "beside");
    for (int i = 0; i < all; i++) {
        const int of = first + (i < n ? i : n - 1);
        memcpy(cut + i * size, on->cut_bases + of * size, (size_t)size * sizeof *cut);
        fill_changes(s, &on->waiting.of[of].cut, all + i, at + i * s->usual);
    }
    for (int64_t k = 0; k < 2 * all * n_tokens; k++)
        beside[k] = (int32_t)(k % (all * n_tokens));
}

/* The views that set out first come in. */
static int views_in(struct bioinfer_tracks *s, struct bioinfer_error *err)
{
    struct started *on = &s->started;
    const struct group g = on->runs[0];
    const int st = bi_exec_wait(s->exec, g.slot, err);
    if (st)
        return st;
    memmove(on->runs, on->runs + 1, (size_t)--on->n_runs * sizeof *on->runs);
    for (int i = 0; i < g.n; i++) {
        struct window *w = g.of[i].window;
        const int view = g.of[i].view;
        float *other = w->values + n_values_of(s);
        w->finite &= add_tracks_of(s, g.slot, view, i, g.of[i].changed ? other : w->values);
        if (g.pairs)
            w->finite &= add_tracks_of(s, g.slot, view, filled_up(g.n) + i, other);
        w->n_left--;
    }
    s->n_whole += (uint64_t)g.n;
    if (g.pairs) {
        s->n_cut += (uint64_t)g.n;
        s->cut_tokens += (uint64_t)(g.n * s->usual);
    }
    return 0;
}

/* n of the views that wait, from `first` on, in one program; 1: there is not the memory for several. */
static int submit_some(struct bioinfer_tracks *s, int first, int n, struct bioinfer_error *err)
{
    struct started *on = &s->started;
    struct group g = {.n = n, .pairs = on->waiting.pairs};
    const enum bi_tracks_part part = g.pairs ? BI_TRACKS_PAIRS : BI_TRACKS_WHOLE;
    const int64_t n_tokens = g.pairs ? s->usual : s->t->n_tokens;
    const int n_windows = filled_up(n);
    int st;
    memcpy(g.of, on->waiting.of + first, (size_t)n * sizeof *g.of);
    while ((st = begin_some(s, part, g.of[0].view, n_tokens, n_windows, &g.slot, err)) > 0 &&
           on->n_runs)
        if ((st = views_in(s, err)))
            return st;
    if ((n > 1 || g.pairs) && (st == BIOINFER_NOMEM || st == BIOINFER_TOO_LONG))
        return 1;
    if (st)
        return st > 0 ? bi_fail(err, BIOINFER_INTERNAL, "tracks: no slot is free") : st;
    fill_group(s, g.slot, first, n);
    if (g.pairs)
        fill_pairs(s, g.slot, first, n);
    if (g.pairs || n_windows > 1)
        fill_kept(s, g.slot, g.pairs ? 2 * n_windows : n_windows);
    if (!(st = bi_exec_submit(s->exec, g.slot, err)))
        on->runs[on->n_runs++] = g;
    return st;
}

/* Both windows of a pair that waits, each as a whole one: memory does not do for them in one program. */
static int submit_apart(struct bioinfer_tracks *s, int at, struct bioinfer_error *err)
{
    struct started *on = &s->started;
    struct group *g = &on->waiting;
    const int64_t size = s->usual * s->t->token_size, window = s->t->window;
    const int other = at + on->room_pairs;
    int st;
    memcpy(s->bases + other * window, s->bases + at * window, (size_t)window * sizeof *s->bases);
    memcpy(s->bases + other * window + g->of[at].cut.first * s->t->token_size,
           on->cut_bases + at * size, (size_t)size * sizeof *s->bases);
    g->of[other] = g->of[at];
    g->of[other].changed = true;
    g->of[at].window->n_left++;
    g->pairs = false;
    if (!(st = submit_some(s, at, 1, err)))
        st = submit_some(s, other, 1, err);
    g->pairs = true;
    return st;
}

/* All views that wait set out, in smaller programs from now on where the memory does not do. */
static int submit_waiting(struct bioinfer_tracks *s, struct bioinfer_error *err)
{
    struct started *on = &s->started;
    int *most = on->waiting.pairs ? &on->most_pairs : &on->most, st = 0;
    for (int at = 0, n; !st && at < on->waiting.n; at += n) {
        n = on->waiting.n - at < *most ? on->waiting.n - at : *most;
        if (!n) { /* of pairs */
            st = submit_apart(s, at, err);
            n = 1;
            continue;
        }
        if (3 * (filled_up(n) - n) > n) /* too much to fill up */
            n = filled_up(n) / 2;
        if ((st = submit_some(s, at, n, err)) > 0) {
            *most = filled_up(n) / 2;
            st = n = 0;
        }
    }
    on->waiting.n = 0;
    return st;
}

/* A window, or n of one caller's values, that set out; there is room in `started`. */
static struct window *add_window(struct bioinfer_tracks *s, float *values, int n)
{
    struct started *on = &s->started;
    struct window *w = &on->of[(on->oldest + on->n++) % BIOINFER_STARTED];
    *w = (struct window){values, n, 0, true};
    return w;
}

/* Place for a view of a window, or of a pair, among those that wait; others than of its kind set out. */
static int add_view(struct bioinfer_tracks *s, struct window *w, int view, bool pairs,
                    struct bioinfer_error *err)
{
    struct group *g = &s->started.waiting;
    int st;
    if (g->n && (g->pairs != pairs || other_tracks(s, view) != other_tracks(s, g->of[0].view)) &&
        (st = submit_waiting(s, err)))
        return st;
    g->pairs = pairs;
    g->of[g->n].window = w;
    g->of[g->n].view = view;
    g->of[g->n].changed = false;
    w->n_left++;
    return 0;
}

/* That view is complete. */
static int submit_full(struct bioinfer_tracks *s, struct bioinfer_error *err)
{
    struct started *on = &s->started;
    return ++on->waiting.n >= (on->waiting.pairs ? on->most_pairs : on->most)
               ? submit_waiting(s, err)
               : 0;
}

/* With one view; its values are added to those there, of a pair to those of the changed window. */
static int set_out_view(struct bioinfer_tracks *s, struct window *w, const char *sequence, int view,
                        bool changed, struct bioinfer_error *err)
{
    struct group *g = &s->started.waiting;
    int st = add_view(s, w, view, false, err);
    if (st)
        return st;
    g->of[g->n].changed = changed;
    read_view(s, sequence, view, s->bases + g->n * s->t->window);
    return submit_full(s, err);
}

/* With n views of a window, from `first` on. */
static int set_out(struct bioinfer_tracks *s, const char *sequence, int first, int n, float *values,
                   struct bioinfer_error *err)
{
    struct window *w = add_window(s, values, 1);
    int st = 0;
    for (int v = first; !st && v < first + n; v++)
        st = set_out_view(s, w, sequence, v, false, err);
    return st;
}

/* The first of those on their way comes in; n: how many windows its values are of. What waits for company
 * goes before the host waits. */
static int come_in(struct bioinfer_tracks *s, float **values, int *n, struct bioinfer_error *err)
{
    struct started *on = &s->started;
    const struct window *w = &on->of[on->oldest];
    int st = 0;
    *values = w->values;
    *n = w->n_windows;
    while (!st && w->n_left)
        st = on->waiting.n && on->n_runs < BI_SLOTS ? submit_waiting(s, err) : views_in(s, err);
    if (st)
        return st;
    on->oldest = (on->oldest + 1) % BIOINFER_STARTED;
    on->n--;
    return w->finite ? 0 : bi_fail(err, BIOINFER_NONFINITE, "tracks are not finite");
}

/* ---- the kept reference ---- */

static int run_reference(struct bioinfer_tracks *s, const char *sequence, int view, float *sums,
                         struct bioinfer_error *err)
{
    struct kept *k = &s->kept[view];
    int st;
    k->valid = false;
    s->reference++;
    memcpy(s->sequence, sequence, (size_t)s->t->window);
    if ((st = run_convolutions(s, 0, s->t->n_tokens, 0, s->t->n_tokens, k->features, err)) ||
        (st = run_rest(s, view, k->features, sums, err)))
        return st;
    s->n_whole++;
    k->valid = true;
    return 0;
}

/* The reference with some bases changed. */
static int run_changed(struct bioinfer_tracks *s, const char *sequence, int view, float *sums,
                       struct bioinfer_error *err)
{
    const struct bi_tracks *t = s->t;
    struct kept *k = &s->kept[view];
    float *saved[BI_TRACKS_FEATURES] = {NULL};
    struct cut c;
    int st = 0;
    if (!find_cut(s, s->sequence, sequence, view, &c))
        return run_rest(s, view, k->features, sums, err);
    if (2 * c.n > t->n_tokens) { /* nothing to save */
        int n;
        st = set_out(s, sequence, view, 1, sums, err);
        return st ? st : come_in(s, &sums, &n, err);
    }
    read_view(s, sequence, view, s->bases);
    for (int i = 0; !st && i < t->n_features; i++) {
        const int64_t size = t->features[i].rows * t->features[i].width;
        if (!(saved[i] = bi_calloc(s->env, (size_t)(c.n_tokens * size), sizeof **saved)))
            st = bi_fail(err, BIOINFER_NOMEM, "features of a reference window");
        else
            memcpy(saved[i], k->features[i] + c.token * size,
                   (size_t)(c.n_tokens * size) * sizeof **saved);
    }
    if (st)
        goto out;
    st = run_convolutions(s, c.first, c.n, c.token - c.first, c.n_tokens, k->features, err);
    if (!st)
        st = run_rest(s, view, k->features, sums, err);
    s->n_cut++;
    s->cut_tokens += (uint64_t)c.n;
    for (int i = 0; i < t->n_features; i++) {
        const int64_t size = t->features[i].rows * t->features[i].width;
        memcpy(k->features[i] + c.token * size, saved[i],
               (size_t)(c.n_tokens * size) * sizeof **saved);
    }
out:
    for (int i = 0; i < t->n_features; i++)
        bi_free(s->env, saved[i]);
    return st;
}

/* ---- changed windows in company ----
 *
 * One program computes the cut convolutions of several windows, puts the changed tokens into copies
 * of the reference's, and goes on with all of them: products of many rows, weights read once. Each
 * row is what it would be alone, to the bit; neighbours in "bases" are edges like those of any cut. */

/* What is the same for all windows of a view and a plan. */
static void fill_held(struct bioinfer_tracks *s, struct bi_exec_slot *slot, int view, int n_windows)
{
    const struct bi_tracks *t = s->t;
    struct held *h = &s->held[slot->index];
    if (h->reference == s->reference && h->view == view && h->generation == slot->generation)
        return;
    *h = (struct held){slot->plan->key, slot->generation, s->reference, view};
    memcpy(bi_exec_input(slot, t->features[0].name), s->kept[view].features[0],
           (size_t)(t->n_tokens * t->features[0].width) * sizeof(float));
    fill_from(s, slot, n_windows);
    fill_kept(s, slot, n_windows);
}

static void fill_company(struct bioinfer_tracks *s, struct bi_exec_slot *slot, int view,
                         int n_windows)
{
    const struct bi_tracks *t = s->t;
    const struct waiting *w = &s->waiting;
    const int64_t size = s->usual * t->token_size;
    int32_t *bases = bi_exec_input(slot, "bases"), *row = bi_exec_input(slot, "row");
    fill_held(s, slot, view, n_windows);
    for (int i = 0; i < n_windows; i++) {
        const int of = i < w->all.n ? i : w->all.n - 1;
        memcpy(bases + i * size, w->bases + of * size, (size_t)size * sizeof *bases);
        fill_changes(s, &w->cuts[of], i, row + i * s->usual);
    }
}

/* What a call is about. */
struct changes {
    const char *const *sequences;
    float *values; /* [n, n_rows, n_tracks] */
    int view;
};

static float *values_of(const struct bioinfer_tracks *s, const struct changes *ch, int window)
{
    return ch->values + window * n_values_of(s);
}

/* The results of those on their way, if any. */
static int finish_company(struct bioinfer_tracks *s, const struct changes *ch,
                          struct bioinfer_error *err)
{
    struct waiting *w = &s->waiting;
    struct bi_exec_slot *slot = w->slot;
    bool finite = true;
    int st;
    if (!slot)
        return 0;
    w->slot = NULL;
    if ((st = bi_exec_wait(s->exec, slot, err)))
        return st;
    for (int i = 0; i < w->running.n; i++)
        finite &= add_tracks_of(s, slot, ch->view, i, values_of(s, ch, w->running.of[i]));
    s->n_cut += (uint64_t)w->running.n;
    s->cut_tokens += (uint64_t)(w->running.n * s->usual);
    return finite ? 0 : bi_fail(err, BIOINFER_NONFINITE, "tracks are not finite");
}

/* Those that wait, one by one. */
static int run_alone(struct bioinfer_tracks *s, const struct changes *ch,
                     struct bioinfer_error *err)
{
    struct company *all = &s->waiting.all;
    int st = finish_company(s, ch, err);
    for (int i = 0; !st && i < all->n; i++)
        st = run_changed(s, ch->sequences[all->of[i]], ch->view, values_of(s, ch, all->of[i]), err);
    all->n = 0;
    return st;
}

/* Those that wait set out; then those before them come in. */
static int run_waiting(struct bioinfer_tracks *s, const struct changes *ch,
                       struct bioinfer_error *err)
{
    struct waiting *w = &s->waiting;
    const int n_windows = filled_up(w->all.n);
    const struct company all = w->all;
    struct bi_exec_slot *slot;
    int st;
    if (all.n < 2)
        return run_alone(s, ch, err);
    st = begin_some(s, BI_TRACKS_CHANGED, ch->view, s->usual, n_windows, &slot, err);
    if (st > 0 && !(st = finish_company(s, ch, err)))
        st = begin_some(s, BI_TRACKS_CHANGED, ch->view, s->usual, n_windows, &slot, err);
    if (st == BIOINFER_NOMEM || st == BIOINFER_TOO_LONG) {
        w->most = n_windows / 2;
        return run_alone(s, ch, err);
    }
    if (st)
        return st > 0 ? bi_fail(err, BIOINFER_INTERNAL, "tracks: no slot is free") : st;
    fill_company(s, slot, ch->view, n_windows);
    w->all.n = 0;
    if ((st = bi_exec_submit(s->exec, slot, err)) || (st = finish_company(s, ch, err)))
        return st;
    w->running = all;
    w->slot = slot;
    return 0;
}

/* One view of all windows: those whose cut is the usual one and off the window's ends go in
 * company. */
static int run_view(struct bioinfer_tracks *s, const struct changes *ch, int n,
                    struct bioinfer_error *err)
{
    struct waiting *w = &s->waiting;
    const int64_t size = s->usual * s->t->token_size;
    int st = 0;
    w->all.n = 0;
    for (int i = 0; !st && i < n; i++) {
        struct cut c;
        if (!w->bases || w->most < 2 || !find_cut(s, s->sequence, ch->sequences[i], ch->view, &c) ||
            !is_usual(s, &c)) {
            if (!(st = finish_company(s, ch, err)))
                st = run_changed(s, ch->sequences[i], ch->view, values_of(s, ch, i), err);
            continue;
        }
        read_part(s, ch->sequences[i], ch->view, c.first * s->t->token_size,
                  (c.first + c.n) * s->t->token_size, w->bases + w->all.n * size);
        w->cuts[w->all.n] = c;
        w->all.of[w->all.n++] = i;
        if (w->all.n >= w->most)
            st = run_waiting(s, ch, err);
    }
    if (!st && w->all.n)
        st = run_waiting(s, ch, err);
    return st ? st : finish_company(s, ch, err);
}

/* ---- pairs ---- */

/* A view of a pair whose windows are not for one program: both as whole windows, or, without a queue, one
 * after the other with the reference's features kept. */
static int set_out_apart(struct bioinfer_tracks *s, struct window *w, const char *reference,
                         const char *changed, int view, bool small, struct bioinfer_error *err)
{
    float *other = w->values + n_values_of(s);
    int st = 0;
    if (!s->kept || !small || s->started.most > 1) {
        st = set_out_view(s, w, reference, view, false, err);
        return st ? st : set_out_view(s, w, changed, view, true, err);
    }
    while (!st && (s->started.waiting.n || s->started.n_runs))
        st = s->started.waiting.n ? submit_waiting(s, err) : views_in(s, err);
    if (st)
        return st;
    read_view(s, reference, view, s->bases);
    st = run_reference(s, reference, view, w->values, err);
    if (!st || st == BIOINFER_NONFINITE) {
        const int second = s->kept[view].valid ? run_changed(s, changed, view, other, err) : st;
        st = st ? st : second;
    }
    w->finite &= st != BIOINFER_NONFINITE;
    return st == BIOINFER_NONFINITE ? 0 : st;
}

static int set_out_pair(struct bioinfer_tracks *s, const char *reference, const char *changed,
                        float *values, struct bioinfer_error *err)
{
    struct started *on = &s->started;
    struct group *g = &on->waiting;
    struct window *w = add_window(s, values, 2);
    const int64_t token_size = s->t->token_size;
    int st = 0;
    for (int v = 0; !st && v < s->n_views; v++) {
        struct cut c = cut_around(s->t, s->t->window / 2,
                                  s->t->window / 2); /* where nothing differs */
        find_cut(s, reference, changed, v, &c);
        if (!on->most_pairs || !is_usual(s, &c)) {
            st = set_out_apart(s, w, reference, changed, v, 2 * c.n <= s->t->n_tokens, err);
            continue;
        }
        if ((st = add_view(s, w, v, true, err)))
            return st;
        g->of[g->n].cut = c;
        read_view(s, reference, v, s->bases + g->n * s->t->window);
        read_part(s, changed, v, c.first * token_size, (c.first + c.n) * token_size,
                  on->cut_bases + g->n * s->usual * token_size);
        st = submit_full(s, err);
    }
    return st;
}

/* ---- public calls ---- */

/* Windows on their way, or pairs, that keep two programs of `most` views full, and, where one's views end in
 * the middle of a program, one more. */
static int at_once(const struct bioinfer_tracks *s, int most)
{
    const int64_t n = (BI_SLOTS * most + s->n_views - 1) / s->n_views + 1;
    return s->started.most == 1 ? BI_SLOTS : (int)clamp(n, BI_SLOTS, BIOINFER_STARTED);
}

int bioinfer_tracks_get_info(const bioinfer_tracks *s, struct bioinfer_tracks_info *info)
{
    struct bioinfer_tracks_info i = {0};
    size_t size;
    if (!s || !info || info->struct_size < sizeof info->struct_size)
        return BIOINFER_INVALID;
    i.head = s->t->heads[s->head].name;
    i.window = s->t->window;
    i.bin_size = s->t->bin_size;
    i.first_bin = s->t->first_bin;
    i.n_bins = s->t->n_bins;
    i.n_rows = n_rows_of(s);
    i.n_tracks = s->n_tracks;
    i.n_head_tracks = s->t->heads[s->head].n_tracks;
    i.n_tokens = s->t->n_tokens;
    i.n_whole = s->n_whole;
    i.n_cut = s->n_cut;
    i.cut_tokens = s->cut_tokens;
    i.n_at_once = at_once(s, s->started.most);
    i.n_pairs_at_once = at_once(s, s->started.most_pairs);
    size = info->struct_size < sizeof i ? info->struct_size : sizeof i;
    i.struct_size = info->struct_size;
    memcpy(info, &i, size);
    return 0;
}

const char *bioinfer_model_head(const bioinfer_model *m, int index, int *n_tracks)
{
    if (!m || index < 0 || index >= m->base.tracks.n_heads)
        return NULL;
    if (n_tracks)
        *n_tracks = m->base.tracks.heads[index].n_tracks;
    return m->base.tracks.heads[index].name;
}

/* Values that views are added to. */
static void clear_values(const bioinfer_tracks *s, int64_t n_windows, float *values)
{
    if (s->n_views > 1 || s->sums)
        memset(values, 0, (size_t)(n_windows * n_values_of(s)) * sizeof *values);
}

/* What every call begins with; most: of windows that may be on their way. */
static int enter(bioinfer_tracks *s, size_t length, int most, struct bioinfer_error *err)
{
    int st;
    if (length != (size_t)s->t->window)
        return bi_fail(err, BIOINFER_INVALID, "a window of %zu bases, expected %lld", length,
                       (long long)s->t->window);
    if ((st = bi_context_check(s->model->ctx, err)))
        return st;
    if (atomic_flag_test_and_set(&s->busy))
        return bi_fail(err, BIOINFER_MISUSE, "the session is in use by another thread");
    if (s->started.n > most) {
        st = bi_fail(err, BIOINFER_MISUSE,
                     "tracks: %d windows are on their way, expected at most %d", s->started.n,
                     most);
        atomic_flag_clear(&s->busy);
    }
    return st;
}

/* Of the views, whose values were added up in those of n windows. */
static void take_mean(const bioinfer_tracks *s, int n, float *values)
{
    if (s->sums == BIOINFER_NO_SUMS) {
        for (int64_t i = 0; i < n * n_values_of(s); i++)
            values[i] /= (float)s->n_views;
        return;
    }
    for (int64_t i = 0; i < (int64_t)n * s->sums; i++, values += 2 * s->n_tracks)
        for (int k = 0; k < s->n_tracks; k++) {
            float *high = values + k, *low = high + s->n_tracks;
            put_sum(high, low, ((double)*high + (double)*low) / s->n_views);
        }
}

/* And ends with, n windows later. */
static void leave(bioinfer_tracks *s, int st, int n, float *tracks, double begun)
{
    if (!st && s->n_views > 1)
        take_mean(s, n, tracks);
    s->waiting.slot = NULL;
    if (st &&
        !(s->started.n && st == BIOINFER_NONFINITE)) { /* a window of its own: the others go on */
        bi_exec_abandon(s->exec);
        s->started.n = s->started.n_runs = s->started.waiting.n = 0;
    }
    s->exec->profile.records += st ? 0 : (uint64_t)n;
    s->exec->profile.residues += st ? 0 : (uint64_t)(n * s->t->window);
    s->exec->profile.seconds += bi_now() - begun;
    atomic_flag_clear(&s->busy);
}

int bioinfer_tracks_run(bioinfer_tracks *s, const char *sequence, size_t length, int mode,
                        float *tracks, struct bioinfer_error *err)
{
    int n, st;
    double begun = bi_now();
    if (!s || !sequence || !tracks)
        return bi_fail(err, BIOINFER_INVALID, "tracks: session, sequence and result must be given");
    if (mode < BIOINFER_WINDOW || mode > BIOINFER_CHANGED || (mode != BIOINFER_WINDOW && !s->kept))
        return bi_fail(err, BIOINFER_INVALID, "tracks: mode %d takes a session that keeps", mode);
    if ((st = enter(s, length, 0, err)))
        return st;
    clear_values(s, 1, tracks);
    if (mode == BIOINFER_WINDOW && !(st = set_out(s, sequence, 0, s->n_views, tracks, err)))
        st = come_in(s, &tracks, &n, err);
    for (int v = 0; mode != BIOINFER_WINDOW && !st && v < s->n_views; v++) {
        if (mode == BIOINFER_REFERENCE)
            read_view(s, sequence, v, s->bases);
        if (mode == BIOINFER_CHANGED && !s->kept[v].valid)
            st = bi_fail(err, BIOINFER_INVALID, "tracks: there is no reference to change");
        else
            st = mode == BIOINFER_REFERENCE ? run_reference(s, sequence, v, tracks, err)
                                            : run_changed(s, sequence, v, tracks, err);
    }
    leave(s, st, 1, tracks, begun);
    return st;
}

int bioinfer_tracks_start(bioinfer_tracks *s, const char *sequence, size_t length, float *tracks,
                          struct bioinfer_error *err)
{
    int st;
    double begun = bi_now();
    if (!s || !sequence || !tracks)
        return bi_fail(err, BIOINFER_INVALID, "tracks: session, sequence and result must be given");
    if ((st = enter(s, length, BIOINFER_STARTED - 1, err)))
        return st;
    clear_values(s, 1, tracks);
    st = set_out(s, sequence, 0, s->n_views, tracks, err);
    leave(s, st, 0, tracks, begun);
    return st;
}

int bioinfer_tracks_start_pair(bioinfer_tracks *s, const char *reference, const char *changed,
                               size_t length, float *tracks, struct bioinfer_error *err)
{
    int st;
    double begun = bi_now();
    if (!s || !reference || !changed || !tracks)
        return bi_fail(err, BIOINFER_INVALID,
                       "tracks: session, sequences and result must be given");
    if ((st = enter(s, length, BIOINFER_STARTED - 1, err)))
        return st;
    clear_values(s, 2, tracks);
    st = set_out_pair(s, reference, changed, tracks, err);
    for (int v = 0; s->kept && v < s->n_views; v++)
        s->kept[v].valid = false;
    leave(s, st, 0, tracks, begun);
    return st;
}

int bioinfer_tracks_finish(bioinfer_tracks *s, float **tracks, struct bioinfer_error *err)
{
    int n = 0, st;
    float *values;
    double begun = bi_now();
    if (!s)
        return bi_fail(err, BIOINFER_INVALID, "tracks: session must be given");
    if ((st = enter(s, (size_t)s->t->window, BIOINFER_STARTED, err)))
        return st;
    if (!s->started.n) {
        atomic_flag_clear(&s->busy);
        return bi_fail(err, BIOINFER_MISUSE, "tracks: no window is on its way");
    }
    st = come_in(s, &values, &n, err);
    leave(s, st, n, values, begun);
    if (tracks)
        *tracks = values;
    return st;
}

int bioinfer_tracks_run_changed(bioinfer_tracks *s, const char *const *sequences, int n,
                                size_t length, float *tracks, struct bioinfer_error *err)
{
    int st;
    double begun = bi_now();
    if (!s || n < 1 || n > 1 << 20 || !sequences || !tracks)
        return bi_fail(err, BIOINFER_INVALID,
                       "tracks: session, sequences and results must be given");
    for (int i = 0; i < n; i++)
        if (!sequences[i])
            return bi_fail(err, BIOINFER_INVALID, "tracks: sequence %d of %d is missing", i, n);
    if (!s->kept)
        return bi_fail(err, BIOINFER_INVALID, "tracks: changed windows take a session that keeps");
    if ((st = enter(s, length, 0, err)))
        return st;
    clear_values(s, n, tracks);
    for (int v = 0; !st && v < s->n_views; v++)
        st = s->kept[v].valid
                 ? run_view(s, &(struct changes){sequences, tracks, v}, n, err)
                 : bi_fail(err, BIOINFER_INVALID, "tracks: there is no reference to change");
    leave(s, st, n, tracks, begun);
    return st;
}

void bioinfer_tracks_set_profile(bioinfer_tracks *s, int on)
{
    if (s)
        s->exec->profiling = on != 0;
}

int bioinfer_tracks_get_profile(bioinfer_tracks *s, struct bioinfer_profile *profile)
{
    return s && profile ? bi_exec_get_profile(s->exec, profile) : BIOINFER_INVALID;
}

int bioinfer_tracks_dump(bioinfer_tracks *s, int fused, int trace_rules,
                         int (*write)(void *user, const char *text, size_t len), void *user,
                         struct bioinfer_error *err)
{
    struct graph_of of;
    struct bi_recipe recipe = {.build = build_graph, .user = &of};
    if (!s || !write)
        return bi_fail(err, BIOINFER_INVALID, "dump: session and write must be given");
    of = (struct graph_of){&s->model->base, shape_of(s, BI_TRACKS_WHOLE, 0, s->t->n_tokens, 1)};
    recipe.no_rules = s->no_rules;
    return bi_plan_dump(s->model, &recipe, fused, trace_rules, write, user, err);
}

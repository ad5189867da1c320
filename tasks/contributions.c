/* contributions.c - the task contributions: which bases the values of tracks come from.
 *
 * A record is a window; its unit has one item, which runs alone. The graph is that of the tracks,
 * with the derivative of what is asked for behind it (models/tracks.h), in float32. Bins of contact
 * maps are rows of the map: what is explained are the contacts of these bins with all. */
#include <math.h>
#include <string.h>

#include "../models/programs.h"
#include "../models/tracks.h"
#include "tasks.h"
#include "tracks.h"
#include "table.h"

enum { MIDDLE = 256, BASES = 4 };

struct contributions_unit {
    struct bi_unit base;
    struct bi_item item;
    uint64_t ordinal;
    char *sequence;                  /* [window] */
    float *contributions, *gradient; /* [window] and behind it [window, 4] */
    float value;
};

struct contributions {
    struct bioinfer_task task;
    const struct bi_tracks *t;
    const struct bi_tracks_head *h;
    struct bi_tracks_shape shape;
    struct bi_tracks_asked asked; /* that of the shape */
    int32_t *tracks;
    int64_t first_bin, n_bins;
    int64_t all_bins, bin_rows; /* the head has so many bins, each so many rows of values */
    int32_t codes[2][256];
    char *no_rules;
    uint64_t n_windows;
};

/* ---- units ---- */

static void make_item(struct contributions_unit *u, int64_t n_tokens)
{
    u->item = (struct bi_item){
        .unit = &u->base,
        .weight = n_tokens,
        .size = {.n_tokens = (int32_t)n_tokens, .n_seqs = 1, .longest = (int32_t)n_tokens}};
    u->base.items = &u->item;
    u->base.n_items = 1;
    u->base.is_over = true;
}

static int contributions_read(struct bioinfer_task *t, struct bi_unit *unit,
                              struct bioinfer_error *err)
{
    const struct contributions *s = (const struct contributions *)t;
    struct contributions_unit *u = (struct contributions_unit *)unit;
    const int64_t window = s->t->window;
    struct bioinfer_record r = {0};
    struct bioinfer_error why = {0};
    const int st = t->source(t->source_user, &r, err);
    if (st != 1)
        return st;
    u->ordinal = r.ordinal;
    if (!(unit->id = bi_strdup(t->env, r.id ? r.id : "")))
        return bi_fail(err, BIOINFER_NOMEM, "window");
    if (r.status)
        bi_fail(&why, r.status, "%s", r.message ? r.message : "");
    else if (!r.sequence || r.length != (size_t)window)
        bi_fail(&why, BIOINFER_INVALID, "a window of %zu bases, expected %lld", r.length,
                (long long)window);
    else if (r.n_changes)
        bi_fail(&why, BIOINFER_UNSUPPORTED,
                "changes of a window whose contributions are asked for");
    else
        bi_tracks_letters(r.sequence, r.length, &why);
    if (why.status) {
        bi_unit_fail(t->env, unit, why.status, why.text);
        return 1;
    }
    if (!(u->sequence = bi_alloc(t->env, (size_t)window)) ||
        !(u->contributions = bi_calloc(t->env, (size_t)window, (1 + BASES) * sizeof(float))))
        return bi_fail(err, BIOINFER_NOMEM, "a window");
    u->gradient = u->contributions + window;
    memcpy(u->sequence, r.sequence, (size_t)window);
    unit->result_size = (size_t)window * (1 + (1 + BASES) * sizeof(float));
    make_item(u, s->t->n_tokens);
    return 1;
}

static void contributions_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct contributions_unit *u = (struct contributions_unit *)unit;
    bi_free(t->env, u->sequence);
    bi_free(t->env, u->contributions);
}

/* ---- batches ---- */

static int64_t contributions_load(const struct bi_counts *counts)
{
    return counts->n_seqs;
}

static size_t take_one(const struct bioinfer_task *t, struct bi_item *const *items, size_t n)
{
    (void)t;
    (void)items;
    (void)n;
    return 1;
}

/* The rows that the one node which reads an input makes of it; BI_NONE = there is no such node. */
static bi_value_id rows_of_input(const struct bi_graph *g, const char *name)
{
    bi_value_id found = BI_NONE;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < BI_NODE_IN; k++) {
            const bi_value_id id = g->nodes[i].in[k];
            if (id != BI_NONE && g->values[id].kind == BI_VALUE_INPUT &&
                !strcmp(g->values[id].name, name))
                found = g->nodes[i].out[0];
        }
    return found;
}

/* Turns the graph of a window's tracks into that of their explanation: output 0 becomes the values
 * in bins first ... first + n - 1 divided by their number n tracks, [n, tracks], output 1 the
 * derivative of their sum by the rows that the graph makes of input "bases". */
static void explain(struct bi_graph *g, int64_t first, int64_t n)
{
    bi_value_id y, dx;
    float each;
    if (g->status)
        return;
    y = bi_tracks_crop(g, g->outputs[0].value, first, n);
    g->n_outputs = 0;
    dx = bi_graph_gradient(g, y, rows_of_input(g, "bases"));
    if (g->status)
        return;
    each = 1 / (float)(n * g->values[y].shape[1]);
    bi_output(g, bi_scale(g, y, each), 0, -1, "explained");
    bi_output(g, bi_scale(g, dx, each), 0, -1, "gradient");
}

static int build_graph(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const struct contributions *s = user;
    const struct bi_model *m = &s->task.model->base;
    const struct bi_tracks_program whole = {
        .to = BI_AT_TRACKS, .n_windows = 1, .n_tokens = s->t->n_tokens};
    (void)shape;
    (void)err;
    g->n_tokens = g->longest = s->t->n_tokens;
    g->n_seqs = 1;
    bi_tracks_write(m, g, &whole, &s->shape);
    explain(g, s->first_bin * s->bin_rows, s->n_bins * s->bin_rows);
    return 0;
}

static int contributions_recipe(struct bioinfer_task *t, const struct bi_batch *b,
                                struct bi_recipe *recipe, struct bioinfer_error *err)
{
    struct contributions *s = (struct contributions *)t;
    (void)b;
    (void)err;
    *recipe = (struct bi_recipe){
        .build = build_graph, .user = s, .wide = true, .no_rules = s->no_rules};
    return 0;
}

static void contributions_fill(const struct bioinfer_task *t, const struct bi_item *item,
                               const struct bi_batch_place *place)
{
    const struct contributions *s = (const struct contributions *)t;
    const struct contributions_unit *u = (const struct contributions_unit *)item->unit;
    const unsigned char *letters = (const unsigned char *)u->sequence;
    int32_t *bases = bi_batch_input(place, "bases");
    for (int64_t i = 0; i < s->t->window; i++)
        bases[i] = s->codes[0][letters[i]];
}

static const char *const made[] = {"bases"};

static int contributions_collect(struct bioinfer_task *t, struct bi_item *item,
                                 const struct bi_batch_place *place, struct bioinfer_error *err)
{
    const struct contributions *s = (const struct contributions *)t;
    struct contributions_unit *u = (struct contributions_unit *)item->unit;
    const struct bi_output *outputs = place->slot->plan->graph->outputs;
    const unsigned char *letters = (const unsigned char *)u->sequence;
    double value = 0, sum = 0;
    int64_t ld;
    const float *from = bi_batch_output(place, &outputs[0], &ld);
    for (int64_t b = 0; b < s->n_bins * s->bin_rows; b++)
        for (int64_t i = 0; i < s->asked.n_tracks; i++)
            value += (double)from[b * ld + i];
    from = bi_batch_output(place, &outputs[1], &ld);
    for (int64_t i = 0; i < s->t->window; i++) {
        const int32_t code = s->codes[0][letters[i]];
        memcpy(u->gradient + BASES * i, from + i * ld, BASES * sizeof *from);
        u->contributions[i] = code < BASES ? from[i * ld + code] : 0;
        for (int k = 0; k < BASES; k++)
            sum += (double)from[i * ld + k];
    }
    u->value = (float)value;
    return isfinite(value + sum) ? 0
                                 : bi_fail(err, BIOINFER_NONFINITE, "a derivative is not finite");
}

static int contributions_result(struct bioinfer_task *t, struct bi_unit *unit,
                                struct bioinfer_error *err)
{
    struct contributions *s = (struct contributions *)t;
    const struct contributions_unit *u = (const struct contributions_unit *)unit;
    const int64_t window = s->t->window;
    const struct bioinfer_array arrays[] = {
        {.kind = "contributions", .n_dims = 1, .shape = {window}, .data = u->contributions},
        {.kind = "gradient", .n_dims = 2, .shape = {window, BASES}, .data = u->gradient},
        {.kind = "value", .n_dims = 1, .shape = {1}, .data = &u->value}};
    const struct bioinfer_result r = {.ordinal = u->ordinal,
                                      .id = unit->id,
                                      .length = window,
                                      .status = unit->status,
                                      .message = bi_unit_message(unit),
                                      .arrays = arrays,
                                      .n_arrays = unit->status ? 0 : BI_COUNT(arrays),
                                      .n_layers_kept = 1,
                                      .n_kinds = BI_COUNT(arrays)};
    if (!unit->status) {
        s->n_windows++;
        t->exec->profile.records++;
        t->exec->profile.residues += (uint64_t)window;
    }
    return t->sink(t->sink_user, &r, err);
}

/* ---- life ---- */

static void contributions_free(struct bioinfer_task *t)
{
    struct contributions *s = (struct contributions *)t;
    bi_free(t->env, s->tracks);
    bi_free(t->env, s->no_rules);
}

const struct bi_task_def bi_task_contributions = {
    .name = "contributions",
    .kind = &bi_kind_tracks,
    .unit_size = sizeof(struct contributions_unit),
    .smallest = {.n_tokens = 1, .n_seqs = 1, .longest = 1},
    .made = made,
    .n_made = BI_COUNT(made),
    .read = contributions_read,
    .load = contributions_load,
    .take = take_one,
    .recipe = contributions_recipe,
    .fill = contributions_fill,
    .collect = contributions_collect,
    .result = contributions_result,
    .drop = contributions_drop,
    .free = contributions_free};

static int find_head(struct contributions *s, const struct bioinfer_contributions_params *p,
                     struct bioinfer_error *err)
{
    int st = bioinfer_model_find_output(s->task.model, p->head, NULL, 0, &s->asked.head, err);
    if (st)
        return st;
    s->h = &s->t->heads[s->asked.head];
    s->all_bins = s->h->n_bins;
    s->bin_rows = 1;
    if (s->h->kind == BIOINFER_GRID) {
        s->all_bins = s->bin_rows = s->t->window / s->h->bin_size;
        return 0;
    }
    return s->h->kind == BIOINFER_BINS
               ? 0
               : bi_fail(err, BIOINFER_UNSUPPORTED,
                         "head %s gives counts between sites, which have no derivative",
                         s->h->name);
}

static int take_tracks(struct contributions *s, const struct bioinfer_contributions_params *p,
                       struct bioinfer_error *err)
{
    if (p->n_tracks < 0 || p->n_tracks > s->h->n_tracks || (p->n_tracks && !p->tracks))
        return bi_fail(err, BIOINFER_INVALID, "contributions: %d tracks, head %s has %d",
                       p->n_tracks, s->h->name, s->h->n_tracks);
    s->asked.n_tracks = p->n_tracks ? p->n_tracks : s->h->n_tracks;
    if (!p->n_tracks)
        return 0;
    if (!(s->tracks = bi_calloc(s->task.env, (size_t)p->n_tracks, sizeof *s->tracks)))
        return bi_fail(err, BIOINFER_NOMEM, "tracks");
    for (int i = 0; i < p->n_tracks; i++) {
        if (p->tracks[i] < 0 || p->tracks[i] >= s->h->n_tracks)
            return bi_fail(err, BIOINFER_INVALID, "track %d: head %s has tracks 0 to %d",
                           p->tracks[i], s->h->name, s->h->n_tracks - 1);
        s->tracks[i] = p->tracks[i];
    }
    s->asked.tracks = s->tracks;
    return 0;
}

static int take_bins(struct contributions *s, const struct bioinfer_contributions_params *p,
                     struct bioinfer_error *err)
{
    const int64_t all = s->all_bins;
    int64_t middle = MIDDLE / s->h->bin_size;
    middle = middle < 1 ? 1 : middle > all ? all : middle;
    s->first_bin = p->n_bins ? p->first_bin : (all - middle) / 2;
    s->n_bins = p->n_bins ? p->n_bins : middle;
    if (s->first_bin < 0 || s->n_bins < 1 || s->n_bins > all || s->first_bin > all - s->n_bins)
        return bi_fail(
            err, BIOINFER_INVALID, "contributions: %lld bins from %lld, head %s has bins 0 to %lld",
            (long long)s->n_bins, (long long)s->first_bin, s->h->name, (long long)all - 1);
    return 0;
}

/* UNSUPPORTED where an op of the graph has no derivative. */
static int check_graph(struct contributions *s, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    struct bi_graph *g = NULL;
    int st = bi_graph_new(&g, s->task.env, err);
    if (st)
        return st;
    build_graph(s, NULL, g, &why);
    st = bi_graph_status(g, &why);
    if (st == BIOINFER_NOMEM)
        bi_fail(err, st, "%s", why.text);
    else if (st)
        st = bi_fail(err, BIOINFER_UNSUPPORTED, "%s: contributions to head %s: %s",
                     s->task.model->path, s->h->name, why.text);
    bi_graph_free(&g);
    return st;
}

static int open_contributions(struct contributions *s,
                              const struct bioinfer_contributions_params *params,
                              struct bioinfer_error *err)
{
    const struct bioinfer_model *model = s->task.model;
    struct bioinfer_contributions_params p = {0};
    int st;
    if ((st = bi_params_take(&p, sizeof p, params, "contributions", err)))
        return st;
    s->t = model->base.tracks;
    s->task.window_load = 1;
    s->task.progress = p.progress;
    s->task.progress_user = p.progress_user;
    s->shape = (struct bi_tracks_shape){.asked = &s->asked, .n_asked = 1};
    bi_tracks_codes(s->codes, false);
    if ((st = find_head(s, &p, err)) || (st = take_tracks(s, &p, err)) ||
        (st = take_bins(s, &p, err)) || (st = check_graph(s, err)))
        return st;
    if (p.no_rules && !(s->no_rules = bi_strdup(s->task.env, p.no_rules)))
        return bi_fail(err, BIOINFER_NOMEM, "contributions");
    return bi_task_open(&s->task, model, 1, p.memory_limit, err);
}

int bioinfer_contributions_open(bioinfer_task **out, const bioinfer_model *model,
                                const struct bioinfer_contributions_params *params,
                                struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_contributions, sizeof(struct contributions), err);
    if (!st && (st = open_contributions((struct contributions *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

int bioinfer_contributions_get_info(const bioinfer_task *task, struct bioinfer_tracks_info *info)
{
    const struct contributions *s = (const struct contributions *)task;
    struct bioinfer_tracks_info i = {0};
    size_t size;
    if (!task || task->def != &bi_task_contributions || !info ||
        info->struct_size < sizeof info->struct_size)
        return BIOINFER_INVALID;
    i.head = s->h->name;
    i.window = i.n_rows = s->t->window;
    i.bin_size = s->h->bin_size;
    i.first_bin = s->h->first_bin + s->first_bin;
    i.n_bins = s->n_bins;
    i.n_tracks = (int)s->asked.n_tracks;
    i.n_head_tracks = s->h->n_tracks;
    i.n_tokens = s->t->n_tokens;
    i.n_whole = s->n_windows;
    i.kind = BIOINFER_BINS;
    i.n_outputs = 1;
    i.n_values = s->t->window;
    i.array = "contributions";
    i.output = s->h->output;
    i.organism = s->h->organism;
    size = info->struct_size < sizeof i ? info->struct_size : sizeof i;
    i.struct_size = info->struct_size;
    memcpy(info, &i, size);
    return 0;
}

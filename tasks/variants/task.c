/* task.c - the task variants: a record becomes a unit of places, its values results.
 *
 * The task is made of another one, which computes windows. That asks for windows before it gives
 * the values of those before, so units wait in a line between the two.
 *
 * Sections: parameters, units, windows, results, public calls. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scores.h"
#include "../table.h"

const char *const bi_stat_names[BI_STATS] = {"SAD", "SAR", "REF", "ALT"};

/* ---- parameters ---- */

static int read_stats(struct bi_variants_task *t, struct bioinfer_error *err)
{
    const char *list = t->params.stats ? t->params.stats : "SAD";
    while (*list) {
        const size_t n = strcspn(list, ",");
        int s = 0;
        while (s < BI_STATS && (strlen(bi_stat_names[s]) != n || memcmp(bi_stat_names[s], list, n)))
            s++;
        for (int i = 0; i < t->n_stats; i++)
            s = (int)t->stats[i] == s ? BI_STATS : s;
        if (s == BI_STATS)
            return bi_fail(err, BIOINFER_INVALID,
                           "stats: '%.60s': expected SAD, SAR, REF and ALT, each once", list);
        t->stats[t->n_stats++] = (enum bi_track_stat)s;
        list += n + (list[n] == ',');
    }
    return 0;
}

/* Scores are of sums over bins. Logarithms are those of means over views, which only all values
 * give. */
static enum bioinfer_tracks_sums sums_for(const struct bi_variants_task *t)
{
    const bool ism = t->kind == &bi_mutagenesis_kind;
    bool logs = false;
    for (int i = 0; i < t->n_stats; i++)
        logs |= t->stats[i] == BI_STAT_SAR;
    if (!ism && t->kind != &bi_variants_kind)
        return BIOINFER_NO_SUMS;
    if (ism || !logs)
        return BIOINFER_SUMS;
    return t->params.n_shifts > 1 || t->params.reverse_complement ? BIOINFER_NO_SUMS
                                                                  : BIOINFER_SUMS_AND_LOGS;
}

/* Copies the texts and the shifts, which the caller need not keep. */
static int keep_params(struct bi_variants_task *t, struct bioinfer_error *err)
{
    struct bioinfer_variants_params *p = &t->params;
    const char **texts[] = {&p->outputs, &p->organism,  &p->tracks,  &p->ontology,
                            &p->targets, &p->stats,     &p->scorers, &p->gtf,
                            &p->polya,   &p->quantiles, &p->no_rules};
    _Static_assert(BI_COUNT(texts) == BI_COUNT(t->texts), "room for all texts");
    for (size_t i = 0; i < BI_COUNT(texts); i++) {
        if (*texts[i] && !(t->texts[i] = bi_strdup(t->task.env, *texts[i])))
            return bi_fail(err, BIOINFER_NOMEM, "variants");
        *texts[i] = t->texts[i];
    }
    if (p->n_shifts < 0 || p->n_shifts > BI_TRACKS_SHIFTS || (p->n_shifts && !p->shifts))
        return bi_fail(err, BIOINFER_INVALID, "shifts: %d of them, expected up to %d", p->n_shifts,
                       BI_TRACKS_SHIFTS);
    if (p->n_shifts)
        memcpy(t->shifts, p->shifts, (size_t)p->n_shifts * sizeof *t->shifts);
    p->shifts = t->shifts;
    return 0;
}

/* Refuses what the params cannot ask for together. */
static int check_params(struct bi_variants_task *t, struct bioinfer_error *err)
{
    static const struct bi_places_kind *const kinds[] = {
        [BIOINFER_VARIANTS] = &bi_variants_kind,
        [BIOINFER_INTERVALS] = &bi_intervals_kind,
        [BIOINFER_MUTAGENESIS] = &bi_mutagenesis_kind,
        [BIOINFER_WINDOWS] = &bi_records_kind};
    const struct bioinfer_variants_params *p = &t->params;
    const char *const tables[] = {p->targets, p->polya, p->quantiles};
    t->kind = kinds[p->kind];
    t->genome = p->kind == BIOINFER_WINDOWS ? NULL : p->genome;
    if (p->kind != BIOINFER_WINDOWS && !p->genome)
        return bi_fail(err, BIOINFER_INVALID, "variants: places lie in a genome, which is NULL");
    if (p->scorers && (p->kind != BIOINFER_VARIANTS || p->stats || p->indel || p->outputs ||
                       p->resolution || p->n_shifts || p->reverse_complement))
        return bi_fail(err, BIOINFER_INVALID,
                       "scorers: they are of variants, without stats, indel, outputs, resolution, "
                       "shifts and reverse_complement");
    if (p->contributions && (p->kind == BIOINFER_VARIANTS || p->kind == BIOINFER_MUTAGENESIS ||
                             !p->tracks || p->n_shifts || p->reverse_complement))
        return bi_fail(err, BIOINFER_INVALID,
                       "contributions: they are of intervals and windows, and of tracks that are "
                       "named, without shifts and reverse_complement");
    for (size_t i = 0; i < BI_COUNT(tables); i++)
        if (tables[i] && !strcmp(tables[i], "-"))
            return bi_fail(err, BIOINFER_INVALID,
                           "a table is read from a file, not from standard input");
    return read_stats(t, err);
}

static void take_columns(struct bi_variants_task *t)
{
    static const char *const names[] = {"chrom", "pos", "id", "ref", "alt"};
    for (size_t i = 0; i < BI_COUNT(names); i++)
        bi_row_columns_add(t->task.env, &t->columns, names[i],
                           i == 1 ? BIOINFER_I64 : BIOINFER_TEXT);
}

static int open_variants(struct bi_variants_task *t, const struct bioinfer_variants_params *params,
                         struct bioinfer_error *err)
{
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(struct bioinfer_tracks_params);
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    int st = bi_params_take(&t->params, sizeof t->params, params, "variants", err);
    if (st || (st = keep_params(t, err)) || (st = check_params(t, err)))
        return st;
    t->changes.env = t->bases.env = t->where.env = t->task.env;
    p.sums = t->sums = sums_for(t);
    p.shifts = t->shifts;
    p.n_shifts = t->params.n_shifts;
    p.reverse_complement = t->params.reverse_complement;
    p.no_rules = t->params.no_rules;
    p.memory_limit = t->params.memory_limit;
    p.progress = t->params.progress;
    p.progress_user = t->params.progress_user;
    if (t->params.scorers)
        st = bi_scores_open(t, &p, err);
    else if (!(st = bi_outputs_find(t, err)))
        st = bi_outputs_open(t, &p, err);
    if (st)
        return st;
    if (!t->params.scorers && t->kind == &bi_variants_kind)
        take_columns(t);
    if (t->params.contributions)
        bioinfer_contributions_get_info(t->task.inner, &info);
    else
        bioinfer_tracks_get_info(t->task.inner, &info);
    t->window = info.window;
    if (!(t->reference = bi_calloc(t->task.env, (size_t)t->window + 1, 1)))
        return bi_fail(err, BIOINFER_NOMEM, "a window");
    return 0;
}

/* Ends the first window whose values were to come, and its unit where it has no others after it. */
static void end_flight(struct bi_variants_task *t)
{
    struct bi_window_flight *f = t->first;
    t->first = f->next;
    if (!t->first)
        t->last = NULL;
    if (f->last)
        bi_places_free(t->task.env, &f->unit);
    bi_free(t->task.env, f->half);
    bi_free(t->task.env, f);
}

static void variants_end(struct bioinfer_task *task)
{
    struct bi_variants_task *t = (struct bi_variants_task *)task;
    while (t->first)
        end_flight(t);
    bi_places_free(task->env, &t->asked);
}

static void variants_free(struct bioinfer_task *task)
{
    struct bi_variants_task *t = (struct bi_variants_task *)task;
    bi_outputs_free(t);
    bioinfer_task_close(&task->inner);
    bi_scores_free(t);
    bi_free(task->env, t->reference);
    bi_buf_free(&t->changes);
    bi_buf_free(&t->bases);
    bi_buf_free(&t->where);
    bi_row_columns_free(&t->columns);
    for (size_t i = 0; i < BI_COUNT(t->texts); i++)
        bi_free(task->env, t->texts[i]);
}

/* ---- units ---- */

void bi_places_free(const struct bi_env *env, struct bi_places_unit **unit)
{
    struct bi_places_unit *u = *unit;
    *unit = NULL;
    if (!u)
        return;
    for (int i = 0; u->of && i < u->n; i++)
        bi_free(env, u->of[i].why);
    bi_free(env, u->text);
    bi_free(env, u->of);
    bi_free(env, u->scores);
    bi_free(env, u->scored);
    bi_free(env, u);
}

int bi_spot_fail(const struct bi_env *env, struct bi_spot *p, int status, const char *text,
                 struct bioinfer_error *err)
{
    char *why = bi_strdup(env, text);
    if (!why)
        return bi_fail(err, BIOINFER_NOMEM, "%s", p->name);
    bi_free(env, p->why);
    p->why = why;
    p->status = status;
    p->message = why;
    return 0;
}

/* INVALID or a status of bi_place_check(): the source would not hand out place i of a unit. */
static int check_place(const struct bi_variants_task *t, const struct bi_places_unit *u, int i,
                       const struct bioinfer_locus *l, struct bioinfer_error *err)
{
    const struct bi_place_rules rules = {.genome = t->genome,
                                         .window = t->window,
                                         .variants = t->kind == &bi_variants_kind,
                                         .mutagenesis = t->kind == &bi_mutagenesis_kind,
                                         .scorers = t->scores != NULL};
    const struct bi_spot *before = &u->of[i ? i - 1 : 0];
    if (!rules.variants && (*l->reference || *l->alternative || i))
        return bi_fail(err, BIOINFER_INVALID, "line %" PRIu64 ": expected one interval", l->line);
    if (rules.variants && (!*l->reference || !*l->alternative))
        return bi_fail(err, BIOINFER_INVALID, "line %" PRIu64 ": expected two alleles", l->line);
    if (strcmp(l->chrom, before->chrom) || l->start < before->start ||
        l->start - u->of[0].start >= t->window / 2)
        return bi_fail(err, BIOINFER_INVALID,
                       "line %" PRIu64 ": variants of a record are ascending on one contig, within "
                       "half a window",
                       l->line);
    return bi_place_check(&rules, l, err);
}

/* Reads the places of a record; one that the source would not hand out fails as a whole. */
static int read_places(const struct bi_variants_task *t, struct bi_places_unit *u,
                       const struct bioinfer_record *record, char *text, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    struct bioinfer_locus l;
    size_t at = 0;
    int n = 0, st = 0, fault = 0;
    while (!fault && (st = bioinfer_record_place(record, &at, text, &l, &why)) > 0) {
        u->of[n] = (struct bi_spot){.chrom = l.chrom,
                                    .name = l.name,
                                    .reference = l.reference,
                                    .alternative = l.alternative,
                                    .start = l.start,
                                    .end = l.end,
                                    .line = l.line,
                                    .message = ""};
        fault = record->status ? 0 : check_place(t, u, n, &l, &why);
        n++;
    }
    if (record->status || (!st && n))
        return 0;
    u->n = 1; /* the others have no result of their own */
    if (!why.status)
        bi_fail(&why, BIOINFER_INVALID, "a record without a place");
    return bi_spot_fail(t->task.env, &u->of[0], why.status, why.text, err);
}

static int read_unit(const struct bi_variants_task *t, struct bi_places_unit *u,
                     const struct bioinfer_record *record, struct bioinfer_error *err)
{
    static const struct bi_spot none = {
        .chrom = "", .name = "", .reference = "", .alternative = "", .message = ""};
    const struct bi_env *env = t->task.env;
    const char *id = record->id ? record->id : "";
    const bool bases = t->kind == &bi_records_kind;
    const size_t n_id = strlen(id) + 1;
    const size_t n_text = bases || !record->sequence ? 0 : record->length;
    int st = 0;
    u->ordinal = record->ordinal;
    u->n = 1;
    for (size_t i = 1; i < n_text; i++)
        u->n += record->sequence[i - 1] == '\n';
    u->of = bi_calloc(env, (size_t)u->n, sizeof *u->of);
    u->text = bi_alloc(env, n_id + n_text + 1);
    if (!u->of || !u->text)
        return bi_fail(err, BIOINFER_NOMEM, "%s", id);
    memcpy(u->text, id, n_id);
    for (int i = 0; i < u->n; i++)
        u->of[i] = none;
    if (bases) {
        u->sequence = record->sequence ? record->sequence : "";
        u->length = record->length;
        u->of[0].name = u->text;
    } else {
        st = read_places(t, u, record, u->text + n_id, err);
    }
    if (!st && record->status)
        st = bi_spot_fail(env, &u->of[0], record->status, record->message ? record->message : "",
                          err);
    return st;
}

int bi_places_next(struct bi_variants_task *t, struct bi_places_unit **unit,
                   struct bioinfer_error *err)
{
    struct bioinfer_record record = {0};
    int st = t->task.source(t->task.source_user, &record, err);
    *unit = NULL;
    if (st != 1)
        return st;
    if (!(*unit = bi_zalloc(t->task.env, sizeof **unit)))
        return bi_fail(err, BIOINFER_NOMEM, "the next record");
    if ((st = read_unit(t, *unit, &record, err)))
        bi_places_free(t->task.env, unit);
    return st ? st : 1;
}

/* ---- windows ---- */

int bi_read_window(struct bi_variants_task *t, const char *chrom, int64_t middle, int64_t *start,
                   struct bioinfer_error *err)
{
    *start = middle - t->window / 2;
    return bi_genome_read(t->genome, chrom, *start, *start + t->window, t->reference, err);
}

int bi_add_change(struct bi_variants_task *t, struct bi_places_window *w, int64_t first,
                  int64_t length, const char *bases, struct bioinfer_error *err)
{
    const struct bioinfer_change change = {first, length, bases};
    if (!w->n_changes)
        t->changes.size = 0;
    bi_buf_append(&t->changes, &change, sizeof change);
    if (t->changes.failed)
        return bi_fail(err, BIOINFER_NOMEM, "the changes of a window");
    w->n_changes++;
    w->changes = (const struct bioinfer_change *)(const void *)t->changes.data;
    return 0;
}

const char *bi_change_text(int status)
{
    return status ? "tracks are not finite" : "";
}

/* A bioinfer_source: the next window of the unit at hand, or the first of the next unit. */
static int next_window(void *user, struct bioinfer_record *window, struct bioinfer_error *err)
{
    struct bi_variants_task *t = user;
    struct bi_places_window w = {.length = (size_t)t->window};
    struct bi_window_flight *f;
    int st;
    if (!t->asked && (st = bi_places_next(t, &t->asked, err)) != 1)
        return st;
    if ((st = t->kind->ask(t, t->asked, &w, err)))
        return st;
    if (!(f = bi_zalloc(t->task.env, sizeof *f)))
        return bi_fail(err, BIOINFER_NOMEM, "the next window");
    *f = (struct bi_window_flight){.unit = t->asked, .first = w.first, .n = w.n, .last = w.last};
    *(t->last ? &t->last->next : &t->first) = f;
    t->last = f;
    *window = (struct bioinfer_record){.id = f->unit->of[0].name,
                                       .ordinal = f->unit->ordinal,
                                       .sequence = w.sequence,
                                       .length = w.length,
                                       .changes = w.changes,
                                       .n_changes = w.n_changes,
                                       .status = w.status,
                                       .message = w.text};
    if (w.last)
        t->asked = NULL;
    return 1;
}

/* A bioinfer_sink. */
static int take_values(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct bi_variants_task *t = user;
    int st = t->kind->take(t, t->first, r, err);
    if (!st && !r->more)
        end_flight(t);
    return st;
}

static int variants_run(struct bioinfer_task *task, struct bioinfer_error *err)
{
    struct bi_variants_task *t = (struct bi_variants_task *)task;
    return t->scores ? bi_scores_run(t, err)
                     : bioinfer_task_run(task->inner, next_window, t, take_values, t, err);
}

/* ---- results ---- */

int bi_put_result(struct bi_variants_task *t, const struct bi_places_unit *u, int i, int status,
                  const char *message, const struct bioinfer_array *arrays, int n,
                  struct bioinfer_error *err)
{
    const struct bi_spot *p = &u->of[i];
    const struct bioinfer_text where = {"window", t->where.data, t->where.size};
    struct bioinfer_result r = {.ordinal = u->ordinal,
                                .id = p->name[0] || t->kind == &bi_records_kind ? p->name
                                                                                : p->chrom,
                                .length = t->window,
                                .status = status,
                                .message = status ? message : "",
                                .n_arrays = status ? 0 : n,
                                .arrays = arrays,
                                .n_layers_kept = 1,
                                .n_kinds = n,
                                .piece = (uint32_t)i,
                                .more = i + 1 < u->n,
                                .n_texts = t->where.size ? 1 : 0,
                                .texts = &where};
    int st = bi_row_columns_give(&t->columns, &r, err);
    if (t->where.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "%s", r.id);
    if (!st)
        st = t->task.sink(t->task.sink_user, &r, err);
    t->where.size = 0;
    bi_row_columns_clear(&t->columns);
    return st;
}

/* The sum over bins of a track, or of the logarithms of 1 and its values, from sums (bioinfer.h) or
 * from tracks. */
static double sum_of(const struct bi_variants_task *t, const struct bi_variants_output *o,
                     const float *values, int track, bool logs)
{
    const int n = o->is.n_tracks;
    double sum = 0;
    if (t->sums) {
        const float *high = values + (logs ? 2 * n : 0) + track;
        return (double)high[0] + (double)high[n];
    }
    for (int64_t b = 0; b < o->is.n_bins; b++) {
        const double v = (double)values[b * n + track];
        sum += logs ? log2(1 + v) : v;
    }
    return sum;
}

double bi_track_score(const struct bi_variants_task *t, const struct bi_variants_output *o,
                      const float *values, const float *other, enum bi_track_stat stat, int track)
{
    const bool logs = stat == BI_STAT_SAR;
    const double r = stat == BI_STAT_ALT ? 0 : sum_of(t, o, values, track, logs);
    const double a = stat == BI_STAT_REF ? 0 : sum_of(t, o, other, track, logs);
    return stat == BI_STAT_REF ? r : a - r;
}

/* ---- public calls ---- */

const struct bi_task_def bi_task_variants = {.name = "variants",
                                             .kind = &bi_kind_tracks,
                                             .run = variants_run,
                                             .end = variants_end,
                                             .free = variants_free};

int bioinfer_variants_open(bioinfer_task **out, const bioinfer_model *model,
                           const struct bioinfer_variants_params *params,
                           struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_variants, sizeof(struct bi_variants_task), err);
    if (!st && (st = open_variants((struct bi_variants_task *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

int bioinfer_variants_get_track(const bioinfer_task *task, int output, int index,
                                struct bioinfer_track *track)
{
    const struct bi_variants_task *t = (const struct bi_variants_task *)task;
    struct bioinfer_track is = {0};
    const struct bi_variants_output *o;
    if (!task || task->def != &bi_task_variants || !track ||
        track->struct_size < sizeof track->struct_size)
        return BIOINFER_INVALID;
    if (output < 0 || output >= t->n_outputs || index < 0 || index >= t->of[output].chosen.n)
        return BIOINFER_NOT_FOUND;
    o = &t->of[output];
    is.struct_size = track->struct_size;
    is.number = o->chosen.of[index];
    is.identifier = o->targets.of ? o->targets.of[is.number].identifier : NULL;
    memcpy(track, &is, is.struct_size < sizeof is ? is.struct_size : sizeof is);
    return 0;
}

const char *bioinfer_variants_column(const bioinfer_task *task, int index)
{
    const struct bi_variants_task *t = (const struct bi_variants_task *)task;
    return task && task->def == &bi_task_variants && index >= 0 && index < t->columns.n
               ? t->columns.of[index].name
               : NULL;
}

const char *bioinfer_variants_table(const bioinfer_task *task)
{
    return task && task->def == &bi_task_variants ? ((const struct bi_variants_task *)task)->table
                                                  : NULL;
}

/* tracks_task.c - the task of tracks, and its results as texts. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

/* ---- what computes ---- */

int tracker_open_genome(struct tracker *t)
{
    struct cli *cli = t->work.cli;
    struct bioinfer_error err = {0};
    int st;
    if (t->genome || !cli->options->genome)
        return CLI_EXIT_OK;
    st = bioinfer_genome_open(&t->genome, cli->ctx, cli->options->genome, &err);
    return st ? cli_fail(cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* Shows what is done while one window is computed; results count as they are put. */
static int tick(void *user, uint64_t windows, uint64_t bases)
{
    struct tracker *t = user;
    (void)windows, (void)bases;
    return t->tick(t->work.cli, t->work.cli->progress.records, t->work.cli->progress.residues);
}

static int begin(struct cli *cli)
{
    struct tracker *t = cli->task;
    t->p = bioinfer_params_struct(cli->options->params);
    if (cli->told) /* this is a worker */
        tracker_set_kind(t);
    return CLI_EXIT_OK;
}

static int open_task(struct cli *cli, cli_tick show)
{
    struct tracker *t = cli->task;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    int st = 0, code;
    t->tick = show;
    if ((code = tracker_open_genome(t)))
        return code;
    t->p->kind = t->kind;
    t->p->genome = t->genome;
    t->p->memory_limit = o->memory_limit << 20;
    t->p->progress = tick;
    t->p->progress_user = t;
    if (o->head && !t->p->outputs)
        st = bioinfer_params_set(o->params, "outputs", o->head, &err);
    if (!st)
        st = bioinfer_task_open(&cli->sequences, cli->ctx, cli->model, o->params, &err);
    if (st)
        return cli_fail(cli,
                        st == BIOINFER_FORMAT || st == BIOINFER_NOT_FOUND || st == BIOINFER_IO
                            ? CLI_AT_INPUT
                            : CLI_AT_CONFIG,
                        st, &err);
    return CLI_EXIT_OK;
}

static int opened(struct cli *cli)
{
    struct tracker *t = cli->task;
    const struct cli_options *o = cli->options;
    const int code = tracks_learn(t);
    if (!code && t->kind == BIOINFER_VARIANTS && o->cluster && o->cluster >= t->is.window / 2) {
        cli_say(cli, "--cluster: %lld bases, a window has %lld: expected less than half",
                (long long)o->cluster, (long long)t->is.window);
        return CLI_EXIT_USAGE;
    }
    return code;
}

/* ---- results ---- */

/* Writes what was computed since the last time: whole windows, changed ones, tokens of these. */
static size_t put_counts(struct tracker *t, char *text, size_t size)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    uint64_t now[3] = {0}, *told = t->n_told;
    int n;
    if (t->work.cli->sequences && !bioinfer_tracks_get_info(t->work.cli->sequences, &info)) {
        now[0] = info.n_whole;
        now[1] = info.n_cut;
        now[2] = info.cut_tokens;
    }
    n = snprintf(text, size, "%llu %llu %llu", (unsigned long long)(now[0] - told[0]),
                 (unsigned long long)(now[1] - told[1]), (unsigned long long)(now[2] - told[2]));
    memcpy(told, now, sizeof now);
    return (size_t)n;
}

/* A bioinfer_sink: a table takes rows as they are, and contributions become one track of single
 * bases. */
static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct tracker *t = user;
    struct bioinfer_result r = *result;
    struct bioinfer_array bases;
    struct bioinfer_text texts[2];
    char counts[96];
    r.n_texts = 0;
    if (!t->to_table) {
        r.n_columns = 0;
        r.n_rows = 0;
        if (result->n_texts)
            texts[r.n_texts++] = result->texts[0];
    }
    if (t->to_coverage && t->p->contributions && !r.status) {
        const char *end = memchr(texts[0].text, '\n', texts[0].length);
        bases = r.arrays[0];
        bases.kind = "tracks";
        bases.n_dims = 2;
        bases.shape[1] = 1;
        r.arrays = &bases;
        r.n_arrays = r.n_kinds = 1;
        texts[0].length = end ? (size_t)(end - texts[0].text) : texts[0].length;
    }
    if (!r.more)
        texts[r.n_texts++] = (struct bioinfer_text){CLI_COUNTS, counts,
                                                    put_counts(t, counts, sizeof counts)};
    r.texts = texts;
    return t->work.sink(t->work.sink_user, &r, err);
}

/* ---- the task ---- */

/* Puts the result of a place that has none. */
static int lose_place(struct tracker *t, struct bioinfer_result *r, const struct bioinfer_locus *l,
                      struct bioinfer_error *err)
{
    const char *texts[] = {l->chrom, l->name, l->reference, l->alternative};
    const int64_t pos = l->start + 1;
    int64_t ends[CLI_COUNT(texts)][2] = {{0}};
    struct bioinfer_column columns[CLI_COUNT(texts) + 1];
    for (size_t i = 0; i < CLI_COUNT(texts); i++) {
        ends[i][1] = (int64_t)strlen(texts[i]);
        columns[i + (i > 0)] = (struct bioinfer_column){"", BIOINFER_TEXT, ends[i], texts[i]};
    }
    columns[1] = (struct bioinfer_column){"", BIOINFER_I64, &pos, NULL};
    if (l->name[0])
        r->id = l->name;
    else if (t->kind != BIOINFER_WINDOWS)
        r->id = l->chrom;
    if (t->kind == BIOINFER_VARIANTS && !t->p->scorers) {
        int n;
        while (cli_variant_stat(t->p->stats, r->n_kinds, &n))
            r->n_kinds++;
        r->n_kinds *= t->is.n_outputs;
        r->n_rows = 1;
        r->n_columns = CLI_COUNT(texts) + 1;
        r->columns = columns;
    }
    return take_result(t, r, err);
}

/* Every place of the record has no result. */
static int lose(void *state, const struct bioinfer_record *record,
                const struct bioinfer_result *lost, struct bioinfer_error *err)
{
    struct tracker *t = state;
    const struct bioinfer_locus none = {
        .chrom = "", .name = record->id, .reference = "", .alternative = ""};
    struct bioinfer_result r = *lost;
    char *text = malloc(record->length + 1);
    struct bioinfer_locus l;
    size_t at = 0;
    int st = 0;
    r.length = t->is.window;
    r.n_layers_kept = 1;
    if (!text)
        st = cli_status_no_memory(err, "%.100s: out of memory", record->id);
    if (!st && t->kind == BIOINFER_WINDOWS)
        st = lose_place(t, &r, &none, err);
    while (!st && t->kind != BIOINFER_WINDOWS &&
           (st = bioinfer_record_place(record, &at, text, &l, err)) > 0) {
        r.more = at < record->length;
        r.n_kinds = 0;
        st = lose_place(t, &r, &l, err);
        r.piece++;
    }
    free(text);
    return st;
}

static void end(void *state)
{
    struct tracker *t = state;
    cli_output_close(&t->header);
    cli_output_close(&t->described);
    cli_output_close(&t->files);
    bioinfer_genome_close(&t->genome);
}

/* How many windows a place takes beside the reference's. */
static uint64_t count_changes(const struct tracker *t, const struct bioinfer_locus *l)
{
    if (t->kind == BIOINFER_MUTAGENESIS)
        return 3 * (uint64_t)(l->end - l->start);
    if (t->kind != BIOINFER_VARIANTS)
        return 0;
    return !t->p->scorers && t->p->indel == BIOINFER_INDEL_BOTH &&
                   strlen(l->reference) != strlen(l->alternative)
               ? 2
               : 1;
}

/* A window, and each change of it, is a pass of the model, whose tokens are many bases each. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    /* a GPU computes so many windows together: the first chunk has them, others a multiple */
    enum { TOGETHER = 8, WORK = CLI_FIRST_CHUNK / TOGETHER };
    const struct tracker *t = cli->task;
    char *text = record->status || t->kind == BIOINFER_WINDOWS ? NULL : malloc(record->length + 1);
    struct bioinfer_locus l;
    uint64_t windows = 1;
    size_t at = 0;
    while (text && bioinfer_record_place(record, &at, text, &l, NULL) > 0)
        windows += count_changes(t, &l);
    free(text);
    return (struct cli_weight){record->status ? 1 : windows * WORK, record->length + 1};
}

const struct cli_task cli_tracks_task = {.name = "tracks",
                                         .size = sizeof(struct tracker),
                                         .begin = begin,
                                         .open = open_task,
                                         .opened = opened,
                                         .tell = tracks_tell,
                                         .hear = tracks_hear,
                                         .take = take_result,
                                         .lose = lose,
                                         .end = end,
                                         .weigh = weigh,
                                         .loads_late = true};

/* tracks_task.c - the task of tracks: a record of the input becomes a unit, its values results. */
#include "scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const stat_names[N_STATS] = {"SAD", "SAR", "REF", "ALT"};

int no_memory(struct bioinfer_error *err, const char *what)
{
    err->status = BIOINFER_NOMEM;
    snprintf(err->text, sizeof err->text, "%.100s: out of memory", what);
    return BIOINFER_NOMEM;
}

/* ---- options ---- */

static int read_shifts(struct tracker *t, const char *list)
{
    while (list && *list) {
        char *end;
        long v = strtol(list, &end, 10);
        if (end == list || (*end && *end != ',') || t->n_shifts == MAX_SHIFTS || v < -1000000 ||
            v > 1000000) {
            cli_say(NULL, "--shifts: '%s' is no list of up to %d numbers", list, MAX_SHIFTS);
            return CLI_EXIT_USAGE;
        }
        t->shifts[t->n_shifts++] = (int)v;
        list = *end ? end + 1 : end;
    }
    return CLI_EXIT_OK;
}

static int read_bins(struct tracker *t, const char *text)
{
    long long first, last;
    int end = 0;

    if (!text)
        return CLI_EXIT_OK;
    if (sscanf(text, "%8lld-%8lld%n", &first, &last, &end) != 2 || text[end] || first < 0 ||
        last < first) {
        cli_say(NULL, "--bins: '%s': expected FIRST-LAST, as in 447-448", text);
        return CLI_EXIT_USAGE;
    }
    t->first_bin = first;
    t->n_bins = last - first + 1;
    return CLI_EXIT_OK;
}

static int read_stats(struct tracker *t, const char *list)
{
    if (!list)
        list = "SAD";
    while (*list) {
        size_t n = strcspn(list, ",");
        int s = 0;
        while (s < N_STATS && (strlen(stat_names[s]) != n || memcmp(stat_names[s], list, n)))
            s++;
        for (int i = 0; i < t->n_stats; i++)
            s = (int)t->stats_of[i] == s ? N_STATS : s;
        if (s == N_STATS) {
            cli_say(NULL, "--stats: '%s': expected SAD, SAR, REF and ALT, each once", list);
            return CLI_EXIT_USAGE;
        }
        t->stats_of[t->n_stats++] = (enum track_stat)s;
        list += n + (list[n] == ',');
    }
    return CLI_EXIT_OK;
}

/* Scores are of sums over bins. Logarithms are those of means over views, which only all values
 * give. */
static enum bioinfer_tracks_sums sums_for(const struct tracker *t)
{
    const struct cli_options *o = t->cli->options;
    bool logs = false;

    for (int i = 0; i < t->n_stats; i++)
        logs |= t->stats_of[i] == SAR;
    if (!o->ism && t->kind != &variants_kind)
        return BIOINFER_NO_SUMS;
    if (o->ism || !logs)
        return BIOINFER_SUMS;
    return t->n_shifts > 1 || o->rc ? BIOINFER_NO_SUMS : BIOINFER_SUMS_AND_LOGS;
}

/* Variants become a table unless the format, or the name of the output, asks for arrays. */
static bool wants_table(const struct cli_options *o)
{
    if (o->format)
        return !strcmp(o->format, "tsv");
    return !o->output || !strcmp(o->output, "-") || cli_ends_with(o->output, ".tsv");
}

void tracker_set_kind(struct tracker *t)
{
    const struct cli_options *o = t->cli->options;
    const char *holds = t->cli->told;

    t->kind = !strcmp(holds, records_kind.holds)    ? &records_kind
              : !strcmp(holds, variants_kind.holds) ? &variants_kind
              : o->ism                              ? &mutagenesis_kind
                                                    : &intervals_kind;
    t->to_table = t->kind == &variants_kind && wants_table(o);
    t->to_coverage = o->format && (!strcmp(o->format, "bedgraph") || !strcmp(o->format, "bigwig"));
}

/* ---- what computes ---- */

int tracker_open_genome(struct tracker *t)
{
    struct cli *cli = t->cli;
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
    return t->tick(t->cli, t->cli->progress.records, t->cli->progress.residues);
}

static int begin(struct cli *cli)
{
    struct tracker *t = calloc(1, sizeof *t);
    int code;

    if (!(cli->task = t))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    t->cli = cli;
    t->info.struct_size = sizeof t->info;
    if ((code = read_shifts(t, cli->options->shifts)) ||
        (code = read_stats(t, cli->options->stats)) || (code = read_bins(t, cli->options->bins)))
        return code;
    if (cli->told) /* this is a worker */
        tracker_set_kind(t);
    return cli->options->scorers ? scores_begin(t) : CLI_EXIT_OK;
}

void tracker_learn(struct tracker *t)
{
    t->info.struct_size = sizeof t->info;
    if (t->cli->options->contributions)
        bioinfer_contributions_get_info(t->tracks, &t->info);
    else
        bioinfer_tracks_get_info(t->tracks, &t->info);
}

static int open_task(struct cli *cli, cli_tick show)
{
    struct tracker *t = cli->task;
    const struct cli_options *o = cli->options;
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(
        struct bioinfer_tracks_params, .shifts = t->shifts, .n_shifts = t->n_shifts,
        .reverse_complement = o->rc, .no_rules = o->no_rules[0] ? o->no_rules : NULL,
        .memory_limit = o->memory_limit << 20, .progress = tick, .progress_user = t);
    int code;

    t->tick = show;
    p.sums = t->sums = sums_for(t);
    code = t->scores ? scores_open(t, &p) : outputs_find(t);
    if (code || (!t->scores && (code = outputs_open(t, &p))))
        return code;
    if (o->profile)
        bioinfer_task_set_profile(t->tracks, 1);
    tracker_learn(t);
    if (o->cluster && t->kind == &variants_kind && o->cluster >= t->info.window / 2) {
        cli_say(cli, "--cluster: %lld bases, a window has %lld: expected less than half",
                (long long)o->cluster, (long long)t->info.window);
        return CLI_EXIT_USAGE;
    }
    if (!(t->reference = calloc((size_t)t->info.window + 1, 1)))
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    return tracker_open_genome(t);
}

/* The command knows this of the task that its workers have opened. */
struct facts {
    struct bioinfer_tracks_info info;
    struct output_facts of[MAX_OUTPUTS];
    int n_outputs, n_tracks;
    bool unfit;
    char table[sizeof((struct tracker *)0)->table], left_out[sizeof((struct tracker *)0)->left_out];
    char without[sizeof((struct tracker *)0)->without];
};

_Static_assert(sizeof(struct facts) <= CLI_FACTS, "facts of tracks fit");

static void tell(const struct cli *cli, void *facts)
{
    const struct tracker *t = cli->task;
    struct facts f = {
        .info = t->info, .n_outputs = t->n_outputs, .n_tracks = t->n_tracks, .unfit = t->unfit};

    for (int i = 0; i < t->n_outputs; i++)
        f.of[i] = t->of[i].is;
    memcpy(f.table, t->table, sizeof f.table);
    memcpy(f.left_out, t->left_out, sizeof f.left_out);
    memcpy(f.without, t->without, sizeof f.without);
    memcpy(facts, &f, sizeof f);
}

static int hear(struct cli *cli, const void *facts)
{
    struct tracker *t = cli->task;
    struct facts f;

    memcpy(&f, facts, sizeof f);
    t->info = f.info;
    t->info.head = t->info.array = NULL; /* they point into the memory of a worker */
    t->info.output = t->info.organism = NULL;
    t->n_values = t->info.n_values;
    t->n_tracks = f.n_tracks;
    t->n_outputs = f.n_outputs;
    t->unfit = f.unfit;
    for (int i = 0; i < t->n_outputs; i++)
        t->of[i].is = f.of[i];
    memcpy(t->table, f.table, sizeof t->table);
    memcpy(t->left_out, f.left_out, sizeof t->left_out);
    memcpy(t->without, f.without, sizeof t->without);
    return t->scores ? CLI_EXIT_OK : outputs_hear(t);
}

/* ---- units ---- */

void unit_free(struct unit **unit)
{
    struct unit *u = *unit;

    *unit = NULL;
    for (int i = 0; u && u->of && i < u->n; i++)
        free(u->of[i].why);
    if (u) {
        free(u->text);
        free(u->of);
        free(u->scores);
        free(u->scored);
    }
    free(u);
}

static int make_unit(const struct tracker *t, const struct bioinfer_record *record,
                     struct unit **unit, struct bioinfer_error *err)
{
    int st;

    if (!(*unit = calloc(1, sizeof **unit)))
        return no_memory(err, record->id);
    if ((st = unit_read(*unit, t->kind, record, err)))
        unit_free(unit);
    return st;
}

int next_unit(struct tracker *t, struct unit **unit, struct bioinfer_error *err)
{
    struct bioinfer_record record = {0};
    int st = t->source(t->source_user, &record, err);

    *unit = NULL;
    if (st <= 0)
        return st;
    return (st = make_unit(t, &record, unit, err)) ? st : 1;
}

int place_fail(struct place *p, int status, const char *text, struct bioinfer_error *err)
{
    char *why = strdup(text);

    if (!why)
        return no_memory(err, p->name);
    free(p->why);
    p->why = why;
    p->status = status;
    p->message = why;
    return 0;
}

int read_window(struct tracker *t, const char *chrom, int64_t middle, int64_t *start,
                struct bioinfer_error *err)
{
    *start = middle - t->info.window / 2;
    return bioinfer_genome_read(t->genome, chrom, *start, *start + t->info.window, t->reference,
                                err);
}

/* ---- results ---- */

/* Writes what was computed since the last time: whole windows, changed ones, tokens of these. */
static size_t put_counts(struct tracker *t, char *text, size_t size)
{
    uint64_t now[3], *told = t->n_told;
    int n;

    if (t->tracks)
        tracker_learn(t);
    now[0] = t->info.n_whole;
    now[1] = t->info.n_cut;
    now[2] = t->info.cut_tokens;
    n = snprintf(text, size, "%llu %llu %llu", (unsigned long long)(now[0] - told[0]),
                 (unsigned long long)(now[1] - told[1]), (unsigned long long)(now[2] - told[2]));
    memcpy(told, now, sizeof now);
    return (size_t)n;
}

int put_result(struct tracker *t, const struct unit *u, int i, int status, const char *message,
               const struct bioinfer_array *arrays, int n, struct bioinfer_error *err)
{
    const struct place *p = &u->of[i];
    char counts[96];
    struct bioinfer_text texts[2];
    struct bioinfer_result r = {.ordinal = u->ordinal,
                                .id = p->name[0] || t->kind == &records_kind ? p->name : p->chrom,
                                .length = t->info.window,
                                .status = status,
                                .message = status ? message : "",
                                .n_arrays = status || t->to_table ? 0 : n,
                                .arrays = arrays,
                                .n_layers_kept = 1,
                                .n_kinds = n,
                                .piece = (uint32_t)i,
                                .more = i + 1 < u->n,
                                .texts = texts};

    if (t->row.status)
        return no_memory(err, r.id);
    if (t->row.n_text)
        texts[r.n_texts++] = (struct bioinfer_text){t->to_table ? "row" : TRACKS_WINDOW,
                                                    t->row.text, t->row.n_text};
    t->row.n_text = 0;
    if (!r.more)
        texts[r.n_texts++] = (struct bioinfer_text){CLI_COUNTS, counts,
                                                    put_counts(t, counts, sizeof counts)};
    return t->sink(t->sink_user, &r, err);
}

/* The sum over bins of a track, or of the logarithms of 1 and its values, from sums (bioinfer.h) or
 * from tracks. */
static double sum_of(const struct tracker *t, const struct output *o, const float *values,
                     int track, bool logs)
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

double track_score(const struct tracker *t, const struct output *o, const float *values,
                   const float *other, enum track_stat stat, int track)
{
    const double r = stat == ALT ? 0 : sum_of(t, o, values, track, stat == SAR);
    const double a = stat == REF ? 0 : sum_of(t, o, other, track, stat == SAR);

    return stat == REF ? r : a - r;
}

/* ---- the task ---- */

static int run_task(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
                    void *sink_user, struct bioinfer_error *err)
{
    struct tracker *t = cli->task;

    t->source = source;
    t->source_user = source_user;
    t->sink = sink;
    t->sink_user = sink_user;
    return t->scores ? scores_run(t, err) : compute_all(t, err);
}

/* Every place of the record has no result. */
static int lose(struct cli *cli, const struct bioinfer_record *record, int status,
                const char *message, bioinfer_sink sink, void *user, struct bioinfer_error *err)
{
    struct tracker *t = cli->task;
    struct unit *u;
    int st = make_unit(t, record, &u, err);

    t->sink = sink;
    t->sink_user = user;
    for (int i = 0; !st && i < u->n; i++)
        st = t->kind->fail ? t->kind->fail(t, u, i, status, message, err)
                           : put_result(t, u, i, status, message, NULL, 0, err);
    unit_free(&u);
    return st;
}

static void profile(struct cli *cli)
{
    const struct tracker *t = cli->task;
    struct bioinfer_profile p = {.struct_size = sizeof p};

    if (!bioinfer_task_get_profile(t->tracks, &p))
        cli_show_profile(cli, &p);
}

static void end(struct cli *cli)
{
    struct tracker *t = cli->task;

    if (!t)
        return;
    outputs_free(t);
    bioinfer_task_close(&t->tracks);
    scores_end(t);
    compute_close(t);
    unit_free(&t->asked);
    free(t->reference);
    cli_output_close(&t->row);
    bioinfer_genome_close(&t->genome);
    free(t);
    cli->task = NULL;
}

/* A window, and each change of it, is a pass of the model, whose tokens are many bases each. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    /* a GPU computes so many windows together: the first chunk has them, others a multiple */
    enum { TOGETHER = 8, WORK = CLI_FIRST_CHUNK / TOGETHER };
    const struct tracker *t = cli->task;
    struct bioinfer_error err = {0};
    struct unit *u = NULL;
    uint64_t windows = 1;

    if (record->status || make_unit(t, record, &u, &err))
        return (struct cli_weight){1, record->length + 1};
    if (t->kind == &variants_kind)
        windows += count_changes(t, u);
    else if (t->kind == &mutagenesis_kind)
        windows += 3 * (uint64_t)(u->of[0].end - u->of[0].start);
    unit_free(&u);
    return (struct cli_weight){windows * WORK, record->length + 1};
}

const struct cli_task cli_tracks_task = {.begin = begin,
                                         .open = open_task,
                                         .tell = tell,
                                         .hear = hear,
                                         .run = run_task,
                                         .lose = lose,
                                         .profile = profile,
                                         .end = end,
                                         .weigh = weigh};

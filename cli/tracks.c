/* tracks.c - `bioinfer MODEL INPUT` for models of DNA windows.
 *
 * Windows come from FASTA records as they are, from the middles of BED intervals, or from VCF:
 * there every variant's window is run with both alleles, or several variants share one
 * (--cluster). A substitution reuses the reference's features, which changes no bit.
 *
 * Sections: options, session, output, results, units, the command. */
#include "tracks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const stat_names[N_STATS] = {"SAD", "SAR", "REF", "ALT"};

/* ---- options ---- */

static int read_shifts(struct run *run, const char *list)
{
    while (list && *list) {
        char *end;
        long v = strtol(list, &end, 10);
        if (end == list || (*end && *end != ',') || run->n_shifts == MAX_SHIFTS || v < -1000000 ||
            v > 1000000) {
            cli_say(NULL, "--shifts: '%s' is no list of up to %d numbers", list, MAX_SHIFTS);
            return CLI_EXIT_USAGE;
        }
        run->shifts[run->n_shifts++] = (int)v;
        list = *end ? end + 1 : end;
    }
    return CLI_EXIT_OK;
}

static int read_stats(struct run *run, const char *list)
{
    if (!list)
        list = "SAD";
    while (*list) {
        size_t n = strcspn(list, ",");
        int s = 0;
        while (s < N_STATS && (strlen(stat_names[s]) != n || memcmp(stat_names[s], list, n)))
            s++;
        for (int i = 0; i < run->n_stats; i++)
            s = (int)run->stats_of[i] == s ? N_STATS : s;
        if (s == N_STATS) {
            cli_say(NULL, "--stats: '%s': expected SAD, SAR, REF and ALT, each once", list);
            return CLI_EXIT_USAGE;
        }
        run->stats_of[run->n_stats++] = (enum track_stat)s;
        list += n + (list[n] == ',');
    }
    return CLI_EXIT_OK;
}

/* Scores are of sums over bins. Logarithms are those of means over views, which only all values
 * give. */
static enum bioinfer_tracks_sums sums_for(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    bool logs = false;

    for (int i = 0; i < run->n_stats; i++)
        logs |= run->stats_of[i] == SAR;
    if (!o->ism && run->kind != &variants_kind)
        return BIOINFER_NO_SUMS;
    if (o->ism || !logs)
        return BIOINFER_SUMS;
    return run->n_shifts > 1 || o->rc ? BIOINFER_NO_SUMS : BIOINFER_SUMS_AND_LOGS;
}

/* ---- session ---- */

/* Shows what is done while one window is computed; results count as they are put. */
static int tick(void *user, uint64_t windows, uint64_t bases)
{
    struct run *run = user;

    (void)windows, (void)bases;
    return cli_progress_tick(run->cli, run->n_records, run->n_records * (uint64_t)run->info.window);
}

static int open_session(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(
        struct bioinfer_tracks_params, .head = o->head, .shifts = run->shifts,
        .n_shifts = run->n_shifts, .reverse_complement = o->rc,
        .no_rules = o->no_rules[0] ? o->no_rules : NULL, .progress = tick, .progress_user = run);
    struct bioinfer_error err = {0};
    const char *head;
    int n_tracks = 0, code, st;

    p.sums = run->sums = sums_for(run);
    for (int i = 0; (head = bioinfer_model_head(run->cli->model, i, &n_tracks)); i++)
        if (!o->head || !strcmp(head, o->head))
            break;
    if (head && o->targets && (code = targets_read(&run->targets, o->targets, n_tracks)))
        return code;
    if (head && (code = selection_read(&run->chosen, o->tracks, &run->targets, n_tracks)))
        return code;
    p.tracks = run->chosen.of;
    p.n_tracks = run->chosen.n;
    p.strand_pairs = run->targets.has_pairs ? run->targets.pairs : NULL;
    if ((st = bioinfer_tracks_new(&run->tracks, run->cli->model, &p, &err)))
        return cli_fail(run->cli, CLI_AT_CONFIG, st, &err);
    if (o->profile)
        bioinfer_tracks_set_profile(run->tracks, 1);
    run->info.struct_size = sizeof run->info;
    bioinfer_tracks_get_info(run->tracks, &run->info);
    run->n_values = run->info.n_rows * run->info.n_tracks;
    if (o->cluster && run->kind == &variants_kind && o->cluster >= run->info.window / 2) {
        cli_say(run->cli, "--cluster: %lld bases, a window has %lld: expected less than half",
                (long long)o->cluster, (long long)run->info.window);
        return CLI_EXIT_USAGE;
    }
    run->reference = calloc((size_t)run->info.window + 1, 1);
    return run->reference ? CLI_EXIT_OK : CLI_EXIT_NO_MEMORY;
}

static int open_input(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    int st;

    run->kind = &records_kind;
    if (!o->genome)
        return cli_open_reader(cli, 0);
    if ((st = bioinfer_genome_open(&run->genome, cli->ctx, o->genome, &err)) ||
        (st = bioinfer_loci_open(&run->loci, cli->ctx, o->input, &err)))
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    run->kind = bioinfer_loci_are_variants(run->loci) ? &variants_kind
                : o->ism                              ? &mutagenesis_kind
                                                      : &intervals_kind;
    cli->input_name = o->input;
    return CLI_EXIT_OK;
}

static bool is(const char *format, const char *name)
{
    return format && !strcmp(format, name);
}

/* Says why there is nothing that a run of coverage could go on from. */
static int refuse_coverage(struct run *run)
{
    const struct cli_options *o = run->cli->options;

    cli_say(run->cli,
            "--%s and --format %s do not go together: its files are made of all windows at once; "
            "write an array of each window, -o FILE.npz or FILE.h5",
            o->n_shards ? "shard" : "resume", o->format);
    return CLI_EXIT_USAGE;
}

/* What the options ask for together. */
static int check_options(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const char *name = run->cli->input_name, *holds = run->kind->holds;
    const bool coverage = is(o->format, "bedgraph") || is(o->format, "bigwig");
    const bool variants = run->kind == &variants_kind, records = run->kind == &records_kind;

    if (o->ism && (records || variants)) {
        cli_say(run->cli, "%s holds %s, and --ism takes intervals: --genome FASTA and a BED", name,
                holds);
        return CLI_EXIT_USAGE;
    }
    if (coverage && (records || variants || o->ism)) {
        cli_say(run->cli, "%s holds %s, and --format %s takes intervals: --genome FASTA and a BED",
                name, holds, o->format);
        return CLI_EXIT_USAGE;
    }
    if ((o->stats || o->cluster) && o->genome && !variants) {
        cli_say(run->cli, "%s holds %s, and --%s takes variants: a VCF", name, holds,
                o->stats ? "stats" : "cluster");
        return CLI_EXIT_USAGE;
    }
    if (!variants && (is(o->format, "tsv") || is(o->format, "npy"))) {
        cli_say(run->cli,
                "%s holds %s, and --format %s takes variants; tracks go to npz, h5, "
                "safetensors, jsonl, bedgraph or bigwig",
                name, holds, o->format);
        return CLI_EXIT_USAGE;
    }
    run->to_coverage = coverage;
    run->to_table = variants && (!o->format || is(o->format, "tsv")) &&
                    (o->format || !o->output || !strcmp(o->output, "-") ||
                     (strlen(o->output) > 4 && !strcmp(o->output + strlen(o->output) - 4, ".tsv")));
    if (!cli_job_needs_file(run->cli, o->output))
        return CLI_EXIT_USAGE;
    if (!run->to_table && !o->output) {
        cli_say(run->cli, "name the output with -o");
        return CLI_EXIT_USAGE;
    }
    return coverage && cli_job_wanted(o) ? refuse_coverage(run) : CLI_EXIT_OK;
}

/* ---- output ---- */

static void put_header(struct run *run, struct cli_output *to)
{
    cli_output_printf(to, "chrom\tpos\tid\tref\talt\tstatus");
    for (int s = 0; s < run->n_stats; s++)
        for (int k = 0; k < run->chosen.n; k++) {
            char name[300];
            track_name(name, sizeof name, &run->targets, run->chosen.of[k]);
            cli_output_printf(to, "\t%s:%s", stat_names[run->stats_of[s]], name);
        }
    cli_output_printf(to, "\n");
}

/* All that changes results and is neither a file nor part of the model's fingerprint. */
static void describe_options(const struct run *run, struct cli_output *text)
{
    const struct cli_options *o = run->cli->options;

    cli_output_printf(text, "kind=%s head=%s window=%lld rc=%d cluster=%lld ism=%d positions=%s",
                      run->kind->holds, run->info.head, (long long)run->info.window, o->rc,
                      (long long)o->cluster, o->ism, o->positions ? o->positions : "");
    cli_output_printf(text, " shifts=%s", run->n_shifts ? "" : "0");
    for (int i = 0; i < run->n_shifts; i++)
        cli_output_printf(text, "%s%d", i ? "," : "", run->shifts[i]);
    cli_output_printf(text, " stats=");
    for (int i = 0; run->kind == &variants_kind && i < run->n_stats; i++)
        cli_output_printf(text, "%s%s", i ? "," : "", stat_names[run->stats_of[i]]);
    cli_output_printf(text, " no-rule=%s tracks=", o->no_rules);
    for (int i = 0; i < run->chosen.n; i++)
        cli_output_printf(text, "%s%d", i ? "," : "", run->chosen.of[i]);
    cli_output_write(text, "", 1);
}

/* Adds a file that decides results, where there is one of that name. */
static void add_input(struct bioinfer_job_params *params, struct bioinfer_job_input *to,
                      const char *role, const char *path)
{
    if (path && !access(path, R_OK))
        to[params->n_inputs++] = (struct bioinfer_job_input){role, path};
}

static int open_job(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_job_params params = cli_job_params(cli, "tracks");
    struct bioinfer_writer_params writer;
    struct bioinfer_job_input inputs[5];
    struct cli_output options = {0}, head = {0}, index = {0}, blocks = {0};
    struct bioinfer_error err = {0};
    int st, code = cli_fingerprint(cli);

    if (code)
        return code;
    writer = cli_writer_params(cli);
    describe_options(run, &options);
    put_header(run, &head);
    cli_output_write(&head, "", 1);
    cli_output_printf(&index, "%s.fai%c", o->genome ? o->genome : "", 0);
    cli_output_printf(&blocks, "%s.gzi%c", o->genome ? o->genome : "", 0);
    st = options.status || head.status || index.status || blocks.status ? BIOINFER_NOMEM : 0;
    if (!st) {
        add_input(&params, inputs, "genome", o->genome);
        add_input(&params, inputs, "genome index", o->genome ? index.text : NULL);
        add_input(&params, inputs, "genome blocks", o->genome ? blocks.text : NULL);
        add_input(&params, inputs, "targets", o->targets);
        add_input(&params, inputs, "positions", o->positions);
        params.writer = &writer;
        params.options = options.text;
        params.inputs = inputs;
        params.units = run->kind == &variants_kind;
        params.text_head = run->to_table ? head.text : NULL;
        st = bioinfer_job_open(&run->job, cli->ctx, o->output, &params, &err);
    }
    cli_output_close(&options);
    cli_output_close(&head);
    cli_output_close(&index);
    cli_output_close(&blocks);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

static int open_output(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = o->format, .model = cli->info.name,
        .suffix_duplicates = o->dup_ids && !strcmp(o->dup_ids, "suffix"));
    int st;

    if (cli_job_wanted(o))
        return open_job(run);
    if (run->to_coverage) {
        run->coverage = (struct coverage){.bigwig = is(o->format, "bigwig"),
                                          .folder = o->output,
                                          .n_tracks = run->chosen.n,
                                          .tracks = run->chosen.of,
                                          .targets = &run->targets,
                                          .bin_size = run->info.bin_size};
        return coverage_open(&run->coverage, cli);
    }
    if (run->to_table) {
        if ((st = cli_output_open(&run->table, o->output, &err)))
            return cli_fail(cli, CLI_AT_CREATE, st, &err);
        put_header(run, &run->table);
        return CLI_EXIT_OK;
    }
    st = bioinfer_writer_open(&run->writer, cli->ctx, o->output, &params, &err);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* ---- results ---- */

int run_failed(struct run *run, int st, const struct bioinfer_error *err)
{
    /* FORMAT comes from the genome, not from what is computed */
    return cli_fail(run->cli, st == BIOINFER_FORMAT || st == BIOINFER_IO ? CLI_AT_READ : CLI_AT_RUN,
                    st, err);
}

/* Hands a result to the job, with the row of a table, or to the writer. */
static int give(struct run *run, const struct unit *u, int i, struct bioinfer_result *r)
{
    const struct bioinfer_text row = {"row", run->table.text, run->table.n_text};
    struct bioinfer_error err = {0};
    int st;

    if (run->job) {
        r->ordinal = u->ordinal;
        r->piece = (uint32_t)i;
        r->more = i + 1 < u->n;
        if (run->to_table) {
            r->n_arrays = 0;
            r->n_texts = 1;
            r->texts = &row;
        }
        st = run->table.status ? run->table.status : bioinfer_job_sink(run->job, r, &err);
        run->table.n_text = 0;
    } else {
        st = run->writer ? bioinfer_writer_put(run->writer, r, &err) : 0;
    }
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

int put_result(struct run *run, const struct unit *u, int i, int status, const char *message,
               const struct bioinfer_array *arrays, int n)
{
    const struct bioinfer_locus *l = &u->of[i].l;
    struct bioinfer_result r = {.ordinal = l->ordinal,
                                .id = l->name[0] || !run->loci ? l->name : l->chrom,
                                .length = run->info.window,
                                .status = status,
                                .message = status ? message : "",
                                .n_arrays = status ? 0 : n,
                                .arrays = arrays,
                                .n_layers_kept = 1,
                                .n_kinds = n};

    run->n_records++;
    if (status) {
        run->n_failed++;
        cli_say_lost(run->cli, "%s: no result: %s: %s", r.id, bioinfer_status_name(status),
                     message);
        if (run->cli->options->strict) {
            run->cli->lost_record = true;
            cli_say(run->cli, "--strict: stopped, nothing written");
            return CLI_EXIT_DATA;
        }
    }
    run->cli->progress.records = run->n_records;
    if (cli_progress_tick(run->cli, run->n_records, run->n_records * (uint64_t)run->info.window))
        return cli_fail(run->cli, CLI_AT_RUN, BIOINFER_CANCELLED, NULL);
    return give(run, u, i, &r);
}

/* The sum over bins of a track, or of the logarithms of 1 and its values, from sums (bioinfer.h) or
 * from tracks. */
static double sum_of(const struct run *run, const float *values, int track, bool logs)
{
    const int n = run->info.n_tracks;
    double sum = 0;

    if (run->sums) {
        const float *high = values + (logs ? 2 * n : 0) + track;
        return (double)high[0] + (double)high[n];
    }
    for (int64_t b = 0; b < run->info.n_bins; b++) {
        const double v = (double)values[b * n + track];
        sum += logs ? log2(1 + v) : v;
    }
    return sum;
}

double track_score(const struct run *run, const float *values, const float *other,
                   enum track_stat stat, int track)
{
    const double r = stat == ALT ? 0 : sum_of(run, values, track, stat == SAR);
    const double a = stat == REF ? 0 : sum_of(run, other, track, stat == SAR);

    return stat == REF ? r : a - r;
}

/* ---- units ---- */

bool place_copy(struct place *p, const struct bioinfer_locus *l)
{
    const char *from[] = {l->chrom, l->name, l->reference, l->alternative, l->message};
    const char **to[] = {&p->l.chrom, &p->l.name, &p->l.reference, &p->l.alternative,
                         &p->l.message};
    size_t size = 0;
    char *at;

    *p = (struct place){.l = *l};
    for (size_t i = 0; i < CLI_COUNT(from); i++)
        size += strlen(from[i]) + 1;
    if (!(at = p->text = malloc(size)))
        return false;
    for (size_t i = 0; i < CLI_COUNT(from); i++) {
        size_t n = strlen(from[i]) + 1;
        *to[i] = memcpy(at, from[i], n);
        at += n;
    }
    return true;
}

bool place_fail(struct place *p, int status, const char *text)
{
    char *why = strdup(text);

    if (!why)
        return false;
    free(p->why);
    p->why = why;
    p->l.status = status;
    p->l.message = why;
    return true;
}

void place_free(struct place *p)
{
    free(p->text);
    free(p->why);
    *p = (struct place){0};
}

bool unit_add(struct unit *u, struct place *p)
{
    if (u->n == u->cap) {
        int cap = u->cap ? 2 * u->cap : 1;
        struct place *of = realloc(u->of, (size_t)cap * sizeof *of);
        if (!of)
            return false;
        u->of = of;
        u->cap = cap;
    }
    u->size += sizeof *p + strlen(p->l.chrom) + strlen(p->l.name) + strlen(p->l.reference) +
               strlen(p->l.alternative);
    u->of[u->n++] = *p;
    *p = (struct place){0};
    return true;
}

void unit_free(struct unit **unit)
{
    struct unit *u = *unit;

    *unit = NULL;
    for (int i = 0; u && i < u->n; i++)
        place_free(&u->of[i]);
    if (u) {
        cli_output_close(&u->key);
        free(u->of);
        free(u->scores);
        free(u->scored);
    }
    free(u);
}

int read_window(struct run *run, const char *chrom, int64_t middle, int64_t *start,
                struct bioinfer_error *err)
{
    *start = middle - run->info.window / 2;
    return bioinfer_genome_read(run->genome, chrom, *start, *start + run->info.window,
                                run->reference, err);
}

/* A bioinfer_source: the units of the input, each of which a job knows by the name of its first
 * place and by its bases or the text of its places. The unit is in run->read. */
static int next_unit(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    struct unit *u;
    int st;

    unit_free(&run->read);
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if (!(u = run->read = calloc(1, sizeof *u))) {
        err->status = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "the next record");
        return BIOINFER_NOMEM;
    }
    st = run->kind->read(run, u, err);
    if (st > 0 && u->key.status) {
        err->status = st = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "%.100s: the text of it", u->of[0].l.name);
    }
    run->reading = st < 0;
    if (st <= 0)
        return st;
    *record = (struct bioinfer_record){.id = u->of[0].l.name,
                                       .description = "",
                                       .message = "",
                                       .status = u->of[0].l.status,
                                       .sequence = u->sequence ? u->sequence : u->key.text,
                                       .length = u->sequence ? u->length : u->key.n_text,
                                       .ordinal = run->n_units++};
    return 1;
}

int take_unit(struct run *run, struct unit **out)
{
    struct bioinfer_record record = {0};
    struct bioinfer_error err = {0};
    int st = run->job ? bioinfer_job_source(run->job, &record, &err)
                      : next_unit(run, &record, &err);

    *out = NULL;
    if (st < 0)
        return cli_fail(run->cli,
                        run->reading || (st != BIOINFER_NO_SPACE && st != BIOINFER_IO)
                            ? CLI_AT_READ
                            : CLI_AT_WRITE,
                        st, &err);
    if (st > 0) {
        *out = run->read; /* the job has asked for no other since */
        (*out)->ordinal = record.ordinal;
        run->read = NULL;
    }
    return CLI_EXIT_OK;
}

static bool any_records(struct run *run)
{
    run->stats.struct_size = sizeof run->stats;
    /* records of the journal count, too: an input that holds none now is not the one it was */
    return run->n_records || (run->job && !bioinfer_job_get_stats(run->job, &run->stats) &&
                              (run->stats.input_records || run->stats.records));
}

static int run_all(struct run *run)
{
    int code;

    if (run->job)
        bioinfer_job_set_source(run->job, next_unit, run);
    if ((code = compute_all(run)))
        return code;
    if (any_records(run))
        return CLI_EXIT_OK;
    cli_say(run->cli, "%s: no records", run->cli->input_name);
    if (run->job)
        bioinfer_job_discard(run->job);
    return CLI_EXIT_DATA;
}

/* ---- the command ---- */

static int finish(struct run *run)
{
    struct bioinfer_error err = {0};
    int st = 0;

    if (run->job)
        return cli_job_finish(run->cli, run->job, &run->stats);
    if (run->to_coverage)
        return coverage_finish(&run->coverage, run->cli);
    if (!run->to_table && (st = cli_sign(run->cli, run->writer)))
        return st;
    st = run->to_table ? cli_output_finish(&run->table, &err)
                       : bioinfer_writer_finish(run->writer, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static int write_text(void *user, const char *text, size_t len)
{
    cli_output_write(user, text, len);
    return 0;
}

static int dump(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st;

    cli_output_open(&out, NULL, &err);
    st = bioinfer_tracks_dump(run->tracks, !o->dump_graph || strcmp(o->dump_graph, "plain"),
                              o->trace_rules, write_text, &out, &err);
    if (st)
        return cli_fail(run->cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static void say_summary(struct run *run)
{
    const struct cli *cli = run->cli;
    const struct bioinfer_job_stats *stats = &run->stats;
    char before[48] = "";

    bioinfer_tracks_get_info(run->tracks, &run->info);
    if (cli->options->quiet)
        return;
    if (stats->resumed)
        snprintf(before, sizeof before, ", %llu from before", (unsigned long long)stats->resumed);
    cli_say(run->cli,
            "%llu results%s in %.2f s: %llu whole windows, %llu by %llu changed tokens; model %s "
            "from %s, head %s, %s %s %s",
            (unsigned long long)(run->job ? stats->records - stats->failed
                                          : run->n_records - run->n_failed),
            before, cli_now() - cli->progress.start, (unsigned long long)run->info.n_whole,
            (unsigned long long)run->info.n_cut, (unsigned long long)run->info.cut_tokens,
            cli->info.name, cli->info.path, run->info.head, cli->info.device, cli->info.kernels,
            cli->info.precision);
    if (run->job)
        cli_job_say_shard(run->cli, stats, cli->options->output);
}

/* Says how many records have no result, if there are any. */
static int end_code(struct run *run)
{
    struct cli *cli = run->cli;

    if (run->job ? !run->stats.failed : !run->n_failed)
        return CLI_EXIT_OK;
    if (run->job)
        cli_job_say_failed(cli, "records", &run->stats,
                           cli->options->n_shards ? NULL : cli->options->output);
    else
        cli_say(cli, "%llu of %llu records have no result", (unsigned long long)run->n_failed,
                (unsigned long long)run->n_records);
    return CLI_EXIT_RECORDS;
}

static void close_run(struct run *run)
{
    bioinfer_job_close(&run->job);
    cli_output_close(&run->table);
    bioinfer_writer_close(&run->writer);
    coverage_close(&run->coverage);
    targets_free(&run->targets);
    free(run->chosen.of);
    bioinfer_tracks_free(&run->tracks);
    compute_close(run);
    unit_free(&run->asked);
    unit_free(&run->read);
    place_free(&run->ahead);
    free(run->reference);
    bioinfer_loci_close(&run->loci);
    bioinfer_genome_close(&run->genome);
}

int cli_tracks(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    int code;

    if ((code = read_shifts(&run, o->shifts)) || (code = read_stats(&run, o->stats)) ||
        (code = cli_open_context(cli)) || (code = open_input(&run)) ||
        (!(o->dump_graph || o->trace_rules) && (code = check_options(&run))) ||
        (code = cli_open_model(cli)) || (code = open_session(&run)))
        goto out;
    if (o->dump_graph || o->trace_rules) {
        code = dump(&run);
        goto out;
    }
    if ((code = open_output(&run)))
        goto out;
    cli_progress_start(cli);
    code = run_all(&run);
    cli_progress_end(cli);
    if (code) {
        code = cli_job_stopped(cli, run.job, code);
        goto out;
    }
    if ((code = finish(&run)))
        goto out;
    say_summary(&run);
    if (cli->options->profile) {
        struct bioinfer_profile profile = {.struct_size = sizeof profile};
        if (!bioinfer_tracks_get_profile(run.tracks, &profile))
            cli_show_profile(cli, &profile);
    }
    code = end_code(&run);
out:
    close_run(&run);
    return code;
}

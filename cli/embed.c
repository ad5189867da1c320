/* embed.c - `bioinfer MODEL INPUT`: records in, one result each, a file out. */
#include "pool/worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct run {
    struct cli *cli;
    struct cli_pool *pool;   /* NULL: this process computes */
    bioinfer_job *job;       /* NULL when results go to standard output ... */
    bioinfer_writer *writer; /* ... through this */
    enum cli_stage stage;    /* where the failure was that stopped the run */
    uint64_t job_residues;   /* in the records that the job handed out */
    struct bioinfer_job_stats stats;
};

/* ---- where results go ---- */

static bool is_text(const char *format)
{
    return format && (!strcmp(format, "tsv") || !strcmp(format, "jsonl"));
}

/* The path of the output as a new string, "-" = standard output. NULL: said why. */
static char *output_path(struct cli *cli, int *code)
{
    const struct cli_options *o = cli->options;
    const char *format = o->format ? o->format : "npz";
    bool from_stdin = !strcmp(o->input, "-");
    const char *model = o->model ? o->model : "embed"; /* the weights say which it is */
    size_t size = strlen(cli->inputs.of[0]) + strlen(model) + strlen(format) + 3;
    char *path;

    *code = CLI_EXIT_USAGE;
    if (o->output && !strcmp(o->output, "-") && !is_text(o->format)) {
        cli_say(cli, "standard output takes --format tsv or jsonl");
        return NULL;
    }
    if (!o->output && !is_text(o->format) && from_stdin) {
        cli_say(cli, "reading standard input: name the output with -o, or use --format "
                     "tsv or jsonl");
        return NULL;
    }
    if (!o->output && !is_text(o->format) && cli->inputs.n > 1) {
        cli_say(cli, "several inputs: name the output with -o");
        return NULL;
    }
    if (o->output)
        size = strlen(o->output) + 1;
    if (!(path = malloc(size))) {
        *code = cli_no_memory(cli, "the name of the output");
        return NULL;
    }
    if (o->output)
        strcpy(path, o->output);
    else if (is_text(o->format))
        strcpy(path, "-");
    else
        snprintf(path, size, "%s.%s.%s", cli->inputs.of[0], model, format);
    *code = CLI_EXIT_OK;
    return path;
}

/* ---- the run ---- */

static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    struct cli *cli = run->cli;
    int st;

    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    st = cli_next_protein(cli, record, err);
    if (st < 0)
        run->stage = CLI_AT_READ;
    else if (st > 0 && !record->status &&
             (!run->job || bioinfer_job_wants(run->job, record->ordinal) == record->ordinal))
        cli->progress.read_residues += record->length;
    return st;
}

/* Passes over what the job does not read. */
static int seek_block(void *user, uint64_t ordinal, struct bioinfer_error *err)
{
    struct run *run = user;
    const int st = bioinfer_reader_seek(run->cli->reader, run->cli->index, ordinal, err);

    run->stage = st ? CLI_AT_READ : run->stage;
    return st;
}

static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct run *run = user;
    struct bioinfer_job_stats *stats = &run->stats;
    struct bioinfer_error range = {0};
    struct bioinfer_result failed;
    int st = result->status ? 0 : bioinfer_result_fits(result, run->cli->options->dtype, &range);

    if (st) { /* costs the record, not the run */
        failed = *result;
        failed.status = st;
        failed.message = range.text;
        failed.n_arrays = 0;
        failed.labels = NULL;
        result = &failed;
    }
    if (result->status) {
        cli_say_lost(run->cli, "%s: no result: %s%s%s", result->id,
                     bioinfer_status_name(result->status), *result->message ? ": " : "",
                     result->message);
        if (run->cli->options->strict) {
            run->stage = CLI_AT_READ;
            run->cli->lost_record = true;
            err->status = result->status;
            snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
            return result->status;
        }
    }
    if (run->job) {
        st = bioinfer_job_sink(run->job, result, err);
    } else if (!(st = bioinfer_writer_put(run->writer, result, err))) {
        stats->records++;
        stats->failed += result->status != 0;
        stats->residues += result->status ? 0 : (uint64_t)result->length;
        stats->by_status[(unsigned)-result->status % CLI_COUNT(stats->by_status)]++;
    }
    if (st)
        run->stage = CLI_AT_WRITE;
    return st;
}

/* Gives the task its next record: one of all, or of those that the job hands out. */
static int take_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    struct cli_progress *p = &run->cli->progress;
    int st = bioinfer_job_source(run->job, record, err);

    if (st > 0 && !record->status)
        run->job_residues += record->length;
    p->skipped_residues = p->read_residues > run->job_residues
                              ? p->read_residues - run->job_residues
                              : 0;
    if (st < 0 && run->stage == CLI_AT_RUN)
        run->stage = st == BIOINFER_NO_SPACE || st == BIOINFER_IO ? CLI_AT_WRITE : CLI_AT_READ;
    return st;
}

static void say_summary(const struct run *run, const char *path)
{
    const struct cli *cli = run->cli;
    const struct bioinfer_job_stats *stats = &run->stats;
    double seconds = cli_now() - cli->progress.start;
    char extra[96] = "";
    size_t used = 0;

    if (cli->options->quiet)
        return;
    if (stats->copied)
        used = (size_t)snprintf(extra, sizeof extra, ", %llu of them copies",
                                (unsigned long long)stats->copied);
    if (stats->resumed)
        snprintf(extra + used, sizeof extra - used, ", %llu from before",
                 (unsigned long long)stats->resumed);
    cli_say(run->cli,
            "%llu records%s, %llu residues in %.2f s (%.0f residues/s), model %s from "
            "%s, %s %s %s%s%s",
            (unsigned long long)(stats->records - stats->failed), extra,
            (unsigned long long)stats->residues, seconds,
            (double)stats->residues / (seconds > 0 ? seconds : 1), cli->info.name, cli->info.path,
            cli->info.device, cli->info.kernels, cli->info.precision,
            strcmp(path, "-") ? " -> " : "", strcmp(path, "-") ? path : "");
    if (run->job)
        cli_job_say_shard(run->cli, stats, path);
}

/* ---- --dump-graph and --trace-rules: for the first record, instead of a run ---- */

static int dump(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_record record = {0};
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st = bioinfer_reader_next(cli->reader, &record, &err);

    if (st < 0)
        return cli_fail(cli, CLI_AT_READ, st, &err);
    if (!st || record.status) {
        cli_say(cli, "%s: %s", cli->input_name, st ? record.message : "no records");
        return CLI_EXIT_DATA;
    }
    cli_output_open(&out, NULL, &err);
    st = bioinfer_task_dump(cli->sequences, (int64_t)record.length,
                            !o->dump_graph || strcmp(o->dump_graph, "plain"), o->trace_rules,
                            cli_output_callback, &out, &err);
    if (st && !out.status)
        return cli_fail(cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* ---- opening what takes the results ---- */

unsigned cli_include(const struct cli_options *o)
{
    return !o->include && is_text(o->format) && !o->head ? BIOINFER_MEAN : o->include;
}

/* All options that change results and are not part of the model's fingerprint. */
static void describe_options(const struct cli_options *o, unsigned include, struct cli_output *text)
{
    const char *comma = "";
    cli_output_printf(text, "include=");
    for (unsigned bit = 1; bit && bit <= include; bit <<= 1)
        if (include & bit) {
            cli_output_printf(text, "%s%s", comma, bioinfer_include_name(bit));
            comma = ",";
        }
    cli_output_printf(text, " layers=%s", o->n_layers ? "" : "-1");
    for (int i = 0; i < o->n_layers; i++)
        cli_output_printf(text, "%s%d", i ? "," : "", o->layers[i]);
    cli_output_printf(text, " max-length=%lld raw-residues=%d no-rule=%s", (long long)o->max_length,
                      o->raw_residues, o->no_rules);
    if (o->dtype && !strcmp(o->dtype, "f16")) /* which records fail depends on it */
        cli_output_printf(text, " dtype=f16");
    cli_output_write(text, "", 1);
}

static int open_output(struct run *run, const char *path, unsigned include)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_writer_params writer = cli_writer_params(cli);
    struct bioinfer_job_params params = cli_job_params(cli, "embed");
    struct bioinfer_error err = {0};
    struct cli_output options = {0};
    int st, code;

    if (!strcmp(path, "-")) {
        st = bioinfer_writer_open(&run->writer, cli->ctx, path, &writer, &err);
    } else {
        params.writer = &writer;
        params.no_dedup = o->dedup && !strcmp(o->dedup, "off");
        params.seek = seek_block;
        if ((code = cli_job_open_index(cli, &params)))
            return code;
        describe_options(o, include, &options);
        params.options = options.text;
        if (!(st = options.status) &&
            !(st = bioinfer_job_open(&run->job, cli->ctx, path, &params, &err)))
            bioinfer_job_set_source(run->job, next_record, run);
        cli_output_close(&options);
    }
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* The next record that the job is told of: 1, 0 at the end, or a status. The first one of the file
 * has the number `first`. */
static int next_name(const struct run *run, bioinfer_reader *reader, uint64_t first, uint64_t *at,
                     struct bioinfer_record *record, struct bioinfer_error *err)
{
    const bioinfer_index *index = run->cli->index;
    const uint64_t want = index ? bioinfer_job_wants(run->job, *at) : *at;
    int st = cli_stop_signal() ? BIOINFER_CANCELLED : 0;

    if (index && want >= bioinfer_index_records(index))
        return st;
    if (!st && index && want - want % bioinfer_index_block(index) > *at)
        st = bioinfer_reader_seek(reader, index, want - want % bioinfer_index_block(index), err);
    if (!st && (st = bioinfer_reader_next(reader, record, err)) > 0) {
        record->ordinal += first;
        *at = record->ordinal + 1;
    }
    return st;
}

/* Reads the names of a file first, to find what the output cannot hold, such as two records of one
 * id: that takes seconds, and what follows may take days. */
static int look_ahead(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_reader_params params = {
        .struct_size = sizeof params,
        .residues = o->raw_residues ? BIOINFER_RESIDUES_RAW : BIOINFER_RESIDUES_DEFAULT};
    struct bioinfer_context_params silent = {.struct_size = sizeof silent, .n_threads = 1};
    struct bioinfer_record record = {0};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL; /* messages about the file come when it is read */
    bioinfer_reader *reader = NULL;
    struct stat file;
    uint64_t at = 0;
    int st = 0;

    for (size_t i = 0; i < cli->inputs.n; i++) {
        const char *path = cli->inputs.of[i];
        if (!run->job || !strcmp(path, "-") || stat(path, &file) || !S_ISREG(file.st_mode))
            return CLI_EXIT_OK;
    }
    st = bioinfer_context_new(&ctx, &silent, NULL);
    for (size_t i = 0; i < cli->inputs.n && !st; i++) {
        const uint64_t first = at;
        if (!(st = bioinfer_reader_open(&reader, ctx, cli->inputs.of[i], &params, NULL)))
            while ((st = next_name(run, reader, first, &at, &record, &err)) > 0 &&
                   !(st = bioinfer_job_expect(run->job, &record, &err)))
                ;
        bioinfer_reader_close(&reader);
    }
    bioinfer_context_free(&ctx);
    /* a file that breaks off is met again, where what came before it is computed */
    if (st != BIOINFER_DUPLICATE_ID && st != BIOINFER_LIMIT && st != BIOINFER_CANCELLED)
        return CLI_EXIT_OK;
    return cli_fail(cli, CLI_AT_READ, st, &err);
}

static int pending(void *user)
{
    struct run *run = user;

    return bioinfer_job_pending(run->job);
}

static int compute(struct run *run, struct bioinfer_error *err)
{
    const struct cli_run_io io = {.source = run->job ? take_record : next_record,
                                  .sink = take_result,
                                  .pending = run->job ? pending : NULL,
                                  .user = run,
                                  .input_size = cli_inputs_size(run->cli),
                                  .in_order = !run->job};

    return cli_task_run(run->cli, &cli_embed_task, run->pool, &io, err);
}

/* ---- the task ---- */

static int begin(struct cli *cli)
{
    (void)cli;
    return CLI_EXIT_OK;
}

static int open_task(struct cli *cli, cli_tick tick)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_embed_params params = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = cli_include(o), .layers = o->layers,
        .n_layers = o->n_layers, .tokens_at_once = o->batch_tokens, .max_length = o->max_length,
        .raw_residues = o->raw_residues, .no_rules = o->no_rules[0] ? o->no_rules : NULL,
        .progress = tick, .progress_user = cli);
    struct bioinfer_error err = {0};
    int st = bioinfer_embed_open(&cli->sequences, cli->model, &params, &err);

    if (st)
        return cli_fail(cli, CLI_AT_CONFIG, st, &err);
    if (o->profile)
        bioinfer_task_set_profile(cli->sequences, 1);
    return CLI_EXIT_OK;
}

static int run_task(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
                    void *sink_user, struct bioinfer_error *err)
{
    return bioinfer_task_run(cli->sequences, source, source_user, sink, sink_user, err);
}

static void end(struct cli *cli)
{
    bioinfer_task_close(&cli->sequences);
}

const struct cli_task cli_embed_task = {.begin = begin,
                                        .open = open_task,
                                        .run = run_task,
                                        .profile = cli_print_profile,
                                        .end = end,
                                        .weigh = cli_weigh_sequence};

/* ---- the command ---- */

static int finish(struct run *run, struct bioinfer_error *err)
{
    int st = run->job ? bioinfer_job_finish(run->job, err)
                      : bioinfer_writer_finish(run->writer, err);

    run->stats.struct_size = sizeof run->stats;
    if (run->job)
        bioinfer_job_get_stats(run->job, &run->stats);
    return st;
}

int cli_embed(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli, .stage = CLI_AT_RUN};
    struct bioinfer_error err = {0};
    bool dumping = o->dump_graph || o->trace_rules;
    unsigned include = cli_include(o);
    char *path = NULL;
    int st, code = CLI_EXIT_OK;

    if ((code = cli_sequences_find(cli, &cli->inputs)))
        return code;
    if (o->dry_run)
        return cli_dry_run(cli, &cli_embed_task);
    if (!dumping && !(path = output_path(cli, &code)))
        return code;
    if (path && !cli_job_needs_file(cli, path)) {
        code = CLI_EXIT_USAGE;
        goto out;
    }
    if ((code = cli_open_context(cli)) || (code = cli_open_reader(cli, BIOINFER_MAX_RESIDUES)))
        goto out;
    code = cli_task_open(cli, &cli_embed_task, &run.pool);
    if (!code && !run.pool && !dumping && strcmp(path, "-")) /* a job is tied to the weights */
        code = cli_fingerprint(cli);
    if (code)
        goto out;
    if (dumping) {
        code = dump(cli);
        goto out;
    }
    if ((code = open_output(&run, path, include)) || (code = look_ahead(&run)))
        goto out;
    cli->progress.reader = cli->inputs.n > 1 ? NULL : cli->reader;
    cli_progress_start(cli);
    st = compute(&run, &err);
    cli_progress_end(cli);
    if (st) {
        cli->kept = cli_job_keeps(run.job, &run.stats, st);
        code = cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : run.stage, st, &err);
        if (cli->lost_record && run.job)
            bioinfer_job_discard(run.job);
        else
            cli_job_say_kept(cli, &run.stats, false);
        goto out;
    }
    if ((st = finish(&run, &err))) {
        cli->kept = cli_job_keeps(run.job, &run.stats, st);
        code = cli_fail(cli, CLI_AT_WRITE, st, &err);
        cli_job_say_kept(cli, &run.stats, st != BIOINFER_FORMAT && st != BIOINFER_MISMATCH);
        goto out;
    }
    if (o->profile && !run.pool)
        cli_print_profile(cli);
    say_summary(&run, path);
    if (run.stats.failed) {
        const bool has_manifest = run.job && !o->n_shards && !o->part_records;
        cli_job_say_failed(cli, "records", &run.stats, has_manifest ? path : NULL);
        code = CLI_EXIT_RECORDS;
    }
out:
    cli_pool_close(&run.pool);
    bioinfer_writer_close(&run.writer);
    bioinfer_job_close(&run.job);
    free(path);
    return code;
}

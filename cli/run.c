/* run.c - the frame of a run: records in, results out. */
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../writers/text.h"

const char *cli_run_path(const struct cli_run *run)
{
    return run->output ? run->output : run->cli->options->output;
}

/* ---- records in ---- */

/* The next protein, which the line of progress counts where it is to be computed. */
static int next_protein(struct cli_run *run, struct bioinfer_record *record,
                        struct bioinfer_error *err)
{
    const int st = cli_next_protein(run->cli, record, err);
    if (st > 0 && !record->status &&
        (!run->job || bioinfer_job_wants(run->job, record->ordinal) == record->ordinal))
        run->cli->progress.read_residues += record->length;
    return st;
}

static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_run *run = user;
    const int st = cli_stop_signal() ? BIOINFER_CANCELLED
                   : run->source     ? run->source(run->source_user, record, err)
                                     : next_protein(run, record, err);
    if (st < 0)
        run->stage = CLI_AT_READ;
    return st;
}

/* The records that the job hands out. */
static int take_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_run *run = user;
    struct cli_progress *p = &run->cli->progress;
    const int st = bioinfer_job_source(run->job, record, err);
    if (st > 0 && !record->status)
        run->job_residues += record->length;
    p->skipped_residues = p->read_residues > run->job_residues
                              ? p->read_residues - run->job_residues
                              : 0;
    if (st < 0 && run->stage == CLI_AT_RUN)
        run->stage = st == BIOINFER_NO_SPACE || st == BIOINFER_IO ? CLI_AT_WRITE : CLI_AT_READ;
    return st;
}

/* Passes over what the job does not read. */
static int seek_block(void *user, uint64_t ordinal, struct bioinfer_error *err)
{
    struct cli_run *run = user;
    const int st = bioinfer_reader_seek(run->cli->reader, run->cli->index, ordinal, err);
    run->stage = st ? CLI_AT_READ : run->stage;
    return st;
}

int cli_run_look_ahead(struct cli_run *run, const struct cli_ahead *ahead)
{
    struct cli *cli = run->cli;
    struct bioinfer_context_params silent = {.struct_size = sizeof silent, .n_threads = 1};
    struct bioinfer_record record = {0};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    struct stat file;
    int st;
    for (size_t i = 0; i < cli->inputs.n; i++)
        if (!run->job || !strcmp(cli->inputs.of[i], "-") || stat(cli->inputs.of[i], &file) ||
            !S_ISREG(file.st_mode))
            return CLI_EXIT_OK;
    if (!(st = bioinfer_context_new(&ctx, &silent, &err)) &&
        !(st = ahead->open(ahead->user, ctx, &err)))
        while (!(st = cli_stop_signal() ? BIOINFER_CANCELLED : 0) &&
               (st = ahead->next(ahead->user, &record, &err)) > 0 &&
               !(st = bioinfer_job_expect(run->job, &record, &err)))
            ;
    ahead->close(ahead->user);
    bioinfer_context_free(&ctx);
    /* a file that breaks off is met again, where what came before it is computed */
    if (st != BIOINFER_DUPLICATE_ID && st != BIOINFER_LIMIT && st != BIOINFER_CANCELLED)
        return CLI_EXIT_OK;
    return cli_fail(cli, CLI_AT_READ, st, &err);
}

/* ---- results out ---- */

static int lose_record(struct cli_run *run, const struct bioinfer_result *r,
                       struct bioinfer_error *err)
{
    run->n_failed++;
    run->by_status[-(unsigned)r->status % CLI_STATUSES]++;
    if (run->result)
        cli_say_lost(run->cli, "%s: no %s: %s%s%s", r->id, run->result,
                     bioinfer_status_name(r->status), *r->message ? ": " : "", r->message);
    if (!run->cli->options->strict)
        return 0;
    run->stage = CLI_AT_READ;
    run->cli->lost_record = true;
    err->status = run->strict_status ? r->status : BIOINFER_FORMAT;
    snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
    return err->status;
}

/* Writes the rows of a result as lines of the table. */
static void write_rows(struct cli_run *run, const struct bioinfer_result *r)
{
    const struct bi_env env = bi_env_default();
    struct bi_buf rows = {.env = &env};
    bi_put_lines(&rows, r, bi_count_cells(run->head));
    if (rows.failed)
        run->out.status = BIOINFER_NOMEM;
    else
        cli_output_write(&run->out, rows.data, rows.size);
    bi_buf_free(&rows);
}

/* Writes a result to the output of a run without a job. */
static int write_result(struct cli_run *run, struct bioinfer_result *r, struct bioinfer_error *err)
{
    if (run->writer) { /* which takes every piece as a record */
        r->ordinal = run->units ? run->n_records - 1 : r->ordinal;
        r->piece = 0;
        r->more = 0;
        return bioinfer_writer_put(run->writer, r, err);
    }
    if (r->n_rows)
        write_rows(run, r);
    for (int i = 0; i < r->n_texts; i++) {
        if (run->late_head)
            cli_output_printf(&run->out, "%s", run->head);
        run->late_head = false;
        cli_output_write(&run->out, r->texts[i].text, r->texts[i].length);
    }
    return run->out.status; /* a closed pipe or a full disk: the rest is in vain */
}

static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct cli_run *run = user;
    struct bioinfer_result r = *result;
    unsigned long long counts[CLI_RUN_COUNTS] = {0};
    int st;
    if (!r.more)
        cli_take_counts(&r, counts, CLI_RUN_COUNTS);
    for (int i = 0; i < CLI_RUN_COUNTS; i++)
        run->counts[i] += counts[i];
    run->n_records += !r.more || run->units;
    st = run->take ? run->take(run, &r, err) : 0;
    if (st >= 0 && r.status) {
        const int lost = lose_record(run, &r, err);
        if (lost)
            return lost;
    }
    if (!st)
        st = run->job ? bioinfer_job_sink(run->job, &r, err) : write_result(run, &r, err);
    if (st < 0)
        run->stage = CLI_AT_WRITE;
    return st < 0 ? st : 0;
}

/* ---- the output ---- */

void cli_run_input(struct cli_run *run, const char *role, const char *path)
{
    if (path)
        run->inputs[run->n_inputs++] = (struct bioinfer_job_input){role, path};
}

/* Has the command describe its run, once; *n_inputs files that decide it are known then. */
static int describe(struct cli_run *run)
{
    if (run->describe && !run->described.n_text && !run->described.status) {
        run->describe(run, &run->described);
        cli_output_write(&run->described, "", 1);
    }
    return run->described.status;
}

static int open_job(struct cli_run *run)
{
    struct cli *cli = run->cli;
    const char *dedup = cli->options->dedup;
    struct bioinfer_job_params params = cli_job_params(cli, run->task->name);
    struct bioinfer_writer_params writer;
    struct bioinfer_error err = {0};
    int st, code;
    if ((!run->task->no_model && (code = cli_fingerprint(cli))) ||
        (run->indexed && (code = cli_job_open_index(cli, &params))))
        return code;
    st = describe(run);
    writer = cli_writer_params(cli);
    writer.columns = run->columns;
    writer.files = run->files;
    writer.tracks = run->tracks;
    params.writer = &writer;
    params.options = run->described.text;
    params.input_role = run->role;
    params.inputs = run->inputs;
    params.n_inputs = run->n_inputs;
    params.files = run->task->of_files;
    params.units = run->units;
    params.no_dedup = !run->copies || (dedup && !strcmp(dedup, "off"));
    params.text_head = run->columns || run->files ? NULL : run->head;
    params.seek = seek_block;
    params.alignments = run->alignments;
    if (!st && !(st = bioinfer_job_open(&run->job, cli->ctx, cli_run_path(run), &params, &err)))
        bioinfer_job_set_source(run->job, next_record, run);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* Does the file of arrays end with the fingerprint? Not text on standard output, nor tracks. */
static bool is_signed(const struct cli_run *run)
{
    const char *path = cli_run_path(run);
    return run->writer && !run->tracks && path && strcmp(path, "-");
}

static int create(struct cli_run *run)
{
    struct cli *cli = run->cli;
    struct bioinfer_writer_params writer = cli_writer_params(cli);
    struct bioinfer_error err = {0};
    int st, code;
    if (run->journal == CLI_JOURNAL_ALWAYS || run->columns || run->files ||
        (run->journal == CLI_JOURNAL_IF_ASKED && cli_job_wanted(cli->options)))
        return open_job(run);
    if (run->head) {
        if ((st = cli_output_open(&run->out, cli_run_path(run), &err)))
            return cli_fail(cli, CLI_AT_CREATE, st, &err);
        if (!run->late_head)
            cli_output_printf(&run->out, "%s", run->head);
        return CLI_EXIT_OK;
    }
    /* safetensors begins with the fingerprint; others end with it, and weights are summed up
     * meanwhile */
    if (writer.format && !strcmp(writer.format, "safetensors") && (code = cli_fingerprint(cli)))
        return code;
    writer.fingerprint = cli->fingerprint;
    writer.tracks = run->tracks;
    st = bioinfer_writer_open(&run->writer, cli->ctx, cli_run_path(run), &writer, &err);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

static int finish(struct cli_run *run)
{
    struct cli *cli = run->cli;
    struct bioinfer_error err = {0};
    int st = 0, code;
    if (run->job)
        return cli_job_finish(cli, run->job, &run->stats);
    if (is_signed(run)) {
        if ((code = cli_fingerprint(cli)))
            return code;
        st = bioinfer_writer_set_fingerprint(run->writer, cli->fingerprint, &err);
    }
    if (!st)
        st = run->writer ? bioinfer_writer_finish(run->writer, &err)
                         : cli_output_finish(&run->out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* ---- the run ---- */

static int pending(void *user)
{
    const struct cli_run *run = user;
    return bioinfer_job_pending(run->job);
}

/* Leaves what there is of a run that failed: in its journal, or its results in the output. */
static int stopped(struct cli_run *run, int st, const struct bioinfer_error *err)
{
    struct cli *cli = run->cli;
    const uint64_t n = run->n_records - run->n_failed;
    struct bioinfer_error lost = {0};
    int code;
    cli->kept = cli_job_keeps(run->job, &run->stats, st);
    code = cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : run->stage, st, err);
    if (run->job && cli->lost_record)
        bioinfer_job_discard(run->job);
    else if (run->job)
        cli_job_say_kept(cli, &run->stats, false);
    if (!run->keeps || run->job || !n || !run->out.path || run->out.status)
        return code;
    if ((st = cli_output_finish(&run->out, &lost)))
        return cli_fail(cli, CLI_AT_WRITE, st, &lost);
    if (!cli->options->quiet)
        cli_say(cli, "%" PRIu64 " %s were done, and are kept: %s", n, run->records, run->out.path);
    return code;
}

/* Are there no records? Records of a journal count, too: an input that holds none now is not the
 * one that it was. */
static bool is_empty(struct cli_run *run)
{
    run->stats.struct_size = sizeof run->stats;
    return !run->n_records && !(run->job && !bioinfer_job_get_stats(run->job, &run->stats) &&
                                (run->stats.input_records || run->stats.records));
}

static int compute(struct cli_run *run)
{
    struct cli *cli = run->cli;
    const struct cli_run_io io = {.source = run->job ? take_record : next_record,
                                  .sink = take_result,
                                  .pending = run->job ? pending : NULL,
                                  .user = run,
                                  .input_size = run->input_size ? run->input_size
                                                : cli->inputs.n
                                                    ? cli_inputs_size(cli)
                                                    : cli_plain_size(cli->options->input),
                                  .in_order = !run->job,
                                  .whole = run->units};
    struct bioinfer_error err = {0};
    int st, code = CLI_EXIT_OK;
    run->stage = CLI_AT_RUN;
    if (!run->source)
        cli->progress.reader = cli->inputs.n > 1 ? NULL : cli->reader;
    cli_progress_start(cli);
    run->began = true;
    st = cli_task_run(cli, run->task, run->pool, &io, &err);
    if (run->out.status)
        st = cli_output_finish(&run->out, &err); /* which knows the reason */
    cli_progress_end(cli);
    if (st && run->reads && run->stage == CLI_AT_RUN &&
        (st == BIOINFER_FORMAT || st == BIOINFER_IO))
        run->stage = CLI_AT_READ;
    if (st)
        return stopped(run, st, &err);
    if (is_empty(run)) {
        cli_say(cli, "%s: no %s", cli->input_name, run->records);
        code = CLI_EXIT_DATA;
    } else if (run->done) {
        code = run->done(run);
    }
    if (code && run->job)
        bioinfer_job_discard(run->job);
    return code;
}

/* ---- how it ended ---- */

void cli_run_say_lost(struct cli_run *run, uint64_t n_failed, uint64_t n, const char *what,
                      const char *result)
{
    cli_say(run->cli, "%" PRIu64 " of %" PRIu64 " %s have no %s", n_failed, n, what, result);
}

static void say_results(struct cli_run *run, const char *path)
{
    const struct bioinfer_model_info *info = &run->cli->info;
    const double seconds = cli_now() - run->cli->progress.start;
    char residues[96] = "", model[1024] = "";
    if (run->files && !run->task->no_model)
        snprintf(residues, sizeof residues, ", %" PRIu64 " residues at %.0f residues/s",
                 run->stats.residues, (double)run->stats.residues / (seconds > 0 ? seconds : 1));
    if (!run->task->no_model)
        snprintf(model, sizeof model, ", model %s from %s, %s %s %s", info->name, info->path,
                 info->device, info->kernels, info->precision);
    cli_say(run->cli, "%" PRIu64 " %s in %.2f s%s%s%s%s",
            run->counted ? (uint64_t)run->counts[0] : run->n_records - run->n_failed, run->results,
            seconds, residues, model, path ? " -> " : "", path ? path : "");
}

/* Says what came to be, and what did not; gives the exit code. */
static int conclude(struct cli_run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    const char *path = run->job ? cli_run_path(run) : run->out.path;
    if (!o->quiet && run->results)
        say_results(run, path);
    if (!o->quiet && run->say)
        run->say(run);
    if (!o->quiet && run->job)
        cli_job_say_shard(cli, &run->stats, path);
    if (run->say_failed)
        run->say_failed(run);
    else if (run->stats.failed)
        cli_job_say_failed(cli, run->records, &run->stats,
                           o->n_shards || o->part_records ? NULL : path);
    else if (run->n_failed)
        cli_run_say_lost(run, run->n_failed, run->n_records, run->records,
                         run->missing ? run->missing : run->result);
    return (run->job ? run->stats.failed != 0 : run->n_failed != 0) ? CLI_EXIT_RECORDS
                                                                    : CLI_EXIT_OK;
}

/* Writes how the output was made beside it. */
static int tell_provenance(struct cli_run *run)
{
    const char *output = run->product ? run->product : cli_run_path(run);
    const bool job = run->job != NULL;
    struct cli_provenance p = {.output = output,
                               .tokens_of = run->tokens_of,
                               .second = run->second,
                               .task = run->task->name,
                               .role = run->role,
                               .head = run->head,
                               .arrays = run->measures,
                               .counted = true,
                               .records = job ? run->stats.records : run->n_records,
                               .failed = job ? run->stats.failed : run->n_failed,
                               .by_status = job ? run->stats.by_status : run->by_status,
                               .resumed = run->stats.resumed};
    if ((!output || !strcmp(output, "-")) && !run->second)
        return CLI_EXIT_OK;
    if (describe(run))
        return cli_no_memory(run->cli, "the options of a run");
    p.options = run->described.text;
    p.inputs = run->inputs;
    p.n_inputs = run->n_inputs;
    return cli_provenance_write(run->cli, &p);
}

/* Computes all records, and completes the output. */
static int run_all(struct cli_run *run)
{
    int code, said;
    if ((code = create(run)) || (run->ahead && (code = run->ahead(run))) || (code = compute(run)))
        return code;
    if (run->cli->options->profile && !run->pool)
        cli_print_profile(run->cli);
    if ((code = finish(run)) || (run->finished && (code = run->finished(run))))
        return code;
    said = tell_provenance(run);
    code = conclude(run);
    return said ? said : code;
}

/* Prints the graph that the task computes, on standard output. */
static int dump(struct cli_run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st;
    cli_output_open(&out, NULL, &err);
    st = bioinfer_task_dump(cli->sequences, run->tokens,
                            !o->dump_graph || strcmp(o->dump_graph, "plain"), o->trace_rules,
                            cli_output_callback, &out, &err);
    return cli_output_end(cli, &out, CLI_AT_RUN, st, &err);
}

int cli_run_open(struct cli_run *run)
{
    struct cli *cli = run->cli;
    int code;
    if ((run->check && (code = run->check(run))) || (code = cli_open_context(cli)) ||
        (code = run->open     ? run->open(run)
                : run->source ? CLI_EXIT_OK
                              : cli_open_reader(cli, BIOINFER_MAX_RESIDUES)) ||
        (code = cli_task_begin(cli, run->task)) ||
        (code = cli_task_open(cli, run->task, &run->pool)))
        return code;
    return run->ready ? run->ready(run) : CLI_EXIT_OK;
}

void cli_run_close(struct cli_run *run)
{
    cli_pool_close(&run->pool);
    bioinfer_writer_close(&run->writer);
    bioinfer_job_close(&run->job);
    cli_output_close(&run->out);
    cli_output_close(&run->described);
    cli_task_end(run->cli, run->task);
    free(run->second);
}

int cli_run(struct cli_run *run)
{
    const struct cli_options *o = run->cli->options;
    int code = cli_run_open(run);
    if (!code && (o->dump_graph || o->trace_rules)) {
        code = dump(run);
    } else if (!code && o->dry_run) {
        const struct cli_dry how = {run->length, next_record, run, run->task, run->cli->sequences};
        code = cli_dry_measure(run->cli, &how);
    } else if (!code) {
        code = run_all(run);
    }
    cli_run_close(run);
    return code;
}

/* rows.c - records that become texts, one behind the other. */
#include "rows.h"

#include <inttypes.h>
#include <string.h>

/* ---- records in, texts out ---- */

static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_rows *rows = user;
    const int st = cli_stop_signal() ? BIOINFER_CANCELLED
                                     : rows->source(rows->source_user, record, err);

    if (st < 0)
        rows->stage = CLI_AT_READ;
    return st;
}

/* The records that the job hands out. */
static int take_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_rows *rows = user;
    const int st = bioinfer_job_source(rows->job, record, err);

    if (st < 0 && rows->stage == CLI_AT_RUN)
        rows->stage = st == BIOINFER_NO_SPACE || st == BIOINFER_IO ? CLI_AT_WRITE : CLI_AT_READ;
    return st;
}

static int lose_record(struct cli_rows *rows, const struct bioinfer_result *r,
                       struct bioinfer_error *err)
{
    rows->n_failed++;
    cli_say_lost(rows->cli, "%s: no %s: %s%s%s", r->id, rows->result,
                 bioinfer_status_name(r->status), *r->message ? ": " : "", r->message);
    if (!rows->cli->options->strict)
        return 0;
    rows->stage = CLI_AT_READ;
    rows->cli->lost_record = true;
    err->status = BIOINFER_FORMAT;
    snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
    return BIOINFER_FORMAT;
}

static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct cli_rows *rows = user;
    struct bioinfer_result r = *result;
    unsigned long long noted = 0;
    int st = 0;

    if (!r.more) {
        cli_take_counts(&r, &noted, 1);
        rows->n_records++;
        rows->n_noted += noted;
        if (r.status && (st = lose_record(rows, &r, err)))
            return st;
    }
    if (rows->job) {
        st = bioinfer_job_sink(rows->job, &r, err);
    } else {
        for (int i = 0; i < r.n_texts; i++)
            cli_output_write(&rows->out, r.texts[i].text, r.texts[i].length);
        st = rows->out.status;
    }
    if (st)
        rows->stage = CLI_AT_WRITE;
    return st;
}

/* ---- the output ---- */

int cli_rows_create(struct cli_rows *rows, struct bioinfer_job_params *params)
{
    struct cli *cli = rows->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_writer_params writer;
    struct bioinfer_error err = {0};
    int st, code;

    if (!cli_job_wanted(o) && !rows->columns) {
        if ((st = cli_output_open(&rows->out, o->output, &err)))
            return cli_fail(cli, CLI_AT_CREATE, st, &err);
        cli_output_printf(&rows->out, "%s", rows->head);
        return CLI_EXIT_OK;
    }
    if ((code = cli_fingerprint(cli)))
        return code;
    writer = cli_writer_params(cli);
    params->writer = &writer;
    writer.columns = rows->columns;
    params->text_head = rows->columns ? NULL : rows->head;
    st = bioinfer_job_open(&rows->job, cli->ctx, o->output, params, &err);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* ---- the run ---- */

int cli_rows_dump(struct cli_rows *rows, int64_t tokens)
{
    struct cli *cli = rows->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st;

    cli_output_open(&out, NULL, &err);
    st = bioinfer_task_dump(cli->sequences, tokens,
                            !o->dump_graph || strcmp(o->dump_graph, "plain"), o->trace_rules,
                            cli_output_callback, &out, &err);
    if (st && !out.status)
        return cli_fail(cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static int pending(void *user)
{
    struct cli_rows *rows = user;

    return bioinfer_job_pending(rows->job);
}

static int compute(struct cli_rows *rows)
{
    struct cli *cli = rows->cli;
    const struct cli_run_io io = {.source = rows->job ? take_record : next_record,
                                  .sink = take_result,
                                  .pending = rows->job ? pending : NULL,
                                  .user = rows,
                                  .input_size = cli_plain_size(cli->options->input),
                                  .in_order = !rows->job};
    struct bioinfer_error err = {0};
    int st;

    rows->stage = CLI_AT_RUN;
    if (rows->job)
        bioinfer_job_set_source(rows->job, next_record, rows);
    st = cli_task_run(cli, rows->task, rows->pool, &io, &err);
    if (rows->out.status)
        st = cli_output_finish(&rows->out, &err); /* which knows the reason */
    if (st)
        return cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : rows->stage, st, &err);
    rows->stats.struct_size = sizeof rows->stats;
    if (rows->n_records || (rows->job && !bioinfer_job_get_stats(rows->job, &rows->stats) &&
                            (rows->stats.input_records || rows->stats.records)))
        return CLI_EXIT_OK;
    cli_say(cli, "%s: no %s", cli->input_name, rows->records);
    if (rows->job)
        bioinfer_job_discard(rows->job);
    return CLI_EXIT_DATA;
}

static int finish(struct cli_rows *rows)
{
    struct bioinfer_error err = {0};
    int st;

    if (rows->job)
        return cli_job_finish(rows->cli, rows->job, &rows->stats);
    st = cli_output_finish(&rows->out, &err);
    return st ? cli_fail(rows->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

int cli_rows_run(struct cli_rows *rows)
{
    struct cli *cli = rows->cli;
    int code;

    cli_progress_start(cli);
    code = compute(rows);
    cli_progress_end(cli);
    if (code)
        return cli_job_stopped(cli, rows->job, code);
    if (cli->options->profile && !rows->pool)
        cli_print_profile(cli);
    return finish(rows);
}

void cli_rows_say(struct cli_rows *rows, void (*say)(const struct cli_rows *rows))
{
    struct cli *cli = rows->cli;
    const struct cli_options *o = cli->options;
    const char *path = rows->job ? o->output : rows->out.path;

    if (!o->quiet) {
        cli_say(cli, "%" PRIu64 " energies in %.2f s, model %s from %s, %s %s %s%s%s",
                rows->n_records - rows->n_failed, cli_now() - cli->progress.start, cli->info.name,
                cli->info.path, cli->info.device, cli->info.kernels, cli->info.precision,
                path ? " -> " : "", path ? path : "");
        if (say)
            say(rows);
    }
    if (rows->job && !o->quiet)
        cli_job_say_shard(cli, &rows->stats, path);
    if (rows->job && rows->stats.failed)
        cli_job_say_failed(cli, rows->records, &rows->stats, o->n_shards ? NULL : path);
    else if (rows->n_failed)
        cli_say(cli, "%" PRIu64 " of %" PRIu64 " %s have no %s", rows->n_failed, rows->n_records,
                rows->records, rows->result);
}

int cli_rows_code(const struct cli_rows *rows)
{
    return (rows->job ? rows->stats.failed != 0 : rows->n_failed != 0) ? CLI_EXIT_RECORDS
                                                                       : CLI_EXIT_OK;
}

void cli_rows_close(struct cli_rows *rows)
{
    cli_pool_close(&rows->pool);
    bioinfer_job_close(&rows->job);
    cli_output_close(&rows->out);
}

int cli_rows_give(struct cli_output *text, const struct bioinfer_result *result, int noted,
                  bioinfer_sink sink, void *sink_user, struct bioinfer_error *err)
{
    char counts[32];
    struct bioinfer_text texts[] = {{"text", text->text, text->n_text}, {CLI_COUNTS, counts, 0}};
    struct bioinfer_result piece = {.ordinal = result->ordinal,
                                    .id = result->id,
                                    .length = result->length,
                                    .message = "",
                                    .texts = texts,
                                    .n_texts = 2};
    int st;

    if (text->status) {
        err->status = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "out of memory for a row");
        return BIOINFER_NOMEM;
    }
    texts[1].length = (size_t)snprintf(counts, sizeof counts, "%d", noted);
    text->n_text = 0;
    if (!result->status)
        return sink(sink_user, &piece, err);
    piece.n_texts = 1;
    piece.more = 1;
    if ((st = sink(sink_user, &piece, err)))
        return st;
    piece.piece = 1;
    piece.more = 0;
    piece.status = result->status;
    piece.message = result->message;
    piece.texts = texts + 1;
    return sink(sink_user, &piece, err);
}

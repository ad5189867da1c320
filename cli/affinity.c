/* affinity.c - `bioinfer MODEL RECEPTOR LIGANDS` for models that rate complexes: a table with a row
 * for every ligand, in the order of the input. */
#include "affinity.h"

#include <inttypes.h>
#include <string.h>

struct run {
    struct cli *cli;
    struct cli_pool *pool; /* NULL: this process computes */
    bioinfer_job *job;     /* NULL: rows go to `out` */
    struct cli_output out;
    struct cli_complexes in;
    struct bioinfer_job_stats stats;
    enum cli_stage stage; /* the stage at which the run failed */
    uint64_t n_records, n_failed, n_far;
};

/* ---- records in, rows out ---- */

static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    const int st = cli_complexes_next(&run->in, record, err);

    if (st < 0)
        run->stage = CLI_AT_READ;
    return st;
}

/* The records that the job hands out. */
static int take_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    const int st = bioinfer_job_source(run->job, record, err);

    if (st < 0 && run->stage == CLI_AT_RUN)
        run->stage = st == BIOINFER_NO_SPACE || st == BIOINFER_IO ? CLI_AT_WRITE : CLI_AT_READ;
    return st;
}

static int lose_record(struct run *run, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    run->n_failed++;
    cli_say_lost(run->cli, "%s: no energy: %s%s%s", r->id, bioinfer_status_name(r->status),
                 *r->message ? ": " : "", r->message);
    if (!run->cli->options->strict)
        return 0;
    run->stage = CLI_AT_READ;
    run->cli->lost_record = true;
    err->status = BIOINFER_FORMAT;
    snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
    return BIOINFER_FORMAT;
}

static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct run *run = user;
    struct bioinfer_result r = *result;
    unsigned long long far = 0;
    int st = 0;

    if (!r.more) {
        cli_take_counts(&r, &far, 1);
        run->n_records++;
        run->n_far += far;
        if (r.status && (st = lose_record(run, &r, err)))
            return st;
    }
    if (run->job) {
        st = bioinfer_job_sink(run->job, &r, err);
    } else {
        for (int i = 0; i < r.n_texts; i++)
            cli_output_write(&run->out, r.texts[i].text, r.texts[i].length);
        st = run->out.status;
    }
    if (st)
        run->stage = CLI_AT_WRITE;
    return st;
}

/* ---- the output ---- */

/* All that changes results and is no part of the model's fingerprint. */
static void describe_options(const struct run *run, char *text, size_t size)
{
    const struct cli_options *o = run->cli->options;
    const uint64_t sum = o->receptor ? 0 : cli_complexes_sum(&run->in);

    snprintf(text, size, "pocket=%" PRId64 " drop-unknown=%d no-rule=%s files=%016" PRIx64,
             o->pocket ? o->pocket : 50, o->drop_unknown, o->no_rules, sum);
}

static int open_output(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    const struct bioinfer_job_input receptor = {"receptor", o->receptor};
    struct bioinfer_job_params params = cli_job_params(cli, "affinity");
    struct bioinfer_error err = {0};
    struct bioinfer_writer_params writer;
    char options[2048];
    int st, code;

    if (!cli_job_wanted(o)) {
        if ((st = cli_output_open(&run->out, o->output, &err)))
            return cli_fail(cli, CLI_AT_CREATE, st, &err);
        cli_output_printf(&run->out, "%s", CLI_AFFINITY_HEAD);
        return CLI_EXIT_OK;
    }
    if ((code = cli_fingerprint(cli)))
        return code;
    writer = cli_writer_params(cli);
    describe_options(run, options, sizeof options);
    params.writer = &writer;
    params.options = options;
    params.inputs = &receptor;
    params.n_inputs = o->receptor != NULL;
    params.input_role = o->receptor ? "ligands" : "pairs";
    params.text_head = CLI_AFFINITY_HEAD;
    st = bioinfer_job_open(&run->job, cli->ctx, o->output, &params, &err);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

static int finish(struct run *run)
{
    struct bioinfer_error err = {0};
    int st;

    if (run->job)
        return cli_job_finish(run->cli, run->job, &run->stats);
    st = cli_output_finish(&run->out, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* ---- the run ---- */

static int dump(struct cli *cli)
{
    enum { TOKENS = 430 }; /* about those of a complex */
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st;

    cli_output_open(&out, NULL, &err);
    st = bioinfer_task_dump(cli->sequences, TOKENS,
                            !o->dump_graph || strcmp(o->dump_graph, "plain"), o->trace_rules,
                            cli_output_callback, &out, &err);
    if (st && !out.status)
        return cli_fail(cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static void say_summary(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    const char *path = run->job ? o->output : run->out.path;

    if (!o->quiet) {
        cli_say(cli, "%" PRIu64 " energies in %.2f s, model %s from %s, %s %s %s%s%s",
                run->n_records - run->n_failed, cli_now() - cli->progress.start, cli->info.name,
                cli->info.path, cli->info.device, cli->info.kernels, cli->info.precision,
                path ? " -> " : "", path ? path : "");
        if (run->n_far)
            cli_say(cli,
                    "warning: %" PRIu64 " ligands have no atom near the protein: their energy "
                    "is 0 and says nothing",
                    run->n_far);
        if (!run->pool && *bioinfer_affinity_caveat(cli->model))
            cli_say(cli, "%s: %s", cli->info.family, bioinfer_affinity_caveat(cli->model));
    }
    if (run->job && !o->quiet)
        cli_job_say_shard(cli, &run->stats, path);
    if (run->job && run->stats.failed)
        cli_job_say_failed(cli, "ligands", &run->stats, o->n_shards ? NULL : path);
    else if (run->n_failed)
        cli_say(cli, "%" PRIu64 " of %" PRIu64 " ligands have no energy", run->n_failed,
                run->n_records);
}

static int pending(void *user)
{
    struct run *run = user;

    return bioinfer_job_pending(run->job);
}

static int rate_all(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_run_io io = {.source = run->job ? take_record : next_record,
                                  .sink = take_result,
                                  .pending = run->job ? pending : NULL,
                                  .user = run,
                                  .input_size = cli_plain_size(cli->options->input),
                                  .in_order = !run->job};
    struct bioinfer_error err = {0};
    int st;

    if (run->job)
        bioinfer_job_set_source(run->job, next_record, run);
    st = cli_task_run(cli, &cli_affinity_task, run->pool, &io, &err);
    if (run->out.status)
        st = cli_output_finish(&run->out, &err); /* which knows the reason */
    if (st)
        return cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : run->stage, st, &err);
    run->stats.struct_size = sizeof run->stats;
    if (run->n_records || (run->job && !bioinfer_job_get_stats(run->job, &run->stats) &&
                           (run->stats.input_records || run->stats.records)))
        return CLI_EXIT_OK;
    cli_say(cli, "%s: no ligands", cli->input_name);
    if (run->job)
        bioinfer_job_discard(run->job);
    return CLI_EXIT_DATA;
}

/* Checks what --top needs; false: said why. */
static bool check_top(struct cli *cli)
{
    const struct cli_options *o = cli->options;

    if (o->top && (!o->output || !strcmp(o->output, "-"))) {
        cli_say(cli, "--top needs a file: name it with -o");
        return false;
    }
    if (o->top && o->n_shards) {
        cli_say(cli, "--top and --shard do not go together: a shard has not seen all ligands");
        return false;
    }
    return true;
}

int cli_affinity(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli, .stage = CLI_AT_RUN};
    int code = CLI_EXIT_USAGE;

    if (!check_top(cli) || !cli_job_needs_file(cli, o->output) || (code = cli_open_context(cli)) ||
        (code = cli_complexes_open(&run.in, cli)) || (code = cli_affinity_task.begin(cli)) ||
        (code = cli_task_open(cli, &cli_affinity_task, &run.pool)))
        goto out;
    if (o->dump_graph || o->trace_rules) {
        code = dump(cli);
        goto out;
    }
    if (o->dry_run) {
        const struct cli_dry how = {.next = cli_complexes_next,
                                    .user = &run.in,
                                    .weigh = cli_affinity_task.weigh,
                                    .run = cli_affinity_task.run,
                                    .task = cli->sequences};
        code = cli_dry_measure(cli, &how);
        goto out;
    }
    if ((code = open_output(&run)))
        goto out;
    cli_progress_start(cli);
    code = rate_all(&run);
    cli_progress_end(cli);
    if (code) {
        code = cli_job_stopped(cli, run.job, code);
        goto out;
    }
    if (o->profile && !run.pool)
        cli_print_profile(cli);
    if ((code = finish(&run)) || (o->top && (code = cli_affinity_top(cli, o->output, o->top))))
        goto out;
    say_summary(&run);
    if (run.job ? run.stats.failed != 0 : run.n_failed != 0)
        code = CLI_EXIT_RECORDS;
out:
    cli_pool_close(&run.pool);
    bioinfer_job_close(&run.job);
    cli_output_close(&run.out);
    cli_affinity_task.end(cli);
    cli_complexes_close(&run.in);
    return code;
}

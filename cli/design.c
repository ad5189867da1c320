/* design.c - `bioinfer MODEL STRUCTURE...` for models that design sequences: FASTA with the
 * reference's headers, a table, or arrays. */
#include "design.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct run {
    struct cli *cli;
    struct cli_pool *pool; /* NULL: this process computes */
    enum cli_design_format format;
    bioinfer_job *job; /* NULL: results go to `out` or `writer` */
    struct cli_output out;
    bioinfer_writer *writer;
    struct bioinfer_job_stats stats;
    struct cli_paths structures;
    enum cli_stage stage; /* the stage at which the run failed */
    uint64_t n_structures, n_failed, n_sequences;
    bool any;       /* rows were written */
    size_t n_read;  /* structures that were read */
    uint64_t bytes; /* the size of all files, where workers share them */
    char id[512];
};

/* ---- structures in ---- */

/* A bioinfer_source: the name of a structure, and its path for a sequence. */
static int next_structure(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    const char *path, *base;

    (void)err;
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if (run->n_read == run->structures.n)
        return 0;
    path = run->structures.of[run->n_read];
    base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    snprintf(run->id, sizeof run->id, "%.*s", (int)cli_structure_stem(base), base);
    *record = (struct bioinfer_record){.id = run->id,
                                       .description = "",
                                       .message = "",
                                       .sequence = path,
                                       .length = strlen(path),
                                       .ordinal = run->n_read++};
    return 1;
}

/* The structures that the job hands out. */
static int take_structure(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    int st = bioinfer_job_source(run->job, record, err);

    if (st < 0 && run->stage == CLI_AT_RUN)
        run->stage = st == BIOINFER_NO_SPACE || st == BIOINFER_IO ? CLI_AT_WRITE : CLI_AT_READ;
    return st;
}

/* A worker opens a structure by its path, maybe for the second time, so a pipe will not do. */
static int check_files(struct run *run)
{
    struct stat st;

    for (size_t i = 0; i < run->structures.n; i++) {
        if (stat(run->structures.of[i], &st))
            continue; /* who reads it says why */
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
            cli_say(run->cli, "%s: not a file; workers (--workers, --device) take files alone",
                    run->structures.of[i]);
            return CLI_EXIT_USAGE;
        }
        run->bytes += (uint64_t)st.st_size;
    }
    return CLI_EXIT_OK;
}

/* ---- results out ---- */

static int lose_structure(struct run *run, const struct bioinfer_result *r,
                          struct bioinfer_error *err)
{
    run->n_failed++;
    cli_say_lost(run->cli, "%s: no result: %s: %s", r->id, bioinfer_status_name(r->status),
                 r->message);
    if (!run->cli->options->strict)
        return 0;
    run->stage = CLI_AT_READ;
    run->cli->lost_record = true;
    err->status = r->status;
    snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
    return r->status;
}

/* Writes a piece to the output of a run without a journal. */
static int write_piece(struct run *run, const struct bioinfer_result *piece,
                       struct bioinfer_error *err)
{
    struct bioinfer_result r = *piece;
    char head[256];

    if (run->format == CLI_ARRAYS) {
        r.piece = 0;
        r.more = 0;
        return r.n_arrays ? bioinfer_writer_put(run->writer, &r, err) : 0;
    }
    for (int i = 0; i < r.n_texts; i++) {
        if (!run->any)
            cli_output_printf(&run->out, "%s",
                              cli_design_head(run->cli, run->format, head, sizeof head));
        run->any = true;
        cli_output_write(&run->out, r.texts[i].text, r.texts[i].length);
    }
    return run->out.status;
}

static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct run *run = user;
    struct bioinfer_result r = *result, empty;
    unsigned long long n_sequences = 0;
    int st = 0;

    if (!r.more) {
        cli_take_counts(&r, &n_sequences, 1);
        run->n_structures++;
        run->n_sequences += n_sequences;
        if (r.status && (st = lose_structure(run, &r, err)))
            return st;
    }
    if (run->job && r.status && !r.piece) { /* a failure has no row, so it is no first piece */
        empty = (struct bioinfer_result){
            .ordinal = r.ordinal, .id = r.id, .length = r.length, .message = "", .more = 1};
        st = bioinfer_job_sink(run->job, &empty, err);
        r.piece = 1;
    }
    if (!st)
        st = run->job ? bioinfer_job_sink(run->job, &r, err) : write_piece(run, &r, err);
    if (st)
        run->stage = CLI_AT_WRITE;
    return st;
}

/* ---- the run ---- */

static void say_failed(const struct run *run)
{
    cli_say(run->cli, "%llu of %llu structures have no result", (unsigned long long)run->n_failed,
            (unsigned long long)run->n_structures);
}

static void say_summary(struct run *run)
{
    const struct cli *cli = run->cli;
    double seconds = cli_now() - cli->progress.start;

    if (cli->options->quiet)
        return;
    cli_say(run->cli, "%llu structures, %llu %s in %.2f s, model %s from %s, %s %s%s%s",
            (unsigned long long)(run->n_structures - run->n_failed),
            (unsigned long long)run->n_sequences, cli->options->score_only ? "scores" : "sequences",
            seconds, cli->info.name, cli->info.path, cli->info.device, cli->info.kernels,
            cli->options->output ? " -> " : "", cli->options->output ? cli->options->output : "");
    if (run->job)
        cli_job_say_shard(run->cli, &run->stats, cli->options->output);
}

static int dump(struct cli *cli, bioinfer_task *design)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st;

    cli_output_open(&out, NULL, &err);
    st = bioinfer_task_dump(design, 100, !o->dump_graph || strcmp(o->dump_graph, "plain"),
                            o->trace_rules, cli_output_callback, &out, &err);
    if (st && !out.status)
        return cli_fail(cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* All that changes results and is neither a file nor part of the model's fingerprint. */
static void describe_options(const struct run *run, const struct bioinfer_design_params *p,
                             struct cli_output *text)
{
    static const char *const formats[] = {"fasta", "tsv", "arrays"};
    const struct cli_options *o = run->cli->options;

    cli_output_printf(text,
                      "format=%s include=%u mode=%d rng=%s seed=%llu rng-skip=%lld "
                      "num-seq=%d batch=%d temperature=",
                      formats[run->format], o->design_include, p->mode, o->rng ? o->rng : "native",
                      (unsigned long long)(p->seed ? p->seed : 37),
                      p->no_rng_skip ? -1LL : (long long)p->rng_skip,
                      p->n_sequences ? p->n_sequences : 1, p->per_draw ? p->per_draw : 1);
    for (int i = 0; i < p->n_temperatures; i++)
        cli_output_printf(text, "%s%.17g", i ? "," : "", p->temperatures[i]);
    cli_output_printf(text, "%s backbone-noise=%.17g chains=%s homooligomer=%d omit-aa=%s",
                      p->n_temperatures ? "" : "0.1", p->backbone_noise, p->chains ? p->chains : "",
                      p->homooligomer, p->omit_aa ? p->omit_aa : "X");
    cli_output_printf(text, " pssm-multi=%.17g pssm-threshold=%.17g pssm-bias=%d pssm-log-odds=%d",
                      p->pssm_multi, p->pssm_threshold, p->pssm_bias, p->pssm_log_odds);
    cli_output_printf(text,
                      " no-ligand=%d side-chain-context=%d transmembrane=%d buried=%s "
                      "interface=%s residue-order=%d all-chains=%d max-length=%lld no-rule=%s",
                      p->no_ligand, p->side_chains, p->transmembrane, p->buried ? p->buried : "",
                      p->interface_ ? p->interface_ : "", p->residue_order, p->all_chains,
                      (long long)p->max_length, o->no_rules);
    cli_output_write(text, "", 1);
}

static int open_job(struct run *run, const struct bioinfer_design_params *p)
{
    struct cli *cli = run->cli;
    struct bioinfer_job_input all[CLI_DESIGN_INPUTS], given[CLI_DESIGN_INPUTS];
    struct bioinfer_job_params params = cli_job_params(cli, "design");
    struct bioinfer_writer_params writer;
    struct bioinfer_error err = {0};
    struct cli_output options = {0};
    char head[256];
    int st, code = cli_fingerprint(cli);

    if (code)
        return code;
    writer = cli_writer_params(cli);
    describe_options(run, p, &options);
    cli_design_inputs(cli, all);
    for (size_t i = 0; i < CLI_COUNT(all); i++)
        if (all[i].path)
            given[params.n_inputs++] = all[i];
    params.writer = &writer;
    params.options = options.text;
    params.inputs = given;
    params.files = 1;
    params.text_head = run->format == CLI_ARRAYS
                           ? NULL
                           : cli_design_head(cli, run->format, head, sizeof head);
    if (!(st = options.status))
        st = bioinfer_job_open(&run->job, cli->ctx, cli->options->output, &params, &err);
    cli_output_close(&options);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

static int open_output(struct run *run, struct bioinfer_error *err)
{
    struct cli *cli = run->cli;
    struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = cli->options->format,
        .suffix_duplicates = cli->options->dup_ids && !strcmp(cli->options->dup_ids, "suffix"),
        .model = cli->info.name);
    int st = run->format == CLI_ARRAYS ? cli_sign_first(cli, &params, err) : 0;

    return st ? st
           : run->format == CLI_ARRAYS
               ? bioinfer_writer_open(&run->writer, cli->ctx, cli->options->output, &params, err)
               : cli_output_open(&run->out, cli->options->output, err);
}

static int finish(struct run *run)
{
    struct cli *cli = run->cli;
    struct bioinfer_error err = {0};
    int st, code;

    if (run->job)
        return cli_job_finish(cli, run->job, &run->stats);
    if (run->format == CLI_ARRAYS && (code = cli_sign(cli, run->writer)))
        return code;
    st = run->format == CLI_ARRAYS ? bioinfer_writer_finish(run->writer, &err)
                                   : cli_output_finish(&run->out, &err);
    return st ? cli_fail(cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static int pending(void *user)
{
    struct run *run = user;

    return bioinfer_job_pending(run->job);
}

static int compute(struct run *run, struct bioinfer_error *err)
{
    const struct cli_run_io io = {.source = run->job ? take_structure : next_structure,
                                  .sink = take_result,
                                  .pending = run->job ? pending : NULL,
                                  .user = run,
                                  .input_size = run->bytes,
                                  .in_order = !run->job};
    int st;

    if (run->job)
        bioinfer_job_set_source(run->job, next_structure, run);
    st = cli_task_run(run->cli, &cli_design_task, run->pool, &io, err);
    if (run->out.status)
        st = cli_output_finish(&run->out, err); /* which knows the reason */
    return st;
}

/* Names the options that change how letters are drawn, where none are. */
static void say_unused(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    const struct {
        const char *name;
        bool given;
    } all[] = {{"temperature", o->temperature},
               {"tied", o->tied},
               {"omit-aa", o->omit_aa},
               {"omit", o->omit},
               {"bias", o->bias},
               {"bias-residue", o->bias_residue},
               {"pssm", o->pssm}};
    struct cli_output text = {0};

    for (size_t i = 0; i < CLI_COUNT(all); i++)
        if (all[i].given)
            cli_output_printf(&text, "%s--%s", text.n_text ? ", " : "", all[i].name);
    cli_output_write(&text, "", 1);
    if (!text.status && text.n_text > 1 && !o->quiet)
        cli_say(cli, "no letters are drawn: %s changes nothing", text.text);
    cli_output_close(&text);
}

/* Opens all that a run needs; an exit code. */
static int open_run(struct run *run)
{
    struct cli *cli = run->cli;
    struct bioinfer_error err = {0};
    struct cli_designer *d;
    int st, code;

    if ((code = cli_design_task.begin(cli)) || (code = cli_structures_find(cli, &run->structures)))
        return code;
    d = cli->task;
    if (d->params.mode != BIOINFER_DESIGN_SAMPLE)
        say_unused(cli);
    d->all = &run->structures;
    run->format = d->format;
    if (cli_task_pooled(cli, &cli_design_task) && (code = check_files(run)))
        return code;
    if ((code = cli_open_context(cli)) || (code = cli_task_open(cli, &cli_design_task, &run->pool)))
        return code;
    if (cli->options->dump_graph || cli->options->trace_rules || cli->options->dry_run)
        return CLI_EXIT_OK;
    if (cli_job_wanted(cli->options))
        return open_job(run, &d->params);
    st = open_output(run, &err);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* Computes all, and tells how it went; an exit code. */
static int run_all(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    int st, code;

    cli_progress_start(cli);
    st = compute(run, &err);
    cli_progress_end(cli);
    if (st) {
        code = cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : run->stage, st, &err);
        return cli_job_stopped(cli, run->job, code);
    }
    if (run->n_failed == run->n_structures && cli_structures_none(&run->structures)) {
        say_failed(run);
        if (run->job)
            bioinfer_job_discard(run->job);
        return CLI_EXIT_NO_INPUT;
    }
    if ((code = finish(run)))
        return code;
    if (o->profile && !run->pool)
        cli_design_task.profile(cli);
    say_summary(run);
    if (run->job && run->stats.failed)
        cli_job_say_failed(cli, "structures", &run->stats, o->n_shards ? NULL : o->output);
    else if (run->n_failed)
        say_failed(run);
    return (run->job && run->stats.failed) || run->n_failed ? CLI_EXIT_RECORDS : CLI_EXIT_OK;
}

static int dry_run(struct run *run)
{
    const struct cli_designer *d = run->cli->task;
    const struct cli_dry how = {.next = next_structure,
                                .user = run,
                                .weigh = cli_design_task.weigh,
                                .run = cli_design_task.run,
                                .task = d->design};

    return cli_dry_measure(run->cli, &how);
}

int cli_design(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli, .stage = CLI_AT_RUN};
    int code = CLI_EXIT_USAGE;

    if (cli_job_needs_file(cli, o->output) && !(code = open_run(&run)))
        code = o->dump_graph || o->trace_rules
                   ? dump(cli, ((struct cli_designer *)cli->task)->design)
               : o->dry_run ? dry_run(&run)
                            : run_all(&run);
    cli_pool_close(&run.pool);
    cli_output_close(&run.out);
    bioinfer_job_close(&run.job);
    bioinfer_writer_close(&run.writer);
    cli_design_task.end(cli);
    cli_paths_free(&run.structures);
    return code;
}

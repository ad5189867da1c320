/* align.c - `bioinfer align A [B]`: pairs of records in order, one against all, all against all.
 *
 * Pairs are read ahead by threads, aligned and written in a stream, in the order of the pairs.
 * Targets that several queries meet stay in memory up to --db-memory, and a larger file is read
 * again for each query. SAM, whose header names every target, reads both files first. With --resume
 * or --shard blocks of pairs go through a journal (align_job.c), and workers are sent blocks. With
 * --top a pass over the targets finds which pairs are worth an alignment (align_best.c); workers
 * are sent groups of queries then, and make the pass.
 *
 * Sections: pairs, the command. */
#include "align_command.h"

#include "../provenance.h"

enum { BLOCK_PAIRS = 1 << 16 }; /* that a journal keeps together */

/* ---- pairs ---- */

/* Both files have as many records, where each has one to meet. */
static int check_ends(struct cli_align_command *run)
{
    const int longer = cli_pairs_longer(&run->pairs);
    if (longer < 0)
        return CLI_EXIT_OK;
    cli_say(run->cli,
            "%s has more records than %s, which ends after %llu: pairs are taken in "
            "order; --all-vs-all and --one-vs-all pair otherwise",
            run->name[longer], run->name[!longer], (unsigned long long)run->pairs.n_taken);
    return CLI_EXIT_DATA;
}

int cli_align_fail(const struct cli_align_command *run, int st, bool source_failed,
                   bool sink_failed, const struct bioinfer_error *err)
{
    const bool disk = st == BIOINFER_IO || st == BIOINFER_NO_SPACE;
    enum cli_stage stage = CLI_AT_RUN;
    if (sink_failed)
        stage = CLI_AT_WRITE;
    else if (source_failed && st != BIOINFER_CANCELLED)
        stage = run->job.job && !run->job.failed && disk ? CLI_AT_WRITE : CLI_AT_READ;
    return cli_fail(run->cli, stage, st, err);
}

/* Aligns all pairs in this process. */
static int align_here(struct cli_align_command *run)
{
    struct cli_align_run *align = &run->task->run;
    struct bioinfer_error err = {0};
    const int st = cli_align_pairs(align, &err);
    run->n_done = align->n_done;
    run->n_failed = align->n_failed;
    run->n_residues = align->n_residues;
    run->cells = align->cells;
    return st ? cli_align_fail(run, st, st == align->source_failed, align->sink_failed, &err)
              : CLI_EXIT_OK;
}

/* Finds the best targets of each group of queries and aligns them with these. */
static int align_best(struct cli_align_command *run)
{
    struct cli_align_run *align = &run->task->run, *scores = &run->best.scores;
    struct bioinfer_error err = {0};
    bool sink_failed = false;
    int st, source_failed = 0;
    while ((st = source_failed = cli_align_job_next(&run->job, &err)) > 0) {
        if ((st = cli_best_find(&run->best, &err))) {
            source_failed = scores->source_failed;
            break;
        }
        if ((st = cli_align_pairs(align, &err))) {
            source_failed = 0;
            sink_failed = align->sink_failed;
            break;
        }
    }
    run->n_done = scores->n_done;
    run->n_failed = scores->n_failed;
    run->n_residues = scores->n_residues;
    run->cells = scores->cells;
    return st ? cli_align_fail(run, st, st == source_failed, sink_failed, &err) : CLI_EXIT_OK;
}

static int run_pairs(struct cli_align_command *run)
{
    const struct cli_align_job *job = &run->job;
    bool any;
    int code;
    if ((code = cli_align_open_pairs(run, &any)) || (code = cli_align_begin(run)))
        return code;
    if (run->cli->options->dry_run)
        return cli_align_dry_run(run);
    if (run->best.most && !run->pool)
        return align_best(run);
    code = run->pool ? cli_align_in_workers(run) : align_here(run);
    if (!code && (!job->job || job->ended)) /* nothing is read of a complete journal */
        code = check_ends(run);
    return code;
}

/* ---- the command ---- */

static void say_summary(const struct cli_align_command *run)
{
    const double seconds = cli_now() - run->cli->progress.start;
    if (!run->cli->options->quiet)
        cli_say(run->cli,
                "%llu alignments, %llu residues, matrix %s, gaps %.10g/%.10g in %.2f s "
                "(%.2f billion cells/s)",
                (unsigned long long)run->n_done, (unsigned long long)run->n_residues,
                run->task->writer.matrix, run->task->writer.open, run->task->writer.extend, seconds,
                1e-9 * run->cells / (seconds > 0 ? seconds : 1));
}

/* Opens the text output, unless the results go to a job, or gathers what goes there. */
static int open_output(struct cli_align_command *run)
{
    const struct cli_options *o = run->cli->options;
    struct bioinfer_error err = {0};
    const bool none = cli_job_wanted(o) || o->dry_run || o->values;
    const int st = none ? 0 : cli_output_open(&run->out, o->output, &err);
    return st ? cli_fail(run->cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* Finishes a job in a folder of its own, and copies the matrix to where it is to be. */
static int finish_square(struct cli_align_command *run)
{
    struct cli_output out = {0};
    struct bioinfer_error err = {0};
    int st;
    if ((st = bioinfer_job_finish(run->job.job, &err)))
        return cli_fail(run->cli, CLI_AT_WRITE, st, &err);
    if ((st = cli_output_open(&out, run->cli->options->output, &err)))
        return cli_fail(run->cli, CLI_AT_CREATE, st, &err);
    if (!(st = cli_square_copy(&run->square, &out, &err)))
        st = cli_output_finish(&out, &err);
    cli_output_close(&out);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static int finish(struct cli_align_command *run)
{
    struct bioinfer_error err = {0};
    int st;
    if (run->square.folder)
        return finish_square(run);
    if (run->job.job)
        return cli_job_finish(run->cli, run->job.job, &run->stats);
    cli_output_printf(&run->out, "%s", cli_align_tail(&run->task->writer));
    st = cli_output_finish(&run->out, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* Writes how the output was made beside it. */
static int tell_provenance(const struct cli_align_command *run)
{
    const struct bioinfer_job_stats *s = run->job.job ? &run->stats : NULL;
    const struct cli_provenance p = {.output = run->cli->options->output,
                                     .task = cli_align_task.name,
                                     .counted = !s || !s->resumed,
                                     .records = run->n_done + run->n_failed,
                                     .failed = run->n_failed,
                                     .resumed = s ? s->resumed : 0};
    return cli_provenance_write(run->cli, &p);
}

/* Says how many pairs have no result; an exit code. */
static int say_failed(const struct cli_align_command *run)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_job_stats *s = &run->stats;
    const bool manifest = run->job.job && !o->n_shards && !run->square.folder;
    const char *see = manifest ? "; see " : "", *file = manifest ? o->output : "";
    const char *suffix = manifest ? ".manifest.tsv" : "";
    if (s->failed && s->resumed) /* how many pairs of an earlier run there were is not known */
        cli_say(run->cli, "%llu of %llu blocks hold pairs without a result%s%s%s",
                (unsigned long long)s->failed, (unsigned long long)s->records, see, file, suffix);
    else if (run->n_failed)
        cli_say(run->cli, "%llu of %llu pairs have no result%s%s%s",
                (unsigned long long)run->n_failed,
                (unsigned long long)(run->n_done + run->n_failed), see, file, suffix);
    return run->n_failed || s->failed ? CLI_EXIT_RECORDS : CLI_EXIT_OK;
}

/* Opens what is read and written; an exit code. */
static int open_run(struct cli_align_command *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    int code;
    if ((code = cli_task_begin(cli, &cli_align_task)))
        return code;
    run->task = cli->task;
    run->job = (struct cli_align_job){.cli = cli,
                                      .pairs = &run->pairs,
                                      .most_pairs = o->block_pairs ? (uint64_t)o->block_pairs
                                                                   : BLOCK_PAIRS};
    if ((code = cli_open_context(cli)) ||
        (!cli_task_pooled(cli, &cli_align_task) && (code = cli_check_device(cli))) ||
        (code = cli_align_open_input(run, 0, o->input)) ||
        (o->second && (code = cli_align_open_input(run, 1, o->second))))
        return code;
    return open_output(run);
}

int cli_align(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct cli_align_command run = {.cli = cli};
    int code, said;
    run.format = o->format ? o->format : "tsv";
    if (!cli_align_check(o, run.format) || !cli_job_needs_file(cli, o->output))
        return CLI_EXIT_USAGE;
    if ((code = open_run(&run)))
        goto out;
    cli_progress_start(cli);
    code = run_pairs(&run);
    cli_align_end(&run.best.scores);
    cli_align_end(&run.task->run); /* before the job, the records and the output, which it uses */
    cli_progress_end(cli);
    if (code || o->dry_run) {
        if (!run.square.folder)
            code = cli_job_stopped(cli, run.job.job, code);
        goto out;
    }
    if ((code = finish(&run)))
        goto out;
    say_summary(&run);
    if (run.job.job && !o->quiet)
        cli_job_say_shard(cli, &run.stats, o->output);
    said = tell_provenance(&run);
    code = say_failed(&run);
    code = said ? said : code;
out:
    cli_pool_close(&run.pool);
    cli_best_close(&run.best);
    cli_task_end(cli, &cli_align_task);
    if (run.square.folder)
        bioinfer_job_discard(run.job.job);
    cli_align_job_close(&run.job);
    cli_square_close(&run.square);
    cli_pairs_close(&run.pairs);
    cli_output_close(&run.out);
    cli_output_close(&run.packed);
    bioinfer_reader_close(&run.reader[0]);
    bioinfer_reader_close(&run.reader[1]);
    return code;
}

/* align_open.c - the files, the task and the job of a run, opened in turn.
 *
 * Sections: the job, pairs, the task. */
#include "align_command.h"

#include <string.h>

/* ---- the job ---- */

/* All that changes results and is no file. Scores and tracebacks are the same on every device, but
 * what is too large for one is not. */
static void describe_options(const struct cli_align_command *run, struct cli_output *text)
{
    static const char *const pairings[] = {"in-order", "all", "each-once", "groups"};
    static const char *const ties[] = {"parasail", "emboss", "wfa"};
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_align_params *p = &run->task->params;
    const struct cli_align_out *w = &run->task->writer;
    const bool gpu = o->device && strcmp(o->device, "auto") && strcmp(o->device, "cpu");
    cli_output_printf(
        text,
        "format=%s score-only=%d cigar=%s pairs=%s block-pairs=%llu mode=%s ties=%s matrix=%s "
        "match=%d mismatch=%d gap-open=%.10g gap-extend=%.10g scale=%.10g max-length=%llu "
        "device=%s memory-limit=%lld free-ends=%u min-score=%s min-identity=%s%s",
        run->format, w->score_only,
        w->no_cigar ? "none"
        : w->plain  ? "plain"
                    : "extended",
        pairings[run->pairs.pairing], (unsigned long long)run->job.most_pairs,
        p->local       ? "local"
        : p->free_ends ? "ends-free"
                       : "global",
        ties[p->ties], w->matrix_file ? "file" : w->matrix, p->match, p->mismatch, w->open,
        w->extend, w->scale, (unsigned long long)cli_align_longest(o), gpu ? "gpu" : "cpu",
        gpu ? (long long)cli_align_memory(o) : 0LL, p->free_ends, o->min_score ? o->min_score : "",
        o->min_identity ? o->min_identity : "", p->any_letters ? " letters=any" : "");
    if (w->open2)
        cli_output_printf(text, " gap-open2=%.10g gap-extend2=%.10g", w->open2, w->extend2);
    if (o->values)
        cli_output_printf(text, " values=%s of=%s", o->values, w->shorter ? "shorter" : "columns");
    if (o->top)
        cli_output_printf(text, " top=%lld", (long long)o->top);
    if (w->both_strands)
        cli_output_printf(text, " strand=both");
    if (w->stats.lambda > 0)
        cli_output_printf(
            text, " lambda=%.10g karlin-k=%.10g db-size=%.0f db-records=%.0f max-evalue=%.10g",
            w->stats.lambda, w->stats.k, w->stats.residues, w->stats.records, w->stats.most);
    cli_output_write(text, "", 1);
}

static int open_job(struct cli_align_command *run)
{
    struct bioinfer_error err = {0};
    struct cli_output options = {0};
    int st;
    describe_options(run, &options);
    if (!(st = options.status))
        st = cli_align_job_open(&run->job, &run->task->writer, options.text, &err);
    cli_output_close(&options);
    return st ? cli_fail(run->cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

int cli_align_open_input(struct cli_align_command *run, int k, const char *path)
{
    struct bioinfer_error err = {0};
    const int st = cli_align_reader(run->cli, path, &run->reader[k], &err);
    run->name[k] = strcmp(path, "-") ? path : "standard input";
    return st ? cli_fail(run->cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* ---- pairs ---- */

static int no_records(struct cli_align_command *run, int side)
{
    cli_say(run->cli, "%s: no records", run->name[side]);
    return CLI_EXIT_DATA;
}

static enum cli_pairing pairing_of(const struct cli_options *o)
{
    if (!o->all_vs_all && !o->one_vs_all && !o->values)
        return CLI_IN_ORDER;
    if (o->top)
        return CLI_GROUPS;
    return o->second ? CLI_ALL_PAIRS : CLI_EACH_ONCE;
}

int cli_align_open_pairs(struct cli_align_command *run, bool *any)
{
    const struct cli_options *o = run->cli->options;
    struct cli_pairs *p = &run->pairs;
    struct bioinfer_error err = {0};
    struct cli_span first;
    int st;
    *p = (struct cli_pairs){.pairing = pairing_of(o),
                            .reader = {run->reader[0], run->reader[1]},
                            .reopen = cli_align_reopen,
                            .user = run->cli,
                            .all_names = !strcmp(run->format, "sam") || o->values,
                            .with_self = o->values != NULL,
                            .one_query = o->one_vs_all,
                            .most_kept = cli_align_db_memory(o)};
    if (o->top && (st = cli_best_open(&run->best, p, &run->job.blocks, (uint64_t)o->top,
                                      (uint64_t)o->block_pairs)))
        return cli_fail(run->cli, CLI_AT_SETUP, st, NULL);
    if ((st = cli_pairs_open(p, &err)))
        return cli_fail(run->cli, CLI_AT_READ, st, &err);
    if (o->one_vs_all && p->side[0].n > 1) {
        cli_say(run->cli, "%s: %zu records, --one-vs-all takes one", run->name[0], p->side[0].n);
        return CLI_EXIT_DATA;
    }
    if ((o->top && (st = cli_best_read(&run->best, &err)) < 0) ||
        (st = cli_pairs_next(p, &first, &err)) < 0)
        return cli_fail(run->cli, CLI_AT_READ, st, &err);
    *any = st;
    if (st)
        return CLI_EXIT_OK;
    if (p->pairing == CLI_IN_ORDER)
        return no_records(run, cli_pairs_longer(p) == 0);
    if (o->second || !p->passed)
        return no_records(run, p->passed);
    return CLI_EXIT_OK;
}

/* ---- the task ---- */

/* Whether blocks go through a journal: blocks of a matrix always do. */
static bool has_job(const struct cli_align_command *run)
{
    const struct cli_options *o = run->cli->options;
    return (cli_job_wanted(o) || o->values) && !o->dry_run;
}

/* Opens the task, here or in workers, now that some records of both files are known. */
static int open_task(struct cli_align_command *run)
{
    const struct cli_side *a = &run->pairs.side[0];
    const struct cli_side *b = &run->pairs.side[run->reader[1] != NULL];
    const struct cli_options *o = run->cli->options;
    int code;
    if (!cli_align_has_costs(o))
        run->cli->told = cli_align_guess(run->cli, a, b) ? "EDNAFULL" : "BLOSUM62";
    if ((code = cli_align_settle(run->task)) ||
        (code = cli_task_open(run->cli, &cli_align_task, &run->pool)))
        return code;
    run->task->writer.out = &run->out;
    if (o->top)
        run->job.best = &run->best;
    if (o->top && !o->dry_run && !run->pool &&
        (code = cli_best_start(&run->best, run->task, &run->pairs)))
        return code;
    if (o->values && !o->dry_run) {
        run->job.square = &run->square;
        if ((code = cli_square_open(&run->square, run->cli, &run->task->writer, a,
                                    run->reader[1] ? b : NULL, run->job.most_pairs)))
            return code;
    }
    return has_job(run) ? open_job(run) : CLI_EXIT_OK;
}

int cli_align_begin(struct cli_align_command *run)
{
    const struct cli_pairs *p = &run->pairs;
    const struct cli_side *a = &p->side[0], *b = &p->side[run->reader[1] != NULL];
    const size_t both = a->n < b->n ? a->n : b->n;
    const size_t n[2] = {p->pairing == CLI_IN_ORDER ? both : a->n,
                         p->pairing == CLI_IN_ORDER ? both : b->n};
    struct cli_align_run *align = &run->task->run;
    int code;
    if (!strcmp(run->format, "sam") &&
        (code = cli_align_check_sam(run->cli, a->items, n[0], b->items, n[1])))
        return code;
    if ((code = open_task(run)))
        return code;
    if (!run->job.job && !run->cli->options->dry_run)
        cli_align_head(&run->task->writer, b->items, n[1]);
    align->pairs = run->best.most ? NULL : &run->pairs;
    align->blocks = run->job.job || run->best.most ? &run->job.blocks : NULL;
    if (run->best.most && !run->job.job) {
        run->job.blocks.next = cli_align_job_give;
        run->job.blocks.user = &run->job;
    }
    align->targets = b->items;
    align->n_targets = n[1];
    return CLI_EXIT_OK;
}

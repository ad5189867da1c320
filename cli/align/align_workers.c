/* align_workers.c - the command's side of workers: blocks go out as bytes, their text comes back.
 * A dry run weighs pairs. */
#include "align_command.h"

#include <stdlib.h>
#include <string.h>

/* A bioinfer_source: the next block, as bytes. */
static int next_block(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_align_command *run = user;
    const struct cli_block *block = &run->job.blocks.block;
    int st;
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    cli_pairs_drop(&run->pairs); /* the block before is with the pool */
    if ((st = cli_align_job_next(&run->job, err)) <= 0) {
        run->source_failed = st < 0;
        return st;
    }
    if ((run->best.most && (st = cli_best_list(&run->best, err))) ||
        (st = cli_block_pack(&run->job.blocks, &run->packed, err)))
        return st;
    *record = (struct bioinfer_record){.id = block->id,
                                       .description = "",
                                       .message = "",
                                       .ordinal = block->ordinal,
                                       .sequence = run->packed.text,
                                       .length = run->packed.n_text};
    return 1;
}

/* Says what the worker would have to say of its pairs, and counts them. */
static void tally(struct cli_align_command *run, struct bioinfer_result *r)
{
    unsigned long long counts[4] = {0};
    cli_take_counts(r, counts, 4);
    run->n_done += counts[0];
    run->n_failed += counts[1];
    run->n_residues += counts[2];
    run->cells += (double)counts[3];
    for (; r->n_texts && strcmp(r->texts[r->n_texts - 1].name, "text"); r->n_texts--) {
        const struct bioinfer_text *t = &r->texts[r->n_texts - 1];
        const char *at = t->text, *end = t->text + t->length;
        if (!strcmp(t->name, CLI_ALIGN_NOTE) && !run->told_note) {
            run->told_note = true;
            cli_say(run->cli, "%.*s", (int)t->length, t->text);
        }
        while (!strcmp(t->name, CLI_ALIGN_LOST) && at < end) {
            const char *line = memchr(at, '\n', (size_t)(end - at));
            cli_say_lost(run->cli, "%.*s", (int)(line - at), at);
            at = line + 1;
        }
    }
}

/* Keeps a piece of a block. A head of several lines is a piece of its own, before the first
 * block's. */
static int keep_piece(struct cli_align_command *run, const struct bioinfer_result *piece,
                      struct bioinfer_error *err)
{
    const struct cli_align_run *align = &run->task->run;
    const bool headed = !piece->ordinal && cli_align_has_head(&run->task->writer);
    int st;
    if (headed && !piece->piece)
        cli_align_head(&run->task->writer, align->targets, align->n_targets);
    st = run->out.status;
    if (!st)
        st = cli_align_job_keep(&run->job, piece, headed ? run->out.text : NULL, run->out.n_text,
                                err);
    run->out.n_text = 0;
    return st;
}

/* A bioinfer_sink: a piece of a block's text. */
static int take_piece(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct cli_align_command *run = user;
    struct bioinfer_result r = *result;
    int st = 0;
    if (!r.more)
        tally(run, &r);
    if (run->job.job) {
        st = keep_piece(run, &r, err);
    } else {
        for (int i = 0; i < r.n_texts; i++)
            cli_output_write(&run->out, r.texts[i].text, r.texts[i].length);
        st = run->out.status; /* a closed pipe or a full disk: the rest is in vain */
        cli_output_start(&run->out);
    }
    run->sink_failed = st != 0;
    return st;
}

static int pending(void *user)
{
    struct cli_align_command *run = user;
    return bioinfer_job_pending(run->job.job);
}

/* Gives how much input there is, in what the task weighs: about as many cells, or bytes. */
static uint64_t input_size(const struct cli_align_command *run)
{
    const struct cli_options *o = run->cli->options;
    const double a = (double)cli_plain_size(o->input);
    const double b = o->second ? (double)cli_plain_size(o->second) : a / 2;
    const double size = o->top ? a : run->pairs.pairing == CLI_IN_ORDER ? a + b : a * b;
    return size < 0x1p63 ? (uint64_t)size : UINT64_MAX / 2;
}

int cli_align_in_workers(struct cli_align_command *run)
{
    const struct cli_run_io io = {.source = next_block,
                                  .sink = take_piece,
                                  .pending = run->job.job ? pending : NULL,
                                  .user = run,
                                  .input_size = input_size(run),
                                  .in_order = !run->job.job};
    struct bioinfer_error err = {0};
    int st = cli_task_run(run->cli, &cli_align_task, run->pool, &io, &err);
    if (run->out.status && !run->job.job)
        st = cli_output_finish(&run->out, &err); /* which knows the reason */
    return st ? cli_align_fail(run, st, run->source_failed, run->sink_failed, &err) : CLI_EXIT_OK;
}

/* A bioinfer_source: pairs for a dry run, one by one. */
static int next_pair(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_align_command *run = user;
    const struct bioinfer_record *target;
    int st;
    if (run->at_pair == run->span.n) {
        cli_pairs_take(&run->pairs, run->span.n);
        cli_pairs_drop(&run->pairs);
        run->at_pair = run->span.n = 0;
        while (!(st = cli_pairs_next(&run->pairs, &run->span, err)) && run->best.most) {
            run->best.is_read = false;
            if ((st = cli_best_read(&run->best, err)) <= 0)
                return st;
        }
        if (st <= 0)
            return st;
    }
    *record = run->span.query[run->at_pair * run->span.step];
    target = &run->span.target[run->at_pair++];
    record->target = target->sequence;
    record->target_length = target->length;
    if (target->status && !record->status) {
        record->status = target->status;
        record->message = target->message;
    }
    return 1;
}

static struct cli_weight weigh_pair(const struct cli *cli, const struct bioinfer_record *r)
{
    (void)cli;
    return (struct cli_weight){(uint64_t)(r->length + 1) * (r->target_length + 1), 0};
}

static int align_some(void *state, struct bioinfer_error *err)
{
    const struct cli_aligning *t = state;
    const struct cli_work *w = &t->work;
    return bioinfer_task_run(t->run.align, w->source, w->source_user, w->sink, w->sink_user, err);
}

int cli_align_dry_run(struct cli_align_command *run)
{
    static const struct cli_task pairs = {.run = align_some, .weigh = weigh_pair};
    const struct cli_dry how = {.length = "residues",
                                .next = next_pair,
                                .user = run,
                                .task = &pairs,
                                .open = run->task->run.align};
    return cli_dry_measure(run->cli, &how);
}

/* align_batch.c - batches of pairs on their way through the task, and their text.
 *
 * The task's stream takes a batch, aligns the one before it and gives back the one before that,
 * all at once. A batch is filled again when its text is written. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH_PAIRS = 1 << 14,     /* pairs of one batch: what caches hold */
    BATCH_RESIDUES = 64 << 20, /* residues of them, about */
};

/* ---- results ---- */

static void empty(struct cli_batch *b)
{
    for (size_t i = 0; i < b->n_used; i++)
        bioinfer_records_free(&b->used[i]);
    b->n = b->n_used = 0;
    b->residues = 0;
    b->cells = 0;
    free(b->memory);
    b->memory = NULL;
    b->any_bad = b->any_failed = b->ends_block = false;
    b->n_failed = 0;
}

/* Says that a pair has no result, or gathers it where another process says so. */
static void say_failed(struct cli_align_run *run, struct cli_batch *b, size_t i, int status,
                       const char *message)
{
#define WORDS "%s, %s: no result: %s%s%s"
    enum { NAMED = 10 }; /* no more are said, whoever says them */
    const char *query = b->sides[2 * i]->id, *target = b->sides[2 * i + 1]->id;
    const char *why = bioinfer_status_name(status), *colon = *message ? ": " : "";
    b->any_failed = true;
    b->n_failed++;
    if (!run->lost)
        cli_say_lost(run->cli, WORDS, query, target, why, colon, message);
    else if (b->n_failed <= NAMED)
        cli_output_printf(run->lost, WORDS "\n", query, target, why, colon, message);
#undef WORDS
}

/* The same of the first traceback in the run that is above the limit. */
static void say_sparse(struct cli_align_run *run, const char *query, const char *target)
{
#define WORDS                                                                                      \
    "%s, %s: the traceback is above --memory-limit: fewer rows are kept and computed twice"
    if (run->told_sparse || run->cli->options->quiet)
        return;
    run->told_sparse = true;
    if (run->note)
        cli_output_printf(run->note, WORDS, query, target);
    else
        cli_say(run->cli, WORDS, query, target);
#undef WORDS
}

/* Counts results, and names pairs without one. */
static void tally(struct cli_align_run *run, struct cli_batch *b)
{
    bool plain = !b->any_bad; /* nothing is to be said */
    for (size_t i = 0; plain && i < b->n; i++)
        plain = !b->results[i].status && !b->results[i].sparse;
    b->n_residues = plain ? b->residues : 0;
    b->n_cells = plain ? b->cells : 0;
    for (size_t i = 0; !plain && i < b->n; i++) {
        const struct bioinfer_record *q = b->sides[2 * i], *t = b->sides[2 * i + 1];
        const struct bioinfer_alignment *a = &b->results[i];
        if (!cli_batch_has_result(b, i)) {
            const struct bioinfer_record *bad = q->status ? q : t;
            say_failed(run, b, i, bad->status ? bad->status : a->status,
                       bad->status ? bad->message : a->message);
            continue;
        }
        if (a->sparse)
            say_sparse(run, q->id, t->id);
        b->n_residues += q->length + t->length;
        b->n_cells += (double)q->length * (double)t->length;
    }
    run->n_done += b->n - b->n_failed;
    run->n_failed += b->n_failed;
    run->n_residues += b->n_residues;
    run->cells += b->n_cells;
}

/* A bioinfer_align_stream.sink: writes what a batch has given. */
static int take_batch(void *user, const struct bioinfer_pairs *pairs,
                      const struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    struct cli_align_run *run = user;
    struct cli_batch *b = pairs->user;
    int st = 0;
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    b->results = results;
    if (run->writer->both_strands)
        cli_align_strands_pick(b, results);
    tally(run, b);
    if (run->best)
        st = cli_best_take(run->best, b);
    else if (run->writer->values)
        cli_square_put(run->writer, b);
    else
        st = cli_batch_write(run, b);
    if (!st && run->blocks && run->blocks->sink)
        st = cli_blocks_put(run->blocks, b, run->writer->out, err);
    run->sink_failed = st != 0;
    empty(b);
    if (!st)
        run->tick(run->cli, run->n_done, run->n_residues);
    return st;
}

/* ---- filling ---- */

static bool is_full(const struct cli_batch *b)
{
    return b->n == BATCH_PAIRS || b->residues > BATCH_RESIDUES;
}

/* Adds pairs of the span from `at` on, until the batch is full; returns how many. */
static size_t add_pairs(struct cli_batch *b, const struct cli_span *span, size_t at)
{
    const size_t first = at;
    for (; at < span->n && !is_full(b); at++) {
        const struct bioinfer_record *q = &span->query[at * span->step], *t = &span->target[at];
        b->sides[2 * b->n] = q;
        b->sides[2 * b->n + 1] = t;
        b->pairs[b->n++] = (struct bioinfer_align_pair){q->sequence, t->sequence, q->length,
                                                        t->length};
        b->residues += q->length + t->length;
        b->cells += (double)q->length * (double)t->length;
        b->any_bad |= q->status || t->status;
    }
    return at - first;
}

/* Has the batch free the records that are used up: batches before it may point into them. */
static int take_used(struct cli_align_run *run, struct cli_batch *b)
{
    struct cli_pairs *p = run->pairs;
    if (p->n_used > b->used_cap - b->n_used) {
        const size_t cap = 2 * b->used_cap + p->n_used + 64;
        void *used = realloc(b->used, cap * sizeof *b->used);
        if (!used)
            return BIOINFER_NOMEM;
        b->used = used;
        b->used_cap = cap;
    }
    if (p->n_used)
        memcpy(b->used + b->n_used, p->used, p->n_used * sizeof *p->used);
    b->n_used += p->n_used;
    p->n_used = 0;
    return 0;
}

/* Fills a batch with the pairs that come next: 1; 0 = there are none; < 0 = a status. */
static int fill(struct cli_align_run *run, struct cli_batch *b, struct bioinfer_error *err)
{
    struct cli_span span;
    int st = 1;
    while (!is_full(b) && (st = cli_pairs_next(run->pairs, &span, err)) > 0) {
        if ((st = take_used(run, b)))
            return st;
        cli_pairs_take(run->pairs, add_pairs(b, &span, 0));
    }
    return st < 0 ? st : b->n > 0;
}

/* The same where pairs come in blocks: the pairs of one block. */
static int fill_of_block(struct cli_align_run *run, struct cli_batch *b, struct bioinfer_error *err)
{
    struct cli_blocks *blocks = run->blocks;
    int st;
    if (!run->in_block) {
        if ((st = blocks->next(blocks->user, err)) <= 0)
            return st;
        if (!blocks->block.ordinal && blocks->is_headed)
            cli_align_head(run->writer, run->targets, run->n_targets);
        run->in_block = true;
        run->span = run->at = 0;
    }
    b->block = blocks->block;
    while (run->span < blocks->n_spans && !is_full(b)) {
        const struct cli_span *span = &blocks->spans[run->span];
        run->at += add_pairs(b, span, run->at);
        if (run->at < span->n)
            break;
        run->span++;
        run->at = 0;
    }
    if (run->span < blocks->n_spans)
        return 1;
    run->in_block = false;
    b->ends_block = true;
    b->memory = blocks->memory;
    blocks->memory = NULL;
    if (!run->pairs)
        return 1;
    if ((st = take_used(run, b)))
        return st;
    cli_pairs_hold(run->pairs);
    return 1;
}

/* A bioinfer_align_stream.source. */
static int give_batch(void *user, struct bioinfer_pairs *pairs, struct bioinfer_error *err)
{
    struct cli_align_run *run = user;
    struct cli_batch *b = &run->batches[run->n_batches++ % BIOINFER_PAIRS_AHEAD];
    int st = cli_stop_signal() ? BIOINFER_CANCELLED : 0;
    if (!st)
        st = run->blocks ? fill_of_block(run, b, err) : fill(run, b, err);
    if (st < 0)
        run->source_failed = st;
    *pairs = (struct bioinfer_pairs){.pairs = b->pairs, .n = b->n, .user = b};
    if (st > 0 && run->writer->both_strands) {
        if ((st = cli_align_strands_give(b)) < 0)
            return run->source_failed = st;
        *pairs = (struct bioinfer_pairs){.pairs = b->strands.pairs, .n = 2 * b->n, .user = b};
        st = 1;
    }
    return st;
}

/* ---- the run ---- */

int cli_align_start(struct cli_align_run *run)
{
    for (int i = 0; i < BIOINFER_PAIRS_AHEAD; i++) {
        struct cli_batch *b = &run->batches[i];
        /* not calloc: what no pair is put into is never touched */
        b->pairs = malloc(BATCH_PAIRS * sizeof *b->pairs);
        b->sides = malloc(2 * (size_t)BATCH_PAIRS * sizeof *b->sides);
        if (!b->pairs || !b->sides ||
            (run->writer->both_strands && cli_align_strands_open(&b->strands, BATCH_PAIRS)))
            return cli_fail(run->cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    }
    return CLI_EXIT_OK;
}

int cli_align_pairs(struct cli_align_run *run, struct bioinfer_error *err)
{
    const struct bioinfer_align_stream stream = BIOINFER_PARAMS(
        struct bioinfer_align_stream, .source = give_batch, .sink = take_batch, .user = run);
    return bioinfer_align_run(run->align, &stream, err);
}

void cli_align_end(struct cli_align_run *run)
{
    for (int i = 0; i < BIOINFER_PAIRS_AHEAD; i++) {
        struct cli_batch *b = &run->batches[i];
        empty(b);
        free(b->pairs);
        free(b->sides);
        free(b->used);
        cli_align_strands_close(&b->strands);
        *b = (struct cli_batch){0};
    }
}

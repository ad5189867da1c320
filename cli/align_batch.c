/* align_batch.c - batches of pairs: filled, aligned, told about and written in order.
 *
 * There are three: while the caller fills one, a thread aligns the one before, and another writes
 * the scores of the one before that. Alignments belong to the aligner until its next call: they are
 * written before that, formatted by all threads. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

enum {
    BATCH_PAIRS = 1 << 14,     /* pairs of one call: what caches hold */
    BATCH_RESIDUES = 64 << 20, /* residues of them, about */
    LINES = 2048,              /* of a piece of text */
    PIECES = 64,               /* of them at a time */
    SOON = 16                  /* lines ahead of the one that is made */
};

/* ---- text ---- */

static bool has_result(const struct cli_batch *b, size_t i)
{
    return !b->sides[2 * i]->status && !b->sides[2 * i + 1]->status && !b->results[i].status;
}

/* Lines of piece k behind those that `out` has gathered. */
static void format_piece(const struct cli_align_run *run, const struct cli_batch *b, size_t k,
                         struct cli_output *out)
{
    const size_t last = (k + 1) * LINES < b->n ? (k + 1) * LINES : b->n;
    struct cli_align_out writer = *run->writer;

    writer.out = out;
    for (size_t i = k * LINES; i < last; i++) {
        if (i + SOON < b->n) { /* ids lie far apart, between sequences */
            __builtin_prefetch(b->sides[2 * (i + SOON)]->id);
            __builtin_prefetch(b->sides[2 * (i + SOON) + 1]->id);
        }
        if (has_result(b, i))
            cli_align_put(&writer, b->sides[2 * i], b->sides[2 * i + 1], &b->results[i]);
    }
}

struct formatting {
    const struct cli_align_run *run;
    const struct cli_batch *batch;
    size_t from; /* piece of text 0 */
    struct cli_output *text;
};

static void format_text(void *user, int k)
{
    const struct formatting *f = user;
    format_piece(f->run, f->batch, f->from + (size_t)k, &f->text[k]);
}

static int write_text(struct cli_align_run *run, const struct cli_output *text)
{
    if (text->status)
        return cli_fail(run->cli, CLI_AT_WRITE, BIOINFER_NOMEM, NULL);
    cli_output_write(run->writer->out, text->text, text->n_text);
    return CLI_EXIT_OK; /* a failed write is said by cli_output_finish */
}

/* Gives the job what it is to keep of a batch whose text is gathered. */
static int keep(struct cli_align_run *run, const struct cli_batch *b)
{
    struct bioinfer_error err = {0};
    int st = run->job.job ? cli_align_job_put(&run->job, b, run->writer->out, &err) : 0;

    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static int write_scores(struct cli_align_run *run, const struct cli_batch *b)
{
    struct cli_output text = {0};
    int code = CLI_EXIT_OK;

    for (size_t k = 0; !code && k * LINES < b->n; k++) {
        text.n_text = 0;
        format_piece(run, b, k, &text);
        code = write_text(run, &text);
    }
    cli_output_start(run->writer->out);
    cli_output_close(&text);
    return code ? code : keep(run, b);
}

/* Pieces by all threads, in order. */
static int write_alignments(struct cli_align_run *run, const struct cli_batch *b)
{
    const size_t n_pieces = (b->n + LINES - 1) / LINES;
    const int threads = bioinfer_context_threads(run->cli->ctx);
    int code = CLI_EXIT_OK;

    for (size_t from = 0; from < n_pieces && !code; from += PIECES) {
        const int n = (int)(n_pieces - from < PIECES ? n_pieces - from : PIECES);
        struct cli_output text[PIECES];
        struct formatting f = {run, b, from, text};
        memset(text, 0, sizeof text);
        cli_parallel(threads, n, format_text, &f);
        for (int k = 0; k < n; k++) {
            if (!code)
                code = write_text(run, &text[k]);
            cli_output_close(&text[k]);
        }
    }
    cli_output_start(run->writer->out);
    return code ? code : keep(run, b);
}

/* ---- one batch ---- */

static void empty(struct cli_batch *b)
{
    for (size_t i = 0; i < b->n_used; i++)
        bioinfer_records_free(&b->used[i]);
    b->n = b->n_used = 0;
    b->residues = 0;
    b->cells = 0;
    b->any_bad = b->any_failed = b->ends_block = false;
}

static void say_failed(struct cli_align_run *run, const struct cli_batch *b, size_t i, int status,
                       const char *message)
{
    run->n_failed++;
    cli_say_lost(run->cli, "%s, %s: no result: %s%s%s", b->sides[2 * i]->id,
                 b->sides[2 * i + 1]->id, bioinfer_status_name(status), *message ? ": " : "",
                 message);
}

/* Counts results and says what has none. */
static void tally(struct cli_align_run *run, struct cli_batch *b)
{
    bool plain = !b->any_bad; /* nothing is to be said */

    for (size_t i = 0; plain && i < b->n; i++)
        plain = !b->results[i].status && !b->results[i].sparse;
    if (plain) {
        run->n_done += b->n;
        run->n_residues += b->residues;
        run->cells += b->cells;
        return;
    }
    for (size_t i = 0; i < b->n; i++) {
        const struct bioinfer_record *q = b->sides[2 * i], *t = b->sides[2 * i + 1];
        const struct bioinfer_alignment *a = &b->results[i];
        if (!has_result(b, i)) {
            const struct bioinfer_record *bad = q->status ? q : t;
            b->any_failed = true;
            say_failed(run, b, i, bad->status ? bad->status : a->status,
                       bad->status ? bad->message : a->message);
            continue;
        }
        if (a->sparse && !run->told_sparse && !run->cli->options->quiet) {
            run->told_sparse = true;
            cli_say(run->cli,
                    "%s, %s: the traceback is above --memory-limit: fewer rows are kept "
                    "and computed twice",
                    q->id, t->id);
        }
        run->n_done++;
        run->n_residues += q->length + t->length;
        run->cells += (double)q->length * (double)t->length;
    }
}

static int align_batch(struct cli_align_run *run, struct cli_batch *b)
{
    struct bioinfer_error err = {0};
    int st, code = CLI_EXIT_OK;

    if (cli_stop_signal())
        return cli_fail(run->cli, CLI_AT_RUN, BIOINFER_CANCELLED, &err);
    if ((st = bioinfer_aligner_run(run->aligner, b->pairs, b->n, b->results, &err)))
        return cli_fail(run->cli, CLI_AT_RUN, st, &err);
    tally(run, b);
    if (!run->cli->options->score_only)
        code = write_alignments(run, b);
    if (!code)
        cli_progress_tick(run->cli, run->n_done, run->n_residues);
    return code;
}

/* ---- threads ---- */

/* Gives a batch to a stage, or to the caller again when there is none. The lock is held. */
static void hand_over(struct cli_align_run *run, int stage, struct cli_batch *b)
{
    b->stage = stage;
    pthread_cond_broadcast(&run->changed);
}

/* The batch of this stage that came first. */
static struct cli_batch *find(struct cli_align_run *run, int stage)
{
    struct cli_batch *first = NULL;

    for (int i = 0; i < CLI_BATCHES; i++) {
        struct cli_batch *b = &run->batches[i];
        if (b->stage == stage && (!first || b->number < first->number))
            first = b;
    }
    return first;
}

/* After a failure batches go on, untouched. */
static void *work(struct cli_align_run *run, int stage)
{
    pthread_mutex_lock(&run->lock);
    for (;;) {
        struct cli_batch *b;
        int code;
        while (!(b = find(run, stage)) && !run->stop)
            pthread_cond_wait(&run->changed, &run->lock);
        if (!b)
            break;
        code = run->code;
        pthread_mutex_unlock(&run->lock);
        if (!code && (b->n || b->ends_block) && stage == CLI_ALIGNS)
            code = align_batch(run, b);
        else if (!code && run->cli->options->score_only)
            code = write_scores(run, b);
        if (stage == CLI_WRITES)
            empty(b);
        pthread_mutex_lock(&run->lock);
        run->code = run->code ? run->code : code;
        hand_over(run, stage == CLI_ALIGNS ? CLI_WRITES : CLI_FILLS, b);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static void *aligns(void *run)
{
    return work(run, CLI_ALIGNS);
}

static void *writes(void *run)
{
    return work(run, CLI_WRITES);
}

/* Has the batch aligned, waits for another to fill; `all`: for all of them. */
static int flush(struct cli_align_run *run, bool all)
{
    int code, n_busy;

    pthread_mutex_lock(&run->lock);
    run->batch->number = run->n_batches++;
    hand_over(run, CLI_ALIGNS, run->batch);
    do {
        n_busy = 0;
        for (int i = 0; i < CLI_BATCHES; i++)
            n_busy += run->batches[i].stage != CLI_FILLS;
    } while (n_busy > (all ? 0 : CLI_BATCHES - 1) && !pthread_cond_wait(&run->changed, &run->lock));
    run->batch = find(run, CLI_FILLS);
    code = run->code;
    pthread_mutex_unlock(&run->lock);
    return code;
}

/* ---- the caller ---- */

int cli_align_start(struct cli_align_run *run)
{
    void *(*const stages[])(void *) = {aligns, writes};

    for (int i = 0; i < CLI_BATCHES; i++) {
        struct cli_batch *b = &run->batches[i];
        b->pairs = calloc(BATCH_PAIRS, sizeof *b->pairs);
        b->sides = calloc(2 * (size_t)BATCH_PAIRS, sizeof *b->sides);
        b->results = calloc(BATCH_PAIRS, sizeof *b->results);
        if (!b->pairs || !b->sides || !b->results)
            return cli_fail(run->cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    }
    run->batch = &run->batches[0];
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    run->locked = true;
    for (; run->n_threads < 2; run->n_threads++)
        if (pthread_create(&run->threads[run->n_threads], NULL, stages[run->n_threads], run))
            return cli_fail(run->cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    return CLI_EXIT_OK;
}

static void add_pair(struct cli_batch *b, const struct bioinfer_record *q,
                     const struct bioinfer_record *t)
{
    b->sides[2 * b->n] = q;
    b->sides[2 * b->n + 1] = t;
    b->pairs[b->n++] = (struct bioinfer_align_pair){q->sequence, t->sequence, q->length, t->length};
    b->residues += q->length + t->length;
    b->cells += (double)q->length * (double)t->length;
    b->any_bad |= q->status || t->status;
}

int cli_align_add(struct cli_align_run *run, const struct cli_span *span)
{
    int code;

    for (size_t i = 0; i < span->n; i++) {
        const struct cli_batch *b = run->batch;
        if ((b->n == BATCH_PAIRS || b->residues > BATCH_RESIDUES) && (code = flush(run, false)))
            return code;
        if (!run->batch->n)
            run->batch->block = run->job.block;
        add_pair(run->batch, &span->query[i * span->step], &span->target[i]);
    }
    return CLI_EXIT_OK;
}

int cli_align_end_block(struct cli_align_run *run)
{
    run->batch->block = run->job.block; /* that of all pairs in it, or of none */
    run->batch->ends_block = true;
    return flush(run, false);
}

int cli_align_used(struct cli_align_run *run, struct bioinfer_records **blocks, size_t n)
{
    struct cli_batch *b = run->batch;

    if (n > b->used_cap - b->n_used) {
        const size_t cap = 2 * b->used_cap + n + 64;
        void *used = realloc(b->used, cap * sizeof *b->used);
        if (!used)
            return cli_fail(run->cli, CLI_AT_READ, BIOINFER_NOMEM, NULL);
        b->used = used;
        b->used_cap = cap;
    }
    if (n)
        memcpy(b->used + b->n_used, blocks, n * sizeof *blocks);
    b->n_used += n;
    return CLI_EXIT_OK;
}

int cli_align_finish(struct cli_align_run *run)
{
    return flush(run, true);
}

void cli_align_end(struct cli_align_run *run)
{
    if (run->locked) {
        pthread_mutex_lock(&run->lock);
        run->stop = true;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
        for (int i = 0; i < run->n_threads; i++)
            pthread_join(run->threads[i], NULL);
        pthread_mutex_destroy(&run->lock);
        pthread_cond_destroy(&run->changed);
        run->locked = false;
        run->n_threads = 0;
    }
    for (int i = 0; i < CLI_BATCHES; i++) {
        struct cli_batch *b = &run->batches[i];
        empty(b);
        free(b->pairs);
        free(b->sides);
        free(b->results);
        free(b->used);
        *b = (struct cli_batch){0};
    }
}

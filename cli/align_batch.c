/* align_batch.c - batches of pairs: aligned, told about and written in order.
 *
 * There are two. Scores of one are written by a thread while the other is filled and aligned;
 * alignments, which belong to the aligner until its next call, before that by all threads. */
#include "cli.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_PAIRS = 1 << 16,     /* pairs of one call */
    BATCH_RESIDUES = 64 << 20, /* residues of them, about */
    LINES = 2048,              /* of a piece of text */
    PIECES = 64                /* of them at a time */
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
    for (size_t i = k * LINES; i < last; i++)
        if (has_result(b, i))
            cli_align_put(&writer, b->sides[2 * i], b->sides[2 * i + 1], &b->results[i]);
}

static int write_text(struct cli_align_run *run, const struct cli_output *text)
{
    if (text->status)
        return cli_fail(run->cli, CLI_AT_WRITE, BIOINFER_NOMEM, NULL);
    cli_output_write(run->writer->out, text->text, text->n_text);
    return CLI_EXIT_OK; /* a failed write is said by cli_output_finish */
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
    cli_output_close(&text);
    return code;
}

/* Pieces by all threads, in order. */
static int write_alignments(struct cli_align_run *run, const struct cli_batch *b)
{
    const size_t n_pieces = (b->n + LINES - 1) / LINES;
    const int threads = run->cli->options->threads > 0 ? (int)run->cli->options->threads
                                                       : omp_get_max_threads();
    int code = CLI_EXIT_OK;

    for (size_t from = 0; from < n_pieces && !code; from += PIECES) {
        const int n = (int)(n_pieces - from < PIECES ? n_pieces - from : PIECES);
        struct cli_output text[PIECES];
        memset(text, 0, sizeof text);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (n > 1)
        for (int k = 0; k < n; k++)
            format_piece(run, b, from + (size_t)k, &text[k]);
        for (int k = 0; k < n; k++) {
            if (!code)
                code = write_text(run, &text[k]);
            cli_output_close(&text[k]);
        }
    }
    return code;
}

/* ---- the thread ---- */

static void empty(struct cli_batch *b)
{
    for (size_t i = 0; i < b->n_used; i++)
        bioinfer_records_free(&b->used[i]);
    b->n = b->n_used = 0;
    b->residues = 0;
}

static void *write_ahead(void *arg)
{
    struct cli_align_run *run = arg;

    pthread_mutex_lock(&run->lock);
    for (;;) {
        int code;
        while (!run->waiting && !run->stop)
            pthread_cond_wait(&run->changed, &run->lock);
        if (!run->waiting)
            break;
        pthread_mutex_unlock(&run->lock);
        code = write_scores(run, run->waiting);
        empty(run->waiting);
        pthread_mutex_lock(&run->lock);
        run->code = run->code ? run->code : code;
        run->waiting = NULL;
        pthread_cond_broadcast(&run->changed);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* Waits until all that was handed over is written, and hands over. */
static int hand_over(struct cli_align_run *run, struct cli_batch *b)
{
    int code;

    pthread_mutex_lock(&run->lock);
    while (run->waiting)
        pthread_cond_wait(&run->changed, &run->lock);
    code = run->code;
    if (!code) {
        run->waiting = b;
        pthread_cond_broadcast(&run->changed);
    }
    pthread_mutex_unlock(&run->lock);
    return code;
}

/* ---- batches ---- */

int cli_align_start(struct cli_align_run *run)
{
    for (int i = 0; i < 2; i++) {
        struct cli_batch *b = &run->batches[i];
        b->pairs = calloc(BATCH_PAIRS, sizeof *b->pairs);
        b->sides = calloc(2 * (size_t)BATCH_PAIRS, sizeof *b->sides);
        b->results = calloc(BATCH_PAIRS, sizeof *b->results);
        if (!b->pairs || !b->sides || !b->results)
            return cli_fail(run->cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    }
    run->batch = &run->batches[0];
    if (!run->cli->options->score_only)
        return CLI_EXIT_OK;
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    if (pthread_create(&run->thread, NULL, write_ahead, run))
        return cli_fail(run->cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
    run->started = true;
    return CLI_EXIT_OK;
}

static void say_failed(struct cli_align_run *run, size_t i, int status, const char *message)
{
    run->n_failed++;
    cli_say(run->cli, "%s, %s: no result: %s%s%s", run->batch->sides[2 * i]->id,
            run->batch->sides[2 * i + 1]->id, bioinfer_status_name(status), *message ? ": " : "",
            message);
}

/* Counts results and says what has none. */
static void tally(struct cli_align_run *run)
{
    const struct cli_batch *b = run->batch;

    for (size_t i = 0; i < b->n; i++) {
        const struct bioinfer_record *q = b->sides[2 * i], *t = b->sides[2 * i + 1];
        const struct bioinfer_alignment *a = &b->results[i];
        if (!has_result(b, i)) {
            const struct bioinfer_record *bad = q->status ? q : t;
            say_failed(run, i, bad->status ? bad->status : a->status,
                       bad->status ? bad->message : a->message);
            continue;
        }
        if (a->sparse && !run->told_sparse && !run->cli->options->quiet) {
            run->told_sparse = true;
            cli_say(run->cli, "%s, %s: the traceback is above --memory-limit: fewer rows are kept "
                    "and computed twice", q->id, t->id);
        }
        run->n_done++;
        run->n_residues += q->length + t->length;
        run->cells += (double)q->length * (double)t->length;
    }
}

/* Aligns what is gathered, and writes it or has it written. */
static int flush(struct cli_align_run *run)
{
    struct bioinfer_error err = {0};
    struct cli_batch *b = run->batch;
    int st, code;

    if (cli_stop_signal())
        return cli_fail(run->cli, CLI_AT_RUN, BIOINFER_CANCELLED, &err);
    if ((st = bioinfer_aligner_run(run->aligner, b->pairs, b->n, b->results, &err)))
        return cli_fail(run->cli, CLI_AT_RUN, st, &err);
    tally(run);
    if (run->started) {
        code = hand_over(run, b);
        run->batch = &run->batches[b == &run->batches[0]];
    } else {
        code = write_alignments(run, b);
        empty(b);
    }
    if (!code)
        cli_progress_tick(run->cli, run->n_done, run->n_residues);
    return code;
}

int cli_align_add(struct cli_align_run *run, const struct bioinfer_record *q,
                  const struct bioinfer_record *t)
{
    struct cli_batch *b = run->batch;

    b->sides[2 * b->n] = q;
    b->sides[2 * b->n + 1] = t;
    b->pairs[b->n++] = (struct bioinfer_align_pair){q->sequence, t->sequence, q->length, t->length};
    b->residues += q->length + t->length;
    if (b->n == BATCH_PAIRS || b->residues > BATCH_RESIDUES)
        return flush(run);
    return CLI_EXIT_OK;
}

int cli_align_used(struct cli_align_run *run, struct bioinfer_records **block)
{
    struct cli_batch *b = run->batch;

    if (!*block)
        return CLI_EXIT_OK;
    if (b->n_used == b->used_cap) {
        const size_t cap = 2 * b->used_cap + 64;
        void *used = realloc(b->used, cap * sizeof *b->used);
        if (!used)
            return cli_fail(run->cli, CLI_AT_READ, BIOINFER_NOMEM, NULL);
        b->used = used;
        b->used_cap = cap;
    }
    b->used[b->n_used++] = *block;
    *block = NULL;
    return CLI_EXIT_OK;
}

int cli_align_finish(struct cli_align_run *run)
{
    int code = run->batch->n ? flush(run) : CLI_EXIT_OK;

    return !code && run->started ? hand_over(run, NULL) : code;
}

void cli_align_end(struct cli_align_run *run)
{
    if (run->started) {
        pthread_mutex_lock(&run->lock);
        run->stop = true;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
        pthread_join(run->thread, NULL);
        pthread_mutex_destroy(&run->lock);
        pthread_cond_destroy(&run->changed);
    }
    for (int i = 0; i < 2; i++) {
        struct cli_batch *b = &run->batches[i];
        empty(b);
        free(b->pairs);
        free(b->sides);
        free(b->results);
        free(b->used);
        *b = (struct cli_batch){0};
    }
    run->started = false;
}

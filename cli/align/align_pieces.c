/* align_pieces.c - the text of a batch, made in pieces by all threads. */
#include "align.h"

#include <string.h>

enum {
    LINES = 2048, /* that a piece has */
    PIECES = 64,  /* made at a time */
    SOON = 16     /* lines ahead of the one that is made */
};

/* Adds the lines of piece k to `out`. */
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
        writer.reverse = writer.both_strands && b->strands.reverse[i];
        if (cli_batch_has_result(b, i) &&
            cli_align_keeps(&writer, b->sides[2 * i], b->sides[2 * i + 1], &b->results[i]))
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

/* A failed write is said by cli_output_finish(). */
static int put_text(struct cli_align_run *run, const struct cli_output *text)
{
    if (text->status)
        return BIOINFER_NOMEM;
    cli_output_write(run->writer->out, text->text, text->n_text);
    return 0;
}

static int write_scores(struct cli_align_run *run, const struct cli_batch *b)
{
    struct cli_output text = {0};
    int st = 0;
    for (size_t k = 0; !st && k * LINES < b->n; k++) {
        text.n_text = 0;
        format_piece(run, b, k, &text);
        st = put_text(run, &text);
    }
    cli_output_start(run->writer->out);
    cli_output_close(&text);
    return st;
}

/* Pieces by all threads, in order. */
static int write_alignments(struct cli_align_run *run, const struct cli_batch *b)
{
    const size_t n_pieces = (b->n + LINES - 1) / LINES;
    const int threads = bioinfer_context_threads(run->cli->ctx);
    int st = 0;
    for (size_t from = 0; from < n_pieces && !st; from += PIECES) {
        const int n = (int)(n_pieces - from < PIECES ? n_pieces - from : PIECES);
        struct cli_output text[PIECES];
        struct formatting f = {run, b, from, text};
        memset(text, 0, sizeof text);
        cli_parallel(threads, n, format_text, &f);
        for (int k = 0; k < n; k++) {
            if (!st)
                st = put_text(run, &text[k]);
            cli_output_close(&text[k]);
        }
    }
    cli_output_start(run->writer->out);
    return st;
}

int cli_batch_write(struct cli_align_run *run, const struct cli_batch *b)
{
    return run->writer->score_only ? write_scores(run, b) : write_alignments(run, b);
}

/* align_job.c - blocks of the input, which a journal keeps.
 *
 * A block is a record of the job: its id names its pairs, a hash of them stands for its sequence,
 * and its result is the text of their alignments. Pairs without a result are named in the message
 * of their block, which is the manifest's. */
#include "align.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const double most_cells = 0x1p38; /* that a block may have: seconds of a core */

/* ---- what the pairs are ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t mix_text(uint64_t h, const char *text, size_t n)
{
    uint64_t x = 0;
    h = mix(h, n);
    for (; n >= sizeof x; n -= sizeof x, text += sizeof x) {
        memcpy(&x, text, sizeof x);
        h = mix(h, x);
    }
    x = 0;
    memcpy(&x, text, n);
    return mix(h, x);
}

uint64_t cli_align_mix_record(uint64_t h, const struct bioinfer_record *r)
{
    h = mix(h, (uint64_t)-r->status);
    h = mix_text(h, r->id, strlen(r->id));
    return r->length ? mix_text(h, r->sequence, r->length) : h;
}

/* A hash of targets that are in memory; of others the job knows the file. */
static uint64_t mix_targets(const struct cli_pairs *p)
{
    uint64_t h = mix(p->pairing, p->kept);
    for (size_t i = 0; p->kept && i < p->side[1].n; i++)
        h = cli_align_mix_record(h, &p->side[1].items[i]);
    return h;
}

/* ---- blocks of the input ---- */

/* Takes pairs of the span into the block, as many as it holds: whether it may hold more. */
static bool take_span(struct cli_align_job *j, struct cli_span *span)
{
    struct cli_block *b = &j->blocks.block;
    size_t n = 0;
    if (!span->step && j->job)
        j->hash = cli_align_mix_record(j->hash, span->query);
    while (n < span->n && b->n_pairs < j->most_pairs && b->cells < most_cells) {
        const struct bioinfer_record *q = &span->query[n * span->step], *t = &span->target[n];
        b->cells += (double)q->length * (double)t->length;
        b->residues += q->length + t->length;
        if (span->step && j->job)
            j->hash = cli_align_mix_record(cli_align_mix_record(j->hash, q), t);
        b->n_pairs++;
        n++;
    }
    span->n = n;
    return b->n_pairs < j->most_pairs && b->cells < most_cells;
}

/* The same where a block is a group of queries, whose pairs follow from its pass. */
static int read_group(struct cli_align_job *j, struct bioinfer_error *err)
{
    const struct cli_best *best = j->best;
    struct cli_block *b = &j->blocks.block;
    const int st = cli_best_read(j->best, err);
    j->best->is_read = false;
    if (st < 0)
        return j->failed = st;
    *b = (struct cli_block){.ordinal = j->n_read, .residues = best->residues};
    j->blocks.n_spans = 0;
    j->given = false;
    j->ended = !st;
    if (!st)
        return 0;
    j->n_read++;
    if (j->job && !j->digest)
        j->digest = mix_targets(j->pairs);
    j->hash = j->digest;
    for (size_t k = 0; j->job && k < best->n; k++)
        j->hash = cli_align_mix_record(j->hash, &best->queries[k]);
    snprintf(b->id, sizeof b->id, "%" PRIu64 "-%" PRIu64, best->first, best->first + best->n - 1);
    return 1;
}

/* The same where a block is a tile of a matrix. */
static int read_tile(struct cli_align_job *j, struct bioinfer_error *err)
{
    const int st = cli_square_next(j->square, &j->blocks, j->n_read, err);
    j->ended = !st;
    if (st <= 0)
        return st;
    j->hash = cli_square_hash(j->square, j->n_read++);
    return 1;
}

int cli_align_job_give(void *job, struct bioinfer_error *err)
{
    struct cli_align_job *j = job;
    const bool given = j->given;
    (void)err;
    j->given = true;
    return !given;
}

int cli_block_read(struct cli_align_job *j, struct bioinfer_error *err)
{
    const bool whole = j->pairs->pairing != CLI_IN_ORDER;
    struct cli_block *b = &j->blocks.block;
    struct cli_span span;
    bool more = true, first;
    int st;
    if (j->best)
        return read_group(j, err);
    if (j->square)
        return read_tile(j, err);
    *b = (struct cli_block){.ordinal = j->n_read, .first = b->first + b->n_pairs};
    j->blocks.n_spans = 0;
    j->hash = 0;
    while (more && (st = cli_pairs_next(j->pairs, &span, err)) > 0) {
        more = take_span(j, &span);
        cli_pairs_take(j->pairs, span.n);
        if ((st = cli_blocks_add(&j->blocks, &span, err)))
            return st;
    }
    if (more && st < 0)
        return j->failed = st;
    first = !j->n_read;
    j->n_read += b->n_pairs || first;
    j->ended = !b->n_pairs && !first;
    if (whole && j->job && !j->digest)
        j->digest = mix_targets(j->pairs);
    j->hash = mix(mix(j->digest, j->hash), b->n_pairs);
    if (b->n_pairs)
        snprintf(b->id, sizeof b->id, "%" PRIu64 "-%" PRIu64, b->first, b->first + b->n_pairs - 1);
    else
        snprintf(b->id, sizeof b->id, "none");
    return b->n_pairs || first;
}

/* ---- the job ---- */

/* A bioinfer_source: the block that was read, or the next one. */
static int next_block(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct cli_align_job *j = user;
    int st = 1;
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    if (j->ended)
        return 0;
    if (!j->read) { /* the one before is of another shard, or done */
        cli_pairs_drop(j->pairs);
        if ((st = cli_block_read(j, err)) <= 0)
            return st;
    }
    j->read = false;
    snprintf(j->text, sizeof j->text, "%016" PRIx64, j->hash);
    *record = (struct bioinfer_record){.id = j->blocks.block.id,
                                       .description = "",
                                       .message = "",
                                       .sequence = j->text,
                                       .length = strlen(j->text)};
    return 1;
}

static int next_wanted(void *user, struct bioinfer_error *err)
{
    return cli_align_job_next(user, err);
}

int cli_align_job_keep(struct cli_align_job *j, const struct bioinfer_result *piece,
                       const char *head, size_t n_head, struct bioinfer_error *err)
{
    struct bioinfer_result r = *piece, first = *piece;
    struct bioinfer_text text = {.name = "text"};
    int st = 0;
    if (!head && !j->square)
        return bioinfer_job_sink(j->job, piece, err);
    r.piece++;
    if (!piece->piece) {
        text.text = head;
        text.length = n_head;
        if (!head && !(text.text = cli_square_names(j->square, piece->ordinal, &text.length))) {
            *err = (struct bioinfer_error){.status = BIOINFER_NOMEM, .text = "names of a tile"};
            return BIOINFER_NOMEM;
        }
        first.more = first.n_texts = 1;
        first.texts = &text;
        first.status = 0;
        first.message = "";
        st = bioinfer_job_sink(j->job, &first, err);
    }
    return st ? st : bioinfer_job_sink(j->job, &r, err);
}

/* A bioinfer_sink. */
static int keep_text(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct cli_align_job *j = user;
    int st;
    pthread_mutex_lock(&j->lock);
    st = cli_align_job_keep(j, result, NULL, 0, err);
    pthread_mutex_unlock(&j->lock);
    return st;
}

int cli_align_job_open(struct cli_align_job *j, const struct cli_align_out *w, const char *options,
                       struct bioinfer_error *err)
{
    struct cli *cli = j->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_writer_params writer = cli_writer_params(cli);
    struct bioinfer_job_params params = cli_job_params(cli, "align");
    struct bioinfer_job_input inputs[2];
    int st;
    if (!o->second && !j->pairs->kept)
        inputs[params.n_inputs++] = (struct bioinfer_job_input){"target", o->input};
    if (o->second)
        inputs[params.n_inputs++] = (struct bioinfer_job_input){"target", o->second};
    if (w->matrix_file)
        inputs[params.n_inputs++] = (struct bioinfer_job_input){"matrix", w->matrix_file};
    params.input_role = "query";
    params.inputs = inputs;
    params.writer = &writer;
    params.options = options;
    params.square = j->square ? &j->square->matrix : NULL;
    params.text_head = j->square ? NULL : cli_align_title(w);
    params.text_tail = *cli_align_tail(w) ? cli_align_tail(w) : NULL;
    if ((st = bioinfer_job_open(&j->job, cli->ctx, j->square ? j->square->path : o->output, &params,
                                err)))
        return st;
    pthread_mutex_init(&j->lock, NULL);
    bioinfer_job_set_source(j->job, next_block, j);
    j->blocks.next = j->best ? cli_align_job_give : next_wanted;
    j->blocks.sink = keep_text;
    j->blocks.is_headed = cli_align_has_head(w);
    j->blocks.user = j;
    return 0;
}

int cli_align_job_next(struct cli_align_job *j, struct bioinfer_error *err)
{
    struct bioinfer_record record;
    int st = 1;
    if (!j->job)
        return cli_block_read(j, err);
    /* reading takes long: the lock is for what the job does beside it */
    if (!j->read && !j->ended) {
        if ((st = cli_block_read(j, err)) < 0)
            return st;
        j->read = st > 0;
    }
    pthread_mutex_lock(&j->lock);
    st = bioinfer_job_source(j->job, &record, err);
    pthread_mutex_unlock(&j->lock);
    return st;
}

void cli_align_job_close(struct cli_align_job *j)
{
    if (j->job)
        pthread_mutex_destroy(&j->lock);
    bioinfer_job_close(&j->job);
    cli_blocks_close(&j->blocks);
}

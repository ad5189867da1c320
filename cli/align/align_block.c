/* align_block.c - blocks of pairs: the text and the failures that they give, and blocks as bytes.
 *
 * Pairs without a result are named in the message of their block, which is the manifest's.
 *
 * As bytes a block is a struct packed, the two lists of records, queries first, then the spans. A
 * record is a struct packed_record, its id, message and sequence, each with a NUL. Numbers are as
 * they lie in memory: the bytes go to another process of this machine. */
#include "align.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const size_t piece_size = 16 << 20; /* text that is gathered before it is kept */
static const size_t failed_size = 1 << 20; /* names of pairs without a result */

int cli_blocks_add(struct cli_blocks *b, const struct cli_span *span, struct bioinfer_error *err)
{
    if (b->n_spans == b->cap_spans) {
        const size_t cap = 2 * b->cap_spans + 64;
        void *spans = realloc(b->spans, cap * sizeof *b->spans);
        if (!spans)
            return cli_align_no_memory(err, "a block of pairs");
        b->spans = spans;
        b->cap_spans = cap;
    }
    b->spans[b->n_spans++] = *span;
    return 0;
}

void cli_blocks_close(struct cli_blocks *b)
{
    cli_output_close(&b->result.failed);
    free(b->spans);
    free(b->memory);
    *b = (struct cli_blocks){0};
}

/* ---- results ---- */

void cli_blocks_add_failed(struct cli_blocks *blocks, const struct cli_batch *b)
{
    struct cli_block_result *r = &blocks->result;
    for (size_t i = 0; i < b->n; i++) {
        const struct bioinfer_record *q = b->sides[2 * i], *t = b->sides[2 * i + 1];
        const int status = q->status ? q->status : t->status ? t->status : b->results[i].status;
        if (!status)
            continue;
        r->n_failed++;
        if (!r->status || status == BIOINFER_NOMEM) /* the block is computed again then */
            r->status = status;
        if (r->failed.n_text > failed_size) {
            r->n_unnamed++;
            continue;
        }
        cli_output_printf(&r->failed, "%s%s %s %s", r->n_failed > 1 ? ", " : "", q->id, t->id,
                          bioinfer_status_name(status));
    }
}

/* Adds the text that was gathered to the texts of a result. */
static void add_text(struct bioinfer_result *r, struct bioinfer_text *texts, const char *name,
                     const struct cli_output *text)
{
    if (text && text->n_text)
        texts[r->n_texts++] = (struct bioinfer_text){name, text->text, text->n_text};
}

/* Gives a piece of the block: the text, NULL = none. The last one says how the block ended and,
 * where another process says and counts, what there is to be said and counted. */
static int put_piece(struct cli_blocks *b, const struct cli_block *block, bool more,
                     const char *message, struct cli_output *text, struct bioinfer_error *err)
{
    struct cli_block_result *of = &b->result;
    struct bioinfer_text texts[4];
    struct bioinfer_result r = {.ordinal = block->ordinal,
                                .id = block->id,
                                .length = (int64_t)block->residues,
                                .message = "",
                                .piece = of->n_pieces++,
                                .more = more,
                                .texts = texts};
    char counts[128];
    int st;
    if ((text && text->status) || (b->lost && (b->lost->status || b->note->status)))
        return cli_align_no_memory(err, "a block of pairs");
    add_text(&r, texts, "text", text);
    if (!more && of->status) {
        r.status = of->status;
        r.message = message;
    }
    if (!more && b->lost) {
        add_text(&r, texts, CLI_ALIGN_LOST, b->lost);
        add_text(&r, texts, CLI_ALIGN_NOTE, b->note);
        texts[r.n_texts++] = (struct bioinfer_text){
            CLI_COUNTS, counts,
            (size_t)snprintf(counts, sizeof counts, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %.0f",
                             of->n_done, of->n_failed, of->n_residues, of->cells)};
    }
    st = b->sink(b->user, &r, err);
    if (text)
        text->n_text = 0;
    if (!more && b->lost)
        b->lost->n_text = b->note->n_text = 0;
    return st;
}

/* The block ends: with its text, or if it has pairs without a result with a piece that says so. */
static int end_block(struct cli_blocks *b, const struct cli_block *block, struct cli_output *text,
                     struct bioinfer_error *err)
{
    struct cli_block_result *r = &b->result;
    struct cli_output message = {0};
    int st;
    if (!r->n_failed)
        return put_piece(b, block, false, "", text, err);
    cli_output_printf(&message, "%" PRIu64 " of %" PRIu64 " pairs have no result: ", r->n_failed,
                      block->n_pairs);
    cli_output_write(&message, r->failed.text, r->failed.n_text);
    if (r->n_unnamed)
        cli_output_printf(&message, ", and %" PRIu64 " more", r->n_unnamed);
    cli_output_write(&message, "", 1);
    st = message.status || r->failed.status ? cli_align_no_memory(err, "a block of pairs")
                                            : put_piece(b, block, true, "", text, err);
    if (!st)
        st = put_piece(b, block, false, message.text, NULL, err);
    cli_output_close(&message);
    return st;
}

int cli_blocks_put(struct cli_blocks *b, const struct cli_batch *batch, struct cli_output *text,
                   struct bioinfer_error *err)
{
    struct cli_block_result *r = &b->result;
    int st;
    if (!b->counted) {
        r->n_done += batch->n - batch->n_failed;
        r->n_residues += batch->n_residues;
        r->cells += batch->n_cells;
    }
    if (batch->any_failed)
        cli_blocks_add_failed(b, batch);
    if (!batch->ends_block && text->n_text < piece_size) /* also a batch without pairs */
        return 0;
    if (!batch->ends_block)
        return put_piece(b, &batch->block, true, "", text, err);
    st = end_block(b, &batch->block, text, err);
    cli_output_close(&r->failed);
    *r = (struct cli_block_result){0};
    return st;
}

/* ---- blocks as bytes ---- */

enum { QUERIES, TARGETS, SIDES };

struct packed {
    uint64_t n_pairs, residues;
    double cells;
    uint64_t n_records[SIDES], n_spans;
};

struct packed_record {
    uint64_t n_id, n_message, length;
    int64_t status;
};

struct packed_span {
    uint64_t first[SIDES], step, n; /* first: the number of a record of each side */
};

static void put_record(struct cli_output *bytes, const struct bioinfer_record *r)
{
    const char *message = r->status && r->message ? r->message : "";
    const struct packed_record head = {strlen(r->id) + 1, strlen(message) + 1, r->length,
                                       r->status};
    cli_output_write(bytes, (const char *)&head, sizeof head);
    cli_output_write(bytes, r->id, head.n_id);
    cli_output_write(bytes, message, head.n_message);
    if (r->length)
        cli_output_write(bytes, r->sequence, r->length);
    cli_output_write(bytes, "", 1);
}

/* Finds the targets that spans of one query each need, where these share them: no more records then
 * than pairs. Else false: each span has targets of its own. */
static bool find_shared(const struct cli_blocks *b, const struct bioinfer_record **first, size_t *n)
{
    const struct bioinfer_record *low = NULL, *high = NULL;
    for (size_t i = 0; i < b->n_spans; i++) {
        const struct cli_span *s = &b->spans[i];
        if (s->step || s->scattered)
            return false;
        low = !low || s->target < low ? s->target : low;
        high = !high || s->target + s->n > high ? s->target + s->n : high;
    }
    *first = low;
    *n = low ? (size_t)(high - low) : 0;
    return low && *n <= b->block.n_pairs;
}

int cli_block_pack(const struct cli_blocks *b, struct cli_output *bytes, struct bioinfer_error *err)
{
    const struct bioinfer_record *shared = NULL;
    size_t n_shared = 0;
    const bool share = find_shared(b, &shared, &n_shared);
    struct packed head = {.n_pairs = b->block.n_pairs,
                          .residues = b->block.residues,
                          .cells = b->block.cells,
                          .n_records = {0, share ? n_shared : 0},
                          .n_spans = b->n_spans};
    uint64_t at[SIDES] = {0};
    for (size_t i = 0; i < b->n_spans; i++) {
        head.n_records[QUERIES] += b->spans[i].step ? b->spans[i].n : 1;
        head.n_records[TARGETS] += share ? 0 : b->spans[i].n;
    }
    bytes->n_text = 0;
    cli_output_write(bytes, (const char *)&head, sizeof head);
    for (size_t i = 0; i < b->n_spans; i++)
        for (size_t k = 0; k < (b->spans[i].step ? b->spans[i].n : 1); k++)
            put_record(bytes, &b->spans[i].query[k]);
    for (size_t k = 0; k < n_shared && share; k++)
        put_record(bytes, &shared[k]);
    for (size_t i = 0; i < b->n_spans && !share; i++)
        for (size_t k = 0; k < b->spans[i].n; k++)
            put_record(bytes, &b->spans[i].target[k]);
    for (size_t i = 0; i < b->n_spans; i++) {
        const struct cli_span *s = &b->spans[i];
        const struct packed_span span = {
            .first = {at[QUERIES], share ? (uint64_t)(s->target - shared) : at[TARGETS]},
            .step = s->step,
            .n = s->n};
        cli_output_write(bytes, (const char *)&span, sizeof span);
        at[QUERIES] += s->step ? s->n : 1;
        at[TARGETS] += s->n;
    }
    return bytes->status ? cli_align_no_memory(err, "a block of pairs") : 0;
}

/* Reads a record, which points into the bytes, and gives the bytes after it. */
static const char *read_record(struct bioinfer_record *r, const char *at)
{
    struct packed_record head;
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    *r = (struct bioinfer_record){.id = at,
                                  .description = "",
                                  .message = at + head.n_id,
                                  .sequence = at + head.n_id + head.n_message,
                                  .length = head.length,
                                  .status = (int)head.status};
    return r->sequence + head.length + 1;
}

struct cli_block cli_block_peek(const char *bytes)
{
    struct packed head;
    memcpy(&head, bytes, sizeof head);
    return (struct cli_block){
        .n_pairs = head.n_pairs, .residues = head.residues, .cells = head.cells};
}

int cli_block_unpack(struct cli_blocks *b, const char *bytes, struct bioinfer_error *err)
{
    struct bioinfer_record *records;
    struct packed_span packed;
    struct packed head;
    const char *at = bytes + sizeof head;
    int st = 0;
    memcpy(&head, bytes, sizeof head);
    b->block = cli_block_peek(bytes);
    b->n_spans = 0;
    records = calloc(head.n_records[QUERIES] + head.n_records[TARGETS] + 1, sizeof *records);
    if (!(b->memory = records))
        return cli_align_no_memory(err, "a block of pairs");
    for (uint64_t k = 0; k < head.n_records[QUERIES] + head.n_records[TARGETS]; k++)
        at = read_record(&records[k], at);
    for (uint64_t i = 0; i < head.n_spans && !st; i++, at += sizeof packed) {
        memcpy(&packed, at, sizeof packed);
        st = cli_blocks_add(
            b,
            &(struct cli_span){.query = records + packed.first[QUERIES],
                               .target = records + head.n_records[QUERIES] + packed.first[TARGETS],
                               .step = packed.step,
                               .n = packed.n},
            err);
    }
    return st;
}

/* align_task.c - the task of alignments: costs, the aligner, and blocks that a worker computes. */
#include "align.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Opens what a worker looks through for the best targets of queries that it is sent. */
static int open_search(struct cli_aligning *t)
{
    struct cli *cli = t->cli;
    const struct cli_options *o = cli->options;
    const int k = o->second != NULL;
    struct cli_pairs *p = &t->targets;
    struct bioinfer_error err = {0};
    int st;
    *p = (struct cli_pairs){.pairing = CLI_GROUPS,
                            .targets_alone = true,
                            .reopen = cli_align_reopen,
                            .user = cli,
                            .most_kept = cli_align_db_memory(o)};
    if ((st = cli_align_reader(cli, k ? o->second : o->input, &t->reader, &err)))
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    p->reader[k] = t->reader;
    if ((st = cli_best_open(&t->best, p, &t->blocks, (uint64_t)o->top, (uint64_t)o->block_pairs)))
        return cli_fail(cli, CLI_AT_SETUP, st, NULL);
    if ((st = cli_pairs_open(p, &err)))
        return cli_fail(cli, CLI_AT_READ, st, &err);
    t->best.scores.lost = &t->lost;
    t->best.scores.note = &t->note;
    return cli_best_start(&t->best, t, p);
}

static int begin(struct cli *cli)
{
    struct cli_aligning *t = cli->task;
    t->cli = t->run.cli = cli;
    t->run.writer = &t->writer;
    return CLI_EXIT_OK;
}

static int open_task(struct cli *cli, cli_tick tick)
{
    struct cli_aligning *t = cli->task;
    const bool is_worker = !t->writer.format;
    const char *matrix;
    struct bioinfer_error err = {0};
    int st, code;
    if (is_worker && (code = cli_align_settle(t)))
        return code;
    if ((code = cli_check_device(cli)) || (code = cli_align_start(&t->run)))
        return code;
    matrix = t->params.matrix;
    st = bioinfer_align_open(&t->run.align, cli->ctx, &t->params, &err);
    if (st == BIOINFER_NOT_FOUND && matrix && !strpbrk(matrix, "./")) { /* a name, not a file's */
        cli_say(cli, "--%s", err.text);
        return CLI_EXIT_USAGE;
    }
    if (st)
        return cli_fail(cli,
                        st == BIOINFER_FORMAT || st == BIOINFER_LIMIT   ? CLI_AT_READ
                        : st == BIOINFER_NOT_FOUND || st == BIOINFER_IO ? CLI_AT_INPUT
                                                                        : CLI_AT_CONFIG,
                        st, &err);
    t->writer.align = t->run.align;
    t->writer.nucleotides = cli_align_are_nucleotides(t->run.align);
    t->run.tick = tick;
    return is_worker && cli->options->top ? open_search(t) : CLI_EXIT_OK;
}

/* The next block of a worker: 1; 0 = there is none; < 0 = a status. */
static int next_packed(void *user, struct bioinfer_error *err)
{
    struct cli_aligning *t = user;
    struct bioinfer_record record = {0};
    int st = t->work.source(t->work.source_user, &record, err);
    if (st <= 0)
        return st;
    if ((st = cli_block_unpack(&t->blocks, record.sequence, err)))
        return st;
    t->blocks.block.ordinal = record.ordinal;
    snprintf(t->blocks.block.id, sizeof t->blocks.block.id, "%s", record.id);
    return 1;
}

static int put_text(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    const struct cli_aligning *t = user;
    return t->work.sink(t->work.sink_user, result, err);
}

/* A cli_blocks.next: the block at hand, once. */
static int give_block(void *user, struct bioinfer_error *err)
{
    struct cli_aligning *t = user;
    const bool given = t->given;
    (void)err;
    t->given = true;
    return !given;
}

/* Finds and aligns the best targets of groups of queries. */
static int run_best(struct cli_aligning *t, struct bioinfer_error *err)
{
    int st;
    t->blocks.next = give_block;
    t->blocks.counted = true;
    while ((st = next_packed(t, err)) > 0) {
        t->given = false;
        if ((st = cli_best_give(&t->best, strtoull(t->blocks.block.id, NULL, 10), err)) ||
            (st = cli_best_find(&t->best, err)) || (st = cli_align_pairs(&t->run, err)))
            break;
    }
    return st;
}

/* Aligns blocks that come as bytes. A command without workers aligns pairs as it reads them, by
 * cli_align_pairs(). */
static int run_task(void *state, struct bioinfer_error *err)
{
    struct cli_aligning *t = state;
    t->blocks.next = next_packed;
    t->blocks.sink = put_text;
    t->blocks.user = t;
    t->blocks.lost = &t->lost;
    t->blocks.note = &t->note;
    t->run.blocks = &t->blocks;
    t->run.lost = &t->lost;
    t->run.note = &t->note;
    return t->cli->options->top ? run_best(t, err) : cli_align_pairs(&t->run, err);
}

/* All pairs of the block have no result. */
static int lose(void *state, const struct bioinfer_record *record,
                const struct bioinfer_result *failed, struct bioinfer_error *err)
{
    const struct cli_aligning *t = state;
    const struct cli_block block = cli_block_peek(record->sequence);
    char lost[640], counts[32];
    const struct bioinfer_text texts[] = {
        {CLI_ALIGN_LOST, lost,
         (size_t)snprintf(lost, sizeof lost, "%s %s: no result: %s: %s\n",
                          t->cli->options->top ? "queries" : "pairs", record->id,
                          bioinfer_status_name(failed->status), failed->message)},
        {CLI_COUNTS, counts,
         (size_t)snprintf(counts, sizeof counts, "0 %llu", (unsigned long long)block.n_pairs)}};
    const struct bioinfer_result r = {.ordinal = record->ordinal,
                                      .id = record->id,
                                      .length = (int64_t)block.residues,
                                      .status = failed->status,
                                      .message = failed->message,
                                      .n_texts = CLI_COUNT(texts),
                                      .texts = texts};
    return t->work.sink(t->work.sink_user, &r, err);
}

static void end(void *state)
{
    struct cli_aligning *t = state;
    cli_align_end(&t->run);
    cli_best_close(&t->best);
    bioinfer_task_close(&t->run.align);
    cli_blocks_close(&t->blocks);
    cli_pairs_close(&t->targets);
    bioinfer_reader_close(&t->reader);
    cli_output_close(&t->lost);
    cli_output_close(&t->note);
}

/* A core fills some 2^33 cells in a second. Chunks hold no more than some ten MiB of records, and
 * a block of few pairs takes its time, too. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    enum { CELLS = 1 << 16, BYTES = 16, LEAST = 1024 };
    const struct cli_block block = cli_block_peek(record->sequence);
    const uint64_t by_cells = (uint64_t)(block.cells / CELLS), by_bytes = record->length / BYTES;
    const struct cli_options *o = cli->options;
    const bool whole = (o->all_vs_all || o->one_vs_all || o->values) && !o->top;
    const uint64_t least = o->top ? CLI_FIRST_CHUNK : LEAST; /* a pass over the targets */
    return (struct cli_weight){.work = least + (by_cells > by_bytes ? by_cells : by_bytes),
                               .bytes = whole ? (uint64_t)block.cells : block.residues};
}

const struct cli_task cli_align_task = {.name = "align",
                                        .size = sizeof(struct cli_aligning),
                                        .begin = begin,
                                        .open = open_task,
                                        .run = run_task,
                                        .lose = lose,
                                        .end = end,
                                        .weigh = weigh,
                                        .no_model = true,
                                        .inside = true};

/* align_task.c - the task of alignments: costs, the aligner, and blocks that a worker computes. */
#include "align.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- costs ---- */

/* A decimal with at most 3 decimals, in thousandths. */
static bool parse_cost(const char *name, const char *text, int64_t *thousandths)
{
    char *end;
    double v = strtod(text, &end);

    if (end == text || *end || !(v >= -10000 && v <= 10000)) {
        cli_say(NULL, "--%s: '%s' is not a number from -10000 to 10000", name, text);
        return false;
    }
    *thousandths = (int64_t)(v * 1000 + (v < 0 ? -0.5 : 0.5));
    if ((double)*thousandths / 1000 - v > 1e-9 || v - (double)*thousandths / 1000 > 1e-9) {
        cli_say(NULL, "--%s: '%s' has more than three decimals", name, text);
        return false;
    }
    return true;
}

/* One cost, or with a comma between those of the two pieces of a gap: how many; 0: neither. */
static int parse_pieces(const char *name, const char *text, int64_t *one, int64_t *two)
{
    const char *comma = strchr(text, ',');
    char first[64];

    if (!comma)
        return parse_cost(name, text, one);
    snprintf(first, sizeof first, "%.*s", (int)(comma - text), text);
    return parse_cost(name, first, one) && parse_cost(name, comma + 1, two) ? 2 : 0;
}

struct costs {
    int64_t match, mismatch, open, extend; /* thousandths */
    int64_t open2, extend2;                /* the second piece's, */
    bool two;                              /* where there is one */
};

/* The smallest factor that makes all costs whole. */
static int whole_factor(const struct costs *c)
{
    const int64_t costs[] = {c->match, c->mismatch, c->open, c->extend, c->open2, c->extend2};
    int64_t common = 1000;

    for (size_t i = 0; i < CLI_COUNT(costs); i++)
        for (int64_t rest = costs[i] < 0 ? -costs[i] : costs[i]; rest;) {
            const int64_t x = common % rest;
            common = rest;
            rest = x;
        }
    return (int)(1000 / common);
}

/* Checks the costs of a gap's first residue and of every other one. */
static bool check_gaps(const struct costs *c)
{
    const double open = (double)c->open / 1000, extend = (double)c->extend / 1000;
    const double open2 = (double)c->open2 / 1000, extend2 = (double)c->extend2 / 1000;

    if (open < 0 || extend < 0)
        cli_say(NULL,
                "gap costs: the first residue costs %.10g and every other one %.10g, "
                "expected 0 or more",
                open, extend);
    else if (extend > open)
        cli_say(NULL,
                "gap costs: the first residue costs %.10g, every other one %.10g, expected "
                "at most as much: a gap would cost more than two side by side; --gap-convention w "
                "takes the sum of both costs for the first",
                open, extend);
    else if (c->two && (open2 <= open || extend2 >= extend || extend2 < 0))
        cli_say(NULL,
                "gap costs: by the second piece the first residue costs %.10g and every other one "
                "%.10g, expected more than %.10g and less than %.10g, not below 0: else one piece "
                "never counts",
                open2, extend2, open, extend);
    else
        return true;
    return false;
}

static bool read_costs(const struct cli_options *o, bool nucleotides, struct costs *c)
{
    int open = 1, extend = 1;

    *c = (struct costs){0, 0, nucleotides ? 10000 : 11000, nucleotides ? 500 : 1000, 0, 0, false};
    if ((o->gap_open && !(open = parse_pieces("gap-open", o->gap_open, &c->open, &c->open2))) ||
        (o->gap_extend &&
         !(extend = parse_pieces("gap-extend", o->gap_extend, &c->extend, &c->extend2))) ||
        (o->match && !parse_cost("match", o->match, &c->match)) ||
        (o->mismatch && !parse_cost("mismatch", o->mismatch, &c->mismatch)))
        return false;
    if (open != extend) {
        cli_say(NULL,
                "gap costs: --gap-open has %d and --gap-extend %d, expected one or two of both, as "
                "--gap-open 4,24 --gap-extend 2,1",
                open, extend);
        return false;
    }
    c->two = open == 2;
    if (o->gap_open && !o->gap_extend && c->extend > c->open && c->open >= 0)
        c->extend = c->open;
    if (o->gap_convention && !strcmp(o->gap_convention, "w"))
        c->open += c->extend;
    if (o->gap_convention && !strcmp(o->gap_convention, "w") && c->two)
        c->open2 += c->extend2;
    return check_gaps(c);
}

/* ---- options ---- */

/* Ends in a list as --free-ends takes it; 0: there is none of that name. */
static unsigned parse_ends(const char *list)
{
    static const struct {
        const char *name;
        unsigned end;
    } names[] = {{"query-begin", BIOINFER_FREE_QUERY_BEGIN},
                 {"query-end", BIOINFER_FREE_QUERY_END},
                 {"target-begin", BIOINFER_FREE_TARGET_BEGIN},
                 {"target-end", BIOINFER_FREE_TARGET_END}};
    unsigned ends = 0;

    for (const char *at = list;; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        unsigned end = 0;
        for (size_t i = 0; i < CLI_COUNT(names); i++)
            if (strlen(names[i].name) == n && !strncmp(names[i].name, at, n))
                end = names[i].end;
        if (!end) {
            cli_say(NULL,
                    "--free-ends: '%.*s' is no end: expected query-begin, query-end, "
                    "target-begin, target-end, with commas between",
                    (int)n, at);
            return 0;
        }
        ends |= end;
        at += n;
        if (!*at)
            return ends;
    }
}

/* Which ends are free, and what is not written; an exit code. */
static int settle_ends(struct cli_aligning *t)
{
    const struct cli_options *o = t->cli->options;
    const bool ends_free = o->mode && !strcmp(o->mode, "ends-free");
    char *end = "";

    if (ends_free)
        t->params.free_ends = BIOINFER_FREE_ENDS;
    if (o->local && (o->mode || o->free_ends)) {
        cli_say(NULL,
                "--local and --%s exclude each other: local alignments begin and end anywhere",
                o->mode ? "mode" : "free-ends");
        return CLI_EXIT_USAGE;
    }
    t->params.local = t->writer.local = o->local;
    if (o->free_ends && ends_free) {
        cli_say(NULL, "--free-ends names ends that --mode ends-free frees: one of them does");
        return CLI_EXIT_USAGE;
    }
    if (o->free_ends && !(t->params.free_ends = parse_ends(o->free_ends)))
        return CLI_EXIT_USAGE;
    t->writer.free_ends = t->params.free_ends;
    t->writer.has_least = o->min_score != NULL;
    if (o->min_score)
        t->writer.least = strtod(o->min_score, &end);
    if (*end || (o->min_score && (end == o->min_score || !isfinite(t->writer.least)))) {
        cli_say(NULL, "--min-score: '%s' is not a number", o->min_score);
        return CLI_EXIT_USAGE;
    }
    end = "";
    if (o->min_identity)
        t->writer.least_identity = strtod(o->min_identity, &end);
    if (*end || (o->min_identity && end == o->min_identity) ||
        !(t->writer.least_identity >= 0 && t->writer.least_identity <= 1)) {
        cli_say(NULL, "--min-identity: '%s' is not a share from 0 to 1", o->min_identity);
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

static bool is_built_in(const char *matrix)
{
    const char *name;

    for (int i = 0; (name = bioinfer_align_matrix(i)); i++)
        if (!strcasecmp(name, matrix))
            return true;
    return false;
}

bool cli_align_several(const struct cli_options *o)
{
    return o->workers || (o->device && (strchr(o->device, ',') || !strcmp(o->device, "all")));
}

int64_t cli_align_memory(const struct cli_options *o)
{
    return o->memory_limit ? o->memory_limit : 1024;
}

uint64_t cli_align_longest(const struct cli_options *o)
{
    enum { RESIDUES_PER_MIB = 50000 };
    const uint64_t limit = (uint64_t)cli_align_memory(o);

    if (o->max_length)
        return (uint64_t)o->max_length;
    return limit < UINT64_MAX / RESIDUES_PER_MIB ? limit * RESIDUES_PER_MIB : UINT64_MAX;
}

uint64_t cli_align_db_memory(const struct cli_options *o)
{
    enum { MIB = 1024 };

    return (uint64_t)(o->db_memory ? o->db_memory : MIB) << 20;
}

int cli_align_settle(struct cli_aligning *t)
{
    const struct cli_options *o = t->cli->options;
    const bool simple = o->match || o->mismatch;
    const bool any_letters = o->letters && !strcmp(o->letters, "any");
    const bool scores = o->score_only || (o->values && !strcmp(o->values, "score"));
    const bool no_cigar = o->cigar && !strcmp(o->cigar, "none");
    const char *matrix = o->matrix ? o->matrix : simple ? NULL : t->cli->told;
    struct bioinfer_align_params *p = &t->params;
    struct costs c;
    int scale;

    if (!read_costs(o, simple ? !any_letters : !strcasecmp(matrix, "EDNAFULL"), &c))
        return CLI_EXIT_USAGE;
    scale = whole_factor(&c);
    *p = (struct bioinfer_align_params){.struct_size = sizeof *p,
                                        .matrix = matrix,
                                        .gap_open = (int)(c.open * scale / 1000),
                                        .gap_extend = (int)(c.extend * scale / 1000),
                                        .gap_open2 = (int)(c.open2 * scale / 1000),
                                        .gap_extend2 = (int)(c.extend2 * scale / 1000),
                                        .free_gaps = !c.open,
                                        .scale = scale,
                                        .traceback = !scores && !o->values && !no_cigar,
                                        .identity = !scores,
                                        .any_letters = any_letters,
                                        .device = o->device,
                                        .memory_limit = (uint64_t)o->memory_limit << 20};
    if (simple) { /* these are whole in 1/scale: the matrix itself has fractions then */
        p->match = (int)(c.match * scale / 1000);
        p->mismatch = (int)(c.mismatch * scale / 1000);
        p->scale = 1;
        if (!p->match && !p->mismatch) {
            cli_say(NULL, "--match and --mismatch are both 0");
            return CLI_EXIT_USAGE;
        }
    }
    if (o->ties)
        p->ties = !strcmp(o->ties, "emboss") ? BIOINFER_TIES_EMBOSS
                  : !strcmp(o->ties, "wfa")  ? BIOINFER_TIES_WFA
                                             : BIOINFER_TIES_PARASAIL;
    t->writer = (struct cli_align_out){
        .out = &t->text,
        .format = o->format ? o->format : "tsv",
        .path = o->output && strcmp(o->output, "-") ? o->output : NULL,
        .matrix = matrix ? matrix : "match/mismatch",
        .matrix_file = matrix && !is_built_in(matrix) ? matrix : NULL,
        .scale = scale,
        .open = (double)c.open / 1000,
        .extend = (double)c.extend / 1000,
        .open2 = (double)c.open2 / 1000,
        .extend2 = (double)c.extend2 / 1000,
        .score_only = o->score_only,
        .plain = o->cigar && !strcmp(o->cigar, "plain"),
        .no_cigar = no_cigar,
        .values = o->values,
        .shorter = o->identity_of && !strcmp(o->identity_of, "shorter")};
    t->writer.local = o->local;
    t->writer.both_strands = cli_align_strands_wanted(o);
    if (!cli_align_strands_check(o, t->writer.format, matrix))
        return CLI_EXIT_USAGE;
    const int code = cli_align_stats_make(&t->writer.stats, o, &t->writer, (double)c.match / 1000,
                                          (double)c.mismatch / 1000);
    return code ? code : settle_ends(t);
}

/* ---- files ---- */

int cli_align_reader(const struct cli *cli, const char *path, bioinfer_reader **reader,
                     struct bioinfer_error *err)
{
    const int threads = bioinfer_context_threads(cli->ctx);
    const struct bioinfer_reader_params params = BIOINFER_PARAMS(
        struct bioinfer_reader_params, .residues = BIOINFER_RESIDUES_STOPS,
        .max_length = cli_align_longest(cli->options),
        .n_threads = (threads + 1) / 2); /* for each of two files */

    return bioinfer_reader_open(reader, cli->ctx, path, &params, err);
}

int cli_align_reopen(void *user, int k, bioinfer_reader **reader, struct bioinfer_error *err)
{
    const struct cli *cli = user;
    const struct cli_options *o = cli->options;
    const char *path = k ? o->second : o->input;
    struct stat st;

    if (strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode))
        return cli_align_reader(cli, path, reader, err);
    *err = (struct bioinfer_error){.status = BIOINFER_LIMIT};
    snprintf(err->text, sizeof err->text,
             "%s: its records take more than --db-memory, %" PRIu64 " MiB, and would be read again "
             "for other queries, which takes a plain file",
             strcmp(path, "-") ? path : "standard input", cli_align_db_memory(o) >> 20);
    return BIOINFER_LIMIT;
}

/* ---- the task ---- */

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
    struct cli_aligning *t = calloc(1, sizeof *t);

    if (!(cli->task = t))
        return cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
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
    int st = t->source(t->source_user, &record, err);

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

    return t->sink(t->sink_user, result, err);
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
static int run_task(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
                    void *sink_user, struct bioinfer_error *err)
{
    struct cli_aligning *t = cli->task;

    t->source = source;
    t->source_user = source_user;
    t->sink = sink;
    t->sink_user = sink_user;
    t->blocks.next = next_packed;
    t->blocks.sink = put_text;
    t->blocks.user = t;
    t->blocks.lost = &t->lost;
    t->blocks.note = &t->note;
    t->run.blocks = &t->blocks;
    t->run.lost = &t->lost;
    t->run.note = &t->note;
    return cli->options->top ? run_best(t, err) : cli_align_pairs(&t->run, err);
}

/* All pairs of the block have no result. */
static int lose(struct cli *cli, const struct bioinfer_record *record, int status,
                const char *message, bioinfer_sink sink, void *user, struct bioinfer_error *err)
{
    const struct cli_block block = cli_block_peek(record->sequence);
    char lost[640], counts[32];
    const struct bioinfer_text texts[] = {
        {CLI_ALIGN_LOST, lost,
         (size_t)snprintf(lost, sizeof lost, "%s %s: no result: %s: %s\n",
                          cli->options->top ? "queries" : "pairs", record->id,
                          bioinfer_status_name(status), message)},
        {CLI_COUNTS, counts,
         (size_t)snprintf(counts, sizeof counts, "0 %llu", (unsigned long long)block.n_pairs)}};
    const struct bioinfer_result r = {.ordinal = record->ordinal,
                                      .id = record->id,
                                      .length = (int64_t)block.residues,
                                      .status = status,
                                      .message = message,
                                      .n_texts = CLI_COUNT(texts),
                                      .texts = texts};

    return sink(user, &r, err);
}

static void end(struct cli *cli)
{
    struct cli_aligning *t = cli->task;

    if (!t)
        return;
    cli_align_end(&t->run);
    cli_best_close(&t->best);
    bioinfer_task_close(&t->run.align);
    cli_blocks_close(&t->blocks);
    cli_pairs_close(&t->targets);
    bioinfer_reader_close(&t->reader);
    cli_output_close(&t->text);
    cli_output_close(&t->lost);
    cli_output_close(&t->note);
    free(t);
    cli->task = NULL;
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

const struct cli_task cli_align_task = {.begin = begin,
                                        .open = open_task,
                                        .run = run_task,
                                        .lose = lose,
                                        .end = end,
                                        .weigh = weigh,
                                        .no_model = true,
                                        .inside = true};

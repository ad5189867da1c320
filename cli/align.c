/* align.c - `bioinfer align A [B]`: pairs of records in order, one against all, all against all.
 *
 * Pairs in order are read ahead by two threads, aligned and written a batch at a time; the other
 * pairings, and SAM, whose header names every target, read both files first. Output is in the order
 * of the pairs.
 *
 * Sections: options, sequences, batches, pairings. */
#include "cli.h"

#include <ctype.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH_PAIRS = 1 << 15,     /* pairs of one call */
    BATCH_RESIDUES = 64 << 20, /* residues of them, about */
    LOOK = 200                 /* records that decide what letters these are */
};

struct run {
    struct cli *cli;
    const char *name[2]; /* of the files, for messages */
    bioinfer_reader *reader[2];
    struct cli_feed feed[2];
    bioinfer_aligner *aligner;
    struct cli_align_out writer;
    struct cli_output out;
    struct bioinfer_align_pair *pairs;
    const struct cli_sequence **sides; /* two for each pair */
    struct bioinfer_alignment *results;
    size_t n;
    uint64_t batch_residues;
    uint64_t n_done, n_failed, n_residues;
    double cells;
    bool told_sparse;
};

/* ---- options ---- */

/* A decimal with at most 3 decimals, in thousandths. */
static bool parse_cost(const char *name, const char *text, int64_t *thousandths)
{
    char *end;
    double v = strtod(text, &end);

    if (end == text || *end || !(v > -10000 && v < 10000)) {
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

struct costs {
    int64_t match, mismatch, open, extend; /* thousandths */
};

/* The smallest factor that makes all costs whole. */
static int whole_factor(const struct costs *c)
{
    static const int factors[] = {1, 2, 4, 5, 10, 20, 25, 50, 100, 125, 200, 250, 500};

    for (size_t i = 0; i < CLI_COUNT(factors); i++)
        if (!(c->match * factors[i] % 1000) && !(c->mismatch * factors[i] % 1000) &&
            !(c->open * factors[i] % 1000) && !(c->extend * factors[i] % 1000))
            return factors[i];
    return 1000;
}

static bool only_nucleotides(const struct cli_list *list)
{
    for (size_t i = 0; i < list->n && i < LOOK; i++)
        for (size_t k = 0; k < list->items[i].n; k++)
            if (!strchr("ACGTUN", toupper((unsigned char)list->items[i].letters[k])))
                return false;
    return true;
}

static bool read_costs(const struct cli_options *o, bool nucleotides, struct costs *c)
{
    *c = (struct costs){0, 0, nucleotides ? 10000 : 11000, nucleotides ? 500 : 1000};
    if ((o->gap_open && !parse_cost("gap-open", o->gap_open, &c->open)) ||
        (o->gap_extend && !parse_cost("gap-extend", o->gap_extend, &c->extend)) ||
        (o->match && !parse_cost("match", o->match, &c->match)) ||
        (o->mismatch && !parse_cost("mismatch", o->mismatch, &c->mismatch)))
        return false;
    if (o->gap_open && !o->gap_extend && c->extend > c->open)
        c->extend = c->open;
    if (o->gap_convention && !strcmp(o->gap_convention, "w"))
        c->open += c->extend;
    if (c->open <= 0 || c->extend < 0 || c->extend > c->open) {
        cli_say(NULL, "gap costs: the first residue of a gap costs %g, every further one %g; "
                "expected more than 0, and 0 to the first", (double)c->open / 1000,
                (double)c->extend / 1000);
        return false;
    }
    return true;
}

/* Opens the aligner, now that some records of both files are known. */
static int open_aligner(struct run *run, const struct cli_list *a, const struct cli_list *b)
{
    const struct cli_options *o = run->cli->options;
    const char *matrix = o->matrix;
    struct bioinfer_error err = {0};
    bool simple = o->match || o->mismatch, nucleotides = simple;
    struct costs c;
    int scale, st;

    if (!matrix && !simple)
        matrix = only_nucleotides(a) && only_nucleotides(b) ? "EDNAFULL" : "BLOSUM62";
    nucleotides = simple || !strcmp(matrix, "EDNAFULL");
    if (!read_costs(o, nucleotides, &c))
        return CLI_EXIT_USAGE;
    scale = whole_factor(&c);
    struct bioinfer_align_params p = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = matrix, .gap_open = (int)(c.open * scale / 1000),
        .gap_extend = (int)(c.extend * scale / 1000), .scale = scale,
        .traceback = !o->score_only, .device = o->device,
        .memory_limit = (uint64_t)o->memory_limit << 20);
    if (simple) { /* these are whole in 1/scale: the matrix itself has fractions then */
        p.match = (int)(c.match * scale / 1000);
        p.mismatch = (int)(c.mismatch * scale / 1000);
        p.scale = 1;
        if (!p.match && !p.mismatch) {
            cli_say(NULL, "--match and --mismatch are both 0");
            return CLI_EXIT_USAGE;
        }
    }
    if (o->mode && !strcmp(o->mode, "ends-free"))
        p.free_ends = BIOINFER_FREE_ENDS;
    if (o->ties)
        p.ties = !strcmp(o->ties, "emboss") ? BIOINFER_TIES_EMBOSS
                 : !strcmp(o->ties, "wfa")  ? BIOINFER_TIES_WFA
                                            : BIOINFER_TIES_PARASAIL;
    if ((st = bioinfer_aligner_new(&run->aligner, run->cli->ctx, &p, &err)))
        return cli_fail(run->cli,
                        st == BIOINFER_FORMAT || st == BIOINFER_LIMIT ? CLI_AT_READ
                        : st == BIOINFER_NOT_FOUND || st == BIOINFER_IO ? CLI_AT_INPUT
                                                                        : CLI_AT_CONFIG,
                        st, &err);
    run->writer = (struct cli_align_out){
        .out = &run->out, .aligner = run->aligner, .format = o->format ? o->format : "tsv",
        .matrix = matrix ? matrix : "match/mismatch", .scale = scale,
        .open = (double)c.open / 1000, .extend = (double)c.extend / 1000,
        .score_only = o->score_only, .plain = o->cigar && !strcmp(o->cigar, "plain"),
        .free_ends = p.free_ends};
    return CLI_EXIT_OK;
}

/* ---- sequences ---- */

/* All records of a file. */
static int read_all(struct run *run, int side, struct cli_list **list)
{
    if (!(*list = cli_list_read(run->reader[side], SIZE_MAX, UINT64_MAX, NULL)))
        return cli_fail(run->cli, CLI_AT_READ, BIOINFER_NOMEM, NULL);
    if ((*list)->status)
        return cli_fail(run->cli, CLI_AT_READ, (*list)->status, &(*list)->err);
    return CLI_EXIT_OK;
}

static int open_input(struct run *run, int side, const char *path)
{
    struct bioinfer_reader_params params = BIOINFER_PARAMS(
        struct bioinfer_reader_params, .residues = BIOINFER_RESIDUES_DEFAULT);
    struct bioinfer_error err = {0};
    int st = bioinfer_reader_open(&run->reader[side], run->cli->ctx, path, &params, &err);

    run->name[side] = strcmp(path, "-") ? path : "standard input";
    return st ? cli_fail(run->cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* ---- batches ---- */

static void say_failed(struct run *run, size_t i, int status, const char *message)
{
    run->n_failed++;
    cli_say(run->cli, "%s, %s: no result: %s%s%s", run->sides[2 * i]->id,
            run->sides[2 * i + 1]->id, bioinfer_status_name(status), *message ? ": " : "",
            message);
}

static bool has_result(const struct run *run, size_t i)
{
    return !run->sides[2 * i]->status && !run->sides[2 * i + 1]->status &&
           !run->results[i].status;
}

/* Lines of pairs [first, last) in memory, of *size bytes; NULL: no memory. */
static char *format_piece(const struct run *run, size_t first, size_t last, size_t *size)
{
    struct cli_align_out writer = run->writer;
    struct cli_output out = {0};
    char *text = NULL;

    if (!(out.file = open_memstream(&text, size)))
        return NULL;
    writer.out = &out;
    for (size_t i = first; i < last; i++)
        if (has_result(run, i))
            cli_align_put(&writer, run->sides[2 * i], run->sides[2 * i + 1], &run->results[i]);
    if (fclose(out.file) || out.status) {
        free(text);
        return NULL;
    }
    return text;
}

/* Formats pieces of the batch on all threads and writes them in order. */
static int write_batch(struct run *run)
{
    enum { LINES = 2048, PIECES = 64 }; /* of a piece; at a time */
    const size_t n_pieces = (run->n + LINES - 1) / LINES;
    const int threads = run->cli->options->threads > 0 ? (int)run->cli->options->threads
                                                       : omp_get_max_threads();
    int code = CLI_EXIT_OK;

    for (size_t from = 0; from < n_pieces && !code; from += PIECES) {
        const int n = (int)(n_pieces - from < PIECES ? n_pieces - from : PIECES);
        char *text[PIECES];
        size_t size[PIECES];
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (n > 1)
        for (int k = 0; k < n; k++) {
            const size_t first = (from + (size_t)k) * LINES;
            text[k] = format_piece(run, first, first + LINES < run->n ? first + LINES : run->n,
                                   &size[k]);
        }
        for (int k = 0; k < n; k++) {
            if (!text[k] && !code)
                code = cli_fail(run->cli, CLI_AT_WRITE, BIOINFER_NOMEM, NULL);
            else if (!code)
                cli_output_write(&run->out, text[k], size[k]);
            free(text[k]);
        }
    }
    return code;
}

/* Aligns and writes what is gathered. */
static int flush_batch(struct run *run)
{
    struct bioinfer_error err = {0};
    int st, code;

    if (cli_stop_signal())
        return cli_fail(run->cli, CLI_AT_RUN, BIOINFER_CANCELLED, &err);
    if ((st = bioinfer_aligner_run(run->aligner, run->pairs, run->n, run->results, &err)))
        return cli_fail(run->cli, CLI_AT_RUN, st, &err);
    for (size_t i = 0; i < run->n; i++) {
        const struct cli_sequence *q = run->sides[2 * i], *t = run->sides[2 * i + 1];
        const struct bioinfer_alignment *a = &run->results[i];
        if (!has_result(run, i)) {
            const struct cli_sequence *bad = q->status ? q : t;
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
        run->n_residues += q->n + t->n;
        run->cells += (double)q->n * (double)t->n;
    }
    code = write_batch(run);
    run->n = 0;
    run->batch_residues = 0;
    if (code || run->out.status)
        return code; /* a failed write is said by finish */
    cli_progress_tick(run->cli, run->n_done, run->n_residues);
    return CLI_EXIT_OK;
}

static int add_pair(struct run *run, const struct cli_sequence *q, const struct cli_sequence *t)
{
    run->sides[2 * run->n] = q;
    run->sides[2 * run->n + 1] = t;
    run->pairs[run->n++] = (struct bioinfer_align_pair){q->letters, t->letters,
                                                        q->letters ? q->n : 0,
                                                        t->letters ? t->n : 0};
    run->batch_residues += q->n + t->n;
    if (run->n == BATCH_PAIRS || run->batch_residues > BATCH_RESIDUES)
        return flush_batch(run);
    return CLI_EXIT_OK;
}

/* ---- pairings ---- */

static int no_records(struct run *run, int side)
{
    cli_say(run->cli, "%s: no records", run->name[side]);
    return CLI_EXIT_DATA;
}

/* What is left of one file's list, or its next one; *n: how many. */
static int next_records(struct run *run, int side, struct cli_list **list, size_t *at, size_t *n)
{
    bool failed = false;

    while (!*list || *at == (*list)->n) {
        if (*list && (*list)->end)
            break;
        if (run->n) { /* its pairs point into the list */
            const int code = flush_batch(run);
            if (code)
                return code;
        }
        cli_list_free(list);
        *at = 0;
        *list = cli_feed_next(&run->feed[side], &failed);
        if (!*list)
            break;
        if ((*list)->status)
            return cli_fail(run->cli, CLI_AT_READ, (*list)->status, &(*list)->err);
    }
    *n = *list ? (*list)->n - *at : 0;
    return failed ? cli_fail(run->cli, CLI_AT_READ, BIOINFER_NOMEM, NULL) : CLI_EXIT_OK;
}

/* Both files side by side, in lists of `most` records. */
static int in_order(struct run *run, size_t most)
{
    const uint64_t residues = most == SIZE_MAX ? UINT64_MAX : BATCH_RESIDUES / 2;
    struct cli_list *list[2] = {NULL, NULL};
    size_t at[2] = {0, 0}, n[2];
    uint64_t seen = 0;
    int code = CLI_EXIT_OK;

    for (int side = 0; side < 2; side++)
        if (!cli_feed_open(&run->feed[side], run->reader[side], most, residues))
            return cli_fail(run->cli, CLI_AT_READ, BIOINFER_NOMEM, NULL);
    for (;;) {
        if ((code = next_records(run, 0, &list[0], &at[0], &n[0])) ||
            (code = next_records(run, 1, &list[1], &at[1], &n[1])))
            break;
        if (!n[0] || !n[1])
            break;
        const size_t both = n[0] < n[1] ? n[0] : n[1];
        if (!seen) {
            if ((code = open_aligner(run, list[0], list[1])))
                break;
            cli_align_head(&run->writer, list[1]->items, both);
        }
        for (size_t i = 0; !code && i < both; i++)
            code = add_pair(run, &list[0]->items[at[0]++], &list[1]->items[at[1]++]);
        seen += both;
        if (code)
            break;
    }
    if (!code && run->n)
        code = flush_batch(run);
    if (!code && !seen) {
        code = no_records(run, n[0] ? 1 : 0);
    } else if (!code && n[0] != n[1]) {
        cli_say(run->cli, "%s has more records than %s, which ends after %llu: pairs are taken in "
                "order; --all-vs-all and --one-vs-all pair otherwise",
                run->name[n[0] > n[1] ? 0 : 1], run->name[n[0] > n[1] ? 1 : 0],
                (unsigned long long)seen);
        code = CLI_EXIT_DATA;
    }
    cli_list_free(&list[0]);
    cli_list_free(&list[1]);
    return code;
}

/* Every record of A with every one of B; B absent: each pair in A once. */
static int all_pairs(struct run *run, bool one)
{
    struct cli_list *a = NULL, *b = NULL;
    const struct cli_list *targets;
    int code = read_all(run, 0, &a);

    if (!code && run->reader[1])
        code = read_all(run, 1, &b);
    targets = run->reader[1] ? b : a;
    if (!code && (!a->n || !targets->n))
        code = no_records(run, a->n ? 1 : 0);
    if (!code && one && a->n != 1) {
        cli_say(run->cli, "%s: %zu records, --one-vs-all takes one", run->name[0], a->n);
        code = CLI_EXIT_DATA;
    }
    if (!code && !(code = open_aligner(run, a, targets)))
        cli_align_head(&run->writer, targets->items, targets->n);
    for (size_t i = 0; !code && i < a->n; i++)
        for (size_t j = run->reader[1] ? 0 : i + 1; !code && j < targets->n; j++)
            code = add_pair(run, &a->items[i], &targets->items[j]);
    if (!code && run->n)
        code = flush_batch(run);
    cli_list_free(&a);
    cli_list_free(&b);
    return code;
}

static bool check_options(const struct cli_options *o)
{
    static const char *const formats[] = {"tsv", "paf", "sam", "needle"};
    bool known = !o->format;

    for (size_t i = 0; !known && i < CLI_COUNT(formats); i++)
        known = !strcmp(o->format, formats[i]);
    if (!known)
        cli_say(NULL, "--format: '%s' is not one of tsv, paf, sam, needle", o->format);
    else if (o->score_only && o->format && strcmp(o->format, "tsv"))
        cli_say(NULL, "--score-only has no alignment to write as %s: use tsv", o->format);
    else if (o->all_vs_all && o->one_vs_all)
        cli_say(NULL, "--all-vs-all and --one-vs-all exclude each other");
    else if (!o->second && !o->all_vs_all)
        cli_say(NULL, "something is missing: a second file, or --all-vs-all");
    else if (o->matrix && (o->match || o->mismatch))
        cli_say(NULL, "--matrix and --match or --mismatch exclude each other");
    else if ((o->match == NULL) != (o->mismatch == NULL))
        cli_say(NULL, "--match and --mismatch come together");
    else if (o->second && !strcmp(o->second, "-") && !strcmp(o->input, "-"))
        cli_say(NULL, "only one of the files can be standard input");
    else
        return true;
    return false;
}

static void say_summary(const struct run *run)
{
    const double seconds = cli_now() - run->cli->progress.start;

    if (!run->cli->options->quiet)
        cli_say(run->cli, "%llu alignments, %llu residues, matrix %s, gaps %g/%g in %.2f s (%.2f "
                "billion cells/s)", (unsigned long long)run->n_done,
                (unsigned long long)run->n_residues, run->writer.matrix, run->writer.open,
                run->writer.extend, seconds, 1e-9 * run->cells / (seconds > 0 ? seconds : 1));
}

int cli_align(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    struct bioinfer_error err = {0};
    int st, code;

    if (!check_options(o))
        return CLI_EXIT_USAGE;
    run.pairs = calloc(BATCH_PAIRS, sizeof *run.pairs);
    run.sides = calloc(2 * (size_t)BATCH_PAIRS, sizeof *run.sides);
    run.results = calloc(BATCH_PAIRS, sizeof *run.results);
    if (!run.pairs || !run.sides || !run.results) {
        code = cli_fail(cli, CLI_AT_SETUP, BIOINFER_NOMEM, NULL);
        goto out;
    }
    if ((code = cli_open_context(cli)) || (code = cli_check_device(cli)) ||
        (code = open_input(&run, 0, o->input)) ||
        (o->second && (code = open_input(&run, 1, o->second))))
        goto out;
    if ((st = cli_output_open(&run.out, o->output, &err))) {
        code = cli_fail(cli, CLI_AT_CREATE, st, &err);
        goto out;
    }
    cli_progress_start(cli);
    if (o->all_vs_all || o->one_vs_all)
        code = all_pairs(&run, o->one_vs_all);
    else
        code = in_order(&run, o->format && !strcmp(o->format, "sam") ? SIZE_MAX : BATCH_PAIRS);
    cli_progress_end(cli);
    if (!code && (st = cli_output_finish(&run.out, &err)))
        code = cli_fail(cli, CLI_AT_WRITE, st, &err);
    if (!code)
        say_summary(&run);
    if (!code && run.n_failed) {
        cli_say(cli, "%llu of %llu pairs have no result", (unsigned long long)run.n_failed,
                (unsigned long long)(run.n_done + run.n_failed));
        code = CLI_EXIT_RECORDS;
    }
out:
    cli_feed_close(&run.feed[0]);
    cli_feed_close(&run.feed[1]);
    cli_output_close(&run.out);
    bioinfer_aligner_free(&run.aligner);
    bioinfer_reader_close(&run.reader[0]);
    bioinfer_reader_close(&run.reader[1]);
    free(run.pairs);
    free(run.sides);
    free(run.results);
    return code;
}

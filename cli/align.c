/* align.c - `bioinfer align A [B]`: pairs of records in order, one against all, all against all.
 *
 * Pairs in order are read ahead by threads, aligned and written a batch at a time; the other
 * pairings, and SAM, whose header names every target, read both files first. Output is in the order
 * of the pairs.
 *
 * Sections: options, sequences, pairings. */
#include "cli.h"

#include <ctype.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK = 200 }; /* records that decide what letters these are */

struct run {
    struct cli *cli;
    const char *name[2]; /* of the files, for messages */
    bioinfer_reader *reader[2];
    struct cli_feed feed[2];
    struct cli_align_run align;
    struct cli_align_out writer;
    struct cli_output out;
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

/* Records of one file. */
struct side {
    const struct bioinfer_record *items;
    size_t n, at;
    struct bioinfer_records *block; /* theirs, or NULL */
};

static bool only_nucleotides(const struct side *side)
{
    for (size_t i = 0; i < side->n && i < LOOK; i++)
        for (size_t k = 0; k < side->items[i].length; k++)
            if (!strchr("ACGTUN", toupper((unsigned char)side->items[i].sequence[k])))
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
static int open_aligner(struct run *run, const struct side *a, const struct side *b)
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
    if ((st = bioinfer_aligner_new(&run->align.aligner, run->cli->ctx, &p, &err)))
        return cli_fail(run->cli,
                        st == BIOINFER_FORMAT || st == BIOINFER_LIMIT ? CLI_AT_READ
                        : st == BIOINFER_NOT_FOUND || st == BIOINFER_IO ? CLI_AT_INPUT
                                                                        : CLI_AT_CONFIG,
                        st, &err);
    run->writer = (struct cli_align_out){
        .out = &run->out, .aligner = run->align.aligner, .format = o->format ? o->format : "tsv",
        .matrix = matrix ? matrix : "match/mismatch", .scale = scale,
        .open = (double)c.open / 1000, .extend = (double)c.extend / 1000,
        .score_only = o->score_only, .plain = o->cigar && !strcmp(o->cigar, "plain"),
        .free_ends = p.free_ends};
    return CLI_EXIT_OK;
}

/* ---- sequences ---- */

/* All records of a file. */
static int read_all(struct run *run, int k, struct cli_whole *whole, struct side *side)
{
    struct bioinfer_error err = {0};
    int st = cli_whole_read(whole, run->reader[k], &err);

    *side = (struct side){.items = whole->items, .n = whole->n};
    return st ? cli_fail(run->cli, CLI_AT_READ, st, &err) : CLI_EXIT_OK;
}

static int open_input(struct run *run, int k, const char *path)
{
    const struct cli_options *o = run->cli->options;
    const int threads = o->threads > 0 ? (int)o->threads : omp_get_max_threads();
    struct bioinfer_reader_params params =
        BIOINFER_PARAMS(struct bioinfer_reader_params, .residues = BIOINFER_RESIDUES_DEFAULT,
                        .n_threads = (threads + 1) / 2); /* for each of two files */
    struct bioinfer_error err = {0};
    int st = bioinfer_reader_open(&run->reader[k], run->cli->ctx, path, &params, &err);

    run->name[k] = strcmp(path, "-") ? path : "standard input";
    return st ? cli_fail(run->cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* ---- pairings ---- */

static int no_records(struct run *run, int side)
{
    cli_say(run->cli, "%s: no records", run->name[side]);
    return CLI_EXIT_DATA;
}

/* Records of a file where there are none left; n stays 0 behind the last one. */
static int next_records(struct run *run, int k, struct side *side)
{
    struct bioinfer_error err = {0};
    int st, code;

    if (side->at < side->n || !run->feed[k].open) /* all were read at once */
        return CLI_EXIT_OK;
    if ((code = cli_align_used(&run->align, &side->block)))
        return code;
    *side = (struct side){0};
    if ((st = cli_feed_next(&run->feed[k], &side->block, &err)) < 0)
        return cli_fail(run->cli, CLI_AT_READ, st, &err);
    if (st) {
        side->items = side->block->records;
        side->n = side->block->n_records;
    }
    return CLI_EXIT_OK;
}

/* Both files side by side; `whole`: read to their ends first. */
static int in_order(struct run *run, bool whole)
{
    struct cli_whole all[2] = {{0}};
    struct side side[2] = {{0}};
    uint64_t seen = 0;
    int code = CLI_EXIT_OK;

    for (int k = 0; k < 2 && !code; k++)
        if (whole)
            code = read_all(run, k, &all[k], &side[k]);
        else if (!cli_feed_open(&run->feed[k], run->reader[k]))
            code = cli_fail(run->cli, CLI_AT_READ, BIOINFER_NOMEM, NULL);
    while (!code && !(code = next_records(run, 0, &side[0])) &&
           !(code = next_records(run, 1, &side[1])) && side[0].at < side[0].n &&
           side[1].at < side[1].n) {
        const size_t left[2] = {side[0].n - side[0].at, side[1].n - side[1].at};
        const size_t both = left[0] < left[1] ? left[0] : left[1];
        if (!seen) {
            if ((code = open_aligner(run, &side[0], &side[1])))
                break;
            cli_align_head(&run->writer, side[1].items, both);
        }
        for (size_t i = 0; !code && i < both; i++)
            code = cli_align_add(&run->align, &side[0].items[side[0].at++],
                                 &side[1].items[side[1].at++]);
        seen += both;
    }
    if (!code)
        code = cli_align_finish(&run->align);
    const bool more[2] = {side[0].at < side[0].n, side[1].at < side[1].n};
    if (!code && !seen) {
        code = no_records(run, more[0] ? 1 : 0);
    } else if (!code && more[0] != more[1]) {
        cli_say(run->cli, "%s has more records than %s, which ends after %llu: pairs are taken in "
                "order; --all-vs-all and --one-vs-all pair otherwise",
                run->name[more[0] ? 0 : 1], run->name[more[0] ? 1 : 0],
                (unsigned long long)seen);
        code = CLI_EXIT_DATA;
    }
    cli_align_end(&run->align);
    for (int k = 0; k < 2; k++) {
        bioinfer_records_free(&side[k].block);
        cli_whole_free(&all[k]);
    }
    return code;
}

/* Every record of A with every one of B; B absent: each pair in A once. */
static int all_pairs(struct run *run, bool one)
{
    struct cli_whole all[2] = {{0}};
    struct side side[2] = {{0}};
    const struct side *a = &side[0], *targets = run->reader[1] ? &side[1] : a;
    int code = read_all(run, 0, &all[0], &side[0]);

    if (!code && run->reader[1])
        code = read_all(run, 1, &all[1], &side[1]);
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
            code = cli_align_add(&run->align, &a->items[i], &targets->items[j]);
    if (!code)
        code = cli_align_finish(&run->align);
    cli_align_end(&run->align);
    cli_whole_free(&all[0]);
    cli_whole_free(&all[1]);
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
                "billion cells/s)", (unsigned long long)run->align.n_done,
                (unsigned long long)run->align.n_residues, run->writer.matrix, run->writer.open,
                run->writer.extend, seconds, 1e-9 * run->align.cells / (seconds > 0 ? seconds : 1));
}

int cli_align(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    struct bioinfer_error err = {0};
    int st, code;

    if (!check_options(o))
        return CLI_EXIT_USAGE;
    run.align.cli = cli;
    run.align.writer = &run.writer;
    if ((code = cli_align_start(&run.align)) || (code = cli_open_context(cli)) || (code = cli_check_device(cli)) ||
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
        code = in_order(&run, o->format && !strcmp(o->format, "sam"));
    cli_progress_end(cli);
    if (!code && (st = cli_output_finish(&run.out, &err)))
        code = cli_fail(cli, CLI_AT_WRITE, st, &err);
    if (!code)
        say_summary(&run);
    if (!code && run.align.n_failed) {
        cli_say(cli, "%llu of %llu pairs have no result", (unsigned long long)run.align.n_failed,
                (unsigned long long)(run.align.n_done + run.align.n_failed));
        code = CLI_EXIT_RECORDS;
    }
out:
    cli_align_end(&run.align); /* before readers and output, which it uses */
    cli_feed_close(&run.feed[0]);
    cli_feed_close(&run.feed[1]);
    cli_output_close(&run.out);
    bioinfer_aligner_free(&run.align.aligner);
    bioinfer_reader_close(&run.reader[0]);
    bioinfer_reader_close(&run.reader[1]);
    return code;
}

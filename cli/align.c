/* align.c - `bioinfer align A [B]`: pairs of records in order, one against all, all against all.
 *
 * Pairs in order are read ahead by threads, aligned and written a batch at a time; the other
 * pairings, and SAM, whose header names every target, read both files first. Output is in the order
 * of the pairs.
 *
 * Sections: costs, letters, options, sequences, pairings. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LOOK = 200, /* records of each file that decide what letters these are; */
    FEW = 40    /* so few letters, of all of them, may be of either kind */
};

struct run {
    struct cli *cli;
    const char *name[2]; /* of the files, for messages */
    const char *format;  /* "tsv", "paf", "sam", "needle" */
    bioinfer_reader *reader[2];
    struct cli_feed feed[2];
    struct cli_align_run align;
    struct cli_align_out writer;
    struct cli_output out;
};

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

struct costs {
    int64_t match, mismatch, open, extend; /* thousandths */
};

/* The smallest factor that makes all costs whole. */
static int whole_factor(const struct costs *c)
{
    const int64_t costs[] = {c->match, c->mismatch, c->open, c->extend};
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
    else
        return true;
    return false;
}

static bool read_costs(const struct cli_options *o, bool nucleotides, struct costs *c)
{
    *c = (struct costs){0, 0, nucleotides ? 10000 : 11000, nucleotides ? 500 : 1000};
    if ((o->gap_open && !parse_cost("gap-open", o->gap_open, &c->open)) ||
        (o->gap_extend && !parse_cost("gap-extend", o->gap_extend, &c->extend)) ||
        (o->match && !parse_cost("match", o->match, &c->match)) ||
        (o->mismatch && !parse_cost("mismatch", o->mismatch, &c->mismatch)))
        return false;
    if (o->gap_open && !o->gap_extend && c->extend > c->open && c->open >= 0)
        c->extend = c->open;
    if (o->gap_convention && !strcmp(o->gap_convention, "w"))
        c->open += c->extend;
    return check_gaps(c);
}

/* ---- letters ---- */

/* Records of one file. */
struct side {
    const struct bioinfer_record *items;
    size_t n, at;
    struct bioinfer_records *block; /* theirs, or NULL */
};

/* Letters of the first records of a file, counted. */
struct letters {
    size_t n, plain; /* all; A, C, G, T, U and N */
    char other;      /* the first one that stands for no nucleotides, or 0 */
    const char *id;  /* whose it is */
};

static struct letters count_letters(const struct side *side)
{
    enum { OTHER, CODE, PLAIN, KINDS };
    static const char codes[] = "RYSWKMBDHVryswkmbdhv", plain[] = "ACGTUNacgtun";
    unsigned char kind[256] = {OTHER};
    struct letters l = {0};

    for (const char *c = codes; *c; c++)
        kind[(int)*c] = CODE;
    for (const char *c = plain; *c; c++)
        kind[(int)*c] = PLAIN;
    for (size_t i = 0; i < side->n && i < LOOK; i++) {
        const struct bioinfer_record *r = &side->items[i];
        size_t of[KINDS] = {0};
        for (size_t k = 0; k < r->length; k++)
            of[kind[(unsigned char)r->sequence[k]]]++;
        l.n += r->length;
        l.plain += of[PLAIN];
        for (size_t k = 0; of[OTHER] && !l.other && k < r->length; k++)
            if (kind[(unsigned char)r->sequence[k]] == OTHER) {
                l.other = r->sequence[k];
                l.id = r->id;
            }
    }
    return l;
}

/* Nine in ten letters are A, C, G, T, U or N: of a protein a quarter is. */
static bool mostly_plain(const struct letters *l)
{
    return l->plain >= l->n - l->n / 10;
}

/* Whether these are nucleotides: mostly the letters of these, the rest codes of several. What the
 * guess is gets said, and to those who want to hear nothing where it may be wrong. */
static bool guess_nucleotides(const struct run *run, const struct side *a, const struct side *b)
{
    const struct letters l[2] = {count_letters(a), count_letters(b)};
    const struct letters *odd = l[0].other ? &l[0] : &l[1];
    const struct letters all = {.n = l[0].n + l[1].n, .plain = l[0].plain + l[1].plain};
    const bool looks = (l[0].n >= FEW && mostly_plain(&l[0])) ||
                       (l[1].n >= FEW && mostly_plain(&l[1]));

    if (odd->other && looks)
        cli_say(run->cli,
                "warning: %zu of %zu letters are A, C, G, T, U or N, but record %s has "
                "'%c', which is no nucleotide: matrix BLOSUM62; for nucleotides say --matrix "
                "EDNAFULL",
                all.plain, all.n, odd->id, odd->other);
    else if (!odd->other && !mostly_plain(&all))
        cli_say(run->cli,
                "warning: all letters are codes of nucleotides, but only %zu of %zu are "
                "A, C, G, T, U or N: matrix BLOSUM62; for nucleotides say --matrix "
                "EDNAFULL",
                all.plain, all.n);
    else if (!odd->other && all.plain < all.n - all.n / 100)
        cli_say(run->cli,
                "warning: %zu of %zu letters are A, C, G, T, U or N, the others codes of "
                "nucleotides: matrix EDNAFULL; for proteins say --matrix "
                "BLOSUM62",
                all.plain, all.n);
    else if (!odd->other && all.n < FEW)
        cli_say(run->cli,
                "warning: %zu letters look like nucleotides, but are few to tell by: "
                "matrix EDNAFULL; for proteins say --matrix BLOSUM62",
                all.n);
    else if (!run->cli->options->quiet)
        cli_say(run->cli, "the letters are those of %s; --matrix says otherwise",
                odd->other ? "proteins: matrix BLOSUM62" : "nucleotides: matrix EDNAFULL");
    return !odd->other && mostly_plain(&all);
}

/* ---- options ---- */

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
        matrix = guess_nucleotides(run, a, b) ? "EDNAFULL" : "BLOSUM62";
    nucleotides = simple || !strcasecmp(matrix, "EDNAFULL");
    if (!read_costs(o, nucleotides, &c))
        return CLI_EXIT_USAGE;
    scale = whole_factor(&c);
    struct bioinfer_align_params p = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = matrix, .gap_open = (int)(c.open * scale / 1000),
        .gap_extend = (int)(c.extend * scale / 1000), .free_gaps = !c.open, .scale = scale,
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
    st = bioinfer_aligner_new(&run->align.aligner, run->cli->ctx, &p, &err);
    if (st == BIOINFER_NOT_FOUND && matrix && !strpbrk(matrix, "./")) { /* a name, not a file's */
        cli_say(run->cli, "--%s", err.text);
        return CLI_EXIT_USAGE;
    }
    if (st)
        return cli_fail(run->cli,
                        st == BIOINFER_FORMAT || st == BIOINFER_LIMIT   ? CLI_AT_READ
                        : st == BIOINFER_NOT_FOUND || st == BIOINFER_IO ? CLI_AT_INPUT
                                                                        : CLI_AT_CONFIG,
                        st, &err);
    run->writer = (struct cli_align_out){.out = &run->out,
                                         .aligner = run->align.aligner,
                                         .format = run->format,
                                         .matrix = matrix ? matrix : "match/mismatch",
                                         .scale = scale,
                                         .open = (double)c.open / 1000,
                                         .extend = (double)c.extend / 1000,
                                         .score_only = o->score_only,
                                         .plain = o->cigar && !strcmp(o->cigar, "plain"),
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

/* Gives the residues that a record may have: a record of a small compressed file may be of any
 * length, and it is in memory three times while its pair is aligned. */
static uint64_t longest_record(const struct cli_options *o)
{
    enum { MEMORY_LIMIT = 1024, RESIDUES_PER_MIB = 50000 };
    const uint64_t limit = o->memory_limit ? (uint64_t)o->memory_limit : MEMORY_LIMIT;

    if (o->max_length)
        return (uint64_t)o->max_length;
    return limit < UINT64_MAX / RESIDUES_PER_MIB ? limit * RESIDUES_PER_MIB : UINT64_MAX;
}

static int open_input(struct run *run, int k, const char *path)
{
    const int threads = bioinfer_context_threads(run->cli->ctx);
    struct bioinfer_reader_params params = BIOINFER_PARAMS(
        struct bioinfer_reader_params, .residues = BIOINFER_RESIDUES_STOPS,
        .max_length = longest_record(run->cli->options),
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
            if ((whole && (code = cli_align_check_sam(run->cli, side[0].items, both, side[1].items,
                                                      both))) ||
                (code = open_aligner(run, &side[0], &side[1])))
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
        cli_say(run->cli,
                "%s has more records than %s, which ends after %llu: pairs are taken in "
                "order; --all-vs-all and --one-vs-all pair otherwise",
                run->name[more[0] ? 0 : 1], run->name[more[0] ? 1 : 0], (unsigned long long)seen);
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
    if (!code && !strcmp(run->format, "sam"))
        code = cli_align_check_sam(run->cli, a->items, a->n, targets->items, targets->n);
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

static bool check_options(const struct cli_options *o, const char *format)
{
    if (o->score_only && strcmp(format, "tsv"))
        cli_say(NULL, "--score-only has no alignment to write as %s: use tsv", format);
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
        cli_say(run->cli,
                "%llu alignments, %llu residues, matrix %s, gaps %.10g/%.10g in %.2f s "
                "(%.2f billion cells/s)",
                (unsigned long long)run->align.n_done, (unsigned long long)run->align.n_residues,
                run->writer.matrix, run->writer.open, run->writer.extend, seconds,
                1e-9 * run->align.cells / (seconds > 0 ? seconds : 1));
}

int cli_align(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    struct bioinfer_error err = {0};
    int st, code;

    run.format = o->format ? o->format : "tsv";
    if (!check_options(o, run.format))
        return CLI_EXIT_USAGE;
    run.align.cli = cli;
    run.align.writer = &run.writer;
    if ((code = cli_align_start(&run.align)) || (code = cli_open_context(cli)) ||
        (code = cli_check_device(cli)) || (code = open_input(&run, 0, o->input)) ||
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
        code = in_order(&run, !strcmp(run.format, "sam"));
    cli_progress_end(cli);
    if (!code)
        cli_align_tail(&run.writer);
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

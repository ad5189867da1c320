/* align.c - `bioinfer align A [B]`: pairs of records in order, one against all, all against all.
 *
 * Pairs in order are read ahead by threads, aligned and written in a stream; the other
 * pairings, and SAM, whose header names every target, read both files first. Output is in the order
 * of the pairs. With --resume or --shard blocks of pairs go through a journal (align_job.c).
 *
 * Sections: costs, letters, options, files, pairs, the command. */
#include "align.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LOOK = 200,           /* records of each file that decide what letters these are; */
    FEW = 40,             /* so few letters, of all of them, may be of either kind */
    BLOCK_PAIRS = 1 << 16 /* that a journal keeps together */
};

struct run {
    struct cli *cli;
    const char *name[2]; /* of the files, for messages */
    const char *format;  /* "tsv", "paf", "sam", "needle" */
    bioinfer_reader *reader[2];
    struct cli_pairs pairs;
    struct cli_align_run align;
    struct bioinfer_job_stats stats;
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

/* Letters of the first records of a file, counted. */
struct letters {
    size_t n, plain; /* all; A, C, G, T, U and N */
    char other;      /* the first one that stands for no nucleotides, or 0 */
    const char *id;  /* whose it is */
};

static struct letters count_letters(const struct cli_side *side)
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
static bool guess_nucleotides(const struct run *run, const struct cli_side *a,
                              const struct cli_side *b)
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

/* MiB of one traceback. */
static int64_t memory_limit(const struct cli_options *o)
{
    return o->memory_limit ? o->memory_limit : 1024;
}

/* Gives the residues that a record may have: a record of a small compressed file may be of any
 * length, and it is in memory three times while its pair is aligned. */
static uint64_t longest_record(const struct cli_options *o)
{
    enum { RESIDUES_PER_MIB = 50000 };
    const uint64_t limit = (uint64_t)memory_limit(o);

    if (o->max_length)
        return (uint64_t)o->max_length;
    return limit < UINT64_MAX / RESIDUES_PER_MIB ? limit * RESIDUES_PER_MIB : UINT64_MAX;
}

static bool is_built_in(const char *matrix)
{
    const char *name;

    for (int i = 0; (name = bioinfer_align_matrix(i)); i++)
        if (!strcasecmp(name, matrix))
            return true;
    return false;
}

/* All that changes results and is no file. Scores and tracebacks are the same on every device, but
 * what is too large for one is not. */
static void describe_options(const struct run *run, const struct bioinfer_align_params *p,
                             char *text, size_t size)
{
    static const char *const pairings[] = {"in-order", "all", "each-once"};
    static const char *const ties[] = {"parasail", "emboss", "wfa"};
    const struct cli_options *o = run->cli->options;
    const struct cli_align_out *w = &run->writer;
    const bool gpu = o->device && strcmp(o->device, "auto") && strcmp(o->device, "cpu");

    snprintf(text, size,
             "format=%s score-only=%d cigar=%s pairs=%s block-pairs=%llu mode=%s ties=%s matrix=%s "
             "match=%d mismatch=%d gap-open=%.10g gap-extend=%.10g scale=%.10g max-length=%llu "
             "device=%s memory-limit=%lld",
             run->format, o->score_only, w->plain ? "plain" : "extended",
             pairings[run->pairs.pairing], (unsigned long long)run->align.job.most_pairs,
             p->free_ends ? "ends-free" : "global", ties[p->ties],
             w->matrix_file ? "file" : w->matrix, p->match, p->mismatch, w->open, w->extend,
             w->scale, (unsigned long long)longest_record(o), gpu ? "gpu" : "cpu",
             gpu ? (long long)memory_limit(o) : 0LL);
}

static int open_job(struct run *run, const struct bioinfer_align_params *p)
{
    struct bioinfer_error err = {0};
    char options[1024];
    int st;

    describe_options(run, p, options, sizeof options);
    st = cli_align_job_open(&run->align.job, &run->writer, options, &err);
    return st ? cli_fail(run->cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* Opens the aligner, now that some records of both files are known. */
static int open_aligner(struct run *run)
{
    const struct cli_side *a = &run->pairs.side[0];
    const struct cli_side *b = &run->pairs.side[run->pairs.pairing != CLI_EACH_ONCE];
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
                                         .matrix_file = matrix && !is_built_in(matrix) ? matrix
                                                                                       : NULL,
                                         .scale = scale,
                                         .open = (double)c.open / 1000,
                                         .extend = (double)c.extend / 1000,
                                         .score_only = o->score_only,
                                         .plain = o->cigar && !strcmp(o->cigar, "plain"),
                                         .free_ends = p.free_ends};
    return cli_job_wanted(o) ? open_job(run, &p) : CLI_EXIT_OK;
}

/* ---- files ---- */

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

/* ---- pairs ---- */

static int no_records(struct run *run, int side)
{
    cli_say(run->cli, "%s: no records", run->name[side]);
    return CLI_EXIT_DATA;
}

static int open_pairs(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const enum cli_pairing pairing = !o->all_vs_all && !o->one_vs_all ? CLI_IN_ORDER
                                     : run->reader[1]                 ? CLI_ALL_PAIRS
                                                                      : CLI_EACH_ONCE;
    const struct cli_side *a = &run->pairs.side[0], *b = &run->pairs.side[1];
    struct bioinfer_error err = {0};
    const int st = cli_pairs_open(&run->pairs, pairing, !strcmp(run->format, "sam"), run->reader,
                                  &err);

    if (st)
        return cli_fail(run->cli, CLI_AT_READ, st, &err);
    if (pairing == CLI_IN_ORDER)
        return CLI_EXIT_OK;
    if (!a->n || (pairing == CLI_ALL_PAIRS && !b->n))
        return no_records(run, a->n ? 1 : 0);
    if (o->one_vs_all && a->n != 1) {
        cli_say(run->cli, "%s: %zu records, --one-vs-all takes one", run->name[0], a->n);
        return CLI_EXIT_DATA;
    }
    return CLI_EXIT_OK;
}

/* Does what comes before the first alignment: checks names for SAM, opens aligner and job, writes
 * the head. */
static int begin(struct run *run)
{
    const struct cli_pairs *p = &run->pairs;
    const struct cli_side *a = &p->side[0], *b = &p->side[p->pairing != CLI_EACH_ONCE];
    const size_t both = a->n < b->n ? a->n : b->n;
    const size_t n[2] = {p->pairing == CLI_IN_ORDER ? both : a->n,
                         p->pairing == CLI_IN_ORDER ? both : b->n};
    int code;

    if (!strcmp(run->format, "sam") &&
        (code = cli_align_check_sam(run->cli, a->items, n[0], b->items, n[1])))
        return code;
    if ((code = open_aligner(run)))
        return code;
    if (!run->align.job.job)
        cli_align_head(&run->writer, b->items, n[1]);
    run->align.targets = b->items;
    run->align.n_targets = n[1];
    return CLI_EXIT_OK;
}

/* Both files have as many records, where each has one to meet. */
static int check_ends(struct run *run)
{
    const int longer = cli_pairs_longer(&run->pairs);

    if (longer < 0)
        return CLI_EXIT_OK;
    cli_say(run->cli,
            "%s has more records than %s, which ends after %llu: pairs are taken in "
            "order; --all-vs-all and --one-vs-all pair otherwise",
            run->name[longer], run->name[!longer], (unsigned long long)run->pairs.n_taken);
    return CLI_EXIT_DATA;
}

static int run_pairs(struct run *run)
{
    const struct cli_align_job *job = &run->align.job;
    struct bioinfer_error err = {0};
    struct cli_span first;
    int st, code = open_pairs(run);

    if (code)
        return code;
    if ((st = cli_pairs_next(&run->pairs, &first, &err)) < 0)
        return cli_fail(run->cli, CLI_AT_READ, st, &err);
    if (!st && run->pairs.pairing == CLI_IN_ORDER)
        return no_records(run, cli_pairs_longer(&run->pairs) == 0);
    if ((code = begin(run)))
        return code;
    code = cli_align_pairs(&run->align);
    if (!code && (!job->job || job->ended)) /* of a complete journal nothing is read */
        code = check_ends(run);
    return code;
}

/* ---- the command ---- */

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
    else if (cli_job_wanted(o) && !strcmp(format, "needle"))
        cli_say(NULL,
                "--%s: needle names its file in the first lines and ends with lines of its own, "
                "so it is written in one run: use tsv, paf or sam",
                o->n_shards ? "shard" : "resume");
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

/* Opens the text output, unless the results go to a job, or gathers what goes there. */
static int open_output(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    struct bioinfer_error err = {0};
    const int st = cli_job_wanted(o) ? 0 : cli_output_open(&run->out, o->output, &err);

    return st ? cli_fail(run->cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

static int finish(struct run *run)
{
    struct bioinfer_error err = {0};
    int st;

    if (run->align.job.job)
        return cli_job_finish(run->cli, run->align.job.job, &run->stats);
    cli_align_tail(&run->writer);
    st = cli_output_finish(&run->out, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* Says how many pairs have no result; an exit code. */
static int say_failed(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_job_stats *s = &run->stats;
    const bool manifest = run->align.job.job && !o->n_shards;
    const char *see = manifest ? "; see " : "", *file = manifest ? o->output : "";
    const char *suffix = manifest ? ".manifest.tsv" : "";

    if (s->failed && s->resumed) /* how many pairs of an earlier run there were is not known */
        cli_say(run->cli, "%llu of %llu blocks hold pairs without a result%s%s%s",
                (unsigned long long)s->failed, (unsigned long long)s->records, see, file, suffix);
    else if (run->align.n_failed)
        cli_say(run->cli, "%llu of %llu pairs have no result%s%s%s",
                (unsigned long long)run->align.n_failed,
                (unsigned long long)(run->align.n_done + run->align.n_failed), see, file, suffix);
    return run->align.n_failed || s->failed ? CLI_EXIT_RECORDS : CLI_EXIT_OK;
}

int cli_align(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    int code;

    run.format = o->format ? o->format : "tsv";
    if (!check_options(o, run.format) || !cli_job_needs_file(cli, o->output))
        return CLI_EXIT_USAGE;
    run.align.cli = cli;
    run.align.writer = &run.writer;
    run.align.pairs = &run.pairs;
    run.align.job = (struct cli_align_job){.cli = cli,
                                           .pairs = &run.pairs,
                                           .most_pairs = o->block_pairs ? (uint64_t)o->block_pairs
                                                                        : BLOCK_PAIRS};
    if ((code = cli_align_start(&run.align)) || (code = cli_open_context(cli)) ||
        (code = cli_check_device(cli)) || (code = open_input(&run, 0, o->input)) ||
        (o->second && (code = open_input(&run, 1, o->second))) || (code = open_output(&run)))
        goto out;
    cli_progress_start(cli);
    code = run_pairs(&run);
    cli_align_end(&run.align); /* before the job, the records and the output, which it uses */
    cli_progress_end(cli);
    if (code) {
        code = cli_job_stopped(cli, run.align.job.job, code);
        goto out;
    }
    if ((code = finish(&run)))
        goto out;
    say_summary(&run);
    if (run.align.job.job && !o->quiet)
        cli_job_say_shard(cli, &run.stats, o->output);
    code = say_failed(&run);
out:
    cli_align_end(&run.align);
    cli_align_job_close(&run.align.job);
    cli_pairs_close(&run.pairs);
    cli_output_close(&run.out);
    bioinfer_aligner_free(&run.align.aligner);
    bioinfer_reader_close(&run.reader[0]);
    bioinfer_reader_close(&run.reader[1]);
    return code;
}

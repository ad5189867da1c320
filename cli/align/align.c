/* align.c - `bioinfer align A [B]`: pairs of records in order, one against all, all against all.
 *
 * Pairs are read ahead by threads, aligned and written in a stream, in the order of the pairs.
 * Targets that several queries meet stay in memory up to --db-memory, and a larger file is read
 * again for each query. SAM, whose header names every target, reads both files first. With --resume
 * or --shard blocks of pairs go through a journal (align_job.c), and workers are sent blocks. With
 * --top a pass over the targets finds which pairs are worth an alignment (align_best.c); workers
 * are sent groups of queries then, and make the pass.
 *
 * Sections: letters, options, files, pairs, workers, the command. */
#include "align.h"

#include "../provenance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LOOK = 200,           /* records of each file that decide what letters these are; */
    FEW = 40,             /* so few letters, of all of them, may be of either kind */
    BLOCK_PAIRS = 1 << 16 /* that a journal keeps together */
};

struct run {
    struct cli *cli;
    const char *name[2]; /* the files', for messages */
    const char *format;  /* "tsv", "paf", "sam", "needle" */
    bioinfer_reader *reader[2];
    struct cli_pairs pairs;
    struct cli_align_job job;
    struct cli_best best;      /* for --top, */
    struct cli_square square;  /* for --values */
    struct cli_aligning *task; /* which is cli->task */
    struct cli_pool *pool;     /* NULL: this process aligns */
    struct bioinfer_job_stats stats;
    struct cli_output out;
    struct cli_span span; /* a dry run is at its pair `at_pair` */
    size_t at_pair;
    /* Where there are workers: */
    struct cli_output packed; /* the block at hand */
    bool source_failed, sink_failed;
    bool told_note;
    uint64_t n_done, n_failed, n_residues;
    double cells;
};

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
        cli_say(run->cli, "the letters look like %s; --matrix overrides this",
                odd->other ? "proteins: matrix BLOSUM62" : "nucleotides: matrix EDNAFULL");
    return !odd->other && mostly_plain(&all);
}

/* ---- options ---- */

/* All that changes results and is no file. Scores and tracebacks are the same on every device, but
 * what is too large for one is not. */
static void describe_options(const struct run *run, struct cli_output *text)
{
    static const char *const pairings[] = {"in-order", "all", "each-once", "groups"};
    static const char *const ties[] = {"parasail", "emboss", "wfa"};
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_align_params *p = &run->task->params;
    const struct cli_align_out *w = &run->task->writer;
    const bool gpu = o->device && strcmp(o->device, "auto") && strcmp(o->device, "cpu");
    cli_output_printf(
        text,
        "format=%s score-only=%d cigar=%s pairs=%s block-pairs=%llu mode=%s ties=%s matrix=%s "
        "match=%d mismatch=%d gap-open=%.10g gap-extend=%.10g scale=%.10g max-length=%llu "
        "device=%s memory-limit=%lld free-ends=%u min-score=%s min-identity=%s%s",
        run->format, w->score_only,
        w->no_cigar ? "none"
        : w->plain  ? "plain"
                    : "extended",
        pairings[run->pairs.pairing], (unsigned long long)run->job.most_pairs,
        p->local       ? "local"
        : p->free_ends ? "ends-free"
                       : "global",
        ties[p->ties], w->matrix_file ? "file" : w->matrix, p->match, p->mismatch, w->open,
        w->extend, w->scale, (unsigned long long)cli_align_longest(o), gpu ? "gpu" : "cpu",
        gpu ? (long long)cli_align_memory(o) : 0LL, p->free_ends, o->min_score ? o->min_score : "",
        o->min_identity ? o->min_identity : "", p->any_letters ? " letters=any" : "");
    if (w->open2)
        cli_output_printf(text, " gap-open2=%.10g gap-extend2=%.10g", w->open2, w->extend2);
    if (o->values)
        cli_output_printf(text, " values=%s of=%s", o->values, w->shorter ? "shorter" : "columns");
    if (o->top)
        cli_output_printf(text, " top=%lld", (long long)o->top);
    if (w->both_strands)
        cli_output_printf(text, " strand=both");
    if (w->stats.lambda > 0)
        cli_output_printf(
            text, " lambda=%.10g karlin-k=%.10g db-size=%.0f db-records=%.0f max-evalue=%.10g",
            w->stats.lambda, w->stats.k, w->stats.residues, w->stats.records, w->stats.most);
    cli_output_write(text, "", 1);
}

static int open_job(struct run *run)
{
    struct bioinfer_error err = {0};
    struct cli_output options = {0};
    int st;
    describe_options(run, &options);
    if (!(st = options.status))
        st = cli_align_job_open(&run->job, &run->task->writer, options.text, &err);
    cli_output_close(&options);
    return st ? cli_fail(run->cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* ---- files ---- */

static int open_input(struct run *run, int k, const char *path)
{
    struct bioinfer_error err = {0};
    const int st = cli_align_reader(run->cli, path, &run->reader[k], &err);
    run->name[k] = strcmp(path, "-") ? path : "standard input";
    return st ? cli_fail(run->cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* ---- pairs ---- */

static int no_records(struct run *run, int side)
{
    cli_say(run->cli, "%s: no records", run->name[side]);
    return CLI_EXIT_DATA;
}

static enum cli_pairing pairing_of(const struct cli_options *o)
{
    if (!o->all_vs_all && !o->one_vs_all && !o->values)
        return CLI_IN_ORDER;
    if (o->top)
        return CLI_GROUPS;
    return o->second ? CLI_ALL_PAIRS : CLI_EACH_ONCE;
}

/* Opens the pairs and finds the first ones: *any is whether there are some. */
static int open_pairs(struct run *run, bool *any)
{
    const struct cli_options *o = run->cli->options;
    struct cli_pairs *p = &run->pairs;
    struct bioinfer_error err = {0};
    struct cli_span first;
    int st;
    *p = (struct cli_pairs){.pairing = pairing_of(o),
                            .reader = {run->reader[0], run->reader[1]},
                            .reopen = cli_align_reopen,
                            .user = run->cli,
                            .all_names = !strcmp(run->format, "sam") || o->values,
                            .with_self = o->values != NULL,
                            .one_query = o->one_vs_all,
                            .most_kept = cli_align_db_memory(o)};
    if (o->top && (st = cli_best_open(&run->best, p, &run->job.blocks, (uint64_t)o->top,
                                      (uint64_t)o->block_pairs)))
        return cli_fail(run->cli, CLI_AT_SETUP, st, NULL);
    if ((st = cli_pairs_open(p, &err)))
        return cli_fail(run->cli, CLI_AT_READ, st, &err);
    if (o->one_vs_all && p->side[0].n > 1) {
        cli_say(run->cli, "%s: %zu records, --one-vs-all takes one", run->name[0], p->side[0].n);
        return CLI_EXIT_DATA;
    }
    if ((o->top && (st = cli_best_read(&run->best, &err)) < 0) ||
        (st = cli_pairs_next(p, &first, &err)) < 0)
        return cli_fail(run->cli, CLI_AT_READ, st, &err);
    *any = st;
    if (st)
        return CLI_EXIT_OK;
    if (p->pairing == CLI_IN_ORDER)
        return no_records(run, cli_pairs_longer(p) == 0);
    if (o->second || !p->passed)
        return no_records(run, p->passed);
    return CLI_EXIT_OK;
}

/* Whether blocks go through a journal: those of a matrix do always. */
static bool has_job(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    return (cli_job_wanted(o) || o->values) && !o->dry_run;
}

/* Opens the task, here or in workers, now that some records of both files are known. */
static int open_task(struct run *run)
{
    const struct cli_side *a = &run->pairs.side[0];
    const struct cli_side *b = &run->pairs.side[run->reader[1] != NULL];
    const struct cli_options *o = run->cli->options;
    int code;
    if (!cli_align_has_costs(o))
        run->cli->told = guess_nucleotides(run, a, b) ? "EDNAFULL" : "BLOSUM62";
    if ((code = cli_align_settle(run->task)) ||
        (code = cli_task_open(run->cli, &cli_align_task, &run->pool)))
        return code;
    run->task->writer.out = &run->out;
    if (o->top)
        run->job.best = &run->best;
    if (o->top && !o->dry_run && !run->pool &&
        (code = cli_best_start(&run->best, run->task, &run->pairs)))
        return code;
    if (o->values && !o->dry_run) {
        run->job.square = &run->square;
        if ((code = cli_square_open(&run->square, run->cli, &run->task->writer, a,
                                    run->reader[1] ? b : NULL, run->job.most_pairs)))
            return code;
    }
    return has_job(run) ? open_job(run) : CLI_EXIT_OK;
}

/* Does what comes before the first alignment: checks names for SAM, opens task and job, writes the
 * head. */
static int begin(struct run *run)
{
    const struct cli_pairs *p = &run->pairs;
    const struct cli_side *a = &p->side[0], *b = &p->side[run->reader[1] != NULL];
    const size_t both = a->n < b->n ? a->n : b->n;
    const size_t n[2] = {p->pairing == CLI_IN_ORDER ? both : a->n,
                         p->pairing == CLI_IN_ORDER ? both : b->n};
    struct cli_align_run *align = &run->task->run;
    int code;
    if (!strcmp(run->format, "sam") &&
        (code = cli_align_check_sam(run->cli, a->items, n[0], b->items, n[1])))
        return code;
    if ((code = open_task(run)))
        return code;
    if (!run->job.job && !run->cli->options->dry_run)
        cli_align_head(&run->task->writer, b->items, n[1]);
    align->pairs = run->best.most ? NULL : &run->pairs;
    align->blocks = run->job.job || run->best.most ? &run->job.blocks : NULL;
    if (run->best.most && !run->job.job) {
        run->job.blocks.next = cli_align_job_give;
        run->job.blocks.user = &run->job;
    }
    align->targets = b->items;
    align->n_targets = n[1];
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

/* Says why the run failed; an exit code. */
static int fail(const struct run *run, int st, bool source_failed, bool sink_failed,
                const struct bioinfer_error *err)
{
    const bool disk = st == BIOINFER_IO || st == BIOINFER_NO_SPACE;
    enum cli_stage stage = CLI_AT_RUN;
    if (sink_failed)
        stage = CLI_AT_WRITE;
    else if (source_failed && st != BIOINFER_CANCELLED)
        stage = run->job.job && !run->job.failed && disk ? CLI_AT_WRITE : CLI_AT_READ;
    return cli_fail(run->cli, stage, st, err);
}

/* Aligns all pairs in this process. */
static int align_here(struct run *run)
{
    struct cli_align_run *align = &run->task->run;
    struct bioinfer_error err = {0};
    const int st = cli_align_pairs(align, &err);
    run->n_done = align->n_done;
    run->n_failed = align->n_failed;
    run->n_residues = align->n_residues;
    run->cells = align->cells;
    return st ? fail(run, st, st == align->source_failed, align->sink_failed, &err) : CLI_EXIT_OK;
}

/* Finds the best targets of each group of queries and aligns them with these. */
static int align_best(struct run *run)
{
    struct cli_align_run *align = &run->task->run, *scores = &run->best.scores;
    struct bioinfer_error err = {0};
    bool sink_failed = false;
    int st, source_failed = 0;
    while ((st = source_failed = cli_align_job_next(&run->job, &err)) > 0) {
        if ((st = cli_best_find(&run->best, &err))) {
            source_failed = scores->source_failed;
            break;
        }
        if ((st = cli_align_pairs(align, &err))) {
            source_failed = 0;
            sink_failed = align->sink_failed;
            break;
        }
    }
    run->n_done = scores->n_done;
    run->n_failed = scores->n_failed;
    run->n_residues = scores->n_residues;
    run->cells = scores->cells;
    return st ? fail(run, st, st == source_failed, sink_failed, &err) : CLI_EXIT_OK;
}

/* ---- workers ---- */

/* A bioinfer_source: the next block, as bytes. */
static int next_block(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    const struct cli_block *block = &run->job.blocks.block;
    int st;
    if (cli_stop_signal())
        return BIOINFER_CANCELLED;
    cli_pairs_drop(&run->pairs); /* the block before is with the pool */
    if ((st = cli_align_job_next(&run->job, err)) <= 0) {
        run->source_failed = st < 0;
        return st;
    }
    if ((run->best.most && (st = cli_best_list(&run->best, err))) ||
        (st = cli_block_pack(&run->job.blocks, &run->packed, err)))
        return st;
    *record = (struct bioinfer_record){.id = block->id,
                                       .description = "",
                                       .message = "",
                                       .ordinal = block->ordinal,
                                       .sequence = run->packed.text,
                                       .length = run->packed.n_text};
    return 1;
}

/* Says what the worker would have to say of its pairs, and counts them. */
static void tally(struct run *run, struct bioinfer_result *r)
{
    unsigned long long counts[4] = {0};
    cli_take_counts(r, counts, 4);
    run->n_done += counts[0];
    run->n_failed += counts[1];
    run->n_residues += counts[2];
    run->cells += (double)counts[3];
    for (; r->n_texts && strcmp(r->texts[r->n_texts - 1].name, "text"); r->n_texts--) {
        const struct bioinfer_text *t = &r->texts[r->n_texts - 1];
        const char *at = t->text, *end = t->text + t->length;
        if (!strcmp(t->name, CLI_ALIGN_NOTE) && !run->told_note) {
            run->told_note = true;
            cli_say(run->cli, "%.*s", (int)t->length, t->text);
        }
        while (!strcmp(t->name, CLI_ALIGN_LOST) && at < end) {
            const char *line = memchr(at, '\n', (size_t)(end - at));
            cli_say_lost(run->cli, "%.*s", (int)(line - at), at);
            at = line + 1;
        }
    }
}

/* Keeps a piece of a block. A head of several lines is a piece in front of the first block's. */
static int keep_piece(struct run *run, const struct bioinfer_result *piece,
                      struct bioinfer_error *err)
{
    const struct cli_align_run *align = &run->task->run;
    const bool headed = !piece->ordinal && cli_align_has_head(&run->task->writer);
    int st;
    if (headed && !piece->piece)
        cli_align_head(&run->task->writer, align->targets, align->n_targets);
    st = run->out.status;
    if (!st)
        st = cli_align_job_keep(&run->job, piece, headed ? run->out.text : NULL, run->out.n_text,
                                err);
    run->out.n_text = 0;
    return st;
}

/* A bioinfer_sink: a piece of a block's text. */
static int take_piece(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct run *run = user;
    struct bioinfer_result r = *result;
    int st = 0;
    if (!r.more)
        tally(run, &r);
    if (run->job.job) {
        st = keep_piece(run, &r, err);
    } else {
        for (int i = 0; i < r.n_texts; i++)
            cli_output_write(&run->out, r.texts[i].text, r.texts[i].length);
        st = run->out.status; /* a closed pipe or a full disk: the rest is in vain */
        cli_output_start(&run->out);
    }
    run->sink_failed = st != 0;
    return st;
}

static int pending(void *user)
{
    struct run *run = user;
    return bioinfer_job_pending(run->job.job);
}

/* Gives how much input there is, in what the task weighs: about as many cells, or bytes. */
static uint64_t input_size(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const double a = (double)cli_plain_size(o->input);
    const double b = o->second ? (double)cli_plain_size(o->second) : a / 2;
    const double size = o->top ? a : run->pairs.pairing == CLI_IN_ORDER ? a + b : a * b;
    return size < 0x1p63 ? (uint64_t)size : UINT64_MAX / 2;
}

static int align_in_workers(struct run *run)
{
    const struct cli_run_io io = {.source = next_block,
                                  .sink = take_piece,
                                  .pending = run->job.job ? pending : NULL,
                                  .user = run,
                                  .input_size = input_size(run),
                                  .in_order = !run->job.job};
    struct bioinfer_error err = {0};
    int st = cli_task_run(run->cli, &cli_align_task, run->pool, &io, &err);
    if (run->out.status && !run->job.job)
        st = cli_output_finish(&run->out, &err); /* which knows the reason */
    return st ? fail(run, st, run->source_failed, run->sink_failed, &err) : CLI_EXIT_OK;
}

/* A bioinfer_source: pairs for a dry run, one by one. */
static int next_pair(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    const struct bioinfer_record *target;
    int st;
    if (run->at_pair == run->span.n) {
        cli_pairs_take(&run->pairs, run->span.n);
        cli_pairs_drop(&run->pairs);
        run->at_pair = run->span.n = 0;
        while (!(st = cli_pairs_next(&run->pairs, &run->span, err)) && run->best.most) {
            run->best.is_read = false;
            if ((st = cli_best_read(&run->best, err)) <= 0)
                return st;
        }
        if (st <= 0)
            return st;
    }
    *record = run->span.query[run->at_pair * run->span.step];
    target = &run->span.target[run->at_pair++];
    record->target = target->sequence;
    record->target_length = target->length;
    if (target->status && !record->status) {
        record->status = target->status;
        record->message = target->message;
    }
    return 1;
}

static struct cli_weight weigh_pair(const struct cli *cli, const struct bioinfer_record *r)
{
    (void)cli;
    return (struct cli_weight){(uint64_t)(r->length + 1) * (r->target_length + 1), 0};
}

static int align_some(void *state, struct bioinfer_error *err)
{
    const struct cli_aligning *t = state;
    const struct cli_work *w = &t->work;
    return bioinfer_task_run(t->run.align, w->source, w->source_user, w->sink, w->sink_user, err);
}

static int dry_run(struct run *run)
{
    static const struct cli_task pairs = {.run = align_some, .weigh = weigh_pair};
    const struct cli_dry how = {.length = "residues",
                                .next = next_pair,
                                .user = run,
                                .task = &pairs,
                                .open = run->task->run.align};
    return cli_dry_measure(run->cli, &how);
}

static int run_pairs(struct run *run)
{
    const struct cli_align_job *job = &run->job;
    bool any;
    int code;
    if ((code = open_pairs(run, &any)) || (code = begin(run)))
        return code;
    if (run->cli->options->dry_run)
        return dry_run(run);
    if (run->best.most && !run->pool)
        return align_best(run);
    code = run->pool ? align_in_workers(run) : align_here(run);
    if (!code && (!job->job || job->ended)) /* nothing is read of a complete journal */
        code = check_ends(run);
    return code;
}

/* ---- the command ---- */

static bool is_plain(const char *path)
{
    struct stat st;
    return strcmp(path, "-") && (stat(path, &st) || S_ISREG(st.st_mode));
}

static bool check_options(const struct cli_options *o, const char *format)
{
    const bool score_only = cli_given(o, "score-only");
    if (o->values && !cli_square_check(o, format))
        return false; /* else it would be told what it then refuses, as --all-vs-all for --top */
    if (score_only && strcmp(format, "tsv"))
        cli_say(NULL, "--score-only has no alignment to write as %s: use tsv", format);
    else if (o->cigar && !strcmp(o->cigar, "none") && strcmp(format, "tsv"))
        cli_say(NULL, "--cigar none: %s is made of CIGARs: use tsv", format);
    else if (score_only && o->min_identity)
        cli_say(NULL, "--min-identity is not for --score-only: say --cigar none");
    else if (o->all_vs_all && o->one_vs_all)
        cli_say(NULL, "--all-vs-all and --one-vs-all exclude each other");
    else if (!o->second && !o->all_vs_all && !o->values)
        cli_say(NULL, "something is missing: a second file, or --all-vs-all");
    else if (o->top && !o->all_vs_all && !o->one_vs_all)
        cli_say(NULL, "--top is for queries that meet many: say --all-vs-all or --one-vs-all");
    else if (o->top && !strcmp(format, "sam"))
        cli_say(NULL, "--top: the head of sam names all targets: use tsv, paf or blast");
    else if (o->top && cli_align_several(o) && !is_plain(o->second ? o->second : o->input))
        cli_say(NULL,
                "--top: several processes read the targets, each for itself: expected a plain "
                "file of them");
    else if (o->second && !strcmp(o->second, "-") && !strcmp(o->input, "-"))
        cli_say(NULL, "only one of the files can be standard input");
    else
        return cli_square_check(o, format);
    return false;
}

static void say_summary(const struct run *run)
{
    const double seconds = cli_now() - run->cli->progress.start;
    if (!run->cli->options->quiet)
        cli_say(run->cli,
                "%llu alignments, %llu residues, matrix %s, gaps %.10g/%.10g in %.2f s "
                "(%.2f billion cells/s)",
                (unsigned long long)run->n_done, (unsigned long long)run->n_residues,
                run->task->writer.matrix, run->task->writer.open, run->task->writer.extend, seconds,
                1e-9 * run->cells / (seconds > 0 ? seconds : 1));
}

/* Opens the text output, unless the results go to a job, or gathers what goes there. */
static int open_output(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    struct bioinfer_error err = {0};
    const bool none = cli_job_wanted(o) || o->dry_run || o->values;
    const int st = none ? 0 : cli_output_open(&run->out, o->output, &err);
    return st ? cli_fail(run->cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* Finishes a job in a folder of its own, and copies the matrix to where it is to be. */
static int finish_square(struct run *run)
{
    struct cli_output out = {0};
    struct bioinfer_error err = {0};
    int st;
    if ((st = bioinfer_job_finish(run->job.job, &err)))
        return cli_fail(run->cli, CLI_AT_WRITE, st, &err);
    if ((st = cli_output_open(&out, run->cli->options->output, &err)))
        return cli_fail(run->cli, CLI_AT_CREATE, st, &err);
    if (!(st = cli_square_copy(&run->square, &out, &err)))
        st = cli_output_finish(&out, &err);
    cli_output_close(&out);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static int finish(struct run *run)
{
    struct bioinfer_error err = {0};
    int st;
    if (run->square.folder)
        return finish_square(run);
    if (run->job.job)
        return cli_job_finish(run->cli, run->job.job, &run->stats);
    cli_output_printf(&run->out, "%s", cli_align_tail(&run->task->writer));
    st = cli_output_finish(&run->out, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* Writes how the output was made beside it. */
static int tell_provenance(const struct run *run)
{
    const struct bioinfer_job_stats *s = run->job.job ? &run->stats : NULL;
    const struct cli_provenance p = {.output = run->cli->options->output,
                                     .task = cli_align_task.name,
                                     .counted = !s || !s->resumed,
                                     .records = run->n_done + run->n_failed,
                                     .failed = run->n_failed,
                                     .resumed = s ? s->resumed : 0};
    return cli_provenance_write(run->cli, &p);
}

/* Says how many pairs have no result; an exit code. */
static int say_failed(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_job_stats *s = &run->stats;
    const bool manifest = run->job.job && !o->n_shards && !run->square.folder;
    const char *see = manifest ? "; see " : "", *file = manifest ? o->output : "";
    const char *suffix = manifest ? ".manifest.tsv" : "";
    if (s->failed && s->resumed) /* how many pairs of an earlier run there were is not known */
        cli_say(run->cli, "%llu of %llu blocks hold pairs without a result%s%s%s",
                (unsigned long long)s->failed, (unsigned long long)s->records, see, file, suffix);
    else if (run->n_failed)
        cli_say(run->cli, "%llu of %llu pairs have no result%s%s%s",
                (unsigned long long)run->n_failed,
                (unsigned long long)(run->n_done + run->n_failed), see, file, suffix);
    return run->n_failed || s->failed ? CLI_EXIT_RECORDS : CLI_EXIT_OK;
}

/* Opens what is read and written; an exit code. */
static int open_run(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    int code;
    if ((code = cli_task_begin(cli, &cli_align_task)))
        return code;
    run->task = cli->task;
    run->job = (struct cli_align_job){.cli = cli,
                                      .pairs = &run->pairs,
                                      .most_pairs = o->block_pairs ? (uint64_t)o->block_pairs
                                                                   : BLOCK_PAIRS};
    if ((code = cli_open_context(cli)) ||
        (!cli_task_pooled(cli, &cli_align_task) && (code = cli_check_device(cli))) ||
        (code = open_input(run, 0, o->input)) ||
        (o->second && (code = open_input(run, 1, o->second))))
        return code;
    return open_output(run);
}

int cli_align(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    int code, said;
    run.format = o->format ? o->format : "tsv";
    if (!check_options(o, run.format) || !cli_job_needs_file(cli, o->output))
        return CLI_EXIT_USAGE;
    if ((code = open_run(&run)))
        goto out;
    cli_progress_start(cli);
    code = run_pairs(&run);
    cli_align_end(&run.best.scores);
    cli_align_end(&run.task->run); /* before the job, the records and the output, which it uses */
    cli_progress_end(cli);
    if (code || o->dry_run) {
        if (!run.square.folder)
            code = cli_job_stopped(cli, run.job.job, code);
        goto out;
    }
    if ((code = finish(&run)))
        goto out;
    say_summary(&run);
    if (run.job.job && !o->quiet)
        cli_job_say_shard(cli, &run.stats, o->output);
    said = tell_provenance(&run);
    code = say_failed(&run);
    code = said ? said : code;
out:
    cli_pool_close(&run.pool);
    cli_best_close(&run.best);
    cli_task_end(cli, &cli_align_task);
    if (run.square.folder)
        bioinfer_job_discard(run.job.job);
    cli_align_job_close(&run.job);
    cli_square_close(&run.square);
    cli_pairs_close(&run.pairs);
    cli_output_close(&run.out);
    cli_output_close(&run.packed);
    bioinfer_reader_close(&run.reader[0]);
    bioinfer_reader_close(&run.reader[1]);
    return code;
}

/* tracks.c - `bioinfer MODEL INPUT` for models of DNA windows.
 *
 * Windows come from FASTA records as they are, from the middles of BED intervals, or from VCF:
 * there every variant's window is run with both alleles, or several variants share one
 * (--cluster). A substitution reuses the reference's features, which changes no bit.
 *
 * Sections: setting up, results, on their way, windows and intervals, variants, mutagenesis, the command. */
#include "tracks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SHIFTS = 64,
    MAX_TEXT = 1020,
    LEAST = 8,
    AT_ONCE = 64,           /* changed windows; fewer where ... */
    MOST_VALUES = 256 << 20 /* ... their values take more bytes */
};

enum stat { SAD, SAR, REF, ALT, N_STATS };
static const char *const stat_names[N_STATS] = {"SAD", "SAR", "REF", "ALT"};

/* A variant kept until it is run, and its results are in. */
struct variant {
    struct bioinfer_locus l; /* strings are copies */
    char *text;              /* their memory */
};

/* A window on its way; contig: of an interval, where base `start` of it is the window's first. Or those of
 * both alleles of a variant. */
struct flight {
    char *id, *contig;
    uint64_t ordinal;
    int64_t start;
    struct variant variant;
    float *values; /* [n_rows, n_tracks], of a variant those of the reference and of the other */
};

struct run {
    struct cli *cli;
    bioinfer_tracks *tracks;
    bioinfer_genome *genome;
    bioinfer_loci *loci;
    bioinfer_writer *writer;
    struct cli_output table; /* TSV of variants */
    struct coverage coverage;
    struct targets targets;
    struct selection chosen;
    struct bioinfer_tracks_info info;
    int shifts[MAX_SHIFTS], n_shifts;
    enum stat stats[N_STATS];
    int n_stats;
    enum bioinfer_tracks_sums sums; /* what there is of a window, rather than tracks */
    bool to_table, to_coverage, variants;
    char *reference,
        *changed[AT_ONCE];   /* [window]; changed: where there is a reference, else none */
    char (*texts)[MAX_TEXT]; /* [2 AT_ONCE] why a changed window has no values */
    float *values, *others;  /* [n_rows, n_tracks], of the reference; others: of each changed */
    int at_once;
    struct flight flights[BIOINFER_STARTED]; /* a ring of most_flights */
    int most_flights, n_flights, oldest;
    int64_t n_values;
    uint64_t n_records, n_failed;
};

/* ---- setting up ---- */

static int read_shifts(struct run *run, const char *list)
{
    while (list && *list) {
        char *end;
        long v = strtol(list, &end, 10);
        if (end == list || (*end && *end != ',') || run->n_shifts == MAX_SHIFTS || v < -1000000 ||
            v > 1000000) {
            cli_say(NULL, "--shifts: '%s' is no list of up to %d numbers", list, MAX_SHIFTS);
            return CLI_EXIT_USAGE;
        }
        run->shifts[run->n_shifts++] = (int)v;
        list = *end ? end + 1 : end;
    }
    return CLI_EXIT_OK;
}

static int read_stats(struct run *run, const char *list)
{
    if (!list)
        list = "SAD";
    while (*list) {
        size_t n = strcspn(list, ",");
        int s = 0;
        while (s < N_STATS && (strlen(stat_names[s]) != n || memcmp(stat_names[s], list, n)))
            s++;
        for (int i = 0; i < run->n_stats; i++)
            s = (int)run->stats[i] == s ? N_STATS : s;
        if (s == N_STATS) {
            cli_say(NULL, "--stats: '%s': expected SAD, SAR, REF and ALT, each once", list);
            return CLI_EXIT_USAGE;
        }
        run->stats[run->n_stats++] = (enum stat)s;
        list += n + (list[n] == ',');
    }
    return CLI_EXIT_OK;
}

/* Scores are of sums over bins; logarithms are those of means over views, which only all values give. */
static enum bioinfer_tracks_sums sums_for(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    bool logs = false;

    for (int i = 0; i < run->n_stats; i++)
        logs |= run->stats[i] == SAR;
    if (!o->ism && !run->variants)
        return BIOINFER_NO_SUMS;
    if (o->ism || !logs)
        return BIOINFER_SUMS;
    return run->n_shifts > 1 || o->rc ? BIOINFER_NO_SUMS : BIOINFER_SUMS_AND_LOGS;
}

static int open_session(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(
        struct bioinfer_tracks_params, .head = o->head, .shifts = run->shifts,
        .n_shifts = run->n_shifts, .reverse_complement = o->rc,
        .no_rules = o->no_rules[0] ? o->no_rules : NULL, .keep = o->ism || run->variants);
    struct bioinfer_error err = {0};
    const char *head;
    int n_tracks = 0, code, st;

    p.sums = run->sums = sums_for(run);
    for (int i = 0; (head = bioinfer_model_head(run->cli->model, i, &n_tracks)); i++)
        if (!o->head || !strcmp(head, o->head))
            break;
    if (head && o->targets && (code = targets_read(&run->targets, o->targets, n_tracks)))
        return code;
    if (head && (code = selection_read(&run->chosen, o->tracks, &run->targets, n_tracks)))
        return code;
    p.tracks = run->chosen.of;
    p.n_tracks = run->chosen.n;
    p.strand_pairs = run->targets.has_pairs ? run->targets.pairs : NULL;
    if ((st = bioinfer_tracks_new(&run->tracks, run->cli->model, &p, &err)))
        return cli_fail(run->cli, CLI_AT_CONFIG, st, &err);
    if (o->profile)
        bioinfer_tracks_set_profile(run->tracks, 1);
    run->info.struct_size = sizeof run->info;
    bioinfer_tracks_get_info(run->tracks, &run->info);
    run->n_values = run->info.n_rows * run->info.n_tracks;
    run->reference = calloc((size_t)run->info.window + 1, 1);
    if (!run->reference)
        return CLI_EXIT_NO_MEMORY;
    if (!o->ism)
        run->most_flights = run->variants ? run->info.n_pairs_at_once : run->info.n_at_once;
    for (int i = 0; i < run->most_flights; i++)
        if (!(run->flights[i].values = calloc(
                  (size_t)(run->variants ? 2 * run->n_values : run->n_values), sizeof(float))))
            return CLI_EXIT_NO_MEMORY;
    if (!p.keep)
        return CLI_EXIT_OK;
    run->at_once = AT_ONCE;
    while (run->at_once > LEAST &&
           run->at_once * run->n_values * (int64_t)sizeof *run->others > MOST_VALUES)
        run->at_once /= 2;
    for (int i = 0; i < run->at_once; i++)
        if (!(run->changed[i] = calloc((size_t)run->info.window + 1, 1)))
            return CLI_EXIT_NO_MEMORY;
    run->texts = calloc(2 * AT_ONCE, sizeof *run->texts);
    run->values = calloc((size_t)run->n_values, sizeof *run->values);
    run->others = calloc((size_t)(run->at_once * run->n_values), sizeof *run->others);
    return run->values && run->others && run->texts ? CLI_EXIT_OK : CLI_EXIT_NO_MEMORY;
}

static int open_input(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    int st;

    if (!o->genome)
        return cli_open_reader(cli, 0);
    if ((st = bioinfer_genome_open(&run->genome, cli->ctx, o->genome, &err)) ||
        (st = bioinfer_loci_open(&run->loci, cli->ctx, o->input, &err)))
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    run->variants = bioinfer_loci_are_variants(run->loci);
    cli->input_name = o->input;
    return CLI_EXIT_OK;
}

static bool is(const char *format, const char *name)
{
    return format && !strcmp(format, name);
}

/* What the options ask for together. */
static int check_options(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const char *name = run->cli->input_name;
    const char *holds = !o->genome ? "windows" : run->variants ? "variants" : "intervals";
    bool coverage = is(o->format, "bedgraph") || is(o->format, "bigwig");

    if (o->ism && (!o->genome || run->variants)) {
        cli_say(run->cli, "%s holds %s, and --ism takes intervals: --genome FASTA and a BED", name,
                holds);
        return CLI_EXIT_USAGE;
    }
    if (coverage && (!o->genome || run->variants || o->ism)) {
        cli_say(run->cli, "%s holds %s, and --format %s takes intervals: --genome FASTA and a BED",
                name, holds, o->format);
        return CLI_EXIT_USAGE;
    }
    if ((o->stats || o->cluster) && o->genome && !run->variants) {
        cli_say(run->cli, "%s holds %s, and --%s takes variants: a VCF", name, holds,
                o->stats ? "stats" : "cluster");
        return CLI_EXIT_USAGE;
    }
    if (!run->variants && (is(o->format, "tsv") || is(o->format, "npy"))) {
        cli_say(run->cli,
                "%s holds %s, and --format %s takes variants; tracks go to npz, h5, "
                "safetensors, jsonl, bedgraph or bigwig",
                name, holds, o->format);
        return CLI_EXIT_USAGE;
    }
    run->to_coverage = coverage;
    run->to_table = run->variants && (!o->format || is(o->format, "tsv")) &&
                    (o->format || !o->output || !strcmp(o->output, "-") ||
                     (strlen(o->output) > 4 && !strcmp(o->output + strlen(o->output) - 4, ".tsv")));
    if (!run->to_table && !o->output) {
        cli_say(run->cli, "name the output with -o");
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

static void put_header(struct run *run)
{
    cli_output_printf(&run->table, "chrom\tpos\tid\tref\talt\tstatus");
    for (int s = 0; s < run->n_stats; s++)
        for (int k = 0; k < run->chosen.n; k++) {
            char name[300];
            track_name(name, sizeof name, &run->targets, run->chosen.of[k]);
            cli_output_printf(&run->table, "\t%s:%s", stat_names[run->stats[s]], name);
        }
    cli_output_printf(&run->table, "\n");
}

static int open_output(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = o->format, .model = cli->info.name,
        .suffix_duplicates = o->dup_ids && !strcmp(o->dup_ids, "suffix"));
    int st;

    if (run->to_coverage) {
        run->coverage = (struct coverage){.bigwig = is(o->format, "bigwig"),
                                          .folder = o->output,
                                          .n_tracks = run->chosen.n,
                                          .tracks = run->chosen.of,
                                          .targets = &run->targets,
                                          .bin_size = run->info.bin_size};
        return coverage_open(&run->coverage, cli);
    }
    if (run->to_table) {
        if ((st = cli_output_open(&run->table, o->output, &err)))
            return cli_fail(cli, CLI_AT_CREATE, st, &err);
        put_header(run);
        return CLI_EXIT_OK;
    }
    st = bioinfer_writer_open(&run->writer, cli->ctx, o->output, &params, &err);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* ---- results ---- */

/* One record's arrays, or why there are none. */
static int put_result(struct run *run, const char *id, uint64_t ordinal, int status,
                      const char *message, const struct bioinfer_array *arrays, int n)
{
    struct bioinfer_result r = {.ordinal = ordinal,
                                .id = id,
                                .length = run->info.window,
                                .status = status,
                                .message = status ? message : "",
                                .n_arrays = status ? 0 : n,
                                .arrays = arrays,
                                .n_layers_kept = 1,
                                .n_kinds = n};
    struct bioinfer_error err = {0};
    int st;

    run->n_records++;
    if (status) {
        run->n_failed++;
        cli_say_lost(run->cli, "%s: no result: %s: %s", id, bioinfer_status_name(status), message);
        if (run->cli->options->strict) {
            cli_say(run->cli, "--strict: stopped, nothing written");
            return CLI_EXIT_DATA;
        }
    }
    run->cli->progress.records = run->n_records;
    if (cli_progress_tick(run->cli, run->n_records, run->n_records * (uint64_t)run->info.window))
        return cli_fail(run->cli, CLI_AT_RUN, BIOINFER_CANCELLED, NULL);
    if (!run->writer)
        return CLI_EXIT_OK;
    st = bioinfer_writer_put(run->writer, &r, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

/* A failure of one window that is not the end of the run. */
static bool is_of_record(int st)
{
    return st == BIOINFER_NONFINITE;
}

static int put_tracks(struct run *run, const char *id, uint64_t ordinal, int status,
                      const char *message, const float *values)
{
    struct bioinfer_array a = {.kind = "tracks",
                               .layer = -1,
                               .n_dims = 2,
                               .shape = {run->info.n_bins, run->info.n_tracks},
                               .data = values};

    return put_result(run, id, ordinal, status, message, &a, 1);
}

/* The sum over bins of a track, or of the logarithms of 1 and its values: of sums, see bioinfer.h, or of
 * tracks. */
static double sum_of(const struct run *run, const float *values, int track, bool logs)
{
    const int n = run->info.n_tracks;
    double sum = 0;

    if (run->sums) {
        const float *high = values + (logs ? 2 * n : 0) + track;
        return (double)high[0] + (double)high[n];
    }
    for (int64_t b = 0; b < run->info.n_bins; b++) {
        const double v = (double)values[b * n + track];
        sum += logs ? log2(1 + v) : v;
    }
    return sum;
}

/* What a change does to a track. */
static double score(const struct run *run, const float *values, const float *other, enum stat stat,
                    int track)
{
    const double r = stat == ALT ? 0 : sum_of(run, values, track, stat == SAR);
    const double a = stat == REF ? 0 : sum_of(run, other, track, stat == SAR);

    return stat == REF ? r : a - r;
}

/* Scores of a variant [n_stats, n_tracks] and, for a table, their text. */
struct scored {
    float *scores;
    char *text;
    size_t n_text;
};

static void free_scored(struct scored *y)
{
    free(y->scores);
    free(y->text);
    *y = (struct scored){0};
}

/* values: of the reference window; other: of the changed one. Of several variants at a time by several threads;
 * false: no memory. */
static bool make_scored(const struct run *run, const float *values, const float *other,
                        struct scored *y)
{
    enum { MOST_DIGITS = 24 };
    const int n = run->info.n_tracks;

    if (!(y->scores = malloc((size_t)(n * run->n_stats) * sizeof *y->scores)) ||
        (run->to_table && !(y->text = malloc((size_t)(n * run->n_stats) * MOST_DIGITS))))
        return false;
    for (int s = 0; s < run->n_stats; s++)
        for (int k = 0; k < n; k++)
            y->scores[s * n + k] = (float)score(run, values, other, run->stats[s], k);
    for (int k = 0; run->to_table && k < n * run->n_stats; k++)
        y->n_text += (size_t)snprintf(y->text + y->n_text, MOST_DIGITS, "\t%.9g",
                                      (double)y->scores[k]);
    return true;
}

/* y: NULL where there are no scores. */
static int put_variant(struct run *run, const struct bioinfer_locus *l, const struct scored *y,
                       int status, const char *message)
{
    struct bioinfer_array arrays[N_STATS];
    const int n = run->info.n_tracks;

    for (int s = 0; y && s < run->n_stats; s++)
        arrays[s] = (struct bioinfer_array){.kind = stat_names[run->stats[s]],
                                            .layer = -1,
                                            .n_dims = 1,
                                            .shape = {n},
                                            .data = y->scores + s * n};
    if (run->to_table) {
        cli_output_printf(&run->table, "%s\t%lld\t%s\t%s\t%s\t%s", l->chrom,
                          (long long)l->start + 1, l->name, l->reference, l->alternative,
                          status ? bioinfer_status_name(status) : "ok");
        if (y)
            cli_output_write(&run->table, y->text, y->n_text);
        for (int k = 0; !y && k < n * run->n_stats; k++)
            cli_output_write(&run->table, "\t", 1);
        cli_output_write(&run->table, "\n", 1);
    }
    return put_result(run, l->name[0] ? l->name : l->chrom, l->ordinal, status, message, arrays,
                      run->n_stats);
}

/* ---- on their way ---- */

static void free_flight(struct flight *f)
{
    free(f->id);
    free(f->contig);
    free(f->variant.text);
    f->id = f->contig = f->variant.text = NULL;
}

/* What set out first, to the output. */
static int finish_flight(struct run *run)
{
    struct flight *f = &run->flights[run->oldest];
    struct scored y = {0};
    struct bioinfer_error err = {0};
    int st = bioinfer_tracks_finish(run->tracks, NULL, &err), code;

    run->n_flights--;
    run->oldest = (run->oldest + 1) % run->most_flights;
    if (st && !is_of_record(st))
        code = cli_fail(run->cli, CLI_AT_RUN, st, &err);
    else if (run->variants && !st && !make_scored(run, f->values, f->values + run->n_values, &y))
        code = CLI_EXIT_NO_MEMORY;
    else if (run->variants)
        code = put_variant(run, &f->variant.l, st ? NULL : &y, st, err.text);
    else if (!(code = put_tracks(run, f->id, f->ordinal, st, err.text, f->values)) && !st &&
             run->to_coverage)
        code = coverage_put(
            &run->coverage, f->contig, bioinfer_genome_length(run->genome, f->contig),
            f->start + run->info.first_bin * run->info.bin_size, run->info.n_bins, f->values);
    free_scored(&y);
    free_flight(f);
    return code;
}

static int finish_flights(struct run *run)
{
    int code = CLI_EXIT_OK;

    while (!code && run->n_flights)
        code = finish_flight(run);
    return code;
}

static struct flight *next_flight(struct run *run)
{
    return &run->flights[(run->oldest + run->n_flights) % run->most_flights];
}

/* The next flight set out: st. What was on its way comes in meanwhile. */
static int started(struct run *run, int st, const struct bioinfer_error *err)
{
    if (st)
        return cli_fail(run->cli, CLI_AT_RUN, st, err);
    return ++run->n_flights < run->most_flights ? CLI_EXIT_OK : finish_flight(run);
}

/* ---- windows and intervals ---- */

/* A record without a window, after those before it. */
static int put_failed(struct run *run, const char *id, uint64_t ordinal, int status,
                      const char *message)
{
    const int code = finish_flights(run);

    return code ? code : put_tracks(run, id, ordinal, status, message, NULL);
}

static int start_window(struct run *run, const char *sequence, const char *id, uint64_t ordinal,
                        const char *contig, int64_t start)
{
    struct flight *f = next_flight(run);
    struct bioinfer_error err = {0};

    f->ordinal = ordinal;
    f->start = start;
    if (!(f->id = strdup(id)) || !(f->contig = strdup(contig)))
        return CLI_EXIT_NO_MEMORY;
    return started(
        run,
        bioinfer_tracks_start(run->tracks, sequence, (size_t)run->info.window, f->values, &err),
        &err);
}

static int run_records(struct run *run)
{
    struct cli *cli = run->cli;
    struct bioinfer_record r;
    int st = 0, code = CLI_EXIT_OK;

    while (!code) {
        struct bioinfer_error err = {0};
        char text[MAX_TEXT];
        if ((st = bioinfer_reader_next(cli->reader, &r, &err)) <= 0)
            return st ? cli_fail(cli, CLI_AT_READ, st, &err) : finish_flights(run);
        if (r.status) {
            code = put_failed(run, r.id, r.ordinal, r.status, r.message);
            continue;
        }
        if (r.length != (size_t)run->info.window) {
            snprintf(text, sizeof text,
                     "%zu bases, a window has %lld (--window takes "
                     "others; --genome reads windows around intervals)",
                     r.length, (long long)run->info.window);
            code = put_failed(run, r.id, r.ordinal, BIOINFER_INVALID, text);
            continue;
        }
        code = start_window(run, r.sequence, r.id, r.ordinal, "", 0);
    }
    return code;
}

/* FORMAT comes from the genome, not from what is computed. */
static int run_failed(struct run *run, int st, const struct bioinfer_error *err)
{
    return cli_fail(run->cli, st == BIOINFER_FORMAT || st == BIOINFER_IO ? CLI_AT_READ : CLI_AT_RUN,
                    st, err);
}

/* The window around a middle. */
static int read_window(struct run *run, const char *chrom, int64_t middle, int64_t *start,
                       struct bioinfer_error *err)
{
    *start = middle - run->info.window / 2;
    return bioinfer_genome_read(run->genome, chrom, *start, *start + run->info.window,
                                run->reference, err);
}

static int run_interval(struct run *run, const struct bioinfer_locus *l)
{
    struct bioinfer_error err = {0};
    char text[MAX_TEXT];
    int64_t start;
    int st = l->status;

    if (st)
        return put_failed(run, l->name[0] ? l->name : l->chrom, l->ordinal, st, l->message);
    if ((st = check_place(run->genome, l, text, MAX_TEXT)))
        return put_failed(run, l->name, l->ordinal, st, text);
    st = read_window(run, l->chrom, (l->start + l->end) / 2, &start, &err);
    return st ? run_failed(run, st, &err)
              : start_window(run, run->reference, l->name, l->ordinal, l->chrom, start);
}

/* ---- variants ---- */

/* Variants that share a window. */
struct group {
    struct variant *of;
    int n, cap;
};

static void free_group(struct group *g)
{
    for (int i = 0; i < g->n; i++)
        free(g->of[i].text);
    g->n = 0;
}

static bool keep_variant(struct group *g, const struct bioinfer_locus *l)
{
    const char *from[] = {l->chrom, l->name, l->reference, l->alternative, l->message};
    struct variant v = {.l = *l};
    const char **to[] = {&v.l.chrom, &v.l.name, &v.l.reference, &v.l.alternative, &v.l.message};
    size_t size = 0;
    char *p;

    if (g->n == g->cap) {
        int cap = g->cap ? 2 * g->cap : 16;
        struct variant *of = realloc(g->of, (size_t)cap * sizeof *of);
        if (!of)
            return false;
        g->of = of;
        g->cap = cap;
    }
    for (size_t i = 0; i < CLI_COUNT(from); i++)
        size += strlen(from[i]) + 1;
    if (!(p = v.text = malloc(size)))
        return false;
    for (size_t i = 0; i < CLI_COUNT(from); i++) {
        size_t n = strlen(from[i]) + 1;
        *to[i] = memcpy(p, from[i], n);
        p += n;
    }
    g->of[g->n++] = v;
    return true;
}

/* Letters of REF against the genome's, without regard to case. */
static int check_reference(struct run *run, const struct bioinfer_locus *l, int64_t start,
                           char *text)
{
    const char *bases = run->reference + (l->start - start);
    size_t n = strlen(l->reference);

    for (size_t i = 0; i < n; i++)
        if ((l->reference[i] | 0x20) != (bases[i] | 0x20)) {
            snprintf(text, MAX_TEXT,
                     "line %llu: REF is %.40s, the genome has %.*s at "
                     "%.60s:%lld",
                     (unsigned long long)l->line, l->reference, n < 40 ? (int)n : 40, bases,
                     l->chrom, (long long)l->start + 1);
            return BIOINFER_MISMATCH;
        }
    return 0;
}

/* The window with the alternative allele: what stands before it stays where it is, what stands
 * behind it moves, and the window's end is filled up from the genome. */
static int make_changed(struct run *run, const struct bioinfer_locus *l, int64_t start,
                        char *changed, struct bioinfer_error *err)
{
    const int64_t window = run->info.window, at = l->start - start;
    const int64_t old = (int64_t)strlen(l->reference), new = (int64_t)strlen(l->alternative);
    int64_t left = window - at - new, kept = window - at - old;

    memcpy(changed, run->reference, (size_t)at);
    memcpy(changed + at, l->alternative, (size_t)(left < 0 ? window - at : new));
    if (left <= 0)
        return 0;
    if (left <= kept) {
        memcpy(changed + at + new, run->reference + at + old, (size_t)left);
        return 0;
    }
    memcpy(changed + at + new, run->reference + at + old, (size_t)kept);
    memset(changed + at + new + kept, 'N', (size_t)(left - kept));
    if (start + window >= bioinfer_genome_length(run->genome, l->chrom))
        return 0;
    return bioinfer_genome_read(run->genome, l->chrom, start + window, start + window + left - kept,
                                changed + at + new + kept, err);
}

/* The first n changed windows; statuses: of each, with words. */
static int run_changed(struct run *run, int n, int *statuses, char (*texts)[MAX_TEXT],
                       struct bioinfer_error *err)
{
    const size_t window = (size_t)run->info.window;
    int st = n ? bioinfer_tracks_run_changed(run->tracks, (const char *const *)run->changed, n,
                                             window, run->others, err)
               : 0;

    if (!is_of_record(st))
        return st;
    for (int i = 0; i < n; i++) { /* which of them is it? */
        st = bioinfer_tracks_run(run->tracks, run->changed[i], window, BIOINFER_CHANGED,
                                 run->others + i * run->n_values, err);
        if (st && !is_of_record(st))
            return st;
        statuses[i] = st;
        snprintf(texts[i], MAX_TEXT, "%.1000s", st ? err->text : "");
    }
    return 0;
}

struct scoring {
    const struct run *run;
    const int *ran; /* status of each */
    struct scored *scored;
    _Atomic bool failed;
};

static void score_one(void *user, int at)
{
    struct scoring *s = user;
    if (!s->ran[at] && !make_scored(s->run, s->run->values, s->run->others + at * s->run->n_values,
                                    &s->scored[at]))
        s->failed = true;
}

/* Up to at_once variants of the reference window. st, why: what became of that. */
static int run_some(struct run *run, const struct variant *of, int n, int64_t start, int st,
                    const char *why)
{
    char(*texts)[MAX_TEXT] = run->texts, (*ran_texts)[MAX_TEXT] = run->texts + AT_ONCE;
    int statuses[AT_ONCE] = {0}, ran[AT_ONCE] = {0}, place[AT_ONCE], n_ran = 0;
    struct scored scored[AT_ONCE] = {{0}};
    struct scoring scoring = {run, ran, scored, false};
    int code = CLI_EXIT_OK;
    struct bioinfer_error err = {0};

    for (int i = 0; i < n; i++) {
        struct bioinfer_error e = {0};
        statuses[i] = st;
        snprintf(texts[i], MAX_TEXT, "%.1000s", why);
        if (!st)
            statuses[i] = check_reference(run, &of[i].l, start, texts[i]);
        if (!statuses[i] &&
            (statuses[i] = make_changed(run, &of[i].l, start, run->changed[n_ran], &e)))
            return run_failed(run, statuses[i], &e);
        place[i] = n_ran;
        n_ran += !statuses[i];
    }
    if ((st = run_changed(run, n_ran, ran, ran_texts, &err)))
        return run_failed(run, st, &err);
    cli_parallel(bioinfer_context_threads(run->cli->ctx), n_ran, score_one, &scoring);
    code = scoring.failed ? CLI_EXIT_NO_MEMORY : CLI_EXIT_OK;
    for (int i = 0; !code && i < n; i++) {
        const int at = place[i], status = statuses[i] ? statuses[i] : ran[at];
        code = put_variant(run, &of[i].l, status ? NULL : &scored[at], status,
                           statuses[i] ? texts[i] : ran_texts[at]);
    }
    for (int at = 0; at < n_ran; at++)
        free_scored(&scored[at]);
    return code;
}

/* A variant with a window of its own sets out, and is the run's own from there. */
static int start_variant(struct run *run, struct variant *v)
{
    struct flight *f;
    struct bioinfer_error err = {0};
    char text[MAX_TEXT];
    int64_t start;
    int code, st = read_window(run, v->l.chrom, v->l.start, &start, &err);

    if (st)
        return run_failed(run, st, &err);
    if ((st = check_reference(run, &v->l, start, text)))
        return (code = finish_flights(run)) ? code : put_variant(run, &v->l, NULL, st, text);
    if ((st = make_changed(run, &v->l, start, run->changed[0], &err)))
        return run_failed(run, st, &err);
    f = next_flight(run);
    f->variant = *v;
    v->text = NULL;
    return started(run,
                   bioinfer_tracks_start_pair(run->tracks, run->reference, run->changed[0],
                                              (size_t)run->info.window, f->values, &err),
                   &err);
}

/* One window for all variants of the group, which are on one contig. */
static int run_group(struct run *run, struct group *g)
{
    const size_t window = (size_t)run->info.window;
    int64_t start = 0;
    int code = CLI_EXIT_OK, st = 0;
    struct bioinfer_error err = {0};

    if (g->n == 1) {
        code = start_variant(run, &g->of[0]);
        free_group(g);
        return code;
    }
    if (g->n) {
        if ((code = finish_flights(run)))
            return code;
        st = read_window(run, g->of[0].l.chrom, (g->of[0].l.start + g->of[g->n - 1].l.start) / 2,
                         &start, &err);
        if (!st)
            st = bioinfer_tracks_run(run->tracks, run->reference, window, BIOINFER_REFERENCE,
                                     run->values, &err);
        if (st && !is_of_record(st))
            return run_failed(run, st, &err);
    }
    for (int i = 0; !code && i < g->n; i += run->at_once)
        code = run_some(run, g->of + i, g->n - i < run->at_once ? g->n - i : run->at_once, start,
                        st, err.text);
    free_group(g);
    return code;
}

static int run_variants(struct run *run)
{
    const int64_t cluster = run->cli->options->cluster;
    struct group g = {0};
    int st = 1, code = CLI_EXIT_OK;

    if (cluster >= run->info.window / 2) {
        cli_say(run->cli, "--cluster: %lld bases, a window has %lld: expected less than half",
                (long long)cluster, (long long)run->info.window);
        return CLI_EXIT_USAGE;
    }
    while (!code && st > 0) {
        struct bioinfer_error err = {0};
        struct bioinfer_locus l;
        char text[MAX_TEXT];
        int bad;
        if ((st = bioinfer_loci_next(run->loci, &l, &err)) < 0) {
            code = cli_fail(run->cli, CLI_AT_READ, st, &err);
            break;
        }
        if (!st)
            break;
        bad = l.status;
        snprintf(text, sizeof text, "%.1000s", l.message);
        if (!bad)
            bad = check_place(run->genome, &l, text, MAX_TEXT);
        if (!bad && l.end - l.start > run->info.window / 4) {
            snprintf(text, sizeof text,
                     "line %llu: REF of %lld bases, more than a quarter of "
                     "a window",
                     (unsigned long long)l.line, (long long)(l.end - l.start));
            bad = BIOINFER_TOO_LONG;
        }
        if (g.n && (bad || !cluster || strcmp(g.of[0].l.chrom, l.chrom) ||
                    l.start < g.of[g.n - 1].l.start || l.start - g.of[0].l.start > cluster))
            code = run_group(run, &g);
        if (!code && bad && !(code = finish_flights(run)))
            code = put_variant(run, &l, NULL, bad, text);
        else if (!code && !keep_variant(&g, &l))
            code = CLI_EXIT_NO_MEMORY;
    }
    if (!code && !(code = run_group(run, &g)))
        code = finish_flights(run);
    free_group(&g);
    free(g.of);
    return code;
}

/* ---- mutagenesis ---- */

/* scores [bases, 4, tracks]: SAD of each base at each place, 0 where it is the genome's own. */
static int run_ism(struct run *run, const struct bioinfer_locus *l)
{
    static const char letters[] = "ACGT";
    const int64_t n = l->end - l->start, tracks = run->info.n_tracks;
    const size_t window = (size_t)run->info.window;
    struct bioinfer_array a = {.kind = "ism", .layer = -1, .n_dims = 3, .shape = {n, 4, tracks}};
    struct bioinfer_error err = {0};
    char text[MAX_TEXT];
    float *scores = NULL;
    int64_t start, waiting[AT_ONCE];
    int n_waiting = 0, st = l->status, code = CLI_EXIT_OK;

    if (st)
        return put_result(run, l->name[0] ? l->name : l->chrom, l->ordinal, st, l->message, NULL,
                          1);
    st = check_place(run->genome, l, text, MAX_TEXT);
    if (!st && (n < 1 || n > run->info.window)) {
        snprintf(text, sizeof text, "line %llu: %lld bases, expected 1 to %lld",
                 (unsigned long long)l->line, (long long)n, (long long)run->info.window);
        st = BIOINFER_INVALID;
    }
    if (st)
        return put_result(run, l->name, l->ordinal, st, text, NULL, 1);
    if (!(scores = calloc((size_t)(n * 4 * tracks), sizeof *scores)))
        return CLI_EXIT_NO_MEMORY;
    a.data = scores;
    st = read_window(run, l->chrom, (l->start + l->end) / 2, &start, &err);
    if (!st)
        st = bioinfer_tracks_run(run->tracks, run->reference, window, BIOINFER_REFERENCE,
                                 run->values, &err);
    for (int i = 0; !st && i < run->at_once; i++)
        memcpy(run->changed[i], run->reference, window);
    for (int64_t i = 0; !st && i < 4 * n; i++) { /* base i % 4 at place i / 4 */
        const int64_t at = l->start - start + i / 4;
        const bool own = (run->reference[at] & ~0x20) == letters[i % 4];
        if (!own) {
            run->changed[n_waiting][at] = letters[i % 4];
            waiting[n_waiting++] = i;
        }
        if (n_waiting < run->at_once && i + 1 < 4 * n)
            continue;
        st = n_waiting ? bioinfer_tracks_run_changed(run->tracks, (const char *const *)run->changed,
                                                     n_waiting, window, run->others, &err)
                       : 0;
        for (int w = 0; w < n_waiting; w++) {
            const int64_t place = l->start - start + waiting[w] / 4;
            run->changed[w][place] = run->reference[place];
            for (int k = 0; !st && k < tracks; k++)
                scores[waiting[w] * tracks + k] = (float)score(
                    run, run->values, run->others + w * run->n_values, SAD, k);
        }
        n_waiting = 0;
        if (!st && cli_progress_tick(run->cli, run->n_records, (uint64_t)i)) {
            free(scores);
            return cli_fail(run->cli, CLI_AT_RUN, BIOINFER_CANCELLED, NULL);
        }
    }
    code = st && !is_of_record(st) ? run_failed(run, st, &err)
                                   : put_result(run, l->name, l->ordinal, st, err.text, &a, 1);
    free(scores);
    return code;
}

/* ---- the command ---- */

static int run_intervals(struct run *run)
{
    int code = CLI_EXIT_OK;

    while (!code) {
        struct bioinfer_error err = {0};
        struct bioinfer_locus l;
        int st = bioinfer_loci_next(run->loci, &l, &err);
        if (st <= 0)
            return st ? cli_fail(run->cli, CLI_AT_READ, st, &err) : finish_flights(run);
        code = run->cli->options->ism ? run_ism(run, &l) : run_interval(run, &l);
    }
    return code;
}

static int finish(struct run *run)
{
    struct bioinfer_error err = {0};
    int st = 0;

    if (run->to_coverage)
        return coverage_finish(&run->coverage, run->cli);
    if (!run->to_table && (st = cli_sign(run->cli, run->writer)))
        return st;
    st = run->to_table ? cli_output_finish(&run->table, &err)
                       : bioinfer_writer_finish(run->writer, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static int write_text(void *user, const char *text, size_t len)
{
    cli_output_write(user, text, len);
    return 0;
}

static int dump(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st;

    cli_output_open(&out, NULL, &err);
    st = bioinfer_tracks_dump(run->tracks, !o->dump_graph || strcmp(o->dump_graph, "plain"),
                              o->trace_rules, write_text, &out, &err);
    if (st)
        return cli_fail(run->cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static void say_summary(struct run *run)
{
    const struct cli *cli = run->cli;

    bioinfer_tracks_get_info(run->tracks, &run->info);
    if (cli->options->quiet)
        return;
    cli_say(run->cli,
            "%llu results in %.2f s: %llu whole windows, %llu by %llu changed tokens; model %s "
            "from %s, head %s, %s %s %s",
            (unsigned long long)(run->n_records - run->n_failed), cli_now() - cli->progress.start,
            (unsigned long long)run->info.n_whole, (unsigned long long)run->info.n_cut,
            (unsigned long long)run->info.cut_tokens, cli->info.name, cli->info.path,
            run->info.head, cli->info.device, cli->info.kernels, cli->info.precision);
}

int cli_tracks(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    int code;

    if ((code = read_shifts(&run, o->shifts)) || (code = read_stats(&run, o->stats)) ||
        (code = cli_open_context(cli)) || (code = open_input(&run)) ||
        (!(o->dump_graph || o->trace_rules) && (code = check_options(&run))) ||
        (code = cli_open_model(cli)) || (code = open_session(&run)))
        goto out;
    if (o->dump_graph || o->trace_rules) {
        code = dump(&run);
        goto out;
    }
    if ((code = open_output(&run)))
        goto out;
    cli_progress_start(cli);
    code = !run.loci ? run_records(&run) : run.variants ? run_variants(&run) : run_intervals(&run);
    cli_progress_end(cli);
    if (code)
        goto out;
    if (!run.n_records) {
        cli_say(cli, "%s: no records", cli->input_name);
        code = CLI_EXIT_DATA;
        goto out;
    }
    if ((code = finish(&run)))
        goto out;
    say_summary(&run);
    if (cli->options->profile) {
        struct bioinfer_profile profile = {.struct_size = sizeof profile};
        if (!bioinfer_tracks_get_profile(run.tracks, &profile))
            cli_show_profile(cli, &profile);
    }
    if (run.n_failed) {
        cli_say(cli, "%llu of %llu records have no result", (unsigned long long)run.n_failed,
                (unsigned long long)run.n_records);
        code = CLI_EXIT_RECORDS;
    }
out:
    cli_output_close(&run.table);
    bioinfer_writer_close(&run.writer);
    coverage_close(&run.coverage);
    targets_free(&run.targets);
    free(run.chosen.of);
    free(run.reference);
    for (int i = 0; i < AT_ONCE; i++)
        free(run.changed[i]);
    for (int i = 0; i < BIOINFER_STARTED; i++) {
        free_flight(&run.flights[i]);
        free(run.flights[i].values);
    }
    free(run.values);
    free(run.texts);
    free(run.others);
    bioinfer_tracks_free(&run.tracks);
    bioinfer_loci_close(&run.loci);
    bioinfer_genome_close(&run.genome);
    return code;
}

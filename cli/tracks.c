/* tracks.c - `bioinfer MODEL INPUT` for models of DNA windows.
 *
 * Windows come from FASTA records as they are, from the middles of BED intervals, or from VCF:
 * there every variant's window is run with both alleles, or several variants share one
 * (--cluster). A substitution reuses the reference's features, which changes no bit.
 *
 * Sections: options, output, results, the run, the command. */
#include "scores.h"
#include "pool/worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    struct cli *cli;
    struct tracker *tracker; /* the task's state, which is cli->task */
    struct cli_pool *pool;   /* NULL: this process computes */
    struct tracks_input input;
    bioinfer_job *job;       /* NULL: results go to one of ... */
    bioinfer_writer *writer; /* ... these */
    struct cli_output table; /* TSV of variants */
    char *path;              /* output, where that is a folder */
    struct cli_output names; /* files in it, a line each */
    struct bioinfer_job_stats stats;
    enum cli_stage stage; /* the stage at which the run failed */
    uint64_t n_records, n_failed;
    uint64_t n_whole, n_cut, cut_tokens; /* whole windows, changed ones, tokens of these */
};

/* ---- options ---- */

static bool is(const char *format, const char *name)
{
    return format && !strcmp(format, name);
}

/* Says why contributions cannot be had; false: they cannot. */
static bool may_explain(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const char *why = run->tracker->kind == &variants_kind ? "of variants: give it intervals, a BED"
                      : o->ism                             ? "beside --ism: ask for one of them"
                      : o->rc     ? "with --rc: they are those of one strand"
                      : o->shifts ? "with --shifts: they are those of a window as it is"
                      : is(o->precision, "fp16") ? "in fp16: they are computed in float32"
                                                 : NULL;

    if (o->bins && !o->contributions) {
        cli_say(run->cli, "--bins says which bins --contributions explains");
        return false;
    }
    if (o->contributions && why) {
        cli_say(run->cli, "--contributions cannot be had %s", why);
        return false;
    }
    if (o->contributions && !o->tracks) {
        cli_say(run->cli, "--contributions explains the mean of tracks: say which by --tracks");
        return false;
    }
    return true;
}

/* Refuses what scorers do not go with. */
static int check_scorers(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const char *other = o->stats        ? "--stats"
                        : o->indel      ? "--indel"
                        : o->head       ? "--head"
                        : o->outputs    ? "--outputs"
                        : o->resolution ? "--resolution"
                        : o->rc         ? "--rc"
                        : o->shifts     ? "--shifts"
                        : o->dry_run    ? "--dry-run"
                                        : NULL;

    if (run->tracker->kind != &variants_kind) {
        cli_say(run->cli, "%s holds %s, and --scorers takes variants: a VCF", run->cli->input_name,
                run->tracker->kind->holds);
        return CLI_EXIT_USAGE;
    }
    if (!run->tracker->to_table) {
        cli_say(run->cli, "--scorers makes a table: --format tsv, or an output .tsv");
        return CLI_EXIT_USAGE;
    }
    if (other)
        cli_say(run->cli, "--scorers does not go with %s", other);
    return other ? CLI_EXIT_USAGE : CLI_EXIT_OK;
}

/* Is a file called as those of variants and intervals are, compressed or not? */
static bool names_places(const char *name)
{
    static const char *const ends[] = {".vcf", ".vcf.gz", ".vcf.bgz",
                                       ".bed", ".bed.gz", ".bed.bgz"};
    bool found = false;

    for (size_t i = 0; name && i < CLI_COUNT(ends); i++)
        found |= cli_ends_with(name, ends[i]);
    return found;
}

/* Refuses what the options cannot ask for together. */
static int check_options(struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const struct kind *kind = run->tracker->kind;
    const char *name = run->cli->input_name, *holds = kind->holds;
    const bool coverage = run->tracker->to_coverage;
    const bool variants = kind == &variants_kind, records = kind == &records_kind;
    int code;

    if (!o->genome && names_places(name)) {
        cli_say(run->cli, "%s: variants and intervals lie in a genome: --genome FASTA says which",
                name);
        return CLI_EXIT_USAGE;
    }
    if (o->scorers && (code = check_scorers(run)))
        return code;
    if (o->ism && (records || variants)) {
        cli_say(run->cli, "%s holds %s, and --ism takes intervals: --genome FASTA and a BED", name,
                holds);
        return CLI_EXIT_USAGE;
    }
    if (coverage && (records || variants || o->ism)) {
        cli_say(run->cli, "%s holds %s, and --format %s takes intervals: --genome FASTA and a BED",
                name, holds, o->format);
        return CLI_EXIT_USAGE;
    }
    if ((o->stats || o->cluster || o->indel) && o->genome && !variants) {
        cli_say(run->cli, "%s holds %s, and --%s takes variants: a VCF", name, holds,
                o->stats     ? "stats"
                : o->cluster ? "cluster"
                             : "indel");
        return CLI_EXIT_USAGE;
    }
    if (!variants && (is(o->format, "tsv") || is(o->format, "npy"))) {
        cli_say(run->cli,
                "%s holds %s, and --format %s takes variants; tracks go to npz, h5, "
                "safetensors, jsonl, bedgraph or bigwig",
                name, holds, o->format);
        return CLI_EXIT_USAGE;
    }
    if (!may_explain(run))
        return CLI_EXIT_USAGE;
    if (!cli_job_needs_file(run->cli, o->output))
        return CLI_EXIT_USAGE;
    if (!run->tracker->to_table && !o->output && !o->dry_run) {
        cli_say(run->cli, "name the output with -o");
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

/* Says which outputs and scorers are left out, and refuses a format for bins where an output gives
 * pairs. */
static int check_outputs(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    const struct tracker *t = run->tracker;

    if (t->unfit)
        cli_say(run->cli,
                "--rc: the table of tracks that comes with bioinfer is of other weights, so "
                "strands keep their tracks: --targets FILE");
    if (o->rc && o->targets && t->n_outputs && !t->of[0].targets.has_pairs)
        cli_say(run->cli, "--rc: %s has no column 'strand_pair', so strands keep their tracks",
                o->targets);
    if (t->left_out[0])
        cli_say(run->cli, "no track of %s is meant by --%s: left out", t->left_out,
                o->tracks ? "tracks" : "ontology");
    if (t->without[0] && !o->quiet)
        cli_say(run->cli, "--scorers recommended: without SpliceJunctionScorer(): %s", t->without);
    for (int i = 0; t->to_coverage && i < t->n_outputs; i++) {
        const struct output_facts *is = &t->of[i].is;
        if (is->kind == BIOINFER_BINS)
            continue;
        cli_say(run->cli, "output %s gives pairs of %s, and --format %s takes bins: npz, h5, ...",
                is->name, is->kind == BIOINFER_GRID ? "bins" : "splice sites", o->format);
        return CLI_EXIT_USAGE;
    }
    return CLI_EXIT_OK;
}

/* ---- output ---- */

static void put_header(const struct tracker *t, struct cli_output *to)
{
    if (t->scores) {
        scores_put_header(t, to);
        return;
    }
    cli_output_printf(to, "chrom\tpos\tid\tref\talt\tstatus");
    for (int s = 0; s < t->n_stats; s++)
        for (int i = 0; i < t->n_outputs; i++)
            for (int k = 0; k < t->of[i].chosen.n; k++) {
                char name[300];
                track_name(name, sizeof name, &t->of[i].targets, t->of[i].chosen.of[k]);
                cli_output_printf(to, "\t%s:%s%s%s", stat_names[t->stats_of[s]],
                                  t->n_outputs > 1 ? t->of[i].is.array : "",
                                  t->n_outputs > 1 ? ":" : "", name);
            }
    cli_output_printf(to, "\n");
}

/* All that changes results and is neither a file nor part of the model's fingerprint. */
static void describe_options(const struct tracker *t, struct cli_output *text)
{
    const struct cli_options *o = t->cli->options;

    cli_output_printf(text, "kind=%s window=%lld rc=%d cluster=%lld ism=%d positions=%s",
                      t->kind->holds, (long long)t->info.window, o->rc, (long long)o->cluster,
                      o->ism, o->positions ? o->positions : "");
    cli_output_printf(text, " shifts=%s", t->n_shifts ? "" : "0");
    for (int i = 0; i < t->n_shifts; i++)
        cli_output_printf(text, "%s%d", i ? "," : "", t->shifts[i]);
    cli_output_printf(text, " stats=");
    for (int i = 0; t->kind == &variants_kind && i < t->n_stats; i++)
        cli_output_printf(text, "%s%s", i ? "," : "", stat_names[t->stats_of[i]]);
    if (t->kind == &variants_kind && !o->scorers)
        cli_output_printf(text, " indel=%s", o->indel ? o->indel : "both");
    if (o->contributions)
        cli_output_printf(text, " contributions=%lld-%lld", (long long)t->first_bin,
                          (long long)t->n_bins);
    if (o->scorers)
        cli_output_printf(text, " scorers=%s of=lists organism=%s tracks=%s ontology=%s",
                          o->scorers, o->organism ? o->organism : "", o->tracks ? o->tracks : "",
                          o->ontology ? o->ontology : "");
    cli_output_printf(text, " no-rule=%s", o->no_rules);
    for (int i = 0; i < t->n_outputs; i++) {
        cli_output_printf(text, " head=%s tracks=", t->of[i].is.name);
        for (int k = 0; k < t->of[i].chosen.n; k++)
            cli_output_printf(text, "%s%d", k ? "," : "", t->of[i].chosen.of[k]);
    }
    cli_output_write(text, "", 1);
}

/* Adds a file that decides results, where there is one of that name. */
static void add_input(struct bioinfer_job_params *params, struct bioinfer_job_input *to,
                      const char *role, const char *path)
{
    if (path && !access(path, R_OK))
        to[params->n_inputs++] = (struct bioinfer_job_input){role, path};
}

static int open_job(struct run *run)
{
    struct cli *cli = run->cli;
    const struct tracker *t = run->tracker;
    const struct cli_options *o = cli->options;
    struct bioinfer_job_params params = cli_job_params(cli, "tracks");
    struct bioinfer_writer_params writer;
    struct bioinfer_job_input inputs[8];
    struct cli_output options = {0}, head = {0}, index = {0}, blocks = {0};
    struct bioinfer_error err = {0};
    int st, code = cli_fingerprint(cli);

    if (code)
        return code;
    writer = cli_writer_params(cli);
    describe_options(t, &options);
    put_header(t, &head);
    cli_output_write(&head, "", 1);
    cli_output_printf(&index, "%s.fai%c", o->genome ? o->genome : "", 0);
    cli_output_printf(&blocks, "%s.gzi%c", o->genome ? o->genome : "", 0);
    st = options.status || head.status || index.status || blocks.status ? BIOINFER_NOMEM : 0;
    if (!st) {
        add_input(&params, inputs, "genome", o->genome);
        add_input(&params, inputs, "genome index", o->genome ? index.text : NULL);
        add_input(&params, inputs, "genome blocks", o->genome ? blocks.text : NULL);
        add_input(&params, inputs, "targets", t->table[0] ? t->table : NULL);
        add_input(&params, inputs, "positions", o->positions);
        add_input(&params, inputs, "genes", o->gtf);
        add_input(&params, inputs, "polyadenylation", o->polya);
        add_input(&params, inputs, "quantiles", o->quantiles);
        writer.tracks = run->names.text;
        params.writer = &writer;
        params.options = options.text;
        params.inputs = inputs;
        params.units = t->kind == &variants_kind;
        params.text_head = t->to_table ? head.text : NULL;
        st = bioinfer_job_open(&run->job, cli->ctx, run->path ? run->path : o->output, &params,
                               &err);
    }
    cli_output_close(&options);
    cli_output_close(&head);
    cli_output_close(&index);
    cli_output_close(&blocks);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* Names the files of an output: identifiers of tracks may repeat, their numbers do not. */
static void name_files_of(struct run *run, const struct output *o)
{
    char name[200];

    if (run->cli->options->contributions)
        cli_output_printf(&run->names, "contributions\n");
    for (int i = 0; i < o->chosen.n && !run->cli->options->contributions; i++) {
        track_name(name, sizeof name, &o->targets, o->chosen.of[i]);
        for (char *p = name; *p; p++)
            *p = *p == '\n' ? '_' : *p;
        if (run->tracker->n_outputs > 1)
            cli_output_printf(&run->names, "%s_", o->is.array);
        if (o->targets.of)
            cli_output_printf(&run->names, "%d_%s\n", o->chosen.of[i], name);
        else
            cli_output_printf(&run->names, "%s\n", name);
    }
}

/* Names the folder of bedGraph and BigWig, and its files. */
static int name_files(struct run *run)
{
    for (int i = 0; i < run->tracker->n_outputs; i++)
        name_files_of(run, &run->tracker->of[i]);
    cli_output_write(&run->names, "", 1);
    run->path = cli_without_slash(run->cli->options->output);
    return run->path && !run->names.status ? CLI_EXIT_OK
                                           : cli_fail(run->cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
}

static int open_output(struct run *run)
{
    struct cli *cli = run->cli;
    const struct tracker *t = run->tracker;
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct bioinfer_writer_params params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = o->format, .model = cli->info.name,
        .suffix_duplicates = o->dup_ids && !strcmp(o->dup_ids, "suffix"));
    int st;

    if (t->to_coverage && (st = name_files(run)))
        return st;
    if (cli_job_wanted(o))
        return open_job(run);
    params.tracks = run->names.text;
    if (t->to_table) {
        if ((st = cli_output_open(&run->table, o->output, &err)))
            return cli_fail(cli, CLI_AT_CREATE, st, &err);
        put_header(t, &run->table);
        return CLI_EXIT_OK;
    }
    if ((st = cli_sign_first(cli, &params, &err)))
        return cli_fail(cli, CLI_AT_MODEL, st, &err);
    st = bioinfer_writer_open(&run->writer, cli->ctx, run->path ? run->path : o->output, &params,
                              &err);
    return st ? cli_fail(cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

/* ---- results ---- */

static int lose_place(struct run *run, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    run->n_failed++;
    cli_say_lost(run->cli, "%s: no result: %s: %s", r->id, bioinfer_status_name(r->status),
                 r->message);
    if (!run->cli->options->strict)
        return 0;
    run->stage = CLI_AT_READ;
    run->cli->lost_record = true;
    err->status = BIOINFER_FORMAT;
    snprintf(err->text, sizeof err->text, "--strict: stopped, nothing written");
    return BIOINFER_FORMAT;
}

/* Writes a result to the output of a run without a journal, where every piece is a record. */
static int write_result(struct run *run, struct bioinfer_result *r, struct bioinfer_error *err)
{
    const struct tracker *t = run->tracker;

    if (t->to_table) {
        if (r->n_texts) /* a variant without scores has no rows */
            cli_output_write(&run->table, r->texts[0].text, r->texts[0].length);
        return run->table.status;
    }
    r->ordinal = run->n_records - 1;
    r->piece = 0;
    r->more = 0;
    return bioinfer_writer_put(run->writer, r, err);
}

/* A bioinfer_sink: the pieces of a record are the results of its places. */
static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct run *run = user;
    struct cli_progress *p = &run->cli->progress;
    struct bioinfer_result r = *result;
    unsigned long long counts[3] = {0};
    int st;

    if (!r.more)
        cli_take_counts(&r, counts, 3);
    run->n_whole += counts[0];
    run->n_cut += counts[1];
    run->cut_tokens += counts[2];
    run->n_records++;
    if (r.status && (st = lose_place(run, &r, err)))
        return st;
    if (!run->pool && /* which does so */
        cli_progress_tick(run->cli, p->records + 1, p->residues + (uint64_t)r.length))
        return BIOINFER_CANCELLED;
    st = run->job ? bioinfer_job_sink(run->job, &r, err) : write_result(run, &r, err);
    if (st)
        run->stage = CLI_AT_WRITE;
    return st;
}

/* ---- the run ---- */

/* The records that the job hands out. */
static int take_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct run *run = user;
    int st = run->job ? bioinfer_job_source(run->job, record, err)
                      : tracks_input_next(&run->input, record, err);

    if (st < 0 && run->stage == CLI_AT_RUN)
        run->stage = run->input.failed || (st != BIOINFER_NO_SPACE && st != BIOINFER_IO)
                         ? CLI_AT_READ
                         : CLI_AT_WRITE;
    return st;
}

static int pending(void *user)
{
    struct run *run = user;

    return bioinfer_job_pending(run->job);
}

static bool any_records(struct run *run)
{
    run->stats.struct_size = sizeof run->stats;
    /* records of the journal count, too: an input that holds none now is not the one it was */
    return run->n_records || (run->job && !bioinfer_job_get_stats(run->job, &run->stats) &&
                              (run->stats.input_records || run->stats.records));
}

static int run_all(struct run *run)
{
    struct cli *cli = run->cli;
    const struct cli_run_io io = {.source = take_record,
                                  .sink = take_result,
                                  .pending = run->job ? pending : NULL,
                                  .user = run,
                                  .input_size = cli_plain_size(cli->options->input),
                                  .in_order = !run->job,
                                  .whole = run->tracker->kind == &variants_kind};
    struct bioinfer_error err = {0};
    int st;

    if (run->job)
        bioinfer_job_set_source(run->job, tracks_input_next, &run->input);
    st = cli_task_run(cli, &cli_tracks_task, run->pool, &io, &err);
    if (run->table.status)
        st = cli_output_finish(&run->table, &err); /* which knows the reason */
    if (st && run->stage == CLI_AT_RUN && (st == BIOINFER_FORMAT || st == BIOINFER_IO))
        run->stage = CLI_AT_READ; /* the genome was being read */
    if (st)
        return cli_fail(cli, cli_stop_signal() ? CLI_AT_RUN : run->stage, st, &err);
    if (any_records(run))
        return CLI_EXIT_OK;
    cli_say(cli, "%s: no records", cli->input_name);
    if (run->job)
        bioinfer_job_discard(run->job);
    return CLI_EXIT_DATA;
}

/* ---- the command ---- */

static int finish(struct run *run)
{
    struct bioinfer_error err = {0};
    int st = 0;

    if (run->job)
        return cli_job_finish(run->cli, run->job, &run->stats);
    if (!run->tracker->to_table && !run->tracker->to_coverage &&
        (st = cli_sign(run->cli, run->writer)))
        return st;
    st = run->tracker->to_table ? cli_output_finish(&run->table, &err)
                                : bioinfer_writer_finish(run->writer, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static int dump(const struct run *run)
{
    const struct cli_options *o = run->cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    int st;

    cli_output_open(&out, NULL, &err);
    st = bioinfer_task_dump(run->tracker->tracks, 1,
                            !o->dump_graph || strcmp(o->dump_graph, "plain"), o->trace_rules,
                            cli_output_callback, &out, &err);
    if (st)
        return cli_fail(run->cli, CLI_AT_RUN, st, &err);
    st = cli_output_finish(&out, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static void say_summary(struct run *run)
{
    const struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    const struct bioinfer_job_stats *stats = &run->stats;
    char before[48] = "", names[200], what[220];

    if (cli->options->quiet)
        return;
    outputs_name(run->tracker, names, sizeof names);
    snprintf(what, sizeof what, "output%s %s", run->tracker->n_outputs > 1 ? "s" : "", names);
    if (cli->options->scorers)
        snprintf(what, sizeof what, "scorers %s", cli->options->scorers);
    if (stats->resumed)
        snprintf(before, sizeof before, ", %llu from before", (unsigned long long)stats->resumed);
    cli_say(run->cli,
            "%llu results%s in %.2f s: %llu whole windows, %llu by %llu changed tokens; model %s "
            "from %s, %s, %s %s %s",
            (unsigned long long)(run->job ? stats->records - stats->failed
                                          : run->n_records - run->n_failed),
            before, cli_now() - cli->progress.start, (unsigned long long)run->n_whole,
            (unsigned long long)run->n_cut, (unsigned long long)run->cut_tokens, cli->info.name,
            cli->info.path, what, cli->info.device, cli->info.kernels, cli->info.precision);
    if (run->input.n_indels && !cli->options->scorers)
        cli_say(run->cli, "%llu insertions and deletions: %s",
                (unsigned long long)run->input.n_indels,
                !o->indel || !strcmp(o->indel, "both")
                    ? "means of two alignments, left and right (--indel)"
                : !strcmp(o->indel, "left") ? "their left side is compared in place"
                                            : "their right side is compared in place");
    if (run->job)
        cli_job_say_shard(run->cli, stats, run->path ? run->path : cli->options->output);
}

/* Says how many records have no result, if there are any. */
static int end_code(struct run *run)
{
    struct cli *cli = run->cli;

    if (run->job ? !run->stats.failed : !run->n_failed)
        return CLI_EXIT_OK;
    if (run->job)
        cli_job_say_failed(cli, "records", &run->stats,
                           cli->options->n_shards ? NULL
                           : run->path            ? run->path
                                                  : cli->options->output);
    else
        cli_say(cli, "%llu of %llu records have no result", (unsigned long long)run->n_failed,
                (unsigned long long)run->n_records);
    return CLI_EXIT_RECORDS;
}

/* Opens the task, here or in workers; an exit code. */
static int open_run(struct run *run)
{
    struct cli *cli = run->cli;
    int code;

    if ((code = cli_tracks_task.begin(cli)))
        return code;
    run->tracker = cli->task;
    if ((code = cli_open_context(cli)) || (code = tracks_input_open(&run->input, run->tracker)))
        return code;
    tracker_set_kind(run->tracker);
    if (!(cli->options->dump_graph || cli->options->trace_rules) && (code = check_options(run)))
        return code;
    if ((code = cli_task_open(cli, &cli_tracks_task, &run->pool)))
        return code;
    return check_outputs(run);
}

/* Computes all, and tells how it went; an exit code. */
static int run_and_finish(struct run *run)
{
    struct cli *cli = run->cli;
    int code = open_output(run);

    if (code)
        return code;
    cli_progress_start(cli);
    code = run_all(run);
    cli_progress_end(cli);
    if (code)
        return cli_job_stopped(cli, run->job, code);
    if ((code = finish(run)))
        return code;
    say_summary(run);
    if (cli->options->profile && !run->pool)
        cli_tracks_task.profile(cli);
    return end_code(run);
}

static int dry_run(struct run *run)
{
    const struct cli_dry how = {.next = tracks_input_next,
                                .user = &run->input,
                                .weigh = cli_tracks_task.weigh,
                                .run = cli_tracks_task.run,
                                .task = run->tracker->tracks};

    return cli_dry_measure(run->cli, &how);
}

int cli_tracks(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli, .stage = CLI_AT_RUN};
    int code;

    if (o->list_outputs)
        return outputs_list(cli);
    if (!(code = open_run(&run)))
        code = o->dump_graph || o->trace_rules ? dump(&run)
               : o->dry_run                    ? dry_run(&run)
                                               : run_and_finish(&run);
    cli_pool_close(&run.pool);
    bioinfer_job_close(&run.job);
    cli_output_close(&run.table);
    bioinfer_writer_close(&run.writer);
    cli_output_close(&run.names);
    free(run.path);
    tracks_input_close(&run.input);
    cli_tracks_task.end(cli);
    return code;
}

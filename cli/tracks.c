/* tracks.c - `bioinfer MODEL INPUT` for models of DNA windows.
 *
 * Windows come from FASTA records as they are, from the middles of BED intervals, or from VCF:
 * there every variant's window is run with both alleles, or several variants share one
 * (--cluster). A substitution reuses the reference's features, which changes no bit. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tracking {
    struct cli_run run;
    struct tracks_input input;
    char *path;                      /* names the output, where that is a folder */
    struct cli_output index, blocks; /* paths beside the genome */
};

/* ---- how a run begins ---- */

static int begin(struct cli_run *run)
{
    return cli_task_begin(run->cli, run->task);
}

static int open_input(struct cli_run *run)
{
    const struct cli_options *o = run->cli->options;
    struct tracker *t = run->cli->task;
    const int code = tracks_input_open(run->source_user, t);
    if (code)
        return code;
    tracker_set_kind(t);
    run->units = t->kind == BIOINFER_VARIANTS;
    return o->dump_graph || o->trace_rules ? CLI_EXIT_OK : tracks_check_options(t);
}

/* Learns from the open task what the output is. */
static int learn_output(struct cli_run *run)
{
    struct tracking *x = (struct tracking *)run;
    const struct tracker *t = run->cli->task;
    const char *output = run->cli->options->output;
    if (t->to_table)
        run->head = t->header.text;
    if (t->to_coverage && output) { /* a folder; --dry-run needs none */
        if (!(x->path = cli_without_slash(output)))
            return cli_fail(run->cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
        run->output = x->path;
        run->tracks = t->files.text;
    }
    return tracks_check_outputs(t);
}

/* ---- the job ---- */

/* Adds a file that decides results, where there is one of that name. */
static void add_input(struct cli_run *run, const char *role, const char *path)
{
    cli_run_input(run, role, path && !access(path, R_OK) ? path : NULL);
}

/* by enum bioinfer_indel */
static const char *const sides[] = {"both", "left", "right"};

static void describe(struct cli_run *run, struct cli_output *text)
{
    struct tracking *x = (struct tracking *)run;
    const struct tracker *t = run->cli->task;
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_variants_params *p = t->p;
    const char *stat;
    int n;
    cli_output_printf(text, "kind=%s window=%lld rc=%d cluster=%lld ism=%d positions=%s",
                      t->work.cli->told, (long long)t->is.window, p->reverse_complement,
                      (long long)o->cluster, o->ism, o->positions ? o->positions : "");
    cli_output_printf(text, " shifts=%s", p->n_shifts ? "" : "0");
    for (int i = 0; i < p->n_shifts; i++)
        cli_output_printf(text, "%s%d", i ? "," : "", p->shifts[i]);
    cli_output_printf(text, " stats=");
    for (int i = 0; t->kind == BIOINFER_VARIANTS && (stat = cli_variant_stat(p->stats, i, &n)); i++)
        cli_output_printf(text, "%s%.*s", i ? "," : "", n, stat);
    if (t->kind == BIOINFER_VARIANTS && !p->scorers)
        cli_output_printf(text, " indel=%s", sides[p->indel]);
    if (p->contributions)
        cli_output_printf(text, " contributions=%lld-%lld", (long long)p->first_bin,
                          (long long)p->n_bins);
    if (p->scorers)
        cli_output_printf(text, " scorers=%s of=lists organism=%s tracks=%s ontology=%s",
                          p->scorers, p->organism ? p->organism : "", p->tracks ? p->tracks : "",
                          p->ontology ? p->ontology : "");
    cli_output_printf(text, " no-rule=%s", p->no_rules ? p->no_rules : "");
    cli_output_printf(text, "%s", t->described.text);
    cli_output_printf(&x->index, "%s.fai%c", o->genome ? o->genome : "", 0);
    cli_output_printf(&x->blocks, "%s.gzi%c", o->genome ? o->genome : "", 0);
    if (x->index.status || x->blocks.status) {
        text->status = BIOINFER_NOMEM;
        return;
    }
    add_input(run, "genome", o->genome);
    add_input(run, "genome index", o->genome ? x->index.text : NULL);
    add_input(run, "genome blocks", o->genome ? x->blocks.text : NULL);
    add_input(run, "targets", t->is.table[0] ? t->is.table : NULL);
    add_input(run, "positions", o->positions);
    add_input(run, "genes", p->gtf);
    add_input(run, "polyadenylation", p->polya);
    add_input(run, "quantiles", p->quantiles);
}

/* ---- results ---- */

/* Shows that a result is there; pieces of a record are the results of its places. */
static int take(struct cli_run *run, struct bioinfer_result *r, struct bioinfer_error *err)
{
    const struct cli_progress *p = &run->cli->progress;
    (void)err;
    return run->pool /* which does so */
               ? 0
               : cli_progress_tick(run->cli, p->records + 1, p->residues + (uint64_t)r->length);
}

static void say(struct cli_run *run)
{
    const struct cli *cli = run->cli;
    const struct bioinfer_job_stats *stats = &run->stats;
    const struct tracker *t = cli->task;
    const uint64_t n_indels = bioinfer_places_indels(((struct tracking *)run)->input.places);
    char before[48] = "", names[200], what[220];
    tracks_name_outputs(t, names, sizeof names);
    snprintf(what, sizeof what, "output%s %s", t->is.n_outputs > 1 ? "s" : "", names);
    if (t->p->scorers)
        snprintf(what, sizeof what, "scorers %s", t->p->scorers);
    if (stats->resumed)
        snprintf(before, sizeof before, ", %llu from before", (unsigned long long)stats->resumed);
    cli_say(run->cli,
            "%llu results%s in %.2f s: %llu whole windows, %llu by %llu changed tokens; model %s "
            "from %s, %s, %s %s %s",
            (unsigned long long)(run->job ? stats->records - stats->failed
                                          : run->n_records - run->n_failed),
            before, cli_now() - cli->progress.start, run->counts[0], run->counts[1], run->counts[2],
            cli->info.name, cli->info.path, what, cli->info.device, cli->info.kernels,
            cli->info.precision);
    if (n_indels && !t->p->scorers)
        cli_say(run->cli, "%llu insertions and deletions: %s", (unsigned long long)n_indels,
                t->p->indel == BIOINFER_INDEL_BOTH
                    ? "means of two alignments, left and right (--indel)"
                : t->p->indel == BIOINFER_INDEL_LEFT ? "their left side is compared in place"
                                                     : "their right side is compared in place");
}

int cli_tracks(struct cli *cli)
{
    struct tracking x = {.run = {.cli = cli,
                                 .task = &cli_tracks_task,
                                 .check = begin,
                                 .open = open_input,
                                 .ready = learn_output,
                                 .source = tracks_input_next,
                                 .source_user = &x.input,
                                 .reads = true,
                                 .tokens = 1,
                                 .describe = describe,
                                 .take = take,
                                 .records = "records",
                                 .result = "result",
                                 .say = say}};
    int code;
    if (cli->options->list_outputs)
        return outputs_list(cli);
    code = cli_run(&x.run);
    tracks_input_close(&x.input);
    cli_output_close(&x.index);
    cli_output_close(&x.blocks);
    free(x.path);
    return code;
}

/* design.c - `bioinfer MODEL STRUCTURE...` for models that design sequences: FASTA with the
 * reference's headers, a table, or arrays. */
#include "design.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct designing {
    struct cli_run run;
    struct cli_paths structures;
    size_t n_read; /* structures that were read */
    char id[512];
    char head[256]; /* the first line of a table */
};

/* ---- structures in ---- */

/* A bioinfer_source: the name of a structure, and its path for a sequence. */
static int next_structure(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct designing *x = user;
    const char *path, *base;
    (void)err;
    if (x->n_read == x->structures.n)
        return 0;
    path = x->structures.of[x->n_read];
    base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    snprintf(x->id, sizeof x->id, "%.*s", (int)cli_structure_stem(base), base);
    *record = (struct bioinfer_record){.id = x->id,
                                       .description = "",
                                       .message = "",
                                       .sequence = path,
                                       .length = strlen(path),
                                       .ordinal = x->n_read++};
    return 1;
}

/* A worker opens a structure by its path, maybe for the second time, so a pipe will not do. */
static int check_files(struct designing *x)
{
    struct stat st;
    for (size_t i = 0; i < x->structures.n; i++) {
        if (stat(x->structures.of[i], &st))
            continue; /* who reads it says why */
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
            cli_say(x->run.cli, "%s: not a file; workers (--workers, --device) take files alone",
                    x->structures.of[i]);
            return CLI_EXIT_USAGE;
        }
        x->run.input_size += (uint64_t)st.st_size;
    }
    return CLI_EXIT_OK;
}

/* Names the options that change how letters are drawn, where none are. */
static void say_unused(struct cli *cli)
{
    static const char *const all[] = {"temperature", "tied",         "omit-aa", "omit",
                                      "bias",        "bias-residue", "pssm"};
    struct cli_output text = {0};
    for (size_t i = 0; i < CLI_COUNT(all); i++)
        if (cli_given(cli->options, all[i]))
            cli_output_printf(&text, "%s--%s", text.n_text ? ", " : "", all[i]);
    cli_output_write(&text, "", 1);
    if (!text.status && text.n_text > 1 && !cli->options->quiet)
        cli_say(cli, "no letters are drawn: %s changes nothing", text.text);
    cli_output_close(&text);
}

/* Finds the structures and checks the options. */
static int check(struct cli_run *run)
{
    struct designing *x = (struct designing *)run;
    struct cli *cli = run->cli;
    struct cli_designer *d;
    int code;
    if (!cli_job_needs_file(cli, cli->options->output))
        return CLI_EXIT_USAGE;
    if ((code = cli_task_begin(cli, run->task)) ||
        (code = cli_structures_find(cli, &x->structures)))
        return code;
    d = cli->task;
    if (d->params->mode != BIOINFER_DESIGN_SAMPLE)
        say_unused(cli);
    d->all = &x->structures;
    if (d->format != CLI_ARRAYS)
        run->head = cli_design_head(cli, d->format, x->head, sizeof x->head);
    return cli_task_pooled(cli, run->task) ? check_files(x) : CLI_EXIT_OK;
}

/* ---- the job ---- */

static void describe(struct cli_run *run, struct cli_output *text)
{
    static const char *const formats[] = {"fasta", "tsv", "arrays"};
    const struct cli_options *o = run->cli->options;
    const struct cli_designer *d = run->cli->task;
    const struct bioinfer_design_params *p = d->params;
    const struct {
        const char *role;
        const struct bioinfer_text *file;
    } files[CLI_RUN_INPUTS] = {{"chains", p->chains_json}, {"fixed", p->fixed_json},
                               {"tied", p->tied_json},     {"omit", p->omit_json},
                               {"bias", p->bias_json},     {"bias-residue", p->bias_residue_json},
                               {"pssm", p->pssm_json},     {"sequences", p->sequences}};
    const char *rng = cli_given(o, "rng");
    cli_output_printf(text,
                      "format=%s include=%u mode=%d rng=%s seed=%llu rng-skip=%lld "
                      "num-seq=%d batch=%d temperature=",
                      formats[d->format], o->design_include, p->mode, rng ? rng : "native",
                      (unsigned long long)(p->seed ? p->seed : 37),
                      p->no_rng_skip ? -1LL : (long long)p->rng_skip,
                      p->n_sequences ? p->n_sequences : 1, p->per_draw ? p->per_draw : 1);
    for (int i = 0; i < p->n_temperatures; i++)
        cli_output_printf(text, "%s%.17g", i ? "," : "", p->temperatures[i]);
    cli_output_printf(text, "%s backbone-noise=%.17g chains=%s homooligomer=%d omit-aa=%s",
                      p->n_temperatures ? "" : "0.1", p->backbone_noise, p->chains ? p->chains : "",
                      p->homooligomer, p->omit_aa ? p->omit_aa : "X");
    cli_output_printf(text, " pssm-multi=%.17g pssm-threshold=%.17g pssm-bias=%d pssm-log-odds=%d",
                      p->pssm_multi, p->pssm_threshold, p->pssm_bias, p->pssm_log_odds);
    cli_output_printf(text,
                      " no-ligand=%d side-chain-context=%d transmembrane=%d buried=%s "
                      "interface=%s residue-order=%d all-chains=%d max-length=%lld no-rule=%s",
                      p->no_ligand, p->side_chains, p->transmembrane, p->buried ? p->buried : "",
                      p->interface_ ? p->interface_ : "", p->residue_order, p->all_chains,
                      (long long)p->max_length, p->no_rules ? p->no_rules : "");
    for (size_t i = 0; i < CLI_COUNT(files); i++)
        cli_run_input(run, files[i].role, files[i].file ? files[i].file->name : NULL);
}

/* ---- results ---- */

static int take(struct cli_run *run, struct bioinfer_result *r, struct bioinfer_error *err)
{
    int st = 0;
    if (run->job && r->status && !r->piece) { /* a failure has no row, so it is no first piece */
        const struct bioinfer_result empty = {
            .ordinal = r->ordinal, .id = r->id, .length = r->length, .message = "", .more = 1};
        st = bioinfer_job_sink(run->job, &empty, err);
        r->piece = 1;
    }
    return st ? st : run->writer && !r->n_arrays;
}

/* A run of files that are all missing makes no output. */
static int check_any(struct cli_run *run)
{
    if (run->n_failed < run->n_records ||
        !cli_structures_none(&((struct designing *)run)->structures))
        return CLI_EXIT_OK;
    cli_run_say_lost(run, run->n_failed, run->n_records, run->records, run->result);
    return CLI_EXIT_NO_INPUT;
}

static void say(struct cli_run *run)
{
    const struct cli *cli = run->cli;
    const struct cli_designer *d = cli->task;
    const char *output = cli->options->output;
    cli_say(run->cli, "%llu structures, %llu %s in %.2f s, model %s from %s, %s %s%s%s",
            (unsigned long long)(run->n_records - run->n_failed), run->counts[0],
            d->params->mode == BIOINFER_DESIGN_SCORE ? "scores" : "sequences",
            cli_now() - cli->progress.start, cli->info.name, cli->info.path, cli->info.device,
            cli->info.kernels, output ? " -> " : "", output ? output : "");
}

int cli_design(struct cli *cli)
{
    struct designing x = {.run = {.cli = cli,
                                  .task = &cli_design_task,
                                  .check = check,
                                  .source = next_structure,
                                  .source_user = &x,
                                  .tokens = 100,
                                  .late_head = true,
                                  .describe = describe,
                                  .take = take,
                                  .strict_status = true,
                                  .done = check_any,
                                  .records = "structures",
                                  .result = "result",
                                  .say = say}};
    const int code = cli_run(&x.run);
    cli_paths_free(&x.structures);
    return code;
}

/* dock.c - `bioinfer dock RECEPTOR LIGANDS --weights SCORE,CONFIDENCE -o FOLDER`: a file of poses
 * for each ligand, and a table with a row for each pose and each failure. */
#include "dock.h"

#include <stdlib.h>
#include <string.h>

/* Changes where results of the same input and options do. */
static const char version[] = "diffdock-1";

enum { PATH = 4096, FILES = 4 };

struct docking {
    struct cli_complexes in;
    char files[FILES][PATH]; /* networks and their settings */
};

static int check(struct cli_run *run)
{
    static const char *const suffixes[] = {".sdf", ".pdb", ".cif", ".tsv", ".mol2"};
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    if (!o->weights) {
        cli_say(cli, "--weights SCORE[,CONFIDENCE] must name the files of DiffDock's networks");
        return CLI_EXIT_USAGE;
    }
    if (!o->output || !strcmp(o->output, "-")) {
        cli_say(cli, "poses are written to a folder: name it with -o");
        return CLI_EXIT_USAGE;
    }
    for (size_t i = 0; i < CLI_COUNT(suffixes); i++)
        if (cli_ends_with(o->output, suffixes[i])) {
            cli_say(cli,
                    "%s: the output is a folder with a file of poses of each ligand: name it "
                    "without %s",
                    o->output, suffixes[i]);
            return CLI_EXIT_USAGE;
        }
    return CLI_EXIT_OK;
}

static int open_input(struct cli_run *run)
{
    struct docking *d = run->source_user;
    return cli_complexes_open(&d->in, run->cli);
}

static int next_ligand(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct docking *d = user;
    return cli_complexes_next(&d->in, record, err);
}

/* The content of the language model, whatever file, folder or name it has. One that
 * cannot be opened is put by its name: the task then fails, and says why. */
static void put_language(const char *path, struct cli_output *text)
{
    const struct bioinfer_model_params params = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                                .device = "cpu");
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    const char *sum = path ? path : "-";
    if (path && !bioinfer_context_new(&ctx, NULL, &err) &&
        !bioinfer_model_open(&model, ctx, path, &params, &err) &&
        bioinfer_model_fingerprint(model, &sum, &err))
        sum = path;
    cli_output_printf(text, "%.32s", sum);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
}

static void describe(struct cli_run *run, struct cli_output *text)
{
    static const char *const roles[FILES] = {"score", "score settings", "confidence",
                                             "confidence settings"};
    struct docking *d = run->source_user;
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_dock_params *p = bioinfer_params_struct(o->params);
    struct bioinfer_dock_params named = *p;
    uint64_t sum = 0;
    if (!o->receptor && !cli_complexes_sum(&d->in, &sum))
        text->status = BIOINFER_NOMEM;
    cli_output_printf(text,
                      "%s samples=%d steps=%d top=%d minimize=%d convention=%d hetero=%d "
                      "files=%016llx language=",
                      version, p->samples ? p->samples : 10, p->steps, p->top ? p->top : 1,
                      p->minimize, p->convention, p->hetero, (unsigned long long)sum);
    put_language(p->language, text);
    cli_output_printf(text, " seeds=");
    for (int i = 0; i < p->n_seeds; i++)
        cli_output_printf(text, "%s%lld", i ? "," : "", (long long)p->seeds[i]);
    cli_run_input(run, "receptor", o->receptor);
    named.weights = o->weights;
    for (int i = 0; i < FILES; i++)
        if (bioinfer_dock_file(&named, i, d->files[i], PATH, NULL) == 1)
            cli_run_input(run, roles[i], d->files[i]);
    cli_run_input(run, "noise", p->noise);
}

static void say_more(struct cli_run *run)
{
    struct cli *cli = run->cli;
    if (run->counts[1])
        cli_say(cli, "%llu poses fail a check: the column checks says which", run->counts[1]);
}

int cli_dock(struct cli *cli)
{
    struct docking *d = calloc(1, sizeof *d);
    struct cli_run run = {.cli = cli,
                          .task = &cli_dock_task,
                          .check = check,
                          .open = open_input,
                          .source = next_ligand,
                          .source_user = d,
                          .role = cli->options->receptor ? "ligands" : "pairs",
                          .files = CLI_DOCK_HEAD,
                          .describe = describe,
                          .records = "ligands",
                          .result = "pose",
                          .results = "poses",
                          .counted = true,
                          .say = say_more};
    const char *output = cli->options->output;
    char *path = NULL;
    int code = CLI_EXIT_NO_MEMORY;
    if (d && (!output || (path = cli_without_slash(output)))) {
        run.output = path;
        code = cli_run(&run);
        cli_complexes_close(&d->in);
    } else
        cli_no_memory(cli, "the name of the output");
    free(path);
    free(d);
    return code;
}

/* fold.c - `bioinfer fold MODEL INPUT... -o FOLDER`: the chains of complexes in, a folder out with
 * a file of each structure. */
#include "fold.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static int check(struct cli_run *run)
{
    static const char *const suffixes[] = {".cif", ".mmcif", ".pdb", ".npz", ".tsv"};
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    if (cli_fold_form(o) < 0)
        return CLI_EXIT_USAGE;
    if (o->dump_graph || o->trace_rules || o->dry_run)
        return cli_sequences_find(cli, &cli->inputs);
    if (!o->output || !strcmp(o->output, "-")) {
        cli_say(cli, "structures are written to a folder: name it with -o");
        return CLI_EXIT_USAGE;
    }
    for (size_t i = 0; i < CLI_COUNT(suffixes); i++)
        if (cli_ends_with(o->output, suffixes[i])) {
            cli_say(cli,
                    "%s: the output is a folder with a file of each structure: name it without %s, "
                    "and choose the files by --format",
                    o->output, suffixes[i]);
            return CLI_EXIT_USAGE;
        }
    return cli_sequences_find(cli, &cli->inputs);
}

static void describe(struct cli_run *run, struct cli_output *text)
{
    static const char *const forms[] = {"cif", "pdb", "npz"};
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_fold_params *p = bioinfer_params_struct(o->params);
    cli_output_printf(text,
                      "form=%s include=%u no-dlc=%d any-length=%d cycles=%d samples=%d steps=%d "
                      "seeds=",
                      forms[cli_fold_form(o)], p->include, p->uncorrected, p->force,
                      p->no_cycles ? -1 : p->cycles, p->samples, p->steps);
    for (int i = 0; i < p->n_seeds; i++)
        cli_output_printf(text, "%s%lld", i ? "," : "", (long long)p->seeds[i]);
    cli_output_printf(text, " msa-depth=%d max-length=%lld no-rule=%s", p->msa_depth,
                      (long long)p->max_length, p->no_rules ? p->no_rules : "");
    cli_run_input(run, "alignments", p->msa);
    run->alignments = p->msa;
}

/* ---- the input ---- */

static int open_ahead(void *user, bioinfer_context *silent, struct bioinfer_error *err)
{
    struct cli_chains *in = user;
    return cli_chains_open(in, silent, in->paths, err);
}

/* Finds two complexes of one name before anything is computed. */
static int look_ahead(struct cli_run *run)
{
    const struct cli_chains *in = run->source_user;
    struct cli_chains fresh = {.paths = in->paths, .pairs = in->pairs};
    const struct cli_ahead ahead = {open_ahead, cli_chains_next, cli_chains_close, &fresh};
    return cli_run_look_ahead(run, &ahead);
}

static int open_input(struct cli_run *run)
{
    struct cli *cli = run->cli;
    struct bioinfer_error err = {0};
    int st;
    cli->input_name = strcmp(cli->inputs.of[0], "-") ? cli->inputs.of[0] : "standard input";
    st = cli_chains_open(run->source_user, cli->ctx, &cli->inputs, &err);
    return st ? cli_fail(cli, CLI_AT_INPUT, st, &err) : CLI_EXIT_OK;
}

/* Learns whether the records of the model's family are pairs of chains. */
static int learn_pairs(struct cli_run *run)
{
    struct cli_chains *in = run->source_user;
    in->pairs = bioinfer_family_chains(bioinfer_family_find(run->cli->info.family)) == 2;
    return CLI_EXIT_OK;
}

/* ---- the command ---- */

int cli_fold(struct cli *cli)
{
    struct cli_chains in = {0};
    struct cli_run run = {.cli = cli,
                          .task = &cli_fold_task,
                          .check = check,
                          .open = open_input,
                          .ready = learn_pairs,
                          .source = cli_chains_next,
                          .source_user = &in,
                          .tokens = 230, /* about as many as an antibody has */
                          .length = "residues",
                          .files = CLI_FOLD_HEAD,
                          .describe = describe,
                          .ahead = look_ahead,
                          .records = "records",
                          .result = "structure",
                          .counted = true,
                          .results = "structures"};
    const char *output = cli->options->output;
    char *path = NULL;
    int code;
    if (output && !(path = cli_without_slash(output)))
        return cli_no_memory(cli, "the name of the output");
    run.output = path;
    code = cli_run(&run);
    cli_chains_close(&in);
    free(path);
    return code;
}

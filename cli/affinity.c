/* affinity.c - `bioinfer MODEL RECEPTOR LIGANDS` for models that rate complexes: a table with a row
 * for every ligand, in the order of the input. */
#include "affinity.h"
#include "run.h"

#include <inttypes.h>
#include <string.h>

static int check(struct cli_run *run)
{
    const struct cli_options *o = run->cli->options;
    if (o->top && (!o->output || !strcmp(o->output, "-"))) {
        cli_say(run->cli, "--top needs a file: name it with -o");
        return CLI_EXIT_USAGE;
    }
    if (o->top && o->n_shards) {
        cli_say(run->cli, "--top and --shard do not go together: a shard has not seen all ligands");
        return CLI_EXIT_USAGE;
    }
    return cli_job_needs_file(run->cli, o->output) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

static int open_input(struct cli_run *run)
{
    return cli_complexes_open(run->source_user, run->cli);
}

static void describe(struct cli_run *run, struct cli_output *text)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_affinity_params *p = bioinfer_params_struct(o->params);
    uint64_t sum = 0;
    if (!o->receptor && !cli_complexes_sum(run->source_user, &sum))
        text->status = BIOINFER_NOMEM;
    cli_output_printf(text, "pocket=%d drop-unknown=%d no-rule=%s files=%016" PRIx64,
                      p->pocket ? p->pocket : 50, p->drop_unknown, p->no_rules ? p->no_rules : "",
                      sum);
    cli_run_input(run, "receptor", o->receptor);
}

static int find_top(struct cli_run *run)
{
    const struct cli_options *o = run->cli->options;
    return o->top ? cli_affinity_top(run->cli, o->output, o->top, &run->second) : CLI_EXIT_OK;
}

static void say_more(struct cli_run *run)
{
    struct cli *cli = run->cli;
    if (run->counts[0])
        cli_say(cli,
                "warning: %llu ligands have no atom near the protein: their energy is 0 and says "
                "nothing",
                run->counts[0]);
    if (!run->pool && *bioinfer_affinity_caveat(cli->model))
        cli_say(cli, "%s: %s", cli->info.family, bioinfer_affinity_caveat(cli->model));
}

int cli_affinity(struct cli *cli)
{
    struct cli_complexes in = {0};
    struct cli_run run = {.cli = cli,
                          .task = &cli_affinity_task,
                          .check = check,
                          .open = open_input,
                          .source = cli_complexes_next,
                          .source_user = &in,
                          .role = cli->options->receptor ? "ligands" : "pairs",
                          .tokens = 430, /* about as many as a complex has */
                          .head = CLI_AFFINITY_HEAD,
                          .describe = describe,
                          .finished = find_top,
                          .records = "ligands",
                          .result = "energy",
                          .results = "energies",
                          .say = say_more};
    const int code = cli_run(&run);
    cli_complexes_close(&in);
    return code;
}

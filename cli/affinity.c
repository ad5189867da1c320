/* affinity.c - `bioinfer MODEL RECEPTOR LIGANDS` for models that rate complexes: a table with a row
 * for every ligand, in the order of the input. */
#include "affinity.h"
#include "rows.h"

#include <inttypes.h>
#include <string.h>

/* All that changes results and is no part of the model's fingerprint. False: no memory. */
static bool describe_options(const struct cli_complexes *in, const struct cli_options *o,
                             char *text, size_t size)
{
    uint64_t sum = 0;

    if (!o->receptor && !cli_complexes_sum(in, &sum))
        return false;
    snprintf(text, size, "pocket=%" PRId64 " drop-unknown=%d no-rule=%s files=%016" PRIx64,
             o->pocket ? o->pocket : 50, o->drop_unknown, o->no_rules, sum);
    return true;
}

static int create(struct cli_rows *rows, const struct cli_complexes *in)
{
    const struct cli_options *o = rows->cli->options;
    const struct bioinfer_job_input receptor = {"receptor", o->receptor};
    struct bioinfer_job_params params = cli_job_params(rows->cli, "affinity");
    char options[2048] = "";

    if (cli_job_wanted(o) && !describe_options(in, o, options, sizeof options))
        return cli_no_memory(rows->cli, "names of files");
    params.options = options;
    params.inputs = &receptor;
    params.n_inputs = o->receptor != NULL;
    params.input_role = o->receptor ? "ligands" : "pairs";
    return cli_rows_create(rows, &params);
}

static void say_more(const struct cli_rows *rows)
{
    struct cli *cli = rows->cli;

    if (rows->n_noted)
        cli_say(cli,
                "warning: %llu ligands have no atom near the protein: their energy is 0 and says "
                "nothing",
                rows->n_noted);
    if (!rows->pool && *bioinfer_affinity_caveat(cli->model))
        cli_say(cli, "%s: %s", cli->info.family, bioinfer_affinity_caveat(cli->model));
}

/* Checks what --top needs; false: said why. */
static bool check_top(struct cli *cli)
{
    const struct cli_options *o = cli->options;

    if (o->top && (!o->output || !strcmp(o->output, "-"))) {
        cli_say(cli, "--top needs a file: name it with -o");
        return false;
    }
    if (o->top && o->n_shards) {
        cli_say(cli, "--top and --shard do not go together: a shard has not seen all ligands");
        return false;
    }
    return true;
}

int cli_affinity(struct cli *cli)
{
    enum { TOKENS = 430 }; /* about those of a complex */
    const struct cli_options *o = cli->options;
    struct cli_complexes in = {0};
    struct cli_rows rows = {.cli = cli,
                            .task = &cli_affinity_task,
                            .source = cli_complexes_next,
                            .source_user = &in,
                            .records = "ligands",
                            .result = "energy",
                            .head = CLI_AFFINITY_HEAD};
    int code = CLI_EXIT_USAGE;

    if (!check_top(cli) || !cli_job_needs_file(cli, o->output) || (code = cli_open_context(cli)) ||
        (code = cli_complexes_open(&in, cli)) || (code = cli_affinity_task.begin(cli)) ||
        (code = cli_task_open(cli, &cli_affinity_task, &rows.pool)))
        goto out;
    if (o->dump_graph || o->trace_rules) {
        code = cli_rows_dump(&rows, TOKENS);
        goto out;
    }
    if (o->dry_run) {
        const struct cli_dry how = {.next = cli_complexes_next,
                                    .user = &in,
                                    .weigh = cli_affinity_task.weigh,
                                    .run = cli_affinity_task.run,
                                    .task = cli->sequences};
        code = cli_dry_measure(cli, &how);
        goto out;
    }
    if ((code = create(&rows, &in)))
        goto out;
    if ((code = cli_rows_run(&rows)) ||
        (o->top && (code = cli_affinity_top(cli, o->output, o->top))))
        goto out;
    cli_rows_say(&rows, say_more);
    code = cli_rows_code(&rows);
out:
    cli_rows_close(&rows);
    cli_affinity_task.end(cli);
    cli_complexes_close(&in);
    return code;
}

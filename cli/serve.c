/* serve.c - what the server takes of the command line. */
#include "cli.h"

void cli_serve_options(const struct cli *cli, struct cli_served *to)
{
    const struct cli_options *o = cli->options;
    *to = (struct cli_served){.listen = o->listen,
                              .token_file = o->token_file,
                              .max_body = o->max_body,
                              .max_answer = o->max_answer,
                              .max_queue = o->max_queue,
                              .timeout = o->timeout,
                              .quiet = o->quiet,
                              .raw_residues = o->raw_residues,
                              .has_head = o->head != NULL,
                              .genome = o->genome,
                              .gtf = cli_given(o, "gtf"),
                              .polya = cli_given(o, "polya"),
                              .quantiles = cli_given(o, "quantiles"),
                              .targets = cli_given(o, "targets")};
}

int cli_serve_open(struct cli *cli, struct cli_served *to)
{
    int code = cli_open_context(cli);
    if (code || (code = cli_open_model(cli)))
        return code;
    to->ctx = cli->ctx;
    to->model = cli->model;
    to->info = &cli->info;
    return CLI_EXIT_OK;
}

int cli_serve_sign(struct cli *cli, struct cli_served *to)
{
    const int code = cli_fingerprint(cli);
    to->fingerprint = cli->fingerprint;
    return code;
}

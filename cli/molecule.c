/* molecule.c - `bioinfer molecule info FILE`: what perception made of each molecule. */
#include "cli.h"

static void put_text(void *user, const char *text, size_t n)
{
    cli_output_write(user, text, n);
}

/* Names in files may hold any byte; what is printed is for people. */
static int take_text(void *user, const char *text, size_t n)
{
    struct cli_output *out = user;
    cli_escape(put_text, out, text, n);
    return out->status ? out->status : cli_stop_signal() ? BIOINFER_CANCELLED : 0;
}

int cli_molecule(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    uint64_t n_failed = 0;
    int st, code;
    if ((code = cli_open_context(cli)))
        return code;
    cli_output_open(&out, NULL, &err);
    st = bioinfer_molecule_info(cli->ctx, o->input, o->atoms, take_text, &out, &n_failed, &err);
    if (st && !out.status)
        return cli_fail(cli, CLI_AT_INPUT, cli_stop_signal() ? BIOINFER_CANCELLED : st, &err);
    if ((st = cli_output_finish(&out, &err)))
        return cli_fail(cli, CLI_AT_WRITE, st, &err);
    if (n_failed && !o->quiet)
        cli_say(cli, "molecules without a result: %llu; the column message says why",
                (unsigned long long)n_failed);
    return n_failed ? CLI_EXIT_RECORDS : CLI_EXIT_OK;
}

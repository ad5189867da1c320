/* molecule.c - `bioinfer molecule info FILE`: what perception made of each molecule. */
#include "cli.h"

static int take_text(void *user, const char *text, size_t n)
{
    const int st = cli_output_escaped(user, text, n);
    return st ? st : cli_stop_signal() ? BIOINFER_CANCELLED : 0;
}

int cli_molecule(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_error err = {0};
    struct cli_output out;
    uint64_t n_failed = 0;
    int st, code;
    if ((code = cli_output_begin(cli, &out, NULL)))
        return code;
    st = bioinfer_molecule_info(cli->ctx, o->input, o->atoms, take_text, &out, &n_failed, &err);
    st = st && cli_stop_signal() ? BIOINFER_CANCELLED : st;
    if ((code = cli_output_end(cli, &out, CLI_AT_INPUT, st, &err)))
        return code;
    if (n_failed && !o->quiet)
        cli_say(cli, "molecules without a result: %llu; the column message says why",
                (unsigned long long)n_failed);
    return n_failed ? CLI_EXIT_RECORDS : CLI_EXIT_OK;
}

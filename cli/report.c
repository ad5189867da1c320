/* report.c - `bioinfer report OUT` and `bioinfer plot OUT`: an output as a page or a picture. */
#include "cli.h"

#include <string.h>

int cli_report(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_report_params params = BIOINFER_PARAMS(
        struct bioinfer_report_params, .record = o->record, .genes = o->genes,
        .sequences = o->sequences, .measured = o->measured,
        .picture = o->command != CLI_PLOT                          ? 0
                   : o->output && cli_ends_with(o->output, ".png") ? 2
                                                                   : 1);
    struct bioinfer_error err = {0};
    struct cli_output out = {0};
    int st, code;
    if ((code = cli_output_begin(cli, &out, o->output)))
        return code;
    st = bioinfer_file_report(cli->ctx, o->input, &params, cli_output_callback, &out, &err);
    return cli_output_end(cli, &out, CLI_AT_INPUT, st, &err);
}

int cli_plot(struct cli *cli)
{
    return cli_report(cli);
}

/* outputs.c - the table of the outputs of a model of DNA windows: --list-outputs. */
#include "tracks.h"

int outputs_list(struct cli *cli)
{
    static const char *const kinds[] = {"bins", "pairs of bins", "pairs of splice sites"};
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    struct bioinfer_error err = {0};
    struct cli_output out;
    int code;
    if ((code = cli_open_context(cli)) || (code = cli_open_model(cli)))
        return code;
    cli_output_open(&out, NULL, &err);
    cli_output_printf(&out, "name\toutput\torganism\tresolution\ttracks\tkind\n");
    for (int i = 0; !bioinfer_model_output(cli->model, i, &row); i++)
        cli_output_printf(&out, "%s\t%s\t%s\t%lld\t%d\t%s\n", row.name, row.output,
                          row.organism ? row.organism : "", (long long)row.resolution, row.n_tracks,
                          kinds[row.kind]);
    return cli_output_end(cli, &out, CLI_AT_WRITE, 0, &err);
}

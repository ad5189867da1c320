/* nearest.c - `bioinfer nearest A [B]`: nearest neighbours between two outputs. */
#include "provenance.h"

#include <string.h>

/* A take() of bioinfer_file_nearest(). */
static int take(void *user, const char *query, uint64_t ordinal,
                const struct bioinfer_neighbour *hits, uint64_t n)
{
    struct cli_output *out = user;
    (void)ordinal;
    for (uint64_t i = 0; i < n; i++) {
        cli_output_field(out, query);
        cli_output_printf(out, "\t%llu\t", (unsigned long long)i + 1);
        cli_output_field(out, hits[i].id);
        cli_output_printf(out, "\t%.9g\n", hits[i].value);
    }
    return out->status;
}

static int progress(void *user, double share)
{
    (void)user;
    (void)share;
    return cli_stop_signal();
}

int cli_nearest(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    const bool euclidean = o->metric && !strcmp(o->metric, "euclidean");
    struct bioinfer_nearest_params params = BIOINFER_PARAMS(
        struct bioinfer_nearest_params, .k = o->neighbours,
        .metric = euclidean ? BIOINFER_EUCLIDEAN : BIOINFER_COSINE, .array = o->array,
        .progress = progress);
    struct bioinfer_error err = {0};
    struct cli_output out = {0};
    const struct cli_provenance how = {.output = o->output, .task = "nearest"};
    int st, code;
    cli->progress.start = cli_now();
    if ((code = cli_output_begin(cli, &out, o->output)))
        return code;
    cli_output_printf(&out, "query\trank\thit\t%s\n", euclidean ? "distance" : "similarity");
    st = bioinfer_file_nearest(cli->ctx, o->input, o->second, &params, take, &out, &err);
    code = cli_output_end(cli, &out, CLI_AT_INPUT, st, &err);
    return code ? code : cli_provenance_write(cli, &how);
}

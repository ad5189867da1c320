/* align_answer.c - alignments that answer requests of the server. */
#include "align.h"

#include <stdlib.h>
#include <string.h>

struct cli_align_answer {
    struct cli_options options;
    struct cli cli; /* has these options */
    struct cli_aligning aligning;
};

int cli_align_answer_open(struct cli_align_answer **out, bioinfer_task **task,
                          const struct cli *cli, bioinfer_params *params,
                          struct bioinfer_error *err)
{
    struct cli_align_answer *a = calloc(1, sizeof *a);
    int st;
    if (!a) {
        snprintf(err->text, sizeof err->text, "no memory for alignments");
        return err->status = BIOINFER_NOMEM;
    }
    a->options = (struct cli_options){.params = params,
                                      .device = cli->options->device,
                                      .memory_limit = cli->options->memory_limit};
    a->cli = (struct cli){.options = &a->options, .told = "BLOSUM62"};
    a->aligning = (struct cli_aligning){.cli = &a->cli};
    if (!(st = cli_align_costs(&a->aligning, err)))
        st = bioinfer_align_open(task, cli->ctx, &a->aligning.params, err);
    a->aligning.writer.align = *task;
    if (st)
        cli_align_answer_close(&a);
    *out = a;
    return st;
}

const char *cli_align_answer_title(const struct cli_align_answer *a, const char *format)
{
    struct cli_align_out w = a->aligning.writer;
    w.format = format;
    return cli_align_title(&w);
}

void cli_align_answer_put(const struct cli_align_answer *a, struct cli_output *to,
                          const char *format, const struct bioinfer_record *query,
                          const struct bioinfer_record *target,
                          const struct bioinfer_alignment *alignment)
{
    struct cli_align_out w = a->aligning.writer;
    w.out = to;
    w.format = format;
    if (strcmp(format, "json"))
        cli_align_put(&w, query, target, alignment);
    else
        cli_align_put_json(&w, query, target, alignment);
}

void cli_align_answer_close(struct cli_align_answer **a)
{
    free(*a);
    *a = NULL;
}

/* motion.c - what energies, `bioinfer md` and `bioinfer relax` share. */
#include "motion.h"

#include <string.h>
#include <unistd.h>

int cli_frames_open(struct cli_run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    bioinfer_frames **frames = run->source_user;
    struct bioinfer_error err = {0};
    int st;
    cli->input_name = strcmp(o->input, "-") ? o->input : "standard input";
    if ((st = bioinfer_frames_open(frames, cli->ctx, o->input, &err)))
        return cli_fail(cli, CLI_AT_INPUT, st, &err);
    if (o->command & (CLI_MD | CLI_RELAX))
        bioinfer_frames_set_motion(*frames, 1);
    return CLI_EXIT_OK;
}

int cli_frames_next(void *frames, struct bioinfer_record *record, struct bioinfer_error *err)
{
    return bioinfer_frames_source(*(bioinfer_frames **)frames, record, err);
}

int cli_motion_stop(void *user)
{
    (void)user;
    return cli_stop_signal() ? BIOINFER_CANCELLED : 0;
}

enum cli_stage cli_motion_stage(const struct cli_options *o, int status)
{
    return status == BIOINFER_NOT_FOUND ? access(o->input, F_OK) ? CLI_AT_INPUT : CLI_AT_CREATE
           : status == BIOINFER_IO      ? CLI_AT_WRITE
           : status == BIOINFER_FORMAT || status == BIOINFER_UNSUPPORTED ||
                   status == BIOINFER_MISMATCH || status == BIOINFER_NONFINITE ||
                   status == BIOINFER_EMPTY
               ? CLI_AT_READ
           : status == BIOINFER_INVALID ? CLI_AT_CONFIG
                                        : CLI_AT_RUN;
}

bool cli_motion_named(struct cli *cli)
{
    if (cli->options->output && *cli->options->output)
        return true;
    cli_say(cli, "frames go to a file: name it with -o");
    return false;
}

struct cli_weight cli_motion_weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    enum { LINE = 70 }; /* bytes of an atom */
    (void)cli;
    return (struct cli_weight){.work = 1 + record->length / LINE, .bytes = record->length + 5};
}

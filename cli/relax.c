/* relax.c - `bioinfer relax`: frames moved to a minimum of their energy.
 *
 * Frames go to the file that -o names, or through a job, and a table of them to standard output. */
#include "motion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The name of the text that a result has for the table, beside its frame. */
#define ROW "row"

/* ---- the task ---- */

static void fill(const struct cli_options *o, void *params)
{
    struct bioinfer_relax_params *p = params;
    (void)o;
    p->stop = cli_motion_stop;
}

/* Hands on the frame with its row of the table; it counts where the steps did not suffice. */
static int take_relaxed(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct cli_work *t = user;
    const struct bioinfer_relaxed *f = r->relaxed;
    struct bioinfer_result one = {
        .ordinal = r->ordinal, .id = r->id, .status = r->status, .message = r->message};
    if (r->status)
        return t->sink(t->sink_user, &one, err);
    t->text.n_text = 0;
    cli_output_field(&t->text, r->id);
    cli_output_printf(&t->text, "\t%s\t%" PRIu64 "\t%.6f\t%.6f\n", f->relaxed ? "yes" : "no",
                      f->steps, f->energy, f->largest);
    if (t->text.status)
        return cli_status_no_memory(err, "out of memory for a row");
    const struct bioinfer_text texts[] = {{"text", r->texts[0].text, r->texts[0].length},
                                          {ROW, t->text.text, t->text.n_text},
                                          {CLI_COUNTS, f->relaxed ? "0" : "1", 1}};
    one.length = r->length;
    one.texts = texts;
    one.n_texts = CLI_COUNT(texts);
    return t->sink(t->sink_user, &one, err);
}

const struct cli_task cli_relax_task = {
    .name = "relax", .fill = fill, .take = take_relaxed, .weigh = cli_motion_weigh};

/* ---- the command ---- */

struct relaxing {
    struct cli_run run;
    struct cli_output table;
    bool no_table, began;
};

/* Takes the row of a result, and puts it into the table. */
static int put_row(struct cli_run *run, struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct relaxing *x = (struct relaxing *)run;
    const struct bioinfer_text *last = r->n_texts ? &r->texts[r->n_texts - 1] : NULL;
    (void)err;
    if (r->status && run->cli->options->strict)
        return 0;
    if (!x->began && !x->no_table)
        cli_output_printf(&x->table, "id\trelaxed\tsteps\tenergy_eV\tlargest_force_eV_A\n");
    x->began = true;
    if (!last || strcmp(last->name, ROW))
        return 0;
    r->n_texts--;
    if (!x->no_table)
        cli_output_write(&x->table, last->text, last->length);
    return x->table.status;
}

/* Is the output a file that may be made? */
static int check(struct cli_run *run)
{
    struct cli *cli = run->cli;
    const char *path = cli->options->output;
    struct stat s;
    if (!cli_motion_named(cli) || !cli_job_needs_file(cli, path))
        return CLI_EXIT_USAGE;
    if (!strcmp(path, "-") || cli_job_wanted(cli->options) || lstat(path, &s))
        return CLI_EXIT_OK;
    if (S_ISREG(s.st_mode) || S_ISLNK(s.st_mode)) {
        cli_say(cli, "%s: is there already: remove it, or name another file", path);
        return CLI_EXIT_USAGE;
    }
    cli_say(cli, "%s: the output is a %s", path, S_ISDIR(s.st_mode) ? "folder" : "device or pipe");
    return CLI_EXIT_IO;
}

static int open_input(struct cli_run *run)
{
    struct relaxing *x = (struct relaxing *)run;
    struct bioinfer_error err = {0};
    const int code = cli_frames_open(run);
    x->no_table = !strcmp(run->cli->options->output, "-"); /* where the frames go, too */
    if (!code)
        cli_output_open(&x->table, NULL, &err);
    return code;
}

static void describe(struct cli_run *run, struct cli_output *text)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_relax_params *p = bioinfer_params_struct(o->params);
    const char *fmax = cli_given(o, "fmax"), *pbc = cli_given(o, "pbc");
    const char *charge = cli_given(o, "charge");
    cli_output_printf(text, "fmax=%s steps=%lld cell=%d pbc=%s charge=%s no-rule=%s",
                      fmax ? fmax : "-", (long long)p->steps, p->cell, pbc ? pbc : "file",
                      charge ? charge : "-", p->no_rules ? p->no_rules : "");
}

static int finish_table(struct cli_run *run)
{
    struct bioinfer_error err = {0};
    const int st = cli_output_finish(&((struct relaxing *)run)->table, &err);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

int cli_relax(struct cli *cli)
{
    bioinfer_frames *frames = NULL;
    struct relaxing x = {.run = {.cli = cli,
                                 .task = &cli_relax_task,
                                 .check = check,
                                 .open = open_input,
                                 .source = cli_frames_next,
                                 .source_user = &frames,
                                 .role = "frames",
                                 .head = "",
                                 .keeps = true,
                                 .measures = CLI_FRAME_UNITS,
                                 .describe = describe,
                                 .take = put_row,
                                 .finished = finish_table,
                                 .records = "frames",
                                 .result = "relaxed frame",
                                 .results = "relaxed frames"}};
    struct bioinfer_error unheard; /* the reason was said */
    int code = cli_run(&x.run);
    if (code && code != CLI_EXIT_RECORDS) {
        if (x.table.file)
            cli_output_finish(&x.table, &unheard);
    } else if (x.run.counts[0]) {
        cli_say(cli,
                "%llu of %" PRIu64
                " frames are not relaxed after the steps that they have: --steps",
                x.run.counts[0], x.run.n_records);
        code = CLI_EXIT_RECORDS;
    }
    cli_output_close(&x.table);
    bioinfer_frames_close(&frames);
    return code;
}

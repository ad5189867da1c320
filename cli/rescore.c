/* rescore.c - `bioinfer rescore RECEPTOR POSES`: a row for every pose, in the order of the input,
 * and with --poses the poses themselves. */
#include "affinity.h"
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                       \
    "id\trecord\taffinity\tinter\tgauss1\tgauss2\trepulsion\thydrophobic\thydrogen\trotors\tpairs" \
    "\tligand_atoms\tbefore\tmoved\tsteps\tclashes\tdistance\tclosest\toverlap\tinternal\tchecks"  \
    "\tstatus\tmessage\n"
enum { NUMBERS = 19 }; /* columns between `record` and `status` */

/* Changes where results of the same input and options do. */
static const char version[] = "vina-1";

struct rescorer {
    struct cli_work work;    /* gathers a row as text */
    struct cli_output poses; /* --poses */
    char *description;       /* the record given last: its parts */
    struct cli_complex_place place;
};

/* A bioinfer_source: takes the description apart. */
static int next_pose(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct rescorer *r = user;
    return cli_complex_take(&r->work, record, &r->description, &r->place, err);
}

/* ---- rows ---- */

static void put_number(struct cli_output *text, double x, int digits)
{
    if (x == x)
        cli_output_printf(text, "\t%.*f", digits, x);
    else
        cli_output_printf(text, "\t");
}

void cli_pose_checks(struct cli_output *text, unsigned failed)
{
    static const char *const names[] = {"clash", "overlap", "internal", "far", "chirality"};
    const char *before = "\t";
    for (size_t i = 0; i < CLI_COUNT(names); i++)
        if (failed >> i & 1) {
            cli_output_printf(text, "%s%s", before, names[i]);
            before = ",";
        }
    if (!failed)
        cli_output_printf(text, "\tok");
}

static void put_numbers(struct cli_output *text, const struct bioinfer_rescored *r)
{
    const double energies[] = {r->affinity,  r->inter,       r->gauss1,  r->gauss2,
                               r->repulsion, r->hydrophobic, r->hydrogen};
    for (size_t i = 0; i < CLI_COUNT(energies); i++)
        put_number(text, energies[i], 6);
    put_number(text, r->n_rotors, 1);
    cli_output_printf(text, "\t%" PRId64 "\t%" PRId64, r->n_pairs, r->n_atoms);
    put_number(text, r->before, 6);
    put_number(text, r->moved, 3);
    cli_output_printf(text, "\t%d\t%d", r->n_steps, r->n_clashes);
    put_number(text, r->distance, 3);
    put_number(text, r->closest, 3);
    put_number(text, r->overlap, 4);
    cli_output_printf(text, "\t%d", r->n_internal);
    cli_pose_checks(text, r->failed);
}

static void put_row(struct cli_output *text, const struct bioinfer_result *result)
{
    const struct bioinfer_rescored *r = result->rescored;
    cli_output_field(text, result->id);
    cli_output_printf(text, "\t%" PRIu64, result->ordinal + 1);
    if (r)
        put_numbers(text, r);
    for (int i = 0; !r && i < NUMBERS; i++)
        cli_output_printf(text, "\t");
    cli_output_printf(text, "\t%s\t", bioinfer_status_name(result->status));
    if (r && !r->n_pairs)
        cli_output_printf(text, "%s", CLI_AFFINITY_FAR);
    else
        cli_output_field(text, result->message);
    cli_output_printf(text, "\n");
}

/* A bioinfer_sink: hands out the row of a result; its pose goes to --poses. */
static int take_pose(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct rescorer *r = user;
    for (int i = 0; i < result->n_texts; i++)
        cli_output_write(&r->poses, result->texts[i].text, result->texts[i].length);
    put_row(&r->work.text, result);
    return cli_work_give(&r->work, result, result->rescored && result->rescored->failed, err);
}

/* ---- the task ---- */

static void fill(const struct cli_options *o, void *params)
{
    struct bioinfer_rescore_params *p = params;
    p->receptor = o->receptor;
    p->text = o->poses != NULL;
}

static void end(void *state)
{
    struct rescorer *r = state;
    cli_output_close(&r->poses);
    free(r->description);
}

static const struct cli_task rescore_task = {.name = "rescore",
                                             .size = sizeof(struct rescorer),
                                             .fill = fill,
                                             .next = next_pose,
                                             .take = take_pose,
                                             .end = end,
                                             .reads_files = true,
                                             .no_model = true};

/* ---- the command ---- */

/* Checks what --poses needs. */
static int check(struct cli_run *run)
{
    struct cli *cli = run->cli;
    const struct cli_options *o = cli->options;
    struct cli_options poses = *o;
    poses.output = o->poses;
    if (o->poses && cli_job_wanted(o)) {
        cli_say(cli, "--poses does not go with --resume or --shard: a journal keeps rows alone");
        return CLI_EXIT_USAGE;
    }
    if (o->poses && !strcmp(o->poses, o->output ? o->output : "-")) {
        cli_say(cli, "--poses %s: the table goes there; give both a name", o->poses);
        return CLI_EXIT_USAGE;
    }
    if (o->poses &&
        (cli_output_replaces(&poses, o->receptor) || cli_output_replaces(&poses, o->input)))
        return CLI_EXIT_USAGE;
    return cli_job_needs_file(cli, o->output) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

static int open_input(struct cli_run *run)
{
    return cli_complexes_open(run->source_user, run->cli);
}

static int open_poses(struct cli_run *run)
{
    const char *path = run->cli->options->poses;
    struct rescorer *r = run->cli->task;
    struct bioinfer_error err = {0};
    const int st = path ? cli_output_open(&r->poses, path, &err) : 0;
    return st ? cli_fail(run->cli, CLI_AT_CREATE, st, &err) : CLI_EXIT_OK;
}

static void describe(struct cli_run *run, struct cli_output *text)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_rescore_params *p = bioinfer_params_struct(o->params);
    cli_output_printf(text, "%s hetero=%d minimize=%d", version, p->hetero, p->minimize);
    cli_run_input(run, "receptor", o->receptor);
}

static int finish_poses(struct cli_run *run)
{
    struct rescorer *r = run->cli->task;
    struct bioinfer_error err = {0};
    const char *path = run->cli->options->poses;
    const int st = path ? cli_output_finish(&r->poses, &err) : 0;
    if (path && !(run->second = strdup(path)))
        return cli_no_memory(run->cli, path);
    return st ? cli_fail(run->cli, CLI_AT_WRITE, st, &err) : CLI_EXIT_OK;
}

static void say_more(struct cli_run *run)
{
    if (run->counts[0])
        cli_say(run->cli, "%llu poses fail a check: the column checks says which", run->counts[0]);
}

int cli_rescore(struct cli *cli)
{
    struct cli_complexes in = {0};
    struct cli_run run = {.cli = cli,
                          .task = &rescore_task,
                          .check = check,
                          .open = open_input,
                          .ready = open_poses,
                          .source = cli_complexes_next,
                          .source_user = &in,
                          .role = "poses",
                          .head = HEAD,
                          .describe = describe,
                          .finished = finish_poses,
                          .records = "poses",
                          .result = "score",
                          .results = "scores",
                          .say = say_more};
    const int code = cli_run(&run);
    cli_complexes_close(&in);
    return code;
}

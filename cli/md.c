/* md.c - `bioinfer md`: molecular dynamics of one frame, whose trajectory is the file that -o
 * names, or of many, which have a file each in the folder that it names.
 *
 * Standard output has a table: of one frame its steps, of many where each trajectory ends. */
#include "motion.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the task ---- */

struct mover {
    struct cli_work work; /* gathers the table of one frame, or a row of many, as text */
    uint64_t every, steps;
    uint64_t first_step; /* one frame: step of the first row, from 1; 0 = none was made */
    bool any;            /* one frame: it was read */
    int status;          /* one frame: why it has no result */
    char message[sizeof(((struct bioinfer_error *)0)->text)];
};

/* Does -o name a folder? */
static bool many(const struct cli_options *o)
{
    struct stat s;
    return cli_ends_with(o->output, "/") || (!stat(o->output, &s) && S_ISDIR(s.st_mode));
}

/* One process moves a single frame. */
static bool is_one(const struct cli_options *o)
{
    return !many(o);
}

static void put_state(struct cli_output *out, const struct bioinfer_md_state *s)
{
    cli_output_printf(out, "%" PRIu64 "\t%.10g\t%.6f\t%.6f\t%.6f\t%.2f\n", s->step, s->time,
                      s->energy, s->kinetic, s->energy + s->kinetic, s->temperature);
}

/* Is told of some steps of the one frame. */
static int take_step(void *user, const struct bioinfer_md_state *s)
{
    struct mover *t = user;
    if (!t->first_step) {
        t->first_step = s->step;
        cli_output_printf(&t->work.text,
                          "step\ttime_fs\tenergy_eV\tkinetic_eV\ttotal_eV\ttemperature_K\n");
    }
    if (s->step % t->every == 0 || s->step == t->steps)
        put_state(&t->work.text, s);
    return t->work.text.status;
}

/* Checks options that exclude each other; false: said why. */
static bool may_be(const struct cli_options *o)
{
    const struct bioinfer_md_params *p = bioinfer_params_struct(o->params);
    if (!strcmp(o->output, "-")) {
        cli_say(NULL, "a trajectory is a file that grows: name it with -o");
        return false;
    }
    if (o->resume && !strcmp(o->resume, "force")) {
        cli_say(NULL, "md goes on with a trajectory of the same run alone: --resume");
        return false;
    }
    if (p->friction != 0 && p->thermostat == BIOINFER_NVE) {
        cli_say(NULL, "--friction and --thermostat nve do not go together");
        return false;
    }
    if (is_one(o) && (o->n_shards || o->workers)) {
        cli_say(NULL, "--%s: of many frames, whose trajectories -o FOLDER/ has",
                o->n_shards ? "shard" : "workers");
        return false;
    }
    return true;
}

static int open_task(struct cli *cli, cli_tick tick)
{
    const struct cli_options *o = cli->options;
    struct bioinfer_md_params *p = bioinfer_params_struct(o->params);
    struct mover *t = cli->task;
    struct bioinfer_error err = {0};
    int st;
    p->trajectory = o->output;
    p->folder = many(o);
    p->resume = o->resume && strcmp(o->resume, "no") != 0;
    p->stop = cli_motion_stop;
    t->every = p->every ? p->every : 100;
    t->steps = p->steps ? p->steps : 1000;
    if (!p->folder) {
        p->progress = take_step;
        p->progress_user = t;
    }
    if ((st = bioinfer_task_open(&cli->sequences, cli->ctx, cli->model, o->params, &err)))
        return cli_fail(cli, CLI_AT_CONFIG, st, &err);
    bioinfer_task_set_progress(cli->sequences, tick, cli);
    return CLI_EXIT_OK;
}

/* Gives the row of where one of many trajectories ends. */
static int take_end(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct mover *t = user;
    if (r->moved) {
        cli_output_field(&t->work.text, r->id);
        cli_output_printf(&t->work.text, "\t");
        put_state(&t->work.text, r->moved);
    }
    return cli_work_give(&t->work, r, 0, err);
}

const struct cli_task cli_md_task = {.name = "md",
                                     .size = sizeof(struct mover),
                                     .open = open_task,
                                     .take = take_end,
                                     .weigh = cli_motion_weigh,
                                     .ordered = is_one};

/* ---- one frame ---- */

static int take_status(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct mover *t = user;
    (void)err;
    t->any = true;
    t->status = r->status;
    snprintf(t->message, sizeof t->message, "%s", r->message);
    return 0;
}

static int run_one(struct cli *cli, bioinfer_frames *frames)
{
    const struct cli_options *o = cli->options;
    struct mover *t = cli->task;
    const double start = cli_now();
    struct bioinfer_error err = {0}, lost = {0};
    const struct cli_provenance how = {.output = o->output,
                                       .task = "md",
                                       .role = "frames",
                                       .arrays = CLI_TRAJECTORY_UNITS,
                                       .counted = true,
                                       .records = 1};
    int st, written;
    cli->progress.start = start;
    cli_output_open(&t->work.text, NULL, &err);
    st = bioinfer_task_run(cli->sequences, bioinfer_frames_source, frames, take_status, t, &err);
    if (!st && (st = t->status))
        memcpy(err.text, t->message, sizeof err.text);
    else if (!st && !t->any)
        snprintf(err.text, sizeof err.text, "%s: no frame", cli->input_name);
    if (!st && !t->any)
        st = BIOINFER_EMPTY;
    if ((written = cli_output_finish(&t->work.text, &lost)))
        return cli_fail(cli, CLI_AT_WRITE, written, &lost);
    if (st) {
        const int code = cli_fail(cli, cli_motion_stage(o, st), st, &err);
        if (st != BIOINFER_INVALID && st != BIOINFER_MISMATCH && t->first_step && !o->quiet)
            cli_say(cli, "the trajectory is kept: %s", o->output);
        return code;
    }
    if (o->profile)
        cli_print_profile(cli);
    if (!t->first_step && !o->quiet)
        cli_say(cli, "no step was made: %s has all %" PRIu64, o->output, t->steps);
    else if (!o->quiet)
        cli_say(cli, "steps %" PRIu64 " to %" PRIu64 " in %.2f s, model %s from %s, %s %s -> %s",
                t->first_step, t->steps, cli_now() - start, cli->info.name, cli->info.path,
                cli->info.device, cli->info.kernels, o->output);
    return t->first_step ? cli_provenance_write(cli, &how) : CLI_EXIT_OK;
}

/* ---- many frames ---- */

/* The frames, by whose address cli_frames_open() sets them. */
struct moving {
    bioinfer_frames *frames;
    const struct cli *cli;
};

/* A bioinfer_source: the frames of this shard. */
static int next_frame(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    const struct moving *m = user;
    const struct cli_options *o = m->cli->options;
    int st;
    do
        st = bioinfer_frames_source(m->frames, record, err);
    while (st == 1 && o->n_shards &&
           record->ordinal % (uint64_t)o->n_shards != (uint64_t)o->shard - 1);
    return st;
}

/* Makes the folder of the trajectories, unless it is there; an exit code. */
static int make_folder(struct cli *cli)
{
    const char *path = cli->options->output;
    struct bioinfer_error err = {0};
    struct stat s;
    if (!mkdir(path, 0777) || (errno == EEXIST && !stat(path, &s)))
        return CLI_EXIT_OK;
    snprintf(err.text, sizeof err.text, "%s: %s", path, strerror(errno));
    return cli_fail(cli, CLI_AT_CREATE, errno == ENOENT ? BIOINFER_NOT_FOUND : BIOINFER_IO, &err);
}

/* ---- the command ---- */

static int check(struct cli_run *run)
{
    return cli_motion_named(run->cli) && may_be(run->cli->options) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

static int open_input(struct cli_run *run)
{
    const int code = cli_frames_open(run);
    return code || !many(run->cli->options) ? code : make_folder(run->cli);
}

int cli_md(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct moving m = {.cli = cli};
    struct cli_run run = {
        .cli = cli,
        .task = &cli_md_task,
        .check = check,
        .open = open_input,
        .source = next_frame,
        .source_user = &m,
        .head = "id\tstep\ttime_fs\tenergy_eV\tkinetic_eV\ttotal_eV\ttemperature_K\n",
        .output = "-",
        .product = o->output,
        .measures = CLI_TRAJECTORY_UNITS,
        .journal = CLI_JOURNAL_NEVER,
        .records = "frames",
        .result = "trajectory to its end",
        .results = "trajectories"};
    int code;
    if (o->output && many(o)) {
        code = cli_run(&run);
        if (code && code != CLI_EXIT_RECORDS && run.began && !o->quiet)
            cli_say(cli, "what was written is kept in %s; --resume goes on with it", o->output);
    } else {
        if (!(code = cli_run_open(&run)))
            code = run_one(cli, m.frames);
        cli_run_close(&run);
    }
    bioinfer_frames_close(&m.frames);
    return code;
}

/* motion.c - `bioinfer md` and `bioinfer relax`: atoms that move by the forces of a model.
 *
 * Frames go to the file that -o names, a table of how the run goes to standard output. */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
    struct cli *cli;
    struct cli_output out; /* the table */
    uint64_t every, steps; /* md: rows of the table */
    uint64_t first_step;   /* md: the one of the first row, from 1; 0 = none was made */
    bool no_table;
    uint64_t n, n_lost, n_short; /* relax: frames; those without a result, and not at rest */
};

/* Reads a number that an option has; false: said why. */
static bool take_number(const char *option, const char *text, double least, double most,
                        double *out)
{
    char *end;

    if (!text)
        return true;
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= least && *out <= most)
        return true;
    cli_say(NULL, "--%s: '%s' is no number from %g to %g", option, text, least, most);
    return false;
}

/* Takes what the options say of the frames. */
static int energy_params(const struct cli_options *o, struct bioinfer_energy_params *p)
{
    p->ignore_cell = o->pbc && !strcmp(o->pbc, "none");
    p->repeat_all = o->pbc && !strcmp(o->pbc, "xyz");
    p->has_charge = o->charge != NULL;
    return take_number("charge", o->charge, -1000, 1000, &p->charge) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

/* Opens context, model and the task that gives forces. */
static int open_forces(struct cli *cli)
{
    struct bioinfer_energy_params params = BIOINFER_PARAMS(struct bioinfer_energy_params);
    struct bioinfer_error err = {0};
    int code, st;

    if (!cli->options->output || !*cli->options->output) {
        cli_say(cli, "frames go to a file: name it with -o");
        return CLI_EXIT_USAGE;
    }
    if ((code = cli_open_context(cli)) || (code = cli_open_model(cli)) ||
        (code = energy_params(cli->options, &params)))
        return code;
    if (*cli->options->no_rules)
        params.no_rules = cli->options->no_rules;
    st = bioinfer_energy_open(&cli->sequences, cli->model, &params, &err);
    return st ? cli_fail(cli, CLI_AT_CONFIG, st, &err) : CLI_EXIT_OK;
}

/* Where a run failed tells what the exit status is. */
static enum cli_stage stage_of(const struct cli_options *o, int status)
{
    return status == BIOINFER_NOT_FOUND ? access(o->input, F_OK) ? CLI_AT_INPUT : CLI_AT_CREATE
           : status == BIOINFER_IO      ? CLI_AT_WRITE
           : status == BIOINFER_FORMAT || status == BIOINFER_UNSUPPORTED ||
                   status == BIOINFER_MISMATCH || status == BIOINFER_NONFINITE
               ? CLI_AT_READ
           : status == BIOINFER_INVALID ? CLI_AT_CONFIG
                                        : CLI_AT_RUN;
}

/* Closes the table, and gives the exit code of a run with this status. */
static int finish(struct run *run, int st, const struct bioinfer_error *err)
{
    struct bioinfer_error lost = {0};
    const int written = cli_output_finish(&run->out, &lost);

    if (written)
        return cli_fail(run->cli, CLI_AT_WRITE, written, &lost);
    return st ? cli_fail(run->cli, stage_of(run->cli->options, st), st, err) : CLI_EXIT_OK;
}

/* Asks whether a signal came. */
static int stop(void *user)
{
    (void)user;
    return cli_stop_signal() ? BIOINFER_CANCELLED : 0;
}

/* ---- md ---- */

static int take_step(void *user, const struct bioinfer_md_state *s)
{
    struct run *run = user;

    if (!run->first_step) {
        run->first_step = s->step;
        cli_output_printf(&run->out,
                          "step\ttime_fs\tenergy_eV\tkinetic_eV\ttotal_eV\ttemperature_K\n");
    }
    if (s->step % run->every == 0 || s->step == run->steps) {
        cli_output_printf(&run->out, "%" PRIu64 "\t%.10g\t%.6f\t%.6f\t%.6f\t%.2f\n", s->step,
                          s->time, s->energy, s->kinetic, s->energy + s->kinetic, s->temperature);
        if (run->out.status)
            return run->out.status;
    }
    return 0;
}

static bool md_params(const struct cli_options *o, struct bioinfer_md_params *p)
{
    const char *resume = o->resume ? o->resume : "no";

    if (!strcmp(o->output, "-")) {
        cli_say(NULL, "a trajectory is a file that grows: name it with -o");
        return false;
    }
    if (!strcmp(resume, "force")) {
        cli_say(NULL, "md goes on with a trajectory of the same run alone: --resume");
        return false;
    }
    if (o->friction && o->thermostat && !strcmp(o->thermostat, "nve")) {
        cli_say(NULL, "--friction and --thermostat nve do not go together");
        return false;
    }
    p->temperature = 300;
    p->steps = o->steps ? (uint64_t)o->steps : 1000;
    p->every = o->every ? (uint64_t)o->every : 100;
    p->seed = o->seed ? (uint64_t)o->seed - 1 : 0;
    p->nve = o->thermostat && !strcmp(o->thermostat, "nve");
    p->resume = strcmp(resume, "no") != 0;
    return take_number("dt", o->dt, 1e-6, 100, &p->dt) &&
           take_number("temperature", o->temperature, 0, 1e6, &p->temperature) &&
           take_number("friction", o->friction, 1e-6, 1e5, &p->friction);
}

static int run_md(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    struct bioinfer_md_params params = BIOINFER_PARAMS(struct bioinfer_md_params,
                                                       .progress = take_step, .stop = stop);
    struct bioinfer_error err = {0};
    const double start = cli_now();
    int st, code = open_forces(cli);

    if (code)
        return code;
    if (!md_params(o, &params))
        return CLI_EXIT_USAGE;
    run.every = params.every;
    run.steps = params.steps;
    params.progress_user = &run;
    cli_output_open(&run.out, NULL, &err);
    st = bioinfer_md(cli->sequences, o->input, o->output, &params, &err);
    if ((code = finish(&run, st, &err))) {
        if (st != BIOINFER_INVALID && st != BIOINFER_MISMATCH && run.first_step && !o->quiet)
            cli_say(cli, "the trajectory is kept: %s", o->output);
        return code;
    }
    if (!run.first_step && !o->quiet)
        cli_say(cli, "no step was made: %s has all %" PRIu64, o->output, params.steps);
    else if (!o->quiet)
        cli_say(cli, "steps %" PRIu64 " to %" PRIu64 " in %.2f s, model %s from %s, %s %s -> %s",
                run.first_step, params.steps, cli_now() - start, cli->info.name, cli->info.path,
                cli->info.device, cli->info.kernels, o->output);
    return CLI_EXIT_OK;
}

/* ---- relax ---- */

static int take_frame(void *user, const struct bioinfer_relaxed *f)
{
    struct run *run = user;

    if (!run->n++ && !run->no_table)
        cli_output_printf(&run->out, "id\trelaxed\tsteps\tenergy_eV\tlargest_force_eV_A\n");
    if (f->status) {
        run->n_lost++;
        cli_say_lost(run->cli, "%s: not relaxed: %s", f->id, f->message);
    } else {
        run->n_short += !f->relaxed;
    }
    if (!f->status && !run->no_table) {
        cli_output_field(&run->out, f->id);
        cli_output_printf(&run->out, "\t%s\t%" PRIu64 "\t%.6f\t%.6f\n", f->relaxed ? "yes" : "no",
                          f->steps, f->energy, f->largest);
    }
    return run->out.status ? run->out.status : stop(NULL);
}

static bool is_file(const char *path)
{
    struct stat s;

    return !stat(path, &s) && S_ISREG(s.st_mode);
}

static int relax(struct cli *cli)
{
    const struct cli_options *o = cli->options;
    struct run run = {.cli = cli};
    struct bioinfer_relax_params params = BIOINFER_PARAMS(
        struct bioinfer_relax_params, .steps = (uint64_t)o->steps, .cell = o->cell,
        .done = take_frame, .stop = stop);
    struct bioinfer_error err = {0};
    const double start = cli_now();
    int st, code = open_forces(cli);

    if (code)
        return code;
    if (!take_number("fmax", o->fmax, 1e-9, 1e6, &params.fmax))
        return CLI_EXIT_USAGE;
    params.done_user = &run;
    cli_output_open(&run.out, NULL, &err);
    run.no_table = !strcmp(o->output, "-"); /* where the frames go, too */
    st = bioinfer_relax(cli->sequences, o->input, o->output, &params, &err);
    if ((code = finish(&run, st, &err))) {
        if (st && run.n > run.n_lost && !run.no_table && is_file(o->output) && !o->quiet)
            cli_say(cli, "%" PRIu64 " frames were done, and are kept: %s", run.n - run.n_lost,
                    o->output);
        return code;
    }
    if (!run.n) {
        cli_say(cli, "%s: no frame", o->input);
        return CLI_EXIT_DATA;
    }
    if (!o->quiet)
        cli_say(cli, "%" PRIu64 " frames in %.2f s, model %s from %s, %s %s -> %s", run.n,
                cli_now() - start, cli->info.name, cli->info.path, cli->info.device,
                cli->info.kernels, o->output);
    if (run.n_lost)
        cli_say(cli, "%" PRIu64 " of %" PRIu64 " frames have no result", run.n_lost, run.n);
    if (run.n_short)
        cli_say(cli,
                "%" PRIu64 " of %" PRIu64 " frames are not relaxed after the steps that they "
                "have: --steps",
                run.n_short, run.n);
    return run.n_lost || run.n_short ? CLI_EXIT_RECORDS : CLI_EXIT_OK;
}

int cli_motion(struct cli *cli)
{
    return cli->options->command == CLI_MD ? run_md(cli) : relax(cli);
}

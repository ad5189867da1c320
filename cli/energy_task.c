/* energy_task.c - the task of energies: a frame becomes a row of a table, a line of JSON, a frame
 * with its energy and forces, or rows of arrays. */
#include "energy.h"

#include "../writers/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Other units in one eV, or in one eV / angstrom^3. */
#define KCAL 23.060547830619
#define KJ 96.48533212331
#define GPA 160.2176634

struct teller {
    struct cli *cli;
    int form;
    double unit;
    struct cli_output text; /* gathers a row */
    bioinfer_sink sink;
    void *sink_user;
};

/* xx yy zz yz xz xy of a stress, in GPa. */
static void voigt(const double *s, double v[6])
{
    static const int at[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};

    for (int k = 0; k < 6; k++)
        v[k] = GPA * 0.5 * (s[3 * at[k][0] + at[k][1]] + s[3 * at[k][1] + at[k][0]]);
}

static void put_row(struct teller *t, const struct bioinfer_result *r)
{
    const struct bioinfer_energy *e = r->energy;
    double v[6];

    cli_output_field(&t->text, r->id);
    if (e)
        cli_output_printf(&t->text, "\t%zu\t%.6f\t%.6f", e->n_atoms, t->unit * e->energy,
                          t->unit * e->largest);
    else
        cli_output_printf(&t->text, "\t\t\t");
    if (e && e->stress)
        voigt(e->stress, v);
    for (int k = 0; t->cli->options->stress && k < 6; k++)
        if (e && e->stress)
            cli_output_printf(&t->text, "\t%.6f", v[k]);
        else
            cli_output_printf(&t->text, "\t");
    cli_output_printf(&t->text, "\t%s\t", bioinfer_status_name(r->status));
    cli_output_field(&t->text, r->message);
    cli_output_printf(&t->text, "\n");
}

/* "key":"value" in well-formed JSON, whatever the bytes of the value. */
static void put_string(struct teller *t, const char *key, const char *value)
{
    const struct bi_env env = bi_env_default();
    struct bi_buf json = {.env = &env};

    bi_put_json(&json, value);
    if (json.failed && !t->text.status)
        t->text.status = BIOINFER_NOMEM;
    cli_output_printf(&t->text, "\"%s\":", key);
    cli_output_write(&t->text, json.data, json.size);
    bi_buf_free(&json);
}

static void put_json(struct teller *t, const struct bioinfer_result *r)
{
    const struct cli_options *o = t->cli->options;
    const struct bioinfer_energy *e = r->energy;
    double v[6];

    cli_output_printf(&t->text, "{");
    put_string(t, "id", r->id);
    if (e)
        cli_output_printf(&t->text, ",\"atoms\":%zu,\"energy\":%.9g,\"largest_force\":%.9g",
                          e->n_atoms, t->unit * e->energy, t->unit * e->largest);
    for (size_t i = 0; e && o->forces && i < e->n_atoms; i++)
        cli_output_printf(&t->text, "%s[%.9g,%.9g,%.9g]", i ? "," : ",\"forces\":[",
                          t->unit * e->forces[3 * i], t->unit * e->forces[3 * i + 1],
                          t->unit * e->forces[3 * i + 2]);
    if (e && o->forces)
        cli_output_printf(&t->text, "]");
    if (e && o->stress && e->stress) {
        voigt(e->stress, v);
        for (int k = 0; k < 6; k++)
            cli_output_printf(&t->text, "%s%.9g", k ? "," : ",\"stress\":[", v[k]);
        cli_output_printf(&t->text, "]");
    }
    cli_output_printf(&t->text, ",");
    put_string(t, "status", bioinfer_status_name(r->status));
    cli_output_printf(&t->text, ",");
    put_string(t, "message", r->message);
    cli_output_printf(&t->text, "}\n");
}

/* The number of atoms, then rows in the order of the list of arrays (energy.c); NaN where there is
 * no stress. */
static void put_arrays(struct teller *t, const struct bioinfer_result *r)
{
    const struct cli_options *o = t->cli->options;
    const struct bioinfer_energy *e = r->energy;
    const int64_t n = (int64_t)e->n_atoms, frame = (int64_t)r->ordinal;
    const double values[2] = {t->unit * e->energy, t->unit * e->largest};
    double stress[9];

    for (int k = 0; k < 9; k++)
        stress[k] = e->stress ? e->stress[k] : (double)NAN;
    cli_output_write(&t->text, (const char *)&n, sizeof n);
    cli_output_write(&t->text, (const char *)&frame, sizeof frame);
    cli_output_write(&t->text, (const char *)values, sizeof values);
    if (o->stress)
        cli_output_write(&t->text, (const char *)stress, sizeof stress);
    cli_output_write(&t->text, (const char *)e->atoms->numbers,
                     e->n_atoms * sizeof *e->atoms->numbers);
    for (size_t i = 0; o->forces && i < 3 * e->n_atoms; i++) {
        const float force = (float)(t->unit * e->forces[i]);
        cli_output_write(&t->text, (const char *)&force, sizeof force);
    }
}

static int give(struct teller *t, const struct bioinfer_result *r, bioinfer_sink sink,
                void *sink_user, struct bioinfer_error *err)
{
    if (t->form == CLI_ENERGY_ARRAYS && r->status) { /* it has no rows */
        const struct bioinfer_result lost = {
            .ordinal = r->ordinal, .id = r->id, .status = r->status, .message = r->message};
        return sink(sink_user, &lost, err);
    }
    if (t->form == CLI_ENERGY_TSV)
        put_row(t, r);
    else if (t->form == CLI_ENERGY_ARRAYS)
        put_arrays(t, r);
    else if (t->form == CLI_ENERGY_JSONL)
        put_json(t, r);
    else if (r->n_texts)
        cli_output_write(&t->text, r->texts[0].text, r->texts[0].length);
    return cli_rows_give(&t->text, r, 0, sink, sink_user, err);
}

/* A bioinfer_sink. */
static int take_energy(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct teller *t = user;

    return give(t, result, t->sink, t->sink_user, err);
}

/* Gives the row of a record that ended every worker. */
static int lose(struct cli *cli, const struct bioinfer_record *record, int status,
                const char *message, bioinfer_sink sink, void *sink_user,
                struct bioinfer_error *err)
{
    const struct bioinfer_result result = {
        .ordinal = record->ordinal, .id = record->id, .status = status, .message = message};

    return give(cli->task, &result, sink, sink_user, err);
}

/* ---- the task ---- */

static int begin(struct cli *cli)
{
    const char *units = cli->options->units;
    struct teller *t = calloc(1, sizeof *t);

    if (!(cli->task = t))
        return cli_fail(cli, CLI_AT_RUN, BIOINFER_NOMEM, NULL);
    t->cli = cli;
    t->form = cli_energy_form(cli->options);
    t->unit = !units || !strcmp(units, "eV") ? 1 : !strncmp(units, "kJ", 2) ? KJ : KCAL;
    return CLI_EXIT_OK;
}

static int open_task(struct cli *cli, cli_tick tick)
{
    const struct cli_options *o = cli->options;
    const struct teller *t = cli->task;
    struct bioinfer_energy_params params = BIOINFER_PARAMS(
        struct bioinfer_energy_params, .ignore_cell = o->pbc && !strcmp(o->pbc, "none"),
        .repeat_all = o->pbc && !strcmp(o->pbc, "xyz"), .as_text = t->form == CLI_ENERGY_EXTXYZ,
        .atoms_at_once = o->batch_tokens, .no_rules = o->no_rules[0] ? o->no_rules : NULL,
        .progress = tick, .progress_user = cli);
    struct bioinfer_error err = {0};
    char *end = NULL;
    int st;

    if (o->charge) {
        params.charge = strtod(o->charge, &end);
        params.has_charge = 1;
        if (end == o->charge || *end || !isfinite(params.charge)) {
            cli_say(cli, "--charge '%s': expected a number", o->charge);
            return CLI_EXIT_USAGE;
        }
    }
    if ((st = bioinfer_energy_open(&cli->sequences, cli->model, &params, &err)))
        return cli_fail(cli, CLI_AT_CONFIG, st, &err);
    if (o->profile)
        bioinfer_task_set_profile(cli->sequences, 1);
    return CLI_EXIT_OK;
}

static int run_task(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
                    void *sink_user, struct bioinfer_error *err)
{
    struct teller *t = cli->task;

    t->sink = sink;
    t->sink_user = sink_user;
    return bioinfer_task_run(cli->sequences, source, source_user, take_energy, t, err);
}

static void end(struct cli *cli)
{
    struct teller *t = cli->task;

    bioinfer_task_close(&cli->sequences);
    if (!t)
        return;
    cli_output_close(&t->text);
    free(t);
    cli->task = NULL;
}

/* A line of an extended XYZ is about 70 bytes for an atom. */
static struct cli_weight weigh(const struct cli *cli, const struct bioinfer_record *record)
{
    (void)cli;
    return (struct cli_weight){.work = 1 + record->length / 70, .bytes = record->length + 5};
}

const struct cli_task cli_energy_task = {.begin = begin,
                                         .open = open_task,
                                         .run = run_task,
                                         .lose = lose,
                                         .profile = cli_print_profile,
                                         .end = end,
                                         .weigh = weigh};

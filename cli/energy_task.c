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
    struct cli_work work;
    int form;
    double unit;
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
    cli_output_field(&t->work.text, r->id);
    if (e)
        cli_output_printf(&t->work.text, "\t%zu\t%.6f\t%.6f", e->n_atoms, t->unit * e->energy,
                          t->unit * e->largest);
    else
        cli_output_printf(&t->work.text, "\t\t\t");
    if (e && e->stress)
        voigt(e->stress, v);
    for (int k = 0; t->work.cli->options->stress && k < 6; k++)
        if (e && e->stress)
            cli_output_printf(&t->work.text, "\t%.6f", v[k]);
        else
            cli_output_printf(&t->work.text, "\t");
    cli_output_printf(&t->work.text, "\t%s\t", bioinfer_status_name(r->status));
    cli_output_field(&t->work.text, r->message);
    cli_output_printf(&t->work.text, "\n");
}

/* "key":"value" in well-formed JSON, whatever the bytes of the value. */
static void put_string(struct teller *t, const char *key, const char *value)
{
    const struct bi_env env = bi_env_default();
    struct bi_buf json = {.env = &env};
    bi_put_json(&json, value);
    if (json.failed && !t->work.text.status)
        t->work.text.status = BIOINFER_NOMEM;
    cli_output_printf(&t->work.text, "\"%s\":", key);
    cli_output_write(&t->work.text, json.data, json.size);
    bi_buf_free(&json);
}

static void put_json(struct teller *t, const struct bioinfer_result *r)
{
    const struct cli_options *o = t->work.cli->options;
    const struct bioinfer_energy *e = r->energy;
    double v[6];
    cli_output_printf(&t->work.text, "{");
    put_string(t, "id", r->id);
    if (e)
        cli_output_printf(&t->work.text, ",\"atoms\":%zu,\"energy\":%.9g,\"largest_force\":%.9g",
                          e->n_atoms, t->unit * e->energy, t->unit * e->largest);
    for (size_t i = 0; e && o->forces && i < e->n_atoms; i++)
        cli_output_printf(&t->work.text, "%s[%.9g,%.9g,%.9g]", i ? "," : ",\"forces\":[",
                          t->unit * e->forces[3 * i], t->unit * e->forces[3 * i + 1],
                          t->unit * e->forces[3 * i + 2]);
    if (e && o->forces)
        cli_output_printf(&t->work.text, "]");
    if (e && o->stress && e->stress) {
        voigt(e->stress, v);
        for (int k = 0; k < 6; k++)
            cli_output_printf(&t->work.text, "%s%.9g", k ? "," : ",\"stress\":[", v[k]);
        cli_output_printf(&t->work.text, "]");
    }
    cli_output_printf(&t->work.text, ",");
    put_string(t, "status", bioinfer_status_name(r->status));
    cli_output_printf(&t->work.text, ",");
    put_string(t, "message", r->message);
    cli_output_printf(&t->work.text, "}\n");
}

/* The number of atoms, then rows in the order of the list of arrays (energy.c); NaN where there is
 * no stress. */
static void put_arrays(struct teller *t, const struct bioinfer_result *r)
{
    const struct cli_options *o = t->work.cli->options;
    const struct bioinfer_energy *e = r->energy;
    const int64_t n = (int64_t)e->n_atoms, frame = (int64_t)r->ordinal;
    const double values[2] = {t->unit * e->energy, t->unit * e->largest};
    double stress[9];
    for (int k = 0; k < 9; k++)
        stress[k] = e->stress ? e->stress[k] : (double)NAN;
    cli_output_write(&t->work.text, (const char *)&n, sizeof n);
    cli_output_write(&t->work.text, (const char *)&frame, sizeof frame);
    cli_output_write(&t->work.text, (const char *)values, sizeof values);
    if (o->stress)
        cli_output_write(&t->work.text, (const char *)stress, sizeof stress);
    cli_output_write(&t->work.text, (const char *)e->atoms->numbers,
                     e->n_atoms * sizeof *e->atoms->numbers);
    for (size_t i = 0; o->forces && i < 3 * e->n_atoms; i++) {
        const float force = (float)(t->unit * e->forces[i]);
        cli_output_write(&t->work.text, (const char *)&force, sizeof force);
    }
}

/* A bioinfer_sink. */
static int take_energy(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct teller *t = user;
    if (t->form == CLI_ENERGY_ARRAYS && r->status) { /* it has no rows */
        const struct bioinfer_result lost = {
            .ordinal = r->ordinal, .id = r->id, .status = r->status, .message = r->message};
        return t->work.sink(t->work.sink_user, &lost, err);
    }
    if (t->form == CLI_ENERGY_TSV)
        put_row(t, r);
    else if (t->form == CLI_ENERGY_ARRAYS)
        put_arrays(t, r);
    else if (t->form == CLI_ENERGY_JSONL)
        put_json(t, r);
    else if (r->n_texts)
        cli_output_write(&t->work.text, r->texts[0].text, r->texts[0].length);
    return cli_work_give(&t->work, r, 0, err);
}

/* Gives the row of a record that ended every worker. */
static int lose(void *state, const struct bioinfer_record *record,
                const struct bioinfer_result *lost, struct bioinfer_error *err)
{
    (void)record;
    return take_energy(state, lost, err);
}

/* ---- the task ---- */

static int begin(struct cli *cli)
{
    const char *units = cli->options->units;
    struct teller *t = cli->task;
    t->form = cli_energy_form(cli->options);
    t->unit = !units || !strcmp(units, "eV") ? 1 : !strncmp(units, "kJ", 2) ? KJ : KCAL;
    return CLI_EXIT_OK;
}

static void fill(const struct cli_options *o, void *params)
{
    struct bioinfer_energy_params *p = params;
    p->as_text = cli_energy_form(o) == CLI_ENERGY_EXTXYZ;
}

const struct cli_task cli_energy_task = {.name = "energy",
                                         .size = sizeof(struct teller),
                                         .begin = begin,
                                         .fill = fill,
                                         .take = take_energy,
                                         .lose = lose,
                                         .weigh = cli_motion_weigh};

/* energy.c - `bioinfer MODEL FRAMES` for models of forces: a row, a line or a frame for every
 * frame, or rows of arrays, in the order of the input. */
#include "energy.h"

#include <string.h>

static const char table[] = "id\tatoms\tenergy\tlargest_force\tstatus\tmessage\n";
static const char with_stress[] =
    "id\tatoms\tenergy\tlargest_force\tstress_xx\tstress_yy\tstress_zz\t"
    "stress_yz\tstress_xz\tstress_xy\tstatus\tmessage\n";

int cli_energy_form(const struct cli_options *o)
{
    static const struct {
        const char *name, *suffix;
        enum cli_energy_form form;
    } forms[] = {{"tsv", ".tsv", CLI_ENERGY_TSV},          {"tsv", ".txt", CLI_ENERGY_TSV},
                 {"extxyz", ".extxyz", CLI_ENERGY_EXTXYZ}, {"extxyz", ".xyz", CLI_ENERGY_EXTXYZ},
                 {"jsonl", ".jsonl", CLI_ENERGY_JSONL},    {"npz", ".npz", CLI_ENERGY_ARRAYS},
                 {"h5", ".h5", CLI_ENERGY_ARRAYS},         {"h5", ".hdf5", CLI_ENERGY_ARRAYS}};
    const char *path = o->output && strcmp(o->output, "-") ? o->output : NULL;
    const struct cli_energy_found {
        int by_name, by_suffix;
    } none = {-1, -1};
    struct cli_energy_found found = none;

    for (size_t i = 0; i < CLI_COUNT(forms); i++) {
        if (o->format && !strcmp(o->format, forms[i].name))
            found.by_name = (int)forms[i].form;
        if (path && cli_ends_with(path, forms[i].suffix))
            found.by_suffix = (int)forms[i].form;
    }
    if (o->format && found.by_name < 0) {
        cli_say(NULL, "--format '%s': energies are written as tsv, extxyz, jsonl, npz or h5",
                o->format);
        return -1;
    }
    if (!o->format && path && found.by_suffix < 0) {
        cli_say(NULL,
                "%s: the name says no format: name it .tsv, .extxyz, .jsonl, .npz or .h5, "
                "or give --format",
                path);
        return -1;
    }
    if (o->format)
        return cli_suffix_fits(o, o->format) ? found.by_name : -1;
    return path ? found.by_suffix : CLI_ENERGY_TSV;
}

/* Checks options that exclude each other; false: said why. */
static bool check(const struct cli_options *o, int form)
{
    if (form < 0)
        return false;
    if (form == CLI_ENERGY_TSV && o->forces) {
        cli_say(NULL, "--forces: a table has one row for a frame; write -o FILE.extxyz, .jsonl, "
                      ".npz or .h5");
        return false;
    }
    if (form == CLI_ENERGY_EXTXYZ && o->units && strcmp(o->units, "eV")) {
        cli_say(NULL, "--units %s: extended XYZ is in eV and angstrom", o->units);
        return false;
    }
    if (form == CLI_ENERGY_ARRAYS && (!o->output || !strcmp(o->output, "-"))) {
        cli_say(NULL, "--format %s needs a file: name it with -o", o->format);
        return false;
    }
    return true;
}

/* Lists the arrays of a file of arrays, as bioinfer_writer_params.columns has them. */
static void list_arrays(const struct cli_options *o, char *list, size_t size)
{
    const char *unit = !o->units || !strcmp(o->units, "eV") ? "eV"
                       : !strncmp(o->units, "kJ", 2)        ? "kJ/mol"
                                                            : "kcal/mol";
    const int n = snprintf(list, size,
                           "frames\t<i8\trecord\t-\t\nenergy\t<f8\trecord\t-\t%s\n"
                           "largest_force\t<f8\trecord\t-\t%s/angstrom\n"
                           "%snumbers\t<i4\titem\t-\t\n",
                           unit, unit,
                           o->stress ? "stress\t<f8\trecord\t3,3\teV/angstrom^3\n" : "");

    if (o->forces)
        snprintf(list + n, size - (size_t)n, "forces\t<f4\titem\t3\t%s/angstrom\n", unit);
}

static int create(struct cli_rows *rows)
{
    const struct cli_options *o = rows->cli->options;
    struct bioinfer_job_params params = cli_job_params(rows->cli, "energy");
    struct cli_output options = {0};
    int code;

    cli_output_printf(&options, "form=%d forces=%d stress=%d units=%s pbc=%s charge=%s no-rule=%s",
                      cli_energy_form(o), o->forces, o->stress, o->units ? o->units : "eV",
                      o->pbc ? o->pbc : "file", o->charge ? o->charge : "-", o->no_rules);
    cli_output_write(&options, "", 1);
    params.options = options.text;
    params.input_role = "frames";
    code = options.status ? cli_no_memory(rows->cli, "options") : cli_rows_create(rows, &params);
    cli_output_close(&options);
    return code;
}

int cli_energy(struct cli *cli)
{
    enum { ATOMS = 64 };
    const struct cli_options *o = cli->options;
    const int form = cli_energy_form(o);
    char arrays[512];
    bioinfer_frames *frames = NULL;
    struct bioinfer_error err = {0};
    struct cli_rows rows = {.cli = cli,
                            .task = &cli_energy_task,
                            .source = bioinfer_frames_source,
                            .records = "frames",
                            .result = "energy",
                            .columns = form == CLI_ENERGY_ARRAYS ? arrays : NULL,
                            .head = form != CLI_ENERGY_TSV ? ""
                                    : o->stress            ? with_stress
                                                           : table};
    int code = CLI_EXIT_USAGE, st;

    list_arrays(o, arrays, sizeof arrays);
    cli->input_name = strcmp(o->input, "-") ? o->input : "standard input";
    if (!check(o, form) || !cli_job_needs_file(cli, o->output) || (code = cli_open_context(cli)))
        goto out;
    if ((st = bioinfer_frames_open(&frames, cli->ctx, o->input, &err))) {
        code = cli_fail(cli, CLI_AT_INPUT, st, &err);
        goto out;
    }
    rows.source_user = frames;
    if ((code = cli_energy_task.begin(cli)) ||
        (code = cli_task_open(cli, &cli_energy_task, &rows.pool)))
        goto out;
    if (o->dump_graph || o->trace_rules) {
        code = cli_rows_dump(&rows, ATOMS);
        goto out;
    }
    if (o->dry_run) {
        const struct cli_dry how = {.next = bioinfer_frames_source,
                                    .user = frames,
                                    .weigh = cli_energy_task.weigh,
                                    .run = cli_energy_task.run,
                                    .task = cli->sequences};
        code = cli_dry_measure(cli, &how);
        goto out;
    }
    if ((code = create(&rows)))
        goto out;
    if ((code = cli_rows_run(&rows)))
        goto out;
    cli_rows_say(&rows, NULL);
    code = cli_rows_code(&rows);
out:
    cli_rows_close(&rows);
    cli_energy_task.end(cli);
    bioinfer_frames_close(&frames);
    return code;
}

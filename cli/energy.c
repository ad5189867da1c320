/* energy.c - `bioinfer MODEL FRAMES` for models of forces: a row, a line or a frame for every
 * frame, or rows of arrays, in the order of the input. */
#include "energy.h"

#include <string.h>

static const char table[] = "id\tatoms\tenergy\tlargest_force\tstatus\tmessage\n";
static const char with_stress[] =
    "id\tatoms\tenergy\tlargest_force\tstress_xx\tstress_yy\tstress_zz\t"
    "stress_yz\tstress_xz\tstress_xy\tstatus\tmessage\n";

struct computing {
    struct cli_run run;
    char arrays[512]; /* a file of arrays has these */
    char units[128];
};

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

const char *cli_energy_unit(const struct cli_options *o)
{
    return !o->units || !strcmp(o->units, "eV") ? "eV"
           : !strncmp(o->units, "kJ", 2)        ? "kJ/mol"
                                                : "kcal/mol";
}

/* Lists the arrays of a file of arrays, as bioinfer_writer_params.columns has them. */
static void list_arrays(const struct cli_options *o, char *list, size_t size)
{
    const char *unit = cli_energy_unit(o);
    const int n = snprintf(list, size,
                           "frames\t<i8\trecord\t-\t\nenergy\t<f8\trecord\t-\t%s\n"
                           "largest_force\t<f8\trecord\t-\t%s/angstrom\n"
                           "%snumbers\t<i4\titem\t-\t\n",
                           unit, unit,
                           o->stress ? "stress\t<f8\trecord\t3,3\teV/angstrom^3\n" : "");
    if (o->forces)
        snprintf(list + n, size - (size_t)n, "forces\t<f4\titem\t3\t%s/angstrom\n", unit);
}

/* Lists the units of a file that is no table. */
static const char *list_units(const struct cli_options *o, int form, char *list, size_t size)
{
    const char *unit = cli_energy_unit(o);
    if (form == CLI_ENERGY_EXTXYZ)
        return CLI_FRAME_UNITS;
    snprintf(list, size, "energy=%s,largest_force=%s/angstrom%s%s%s%s", unit, unit,
             o->forces ? ",forces=" : "", o->forces ? unit : "", o->forces ? "/angstrom" : "",
             !o->stress                  ? ""
             : form == CLI_ENERGY_ARRAYS ? ",stress=eV/angstrom^3"
                                         : ",stress=GPa");
    return list;
}

static int check(struct cli_run *run)
{
    const struct cli_options *o = run->cli->options;
    struct computing *e = (struct computing *)run;
    const int form = cli_energy_form(o);
    if (form < 0)
        return CLI_EXIT_USAGE;
    if (form == CLI_ENERGY_TSV && o->forces) {
        cli_say(NULL, "--forces: a table has one row for a frame; write -o FILE.extxyz, .jsonl, "
                      ".npz or .h5");
        return CLI_EXIT_USAGE;
    }
    if (form == CLI_ENERGY_EXTXYZ && o->units && strcmp(o->units, "eV")) {
        cli_say(NULL, "--units %s: extended XYZ is in eV and angstrom", o->units);
        return CLI_EXIT_USAGE;
    }
    if (form == CLI_ENERGY_ARRAYS && (!o->output || !strcmp(o->output, "-"))) {
        cli_say(NULL, "--format %s needs a file: name it with -o", o->format);
        return CLI_EXIT_USAGE;
    }
    if (form == CLI_ENERGY_ARRAYS) {
        list_arrays(o, e->arrays, sizeof e->arrays);
        run->columns = e->arrays;
    }
    if (form != CLI_ENERGY_TSV)
        run->measures = list_units(o, form, e->units, sizeof e->units);
    run->head = form != CLI_ENERGY_TSV ? "" : o->stress ? with_stress : table;
    return cli_job_needs_file(run->cli, o->output) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

static void describe(struct cli_run *run, struct cli_output *text)
{
    const struct cli_options *o = run->cli->options;
    const struct bioinfer_energy_params *p = bioinfer_params_struct(o->params);
    const char *pbc = cli_given(o, "pbc"), *charge = cli_given(o, "charge");
    cli_output_printf(text, "form=%d forces=%d stress=%d units=%s pbc=%s charge=%s no-rule=%s",
                      cli_energy_form(o), o->forces, o->stress, o->units ? o->units : "eV",
                      pbc ? pbc : "file", charge ? charge : "-", p->no_rules ? p->no_rules : "");
}

int cli_energy(struct cli *cli)
{
    bioinfer_frames *frames = NULL;
    struct computing e = {.run = {.cli = cli,
                                  .task = &cli_energy_task,
                                  .check = check,
                                  .open = cli_frames_open,
                                  .source = cli_frames_next,
                                  .source_user = &frames,
                                  .role = "frames",
                                  .tokens = 64,
                                  .describe = describe,
                                  .records = "frames",
                                  .result = "energy",
                                  .results = "energies"}};
    const int code = cli_run(&e.run);
    bioinfer_frames_close(&frames);
    return code;
}

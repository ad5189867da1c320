/* energy.h - what the files of `bioinfer MODEL FRAMES` share.
 *
 *   energy.c       the command: frames in, a table or frames out
 *   energy_task.c  the task: a frame becomes a row, a line of JSON, a frame, or rows of arrays */
#ifndef BI_CLI_ENERGY_H
#define BI_CLI_ENERGY_H

#include "motion.h"

enum cli_energy_form { CLI_ENERGY_TSV, CLI_ENERGY_EXTXYZ, CLI_ENERGY_JSONL, CLI_ENERGY_ARRAYS };

/* Gives the form of output that the options ask for: that of --format, else that of the suffix of
 * the output, else CLI_ENERGY_TSV for standard output. -1: an unknown word or suffix, which was
 * said. */
int cli_energy_form(const struct cli_options *o);
/* The unit of energies: "eV", "kcal/mol" or "kJ/mol". */
const char *cli_energy_unit(const struct cli_options *o);

#endif

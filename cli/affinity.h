/* affinity.h - what the files of `bioinfer MODEL RECEPTOR LIGANDS` share.
 *
 *   affinity.c        the command: records in, a table out
 *   affinity_input.c  ligands of one receptor, or a table of pairs
 *   affinity_task.c   the task: a ligand becomes a row
 *   affinity_top.c    the best rows of a table */
#ifndef BI_CLI_AFFINITY_H
#define BI_CLI_AFFINITY_H

#include "worker.h"

/* The first line of the table, and the columns that others read. */
#define CLI_AFFINITY_HEAD                                                                          \
    "id\trecord\tenergy\tpairs\tligand_atoms\tpocket_atoms\tdistance\tstatus\tmessage\n"
enum { CLI_AFFINITY_ENERGY = 2, CLI_AFFINITY_STATUS = 7 };

/* ---- affinity_input.c ---- */

/* Where records come from. One of them is the text of a molecule; its description says where that
 * stands, and for pairs also what its receptor is. */
struct cli_complexes {
    struct cli *cli;
    bioinfer_ligands *ligands;            /* a screen's; for pairs the file of the row at hand */
    struct cli_csv receptors, files, ids; /* columns of a table of pairs; no rows: a screen */
    size_t next;                          /* row of the table */
    char *folder;                         /* paths of the table begin there */
    char *receptor, *file, *where;        /* the record given last */
    struct bioinfer_error why;
};

/* Opens the ligands, or reads the table: an exit code. */
int cli_complexes_open(struct cli_complexes *c, struct cli *cli);
/* A bioinfer_source; user: the complexes. The record is valid until the next call. */
int cli_complexes_next(void *complexes, struct bioinfer_record *record, struct bioinfer_error *err);
/* Gives a checksum of the contents of all files of a table, in its order. */
uint64_t cli_complexes_sum(const struct cli_complexes *c);
void cli_complexes_close(struct cli_complexes *c);

/* The parts of a description, which it is cut into. */
struct cli_complex_place {
    uint64_t number, line;       /* where the molecule stands in its file */
    const char *file, *receptor; /* receptor: NULL = that of the command line */
};
/* Cuts it; a part that it lacks is 0 or "". */
void cli_complex_place(char *description, struct cli_complex_place *place);

/* ---- affinity_task.c ---- */

/* The message of a result whose ligand lies far from its receptor. */
#define CLI_AFFINITY_FAR "no pair of atoms is near: the energy says nothing"
/* Adds the row of a result; `number` is that of the molecule in its file. */
void cli_affinity_row(struct cli_output *text, const struct bioinfer_result *result,
                      uint64_t number);

/* ---- affinity_top.c ---- */

/* Writes the n rows of least energy of the table at `path` beside it, best first; an exit code. */
int cli_affinity_top(struct cli *cli, const char *path, int64_t n);

#endif

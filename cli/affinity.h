/* affinity.h - what the files of `bioinfer MODEL RECEPTOR LIGANDS` share.
 *
 *   affinity.c        the command: records in, a table out
 *   affinity_input.c  ligands of one receptor, or a table of pairs
 *   affinity_task.c   the task: a ligand becomes a row
 *   affinity_top.c    the best rows of a table */
#ifndef BI_CLI_AFFINITY_H
#define BI_CLI_AFFINITY_H

#include "pool/worker.h"

#include "../loaders/csv.h"

/* Columns of the table that others read. */
enum { CLI_AFFINITY_ENERGY = 2, CLI_AFFINITY_STATUS = 7 };

/* ---- affinity_input.c ---- */

/* Where records come from. One of them is the text of a molecule; its description says where that
 * stands, and for pairs also what its receptor is. */
struct cli_complexes {
    struct cli *cli;
    bioinfer_ligands *ligands;          /* a screen's; for pairs the file of the row at hand */
    struct bi_csv pairs;                /* a table of pairs; no rows: a screen */
    int of_receptors, of_files, of_ids; /* columns of the table; of_ids: -1 = no such column */
    size_t next;                        /* row of the table */
    char *folder;                       /* paths of the table begin there */
    char *receptor, *file, *where;      /* the record given last */
    struct bioinfer_error why;
};

/* Opens the ligands, or reads the table, into a zeroed *c, and sets cli->input_name: an exit code.
 * A table without a column of ids is fine. To be closed after a failure, too. */
int cli_complexes_open(struct cli_complexes *c, struct cli *cli);
/* A bioinfer_source; user: the complexes. The record is valid until the next call. A row of a table
 * that names no file, or whose ligand cannot be read, is a record with that status and its message,
 * and the rows go on; of a file of several ligands the first one counts. */
int cli_complexes_next(void *complexes, struct bioinfer_record *record, struct bioinfer_error *err);
/* Gives a checksum of the contents of all files of a table, in its order; a file that cannot be
 * read changes it, too. The same number for every screen. False: no memory. */
bool cli_complexes_sum(const struct cli_complexes *c, uint64_t *sum);
void cli_complexes_close(struct cli_complexes *c); /* once: pointers stay in *c */

/* The parts of a description, which it is cut into. */
struct cli_complex_place {
    uint64_t number, line;       /* where the molecule stands in its file */
    const char *file, *receptor; /* receptor: NULL = that of the command line */
};
/* Cuts it, so that its bytes change and the parts lie in it; a part that it lacks is 0 or "", a
 * receptor NULL. */
void cli_complex_place(char *description, struct cli_complex_place *place);
#define CLI_NO_ROW "out of memory for a row"
/* Takes a record of the task's source and its description apart, which the caller frees: 1, or as
 * the source. */
int cli_complex_take(struct cli_work *work, struct bioinfer_record *record, char **description,
                     struct cli_complex_place *place, struct bioinfer_error *err);

/* ---- rescore.c ---- */

/* Writes a tab and the names of the checks that a pose failed, enum bioinfer_pose_check, or ok. */
void cli_pose_checks(struct cli_output *text, unsigned failed);

/* ---- affinity_top.c ---- */

/* Writes the n (above 0) rows of least energy of the table at `path`, x.tsv, beside it, to
 * x.top.tsv, best first, of equals the first; fewer where fewer have an energy with pairs behind
 * it. An exit code; after 0 the caller frees *to, its path. */
int cli_affinity_top(struct cli *cli, const char *path, int64_t n, char **to);

#endif

/* fold.h - what the files of `bioinfer fold` share.
 *
 *   fold.c         the command: chains in, a folder of structures out
 *   fold_input.c   records of FASTA become complexes
 *   fold_table.c   rows of a table of heavy and light chains do
 *   fold_task.c    the task: a complex becomes files and a row */
#ifndef BI_CLI_FOLD_H
#define BI_CLI_FOLD_H

#include "run.h"

#include "../loaders/csv.h"

/* ---- fold_input.c ---- */

/* A record that was read, copied. */
struct cli_chain {
    char *id, *sequence, *message;
    size_t length;
    int status;
};

/* A table of pairs of chains. */
struct cli_chain_table {
    struct bi_csv csv;
    int id, heavy, light; /* columns; id -1: there is none */
    size_t at;            /* the line that comes next */
};

/* Complexes of files of FASTA, and of tables. */
struct cli_chains {
    bioinfer_context *ctx;
    const struct cli_paths *paths;
    bool pairs; /* two records NAME_H and NAME_L, one after the other, are one complex NAME */
    bioinfer_reader *reader;         /* NULL: the path is a table, */
    struct cli_chain_table table;    /* this one */
    size_t at;                       /* the path that is read */
    uint64_t n;                      /* complexes so far */
    struct cli_chain given, waiting; /* waiting.id NULL: nothing was read ahead */
};

/* Opens the first file; the paths must outlive it. After a failure, too, it is to be closed. */
int cli_chains_open(struct cli_chains *c, bioinfer_context *ctx, const struct cli_paths *paths,
                    struct bioinfer_error *err);
/* A bioinfer_source; user: the chains. The record is valid until the next call. A chain of a pair
 * without its other one is a record with a status. */
int cli_chains_next(void *chains, struct bioinfer_record *record, struct bioinfer_error *err);
void cli_chains_close(void *chains);

/* ---- fold_table.c ---- */

/* Is a path named as a table: .csv, .tsv, also with .gz? */
bool cli_chain_table_named(const char *path);
/* Reads a table with columns of heavy and light chains. FORMAT: it has no such columns, or two of a
 * name; else as bi_csv_read(). */
int cli_chain_table_open(struct cli_chain_table *t, const char *path, struct bioinfer_error *err);
/* Makes the next row a chain "HEAVY:LIGHT", which has a status where the row is faulty, a chain is
 * missing, or is more than one: 1; 0 = there is none; NOMEM. */
int cli_chain_table_next(struct cli_chain_table *t, struct cli_chain *chain,
                         struct bioinfer_error *err);
void cli_chain_table_close(struct cli_chain_table *t); /* accepts zeros, and leaves them */

/* ---- fold_task.c ---- */

enum cli_fold_form { CLI_FOLD_CIF, CLI_FOLD_PDB, CLI_FOLD_ARRAYS };

/* Gives the form of the files by --format, CLI_FOLD_CIF without it; -1: an unknown word, which was
 * said. */
int cli_fold_form(const struct cli_options *o);

#endif

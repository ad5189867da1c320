/* complex_jobs.h - jobs of complexes: chains, ligands and ions, their alignments and bonds.
 *
 * Read from JSON in the form of the AlphaFold server's, with more keys. docs/formats.md has
 * the keys. */
#ifndef BI_COMPLEX_JOBS_H
#define BI_COMPLEX_JOBS_H

#include "../base/arena.h"

enum { BI_COMPLEX_CHAINS = 46340, BI_COMPLEX_LETTERS = 46340 };

enum bi_complex_kind {
    BI_COMPLEX_PROTEIN,
    BI_COMPLEX_DNA,
    BI_COMPLEX_RNA,
    BI_COMPLEX_LIGAND,
    BI_COMPLEX_ION
};

/* An alignment in the A3M format: a file's path, or text. Both NULL: there is none. */
struct bi_complex_alignment {
    const char *path, *text;
    size_t size; /* bytes of the text */
};

/* Chains of one sequence, or copies of one ligand or ion. */
struct bi_complex_entity {
    enum bi_complex_kind kind;
    int32_t copies;         /* at least 1 */
    const char *const *ids; /* [copies] names of the chains; NULL: the job has no names for them */
    const char *sequence;   /* a polymer's letters as they stand; else NULL */
    int32_t n_codes;
    const char *const *codes; /* [n_codes] chemical components, modified ones in their places */
    const char *file;         /* a ligand that has no codes; else NULL */
    struct bi_complex_alignment paired, unpaired;
    const char *folder;    /* has pairing.a3m, non_pairing.a3m or both; NULL: none */
    const char *templates; /* a file of alignments to templates; NULL: none */
};

/* An end of a bond; each number begins at 0. */
struct bi_complex_end {
    int32_t entity, copy; /* copy -1: each one, bonded to the other entity's copy of its number */
    int32_t position;     /* component within its entity */
    const char *atom;     /* name; NULL: it has a number */
    int32_t number;       /* atom in the ligand's file */
};

struct bi_complex_bond {
    struct bi_complex_end ends[2];
};

struct bi_complex_job {
    const char *name; /* fit for a file's name */
    int32_t n_seeds, n_entities, n_bonds;
    const uint32_t *seeds; /* each one once; none: the caller chooses */
    const struct bi_complex_entity *entities;
    const struct bi_complex_bond *bonds;
};

struct bi_complex_jobs {
    struct bi_arena arena; /* all of it */
    int32_t n;
    const struct bi_complex_job *jobs; /* names differ */
};

/* Reads a file of at most 256 MiB. A message names the value by its JSON path: [0].sequences[1].
 * FORMAT: no list of jobs, a key that is not known, a value of another type or out of range, two
 * jobs, chains or seeds of one name; UNSUPPORTED: a key or value that is known and not computed,
 * such as SMILES; EMPTY: no jobs, or one without sequences; LIMIT: more than 46,340 chains or
 * letters in a job, or nested too deep; NOMEM; else what reading a file gives. Files that it names
 * are not looked at, and components need not exist. *out is to be freed in any case. */
int bi_complex_jobs_read(struct bi_complex_jobs *out, const struct bi_env *env, const char *path,
                         struct bioinfer_error *err);
/* The same of a text, which is copied; `name` is for messages. */
int bi_complex_jobs_read_text(struct bi_complex_jobs *out, const struct bi_env *env,
                              const char *name, const char *text, size_t size,
                              struct bioinfer_error *err);
/* Accepts zeros, and leaves them. */
void bi_complex_jobs_free(struct bi_complex_jobs *jobs);

#endif

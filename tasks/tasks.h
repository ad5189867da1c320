/* tasks.h - the tasks over models. */
#ifndef BI_TASKS_H
#define BI_TASKS_H

#include "../engine/task.h"

#define TASK(name, takers) extern const struct bi_task_def bi_task_##name;
#include "tasks.inc"

struct bi_molecule;

/* ---- affinity.c ---- */

/* Parses the molecule that is the text of a record, by its place in its file; statuses of
 * bi_molecules_next() and of the molecule. *mol is to be freed after a failure, too. */
int bi_record_molecule(const struct bi_env *env, const struct bioinfer_record *record,
                       struct bi_molecule *mol, struct bioinfer_error *why);

#endif

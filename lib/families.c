/* families.c - the tables of families and of tasks as users read them. */
#include <string.h>

#include "../models/fold.h"
#include "../tasks/tasks.h"

static const struct bi_task_def *const tasks[] = {
#define TASK(name, takers) &bi_task_##name,
#include "../tasks/tasks.inc"
};

const char *bioinfer_task_name(int index)
{
    return index >= 0 && index < (int)BI_COUNT(tasks) ? tasks[index]->name : NULL;
}

int bioinfer_task_kind(const char *name)
{
    for (size_t i = 0; name && i < BI_COUNT(tasks); i++)
        if (!strcmp(tasks[i]->name, name))
            return (int)tasks[i]->kind->kind;
    return -1;
}

const char *bioinfer_family_name(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    return d ? d->name : NULL;
}

const char *bioinfer_family_summary(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    return d ? d->summary : NULL;
}

int bioinfer_family_find(const char *name)
{
    const struct bi_model_def *d;
    for (int i = 0; name && (d = bi_model_def(i)); i++)
        if (!strcmp(d->name, name))
            return i;
    return -1;
}

int bioinfer_family_kind(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    return d ? (int)d->kind->kind : BIOINFER_FAMILY_SEQUENCES;
}

int bioinfer_family_letters(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    return d ? (int)d->letters : BIOINFER_LETTERS_RESIDUES;
}

int bioinfer_family_chains(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    const struct bi_fold_def *fold = d ? bi_family_def(d, &bi_kind_fold) : NULL;
    return fold ? fold->n_chains : 0;
}

/* designs.h - designs for files of structures, for tests. */
#ifndef BI_TEST_DESIGNS_H
#define BI_TEST_DESIGNS_H

#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../include/bioinfer.h"

struct test_files {
    const char *const *paths;
    size_t n, at;
    char *text, id[64];
};

/* A bioinfer_source: the next file, by its name without a suffix. */
static int test_file_source(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct test_files *t = user;
    size_t n;
    FILE *f;
    (void)err;
    if (t->at == t->n)
        return 0;
    free(t->text);
    t->text = malloc(1 << 22);
    if (!t->text || !(f = fopen(t->paths[t->at], "rb")))
        return BIOINFER_IO;
    n = fread(t->text, 1, 1 << 22, f);
    fclose(f);
    snprintf(t->id, sizeof t->id, "%s", basename((char *)(uintptr_t)t->paths[t->at]));
    t->id[strcspn(t->id, ".")] = '\0';
    *record = (struct bioinfer_record){
        .id = t->id, .sequence = t->text, .length = n, .ordinal = t->at++};
    return 1;
}

/* Gives designs for files of up to 4 MiB to `sink`. */
static inline int test_run_designs(bioinfer_task *task, const char *const *paths, size_t n,
                                   bioinfer_sink sink, void *user, struct bioinfer_error *err)
{
    struct test_files t = {.paths = paths, .n = n};
    const int st = bioinfer_task_run(task, test_file_source, &t, sink, user, err);
    free(t.text);
    return st;
}

#endif

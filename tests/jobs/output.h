/* output.h - files that a job has left, for tests of jobs from inside. */
#ifndef BI_TEST_JOB_OUTPUT_H
#define BI_TEST_JOB_OUTPUT_H

#include <stdio.h>
#include <unistd.h>

#include "../../base/file.h"
#include "../test.h"

/* Checks that `path` with the suffix holds this text, or, where want is NULL, more than `most`
 * bytes of whatever; then the file is removed. */
static inline void check_output(const char *path, const char *suffix, const char *want, size_t most)
{
    struct bi_env env = bi_env_default();
    char name[512], *text = NULL;
    size_t size = 0;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    CHECK_EQ(bi_file_slurp(&env, name, 1 << 20, &text, &size, NULL), 0);
    if (want)
        CHECK_STR(text ? text : "", want);
    else
        CHECK(size > most);
    bi_free(&env, text);
    unlink(name);
}

#endif

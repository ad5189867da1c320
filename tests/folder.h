/* folder.h - a folder for the files of a test. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

/* Makes an empty folder in TMPDIR, or in /tmp where that is not set; path [size] takes its name.
 * Gives path, or NULL where it cannot be made. */
static inline char *test_folder(char *path, size_t size, const char *name)
{
    const char *in = getenv("TMPDIR");
    const int n = snprintf(path, size, "%s/bioinfer-%s-XXXXXX", in && *in ? in : "/tmp", name);
    return n > 0 && (size_t)n < size ? mkdtemp(path) : NULL;
}

#endif

/* replay.c - feeds the files named on the command line, and those in the folders named
 * there, to a fuzz target. What once crashed must never crash again. */
#include <dirent.h>
#include <stdio.h>

#include "fuzz.h"

static int replay_file(const char *path)
{
    struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    char *text = NULL;
    size_t size = 0;
    uint8_t *exact;
    if (bi_file_slurp(&env, path, 1 << 26, &text, &size, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    /* a block of exactly this size: a sanitizer sees the first byte read behind it */
    exact = malloc(size ? size : 1);
    if (exact) {
        memcpy(exact, text, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
    bi_free(&env, text);
    return !exact;
}

int main(int argc, char **argv)
{
    long n = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        struct dirent *entry;
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            failed |= replay_file(argv[i]);
            n++;
            continue;
        }
        while ((entry = readdir(folder))) {
            char path[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            failed |= replay_file(path);
            n++;
        }
        closedir(folder);
    }
    printf("%ld inputs\n", n);
    return failed || !n;
}

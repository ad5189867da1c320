/* align_files.c - how long `bioinfer align` takes from file to file while its device is open.
 *
 *     align_files DEVICE REPEAT A.fasta B.fasta [OPTION]...
 *
 * Opens DEVICE by a task that is kept, then runs the whole command REPEAT times in this process,
 * with its options: reading, alignment, writing, its own task on that device, but not the start of
 * process and driver. Prints the seconds of each run. */
#define _POSIX_C_SOURCE 200809L
#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int bioinfer_main(int argc, char **argv); /* main() of the command */
#undef main

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    static char name[] = "bioinfer", command[] = "align", device[] = "--device";
    struct bioinfer_align_params p = BIOINFER_PARAMS(struct bioinfer_align_params);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_task *task = NULL;
    char **line = calloc((size_t)argc + 4, sizeof *line);
    int n = 0, failed = 0;
    if (argc < 5 || !line) {
        fprintf(stderr, "usage: align_files DEVICE REPEAT A.fasta B.fasta [OPTION]...\n");
        return 64;
    }
    line[n++] = name;
    line[n++] = command;
    line[n++] = device;
    line[n++] = argv[1];
    for (int i = 3; i < argc; i++)
        line[n++] = argv[i];
    p.device = argv[1];
    if (bioinfer_context_new(&ctx, NULL, &err) || bioinfer_align_open(&task, ctx, &p, &err)) {
        fprintf(stderr, "align_files: %s\n", err.text);
        return 1;
    }
    for (int k = 0; k < atoi(argv[2]) && !failed; k++) {
        const double begun = now();
        failed = bioinfer_main(n, line);
        printf("%.6f\n", now() - begun);
    }
    bioinfer_task_close(&task);
    bioinfer_context_free(&ctx);
    free(line);
    return failed;
}

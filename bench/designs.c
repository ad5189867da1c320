/* designs.c - how long designs take with the weights loaded.
 *
 *     designs [--device D] [--num-seq N] [--copies N] [--score] [--repeat N] WEIGHTS STRUCTURE...
 *
 * One call of bioinfer_task_compute over the structures, the list N times over: native scores and N
 * sequences each (default 8), or scores alone, from records to a sink. Milliseconds of the first
 * call, which plans and may compile kernels, and the least and the median of --repeat more (default
 * 9). Lines are "name value" pairs for scripts.
 */
#define _POSIX_C_SOURCE 200809L
#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int count(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    (void)err;
    if (result->status)
        fprintf(stderr, "designs: %s\n", result->message);
    *(long *)user += result->design && !result->design->is_native;
    return result->status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *design = NULL;
    const char *device = "cpu";
    struct bioinfer_record **files = NULL, *records = NULL;
    double *ms = NULL, first = 0;
    long made = 0;
    int n_sequences = 8, copies = 1, repeat = 9, score = 0, n_files = 0, at = 1,
        st = BIOINFER_INVALID;
    for (; at < argc && !strncmp(argv[at], "--", 2); at++) {
        if (!strcmp(argv[at], "--score"))
            score = 1;
        else if (at + 1 < argc && !strcmp(argv[at], "--device"))
            device = argv[++at];
        else if (at + 1 < argc && !strcmp(argv[at], "--num-seq"))
            n_sequences = atoi(argv[++at]);
        else if (at + 1 < argc && !strcmp(argv[at], "--copies"))
            copies = atoi(argv[++at]);
        else if (at + 1 < argc && !strcmp(argv[at], "--repeat"))
            repeat = atoi(argv[++at]);
        else
            break;
    }
    n_files = argc - at - 1;
    if (n_files < 1 || copies < 1 || repeat < 1 || !strncmp(argv[at], "--", 2)) {
        fprintf(stderr,
                "usage: designs [--device D] [--num-seq N] [--copies N] [--score] [--repeat N] "
                "WEIGHTS STRUCTURE...\n");
        return 64;
    }
    const size_t n = (size_t)n_files * (size_t)copies;
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .device = device);
    struct bioinfer_design_params dp = BIOINFER_PARAMS(
        struct bioinfer_design_params, .n_sequences = n_sequences,
        .mode = score ? BIOINFER_DESIGN_SCORE : BIOINFER_DESIGN_SAMPLE);
    files = calloc((size_t)n_files, sizeof *files);
    records = calloc(n, sizeof *records);
    ms = calloc((size_t)repeat, sizeof *ms);
    if (!files || !records || !ms)
        goto out;
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[at], &mp, &err)) ||
        (st = bioinfer_design_open(&design, model, &dp, &err)))
        goto out;
    for (int i = 0; i < n_files; i++)
        if ((st = bioinfer_record_read(&files[i], ctx, argv[at + 1 + i], &err)))
            goto out;
    for (size_t i = 0; i < n; i++) {
        records[i] = *files[i % (size_t)n_files];
        records[i].ordinal = i;
    }
    for (int i = -1; i < repeat; i++) {
        const double begun = now();
        made = 0;
        if ((st = bioinfer_task_compute(design, records, n, count, &made, &err)))
            goto out;
        *(i < 0 ? &first : &ms[i]) = 1e3 * (now() - begun);
    }
    qsort(ms, (size_t)repeat, sizeof *ms, compare);
    printf("structures %zu sequences %ld first_ms %.1f least_ms %.2f median_ms %.2f\n", n, made,
           first, ms[0], ms[repeat / 2]);
out:
    if (st)
        fprintf(stderr, "designs: %s\n", err.text);
    for (int i = 0; files && i < n_files; i++)
        bioinfer_record_free(&files[i]);
    bioinfer_task_close(&design);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    free(files);
    free(records);
    free(ms);
    return st ? 1 : 0;
}

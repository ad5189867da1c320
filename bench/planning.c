/* planning.c - how long a plan takes: from an empty graph to launches that are bound.
 *
 *     planning [--device D] [--repeat N] WEIGHTS
 *
 * Runs one record of each of N lengths that have a plan of their own, twice, over weights that are
 * loaded. The first run of a length makes its plan, the second one uses it; the difference is what
 * planning costs. On device "null", the default, nothing is computed. Prints "name value" pairs. */
#define _POSIX_C_SOURCE 200809L
#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONGEST = 1 << 14 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ignore(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    (void)user, (void)result, (void)err;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of one call with a record of so many residues; < 0 = a status. */
static double seconds_of(bioinfer_task *task, size_t length, struct bioinfer_error *err)
{
    static char residues[LONGEST];
    const struct bioinfer_record r = {
        .id = "r", .description = "", .sequence = residues, .length = length, .message = ""};
    const double start = now();
    memset(residues, 'A', sizeof residues);
    const int st = bioinfer_task_compute(task, &r, 1, ignore, NULL, err);
    return st ? st : now() - start;
}

static int measure(bioinfer_task *task, int repeat, struct bioinfer_error *err)
{
    double seconds[64];
    for (int i = 0; i < repeat; i++) {
        const size_t length = 64 + 128 * (size_t)i; /* no two round up to one size */
        const double first = seconds_of(task, length, err), second = seconds_of(task, length, err);
        if (first < 0 || second < 0)
            return err->status;
        seconds[i] = first - second;
    }
    qsort(seconds, (size_t)repeat, sizeof *seconds, compare);
    printf("planning_ms %.2f\nleast_ms %.2f\nplans %d\n", 1e3 * seconds[repeat / 2],
           1e3 * seconds[0], repeat);
    return 0;
}

int main(int argc, char **argv)
{
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .device = "null");
    struct bioinfer_embed_params ep = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                      .include = BIOINFER_PER_RESIDUE);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    int repeat = 9, i = 1, st;
    for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2)
        if (!strcmp(argv[i], "--device"))
            mp.device = argv[i + 1];
        else if (!strcmp(argv[i], "--repeat"))
            repeat = atoi(argv[i + 1]);
        else
            break;
    if (i + 1 != argc || repeat < 1 || repeat > 64) {
        fprintf(stderr, "usage: planning [--device D] [--repeat N] WEIGHTS\n");
        return 64;
    }
    if (!(st = bioinfer_context_new(&ctx, NULL, &err)) &&
        !(st = bioinfer_model_open(&model, ctx, argv[i], &mp, &err)) &&
        !(st = bioinfer_embed_open(&task, model, &ep, &err)) &&
        !(st = bioinfer_task_prepare(task, &err)))
        st = measure(task, repeat, &err);
    if (st)
        fprintf(stderr, "planning: %s\n", err.text);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st ? 1 : 0;
}

/* calls.c - how long calls of a task take with the weights loaded.
 *
 *     calls [--device D] [--precision P] [--cpu-mask NAME] [--threads N] [--shape BxT]...
 *           [--fasta IN -o OUT] [--batch-tokens N] [--repeat N] [--include mean] WEIGHTS
 *
 * For each --shape, B random proteins of T - 2 residues (T tokens), one call of
 * bioinfer_task_compute, their mean embeddings (or contacts) to a sink: median and least
 * milliseconds of N calls, and TFLOP/s by the profile's count of the ops. --fasta: file to file,
 * the second of two runs, in seconds. Lines are "name value" pairs for scripts.
 */
#define _POSIX_C_SOURCE 200809L
#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct run {
    bioinfer_context *ctx;
    bioinfer_model *model;
    int repeat;
    int64_t batch_tokens;
    uint32_t include; /* results of each shape */
    struct bioinfer_error err;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int count(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    (void)err;
    *(long *)user += result->status == 0;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double flops(bioinfer_task *task)
{
    struct bioinfer_profile p = {.struct_size = sizeof p};
    double sum = 0;
    if (bioinfer_task_get_profile(task, &p))
        return 0;
    for (int i = 0; i < p.n_ops; i++)
        sum += p.ops[i].flops;
    return sum;
}

static int shape(struct run *run, const char *text)
{
    bioinfer_task *task = NULL;
    struct bioinfer_record *records = NULL;
    double *ms = NULL, work = 0;
    char *residues = NULL;
    long n_ok = 0, b, t;
    int st = BIOINFER_INVALID;
    if (sscanf(text, "%ldx%ld", &b, &t) != 2 || b < 1 || t < 3)
        goto out;
    records = calloc((size_t)b, sizeof *records);
    residues = malloc((size_t)t);
    ms = calloc((size_t)run->repeat, sizeof *ms);
    if (!records || !residues || !ms)
        goto out;
    srand(1);
    for (long i = 0; i < t - 2; i++)
        residues[i] = "ACDEFGHIKLMNPQRSTVWY"[rand() % 20];
    for (long i = 0; i < b; i++)
        records[i] = (struct bioinfer_record){.id = "x",
                                              .description = "",
                                              .sequence = residues,
                                              .length = (size_t)t - 2,
                                              .ordinal = (uint64_t)i};
    struct bioinfer_embed_params params = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = run->include, .tokens_at_once = b * t);
    /* once for the flops: a task that profiles may launch ops one by one */
    if ((st = bioinfer_embed_open(&task, run->model, &params, &run->err)))
        goto out;
    bioinfer_task_set_profile(task, 1);
    if ((st = bioinfer_task_compute(task, records, (size_t)b, count, &n_ok, &run->err)))
        goto out;
    work = flops(task);
    bioinfer_task_close(&task);
    if ((st = bioinfer_embed_open(&task, run->model, &params, &run->err)))
        goto out;
    for (int i = -5; i < run->repeat; i++) {
        const double begun = now();
        st = bioinfer_task_compute(task, records, (size_t)b, count, &n_ok, &run->err);
        if (st)
            goto out;
        if (i >= 0)
            ms[i] = 1e3 * (now() - begun);
    }
    qsort(ms, (size_t)run->repeat, sizeof *ms, compare);
    printf("shape %s median_ms %.4f least_ms %.4f tflops %.1f ok %ld\n", text, ms[run->repeat / 2],
           ms[0], work / ms[run->repeat / 2] / 1e9, n_ok);
out:
    bioinfer_task_close(&task);
    free(records);
    free(residues);
    free(ms);
    return st;
}

static int file(struct run *run, const char *in, const char *out)
{
    bioinfer_task *task = NULL;
    double seconds[2] = {0, 0};
    struct bioinfer_embed_params params = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                          .include = BIOINFER_MEAN,
                                                          .tokens_at_once = run->batch_tokens);
    int st = bioinfer_embed_open(&task, run->model, &params, &run->err);
    for (int i = 0; !st && i < 2; i++) {
        bioinfer_reader *reader = NULL;
        bioinfer_writer *writer = NULL;
        const double begun = now();
        if (!(st = bioinfer_reader_open(&reader, run->ctx, in, NULL, &run->err)) &&
            !(st = bioinfer_writer_open(&writer, run->ctx, out, NULL, &run->err)) &&
            !(st = bioinfer_task_run(task, bioinfer_reader_source, reader, bioinfer_writer_put,
                                     writer, &run->err)))
            st = bioinfer_writer_finish(writer, &run->err);
        bioinfer_writer_close(&writer);
        bioinfer_reader_close(&reader);
        seconds[i] = now() - begun;
    }
    if (!st)
        printf("fasta %s first_s %.3f again_s %.3f\n", in, seconds[0], seconds[1]);
    bioinfer_task_close(&task);
    return st;
}

int main(int argc, char **argv)
{
    struct run run = {.repeat = 20, .include = BIOINFER_MEAN};
    const char *device = NULL, *precision = NULL, *in = NULL, *out = NULL, *weights = NULL;
    const char *shapes[32];
    struct bioinfer_context_params machine = BIOINFER_PARAMS(struct bioinfer_context_params);
    int n_shapes = 0, st;
    double begun = now();
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (argv[i][0] != '-') {
            weights = argv[i];
            continue;
        }
        if (!value) {
            fprintf(stderr, "calls: %s needs a value\n", argv[i]);
            return 2;
        }
        if (!strcmp(argv[i], "--device"))
            device = value;
        else if (!strcmp(argv[i], "--precision"))
            precision = value;
        else if (!strcmp(argv[i], "--cpu-mask"))
            machine.cpu_mask = value;
        else if (!strcmp(argv[i], "--threads"))
            machine.n_threads = atoi(value);
        else if (!strcmp(argv[i], "--shape") && n_shapes < 32)
            shapes[n_shapes++] = value;
        else if (!strcmp(argv[i], "--fasta"))
            in = value;
        else if (!strcmp(argv[i], "-o"))
            out = value;
        else if (!strcmp(argv[i], "--repeat"))
            run.repeat = atoi(value) > 0 ? atoi(value) : 1;
        else if (!strcmp(argv[i], "--batch-tokens"))
            run.batch_tokens = atoll(value);
        else if (!strcmp(argv[i], "--include") && bioinfer_include_from_name(value))
            run.include = bioinfer_include_from_name(value);
        else {
            fprintf(stderr, "calls: unknown option %s\n", argv[i]);
            return 2;
        }
        i++;
    }
    if (!weights || (in && !out)) {
        fprintf(stderr, "usage: calls [--device D] [--precision P] [--cpu-mask NAME] [--threads N] "
                        "[--shape BxT]... [--fasta IN -o OUT] [--batch-tokens N] "
                        "[--repeat N] [--include mean] WEIGHTS\n");
        return 2;
    }
    struct bioinfer_model_params params = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                          .device = device, .precision = precision);
    if ((st = bioinfer_context_new(&run.ctx, &machine, &run.err)) ||
        (st = bioinfer_model_open(&run.model, run.ctx, weights, &params, &run.err)))
        goto out;
    for (int i = 0; !st && i < n_shapes; i++) {
        st = shape(&run, shapes[i]);
        if (!st && i == 0)
            printf("start first_shape_done_s %.3f\n", now() - begun);
    }
    if (!st && in)
        st = file(&run, in, out);
out:
    if (st)
        fprintf(stderr, "calls: %s: %s\n", bioinfer_status_name(st), run.err.text);
    bioinfer_model_close(&run.model);
    bioinfer_context_free(&run.ctx);
    return st != 0;
}

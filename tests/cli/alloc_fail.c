/* alloc_fail.c - a whole run in which one allocation or system call fails: each ends with a
 * status, nothing leaks, and no output is left.
 *
 *     alloc_fail MODEL_FOLDER
 *
 * Twice for each allocation: that one alone, and from there on. Which ones, failing.h says;
 * BIOINFER_ALLOC_FAIL=all takes every one, BIOINFER_PART=1/2 every second of them. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../engine/engine.h"
#include "../failing.h"
#include "../folder.h"
#include "../scores.h"
#include "../test.h"

/* Allocations that fail, or, where `error` is set, calls of a kind (enum bi_fault). */
struct faults {
    struct failing memory, calls;
    int kind, error;
};

static char folder[200];
static char fasta[240], output[240], ids[240], manifest[256], part[256];

/* The fault hook of system calls. */
static int failing_call(void *user, enum bi_fault kind)
{
    struct faults *f = user;
    return f->error && (int)kind == f->kind && fails(&f->calls) ? f->error : 0;
}

#define EVERYTHING (BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_LOGITS | BIOINFER_CONTACTS)

static const struct format {
    const char *name;
    unsigned include;
} formats[] = {
    {"npz", EVERYTHING},
    {"safetensors", EVERYTHING},
    {"h5", EVERYTHING},
    {"jsonl", EVERYTHING},
    {"npy", BIOINFER_MEAN},
    {"tsv", BIOINFER_MEAN},
    {"esm-pt", BIOINFER_MEAN | BIOINFER_PER_RESIDUE},
};

/* Every call of a kind fails once, in a run of every format. */
static const struct {
    int kind, error;
} calls[] = {
    {BI_FAULT_OPEN, EACCES}, {BI_FAULT_WRITE, ENOSPC}, {BI_FAULT_WRITE, EIO},
    {BI_FAULT_SYNC, EIO},    {BI_FAULT_RENAME, EIO},
};

struct run {
    bioinfer_job *job;
    struct bioinfer_job_stats stats;
};

/* Everything the command does, and a score; returns the first status. */
static int whole_run(struct faults *f, const char *model_path, const struct format *format,
                     struct run *run, struct bioinfer_error *err)
{
    struct bioinfer_context_params params = BIOINFER_PARAMS(
        struct bioinfer_context_params, .alloc = failing_alloc, .free = failing_free,
        .alloc_user = &f->memory, .n_threads = 1);
    struct bioinfer_embed_params embed_params = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                                .include = format->include);
    struct bioinfer_writer_params writer_params = BIOINFER_PARAMS(
        struct bioinfer_writer_params, .format = format->name, .model = "m");
    struct bioinfer_job_params job_params = BIOINFER_PARAMS(
        struct bioinfer_job_params, .writer = &writer_params, .options = "o", .input = fasta,
        .resume = BIOINFER_RESUME_MATCH);
    const struct bioinfer_record record = {
        .id = "s", .description = "", .sequence = "MKTAY", .length = 5, .message = ""};
    static float table[5 * 64];
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    bioinfer_reader *reader = NULL;
    int st;
    *run = (struct run){0};
    if ((st = bioinfer_context_new(&ctx, &params, err)))
        goto out;
    ctx->env.fault = failing_call;
    ctx->env.fault_user = f;
    if ((st = bioinfer_reader_open(&reader, ctx, fasta, NULL, err)) ||
        (st = bioinfer_model_open(&model, ctx, model_path, NULL, err)) ||
        (st = bioinfer_embed_open(&task, model, &embed_params, err)) ||
        (st = bioinfer_job_open(&run->job, ctx, output, &job_params, err)))
        goto out;
    bioinfer_job_set_source(run->job, bioinfer_reader_source, reader);
    if ((st = bioinfer_job_run(run->job, task, err)) ||
        (st = score_one(model, &record, BIOINFER_MASKED_MARGINALS, table, err)) ||
        (st = bioinfer_job_finish(run->job, err)))
        goto out; /* an object that was not made is NULL */
    run->stats.struct_size = sizeof run->stats;
    bioinfer_job_get_stats(run->job, &run->stats);
out:
    bioinfer_job_close(&run->job);
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_reader_close(&reader);
    bioinfer_context_free(&ctx);
    return st;
}

static void remove_output(void)
{
    struct bi_env env = bi_env_default();
    unlink(output);
    unlink(ids);
    unlink(manifest);
    bi_folder_remove(&env, output); /* a folder, or there is none */
    bi_folder_remove(&env, part);
}

/* One that fails at call n. True when the run had a failure to meet. */
static int one(const char *model, const struct format *format, long n, int from_there, int kind,
               int error)
{
    const struct failing at = {.fail_at = n, .from_there = from_there}, none = {0};
    struct faults f = {error ? none : at, error ? at : none, kind, error};
    int expected = error ? bi_status_from_errno(error) : BIOINFER_NOMEM;
    struct bioinfer_error err = {0};
    struct run run;
    int st = whole_run(&f, model, format, &run, &err);
    int met = (error ? f.calls.n_calls : f.memory.n_calls) >= n, good = 1;
    good &= CHECK_EQ(f.memory.n_live, 0);
    if (!met)
        good &= CHECK_EQ(st, BIOINFER_OK);
    else if (from_there)
        good &= CHECK_EQ(st, expected);
    else /* one failure may be survived: a smaller batch, or a record lost with its
            reason */
        good &= CHECK(st == expected || st == BIOINFER_OK);
    if (st)
        good &= CHECK(err.text[0]) & CHECK(access(output, F_OK)) & CHECK(access(ids, F_OK)) &
                CHECK(access(manifest, F_OK));
    if (st) { /* the journal kept enough to go on with */
        struct bioinfer_error again = {0};
        struct faults no_fault = {0};
        good &= CHECK_EQ(whole_run(&no_fault, model, format, &run, &again), BIOINFER_OK);
        good &= CHECK_EQ(run.stats.records, 4) & CHECK_EQ(run.stats.failed, 1);
        good &= CHECK(!access(output, F_OK)) & CHECK(access(part, F_OK));
    }
    if (!good)
        fprintf(stderr, "    %s: kind %d call %ld%s: %s %s\n", format->name, kind, n,
                from_there ? " and all behind" : "", bioinfer_status_name(st), err.text);
    remove_output();
    return met;
}

/* An undisturbed run whose allocations, or calls of a kind, are noted. */
static int note(struct stacks *stacks, const char *model, const struct format *format, int kind,
                int error)
{
    struct faults f = {.kind = kind, .error = error};
    struct bioinfer_error err = {0};
    struct run run;
    (error ? &f.calls : &f.memory)->stacks = stacks;
    int st = whole_run(&f, model, format, &run, &err);
    remove_output();
    if (st == BIOINFER_UNSUPPORTED)
        return st;
    if (!CHECK_EQ(st, BIOINFER_OK))
        fprintf(stderr, "    %s: %s\n", format->name, err.text);
    CHECK_EQ(run.stats.records, 4);
    CHECK_EQ(run.stats.failed, 1);
    CHECK_EQ(run.stats.copied, 1);
    return st;
}

/* Gives how many runs failed; -1 for a format that this build lacks. */
static long failures_of(const char *model, const struct format *format, int first)
{
    struct stacks stacks = STACKS;
    long total = 0, n = 0;
    int st = note(&stacks, model, format, 0, 0);
    if (st)
        return st == BIOINFER_UNSUPPORTED ? -1 : 0;
    if (!first) /* up to the writer the formats take the same way */
        stacks_forget(&stacks, stacks.n - 400);
    stacks_choose(&stacks);
    printf("%s: %ld allocations of %ld places\n", format->name, stacks.n, stacks.n_distinct);
    do {
        n = failure_after(&stacks, n);
        total += 2;
    } while (one(model, format, n, 0, 0, 0) & one(model, format, n, 1, 0, 0));
    stacks_free(&stacks);
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        struct stacks of_kind = STACKS;
        note(&of_kind, model, format, calls[k].kind, calls[k].error);
        stacks_choose(&of_kind);
        n = 0;
        do {
            n = failure_after(&of_kind, n);
            total++;
        } while (one(model, format, n, 0, calls[k].kind, calls[k].error));
        stacks_free(&of_kind);
    }
    return total;
}

int main(int argc, char **argv)
{
    long total = 0;
    FILE *file;
    if (argc < 2 || !test_folder(folder, sizeof folder, "alloc"))
        return 2;
    snprintf(fasta, sizeof fasta, "%s/in.fasta", folder);
    snprintf(ids, sizeof ids, "%s/output.ids.txt", folder);
    if (!(file = fopen(fasta, "w")))
        return 2;
    fputs(">a\nMKTAYIAK\n>empty\n>b\nACDEFGHIKLMNPQRSTVWY\n>c again\nMKTAYIAK\n", file);
    fclose(file);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        snprintf(output, sizeof output, "%s/output.%s", folder, formats[i].name);
        snprintf(manifest, sizeof manifest, "%s.manifest.tsv", output);
        snprintf(part, sizeof part, "%s.part", output);
        const long n = failures_of(argv[1], &formats[i], !i);
        total += n > 0 ? n : 0;
    }
    unlink(fasta);
    CHECK_EQ(rmdir(folder), 0);
    printf("%ld runs with a failure\n", total);
    CHECK(total > 500);
    return test_report();
}

/* alloc_fail.c - a whole run in which allocation or system call number n fails, for n = 1, 2, 3 ...
 * until a run needs fewer: each ends with a status, nothing leaks, and no output is
 * left.
 *
 *     alloc_fail MODEL_FOLDER [all]
 *
 * Twice for each n: that allocation alone, and from there on. Without `all` the steps
 * between the n grow, so that the test takes seconds. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../engine/engine.h"
#include "../test.h"

struct counter {
    _Atomic long n_calls, n_live; /* weights are read by several threads */
    long fail_at;                 /* 0 = never */
    int from_there;
    int kind; /* enum bi_fault: what fails instead of allocations, with `error` */
    int error;
};

static char folder[] = "/tmp/bioinfer-alloc-XXXXXX";
static char fasta[64], output[64], ids[64], manifest[80], part[80];

static void *count_alloc(void *user, size_t size)
{
    struct counter *c = user;
    void *p;

    if (!c->error) {
        const long call = ++c->n_calls;

        if (c->fail_at && (c->from_there ? call >= c->fail_at : call == c->fail_at))
            return NULL;
    }
    if (!(p = aligned_alloc(64, (size + 63) / 64 * 64)))
        return NULL;
    c->n_live++;
    return p;
}

/* The fault hook of system calls. */
static int count_call(void *user, enum bi_fault kind)
{
    struct counter *c = user;

    if (!c->error || (int)kind != c->kind)
        return 0;
    const long call = ++c->n_calls;
    return c->fail_at && (c->from_there ? call >= c->fail_at : call == c->fail_at) ? c->error : 0;
}

static void count_free(void *user, void *p)
{
    struct counter *c = user;

    if (p)
        c->n_live--;
    free(p);
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
static int whole_run(struct counter *c, const char *model_path, const struct format *format,
                     struct run *run, struct bioinfer_error *err)
{
    struct bioinfer_context_params params = BIOINFER_PARAMS(
        struct bioinfer_context_params, .alloc = count_alloc, .free = count_free, .alloc_user = c,
        .n_threads = 1);
    struct bioinfer_session_params session_params = BIOINFER_PARAMS(struct bioinfer_session_params,
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
    bioinfer_session *session = NULL;
    bioinfer_reader *reader = NULL;
    int st;

    *run = (struct run){0};
    if ((st = bioinfer_context_new(&ctx, &params, err)))
        goto out;
    ctx->env.fault = count_call;
    ctx->env.fault_user = c;
    if ((st = bioinfer_reader_open(&reader, ctx, fasta, NULL, err)) ||
        (st = bioinfer_model_open(&model, ctx, model_path, NULL, err)) ||
        (st = bioinfer_session_new(&session, model, &session_params, err)) ||
        (st = bioinfer_job_open(&run->job, ctx, output, &job_params, err)))
        goto out;
    bioinfer_job_set_source(run->job, bioinfer_reader_source, reader);
    if ((st = bioinfer_job_run(run->job, session, err)) ||
        (st = bioinfer_score_table(session, &record, BIOINFER_MASKED_MARGINALS, NULL, 0, table,
                                   err)) ||
        (st = bioinfer_job_finish(run->job, err)))
        goto out; /* what was not made is NULL */
    run->stats.struct_size = sizeof run->stats;
    bioinfer_job_get_stats(run->job, &run->stats);
out:
    bioinfer_job_close(&run->job);
    bioinfer_session_free(&session);
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

/* True when run number n had a failure to meet. */
static int one(const char *model, const struct format *format, long n, int from_there, int kind,
               int error)
{
    struct counter c = {.fail_at = n, .from_there = from_there, .kind = kind, .error = error};
    int expected = error ? bi_status_from_errno(error) : BIOINFER_NOMEM;
    struct bioinfer_error err = {0};
    struct run run;
    int st = whole_run(&c, model, format, &run, &err);
    int met = c.n_calls >= n, good = 1;

    good &= CHECK_EQ(c.n_live, 0);
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
    if (st) { /* what the journal kept is enough to go on with */
        struct bioinfer_error again = {0};
        struct counter no_fault = {0};
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

int main(int argc, char **argv)
{
    const char *all = getenv("BIOINFER_ALLOC_FAIL");
    struct counter c = {0};
    struct bioinfer_error err = {0};
    struct run run;
    long total = 0;
    FILE *file;

    if (argc < 2 || !mkdtemp(folder))
        return 2;
    snprintf(fasta, sizeof fasta, "%s/in.fasta", folder);
    snprintf(ids, sizeof ids, "%s/output.ids.txt", folder);
    if (!(file = fopen(fasta, "w")))
        return 2;
    fputs(">a\nMKTAYIAK\n>empty\n>b\nACDEFGHIKLMNPQRSTVWY\n>c again\nMKTAYIAK\n", file);
    fclose(file);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        long n = 1, more = i ? c.n_calls : 0;
        int st;

        snprintf(output, sizeof output, "%s/output.%s", folder, formats[i].name);
        snprintf(manifest, sizeof manifest, "%s.manifest.tsv", output);
        snprintf(part, sizeof part, "%s.part", output);
        c = (struct counter){0};
        st = whole_run(&c, argv[1], &formats[i], &run, &err);
        remove_output();
        if (st == BIOINFER_UNSUPPORTED)
            continue; /* a format that this build lacks */
        if (!CHECK_EQ(st, BIOINFER_OK)) {
            fprintf(stderr, "    %s: %s\n", formats[i].name, err.text);
            break;
        }
        CHECK_EQ(run.stats.records, 4);
        CHECK_EQ(run.stats.failed, 1);
        CHECK_EQ(run.stats.copied, 1);
        if (more) /* up to the writer the formats take the same way */
            n = c.n_calls > 400 ? c.n_calls - 400 : 1;
        while (one(argv[1], &formats[i], n, 0, 0, 0) & one(argv[1], &formats[i], n, 1, 0, 0)) {
            n += (all && !strcmp(all, "all")) || argc > 2 ? 1 : 1 + n / 12;
            total += 2;
        }
        printf("%s: %ld allocations in a run\n", formats[i].name, c.n_calls);
        for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
            for (n = 1; one(argv[1], &formats[i], n, 0, calls[k].kind, calls[k].error); n++)
                total++;
    }
    unlink(fasta);
    CHECK_EQ(rmdir(folder), 0);
    printf("%ld runs with a failure\n", total);
    return test_report();
}

/* alloc_test.c - allocation number n fails, for one n after the other until nothing fails.
 *
 *     alloc_test MODEL...
 *
 * Twice for each n: that allocation alone, and from there on. What is run: a model is opened,
 * one task takes small, large and small batches again (plans, buffers and scratch grow,
 * and batches are halved), and scores; then three records to each format of writer. A status
 * is NOMEM, a result is as ever, nothing leaks, no file is left; after a single failure the
 * same task gives all results. failing.h says which n are tried. */
#define _POSIX_C_SOURCE 200809L
#include "engine.h"
#include "../failing.h"
#include "../folder.h"
#include "../scores.h"

#include <dirent.h>
#include <unistd.h>

enum { RECORDS = 12, RUNS = 4 };

static const char *model_path;
static char text[RECORDS][40];
static struct bioinfer_record records[RECORDS];
static char folder[200];

static struct bioinfer_context_params context_of(struct failing *f)
{
    return BIOINFER_PARAMS(struct bioinfer_context_params, .alloc = failing_alloc,
                           .free = failing_free, .alloc_user = f, .n_threads = 2);
}

/* Failures are lack of memory; all else is as in `want`. */
static int sound(const struct sink *got, const struct sink *want, int st, int lost_may_be)
{
    int ok = CHECK(st == BIOINFER_OK || st == BIOINFER_NOMEM);
    for (size_t i = 0; i < got->n; i++)
        if (got->kept[i].status)
            ok &= CHECK(lost_may_be && got->kept[i].status == BIOINFER_NOMEM &&
                        got->kept[i].message[0]);
        else if (want)
            ok &= CHECK(i < want->n && same_result(&got->kept[i], &want->kept[i]));
    if (!st && want)
        ok &= CHECK_EQ(got->n, want->n);
    return ok;
}

/* Records [0, counts[k]) at run k; the last run is the first one again. */
static const size_t counts[RUNS] = {2, RECORDS, 4, 2};

/* One task. want NULL: fills `kept` instead. Returns whether the failure was met. */
static int task_run(struct failing *f, struct sink *kept, const struct sink *want)
{
    static float table[40 * 64];
    struct bioinfer_context_params c = context_of(f);
    struct bioinfer_embed_params p = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = EVERYTHING & ~(unsigned)BIOINFER_CONTACTS,
        .tokens_at_once = 100);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *s = NULL;
    int met, st, ok = 1;
    if ((st = bioinfer_context_new(&ctx, &c, &err)) ||
        (st = bioinfer_model_open(&model, ctx, model_path, NULL, &err)) ||
        (st = bioinfer_embed_open(&s, model, &p, &err)))
        goto out;
    bioinfer_task_set_profile(s, 1);
    for (int k = 0; k < RUNS; k++) {
        struct sink sink = {0};
        long before = f->n_calls;
        st = bioinfer_task_compute(s, records, counts[k], keep_result, &sink, &err);
        if (!want) {
            kept[k] = sink;
            continue;
        }
        met = f->fail_at && f->n_calls >= f->fail_at;
        /* a record is lost only in the run that met the failure */
        ok &= sound(&sink, &want[k], st, f->from_there ? met : met && before < f->fail_at);
        if (!f->from_there && before >= f->fail_at)
            ok &= CHECK_EQ(st, 0);
        sink_free(&sink);
        if (st && !f->from_there)
            k--; /* again, now in full */
        if (st && f->from_there)
            break;
    }
    if (!st)
        st = score_one(model, &records[1], BIOINFER_MASKED_MARGINALS, table, &err);
out:
    met = f->fail_at && f->n_calls >= f->fail_at;
    ok &= CHECK(st == 0 || (met && st == BIOINFER_NOMEM && err.text[0]));
    bioinfer_task_close(&s);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    ok &= CHECK_EQ(f->n_live, 0);
    if (!ok)
        fprintf(stderr, "    task: allocation %ld%s: %s %s\n", f->fail_at,
                f->from_there ? " and all behind" : "", bioinfer_status_name(st), err.text);
    return met;
}

/* Files in the folder; removes them. */
static int files_left(void)
{
    char path[600];
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' || strlen(e->d_name) > 2) {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            remove_output(path);
            n++;
        }
    if (d)
        closedir(d);
    return n;
}

/* Three records, the second without residues, to a file. */
static int writer_run(struct failing *f, const char *format)
{
    struct bioinfer_context_params c = context_of(f);
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .include = BIOINFER_MEAN);
    struct bioinfer_writer_params w = BIOINFER_PARAMS(struct bioinfer_writer_params,
                                                      .format = format, .model = "m");
    struct bioinfer_record three[3] = {records[0], record_of("none", "", 1), records[3]};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *s = NULL;
    bioinfer_writer *writer = NULL;
    char path[240];
    int st, met, ok = 1, n;
    snprintf(path, sizeof path, "%s/out.%s", folder, format);
    three[0].id = "first"; /* ids are unique in a file */
    if ((st = bioinfer_context_new(&ctx, &c, &err)) ||
        (st = bioinfer_model_open(&model, ctx, model_path, NULL, &err)) ||
        (st = bioinfer_embed_open(&s, model, &p, &err)) ||
        (st = bioinfer_writer_open(&writer, ctx, path, &w, &err)) ||
        (st = bioinfer_task_compute(s, three, 3, bioinfer_writer_put, writer, &err)) ||
        (st = bioinfer_writer_finish(writer, &err)))
        goto out; /* an object that was not made is NULL */
out:
    bioinfer_writer_close(&writer);
    bioinfer_task_close(&s);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    met = f->fail_at && f->n_calls >= f->fail_at;
    n = files_left();
    ok &= CHECK_EQ(f->n_live, 0);
    ok &= CHECK(st == 0 || (met && st == BIOINFER_NOMEM && err.text[0]));
    ok &= st ? CHECK_EQ(n, 0) : CHECK(n > 0);
    if (met && f->from_there)
        ok &= CHECK_EQ(st, BIOINFER_NOMEM);
    if (!ok)
        fprintf(stderr, "    %s: allocation %ld%s: %s %s\n", format, f->fail_at,
                f->from_there ? " and all behind" : "", bioinfer_status_name(st), err.text);
    return met;
}

int main(int argc, char **argv)
{
    uint64_t seed = 4;
    long injected = 0;
    if (argc < 2 || !test_folder(folder, sizeof folder, "alloc"))
        return 2;
    for (int i = 0; i < RECORDS; i++) {
        random_sequence(&seed, text[i], 8 + i % 4 * 7);
        records[i] = record_of("r", text[i], (uint64_t)i);
    }
    for (int m = 1; m < argc; m++) {
        struct sink want[RUNS] = {{0}};
        struct stacks stacks = STACKS;
        struct failing f = {.stacks = &stacks};
        model_path = argv[m];
        test_name = argv[m];
        task_run(&f, want, NULL);
        stacks_choose(&stacks);
        for (long n = 0, met = 1; met && test_failures < 20;) {
            n = failure_after(&stacks, n);
            struct failing once = {.fail_at = n}, on = {.fail_at = n, .from_there = 1};
            met = task_run(&once, NULL, want) + task_run(&on, NULL, want);
            injected += met;
        }
        stacks_free(&stacks);
        for (int k = 0; k < RUNS; k++)
            sink_free(&want[k]);
        for (int i = 0; m == 1 && bioinfer_writer_format(i); i++) {
            const char *format = bioinfer_writer_format(i);
            struct stacks stacks_of = STACKS;
            struct failing none = {.stacks = &stacks_of};
            writer_run(&none, format);
            stacks_choose(&stacks_of);
            for (long n = 0, met = 1; met && test_failures < 20;) {
                n = failure_after(&stacks_of, n);
                struct failing once = {.fail_at = n}, on = {.fail_at = n, .from_there = 1};
                met = writer_run(&once, format) + writer_run(&on, format);
                injected += met;
            }
            stacks_free(&stacks_of);
        }
    }
    CHECK_EQ(rmdir(folder), 0);
    printf("%ld failures injected\n", injected);
    CHECK(injected > 100);
    return test_report();
}

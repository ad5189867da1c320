/* driver_test.c - cuda.c and hip.c, whole, over the fake driver libraries: results as on the
 * emulation, what a batch costs at the driver, every class of error at every call.
 *
 *   driver_test cuda|hip LIBRARY WEIGHTS     with the fake's folder in LD_LIBRARY_PATH
 *   driver_test cuda|hip absent|broken WORDS the library is not there, is not the driver */
#include <dlfcn.h>

#include "../../engine/engine.h"
#include "../engine/engine.h"
#include "emu_backend.h"
#include "fake_driver.h"

enum { N_RECORDS = 5 };
static const char *const sequences[N_RECORDS] = {"MKTAYIAKQR", "ACD", "MMWKLVFFAEDVGSNKG", "W",
                                                 "GGSGGSA"};
static const unsigned kinds = BIOINFER_MEAN | BIOINFER_PER_RESIDUE;

static struct fake *fake;
static void (*fake_reset)(void);
static const char *device, *weights;

struct job {
    int st; /* of the first call that failed */
    struct bioinfer_error err;
    struct sink results;
    struct bioinfer_profile profile;
    struct fake_counts counts; /* before closing */
};

/* Everything from context to results, twice in one session when `again` is set. */
static void run_job(struct job *j, const struct bi_backend_ops *ops, int64_t batch_tokens,
                    int again, struct fake_counts *before)
{
    struct bioinfer_context_params cp = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                        .n_threads = 1);
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .device = ops ? NULL : device);
    struct bioinfer_session_params sp = BIOINFER_PARAMS(
        struct bioinfer_session_params, .include = kinds, .batch_tokens = batch_tokens);
    struct bioinfer_record records[N_RECORDS];
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_session *session = NULL;
    *j = (struct job){.profile = BIOINFER_PARAMS(struct bioinfer_profile)};
    for (int i = 0; i < N_RECORDS; i++)
        records[i] = record_of("r", sequences[i], (uint64_t)i);
    if ((j->st = bioinfer_context_new(&ctx, &cp, &j->err)) ||
        (j->st = bi_model_open_on(&model, ctx, weights, &mp, ops, &j->err)) ||
        (j->st = bioinfer_session_new(&session, model, &sp, &j->err)))
        goto out;
    for (int i = 0; i <= again && !j->st; i++) {
        if (before && fake)
            *before = fake->counts;
        bioinfer_session_get_profile(session, &j->profile);
        sink_free(&j->results);
        j->st = bioinfer_session_run_records(session, records, N_RECORDS, keep_result,
                                             &j->results, &j->err);
    }
    if (j->st == BIOINFER_DEVICE_LOST) { /* says so at once from now on */
        long calls = fake->counts.calls;
        CHECK_EQ(bioinfer_session_run_records(session, records, N_RECORDS, keep_result,
                                              &j->results, &j->err), BIOINFER_DEVICE_LOST);
        CHECK_EQ(fake->counts.calls, calls);
    }
out:
    if (fake)
        j->counts = fake->counts;
    bioinfer_session_free(&session);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
}

static int same(const struct sink *a, const struct sink *b)
{
    int equal = a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = same_result(&a->kept[i], &b->kept[i]);
    return equal;
}

/* The emulation's bytes, in one batch and in many, of which two are on their way at once. */
static void results(struct sink *want)
{
    struct job j;
    run_job(&j, strcmp(device, "hip:0") ? &emu_nvidia : &emu_cdna, 4096, 0, NULL);
    CHECK_EQ(j.st, 0);
    CHECK_EQ(j.results.n, N_RECORDS);
    *want = j.results;
    for (int64_t tokens = 1; tokens <= 4096; tokens *= 8) {
        fake_reset();
        run_job(&j, NULL, tokens, 0, NULL);
        if (!CHECK_EQ(j.st, 0))
            fprintf(stderr, "    %s\n", j.err.text);
        CHECK(same(&j.results, want));
        CHECK_EQ(fake->counts.live, 0);
        CHECK_EQ(fake->counts.depth, 0);
        sink_free(&j.results);
    }
}

/* A batch is one copy in, one graph, one copy out, one wait; nothing else happens. */
static void residency(void)
{
    struct fake_counts before, *now;
    struct bioinfer_profile profile;
    struct job j;
    long batches = N_RECORDS;
    fake_reset();
    run_job(&j, NULL, 1, 2, &before);
    now = &j.counts;
    profile = j.profile;
    CHECK_EQ(j.st, 0);
    CHECK_EQ(now->copies_in - before.copies_in, batches);
    CHECK_EQ(now->graphs - before.graphs, batches);
    CHECK_EQ(now->copies_out - before.copies_out, batches);
    CHECK_EQ(now->waits - before.waits, batches);
    CHECK_EQ(now->allocations - before.allocations, 0);
    CHECK_EQ(now->launches - before.launches, 0);
    CHECK_EQ(profile.batches, 2 * batches);
    sink_free(&j.results);
}

/* The same, but for records that memory did not suffice for. */
static int same_or_no_memory(const struct sink *a, const struct sink *b)
{
    int equal = a->n == b->n;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = a->kept[i].status == BIOINFER_NOMEM || same_result(&a->kept[i], &b->kept[i]);
    return equal;
}

/* Every class of error at every call (at growing steps unless asked for all). */
static void errors(const struct sink *want)
{
    static const struct { int code, sticky, status; } classes[] = {
        {2, 0, BIOINFER_NOMEM}, {1, 0, BIOINFER_DEVICE}, {719, 1, BIOINFER_DEVICE_LOST},
        {700, 1, BIOINFER_DEVICE_LOST}};
    const char *all = getenv("BIOINFER_ALLOC_FAIL");
    struct job j;
    long calls;
    fake_reset();
    run_job(&j, NULL, 20, 0, NULL);
    calls = fake->counts.calls;
    sink_free(&j.results);
    CHECK(calls > 50);
    for (size_t c = 0; c < COUNT(classes); c++)
        for (long at = 1; at <= calls; at += all ? 1 : 1 + (at + (long)c) / 12) {
            fake_reset();
            fake->fail_at = at;
            fake->fail_with = classes[c].code;
            fake->sticky = classes[c].sticky;
            run_job(&j, NULL, 20, 0, NULL);
            /* no status: memory was found, or the call was one of closing */
            if (!CHECK(fake->failed && (j.st ? j.st == classes[c].status
                                        : classes[c].status == BIOINFER_NOMEM
                                            ? same_or_no_memory(&j.results, want)
                                            : (fake->failed == 2 || at > j.counts.calls) &&
                                                  same(&j.results, want))))
                fprintf(stderr, "    %s: call %ld, code %d: %s: %s\n", device, at,
                        classes[c].code, bioinfer_status_name(j.st), j.err.text);
            if (!classes[c].sticky && fake->failed == 1 && (!CHECK_EQ(fake->counts.live, 0) ||
                                       !CHECK_EQ(fake->counts.depth, 0)))
                fprintf(stderr, "    %s: call %ld, code %d\n", device, at, classes[c].code);
            sink_free(&j.results);
        }
}

/* What `bioinfer devices` would say, and the message of a device that does not do. */
static void expect_message(const char *words)
{
    struct bioinfer_device d = BIOINFER_PARAMS(struct bioinfer_device);
    bioinfer_context *ctx = NULL;
    CHECK_EQ(bioinfer_context_new(&ctx, NULL, NULL), 0);
    CHECK_EQ(bioinfer_device_get(ctx, strcmp(device, "hip:0") ? 1 : 2, &d), 0);
    CHECK_STR(d.name, device);
    CHECK_EQ(d.usable, !words);
    if (words && !CHECK(strstr(d.reason, words) != NULL))
        fprintf(stderr, "    %s\n", d.reason);
    if (!words)
        CHECK(strstr(d.description, "fake GPU") != NULL);
    bioinfer_context_free(&ctx);
}

int main(int argc, char **argv)
{
    static char name[8];
    struct sink want = {0};
    void *library;
    if (argc < 4)
        return 2;
    test_name = argv[1];
    snprintf(name, sizeof name, "%s:0", argv[1]);
    device = name;
    if (!strcmp(argv[2], "absent") || !strcmp(argv[2], "broken")) {
        expect_message(argv[3]);
        return test_report();
    }
    weights = argv[3];
    if (!(library = dlopen(argv[2], RTLD_NOW)) ||
        !(fake = dlsym(library, "fake_driver")) ||
        !(*(void **)(void *)&fake_reset = dlsym(library, "fake_driver_reset"))) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    expect_message(NULL);
    fake->n_devices = 0;
    expect_message("no device");
    if (!strcmp(argv[1], "hip")) {
        fake_reset();
        fake->arch = "gfx906";
        expect_message("is 'gfx906'; this build has kernels for: gfx90a");
    }
    results(&want);
    residency();
    errors(&want);
    sink_free(&want);
    dlclose(library);
    return test_report();
}

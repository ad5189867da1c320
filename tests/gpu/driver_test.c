/* driver_test.c - cuda.c and hip.c, whole, over the fake driver libraries: results as on the
 * emulation, what a batch costs at the driver, every class of error at every call.
 *
 *   driver_test cuda|hip LIBRARY WEIGHTS     with the fake's folder in LD_LIBRARY_PATH
 *   driver_test cuda|hip absent|broken WORDS the library is not there, is not the driver
 *   driver_test hip installed ""             it is in $ROCM_PATH/lib
 *   driver_test hip loaded LIBRARY           the process has one already; the loader's is no driver
 *   driver_test hip stays LIBRARY            the runtime stays when its last device is closed
 *   driver_test hip auto LIBRARY WEIGHTS     12 devices, of which the last alone does */
#include <dlfcn.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../engine/engine.h"
#include "../failing.h"
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
    int st; /* the first call's that failed */
    struct bioinfer_error err;
    struct sink results;
    struct bioinfer_profile profile;
    struct fake_counts counts; /* before closing */
};

/* Memory of the tests: what is freed holds no more what it held. */
enum { BEFORE = 64 };
static void *take(void *user, size_t size)
{
    const size_t whole = (BEFORE + size + 63) / 64 * 64;
    unsigned char *p = aligned_alloc(64, whole);
    (void)user;
    if (p)
        memcpy(p, &whole, sizeof whole);
    return p ? p + BEFORE : NULL;
}

static void give(void *user, void *ptr)
{
    size_t whole;
    (void)user;
    if (!ptr)
        return;
    memcpy(&whole, (unsigned char *)ptr - BEFORE, sizeof whole);
    memset(ptr, 0x5a, whole - BEFORE);
    free((unsigned char *)ptr - BEFORE);
}

/* Everything from context to results, twice in one task when `again` is set. */
static void run_job(struct job *j, const struct bi_backend_ops *ops, int64_t batch_tokens,
                    int again, struct fake_counts *before)
{
    struct bioinfer_context_params cp = BIOINFER_PARAMS(
        struct bioinfer_context_params, .n_threads = 1, .alloc = take, .free = give);
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .device = ops ? NULL : device);
    struct bioinfer_embed_params sp = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = kinds, .tokens_at_once = batch_tokens);
    struct bioinfer_record records[N_RECORDS];
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    *j = (struct job){.profile = BIOINFER_PARAMS(struct bioinfer_profile)};
    for (int i = 0; i < N_RECORDS; i++)
        records[i] = record_of("r", sequences[i], (uint64_t)i);
    if ((j->st = bioinfer_context_new(&ctx, &cp, &j->err)) ||
        (j->st = bi_model_open_on(&model, ctx, weights, &mp, ops, &j->err)) ||
        (j->st = bioinfer_embed_open(&task, model, &sp, &j->err)))
        goto out;
    for (int i = 0; i <= again && !j->st; i++) {
        if (before && fake)
            *before = fake->counts;
        bioinfer_task_get_profile(task, &j->profile);
        sink_free(&j->results);
        j->st = bioinfer_task_compute(task, records, N_RECORDS, keep_result, &j->results, &j->err);
    }
    if (j->st == BIOINFER_DEVICE_LOST) { /* says so at once from now on */
        long calls = fake->counts.calls;
        CHECK_EQ(bioinfer_task_compute(task, records, N_RECORDS, keep_result, &j->results, &j->err),
                 BIOINFER_DEVICE_LOST);
        CHECK_EQ(fake->counts.calls, calls);
    }
out:
    if (fake)
        j->counts = fake->counts;
    bioinfer_task_close(&task);
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
    run_job(&j, strcmp(device, "hip:0") ? &emu_nvidia : &emu_cdna2, 4096, 0, NULL);
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
    CHECK_EQ(profile.passes, 2 * batches);
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

static struct stacks stacks = STACKS;

static void note(long call)
{
    stacks_note(&stacks, call);
}

/* Every class of error at every call that failing.h chooses. */
static void errors(const struct sink *want)
{
    static const struct {
        int code, sticky, status;
    } classes[] = {{2, 0, BIOINFER_NOMEM},
                   {1, 0, BIOINFER_DEVICE},
                   {719, 1, BIOINFER_DEVICE_LOST},
                   {700, 1, BIOINFER_DEVICE_LOST}};
    struct job j;
    long calls, runs = 0;
    fake_reset();
    fake->note = note;
    run_job(&j, NULL, 20, 0, NULL);
    fake->note = NULL;
    calls = fake->counts.calls;
    sink_free(&j.results);
    stacks_choose(&stacks);
    CHECK(stacks.n_distinct > 30);
    for (size_t c = 0; c < COUNT(classes); c++)
        for (long at = failure_after(&stacks, 0); at <= calls;
             at = failure_after(&stacks, at), runs++) {
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
                fprintf(stderr, "    %s: call %ld, code %d: %s: %s\n", device, at, classes[c].code,
                        bioinfer_status_name(j.st), j.err.text);
            if (!classes[c].sticky && fake->failed == 1 &&
                (!CHECK_EQ(fake->counts.live, 0) || !CHECK_EQ(fake->counts.depth, 0)))
                fprintf(stderr, "    %s: call %ld, code %d\n", device, at, classes[c].code);
            sink_free(&j.results);
        }
    printf("%ld calls of %ld places, %ld runs\n", calls, stacks.n_distinct, runs);
    stacks_free(&stacks);
}

/* Checks what `bioinfer devices` would say, and the message of a device that does not do. */
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

/* ---- which device, which library ---- */

static void *must_load(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (!CHECK(handle != NULL) || !CHECK((fake = dlsym(handle, "fake_driver")) != NULL))
        fprintf(stderr, "    %s\n", dlerror());
    return handle;
}

static void stays(const char *library)
{
    expect_message(NULL);
    CHECK(dlopen(library, RTLD_NOW | RTLD_NOLOAD) != NULL);
}

static void keep_log(void *user, int level, const char *text)
{
    char *all = user;
    (void)level;
    strncat(strncat(all, text, 1000 - strlen(all)), "\n", 1);
}

/* Gives the device that --device auto takes; log: 1,100 bytes. */
static const char *taken(const char *precision, char *log)
{
    struct bioinfer_context_params cp = BIOINFER_PARAMS(
        struct bioinfer_context_params, .n_threads = 1, .log = keep_log, .log_user = log);
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .device = "auto", .precision = precision);
    struct bioinfer_model_info info = BIOINFER_PARAMS(struct bioinfer_model_info);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    const char *kind = "none";
    log[0] = '\0';
    if (CHECK_EQ(bioinfer_context_new(&ctx, &cp, NULL), 0) &&
        CHECK_EQ(bioinfer_model_open(&model, ctx, weights, &mp, NULL), 0) &&
        CHECK_EQ(bioinfer_model_get_info(model, &info), 0))
        kind = !strcmp(info.device, "hip")   ? "hip"
               : !strcmp(info.device, "cpu") ? "cpu"
                                             : "another";
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return kind;
}

/* Ten integrated GPUs, one that is full, and one that does; no other kind. */
static void any_device(const char *library)
{
    enum { N = 12 };
    struct bioinfer_device d = BIOINFER_PARAMS(struct bioinfer_device);
    char log[1100];
    bioinfer_context *ctx = NULL;
    int seen = 0, usable = 0;
    must_load("libcuda.so.1");
    fake->n_devices = 0;
    must_load(library);
    fake->n_devices = N;
    fake->other_until = N - 2;
    fake->full_until = N - 1;
    CHECK_STR(taken(NULL, log), "hip");
    if (!CHECK(strstr(log, "hip:10 (fake GPU, gfx90a): the weights do not fit") &&
               strstr(log, "hip:11 (") && strstr(log, "hip:0: fake GPU is 'gfx1036'")))
        fprintf(stderr, "%s", log);
    CHECK_EQ(fake->counts.live, 0);
    CHECK_EQ(fake->counts.depth, 0);
    /* all are listed, with what is wrong with them */
    CHECK_EQ(bioinfer_context_new(&ctx, NULL, NULL), 0);
    for (int i = 0; !bioinfer_device_get(ctx, i, &d); i++) {
        char name[16];
        snprintf(name, sizeof name, "hip:%d", seen);
        seen += !strcmp(d.name, name);
        usable += !strncmp(d.name, "hip:", 4) && d.usable;
    }
    CHECK_EQ(seen, N);
    CHECK_EQ(usable, 2);
    bioinfer_context_free(&ctx);
    fake->full_until = N;
    CHECK_STR(taken(NULL, log), "cpu");
    if (!CHECK(strstr(log, "the CPU is taken")))
        fprintf(stderr, "%s", log);
    fake->n_devices = 1; /* as on a host with one */
    fake->other_until = fake->full_until = 0;
    CHECK_STR(taken(NULL, log), "hip");
    CHECK(strstr(log, "hip:0 (") != NULL);
}

/* Names of devices with two digits. */
static void ordinals(void)
{
    static const struct {
        const char *name;
        int ordinal;
    } good[] = {{"hip:0", 0}, {"hip:9", 9}, {"cuda:10", 10}, {"hip:63", 63}, {"hip:99", 99}};
    static const char *const bad[] = {"hip:",   "hip:100", "hip:01", "hip:1x",
                                      "hip:-1", "hip:1 ",  "hip: 1"};
    const struct bi_backend_ops *ops;
    int ordinal;
    for (size_t i = 0; i < COUNT(good); i++) {
        CHECK_EQ(bi_backend_find(&ops, &ordinal, good[i].name, NULL), 0);
        CHECK_EQ(ordinal, good[i].ordinal);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        CHECK_EQ(bi_backend_find(&ops, &ordinal, bad[i], NULL), BIOINFER_DEVICE);
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
    if (!strcmp(argv[2], "installed")) {
        expect_message(NULL);
        return test_report();
    }
    if (!strcmp(argv[2], "loaded")) {
        must_load(argv[3]);
        expect_message(NULL);
        CHECK(fake->counts.calls > 0);
        return test_report();
    }
    if (!strcmp(argv[2], "stays")) {
        stays(argv[3]);
        return test_report();
    }
    if (!strcmp(argv[2], "auto") && argc > 4) {
        weights = argv[4];
        ordinals();
        any_device(argv[3]);
        return test_report();
    }
    weights = argv[3];
    if (!(library = dlopen(argv[2], RTLD_NOW)) || !(fake = dlsym(library, "fake_driver")) ||
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
        fake_reset();
        fake->arch = "gfx1103"; /* no code of its own */
        expect_message(NULL);
        fake_reset();
        fake->n_devices = 0;
        expect_message("open to this user");
    }
    results(&want);
    residency();
    errors(&want);
    sink_free(&want);
    dlclose(library);
    return test_report();
}

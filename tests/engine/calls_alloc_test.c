/* calls_alloc_test.c - allocation number n fails while sequences are designed and pairs aligned,
 * for one n after the other until nothing fails.
 *
 *     calls_alloc_test WEIGHTS STRUCTURE
 *
 * Twice for each n: that allocation alone, and from there on. The status is NOMEM, also that of a
 * single result, or all is as ever; nothing leaks; after a single failure the same design or
 * aligner gives all. failing.h says which n are tried. */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "engine.h"
#include "../designs.h"
#include "../failing.h"

enum { RESIDUES = 12, PAIRS = 3 };

static const char *weights;
static char structure[] = "/tmp/bioinfer-calls-XXXXXX", fixed[200];

struct outcome {
    uint64_t hash;
    int n, n_failed;
};

static void mix(struct outcome *o, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o->hash = (o->hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001B3u;
    o->hash += n;
}

static void count(struct outcome *o, int status, const char *message)
{
    o->n++;
    o->n_failed += status != 0;
    if (!CHECK(status == BIOINFER_OK || (status == BIOINFER_NOMEM && message[0])))
        fprintf(stderr, "    %s: %s\n", bioinfer_status_name(status), message);
}

/* ---- designs ---- */

static int take_design(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct outcome *o = user;
    (void)err;
    count(o, r->status, r->message);
    if (r->status)
        return 0;
    mix(o, r->sequence, strlen(r->sequence));
    mix(o, r->arrays[0].data, (size_t)r->length * 21 * sizeof(float));
    return 0;
}

static int run_design(void *design, struct outcome *o, struct bioinfer_error *err)
{
    const char *const paths[] = {structure, structure};
    *o = (struct outcome){.hash = 1};
    return test_run_designs(design, paths, 2, take_design, o, err);
}

static int open_design(void **out, bioinfer_model **model, bioinfer_context *ctx,
                       struct bioinfer_error *err)
{
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params, .device = "cpu");
    const struct bioinfer_text text = {"fixed", fixed, strlen(fixed)};
    struct bioinfer_design_params p = BIOINFER_PARAMS(struct bioinfer_design_params, .seed = 3,
                                                      .n_sequences = 2, .fixed_json = &text);
    bioinfer_task *design = NULL;
    int st = bioinfer_model_open(model, ctx, weights, &m, err);
    if (!st)
        st = bioinfer_design_open(&design, *model, &p, err);
    *out = design;
    return st;
}

/* ---- alignments ---- */

static int take_alignment(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct outcome *o = user;
    (void)err;
    count(o, r->status, r->message);
    if (r->status)
        return 0;
    mix(o, &r->alignment->score, sizeof r->alignment->score);
    mix(o, r->alignment->cigar, r->alignment->n_cigar * sizeof *r->alignment->cigar);
    return 0;
}

static int run_align(void *task, struct outcome *o, struct bioinfer_error *err)
{
    static char query[700], target[700];
    struct bioinfer_record pairs[PAIRS];
    for (int i = 0; i < (int)sizeof query; i++) {
        query[i] = "ACDEFGHIKLMNPQRSTVWY"[i * i % 20];
        target[i] = i % 9 ? query[i] : 'W';
    }
    for (int i = 0; i < PAIRS; i++)
        pairs[i] = (struct bioinfer_record){.id = "pair",
                                            .sequence = query,
                                            .length = 30 + 300 * (size_t)i,
                                            .ordinal = (uint64_t)i,
                                            .target = target,
                                            .target_length = 50 + 310 * (size_t)i};
    *o = (struct outcome){.hash = 1};
    return bioinfer_task_compute(task, pairs, PAIRS, take_alignment, o, err);
}

static int open_align(void **out, bioinfer_model **model, bioinfer_context *ctx,
                      struct bioinfer_error *err)
{
    struct bioinfer_align_params p = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = "BLOSUM62", .traceback = 1, .device = "cpu");
    bioinfer_task *task = NULL;
    int st = bioinfer_align_open(&task, ctx, &p, err);
    (void)model;
    *out = task;
    return st;
}

/* ---- both ---- */

static const struct call {
    const char *name;
    int (*open)(void **out, bioinfer_model **model, bioinfer_context *ctx,
                struct bioinfer_error *err);
    int (*run)(void *handle, struct outcome *o, struct bioinfer_error *err);
} calls[] = {
    {"designs", open_design, run_design},
    {"alignments", open_align, run_align},
};

/* Whether call number f->fail_at was met. `want` NULL: the first run, which fills *got. */
static bool everything(const struct call *call, struct failing *f, struct outcome *got,
                       const struct outcome *want)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .alloc = failing_alloc, .free = failing_free,
                                                       .alloc_user = f, .n_threads = 2);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    void *handle = NULL;
    bool met;
    int st;
    if ((st = bioinfer_context_new(&ctx, &c, &err)) ||
        (st = call->open(&handle, &model, ctx, &err)))
        goto out;
    st = call->run(handle, got, &err);
    if ((st || got->n_failed) && !f->from_there)
        CHECK_EQ(call->run(handle, got, NULL), 0);
    if (want && (!st || !f->from_there) && !got->n_failed)
        CHECK(got->hash == want->hash && got->n == want->n);
    CHECK(f->from_there || !got->n_failed);
out:
    met = f->n_calls >= f->fail_at;
    if (!CHECK(st == BIOINFER_OK || st == BIOINFER_NOMEM) || !CHECK(!st || err.text[0]) ||
        !CHECK(!f->fail_at || !met || !f->from_there || st || got->n_failed))
        fprintf(stderr, "    %s, call %ld%s: %d %s\n", call->name, f->fail_at,
                f->from_there ? " and on" : "", st, err.text);
    bioinfer_task_close(&(bioinfer_task *){handle});
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    CHECK_EQ(f->n_live, 0);
    return met;
}

/* Two residues that keep what they are. */
static bool write_fixed(void)
{
    return snprintf(fixed, sizeof fixed, "{\"%s\": {\"A\": [2, 5]}}\n",
                    strrchr(structure, '/') + 1) < (int)sizeof fixed;
}

/* The first residues of a structure. */
static bool cut_structure(const char *path)
{
    FILE *in = fopen(path, "r"), *out;
    const int fd = mkstemp(structure);
    char line[200];
    bool ok = in && fd >= 0 && (out = fdopen(fd, "w"));
    while (ok && fgets(line, sizeof line, in))
        if (!strncmp(line, "ATOM", 4) && strtol(line + 22, NULL, 10) <= RESIDUES)
            fputs(line, out);
    ok = ok && !fclose(out);
    if (in)
        fclose(in);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 3 || !cut_structure(argv[2]) || !write_fixed())
        return 2;
    weights = argv[1];
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct stacks stacks = STACKS;
        struct failing f = {.stacks = &stacks};
        struct outcome want, got = {0};
        long n = 0, runs = 0;
        everything(&calls[i], &f, &want, NULL);
        stacks_choose(&stacks);
        CHECK(want.n > 2 && !want.n_failed);
        for (bool go = true; go; runs += 2) {
            n = failure_after(&stacks, n);
            struct failing once = {.fail_at = n}, on = {.fail_at = n, .from_there = 1};
            go = everything(&calls[i], &once, &got, &want);
            got = (struct outcome){0};
            go &= everything(&calls[i], &on, &got, &want);
            got = (struct outcome){0};
        }
        printf("%s: %ld allocations, %ld runs\n", calls[i].name, (long)f.n_calls, runs);
        stacks_free(&stacks);
    }
    unlink(structure);
    return test_report();
}

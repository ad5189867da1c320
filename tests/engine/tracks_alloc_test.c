/* tracks_alloc_test.c - allocation number n fails while windows of DNA are run, for one n after
 * the other until nothing fails.
 *
 *     tracks_alloc_test MODEL
 *
 * Twice for each n: that allocation alone, and from there on. What is run: a model is opened, a
 * window kept as reference, changed ones alone and in company, more than one program takes, windows
 * and pairs started together; chosen tracks. With EMULATED, on an emulated GPU, only what is started. The
 * status is NOMEM or all values are as ever, nothing leaks; after a single failure the same session gives
 * them. failing.h says which n are tried. */
#include <stdbool.h>

#include "engine.h"
#include "../../engine/engine.h"
#include "../failing.h"

#if EMULATED
#include "../gpu/emu_backend.h"

#define OPS &emu_nvidia
enum { CHANGED = 4, WINDOW = 592, BINS = 37 }; /* CHANGED: all but the first of those started */
#else
#define OPS NULL
enum { CHANGED = 18, WINDOW = 5120, BINS = 16 };
#endif

enum { PARTS = 1 + CHANGED, STARTED = 5 };

static const char *model_path;
static char *windows[PARTS];
static int64_t n_values;

/* [PARTS, n_values] */
static int run(bioinfer_tracks *t, size_t window, float *values, struct bioinfer_error *err)
{
    int st = 0;
    if (!EMULATED)
        st = bioinfer_tracks_run(t, windows[0], window, BIOINFER_REFERENCE, values, err);
    if (!EMULATED && !st)
        st = bioinfer_tracks_run(t, windows[1], window, BIOINFER_CHANGED, values + n_values, err);
    for (int i = 0; !st && i < STARTED; i++)
        st = bioinfer_tracks_start(t, windows[i], window, values + i * n_values, err);
    for (int i = 0; !st && i < STARTED; i++)
        st = bioinfer_tracks_finish(t, NULL, err);
    for (int i = 1; !st && i < STARTED; i += 2) /* again, each beside the one behind it */
        st = bioinfer_tracks_start_pair(t, windows[i], windows[i + 1], window,
                                        values + i * n_values, err);
    for (int i = 1; !st && i < STARTED; i += 2)
        st = bioinfer_tracks_finish(t, NULL, err);
    if (!EMULATED && !st)
        st = bioinfer_tracks_run(t, windows[0], window, BIOINFER_REFERENCE, values, err);
    if (!EMULATED && !st) /* those that changed again, in company */
        st = bioinfer_tracks_run_changed(t, (const char *const *)windows + 1, CHANGED, window,
                                         values + n_values, err);
    return st;
}

/* want NULL: the first run, which fills `got`. */
static bool everything(struct failing *f, float *got, const float *want)
{
    const int tracks[] = {3, 1};
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .alloc = failing_alloc, .free = failing_free,
                                                       .alloc_user = f, .n_threads = 2);
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .positions = "formula-pt");
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(
        struct bioinfer_tracks_params, .tracks = tracks, .n_tracks = 2, .keep = !EMULATED);
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_tracks *t = NULL;
    bool met;
    int st;
    if ((st = bioinfer_context_new(&ctx, &c, &err)) ||
        (st = bi_model_open_on(&model, ctx, model_path, &m, OPS, &err)) ||
        (st = bioinfer_tracks_new(&t, model, &p, &err)))
        goto out;
    bioinfer_tracks_get_info(t, &info);
    CHECK_EQ(info.n_bins * info.n_tracks, n_values);
    st = run(t, (size_t)info.window, got, &err);
    if (st == BIOINFER_NOMEM && !f->from_there)
        CHECK_EQ(run(t, (size_t)info.window, got, NULL), 0);
    if ((!st || !f->from_there) && want)
        CHECK(!memcmp(got, want, PARTS * (size_t)n_values * sizeof *got));
out:
    met = f->n_calls >= f->fail_at;
    if (!CHECK(st == BIOINFER_OK || st == BIOINFER_NOMEM) || !CHECK(!st || err.text[0]) ||
        !CHECK(!f->fail_at || !met || !f->from_there || st))
        fprintf(stderr, "    call %ld%s: %d %s\n", f->fail_at, f->from_there ? " and on" : "", st,
                err.text);
    bioinfer_tracks_free(&t);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    CHECK_EQ(f->n_live, 0);
    return met;
}

int main(int argc, char **argv)
{
    const size_t window = WINDOW;
    struct stacks stacks = STACKS;
    struct failing f = {.stacks = &stacks};
    uint64_t state = 7;
    float *want, *got;
    long n = 0, runs = 0;
    if (argc != 2)
        return 2;
    model_path = argv[1];
    n_values = BINS * 2;
    want = calloc(PARTS * (size_t)n_values, sizeof *want);
    got = calloc(PARTS * (size_t)n_values, sizeof *got);
    for (int i = 0; i < PARTS; i++) {
        windows[i] = malloc(window);
        for (size_t k = 0; k < window; k++)
            windows[i][k] = i ? windows[0][k] : "ACGT"[below(&state, 4)];
        if (i)
            windows[i][window / 2 + (size_t)i] = 'N';
    }
    everything(&f, want, NULL);
    stacks_choose(&stacks);
    printf("%ld allocations in a run\n", (long)f.n_calls);
    for (int go = 1; go; runs += 2) {
        n = failure_after(&stacks, n);
        struct failing once = {.fail_at = n}, on = {.fail_at = n, .from_there = 1};
        go = everything(&once, got, want);
        go &= everything(&on, got, want);
    }
    printf("%ld runs\n", runs);
    for (int i = 0; i < PARTS; i++)
        free(windows[i]);
    free(want);
    free(got);
    return test_report();
}

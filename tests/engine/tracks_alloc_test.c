/* tracks_alloc_test.c - allocation number n fails while windows of DNA are run, for one n after
 * the other until nothing fails.
 *
 *     tracks_alloc_test MODEL
 *
 * Twice for each n: that allocation alone, and from there on. What is run: a model is opened; a
 * window with changed ones, more than one program takes; windows; pairs of a window and a changed
 * one; chosen tracks. With EMULATED, on an emulated GPU, without the first. The status, of the run
 * or of a window, is NOMEM or all values are as ever, nothing leaks; after a single failure the
 * same session gives them. failing.h says which n are tried. */
#include "failing_task.h"
#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../windows.h"

#if EMULATED
#include "../gpu/emu_backend.h"

#define OPS &emu_nvidia
enum { CHANGED = 4, WINDOW = 384, BINS = 24 }; /* CHANGED: all but the first of those started */
#else
#define OPS NULL
enum { CHANGED = 18, WINDOW = 5120, BINS = 16 };
#endif

enum { PARTS = 1 + CHANGED, STARTED = 5 };

static const char *model_path;
static char *parts[PARTS];
static int64_t n_values;

/* Values of all runs: a window with all that change, windows, pairs. */
enum { VALUES = 1 + CHANGED + STARTED + 2 * STARTED };

static int status_of(int st, const struct test_window *windows, int n)
{
    for (int i = 0; !st && i < n; i++)
        st = windows[i].status;
    return st;
}

static int run(bioinfer_task *t, float *values, struct bioinfer_error *err)
{
    struct test_window windows[2 * STARTED + 1] = {{0}};
    int n = 0;
    if (!EMULATED) { /* changed ones together, more than one program takes */
        windows[n].others = (const char *const *)parts + 1;
        windows[n].n = CHANGED;
        windows[n].sequence = parts[0];
        windows[n++].values = values;
    }
    for (int i = 0; i < 2 * STARTED; i++, n++) {
        const int of = i % STARTED;
        windows[n].sequence = parts[of];
        windows[n].others = (const char *const *)parts + (of + 1) % PARTS;
        windows[n].n = i >= STARTED;
        windows[n].values = values +
                            (1 + CHANGED + (i < STARTED ? i : STARTED + 2 * of)) * n_values;
    }
    return status_of(test_run_windows(t, windows, (size_t)n, NULL, err), windows, n);
}

/* want NULL: the first run, which fills `got`. */
static bool everything(struct failing *f, void *got, const void *want)
{
    const int tracks[] = {3, 1};
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .alloc = failing_alloc, .free = failing_free,
                                                       .alloc_user = f, .n_threads = 2);
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .positions = "formula-pt", .window = WINDOW);
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(struct bioinfer_tracks_params,
                                                      .tracks = tracks, .n_tracks = 2);
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    struct open o = {0};
    int st;
    if ((st = bioinfer_context_new(&o.ctx, &c, &err)) ||
        (st = bi_model_open_on(&o.model, o.ctx, model_path, &m, OPS, &err)) ||
        (st = bioinfer_tracks_open(&o.task, o.model, &p, &err)))
        goto out;
    bioinfer_tracks_get_info(o.task, &info);
    CHECK_EQ(info.n_bins * info.n_tracks, n_values);
    st = run(o.task, got, &err);
    if (st == BIOINFER_NOMEM && !f->from_there)
        CHECK_EQ(run(o.task, got, NULL), 0);
    if ((!st || !f->from_there) && want)
        CHECK(!memcmp(got, want, VALUES * (size_t)n_values * sizeof(float)));
out:
    return failing_end(f, st, &err, &o);
}

int main(int argc, char **argv)
{
    const size_t window = WINDOW;
    uint64_t state = 7;
    float *want, *got;
    if (argc != 2)
        return 2;
    model_path = argv[1];
    n_values = BINS * 2;
    want = calloc(VALUES * (size_t)n_values, sizeof *want);
    got = calloc(VALUES * (size_t)n_values, sizeof *got);
    for (int i = 0; i < PARTS; i++) {
        parts[i] = malloc(window);
        for (size_t k = 0; k < window; k++)
            parts[i][k] = i ? parts[0][k] : "ACGT"[below(&state, 4)];
        if (i)
            parts[i][window / 2 + (size_t)i] = 'N';
    }
    failing_test(everything, got, want);
    for (int i = 0; i < PARTS; i++)
        free(parts[i]);
    free(want);
    free(got);
    return test_report();
}

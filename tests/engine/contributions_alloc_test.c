/* contributions_alloc_test.c - allocation number n fails while contributions are computed, for one
 * n after the other until nothing fails.
 *
 *     contributions_alloc_test MODEL
 *
 * Twice for each n: that allocation alone, and from there on. The status, of the run or of a
 * window, is NOMEM or all values are as ever, nothing leaks; after a single failure the same task
 * gives them. failing.h says which n are tried. */
#include "failing_task.h"

enum { WINDOW = 592, BASES = 4, WINDOWS = 2 };

static const char *model_path;
static char window[WINDOW + 1];

struct run {
    float *gradient; /* [WINDOWS, WINDOW, 4] */
    int n_read, n_done, status;
};

static int give(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    struct run *run = user;
    (void)err;
    if (run->n_read == WINDOWS)
        return 0;
    *r = (struct bioinfer_record){
        .id = "window", .ordinal = (uint64_t)run->n_read++, .sequence = window, .length = WINDOW};
    return 1;
}

static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct run *run = user;
    (void)err;
    if (r->status)
        run->status = r->status;
    else
        memcpy(run->gradient + run->n_done * WINDOW * BASES, r->arrays[1].data,
               WINDOW * BASES * sizeof(float));
    run->n_done++;
    return 0;
}

static int compute(bioinfer_task *t, float *gradient, struct bioinfer_error *err)
{
    struct run run = {.gradient = gradient};
    int st = bioinfer_task_run(t, give, &run, take, &run, err);
    return st ? st : run.status;
}

static bool everything(struct failing *f, void *got, const void *want)
{
    static const int tracks[] = {3, 1};
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .alloc = failing_alloc, .free = failing_free,
                                                       .alloc_user = f, .n_threads = 2);
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .positions = "formula-pt", .device = "cpu");
    struct bioinfer_contributions_params p = BIOINFER_PARAMS(struct bioinfer_contributions_params,
                                                             .tracks = tracks, .n_tracks = 2);
    struct bioinfer_error err = {0};
    struct open o = {0};
    int st;
    if ((st = bioinfer_context_new(&o.ctx, &c, &err)) ||
        (st = bioinfer_model_open(&o.model, o.ctx, model_path, &m, &err)) ||
        (st = bioinfer_contributions_open(&o.task, o.model, &p, &err)))
        goto out;
    st = compute(o.task, got, &err);
    if (st == BIOINFER_NOMEM && !f->from_there)
        CHECK_EQ(compute(o.task, got, NULL), 0);
    if ((!st || !f->from_there) && want)
        CHECK(!memcmp(got, want, WINDOWS * WINDOW * BASES * sizeof(float)));
out:
    return failing_end(f, st, &err, &o);
}

int main(int argc, char **argv)
{
    static float want[WINDOWS * WINDOW * BASES], got[WINDOWS * WINDOW * BASES];
    uint64_t state = 7;
    if (argc != 2)
        return 2;
    model_path = argv[1];
    for (size_t k = 0; k < WINDOW; k++)
        window[k] = "ACGT"[below(&state, 4)];
    failing_test(everything, got, want);
    return test_report();
}

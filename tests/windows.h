/* windows.h - windows of DNA through a task of tracks, for tests. */
#ifndef BI_TEST_WINDOWS_H
#define BI_TEST_WINDOWS_H

#include <stdlib.h>
#include <string.h>

#include "../include/bioinfer.h"
#include "test.h"

/* A window, others that differ from it, all of the size the task takes, and their values. */
struct test_window {
    const char *sequence;
    const char *const *others; /* [n] */
    size_t n;
    float *values; /* [1 + n, n_values] */
    int status;    /* the window has this one */
    int *statuses; /* [n] of the others; NULL = each has to be 0 */
};

struct test_windows {
    struct test_window *of;
    size_t n, n_read, n_done, n_pieces;
    size_t length, n_values, n_outputs;
    size_t next; /* change that is to come */
    struct bioinfer_change *changes;
};

static int test_window_source(void *user, struct bioinfer_record *window,
                              struct bioinfer_error *err)
{
    struct test_windows *t = user;
    const struct test_window *w = &t->of[t->n_read];
    (void)err;
    if (t->n_read == t->n)
        return 0;
    free(t->changes);
    t->changes = calloc(w->n + 1, sizeof *t->changes);
    for (size_t i = 0; i < w->n; i++)
        t->changes[i] = (struct bioinfer_change){0, (int64_t)t->length, w->others[i]};
    *window = (struct bioinfer_record){.id = "window",
                                       .ordinal = t->n_read++,
                                       .sequence = w->sequence,
                                       .length = t->length,
                                       .changes = t->changes,
                                       .n_changes = w->n};
    return 1;
}

static int test_window_sink(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct test_windows *t = user;
    struct test_window *w = &t->of[t->n_done];
    const size_t size = t->n_values * sizeof(float);
    float *values = w->values;
    (void)err;
    CHECK_EQ(r->ordinal, t->n_done);
    t->n_pieces++;
    if (!(w->status = r->status)) {
        const struct bioinfer_changed *c = r->changed;
        CHECK_EQ(c->first, t->next);
        t->next += c->n;
        CHECK_EQ(!r->more, t->next == w->n);
        for (size_t i = 0; i < t->n_outputs; i++) { /* sites of junctions stand behind them */
            const struct bioinfer_array *a = &r->arrays[i];
            const int64_t n = a->shape[0] * a->shape[1] * (a->n_dims > 2 ? a->shape[2] : 1);
            memcpy(values, a->data, (size_t)n * sizeof *values);
            values += n;
        }
        CHECK_EQ(values - w->values, t->n_values);
        for (size_t i = 0; i < c->n; i++) {
            memcpy(w->values + (1 + c->first + i) * t->n_values, c->values + i * t->n_values, size);
            if (w->statuses)
                w->statuses[c->first + i] = c->statuses[i];
            else
                CHECK_EQ(c->statuses[i], 0);
        }
    }
    if (!r->more) {
        t->next = 0;
        t->n_done++;
    }
    return 0;
}

/* Runs n windows; gives the pieces of results that came. */
static inline int test_run_windows(bioinfer_task *t, struct test_window *windows, size_t n,
                                   size_t *n_pieces, struct bioinfer_error *err)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct test_windows all = {.of = windows, .n = n};
    int st;
    bioinfer_tracks_get_info(t, &info);
    all.length = (size_t)info.window;
    all.n_values = (size_t)info.n_values;
    all.n_outputs = (size_t)info.n_outputs;
    st = bioinfer_task_run(t, test_window_source, &all, test_window_sink, &all, err);
    if (!st)
        CHECK_EQ(all.n_done, n);
    if (n_pieces)
        *n_pieces = all.n_pieces;
    free(all.changes);
    return st;
}

/* Runs a window and n others that differ from it; its status, or that of the call. */
static inline int test_run_window(bioinfer_task *t, const char *sequence, const char *const *others,
                                  size_t n, float *values, struct bioinfer_error *err)
{
    struct test_window w = {.sequence = sequence, .others = others, .n = n, .values = values};
    const int st = test_run_windows(t, &w, 1, NULL, err);
    return st ? st : w.status;
}

#endif

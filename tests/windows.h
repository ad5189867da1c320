/* windows.h - windows of DNA through a session of tracks, for tests. */
#ifndef BI_TEST_WINDOWS_H
#define BI_TEST_WINDOWS_H

#include <stdlib.h>
#include <string.h>

#include "../include/bioinfer.h"
#include "test.h"

/* A window and others that differ from it, all of the session's size, and where their values go. */
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
    size_t length, n_values;
    size_t next; /* change that is to come */
    struct bioinfer_change *changes;
};

static int test_window_source(void *user, struct bioinfer_window *window,
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
    *window = (struct bioinfer_window){.id = "window",
                                       .ordinal = t->n_read++,
                                       .sequence = w->sequence,
                                       .length = t->length,
                                       .changes = t->changes,
                                       .n_changes = w->n};
    return 1;
}

static int test_window_sink(void *user, const struct bioinfer_window_result *r,
                            struct bioinfer_error *err)
{
    struct test_windows *t = user;
    struct test_window *w = &t->of[t->n_done];
    const size_t size = t->n_values * sizeof(float);
    (void)err;
    CHECK_EQ(r->ordinal, t->n_done);
    t->n_pieces++;
    if (!(w->status = r->status)) {
        CHECK_EQ(r->first_change, t->next);
        t->next += r->n_changes;
        CHECK_EQ(r->is_last, t->next == w->n);
        memcpy(w->values, r->values, size);
        for (size_t i = 0; i < r->n_changes; i++) {
            memcpy(w->values + (1 + r->first_change + i) * t->n_values,
                   r->changed + i * t->n_values, size);
            if (w->statuses)
                w->statuses[r->first_change + i] = r->statuses[i];
            else
                CHECK_EQ(r->statuses[i], 0);
        }
    }
    if (r->is_last) {
        t->next = 0;
        t->n_done++;
    }
    return 0;
}

/* Runs n windows; gives the pieces of results that came. */
static inline int test_run_windows(bioinfer_tracks *t, struct test_window *windows, size_t n,
                                   size_t *n_pieces, struct bioinfer_error *err)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct test_windows all = {.of = windows, .n = n};
    int st;
    bioinfer_tracks_get_info(t, &info);
    all.length = (size_t)info.window;
    all.n_values = (size_t)(info.n_rows * info.n_tracks);
    st = bioinfer_tracks_run(t, test_window_source, &all, test_window_sink, &all, err);
    if (!st)
        CHECK_EQ(all.n_done, n);
    if (n_pieces)
        *n_pieces = all.n_pieces;
    free(all.changes);
    return st;
}

/* Runs a window and n others that differ from it; its status, or that of the call. */
static inline int test_run_window(bioinfer_tracks *t, const char *sequence,
                                  const char *const *others, size_t n, float *values,
                                  struct bioinfer_error *err)
{
    struct test_window w = {.sequence = sequence, .others = others, .n = n, .values = values};
    const int st = test_run_windows(t, &w, 1, NULL, err);
    return st ? st : w.status;
}

#endif

/* compute.c - the values of windows of DNA: the calls of the engine, and windows on their way.
 *
 * A window alone, or with one that differs from it, is started before others are finished, so
 * that the device computes while windows are read and results are written. Windows that share a
 * reference are computed when they are asked for. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST = 8,              /* changed windows at a time, however many values they have; else ... */
    MOST_VALUES = 256 << 20 /* ... as many as have values of so many bytes */
};

/* A failure of one window that is not the end of the run. */
static bool is_of_record(int st)
{
    return st == BIOINFER_NONFINITE;
}

int compute_open(struct run *run)
{
    struct compute *c = &run->compute;
    const bool pairs = run->kind == &variants_kind, alone = run->kind != &mutagenesis_kind;
    const size_t n = (size_t)(pairs ? 2 * run->n_values : run->n_values);

    c->most = !alone ? 1 : pairs ? run->info.n_pairs_at_once : run->info.n_at_once;
    if (!(c->flights = calloc((size_t)c->most, sizeof *c->flights)))
        return CLI_EXIT_NO_MEMORY;
    for (int i = 0; alone && i < c->most; i++)
        if (!(c->flights[i].values = calloc(n, sizeof(float))))
            return CLI_EXIT_NO_MEMORY;
    if (alone && !pairs)
        return CLI_EXIT_OK;
    c->at_once = AT_ONCE;
    while (c->at_once > LEAST &&
           c->at_once * run->n_values * (int64_t)sizeof *c->others > MOST_VALUES)
        c->at_once /= 2;
    c->texts = calloc(AT_ONCE, sizeof *c->texts);
    c->values = calloc((size_t)run->n_values, sizeof *c->values);
    c->others = calloc((size_t)(c->at_once * run->n_values), sizeof *c->others);
    return c->values && c->others && c->texts ? CLI_EXIT_OK : CLI_EXIT_NO_MEMORY;
}

/* Ends the unit of a last window. */
static void drop(const struct window *w)
{
    struct unit *u = w->unit;

    if (w->last)
        unit_free(&u);
}

static int take(struct run *run, const struct window *w, const struct values *v)
{
    int code = run->kind->take(run, w, v);

    drop(w);
    return code;
}

/* ---- windows on their way ---- */

static int finish_flight(struct run *run)
{
    static const int none[1];
    struct compute *c = &run->compute;
    struct flight *f = &c->flights[c->oldest];
    struct bioinfer_error err = {0};
    struct values v = {.status = f->status, .text = f->text, .statuses = none};

    c->n--;
    c->oldest = (c->oldest + 1) % c->most;
    if (f->started) {
        v.status = bioinfer_tracks_finish(run->tracks, NULL, &err);
        v.text = err.text;
        v.window = f->values;
        v.changed = f->values + run->n_values;
        if (v.status && !is_of_record(v.status)) {
            drop(&f->window);
            return cli_fail(run->cli, CLI_AT_RUN, v.status, &err);
        }
    }
    return take(run, &f->window, &v);
}

int compute_finish(struct run *run)
{
    int code = CLI_EXIT_OK;

    while (!code && run->compute.n)
        code = finish_flight(run);
    return code;
}

/* A window alone, with one that differs, or without values takes its place behind the others. */
static int start(struct run *run, const struct window *w)
{
    struct compute *c = &run->compute;
    struct flight *f = &c->flights[(c->oldest + c->n) % c->most];
    const size_t length = (size_t)run->info.window;
    struct bioinfer_error err = {0};
    int st = 0, code = CLI_EXIT_OK;

    f->window = *w;
    f->window.sequence = f->window.text = NULL;
    f->window.changed = NULL;
    f->started = w->sequence != NULL;
    f->status = w->status;
    snprintf(f->text, sizeof f->text, "%s", w->text ? w->text : "");
    if (f->started)
        st = w->n_changed
                 ? bioinfer_tracks_start_pair(run->tracks, w->sequence, w->changed[0], length,
                                              f->values, &err)
                 : bioinfer_tracks_start(run->tracks, w->sequence, length, f->values, &err);
    if (st) {
        drop(w);
        return cli_fail(run->cli, CLI_AT_RUN, st, &err);
    }
    c->n++;
    while (!code && c->n && (c->n == c->most || !c->flights[c->oldest].started))
        code = finish_flight(run);
    return code;
}

/* ---- windows that share a reference ---- */

/* The changed windows of one whose features are kept; a failure of one costs no other. */
static int run_changed(struct run *run, const struct window *w, struct bioinfer_error *err)
{
    struct compute *c = &run->compute;
    const size_t length = (size_t)run->info.window;
    int st = bioinfer_tracks_run_changed(run->tracks, (const char *const *)w->changed, w->n_changed,
                                         length, c->others, err);

    memset(c->statuses, 0, sizeof c->statuses);
    if (!is_of_record(st))
        return st;
    for (int i = 0; i < w->n_changed; i++) { /* which of them is it? */
        st = bioinfer_tracks_run(run->tracks, w->changed[i], length, BIOINFER_CHANGED,
                                 c->others + i * run->n_values, err);
        if (st && !is_of_record(st))
            return st;
        c->statuses[i] = st;
        snprintf(c->texts[i], MAX_TEXT, "%.1000s", st ? err->text : "");
    }
    return 0;
}

/* The window, unless it was the one before as well, and those that differ from it. */
static int run_shared(struct run *run, const struct window *w, struct bioinfer_error *err)
{
    struct compute *c = &run->compute;
    int st;

    if (!w->again) {
        st = bioinfer_tracks_run(run->tracks, w->sequence, (size_t)run->info.window,
                                 BIOINFER_REFERENCE, c->values, err);
        if (st && !is_of_record(st))
            return st;
        c->status = st;
        snprintf(c->text, sizeof c->text, "%s", st ? err->text : "");
    }
    return c->status || !w->n_changed ? 0 : run_changed(run, w, err);
}

static int put_shared(struct run *run, const struct window *w)
{
    const struct compute *c = &run->compute;
    struct bioinfer_error err = {0};
    int st, code = compute_finish(run);

    if (!code && (st = run_shared(run, w, &err)))
        code = run_failed(run, st, &err);
    if (!code)
        return take(
            run, w,
            &(struct values){c->status, c->text, c->values, c->others, c->statuses, c->texts});
    drop(w);
    return code;
}

int compute_put(struct run *run, const struct window *w)
{
    return w->sequence && w->shared ? put_shared(run, w) : start(run, w);
}

void compute_close(struct run *run)
{
    struct compute *c = &run->compute;

    for (; c->n; c->n--, c->oldest = (c->oldest + 1) % c->most)
        drop(&c->flights[c->oldest].window);
    for (int i = 0; c->flights && i < c->most; i++)
        free(c->flights[i].values);
    free(c->flights);
    free(c->values);
    free(c->others);
    free(c->texts);
}

/* compute.c - the values of windows of DNA: the windows of units for the engine, and its values for
 * the results of units.
 *
 * The engine asks for windows before it gives the values of those in front, so units wait in a line
 * between the two. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct run *run)
{
    run->compute.code = CLI_EXIT_NO_MEMORY;
    return BIOINFER_NOMEM;
}

/* Frees a flight, and its unit where it has no windows behind this one. */
static void end_flight(struct run *run)
{
    struct compute *c = &run->compute;
    struct flight *f = c->first;

    c->first = f->behind;
    if (!c->first)
        c->last = NULL;
    if (f->last)
        unit_free(&f->unit);
    free(f);
}

/* A bioinfer_window_source: the next window of the unit at hand, or the first of the next unit. */
static int next_window(void *user, struct bioinfer_window *window, struct bioinfer_error *err)
{
    struct run *run = user;
    struct compute *c = &run->compute;
    struct window w = {0};
    struct flight *f;

    (void)err;
    if (!run->asked && ((c->code = take_unit(run, &run->asked)) || !run->asked))
        return c->code ? BIOINFER_CANCELLED : 0; /* the windows in front get their values yet */
    if ((c->code = run->kind->ask(run, run->asked, &w)))
        return BIOINFER_CANCELLED;
    if (!(f = calloc(1, sizeof *f)))
        return no_memory(run);
    *f = (struct flight){.unit = run->asked, .first = w.first, .n = w.n, .last = w.last};
    *(c->last ? &c->last->behind : &c->first) = f;
    c->last = f;
    *window = (struct bioinfer_window){.id = f->unit->of[0].l.name,
                                       .ordinal = f->unit->ordinal,
                                       .sequence = w.sequence,
                                       .length = (size_t)run->info.window,
                                       .changes = w.changes,
                                       .n_changes = w.n_changes,
                                       .status = w.status,
                                       .message = w.text};
    if (w.last)
        run->asked = NULL;
    return 1;
}

/* A bioinfer_window_sink. */
static int take_values(void *user, const struct bioinfer_window_result *r,
                       struct bioinfer_error *err)
{
    struct run *run = user;
    struct flight *f = run->compute.first;
    int code;

    (void)err;
    if ((code = run->kind->take(run, f, r))) {
        run->compute.code = code;
        return BIOINFER_CANCELLED;
    }
    if (r->is_last)
        end_flight(run);
    return 0;
}

const char *change_text(int status)
{
    return status ? "tracks are not finite" : "";
}

int compute_all(struct run *run)
{
    struct bioinfer_error err = {0};
    int st;

    do
        st = bioinfer_tracks_run(run->tracks, next_window, run, take_values, run, &err);
    while (!st && run->job && bioinfer_job_pending(run->job));
    return run->compute.code ? run->compute.code : st ? run_failed(run, st, &err) : CLI_EXIT_OK;
}

void compute_close(struct run *run)
{
    while (run->compute.first)
        end_flight(run);
    free(run->compute.changes);
    free(run->compute.bases);
}

/* ---- changes of a window ---- */

bool add_change(struct run *run, struct window *w, int64_t first, int64_t length, const char *bases)
{
    struct compute *c = &run->compute;

    if (w->n_changes == c->cap) {
        const size_t cap = c->cap ? 2 * c->cap : 64;
        struct bioinfer_change *of = realloc(c->changes, cap * sizeof *of);
        if (!of)
            return false;
        c->changes = of;
        c->cap = cap;
    }
    c->changes[w->n_changes++] = (struct bioinfer_change){first, length, bases};
    w->changes = c->changes;
    return true;
}

/* compute.c - the values of windows of DNA: the windows of units for the engine, and its values for
 * the results of units.
 *
 * The engine asks for windows before it gives the values of those in front, so units wait in a line
 * between the two. */
#include "tracks.h"

#include <stdlib.h>
#include <string.h>

/* Frees a flight, and its unit where it has no windows behind this one. */
static void end_flight(struct compute *c)
{
    struct flight *f = c->first;

    c->first = f->behind;
    if (!c->first)
        c->last = NULL;
    if (f->last)
        unit_free(&f->unit);
    free(f->half);
    free(f);
}

/* A bioinfer_source: the next window of the unit at hand, or the first of the next unit. */
static int next_window(void *user, struct bioinfer_record *window, struct bioinfer_error *err)
{
    struct tracker *t = user;
    struct compute *c = &t->compute;
    struct window w = {0};
    struct flight *f;
    int st;

    if (!t->asked && (st = next_unit(t, &t->asked, err)) <= 0)
        return st;
    if ((st = t->kind->ask(t, t->asked, &w, err)))
        return st;
    if (!(f = calloc(1, sizeof *f)))
        return no_memory(err, "the next window");
    *f = (struct flight){.unit = t->asked, .first = w.first, .n = w.n, .last = w.last};
    *(c->last ? &c->last->behind : &c->first) = f;
    c->last = f;
    *window = (struct bioinfer_record){.id = f->unit->of[0].name,
                                       .ordinal = f->unit->ordinal,
                                       .sequence = w.sequence,
                                       .length = (size_t)t->info.window,
                                       .changes = w.changes,
                                       .n_changes = w.n_changes,
                                       .status = w.status,
                                       .message = w.text};
    if (w.last)
        t->asked = NULL;
    return 1;
}

/* A bioinfer_sink. */
static int take_values(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct tracker *t = user;
    int st = t->kind->take(t, t->compute.first, r, err);

    if (!st && !r->more)
        end_flight(&t->compute);
    return st;
}

const char *change_text(int status)
{
    return status ? "tracks are not finite" : "";
}

int compute_all(struct tracker *t, struct bioinfer_error *err)
{
    return bioinfer_task_run(t->tracks, next_window, t, take_values, t, err);
}

void compute_close(struct tracker *t)
{
    while (t->compute.first)
        end_flight(&t->compute);
    free(t->compute.changes);
    free(t->compute.bases);
}

/* ---- changes of a window ---- */

int add_change(struct tracker *t, struct window *w, int64_t first, int64_t length,
               const char *bases, struct bioinfer_error *err)
{
    struct compute *c = &t->compute;

    if (w->n_changes == c->cap) {
        const size_t cap = c->cap ? 2 * c->cap : 64;
        struct bioinfer_change *of = realloc(c->changes, cap * sizeof *of);
        if (!of)
            return no_memory(err, "the changes of a window");
        c->changes = of;
        c->cap = cap;
    }
    c->changes[w->n_changes++] = (struct bioinfer_change){first, length, bases};
    w->changes = c->changes;
    return 0;
}

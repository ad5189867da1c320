/* failing_task.h - a task whose allocations fail in turn: the end of each run, and all runs. */
#ifndef BI_TEST_FAILING_TASK_H
#define BI_TEST_FAILING_TASK_H

#include <stdbool.h>

#include "engine.h"
#include "../failing.h"

/* The end of a run with status st: it succeeded or ran out of memory and said so, and nothing
 * leaks. Closes what is given; true when the allocation that was to fail was met. */
static inline bool failing_end(struct failing *f, int st, const struct bioinfer_error *err,
                               struct open *o)
{
    const bool met = f->n_calls >= f->fail_at;
    if (!CHECK(st == BIOINFER_OK || st == BIOINFER_NOMEM) ||
        !CHECK(!st || err->text[0] || o->task) ||
        !CHECK(!f->fail_at || !met || !f->from_there || st))
        fprintf(stderr, "    call %ld%s: %d %s\n", f->fail_at, f->from_there ? " and on" : "", st,
                err->text);
    close_all(o);
    CHECK_EQ(f->n_live, 0);
    return met;
}

/* Runs with one failing allocation after the other, each alone and from there on, until none is
 * met. run gives what failing_end() says; `got` and `want` are for it. */
static inline void failing_runs(struct stacks *stacks,
                                bool (*run)(struct failing *f, void *got, const void *want),
                                void *got, const void *want)
{
    long n = 0, runs = 0;
    for (bool go = true; go; runs += 2) {
        n = failure_after(stacks, n);
        struct failing once = {.fail_at = n}, on = {.fail_at = n, .from_there = 1};
        go = run(&once, got, want);
        go &= run(&on, got, want);
    }
    printf("%ld runs\n", runs);
}

/* The whole of a test: a run without failures gives *want and notes its allocations, which fail
 * then. */
static inline void failing_test(bool (*run)(struct failing *f, void *got, const void *want),
                                void *got, void *want)
{
    struct stacks stacks = STACKS;
    struct failing f = {.stacks = &stacks};
    run(&f, want, NULL);
    stacks_choose(&stacks);
    printf("%ld allocations in a run, %ld stacks\n", (long)f.n_calls, stacks.n_distinct);
    failing_runs(&stacks, run, got, want);
    stacks_free(&stacks);
}

#endif

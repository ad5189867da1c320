/* failing_reads.h - a reader whose allocations fail one after the other. */
#ifndef FAILING_READS_H
#define FAILING_READS_H

#include "../failing.h"
#include "../test.h"

/* Runs `use`, which takes its memory by failing_alloc() of f: once undisturbed, where it takes more
 * than `least` pieces, then with failures of its allocations. Each has to end with NOMEM, words,
 * and all memory given back. */
static inline void each_allocation_fails(int (*use)(struct failing *f, struct bioinfer_error *err),
                                         long least)
{
    struct stacks stacks = STACKS;
    struct failing f = {.stacks = &stacks};
    struct bioinfer_error err = {0};
    long n = 0;
    CHECK_EQ(use(&f, &err), 0);
    CHECK_EQ(f.n_live, 0);
    CHECK(f.n_calls > least);
    stacks_choose(&stacks);
    while ((n = failure_after(&stacks, n)) <= stacks.n) {
        struct failing g = {.fail_at = n};
        err = (struct bioinfer_error){0};
        CHECK_EQ(use(&g, &err), BIOINFER_NOMEM);
        CHECK(err.text[0]);
        CHECK_EQ(g.n_live, 0);
    }
    stacks_free(&stacks);
}

#endif

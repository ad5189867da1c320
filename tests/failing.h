/* failing.h - calls, allocations above all, that fail from number fail_at on, or that one alone; and how
 * many allocations live. */
#ifndef FAILING_H
#define FAILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct failing {
    _Atomic long n_calls, n_live; /* weights are read by several threads */
    long fail_at;
    int from_there;
};

static bool fails(struct failing *f)
{
    const long call = ++f->n_calls;
    return f->fail_at && (f->from_there ? call >= f->fail_at : call == f->fail_at);
}

static void *failing_alloc(void *user, size_t size)
{
    struct failing *f = user;
    if (fails(f))
        return NULL;
    f->n_live++;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void failing_free(void *user, void *p)
{
    struct failing *f = user;
    f->n_live -= p != NULL;
    free(p);
}

#endif

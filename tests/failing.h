/* failing.h - calls, allocations above all, that fail from number fail_at on, or that one alone; and how
 * many allocations live. */
#ifndef FAILING_H
#define FAILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The number of the failure behind number n, or of the first one where n is 0. Numbers follow each
 * other where BIOINFER_ALLOC_FAIL is "all", else their distance grows by 1 / growth of them.
 * BIOINFER_PART=2/4 leaves the second of every four numbers to this process. */
static inline long failure_after(long n, long growth)
{
    const char *all = getenv("BIOINFER_ALLOC_FAIL"), *of = getenv("BIOINFER_PART");
    char *end = NULL;
    const long part = of ? strtol(of, &end, 10) : 1;
    const long parts = !of ? 1 : *end == '/' ? strtol(end + 1, NULL, 10) : 0;

    if (part < 1 || part > parts) {
        fprintf(stderr, "BIOINFER_PART=%s is not a part such as 2/4\n", of);
        exit(2);
    }
    for (long i = n ? parts : part; i; i--)
        n += all && !strcmp(all, "all") ? 1 : 1 + n / growth;
    return n;
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

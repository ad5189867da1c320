/* failing.h - calls, allocations above all, that fail from number fail_at on, or that one alone;
 * and how many allocations live.
 *
 * Thousands of calls come from some hundred places, of loops over tensors and records, and those of
 * one place fail alike. So an undisturbed run notes the call stack of each call, and of every stack
 * the first call, the second and the last one are tried; where each run is slow, under sanitizers
 * (BIOINFER_SANITIZED) and in emulation (BIOINFER_SPARSE), every fourth of these.
 * BIOINFER_ALLOC_FAIL=all tries all of them: `meson test --setup alloc_fail --suite alloc-fail`,
 * by hand. */
#ifndef FAILING_H
#define FAILING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __has_include
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAVE_STACKS 1
#endif
#endif

/* A hash of the call stack of each call of an undisturbed run, as stacks_note() was told of it. */
struct stacks {
    pthread_mutex_t lock;
    uint64_t *of; /* [n] */
    bool *chosen; /* [n], by stacks_choose() */
    long n, room, n_distinct;
    long first; /* calls up to this number are left out */
};

#define STACKS {.lock = PTHREAD_MUTEX_INITIALIZER}

struct failing {
    _Atomic long n_calls, n_live; /* weights are read by several threads */
    long fail_at;
    int from_there;
    struct stacks *stacks; /* NULL: not noted */
};

/* Notes the stack of its caller as that of call number n. */
static inline void stacks_note(struct stacks *s, long n)
{
    uint64_t hash = 0xcbf29ce484222325u;
#if defined HAVE_STACKS
    void *frames[64];
    const int n_frames = backtrace(frames, 64);
    for (int i = 0; i < n_frames; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * 0x100000001B3u;
#else
    hash += (uint64_t)n; /* each a place of its own: all are tried */
#endif
    pthread_mutex_lock(&s->lock);
    if (n > s->room) {
        s->room = 2 * n + 1000;
        s->of = realloc(s->of, (size_t)s->room * sizeof *s->of);
        if (!s->of)
            abort();
    }
    s->of[n - 1] = hash;
    if (n > s->n)
        s->n = n;
    pthread_mutex_unlock(&s->lock);
}

static inline int stack_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b; /* hash, number */
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Chooses of each stack the first call, the second and the last one. */
static inline void stacks_choose(struct stacks *s)
{
    long n = 0;
    uint64_t(*sorted)[2] = malloc(((size_t)s->n + 1) * sizeof *sorted);
    s->chosen = calloc((size_t)s->n + 1, sizeof *s->chosen);
    if (!sorted || !s->chosen)
        abort();
    for (long i = s->first; i < s->n; i++) {
        sorted[n][0] = s->of[i];
        sorted[n++][1] = (uint64_t)i;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, stack_order);
    s->n_distinct = 0;
    for (long i = 0, of_stack = 0; i < n; i++) {
        const bool first = !i || sorted[i][0] != sorted[i - 1][0];
        const bool last = i + 1 == n || sorted[i][0] != sorted[i + 1][0];
        of_stack = first ? 1 : of_stack + 1;
        s->n_distinct += first;
        s->chosen[sorted[i][1]] = of_stack <= 2 || last;
    }
    free(sorted);
}

/* Leaves out the first n calls: another run takes the same way to there. */
static inline void stacks_forget(struct stacks *s, long n)
{
    s->first = n > 0 ? n : 0;
}

static inline void stacks_free(struct stacks *s)
{
    free(s->of);
    free(s->chosen);
    s->of = NULL;
    s->chosen = NULL;
    s->n = s->room = 0;
}

static inline bool fails(struct failing *f)
{
    const long call = ++f->n_calls;
    if (f->stacks)
        stacks_note(f->stacks, call);
    return f->fail_at && (f->from_there ? call >= f->fail_at : call == f->fail_at);
}

/* The number of the failure behind number n, or of the first one where n is 0: the next call that
 * is chosen, and behind the last one those that follow it; with BIOINFER_ALLOC_FAIL=all the next
 * call. BIOINFER_PART=2/4 leaves the second of every four such numbers to this process. */
static inline long failure_after(const struct stacks *s, long n)
{
    const char *all = getenv("BIOINFER_ALLOC_FAIL"), *of = getenv("BIOINFER_PART");
    char *end = NULL;
    const long part = of ? strtol(of, &end, 10) : 1;
    const long parts = !of ? 1 : *end == '/' ? strtol(end + 1, NULL, 10) : 0;
    if (part < 1 || part > parts) {
        fprintf(stderr, "BIOINFER_PART=%s is not a part such as 2/4\n", of);
        exit(2);
    }
    const bool every = all && !strcmp(all, "all");
    const bool slow = getenv("BIOINFER_SANITIZED") || getenv("BIOINFER_SPARSE");
    const long step = !every && slow ? 4 : 1;
    long i = n ? parts * step : part;
    if (n < s->first)
        n = s->first;
    for (; i; i--)
        do
            n++;
        while (n <= s->n && !s->chosen[n - 1] && !every);
    return n;
}

static inline void *failing_alloc(void *user, size_t size)
{
    struct failing *f = user;
    if (fails(f))
        return NULL;
    f->n_live++;
    return aligned_alloc(64, (size + 63) / 64 * 64);
}

static inline void failing_free(void *user, void *p)
{
    struct failing *f = user;
    f->n_live -= p != NULL;
    free(p);
}

#endif

/* threads.c - how many threads there may be, how one is started, and loops shared by a team. */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "team.h"

enum { STACK_SIZE = 2 << 20 }; /* no frame is above 16 kB; many fit a limit of address space */

int bi_thread_count(void)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    long n = asked ? strtol(asked, NULL, 10) : 0;
    cpu_set_t set;
    if (n > 0)
        return n < INT_MAX ? (int)n : INT_MAX;
    if (!sched_getaffinity(0, sizeof set, &set))
        return CPU_COUNT(&set);
    n = sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t has */
    return n > 0 && n < INT_MAX ? (int)n : 1;
}

int bi_thread_start(pthread_t *thread, void *(*main)(void *user), void *user)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int error = pthread_attr_init(&attr);
    if (error)
        return error;
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a thread begins with its maker's mask */
    error = pthread_create(thread, &attr, main, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

struct loop {
    _Atomic int64_t next;
    int64_t n, step;
    void (*body)(void *user, int thread, int64_t first, int64_t end);
    void *user;
};

static void run_pieces(void *user, const struct bi_share *share)
{
    struct loop *l = user;
    int64_t first;
    while ((first = atomic_fetch_add_explicit(&l->next, l->step, memory_order_relaxed)) < l->n)
        l->body(l->user, share->thread, first, l->n - first < l->step ? l->n : first + l->step);
}

void bi_team_for(const struct bi_env *env, int n_threads, int64_t n, int64_t step,
                 void (*body)(void *user, int thread, int64_t first, int64_t end), void *user)
{
    struct loop l = {.n = n, .step = step, .body = body, .user = user};
    const int64_t n_pieces = n / step + (n % step > 0);
    bi_team_run(env, n_pieces < n_threads ? (int)n_pieces : n_threads, run_pieces, &l);
}

/* parallel.c - a short loop on several threads. */
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64 };

struct loop {
    int n;
    atomic_int next;
    void (*body)(void *user, int i);
    void *user;
};

static void *run(void *user)
{
    struct loop *l = user;
    int i;
    while ((i = atomic_fetch_add(&l->next, 1)) < l->n)
        l->body(l->user, i);
    return NULL;
}

void cli_parallel(int n_threads, int n, void (*body)(void *user, int i), void *user)
{
    struct loop loop = {.n = n, .body = body, .user = user};
    pthread_t threads[MOST_THREADS];
    sigset_t all, before;
    int n_started = 0;
    n_threads = n_threads < n ? n_threads : n;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the first thread's */
    while (n_started < MOST_THREADS && n_started < n_threads - 1 &&
           !pthread_create(&threads[n_started], NULL, run, &loop))
        n_started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    run(&loop);
    for (int i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
}

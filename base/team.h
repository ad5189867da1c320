/* team.h - threads that share the work of one call.
 *
 * A context owns a team, which keeps its threads between calls. A call takes threads that are
 * idle, starts more where it wants more, and goes on with what there is when the system gives
 * none: at worst the caller works alone. No thread takes a signal. */
#ifndef BI_TEAM_H
#define BI_TEAM_H

#include <pthread.h>

#include "base.h"

struct bi_team;

/* A thread of a call: its number, and how many there are. */
struct bi_share {
    int thread, n_threads; /* thread 0 is the caller */
    struct bi_crew *crew;  /* team.c's own */
};

/* Makes a team, which has no threads yet. After a failure *out is NULL. */
int bi_team_new(struct bi_team **out, const struct bi_env *env, struct bioinfer_error *err);
/* Ends the threads, none of which may be at work; frees memory alone in a forked child, which
 * has no such threads. NULL-safe. */
void bi_team_free(struct bi_team **team);

/* Calls work(user, share) on up to n_threads threads of env->team at once, the caller's
 * among them, and returns when all have returned. Fewer threads may come than are asked for:
 * share->n_threads is the number that all of them see. The caller alone: n_threads below 2, or no
 * team. work() may call this, too. */
void bi_team_run(const struct bi_env *env, int n_threads,
                 void (*work)(void *user, const struct bi_share *share), void *user);
/* Returns when all threads of the call are here; what they wrote before is seen by all. A call may
 * have any number of barriers, the same for each of its threads. */
void bi_team_barrier(const struct bi_share *share);
/* Calls body(user, thread, first, end) for pieces of `step`, the last one of fewer, that cover
 * [0, n), as threads become free; returns when all have returned. step > 0; n 0: never. `thread` is
 * below n_threads, and 0 where that is below 2. */
void bi_team_for(const struct bi_env *env, int n_threads, int64_t n, int64_t step,
                 void (*body)(void *user, int thread, int64_t first, int64_t end), void *user);

/* Processors that this process may use, or the number that OMP_NUM_THREADS begins with, as batch
 * systems set it, however large, unless that is below 1; at least 1. */
int bi_thread_count(void);
/* Starts a thread of 2 MiB of stack that takes no signal, for pthread_join(); 0 or an errno, where
 * none was started and *thread is not to be joined. */
int bi_thread_start(pthread_t *thread, void *(*main)(void *user), void *user);

#endif

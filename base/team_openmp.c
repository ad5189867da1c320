/* team_openmp.c - the threads of team.h, from OpenMP's pool.
 *
 * Programs that use OpenMP themselves share this pool with the library. -Dopenmp=enabled takes this
 * file in place of team.c. docs/design/promises.md says what a program loses by it. */
#define _GNU_SOURCE
#include "team.h"

#include <omp.h>
#include <signal.h>

struct bi_team {
    const struct bi_env *env;
};

int bi_team_new(struct bi_team **out, const struct bi_env *env, struct bioinfer_error *err)
{
    *out = bi_zalloc(env, sizeof **out);
    if (!*out)
        return bi_fail(err, BIOINFER_NOMEM, "threads");
    (*out)->env = env;
    return 0;
}

void bi_team_free(struct bi_team **team)
{
    if (*team)
        bi_free((*team)->env, *team);
    *team = NULL;
}

void bi_team_run(const struct bi_env *env, int n_threads,
                 void (*work)(void *user, const struct bi_share *share), void *user)
{
    sigset_t all, before;
    if (n_threads < 2 || !env->team) {
        work(user, &(struct bi_share){0, 1, NULL});
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a thread begins with its maker's mask */
#pragma omp parallel num_threads(n_threads)
    {
        const struct bi_share share = {omp_get_thread_num(), omp_get_num_threads(), NULL};
        if (!share.thread)
            pthread_sigmask(SIG_SETMASK, &before, NULL);
        work(user, &share);
    }
}

void bi_team_barrier(const struct bi_share *share)
{
    if (share->n_threads > 1) {
#pragma omp barrier
    }
}

/* team_test.c - threads that share work: how many come, barriers, claims, a team of few and of
 * none.
 *
 * A limit of address space stands in for every reason why a thread does not start: it holds for
 * root, too, and can be lifted again. */
#define _GNU_SOURCE
#include "base/team.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../test.h"

enum { MOST = 64, ROUNDS = 300 };

static int n_logged;
static char logged[200];

static void on_log(void *user, int level, const char *text)
{
    (void)user;
    n_logged += level == BIOINFER_LOG_WARNING;
    snprintf(logged, sizeof logged, "%s", text);
}

static struct bi_env open_env(void)
{
    struct bi_env env = bi_env_default();
    env.log = on_log;
    n_logged = 0;
    return env;
}

/* ---- barriers ---- */

struct rounds {
    int slots[MOST]; /* plain: the barrier alone orders them */
    atomic_int n_wrong, n_present, n_threads, signals_open;
};

static void run_rounds(void *user, const struct bi_share *share)
{
    struct rounds *r = user;
    sigset_t set;
    atomic_fetch_add(&r->n_present, 1);
    r->n_threads = share->n_threads;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    if (share->thread && !sigismember(&set, SIGTERM))
        r->signals_open++;
    for (int i = 0; i < ROUNDS; i++) {
        r->slots[share->thread] = i + 1;
        bi_team_barrier(share);
        for (int k = 0; k < share->n_threads; k++)
            r->n_wrong += r->slots[k] != i + 1;
        bi_team_barrier(share);
    }
}

static void barriers(void)
{
    struct bi_env env = open_env();
    CHECK_EQ(bi_team_new(&env.team, &env, NULL), 0);
    for (int n = 1; n <= 5; n++) {
        struct rounds r = {.n_wrong = 0};
        bi_team_run(&env, n, run_rounds, &r);
        CHECK_EQ(r.n_wrong, 0);
        CHECK_EQ(r.n_present, n);
        CHECK_EQ(r.n_threads, n);
        CHECK_EQ(r.signals_open, 0);
    }
    CHECK_EQ(n_logged, 0);
    bi_team_free(&env.team);
    CHECK(!env.team);
}

/* ---- claims, several callers at once, calls within calls ---- */

struct claims {
    struct bi_env *env;
    atomic_int seen[1000];
};

static void claim(void *user, int thread, int64_t first, int64_t end)
{
    struct claims *c = user;
    (void)thread;
    for (int64_t i = first; i < end; i++)
        c->seen[i]++;
}

static void *call_often(void *user)
{
    struct claims *c = user;
    for (int i = 0; i < 50; i++)
        bi_team_for(c->env, 3, 1000, 7, claim, c);
    return NULL;
}

static void call_within(void *user, int thread, int64_t first, int64_t end)
{
    (void)thread;
    (void)first;
    (void)end;
    call_often(user);
}

static int count_wrong(const struct claims *c, int times)
{
    int n = 0;
    for (int i = 0; i < 1000; i++)
        n += c->seen[i] != times;
    return n;
}

static void calls(void)
{
    struct bi_env env = open_env();
    static struct claims c;
    pthread_t callers[4];
    c.env = &env;
    CHECK_EQ(bi_team_new(&env.team, &env, NULL), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&callers[i], NULL, call_often, &c), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(callers[i], NULL);
    CHECK_EQ(count_wrong(&c, 200), 0);
    bi_team_for(&env, 2, 2, 1, call_within, &c);
    CHECK_EQ(count_wrong(&c, 300), 0);
    bi_team_for(&env, 2, 0, 1, call_within, &c);
    CHECK_EQ(count_wrong(&c, 300), 0);
    bi_team_free(&env.team);
    bi_team_for(&env, 4, 1000, 7, claim, &c); /* without a team */
    CHECK_EQ(count_wrong(&c, 301), 0);
}

/* ---- threads that cannot be had ---- */

static void few_threads(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || defined BI_MEMORY_SANITIZER
    return; /* they reserve the address space that is limited here */
#endif
#ifdef _OPENMP
    return; /* which ends the process where a thread does not start */
#endif
    struct bi_env env = open_env();
    struct rlimit before, low = {16 << 20, 0};
    struct rounds r = {.n_wrong = 0}, again = {.n_wrong = 0};
    char line[200] = "";
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f && fgets(line, sizeof line, f));
    if (f)
        fclose(f);
    pages = strtoll(line, NULL, 10);
    CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
    low.rlim_cur += (rlim_t)pages * 4096;
    low.rlim_max = before.rlim_max;
    CHECK_EQ(bi_team_new(&env.team, &env, NULL), 0);
    CHECK_EQ(setrlimit(RLIMIT_AS, &low), 0);
    bi_team_run(&env, MOST, run_rounds, &r);
    bi_team_run(&env, MOST, run_rounds, &again); /* is not told again */
    CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
    CHECK_EQ(r.n_wrong + again.n_wrong, 0);
    CHECK(r.n_threads > 1 && r.n_threads < MOST);
    CHECK_EQ(r.n_present, r.n_threads);
    CHECK_EQ(n_logged, 1);
    CHECK(strstr(logged, "of 64 threads"));
    bi_team_free(&env.team);
}

static int fail_alloc(void *user, enum bi_fault kind)
{
    (void)user;
    return kind == BI_FAULT_ALLOC ? ENOMEM : 0;
}

static void no_memory(void)
{
    struct bi_env env = open_env();
    struct rounds r = {.n_wrong = 0};
    CHECK_EQ(bi_team_new(&env.team, &env, NULL), 0);
    env.fault = fail_alloc;
#ifndef _OPENMP /* whose threads take no memory of ours */
    bi_team_run(&env, 4, run_rounds, &r);
    CHECK_EQ(r.n_threads, 1);
    CHECK_EQ(n_logged, 1);
#else
    (void)r;
#endif
    bi_team_free(&env.team);
    CHECK_EQ(bi_team_new(&env.team, &env, NULL), BIOINFER_NOMEM);
    CHECK(!env.team);
}

static void counts(void)
{
    unsetenv("OMP_NUM_THREADS");
    CHECK(bi_thread_count() >= 1);
    setenv("OMP_NUM_THREADS", "3", 1);
    CHECK_EQ(bi_thread_count(), 3);
    setenv("OMP_NUM_THREADS", "none", 1);
    CHECK(bi_thread_count() >= 1);
    unsetenv("OMP_NUM_THREADS");
}

int main(void)
{
    TEST(barriers);
    TEST(calls);
    TEST(few_threads);
    TEST(no_memory);
    TEST(counts);
    return test_report();
}

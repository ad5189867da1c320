/* team.c - threads that share the work of one call.
 *
 * Threads wait at gates: for a while they look, then they sleep. The gates belong to the team's
 * workers and not to a call, since who opens a gate may still hold its lock when those behind
 * it are gone.
 *
 * Sections: gates, workers, calls. */
#define _GNU_SOURCE
#include "team.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    THREAD_SPACE = 96 << 20, /* a limit of address space must hold this for each: malloc reserves
                              * as much for a thread that allocates, and takes it from all */
    LOOK_NS = 100000,        /* as long as waking a thread takes, twice over */
    LOOKS = 64,              /* between two looks at the clock */
    CROWDED_NS = 50000,      /* a yield that takes longer: another thread had the processor */
    SLEEPS = 4096,           /* waits without a look after that */
    RETRY_NS = 1000000000    /* after a thread could not be started */
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- gates ---- */

struct gate {
    _Alignas(BI_ALIGN) _Atomic unsigned turn; /* changes when the gate opens */
    _Atomic int n_asleep;
    _Atomic int n_sleeps; /* waits to come that do not look */
    pthread_mutex_t lock;
    pthread_cond_t opened;
};

static int gate_init(struct gate *g)
{
    int error = pthread_mutex_init(&g->lock, NULL);
    if (!error && (error = pthread_cond_init(&g->opened, NULL)))
        pthread_mutex_destroy(&g->lock);
    return error;
}

static void gate_destroy(struct gate *g)
{
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->opened);
}

static inline void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* True when the gate's turn was no longer `turn` within a short while. Where other threads want the
 * processor, a look keeps it from the one that is waited for, and a yield waits for all of them.
 * This wait and the next ones sleep instead, as the system is quick to run who is woken. */
static bool gate_look(struct gate *g, unsigned turn)
{
    int64_t now = now_ns();
    const int64_t end = now + LOOK_NS;
    while (now < end) {
        const int64_t before = now;
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&g->turn, memory_order_acquire) != turn)
                return true;
            relax();
        }
        sched_yield();
        if ((now = now_ns()) - before > CROWDED_NS) {
            atomic_store_explicit(&g->n_sleeps, SLEEPS, memory_order_relaxed);
            break;
        }
    }
    return false;
}

/* Returns when the gate's turn is no longer `turn`. Who opens it changes the turn before it asks
 * for sleepers, who sleeps counts itself before it looks at the turn: one of the two sees the
 * other. */
static void gate_wait(struct gate *g, unsigned turn, bool look)
{
    const int n = atomic_load_explicit(&g->n_sleeps, memory_order_relaxed);
    if (n > 0)
        atomic_store_explicit(&g->n_sleeps, n - 1, memory_order_relaxed);
    else if (look && gate_look(g, turn))
        return;
    pthread_mutex_lock(&g->lock);
    atomic_fetch_add(&g->n_asleep, 1);
    while (atomic_load(&g->turn) == turn)
        pthread_cond_wait(&g->opened, &g->lock);
    atomic_fetch_sub(&g->n_asleep, 1);
    pthread_mutex_unlock(&g->lock);
}

static void gate_open(struct gate *g)
{
    atomic_fetch_add(&g->turn, 1);
    if (!atomic_load(&g->n_asleep))
        return;
    pthread_mutex_lock(&g->lock);
    pthread_cond_broadcast(&g->opened);
    pthread_mutex_unlock(&g->lock);
}

/* ---- workers ---- */

struct worker {
    struct gate go, done, barrier; /* barrier: of the call that took this worker first */
    unsigned n_done;               /* calls; whoever has the worker counts */
    pthread_t thread;
    struct bi_crew *crew; /* the call's crew; NULL = the thread ends */
    int index;            /* share.thread */
    bool looks;           /* before it sleeps */
    struct worker *next;  /* the next idle one, or the next one of a call */
};

struct bi_team {
    const struct bi_env *env;
    pid_t pid;
    int n_processors;
    int n_most;           /* threads, callers among them, that fit the limit of address space */
    pthread_mutex_t lock; /* guards all below */
    struct worker *idle;
    int n_busy;       /* threads at work, callers among them */
    int n_workers;    /* all of them, idle or not */
    int64_t retry_at; /* no thread is started before that */
    bool told;        /* that there are fewer */
};

/* One call, on the stack of its caller. The counter has its cache lines by what lies before and
 * behind it. */
struct bi_crew {
    char before[BI_ALIGN];
    _Atomic int n_arrived; /* at the barrier */
    char behind[BI_ALIGN];
    void (*work)(void *user, const struct bi_share *share);
    void *user;
    int n_threads;
    bool looks; /* there is a processor for each thread */
    struct worker *workers;
};

static void *worker_main(void *user)
{
    struct worker *w = user;
    for (unsigned turn = 0;; turn++) {
        gate_wait(&w->go, turn, w->looks);
        if (!w->crew)
            return NULL;
        w->looks = w->crew->looks;
        w->crew->work(w->crew->user, &(struct bi_share){w->index, w->crew->n_threads, w->crew});
        gate_open(&w->done);
    }
}

/* Starts a worker of the team, whose lock is held; 0 or an errno. */
static int worker_new(struct worker **out, struct bi_team *team)
{
    struct worker *w;
    int error;
    if (team->n_workers + 1 >= team->n_most)
        return EAGAIN;
    if (!(w = bi_zalloc(team->env, sizeof *w)))
        return ENOMEM;
    if ((error = gate_init(&w->go)))
        goto no_go;
    if ((error = gate_init(&w->done)))
        goto no_done;
    if ((error = gate_init(&w->barrier)))
        goto no_barrier;
    if (!(error = bi_thread_start(&w->thread, worker_main, w))) {
        team->n_workers++;
        *out = w;
        return 0;
    }
    gate_destroy(&w->barrier);
no_barrier:
    gate_destroy(&w->done);
no_done:
    gate_destroy(&w->go);
no_go:
    bi_free(team->env, w);
    return error;
}

/* Gives the threads that the limit of address space (ulimit -v) has room for. */
static int most_threads(void)
{
    struct rlimit limit;
    rlim_t n;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return INT_MAX;
    n = limit.rlim_cur / THREAD_SPACE;
    return n < 1 ? 1 : n < INT_MAX ? (int)n : INT_MAX;
}

int bi_team_new(struct bi_team **out, const struct bi_env *env, struct bioinfer_error *err)
{
    struct bi_team *team = bi_zalloc(env, sizeof *team);
    cpu_set_t set;
    *out = NULL;
    if (!team || pthread_mutex_init(&team->lock, NULL)) {
        bi_free(env, team);
        return bi_fail(err, BIOINFER_NOMEM, "threads");
    }
    team->env = env;
    team->pid = getpid();
    team->n_most = most_threads();
    team->n_processors = sched_getaffinity(0, sizeof set, &set) ? INT_MAX : CPU_COUNT(&set);
    *out = team;
    return 0;
}

void bi_team_free(struct bi_team **team)
{
    struct bi_team *t = *team;
    bool ours = t && t->pid == getpid();
    if (!t)
        return;
    for (struct worker *w = t->idle, *next; w; w = next) {
        next = w->next;
        if (ours) {
            w->crew = NULL;
            gate_open(&w->go);
            pthread_join(w->thread, NULL);
            gate_destroy(&w->go);
            gate_destroy(&w->done);
            gate_destroy(&w->barrier);
        }
        bi_free(t->env, w);
    }
    if (ours)
        pthread_mutex_destroy(&t->lock);
    bi_free(t->env, t);
    *team = NULL;
}

/* ---- calls ---- */

/* Gives the crew up to n workers, says once when they cannot all be had. */
static void take(struct bi_team *t, struct bi_crew *crew, int n)
{
    const int wanted = n + 1;
    int error = 0, n_taken = 0;
    pthread_mutex_lock(&t->lock);
    while (n_taken < n) {
        struct worker *w = t->idle;
        if (w)
            t->idle = w->next;
        else if ((t->retry_at && now_ns() < t->retry_at) || (error = worker_new(&w, t)))
            break;
        w->index = ++n_taken;
        w->next = crew->workers;
        crew->workers = w;
    }
    crew->n_threads = n_taken + 1;
    t->n_busy += crew->n_threads;
    crew->looks = t->n_busy <= t->n_processors;
    t->retry_at = error ? now_ns() + RETRY_NS : n_taken == n ? 0 : t->retry_at;
    if (t->told)
        error = 0;
    t->told |= error != 0;
    pthread_mutex_unlock(&t->lock);
    if (error)
        bi_log(t->env, BIOINFER_LOG_WARNING,
               "the system gives %d of %d threads (%s): the work goes "
               "on with those",
               n_taken + 1, wanted,
               error == ENOMEM ? "out of memory" : "a limit of processes or memory is reached");
}

static void give_back(struct bi_team *t, struct bi_crew *crew)
{
    pthread_mutex_lock(&t->lock);
    for (struct worker *w = crew->workers, *next; w; w = next) {
        next = w->next;
        w->next = t->idle;
        t->idle = w;
    }
    t->n_busy -= crew->n_threads;
    pthread_mutex_unlock(&t->lock);
}

void bi_team_run(const struct bi_env *env, int n_threads,
                 void (*work)(void *user, const struct bi_share *share), void *user)
{
    struct bi_crew crew = {.work = work, .user = user, .n_threads = 1};
    const bool shared = n_threads > 1 && env->team;
    if (shared)
        take(env->team, &crew, n_threads - 1);
    for (struct worker *w = crew.workers; w; w = w->next) {
        w->crew = &crew;
        gate_open(&w->go);
    }
    work(user, &(struct bi_share){0, crew.n_threads, &crew});
    for (struct worker *w = crew.workers; w; w = w->next)
        gate_wait(&w->done, w->n_done++, crew.looks);
    if (shared)
        give_back(env->team, &crew);
}

void bi_team_barrier(const struct bi_share *share)
{
    struct bi_crew *crew = share->crew;
    struct gate *gate;
    unsigned turn;
    if (share->n_threads == 1)
        return;
    gate = &crew->workers->barrier;
    turn = atomic_load_explicit(&gate->turn, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&crew->n_arrived, 1, memory_order_acq_rel) + 1 <
        crew->n_threads) {
        gate_wait(gate, turn, crew->looks);
    } else {
        atomic_store_explicit(&crew->n_arrived, 0, memory_order_relaxed);
        gate_open(gate);
    }
}

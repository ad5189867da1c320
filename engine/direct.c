/* direct.c - units whose task computes them itself, without a graph.
 *
 * They go one after the other on the caller's thread, or three things happen at once, each to
 * another unit: the caller's thread reads one, a thread has the task compute the one before, and
 * another hands out the one before that. Order is kept. */
#include <pthread.h>

#include "../base/team.h"
#include "task.h"

struct line {
    struct bioinfer_task *t;
    struct bi_unit *units[BI_DIRECT_AHEAD]; /* unit k is in units[k % BI_DIRECT_AHEAD] */
    pthread_mutex_t lock;                   /* guards all below */
    pthread_cond_t changed;
    uint64_t n_read, n_computed, n_given; /* units that are past each stage */
    bool ended;                           /* no more are read */
    int status;                           /* the first failure of computing or handing out */
    struct bioinfer_error err;
};

static void unit_free(struct bioinfer_task *t, struct bi_unit *u)
{
    t->def->drop(t, u);
    bi_free(t->env, u->id);
    bi_free(t->env, u->message);
    bi_free(t->env, u);
}

/* Reads one unit: 1, 0 = there is none, NONE_NOW, < 0 = a status. */
static int read_unit(struct bioinfer_task *t, uint64_t number, struct bi_unit **unit,
                     struct bioinfer_error *err)
{
    struct bi_unit *u = bi_zalloc(t->env, t->def->unit_size);
    int st;
    if (!u)
        return bi_fail(err, BIOINFER_NOMEM, "unit %llu", (unsigned long long)number);
    u->number = number;
    if ((st = t->def->read(t, u, err)) != 1) {
        unit_free(t, u);
        return st;
    }
    *unit = u;
    return 1;
}

/* Moves units from one stage to the next as they come: *from counts those that are ready, *to those
 * that this stage is done with. After a failure units pass untouched. */
static void work(struct line *l, const uint64_t *from, uint64_t *to,
                 int (*step)(struct bioinfer_task *t, struct bi_unit *u,
                             struct bioinfer_error *err))
{
    pthread_mutex_lock(&l->lock);
    for (;;) {
        struct bioinfer_error err = {0};
        struct bi_unit *u;
        int st;
        while (*to == *from && !(l->ended && *to == l->n_read))
            pthread_cond_wait(&l->changed, &l->lock);
        if (*to == *from)
            break;
        u = l->units[*to % BI_DIRECT_AHEAD];
        st = l->status;
        pthread_mutex_unlock(&l->lock);
        if (!st)
            st = step(l->t, u, &err);
        if (step == l->t->def->result)
            unit_free(l->t, u);
        pthread_mutex_lock(&l->lock);
        if (st && !l->status) {
            l->status = st;
            l->err = err;
        }
        ++*to;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
}

static void *compute(void *user)
{
    struct line *l = user;
    work(l, &l->n_read, &l->n_computed, l->t->def->direct);
    return NULL;
}

static void *give(void *user)
{
    struct line *l = user;
    work(l, &l->n_computed, &l->n_given, l->t->def->result);
    return NULL;
}

/* Reads units until there are no more, or one failed. A source that has none at present is asked
 * again when all units before are handed out. */
static int read_all(struct line *l, struct bioinfer_error *err)
{
    uint64_t n_out = 0;
    int st = 1;
    pthread_mutex_lock(&l->lock);
    while (st == 1) {
        while (!l->status && l->n_read - l->n_given == BI_DIRECT_AHEAD)
            pthread_cond_wait(&l->changed, &l->lock);
        if (l->status)
            break;
        pthread_mutex_unlock(&l->lock);
        st = read_unit(l->t, l->n_read, &l->units[l->n_read % BI_DIRECT_AHEAD], err);
        pthread_mutex_lock(&l->lock);
        l->n_read += st == 1;
        pthread_cond_broadcast(&l->changed);
        if (st == BIOINFER_NONE_NOW && l->n_read > n_out) {
            while (!l->status && l->n_read != l->n_given)
                pthread_cond_wait(&l->changed, &l->lock);
            n_out = l->n_read;
            st = 1;
        }
    }
    l->ended = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return st < 0 || st == BIOINFER_NONE_NOW ? st : 0;
}

int bi_task_run_alone(struct bioinfer_task *t, struct bioinfer_error *err)
{
    struct bi_unit *u;
    uint64_t n = 0, n_out = 0;
    int st;
    while ((st = read_unit(t, n, &u, err)) == 1 || (st == BIOINFER_NONE_NOW && n > n_out)) {
        if (st == BIOINFER_NONE_NOW) {
            n_out = n;
            continue;
        }
        if (!(st = t->def->direct(t, u, err)))
            st = t->def->result(t, u, err);
        unit_free(t, u);
        if (st)
            return st;
        n++;
    }
    return st;
}

int bi_task_run_direct(struct bioinfer_task *t, struct bioinfer_error *err)
{
    struct line l = {.t = t};
    pthread_t computes, gives;
    int st;
    pthread_mutex_init(&l.lock, NULL);
    pthread_cond_init(&l.changed, NULL);
    if (bi_thread_start(&computes, compute, &l)) {
        st = bi_task_run_alone(t, err);
        goto out;
    }
    if (bi_thread_start(&gives, give, &l)) {
        pthread_mutex_lock(&l.lock);
        l.ended = true; /* nothing was read, so the other one ends at once */
        pthread_cond_broadcast(&l.changed);
        pthread_mutex_unlock(&l.lock);
        pthread_join(computes, NULL);
        st = bi_task_run_alone(t, err);
        goto out;
    }
    st = read_all(&l, err);
    pthread_join(computes, NULL);
    pthread_join(gives, NULL);
    if (l.status) { /* it was met first, or by a unit before the one that could not be read */
        st = l.status;
        if (err)
            *err = l.err;
    }
out:
    pthread_mutex_destroy(&l.lock);
    pthread_cond_destroy(&l.changed);
    return st;
}

/* lanes.c - requests become batches. A lane is a task with the requests that it computes; its
 * source says "none at present" when its queue is empty, and then what was taken is computed. So a
 * request waits for nobody, and those that come while a batch is computed share the next one. A
 * request of many records gives way to other lanes after each second. */
#include "serve.h"

#include <stdlib.h>
#include <string.h>

static void append(struct serve_request **first, struct serve_request **last,
                   struct serve_request *r)
{
    r->next = NULL;
    *(*first ? &(*last)->next : first) = r;
    *last = r;
}

static struct serve_request *take(struct serve_request **first)
{
    struct serve_request *r = *first;
    *first = r->next;
    r->next = NULL;
    return r;
}

static bool has_key(const struct serve_lane *l, const struct serve_request *r)
{
    return l->keyed && !memcmp(&l->key, &r->key, sizeof r->key) &&
           l->values.size == r->values.size &&
           (!r->values.size || !memcmp(l->values.data, r->values.data, r->values.size));
}

/* Seconds of a turn while other lanes have work. */
static const double TURN = 1;

/* The request whose records are being read; NULL = none is. */
static struct serve_request *being_read(const struct serve_lane *l)
{
    struct serve_request *r = l->begun ? l->last_begun : NULL;
    return r && r->n_asked < r->n_records ? r : NULL;
}

static bool has_work(const struct serve_lane *l)
{
    return l->waiting || being_read(l);
}

bool serve_lanes_have_work(const struct serve *s)
{
    for (int i = 0; i < SERVE_LANES; i++)
        if (has_work(&s->lanes[i]))
            return true;
    return false;
}

static struct serve_lane *find_lane(struct serve *s, const struct serve_request *r)
{
    struct serve_lane *oldest = NULL;
    for (int i = 0; i < SERVE_LANES; i++) {
        struct serve_lane *l = &s->lanes[i];
        if (has_key(l, r))
            return l;
        if (!l->busy && !l->waiting && !l->begun && (!oldest || l->used_at < oldest->used_at))
            oldest = l;
    }
    return oldest;
}

static void free_key(struct serve_lane *l)
{
    bioinfer_params_free(&l->params);
    if (l->keyed)
        bi_buf_free(&l->values);
}

bool serve_lanes_add(struct serve *s, struct serve_request *r)
{
    struct serve_lane *l = find_lane(s, r);
    if (!l)
        return false;
    if (!has_key(l, r)) {
        free_key(l);
        l->key = r->key;
        l->params = r->params;
        l->values = r->values;
        r->params = NULL;
        r->values = (struct bi_buf){.env = r->values.env};
        l->keyed = l->stale = true; /* the thread that computes opens a task */
    }
    l->serve = s;
    l->used_at = r->arrived;
    if (!has_work(l))
        l->turn = ++s->n_turns;
    r->number = ++s->n_requests;
    append(&l->waiting, &l->last_waiting, r);
    pthread_cond_broadcast(&s->changed);
    return true;
}

/* Gives the answer to the connection; the lock is held, and left meanwhile. */
static void hand_over(struct serve *s, struct serve_request *r)
{
    pthread_mutex_unlock(&s->lock);
    serve_answer_finish(s, r);
    serve_http_done(r);
    pthread_mutex_lock(&s->lock);
}

static bool others_wait(const struct serve_lane *l)
{
    for (int i = 0; i < SERVE_LANES; i++)
        if (&l->serve->lanes[i] != l && has_work(&l->serve->lanes[i]))
            return true;
    return false;
}

/* Makes it the answer that nobody waits for one. 499 is what servers commonly log then. */
static void give_up(struct serve_request *r)
{
    if (!r->http)
        serve_answer_fail(r, 499, BIOINFER_CANCELLED, "the client has closed the connection");
}

/* Takes the next request that is to be computed, NULL = none at present; the lock is held. */
static struct serve_request *begin_request(struct serve_lane *l)
{
    struct serve_request *r;
    while ((r = l->waiting)) {
        if ((r->number > l->horizon || cli_now() > l->turn_ends) && others_wait(l))
            return NULL;
        take(&l->waiting);
        if (!r->gone && cli_now() <= r->deadline) {
            r->aligner = l->aligner;
            r->task = l->task;
            append(&l->begun, &l->last_begun, r);
            return r;
        }
        if (r->gone)
            give_up(r);
        else
            serve_answer_fail(r, 503, BIOINFER_CANCELLED,
                              "the request has waited too long (--timeout)");
        hand_over(l->serve, r);
    }
    return NULL;
}

/* Positions of the mutations of a record that is scored; NULL: all. */
static int find_positions(struct serve_lane *l, const struct serve_request *r,
                          struct bioinfer_record *record)
{
    const struct serve_mutations *m = &r->mutations[r->n_asked];
    int st = 0;
    l->positions.n = 0;
    for (size_t i = 0; i < m->n && !st; i++)
        st = cli_positions_add(&l->positions, m->texts[i], r->offset);
    if (!st && m->n && !(st = cli_positions_sort(&l->positions, record->length))) {
        record->positions = l->positions.at;
        record->n_positions = l->positions.n;
    }
    return st;
}

/* A bioinfer_source. */
static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct serve_lane *l = user;
    struct serve_request *r;
    pthread_mutex_lock(&l->serve->lock);
    if (!(r = being_read(l)))
        r = begin_request(l);
    else if (cli_now() > l->turn_ends && others_wait(l))
        r = NULL; /* other records are read in the next turn */
    if (r && r->gone)
        give_up(r);
    pthread_mutex_unlock(&l->serve->lock);
    if (!r)
        return BIOINFER_NONE_NOW;
    *record = r->records[r->n_asked];
    record->ordinal = l->n_records++;
    if (r->http && !record->status) { /* the request has failed: the rest is not computed */
        record->status = BIOINFER_CANCELLED;
        record->message = "the request has failed";
    }
    if (find_positions(l, r, record)) {
        err->status = BIOINFER_NOMEM;
        snprintf(err->text, sizeof err->text, "no memory for the positions of mutations");
        return BIOINFER_NOMEM;
    }
    r->n_asked++;
    return 1;
}

/* A bioinfer_sink. */
static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct serve_lane *l = user;
    struct serve *s = l->serve;
    struct serve_request *r = l->begun; /* only this thread changes it */
    serve_answer_put(s, r, result);
    if (result->more)
        return 0;
    r->n_failed += result->status != 0;
    pthread_mutex_lock(&s->lock);
    s->metrics.records++;
    s->metrics.failed_records += result->status != 0;
    s->metrics.residues += result->status ? 0 : (uint64_t)result->length;
    if (++r->n_done == r->n_records) {
        take(&l->begun);
        hand_over(s, r);
    }
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static void fail_all(struct serve *s, struct serve_request **first, int http, int status,
                     const char *message)
{
    while (*first) {
        struct serve_request *r = take(first);
        if (!r->http)
            serve_answer_fail(r, http, status, message);
        hand_over(s, r);
    }
}

int serve_lanes_tick(void *user, uint64_t records, uint64_t residues)
{
    struct serve_lane *l = user;
    bool gone = true;
    (void)records, (void)residues;
    pthread_mutex_lock(&l->serve->lock);
    for (struct serve_request *r = l->begun; r && gone; r = r->next)
        gone = r->gone;
    gone = gone && l->begun;
    for (struct serve_request *r = l->begun; r && gone; r = r->next)
        give_up(r);
    pthread_mutex_unlock(&l->serve->lock);
    return gone;
}

static void count_batches(struct serve *s, struct serve_lane *l)
{
    struct bioinfer_profile profile = {.struct_size = sizeof profile};
    if (bioinfer_task_get_profile(l->task, &profile))
        return;
    s->metrics.batches += profile.passes - l->batches;
    l->batches = profile.passes;
}

/* Makes words name the model and files, not where they lie. */
static void hide_paths(struct serve *s, struct bioinfer_error *err)
{
    const char *const paths[][2] = {{s->is.info->path, s->is.info->name},
                                    {s->is.genome, "the genome"},
                                    {s->is.gtf, "the genes"},
                                    {s->is.polya, "the table of polyadenylation sites"},
                                    {s->is.quantiles, "the table of quantiles"},
                                    {s->is.targets, "the table of tracks"}};
    struct bi_arena arena = {.env = &s->env};
    const char *words = err->text;
    for (size_t i = 0; words && i < CLI_COUNT(paths); i++)
        if (paths[i][0])
            words = serve_request_words(&arena, words, paths[i][0], paths[i][1]);
    if (words && words[0] == '/') { /* a file that comes with bioinfer */
        const char *end = words + strcspn(words, ":");
        while (end[-1] != '/')
            end--;
        words = end;
    }
    if (words && words != err->text)
        snprintf(err->text, sizeof err->text, "%s", words);
    bi_arena_reset(&arena);
}

/* Runs a lane that is busy, so that its key stays. */
static int run_lane(struct serve *s, struct serve_lane *l, struct bioinfer_error *err)
{
    const bool stale = l->stale; /* this thread alone clears it */
    int st = stale ? serve_work_open(s, l, err) : 0;
    const bool opened = !st;
    if (stale && opened)
        bioinfer_task_set_progress(l->task, serve_lanes_tick, l);
    l->turn_ends = cli_now() + TURN;
    if (opened)
        st = bioinfer_task_run(l->task, next_record, l, take_result, l, err);
    if (st < 0)
        hide_paths(s, err);
    pthread_mutex_lock(&s->lock);
    l->stale = !opened;
    if (opened)
        count_batches(s, l);
    if (st < 0) /* without a task nothing was begun, and nothing that waits can be */
        fail_all(s, opened ? &l->begun : &l->waiting, serve_http_status(st), st, err->text);
    if (has_work(l))
        l->turn = ++s->n_turns;
    l->busy = false;
    pthread_mutex_unlock(&s->lock);
    return st == BIOINFER_DEVICE_LOST || st == BIOINFER_FORKED ? st : 0;
}

int serve_lanes_run(struct serve *s, struct bioinfer_error *err)
{
    struct serve_lane *first = NULL;
    int st;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < SERVE_LANES; i++) {
        struct serve_lane *l = &s->lanes[i];
        if (has_work(l) && (!first || l->turn < first->turn))
            first = l;
    }
    if (first) {
        first->horizon = s->n_requests;
        first->busy = true;
    }
    pthread_mutex_unlock(&s->lock);
    if (!first)
        return 0;
    st = run_lane(s, first, err);
    return st ? st : 1;
}

void serve_lanes_fail(struct serve *s, int http, int status, const char *message)
{
    pthread_mutex_lock(&s->lock);
    s->closed = true;
    for (int i = 0; i < SERVE_LANES; i++) {
        fail_all(s, &s->lanes[i].begun, http, status, message);
        fail_all(s, &s->lanes[i].waiting, http, status, message);
    }
    pthread_mutex_unlock(&s->lock);
}

uint64_t serve_lanes_begun(const struct serve *s)
{
    uint64_t n = 0;
    for (int i = 0; i < SERVE_LANES; i++)
        for (const struct serve_request *r = s->lanes[i].begun; r; r = r->next)
            n++;
    return n;
}

void serve_lanes_close(struct serve *s)
{
    for (int i = 0; i < SERVE_LANES; i++) {
        serve_work_close(&s->lanes[i]);
        free_key(&s->lanes[i]);
        cli_positions_free(&s->lanes[i].positions);
    }
}

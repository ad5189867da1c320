/* fasta_ahead.c - threads that read a plain FASTA file ahead, a block of it each. */
#include "fasta_ahead.h"

#include <pthread.h>
#include <string.h>

#include "../base/team.h"
#include "fasta.h"

enum { RING = 4 }; /* blocks for each thread that may be ahead of the caller */

struct worker {
    struct bi_fasta_ahead *ahead;
    pthread_t thread;
    struct bioinfer_reader *part;
    char *bytes; /* 2 * block_size + 1 */
};

struct place { /* block k waits in place k % n_places */
    bool ready;
    struct bi_fasta_block block;
};

struct bi_fasta_ahead {
    const struct bi_env *env;
    const struct bi_stream *stream;
    struct bi_records_pool *pool;
    uint64_t start;
    size_t block_size;
    uint64_t n_blocks;
    struct worker *workers;
    int n_workers, n_started;
    bool alone; /* no thread is started: the caller reads blocks with the first worker */
    struct place *places;
    uint64_t n_places;
    bool locked;          /* the mutex and the conditions exist */
    pthread_mutex_t lock; /* guards all below, and places */
    pthread_cond_t ready, room;
    uint64_t claimed, taken; /* blocks; the next ones */
    bool stop;
};

/* Where a line begins with '>' at or behind p; NULL: nowhere. p[-1] is there. */
static const char *find_record(const char *p, const char *end)
{
    while (p < end && (p = memchr(p, '>', (size_t)(end - p)))) {
        if (p[-1] == '\n')
            return p;
        p++;
    }
    return NULL;
}

/* The last such place before `end`, behind p. */
static const char *find_last(const char *p, const char *end)
{
    for (end--; end > p; end--)
        if (*end == '>' && end[-1] == '\n')
            return end;
    return NULL;
}

/* Fills bytes[begin, end) of the worker from byte from + begin of the file on; returns where what
 * was read ends. */
static size_t read_bytes(struct worker *w, uint64_t from, size_t begin, size_t end)
{
    size_t got = 0;
    int st = bi_stream_read_at(w->ahead->stream, from + begin, w->bytes + begin, end - begin, &got,
                               NULL);
    return st ? begin : begin + got;
}

/* Block k: from its first record to the first one of the next block, or to its own last one when
 * that is too long. An error of reading is the caller's to meet. */
static void read_block(struct worker *w, uint64_t k, struct bi_fasta_block *b)
{
    const struct bi_fasta_ahead *a = w->ahead;
    /* one byte more in front says whether a line begins */
    const uint64_t from = a->start + k * a->block_size - (k > 0);
    const size_t size = a->block_size + (k > 0), more = a->block_size / 16 + 1;
    size_t got = read_bytes(w, from, 0, size);
    const char *first, *end = NULL;
    *b = (struct bi_fasta_block){0};
    if (got < size)
        return;
    first = !k && w->bytes[0] == '>' ? w->bytes : find_record(w->bytes + 1, w->bytes + got);
    if (!first)
        return;
    for (size_t at = size; !end && got == at && at < 2 * a->block_size; at += more) {
        const size_t limit = at + more < 2 * a->block_size ? at + more : 2 * a->block_size;
        got = read_bytes(w, from, at, limit);
        end = find_record(w->bytes + at, w->bytes + got);
        if (got < limit)
            break;
    }
    if (!end && !(end = find_last(first, w->bytes + got)))
        return;
    if (!(b->records = bi_records_new(a->pool)))
        return;
    b->start = from + (uint64_t)(first - w->bytes);
    bi_fasta_part_read(w->part, first, (size_t)(end - first), b);
    if (!b->records->shown.n_records)
        bi_records_free(&b->records);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct bi_fasta_ahead *a = w->ahead;
    pthread_mutex_lock(&a->lock);
    for (;;) {
        struct bi_fasta_block block;
        uint64_t k;
        while (!a->stop && a->claimed < a->n_blocks && a->claimed >= a->taken + a->n_places)
            pthread_cond_wait(&a->room, &a->lock);
        if (a->stop || a->claimed == a->n_blocks)
            break;
        k = a->claimed++;
        pthread_mutex_unlock(&a->lock);
        read_block(w, k, &block);
        pthread_mutex_lock(&a->lock);
        a->places[k % a->n_places] = (struct place){.ready = true, .block = block};
        if (k == a->taken)
            pthread_cond_signal(&a->ready);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

void bi_fasta_ahead_open(struct bi_fasta_ahead **out, const struct bi_env *env,
                         const struct bi_stream *stream, uint64_t start,
                         const struct bioinfer_reader_params *params, size_t block_size, bool alone,
                         struct bi_records_pool *pool)
{
    const uint64_t n_blocks = stream->size > start ? (stream->size - start) / block_size : 0;
    struct bi_fasta_ahead *a;
    *out = NULL;
    if (n_blocks < 2 || !(a = bi_zalloc(env, sizeof *a)))
        return; /* small files are read before threads have started */
    *a = (struct bi_fasta_ahead){.env = env,
                                 .stream = stream,
                                 .pool = pool,
                                 .start = start,
                                 .block_size = block_size,
                                 .n_blocks = n_blocks};
    a->n_workers = alone                                    ? 1
                   : (uint64_t)params->n_threads < n_blocks ? params->n_threads
                                                            : (int)n_blocks;
    a->n_places = RING * (uint64_t)a->n_workers;
    a->workers = bi_calloc(env, (size_t)a->n_workers, sizeof *a->workers);
    a->places = bi_calloc(env, (size_t)a->n_places, sizeof *a->places);
    if (!a->workers || !a->places || pthread_mutex_init(&a->lock, NULL))
        goto fail;
    if (pthread_cond_init(&a->ready, NULL)) {
        pthread_mutex_destroy(&a->lock);
        goto fail;
    }
    if (pthread_cond_init(&a->room, NULL)) {
        pthread_cond_destroy(&a->ready);
        pthread_mutex_destroy(&a->lock);
        goto fail;
    }
    a->locked = true;
    for (int i = 0; i < a->n_workers; i++) { /* fewer threads will do */
        struct worker *w = &a->workers[i];
        w->ahead = a;
        if (!(w->bytes = bi_alloc(env, 2 * block_size + 1)) ||
            bi_fasta_part_open(&w->part, env, params))
            break;
        a->alone = alone;
        if (alone || bi_thread_start(&w->thread, work, w))
            break;
        a->n_started++;
    }
    if (a->alone || a->n_started) {
        *out = a;
        return;
    }
fail:
    bi_fasta_ahead_close(&a);
}

bool bi_fasta_ahead_take(struct bi_fasta_ahead *a, uint64_t at, struct bi_fasta_block *block)
{
    bool found = false;
    pthread_mutex_lock(&a->lock);
    while (!found && a->taken < a->n_blocks) {
        struct place *p = &a->places[a->taken % a->n_places];
        while (!p->ready) {
            if (a->alone) {
                read_block(&a->workers[0], a->taken, &p->block);
                p->ready = true;
            } else {
                pthread_cond_wait(&a->ready, &a->lock);
            }
        }
        if (p->block.records && p->block.start > at)
            break;
        if ((found = p->block.records && p->block.start == at))
            *block = p->block;
        else /* passed by, as it does in a file that changes meanwhile */
            bi_records_free(&p->block.records);
        *p = (struct place){0};
        a->taken++;
        pthread_cond_signal(&a->room);
    }
    pthread_mutex_unlock(&a->lock);
    return found;
}

void bi_fasta_ahead_close(struct bi_fasta_ahead **ahead)
{
    struct bi_fasta_ahead *a = *ahead;
    if (!a)
        return;
    if (a->locked) {
        pthread_mutex_lock(&a->lock);
        a->stop = true;
        pthread_cond_broadcast(&a->room);
        pthread_mutex_unlock(&a->lock);
    }
    for (int i = 0; i < a->n_started; i++)
        pthread_join(a->workers[i].thread, NULL);
    for (int i = 0; a->workers && i < a->n_workers; i++) {
        bi_fasta_close(&a->workers[i].part);
        bi_free(a->env, a->workers[i].bytes);
    }
    for (uint64_t i = 0; a->places && i < a->n_places; i++)
        bi_records_free(&a->places[i].block.records);
    if (a->locked) {
        pthread_cond_destroy(&a->ready);
        pthread_cond_destroy(&a->room);
        pthread_mutex_destroy(&a->lock);
    }
    bi_free(a->env, a->workers);
    bi_free(a->env, a->places);
    bi_free(a->env, a);
    *ahead = NULL;
}

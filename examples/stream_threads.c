/* stream_threads.c - several threads, one task each, over one shared model.
 *
 *     cc -pthread stream_threads.c $(pkg-config --cflags --libs bioinfer) -o stream_threads
 *     ./stream_threads WEIGHTS proteins.fasta 4
 *
 * The model is immutable and shared; a task belongs to one thread. The threads take
 * chunks of records from one reader behind a lock, as a server would from its queue,
 * and give results to one sink behind another. The order of the lines is that of
 * completion: the ordinal says which record it was. */
#include <bioinfer.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 8 /* records a thread takes at a time */
#define MAX_THREADS 64

struct shared {
    const bioinfer_model *model;
    bioinfer_reader *reader;
    pthread_mutex_t reader_lock, sink_lock;
    int at_end;
    unsigned long n_done, n_failed;
};

struct worker {
    struct shared *shared;
    pthread_t thread;
    int left;   /* records of the chunk */
    char *copy; /* the current record's text: the reader's own changes under us */
    size_t n_copy;
    int status;
    struct bioinfer_error err;
};

/* Makes the record the worker's own. */
static int keep(struct worker *w, struct bioinfer_record *record)
{
    size_t id = strlen(record->id) + 1, message = record->message ? strlen(record->message) : 0;
    size_t size = id + message + 1 + record->length;
    if (size > w->n_copy) {
        char *grown = realloc(w->copy, size);
        if (!grown)
            return BIOINFER_NOMEM;
        w->copy = grown;
        w->n_copy = size;
    }
    memcpy(w->copy, record->id, id);
    memcpy(w->copy + id, record->message ? record->message : "", message + 1);
    if (record->length)
        memcpy(w->copy + id + message + 1, record->sequence, record->length);
    record->id = w->copy;
    record->description = "";
    record->message = w->copy + id;
    record->sequence = w->copy + id + message + 1;
    return 1;
}

static int next_record(void *user, struct bioinfer_record *record, struct bioinfer_error *err)
{
    struct worker *w = user;
    struct shared *s = w->shared;
    int st = 0;
    if (w->left == 0)
        return 0; /* the chunk is complete: the run ends, the next one takes more */
    pthread_mutex_lock(&s->reader_lock);
    if (!s->at_end) {
        st = bioinfer_reader_next(s->reader, record, err);
        if (st > 0)
            st = keep(w, record);
        s->at_end = st <= 0;
    }
    pthread_mutex_unlock(&s->reader_lock);
    w->left--;
    return st;
}

static int take_result(void *user, const struct bioinfer_result *result, struct bioinfer_error *err)
{
    struct shared *s = ((struct worker *)user)->shared;
    (void)err;
    pthread_mutex_lock(&s->sink_lock);
    if (result->status) {
        s->n_failed++;
        printf("%llu\t%s\t%s\n", (unsigned long long)result->ordinal, result->id, result->message);
    } else {
        s->n_done++;
        printf("%llu\t%s\t%.6f\n", (unsigned long long)result->ordinal, result->id,
               (double)result->arrays[0].data[0]);
    }
    pthread_mutex_unlock(&s->sink_lock);
    return 0;
}

static int at_end(struct shared *s)
{
    int end;
    pthread_mutex_lock(&s->reader_lock);
    end = s->at_end;
    pthread_mutex_unlock(&s->reader_lock);
    return end;
}

static void *work(void *user)
{
    struct worker *w = user;
    struct bioinfer_embed_params params = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                          .include = BIOINFER_MEAN);
    bioinfer_task *task = NULL;
    w->status = bioinfer_embed_open(&task, w->shared->model, &params, &w->err);
    while (!w->status && !at_end(w->shared)) {
        w->left = CHUNK;
        w->status = bioinfer_task_run(task, next_record, w, take_result, w, &w->err);
    }
    bioinfer_task_close(&task);
    free(w->copy);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    struct shared s = {.reader_lock = PTHREAD_MUTEX_INITIALIZER,
                       .sink_lock = PTHREAD_MUTEX_INITIALIZER};
    /* one computing thread for each task: the tasks run side by side */
    struct bioinfer_context_params params = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                            .n_threads = 1);
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    struct bioinfer_error err = {0};
    int n = argc == 4 ? atoi(argv[3]) : 0, n_started = 0, st;
    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: stream_threads WEIGHTS FASTA THREADS\n");
        return 2;
    }
    if ((st = bioinfer_context_new(&ctx, &params, &err)) ||
        (st = bioinfer_model_open(&model, ctx, argv[1], NULL, &err)) ||
        (st = bioinfer_reader_open(&s.reader, ctx, argv[2], NULL, &err))) {
        fprintf(stderr, "stream_threads: %s\n", err.text);
        goto out;
    }
    s.model = model;
    for (; n_started < n; n_started++) {
        workers[n_started].shared = &s;
        if (pthread_create(&workers[n_started].thread, NULL, work, &workers[n_started]))
            break;
    }
    for (int i = 0; i < n_started; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].status && !st) {
            st = workers[i].status;
            fprintf(stderr, "stream_threads: %s\n", workers[i].err.text);
        }
    }
    fprintf(stderr, "%lu results, %lu records without one, %d threads\n", s.n_done, s.n_failed,
            n_started);
    if (!n_started || s.n_failed)
        st = st ? st : BIOINFER_INTERNAL;
out:
    bioinfer_reader_close(&s.reader);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st ? 1 : 0;
}

/* threads_test.c - threads hammer one model through the shared library: mixed lengths, sizes of
 * batches and kinds of results, tasks that come and go, and every result has the bytes of a call
 * of its own before.
 *
 *     threads_test MODEL [THREADS CALLS [SHARED]]      SHARED: threads of each call
 */
#include <pthread.h>

#include "engine.h"

enum { SEQUENCES = 48, LONGEST = 230, MOST = 7, KINDS = 3 };

static const unsigned kinds[KINDS] = {BIOINFER_MEAN, BIOINFER_MEAN | BIOINFER_PER_RESIDUE,
                                      BIOINFER_LOGITS | BIOINFER_BOS};

static char sequences[SEQUENCES][LONGEST + 1];
static struct sink expected[KINDS]; /* by sequence; read by all threads once they run */

struct hammer {
    const bioinfer_model *model;
    bioinfer_task *shared; /* whose turn it is, nobody says: at most one gets in */
    uint64_t seed;
    int n_calls, n_wrong, n_failed, n_taken, n_refused;
    struct bioinfer_error err;
};

static int session_of(bioinfer_task **s, const bioinfer_model *model, int kind, uint64_t *seed,
                      struct bioinfer_error *err)
{
    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                     .include = kinds[kind],
                                                     .tokens_at_once = 40 + below(seed, 600));
    return bioinfer_embed_open(s, model, &p, err);
}

static void call(struct hammer *h, bioinfer_task *s, int kind)
{
    struct bioinfer_record records[MOST];
    struct sink sink = {0};
    int which[MOST], n = 1 + below(&h->seed, MOST), st;
    for (int i = 0; i < n; i++) {
        which[i] = below(&h->seed, SEQUENCES);
        records[i] = record_of("r", sequences[which[i]], (uint64_t)i);
    }
    st = bioinfer_task_compute(s, records, (size_t)n, keep_result, &sink, &h->err);
    if (s == h->shared) {
        h->n_taken += st == 0;
        h->n_refused += st == BIOINFER_MISUSE;
        if (st == BIOINFER_MISUSE)
            st = 1;
    }
    h->n_failed += st < 0;
    h->n_wrong += !st && sink.n != (size_t)n;
    for (size_t i = 0; !st && i < sink.n; i++)
        h->n_wrong += !same_result(&sink.kept[i], &expected[kind].kept[which[i]]);
    sink_free(&sink);
}

static void *hammer(void *user)
{
    struct hammer *h = user;
    bioinfer_task *own[KINDS] = {NULL};
    for (int i = 0; i < h->n_calls && !h->n_failed; i++) {
        int kind = below(&h->seed, KINDS);
        if (!own[kind] && session_of(&own[kind], h->model, kind, &h->seed, &h->err))
            h->n_failed++;
        else
            call(h, own[kind], kind);
        if (!below(&h->seed, 8))
            call(h, h->shared, 0);
        if (!below(&h->seed, 12))
            bioinfer_task_close(&own[kind]);
    }
    for (int k = 0; k < KINDS; k++)
        bioinfer_task_close(&own[k]);
    return NULL;
}

/* Computes what each sequence gives alone, from a model that nobody else uses. */
static void expect(const char *path, const struct bioinfer_context_params *c)
{
    struct bioinfer_error err = {0};
    struct open o;
    if (open_all(&o, path, c, NULL, NULL))
        return;
    for (int k = 0; k < KINDS; k++) {
        bioinfer_task *s = NULL;
        uint64_t seed = 1;
        if (!CHECK(!session_of(&s, o.model, k, &seed, &err)))
            fprintf(stderr, "    %s\n", err.text);
        for (int i = 0; s && i < SEQUENCES; i++) {
            struct bioinfer_record r = record_of("r", sequences[i], 0);
            CHECK(!bioinfer_task_compute(s, &r, 1, keep_result, &expected[k], &err));
        }
        CHECK_EQ(expected[k].n, SEQUENCES);
        bioinfer_task_close(&s);
    }
    close_all(&o);
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 8, n_calls = argc > 3 ? atoi(argv[3]) : 40;
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                       .n_threads = argc > 4 ? atoi(argv[4]) : 1);
    struct hammer *h = calloc((size_t)n, sizeof *h);
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    struct bioinfer_error err = {0};
    bioinfer_task *shared = NULL;
    uint64_t seed = 7;
    int taken = 0, refused = 0;
    struct open o;
    if (argc < 2 || !h || !threads)
        return 2;
    test_name = argv[1];
    for (int i = 0; i < SEQUENCES; i++)
        random_sequence(&seed, sequences[i], i < 4 ? i + 1 : 1 + below(&seed, LONGEST));
    expect(argv[1], &c);
    /* opened anew, so that weights are packed while others wait for them */
    if (!test_failures && !open_all(&o, argv[1], &c, NULL, NULL)) {
        CHECK(!session_of(&shared, o.model, 0, &seed, &err));
        for (int i = 0; i < n; i++) {
            h[i] = (struct hammer){
                .model = o.model, .shared = shared, .seed = (uint64_t)i + 100, .n_calls = n_calls};
            CHECK_EQ(pthread_create(&threads[i], NULL, hammer, &h[i]), 0);
        }
        for (int i = 0; i < n; i++) {
            pthread_join(threads[i], NULL);
            CHECK_EQ(h[i].n_wrong, 0);
            if (!CHECK_EQ(h[i].n_failed, 0))
                fprintf(stderr, "    %s\n", h[i].err.text);
            taken += h[i].n_taken;
            refused += h[i].n_refused;
        }
        CHECK(taken > 0);
        printf(
            "%d threads, %d calls each: all bytes equal; a task of all was had %d times, refused "
            "%d times\n",
            n, n_calls, taken, refused);
        bioinfer_task_close(&shared);
        close_all(&o);
    }
    for (int k = 0; k < KINDS; k++)
        sink_free(&expected[k]);
    free(threads);
    free(h);
    return test_report();
}

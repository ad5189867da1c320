/* conformance.c - one body of tests for every backend.
 *
 *   conformance WEIGHTS BACKEND...     cpu reference null emu-nvidia emu-cdna emu-rdna cuda hip
 *
 * Memory and copies by both slots; weights of every layout that keeps rows; an empty program;
 * a model that gives the reference's values, the same bytes again, and the same bytes from
 * tasks of two threads. */
#include <math.h>
#include <pthread.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../../kernels/gpu/sm90/linear_twin.h"
#include "../engine/engine.h"
#include "emu_backend.h"

enum { N_RECORDS = 3 };
static const char *const sequences[N_RECORDS] = {"MKTAYIAKQR", "W", "MMWKLVFFAEDVGSNKG"};
static const char *weights;

static const struct bi_backend_ops *backend_of(const char *name)
{
    static const struct {
        const char *name;
        const struct bi_backend_ops *ops;
    } emulated[] = {{"emu-nvidia", &emu_nvidia}, {"emu-cdna", &emu_cdna}, {"emu-rdna", &emu_rdna}};
    const struct bi_backend_ops *ops = NULL;
    int ordinal;
    for (size_t i = 0; i < COUNT(emulated); i++)
        if (!strcmp(name, emulated[i].name))
            return emulated[i].ops;
    CHECK_EQ(bi_backend_find(&ops, &ordinal, name, NULL), 0);
    return ops;
}

/* Bytes through device memory and back, both slots, one behind the other and at once. */
static void copies(const struct bi_backend_ops *ops, struct bi_device *d, struct bi_queue *q,
                   uint64_t size)
{
    struct bi_program empty = {0};
    struct bi_counts counts = {0};
    struct bi_buffer device[BI_SLOTS] = {{0}};
    void *from[BI_SLOTS] = {0}, *to[BI_SLOTS] = {0};
    int not_zero = 0;
    for (int s = 0; s < BI_SLOTS; s++) {
        CHECK_EQ(ops->alloc(d, &device[s], size, NULL), 0);
        CHECK(device[s].size == size && (uintptr_t)device[s].ptr % 64 == 0);
        CHECK_EQ(ops->host_alloc(d, &from[s], size, NULL), 0);
        CHECK_EQ(ops->host_alloc(d, &to[s], size, NULL), 0);
        for (uint64_t i = 0; i < size; i++) {
            not_zero += ((unsigned char *)to[s])[i] != 0;
            ((unsigned char *)from[s])[i] = (unsigned char)(i * 7 + (uint64_t)s);
        }
        CHECK_EQ(not_zero, 0);
    }
    for (int round = 0; round < 3; round++) {
        for (int s = 0; s < BI_SLOTS; s++) {
            memset(to[s], 0, (size_t)size);
            CHECK_EQ(ops->upload(q, s, device[s].ptr, from[s], size, NULL), 0);
            CHECK_EQ(ops->submit(q, s, &empty, &counts, NULL), 0);
            CHECK_EQ(ops->download(q, s, to[s], device[s].ptr, size, NULL), 0);
        }
        for (int s = 0; s < BI_SLOTS; s++) {
            CHECK_EQ(ops->wait(q, s, NULL), 0);
            CHECK(!memcmp(from[s], to[s], (size_t)size));
        }
    }
    CHECK_EQ(ops->wait(q, BI_ALL_SLOTS, NULL), 0);
    for (int s = 0; s < BI_SLOTS; s++) {
        ops->free(d, &device[s]);
        CHECK(!device[s].ptr && !device[s].size);
        ops->free(d, &device[s]); /* zeroed: nothing to do */
        ops->host_free(d, from[s]);
        ops->host_free(d, to[s]);
    }
}

/* Number i of w, of rows of k, in a layout. */
static float laid_out(const float *rows, int i, int k, enum bi_layout layout)
{
    const int channels = k / BI_TWIN_TAPS, width = channels * BI_TWIN_PRODUCTS, at = i % width;
    float eight[BI_TWIN_PRODUCTS];
    if (layout != BI_LAYOUT_LINEAR_TWIN)
        return rows[i];
    bi_twin_taps(rows + i / width * k, channels, at % channels, eight);
    return eight[at / channels];
}

/* Rows written in two pieces, last first, read back as they are, or rounded, or as eight products
 * of five taps. */
static void rows_of_weights(const struct bi_backend_ops *ops, struct bi_device *d,
                            struct bi_queue *q, enum bi_layout layout)
{
    enum { N = 5, K = 35 };
    float rows[N * K];
    void *back = NULL;
    struct bi_buffer w = {0};
    uint64_t size = ops->weight_size(d, layout, N, K);
    const bool half = layout != BI_LAYOUT_PLAIN;
    const int n = layout == BI_LAYOUT_LINEAR_TWIN ? N * K / BI_TWIN_TAPS * BI_TWIN_PRODUCTS : N * K;
    int wrong = 0;
    for (int i = 0; i < N * K; i++)
        rows[i] = (float)(i - 80) / 7;
    CHECK_EQ(size, (uint64_t)n * (half ? 2 : 4));
    CHECK_EQ(ops->alloc(d, &w, size, NULL), 0);
    CHECK_EQ(ops->host_alloc(d, &back, size, NULL), 0);
    CHECK_EQ(ops->weight_write(d, w.ptr, layout, N, K, 3, 2, rows + 3 * K, NULL), 0);
    CHECK_EQ(ops->weight_write(d, w.ptr, layout, N, K, 0, 3, rows, NULL), 0);
    if (ops->weight_flush)
        CHECK_EQ(ops->weight_flush(d, NULL), 0);
    CHECK_EQ(ops->download(q, 0, back, w.ptr, size, NULL), 0);
    CHECK_EQ(ops->wait(q, 0, NULL), 0);
    for (int i = 0; i < n; i++) {
        const float want = laid_out(rows, i, K, layout);
        wrong += half ? ((uint16_t *)back)[i] != bi_f32_to_f16(want) : ((float *)back)[i] != want;
    }
    CHECK_EQ(wrong, 0);
    ops->host_free(d, back);
    ops->free(d, &w);
}

static void table(const struct bi_backend_ops *ops)
{
    struct bi_env env = bi_env_default();
    struct bi_device_params params = {.n_threads = 2};
    struct bioinfer_error err = {0};
    struct bi_device *d = NULL;
    struct bi_queue *q[2] = {NULL, NULL};
    struct bi_caps caps;
    if (!CHECK_EQ(ops->open(&d, &env, &params, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return;
    }
    ops->caps(d, &caps);
    CHECK(ops->abi == BI_BACKEND_ABI && caps.kernels && caps.weight_panel > 0);
    CHECK_EQ(ops->queue_new(&q[0], d, &err), 0);
    CHECK_EQ(ops->queue_new(&q[1], d, &err), 0);
    copies(ops, d, q[0], 1);
    copies(ops, d, q[1], 4096);
    copies(ops, d, q[0], (1 << 20) + 3); /* too large for the stream of the programs */
    rows_of_weights(ops, d, q[0], BI_LAYOUT_PLAIN);
    if (caps.half) {
        rows_of_weights(ops, d, q[1], BI_LAYOUT_LINEAR_F16);
        rows_of_weights(ops, d, q[1], BI_LAYOUT_LINEAR_TWIN);
    }
    ops->queue_free(&q[0]);
    ops->queue_free(&q[1]);
    ops->queue_free(&q[0]);
    ops->close(&d);
    ops->close(&d);
    CHECK(!d && !q[0]);
}

struct user {
    bioinfer_model *model;
    struct sink results;
    int st;
};

static void *use(void *user)
{
    struct bioinfer_embed_params sp = BIOINFER_PARAMS(
        struct bioinfer_embed_params, .include = BIOINFER_PER_RESIDUE | BIOINFER_MEAN,
        .tokens_at_once = 16);
    struct bioinfer_record records[N_RECORDS];
    bioinfer_task *s = NULL;
    struct user *u = user;
    for (int i = 0; i < N_RECORDS; i++)
        records[i] = record_of("r", sequences[i], (uint64_t)i);
    if (!(u->st = bioinfer_embed_open(&s, u->model, &sp, NULL)))
        u->st = bioinfer_task_compute(s, records, N_RECORDS, keep_result, &u->results, NULL);
    sink_free(&u->results); /* the second run replays the plans of the first */
    if (!u->st)
        u->st = bioinfer_task_compute(s, records, N_RECORDS, keep_result, &u->results, NULL);
    bioinfer_task_close(&s);
    return NULL;
}

static int same(const struct sink *a, const struct sink *b)
{
    int equal = a->n == N_RECORDS && b->n == N_RECORDS;
    for (size_t i = 0; equal && i < a->n; i++)
        equal = same_result(&a->kept[i], &b->kept[i]);
    return equal;
}

/* Results of one task, checked against those of two at once. */
static void model(bioinfer_context *ctx, const struct bi_backend_ops *ops, struct sink *out)
{
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .precision = "fp32");
    struct bioinfer_error err = {0};
    struct user users[3] = {{0}};
    pthread_t threads[2];
    if (!CHECK_EQ(bi_model_open_on(&users[0].model, ctx, weights, &mp, ops, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return;
    }
    users[1].model = users[2].model = users[0].model;
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, use, &users[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    use(&users[2]);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(users[i].st, 0);
    CHECK(same(&users[0].results, &users[1].results));
    CHECK(same(&users[0].results, &users[2].results));
    sink_free(&users[0].results);
    sink_free(&users[1].results);
    *out = users[2].results;
    bioinfer_model_close(&users[0].model);
}

static double cosine(const struct kept *a, const struct kept *b)
{
    const float *x = (const float *)(const void *)a->bytes;
    const float *y = (const float *)(const void *)b->bytes;
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < a->size / sizeof *x; i++) {
        if (!isfinite(x[i]) || fabsf(x[i]) < 1e-30f) /* shapes lie between the values */
            continue;
        ab += (double)x[i] * (double)y[i];
        aa += (double)x[i] * (double)x[i];
        bb += (double)y[i] * (double)y[i];
    }
    return ab / sqrt(aa * bb);
}

int main(int argc, char **argv)
{
    struct sink want = {0}, got;
    bioinfer_context *ctx = NULL;
    struct bioinfer_context_params cp = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                        .n_threads = 2);
    if (argc < 3)
        return 2;
    weights = argv[1];
    CHECK_EQ(bioinfer_context_new(&ctx, &cp, NULL), 0);
    test_name = "reference";
    model(ctx, &bi_backend_reference, &want);
    for (int i = 2; i < argc; i++) {
        const struct bi_backend_ops *ops = backend_of(argv[i]);
        test_name = argv[i];
        got = (struct sink){0};
        if (!ops)
            continue;
        table(ops);
        model(ctx, ops, &got);
        for (size_t k = 0; strcmp(argv[i], "null") && k < want.n && k < got.n; k++)
            CHECK(got.kept[k].size == want.kept[k].size &&
                  cosine(&want.kept[k], &got.kept[k]) > 0.9999999);
        sink_free(&got);
    }
    sink_free(&want);
    bioinfer_context_free(&ctx);
    return test_report();
}

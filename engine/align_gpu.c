/* align_gpu.c - scores of many pairs on a GPU: one upload, one submit, one download for each
 * batch of up to BATCH pairs.
 *
 * Pairs of one job share a step count, so they are sorted by strip shape, target length and query
 * length; a pair whose target length no neighbour has goes alone. */
#define _GNU_SOURCE
#include "align_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 1 << 17,
    BORDER = 1 << 30 /* bytes of what strips hand on */
};

/* The entries of kernels/gpu_entries.h, by what they hold. */
struct shape {
    const char *entry;
    int rows, letters; /* of a strip: 32 * rows */
    bool half;
};
static const struct shape shapes[] = {
    {"align_r4_l8", 4, 8, true},   {"align_r8_l8", 8, 8, true},   {"align_r16_l8", 16, 8, true},
    {"align_r4_l24", 4, 24, true}, {"align_r8_l24", 8, 24, true}, {"align_r8_l32", 8, 32, true},
    {"align_r4_l32", 4, 32, false}};

struct place { /* one pair in the order of the launches */
    uint32_t pair;
    uint32_t shape;
    int32_t n, m;
};

struct bi_align_gpu {
    const struct bi_env *env;
    const struct bi_backend_ops *ops;
    struct bi_device *device;
    struct bi_queue *queue;
    struct bi_buffer input, output, border;
    struct bi_launch launches[BI_COUNT(shapes)]; /* functions resolved once */
    unsigned char *host;
    size_t host_cap;
    int32_t *scores;
    size_t scores_cap;
    struct place *places;
    size_t places_cap;
};

void bi_align_gpu_close(struct bi_align_gpu **gpu)
{
    struct bi_align_gpu *g = *gpu;
    if (!g)
        return;
    if (g->queue)
        g->ops->queue_free(&g->queue);
    if (g->device) {
        g->ops->free(g->device, &g->input);
        g->ops->free(g->device, &g->output);
        g->ops->free(g->device, &g->border);
        g->ops->close(&g->device);
    }
    bi_free(g->env, g->host);
    bi_free(g->env, g->scores);
    bi_free(g->env, g->places);
    bi_free(g->env, g);
    *gpu = NULL;
}

int bi_align_gpu_open(struct bi_align_gpu **out, const struct bi_env *env,
                      const struct bi_backend_ops *ops, int ordinal, struct bioinfer_error *err)
{
    struct bi_device_params params = {.ordinal = ordinal, .n_threads = 1};
    struct bi_align_gpu *g = bi_zalloc(env, sizeof *g);
    int st;

    if (!g)
        return bi_fail(err, BIOINFER_NOMEM, "aligner");
    g->env = env;
    g->ops = ops;
    for (size_t i = 0; i < BI_COUNT(shapes); i++) {
        g->launches[i].entry = shapes[i].entry;
        g->launches[i].in_dtype[0] = shapes[i].half ? BI_F16 : BI_F32;
    }
    if ((st = ops->open(&g->device, env, &params, err)) ||
        (st = ops->module(g->device, g->launches, BI_COUNT(shapes), err)) ||
        (st = ops->queue_new(&g->queue, g->device, err)))
        goto out;
    *out = g;
    g = NULL;
out:
    bi_align_gpu_close(&g);
    return st;
}

static int need(struct bi_align_gpu *g, struct bi_buffer *b, uint64_t size,
                struct bioinfer_error *err)
{
    if (size <= b->size)
        return 0;
    g->ops->free(g->device, b);
    return g->ops->alloc(g->device, b, size + size / 4, err);
}

/* ---- one batch ---- */

/* Codes in use, as dense ones: map[old] = new; returns how many. */
static int dense_letters(const uint8_t *codes, uint64_t size, uint8_t map[BI_ALIGN_LETTERS],
                         uint8_t back[BI_ALIGN_LETTERS])
{
    bool used[256] = {false};
    int n = 0;

    for (uint64_t i = 0; i < size; i++)
        used[codes[i]] = true;
    for (int c = 0; c < BI_ALIGN_LETTERS; c++)
        if (used[c]) {
            back[n] = (uint8_t)c;
            map[c] = (uint8_t)n++;
        }
    return n;
}

/* The shape that takes the fewest row steps. */
static uint32_t best_shape(int64_t n, int64_t m, int letters, bool half)
{
    uint32_t best = 0;
    int64_t least = INT64_MAX;

    for (uint32_t i = 0; i < BI_COUNT(shapes); i++) {
        const int64_t strip = 32 * shapes[i].rows;
        const int64_t cost = (n + strip - 1) / strip * (m + 31) * (shapes[i].rows + 1);
        if (shapes[i].half == half && letters <= shapes[i].letters &&
            (least == INT64_MAX || cost < least)) {
            least = cost;
            best = i;
        }
    }
    return best;
}

static int by_place(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    if (a->shape != b->shape)
        return a->shape < b->shape ? -1 : 1;
    if (a->m != b->m)
        return a->m < b->m ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return a->pair < b->pair ? -1 : a->pair > b->pair;
}

/* What a batch uploads: jobs, table, codes. */
struct block {
    struct bi_align_job *jobs;
    size_t n_jobs;
    uint64_t table_at, codes_at, size;
};

static int make_jobs(struct bi_align_gpu *g, const struct bi_align_scoring *s,
                     const struct bi_align_batch *in, size_t first, size_t n, struct block *b,
                     size_t counts[BI_COUNT(shapes)], int *letters, int64_t *stride,
                     struct bioinfer_error *err)
{
    const uint8_t *low = NULL, *high = NULL;
    uint8_t map[BI_ALIGN_LETTERS] = {0}, back[BI_ALIGN_LETTERS] = {0};
    int32_t most = 0;
    bool half;

    if (!bi_grow(g->env, &g->places, &g->places_cap, n, sizeof *g->places) ||
        !bi_grow(g->env, &g->scores, &g->scores_cap, n, sizeof *g->scores))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs", n);
    for (size_t i = 0; i < n; i++) { /* the codes that this batch needs */
        const struct bi_align_input *p = &in->inputs[in->order[first + i]];
        low = !low || p->query < low ? p->query : low;
        low = p->target < low ? p->target : low;
        high = p->query + p->n > high ? p->query + p->n : high;
        high = p->target + p->m > high ? p->target + p->m : high;
    }
    const uint64_t n_codes = (uint64_t)(high - low);
    if (n_codes > UINT32_MAX)
        return bi_fail(err, BIOINFER_LIMIT, "%llu residues in one batch, at most 2^32 - 1",
                       (unsigned long long)n_codes);
    *letters = dense_letters(low, n_codes, map, back);
    for (int a = 0; a < *letters; a++)
        for (int c = 0; c < *letters; c++)
            most = s->score[back[a]][back[c]] > most ? s->score[back[a]][back[c]] : most;
    half = 3 * (int64_t)s->open + most <= 2048 && 2 * (int64_t)s->open <= 2048;
    b->table_at = (n * sizeof *b->jobs + 63) / 64 * 64;
    b->codes_at = b->table_at + sizeof(float) * BI_ALIGN_LETTERS * BI_ALIGN_LETTERS;
    b->size = b->codes_at + n_codes;
    if (!bi_grow(g->env, &g->host, &g->host_cap, b->size, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%llu bytes of a batch",
                       (unsigned long long)b->size);
    for (uint64_t k = 0; k < n_codes; k++)
        g->host[b->codes_at + k] = map[low[k]];
    float *table = (float *)(g->host + b->table_at);
    memset(table, 0, sizeof(float) * BI_ALIGN_LETTERS * BI_ALIGN_LETTERS);
    for (int t = 0; t < *letters; t++)
        for (int q = 0; q < *letters; q++)
            table[t * BI_ALIGN_LETTERS + q] =
                (float)(s->score[back[q]][back[t]] + 2 * (int64_t)s->open);
    for (size_t i = 0; i < n; i++) {
        const struct bi_align_input *p = &in->inputs[in->order[first + i]];
        g->places[i] = (struct place){(uint32_t)i, best_shape(p->n, p->m, *letters, half),
                                      (int32_t)p->n, (int32_t)p->m};
    }
    qsort(g->places, n, sizeof *g->places, by_place);
    b->jobs = (struct bi_align_job *)g->host;
    b->n_jobs = 0;
    *stride = 0;
    memset(counts, 0, BI_COUNT(shapes) * sizeof *counts);
    for (size_t i = 0; i < n;) {
        const struct place *x = &g->places[i], *y = x;
        if (i + 1 < n && x[1].shape == x->shape && x[1].m == x->m)
            y = x + 1;
        const struct bi_align_input *px = &in->inputs[in->order[first + x->pair]];
        const struct bi_align_input *py = &in->inputs[in->order[first + y->pair]];
        b->jobs[b->n_jobs++] = (struct bi_align_job){
            {(uint32_t)(px->query - low), (uint32_t)(py->query - low)},
            {(uint32_t)(px->target - low), (uint32_t)(py->target - low)},
            {x->n, y->n}, x->m, {(int32_t)x->pair, (int32_t)y->pair}};
        counts[x->shape]++;
        if (y->n > 32 * shapes[x->shape].rows && x->m > *stride)
            *stride = x->m;
        i += y == x ? 1 : 2;
    }
    *stride = (*stride + 31) / 32 * 32;
    return 0;
}

static int run_batch(struct bi_align_gpu *g, const struct bi_align_plan *plan,
                     const struct bi_align_batch *in, size_t first, size_t n, int64_t *scores,
                     struct bioinfer_error *err)
{
    const struct bi_align_scoring *s = &plan->scoring;
    struct bi_launch launches[BI_COUNT(shapes)];
    struct bi_program program = {.launches = launches, .max_rows = 1, .max_seqs = 1,
                                 .longest = 1};
    const struct bi_counts counts = {0}; /* nothing here reads them */
    size_t of_shape[BI_COUNT(shapes)], at = 0;
    struct block b;
    int64_t stride;
    int letters, st;

    if ((st = make_jobs(g, s, in, first, n, &b, of_shape, &letters, &stride, err)))
        return st;
    const uint64_t border = (uint64_t)(b.n_jobs + 1) * 4 * (uint64_t)stride * sizeof(float);
    if (border > BORDER && n > 1) { /* fewer pairs at a time */
        if ((st = run_batch(g, plan, in, first, n / 2, scores, err)))
            return st;
        return run_batch(g, plan, in, first + n / 2, n - n / 2, scores, err);
    }
    if ((st = need(g, &g->input, b.size, err)) ||
        (st = need(g, &g->output, n * sizeof *g->scores, err)) ||
        (st = need(g, &g->border, border ? border : 64, err)))
        return st;
    const char *base = g->input.ptr;
    for (size_t i = 0; i < BI_COUNT(shapes); i++) {
        if (!of_shape[i])
            continue;
        struct bi_align_params *p = (void *)launches[program.n_launches].params;
        launches[program.n_launches] = g->launches[i];
        *p = (struct bi_align_params){
            .codes = (const uint8_t *)base + b.codes_at,
            .jobs = (const struct bi_align_job *)base + at,
            .table = (const float *)(base + b.table_at), .scores = g->output.ptr,
            .border = (float *)g->border.ptr + (int64_t)at * 4 * stride, .stride = stride,
            .n_jobs = (int32_t)of_shape[i], .letters = letters, .open = s->open,
            .gap = s->open - s->extend, .left = plan->left, .top = plan->top};
        at += of_shape[i];
        program.n_launches++;
    }
    if ((st = g->ops->upload(g->queue, 0, g->input.ptr, g->host, b.size, err)) ||
        (st = g->ops->submit(g->queue, 0, &program, &counts, err)) ||
        (st = g->ops->download(g->queue, 0, g->scores, g->output.ptr, n * sizeof *g->scores,
                               err)) ||
        (st = g->ops->wait(g->queue, 0, err))) {
        g->ops->wait(g->queue, BI_ALL_SLOTS, NULL); /* host memory is ours again */
        return st;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t pair = in->order[first + i];
        scores[pair] = g->scores[i] + bi_align_top(s, in->inputs[pair].m);
    }
    return 0;
}

int bi_align_gpu_run(struct bi_align_gpu *g, const struct bi_align_plan *plan,
                     const struct bi_align_batch *in, size_t n, int64_t *scores,
                     struct bioinfer_error *err)
{
    int st = 0;
    for (size_t i = 0; !st && i < n; i += BATCH)
        st = run_batch(g, plan, in, i, n - i < BATCH ? n - i : BATCH, scores, err);
    return st;
}

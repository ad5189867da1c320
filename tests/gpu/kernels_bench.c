/* kernels_bench.c - times single kernels for bench/kernels_gpu.py: a shared module that ctypes
 * loads.
 *
 * The caller names shapes and device memory. Which entry a shape gets, its grid, its tensor maps
 * and how it is launched come from the engine's own functions and tables (engine/gpu.h), so nothing
 * is stated here that can go stale. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_target.h"
#include "engine/gpu.h"
#include "kernels/cpu/cpu.h"
#include "kernels/gpu/sm90/linear_terms.h"

#define API __attribute__((visibility("default")))

enum { POOL_SIZE = 1 << 20 }; /* counts and starts of one kernel at a time */

struct kernels {
    struct device_target *device;
    int launches; /* in one replay */
};

/* A recording of launches of one entry. */
struct timed {
    struct kernels *kernels;
    const struct bi_gpu_entry *entry;
    struct device_graph *graph;
    struct bi_counts *counts;
    int32_t *start;
};

API struct kernels *kernels_open(const char *device, int launches);
API void kernels_close(struct kernels *k);
API void *kernels_alloc(struct kernels *k, uint64_t size);
API void kernels_free(struct kernels *k, void *ptr);
API struct timed *timed_linear(struct kernels *k, int64_t rows, int n, int width, int gelu,
                               const void *x, const void *w, const void *bias, const void *residual,
                               void *y);
API struct timed *timed_full_linear(struct kernels *k, int64_t rows, int n, int width, int portable,
                                    const void *x, const void *w, void *y);
API uint64_t packed_weight(struct kernels *k, int n, int width, int portable, const float *w,
                           void *dst);
API struct timed *timed_attention(struct kernels *k, const int32_t *lengths, int n_seqs, int heads,
                                  int width, double scale, const void *qkv, void *y);
API struct timed *timed_rel_attention(struct kernels *k, int n_windows, int n, int first,
                                      int n_queries, int heads, int key_dim, int value_dim,
                                      double scale, const void *const arrays[6], void *y);
API struct timed *timed_layernorm(struct kernels *k, int64_t rows, int live, int width,
                                  const void *x, const void *w, const void *b, void *y);
API const char *timed_entry(const struct timed *t);
API double timed_replay(struct timed *t);
API void timed_free(struct timed *t);

struct kernels *kernels_open(const char *device, int launches)
{
    struct kernels *k = calloc(1, sizeof *k);
    if (!k || !(k->device = device_open(device, POOL_SIZE))) {
        free(k);
        return NULL;
    }
    k->launches = launches;
    return k;
}

void kernels_close(struct kernels *k)
{
    if (k)
        device_close(k->device);
    free(k);
}

/* Device memory, for callers without a library that has some. */
void *kernels_alloc(struct kernels *k, uint64_t size)
{
    return device_alloc(k->device, size);
}

void kernels_free(struct kernels *k, void *ptr)
{
    device_free(k->device, ptr);
}

/* A batch of sequences of these lengths: its counts and starts, where the device will find them. */
static struct timed *new_timed(struct kernels *k, const int32_t *lengths, int n_seqs)
{
    struct timed *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->kernels = k;
    t->counts = device_take(k->device, sizeof *t->counts);
    t->start = device_take(k->device, sizeof *t->start * (size_t)(n_seqs + 1));
    *t->counts = (struct bi_counts){.n_seqs = n_seqs};
    t->start[0] = 0;
    for (int i = 0; i < n_seqs; i++) {
        t->start[i + 1] = t->start[i] + lengths[i];
        if (lengths[i] > t->counts->longest)
            t->counts->longest = lengths[i];
    }
    t->counts->n_tokens = t->counts->n_rows = t->start[n_seqs];
    return t;
}

/* The facts of the device, of a portable launch without Hopper's own entries. */
static struct bi_gpu_facts facts_of(const struct kernels *k, bool portable)
{
    struct bi_gpu_facts facts = *device_facts(k->device);
    facts.hopper = facts.hopper && !portable;
    return facts;
}

/* Records the entry that the engine takes for the launch; NULL after a message to stderr. */
static struct timed *record_as(struct timed *t, struct bi_launch *l, int32_t bucket_tokens,
                               bool portable)
{
    const char *error = "no entry takes it";
    const struct bi_gpu_facts facts = facts_of(t->kernels, portable);
    struct bi_counts bucket = *t->counts;
    bucket.n_tokens = bucket.n_rows = bucket_tokens;
    t->entry = bi_gpu_entry_of(&facts, l);
    if (t->entry)
        error = device_record(t->kernels->device, t->entry, l->params, &bucket,
                              t->kernels->launches, &t->graph);
    if (!error)
        return t;
    fprintf(stderr, "kernels_bench: %s: %s\n", l->entry, error);
    timed_free(t);
    return NULL;
}

static struct timed *record(struct timed *t, struct bi_launch *l, int32_t bucket_tokens)
{
    return record_as(t, l, bucket_tokens, false);
}

/* y = gelu(x w^T + bias) + residual; x, w float16, bias and residual float32. y is float32 with a
 * residual, as the stream of a transformer is, else float16. */
struct timed *timed_linear(struct kernels *k, int64_t rows, int n, int width, int gelu,
                           const void *x, const void *w, const void *bias, const void *residual,
                           void *y)
{
    const int32_t lengths[] = {(int32_t)rows};
    struct timed *t = new_timed(k, lengths, 1);
    struct bi_launch l = {
        .entry = "linear", .in_dtype = {BI_F16}, .out_dtype = {residual ? BI_F32 : BI_F16}};
    struct bi_linear_params *p = (void *)l.params;
    if (!t)
        return NULL;
    *p = (struct bi_linear_params){.counts = t->counts,
                                   .x = x,
                                   .bias = bias,
                                   .residual = residual,
                                   .w = w,
                                   .y = y,
                                   .ldx = width,
                                   .ldr = n,
                                   .ldy = n,
                                   .rows = rows,
                                   .axis = BI_AXIS_TOKENS,
                                   .n = n,
                                   .k = width,
                                   .act = gelu ? BI_ACT_GELU : BI_ACT_NONE};
    return record(t, &l, (int32_t)rows);
}

/* y = x w^T, all in float32, by Hopper's own entry or by the portable one; w as packed_weight() has
 * it. */
struct timed *timed_full_linear(struct kernels *k, int64_t rows, int n, int width, int portable,
                                const void *x, const void *w, void *y)
{
    const int32_t lengths[] = {(int32_t)rows};
    struct timed *t = new_timed(k, lengths, 1);
    struct bi_launch l = {.entry = "linear", .in_dtype = {BI_F32}, .out_dtype = {BI_F32}};
    if (!t)
        return NULL;
    *(struct bi_linear_params *)l.params = (struct bi_linear_params){.counts = t->counts,
                                                                     .x = x,
                                                                     .w = w,
                                                                     .y = y,
                                                                     .ldx = width,
                                                                     .ldy = n,
                                                                     .rows = rows,
                                                                     .axis = BI_AXIS_TOKENS,
                                                                     .n = n,
                                                                     .k = width};
    return record_as(t, &l, (int32_t)rows, portable);
}

/* Bytes of a weight [n, width] as the entry of a product in float32 takes it, which dst gets unless
 * it is NULL. */
uint64_t packed_weight(struct kernels *k, int n, int width, int portable, const float *w, void *dst)
{
    const struct bi_gpu_facts facts = facts_of(k, portable);
    const enum bi_layout layout = facts.hopper && bi_terms_fit(n, width) ? BI_LAYOUT_LINEAR_TERMS
                                                                         : BI_LAYOUT_PLAIN;
    if (dst)
        bi_gpu_rows_write(bi_cpu_kernels_usable(0), layout, dst, w, (size_t)n * (size_t)width,
                          (size_t)width);
    return (uint64_t)n * bi_gpu_rows_size(layout, (size_t)width);
}

/* qkv: [tokens, 3 heads width] float16, queries, keys and values side by side; y: [tokens, heads
 * width] float16. */
struct timed *timed_attention(struct kernels *k, const int32_t *lengths, int n_seqs, int heads,
                              int width, double scale, const void *qkv, void *y)
{
    const int64_t row = (int64_t)heads * width;
    const uint16_t *q = qkv;
    struct timed *t = new_timed(k, lengths, n_seqs);
    struct bi_launch l = {.entry = "attention", .in_dtype = {BI_F16}, .out_dtype = {BI_F16}};
    struct bi_attention_params *p = (void *)l.params;
    if (!t)
        return NULL;
    *p = (struct bi_attention_params){.counts = t->counts,
                                      .start = t->start,
                                      .q = (const void *)q,
                                      .k = (const void *)(q + row),
                                      .v = (const void *)(q + 2 * row),
                                      .y = y,
                                      .ldq = 3 * row,
                                      .ldk = 3 * row,
                                      .ldv = 3 * row,
                                      .ldy = row,
                                      .n_heads = heads,
                                      .head_dim = width,
                                      .scale = (float)scale,
                                      .axis = BI_AXIS_TOKENS,
                                      .seqs = BI_AXIS_SEQS};
    return record(t, &l, t->counts->n_tokens);
}

/* arrays: q, k, v, r in float16, u, w in float32, as rel_attention.h has them, without gaps; y
 * float16. */
struct timed *timed_rel_attention(struct kernels *k, int n_windows, int n, int first, int n_queries,
                                  int heads, int key_dim, int value_dim, double scale,
                                  const void *const arrays[6], void *y)
{
    const int64_t keys = (int64_t)heads * key_dim, values = (int64_t)heads * value_dim;
    const int32_t lengths[] = {n_windows * n};
    struct timed *t = new_timed(k, lengths, 1);
    struct bi_launch l = {.entry = "rel_attention", .in_dtype = {BI_F16}, .out_dtype = {BI_F16}};
    struct bi_rel_attention_params *p = (void *)l.params;
    if (!t)
        return NULL;
    *p = (struct bi_rel_attention_params){.counts = t->counts,
                                          .q = arrays[0],
                                          .k = arrays[1],
                                          .v = arrays[2],
                                          .r = arrays[3],
                                          .u = arrays[4],
                                          .w = arrays[5],
                                          .y = y,
                                          .ldq = keys,
                                          .ldk = keys,
                                          .ldv = values,
                                          .ldr = keys,
                                          .ldy = values,
                                          .n = n,
                                          .first = first,
                                          .n_queries = n_queries,
                                          .n_heads = heads,
                                          .key_dim = key_dim,
                                          .value_dim = value_dim,
                                          .n_windows = n_windows,
                                          .scale = (float)scale};
    return record(t, &l, lengths[0]);
}

/* x, w, b: float32; y: float16; live: of the rows, those that are there. */
struct timed *timed_layernorm(struct kernels *k, int64_t rows, int live, int width, const void *x,
                              const void *w, const void *b, void *y)
{
    struct timed *t = new_timed(k, &(int32_t){live}, 1);
    struct bi_launch l = {.entry = "layernorm", .in_dtype = {BI_F32}, .out_dtype = {BI_F16}};
    struct bi_layernorm_params *p = (void *)l.params;
    if (!t)
        return NULL;
    *p = (struct bi_layernorm_params){.counts = t->counts,
                                      .x = x,
                                      .w = w,
                                      .b = b,
                                      .y = y,
                                      .ldx = width,
                                      .ldy = width,
                                      .rows = rows,
                                      .axis = BI_AXIS_TOKENS,
                                      .width = width,
                                      .eps = 1e-5f};
    return record(t, &l, (int32_t)rows);
}

const char *timed_entry(const struct timed *t)
{
    return t->entry->name;
}

/* Milliseconds of a launch; negative after a message to stderr. */
double timed_replay(struct timed *t)
{
    double seconds = 0;
    const char *error = device_replay(t->kernels->device, t->graph, &seconds);
    if (!error)
        return 1e3 * seconds / t->kernels->launches;
    fprintf(stderr, "kernels_bench: %s: %s\n", t->entry->name, error);
    return -1;
}

void timed_free(struct timed *t)
{
    if (!t)
        return;
    device_forget(t->kernels->device, t->graph);
    device_give(t->kernels->device, t->start);
    device_give(t->kernels->device, t->counts);
    free(t);
}

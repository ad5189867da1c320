/* nearest.c - exact nearest neighbours among vectors.
 *
 * Queries and targets go through memory in blocks. A product of float32 (kernels/linear.h) gives
 * each pair a first value, whose error has a bound. Where that leaves room for a neighbour the
 * value is made again in float64, and that one decides: so the result is exact. A thread has some
 * queries of the block to itself.
 *
 *     cosine     first value x y / (|x| |y|), of vectors that were scaled to length 1
 *     euclidean  first value x y - |y|^2 / 2, as |x - y|^2 = |x|^2 - 2 (x y - |y|^2 / 2)
 *
 * Inside, `key` is what grows with nearness: the cosine, or minus the squared distance. */
#include "nearest.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../base/team.h"
#include "../kernels/cpu/cpu.h"
#include "../kernels/linear.h"

enum {
    BLOCK = 64 << 20,    /* bytes of vectors */
    MOST_TARGETS = 8192, /* in a block: their products with ROWS queries wait in a cache */
    ROWS = 96,
    LANES = 64 /* products that are looked at together */
};

struct hit {
    double key;
    uint64_t target;
};

/* Some vectors in memory. */
struct block {
    const struct bi_vectors *of;
    uint64_t first, n, most;
    float *values;        /* [most, width] */
    double *squares;      /* [most]: |x|^2 */
    double longest;       /* the largest |x| */
    _Atomic uint64_t bad; /* the first one that has no key; n = none */
};

struct run {
    const struct bi_nearest *job;
    const struct bi_cpu_kernels *kernels;
    int64_t width;
    int n_threads;
    uint64_t keep; /* neighbours of a query: min(k, targets) */
    struct block x, y;
    float *unit, *bias; /* queries of length 1, or their values; of euclidean -|y|^2 / 2 */
    void *packed;       /* the targets as the kernel takes them */
    struct hit *hits;   /* [x.most, keep]: a heap each, the farthest first */
    uint64_t *n_hits;   /* [x.most] */
    int64_t rows;       /* queries of a piece */
    uint8_t *scratch;   /* each thread's: products [rows, y.most], and the kernel's own */
    size_t scratch_size, products_size;
};

static bool cosine(const struct run *r)
{
    return r->job->metric == BIOINFER_COSINE;
}

static double dot(const float *a, const float *b, int64_t n)
{
    double sum[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sum[k] += (double)a[i + k] * (double)b[i + k];
    for (; i < n; i++)
        sum[0] += (double)a[i] * (double)b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static double squared_distance(const float *a, const float *b, int64_t n)
{
    double sum[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) {
            const double d = (double)a[i + k] - (double)b[i + k];
            sum[k] += d * d;
        }
    for (; i < n; i++)
        sum[0] += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* ---- neighbours of a query: a heap of at most `keep`, the farthest first ---- */

static bool nearer(const struct hit *a, const struct hit *b)
{
    return a->key > b->key || (a->key == b->key && a->target < b->target);
}

/* Moves the first of n hits down to its place. */
static void sink(struct hit *h, uint64_t n)
{
    const struct hit moved = h[0];
    uint64_t at = 0, child;
    while ((child = 2 * at + 1) < n) {
        child += child + 1 < n && nearer(&h[child], &h[child + 1]);
        if (!nearer(&moved, &h[child]))
            break;
        h[at] = h[child];
        at = child;
    }
    h[at] = moved;
}

static void put(struct run *r, uint64_t row, struct hit hit)
{
    struct hit *h = r->hits + row * r->keep;
    uint64_t at = r->n_hits[row];
    if (at == r->keep) {
        if (!nearer(&hit, &h[0]))
            return;
        h[0] = hit;
        sink(h, at);
        return;
    }
    r->n_hits[row]++;
    for (; at && nearer(&h[(at - 1) / 2], &hit); at = (at - 1) / 2)
        h[at] = h[(at - 1) / 2];
    h[at] = hit;
}

static int by_nearness(const void *a, const void *b)
{
    return nearer(a, b) ? -1 : nearer(b, a);
}

/* ---- blocks ---- */

struct measured {
    struct block *b;
    int64_t width;
    bool cosine;
};

/* Sums up the squares of vectors [first, end) of a block. */
static void measure(void *user, int thread, int64_t first, int64_t end)
{
    const struct measured *m = user;
    (void)thread;
    for (int64_t i = first; i < end; i++) {
        const float *x = m->b->values + i * m->width;
        uint64_t bad = atomic_load(&m->b->bad);
        m->b->squares[i] = dot(x, x, m->width);
        if (isfinite(m->b->squares[i]) && (m->b->squares[i] > 0 || !m->cosine))
            continue;
        while ((uint64_t)i < bad && !atomic_compare_exchange_weak(&m->b->bad, &bad, (uint64_t)i))
            ;
    }
}

static int name_bad(const struct run *r, const struct block *b, struct bioinfer_error *err)
{
    const uint64_t i = b->bad;
    const char *id = b->of->id(b->of->user, b->first + i);
    for (int64_t k = 0; k < r->width; k++)
        if (!isfinite(b->values[i * (uint64_t)r->width + (uint64_t)k]))
            return bi_fail(err, BIOINFER_NONFINITE, "%s: record '%.200s': value %lld is %g",
                           b->of->path, id, (long long)k,
                           (double)b->values[i * (uint64_t)r->width + (uint64_t)k]);
    return bi_fail(err, BIOINFER_INVALID,
                   "%s: record '%.200s': all values are 0, and such a vector has no cosine; "
                   "--metric euclidean takes it",
                   b->of->path, id);
}

/* Reads vectors from b->first on. */
static int fill(struct run *r, struct block *b, struct bioinfer_error *err)
{
    struct measured m = {b, r->width, cosine(r)};
    const uint64_t left = b->of->n - b->first;
    int st = 0;
    b->n = left < b->most ? left : b->most;
    b->bad = b->n;
    for (uint64_t i = 0; i < b->n && !st; i++)
        st = b->of->read(b->of->user, b->first + i, b->values + i * (uint64_t)r->width, err);
    if (st)
        return st;
    bi_team_for(r->job->env, r->n_threads, (int64_t)b->n, 64, measure, &m);
    if (b->bad < b->n)
        return name_bad(r, b, err);
    b->longest = 0;
    for (uint64_t i = 0; i < b->n; i++)
        b->longest = b->squares[i] > b->longest ? b->squares[i] : b->longest;
    b->longest = sqrt(b->longest);
    return 0;
}

/* Writes a vector of a block at length 1, or for euclidean as it is. */
static void scale(const struct run *r, const struct block *b, int64_t i, float *to)
{
    const float *x = b->values + i * r->width;
    const double length = cosine(r) ? sqrt(b->squares[i]) : 1;
    for (int64_t k = 0; k < r->width; k++)
        to[k] = (float)((double)x[k] / length);
}

static void scale_queries(void *user, int thread, int64_t first, int64_t end)
{
    struct run *r = user;
    (void)thread;
    for (int64_t i = first; i < end; i++)
        scale(r, &r->x, i, r->unit + i * r->width);
}

/* Packs targets [first, end), whole panels. */
static void pack(void *user, int thread, int64_t first, int64_t end)
{
    struct run *r = user;
    float *panel = (void *)(r->scratch + (size_t)thread * r->scratch_size);
    const int64_t step = r->kernels->panel();
    for (int64_t at = first; at < end; at += step) {
        const int64_t n = end - at < step ? end - at : step;
        for (int64_t i = 0; i < n; i++) {
            scale(r, &r->y, at + i, panel + i * r->width);
            if (!cosine(r))
                r->bias[at + i] = (float)(-r->y.squares[at + i] / 2);
        }
        r->kernels->pack(r->packed, (int64_t)r->y.n, r->width, at, n, panel);
    }
}

/* ---- products ---- */

/* The least first value that a target nearer than the farthest neighbour of a query can have.
 *
 * With u = 2^-24, a chain of n products of x and y is off by n u |x| |y| / (1 - n u) at most. The
 * scaling of a vector to length 1, the bias and its sum add less than 8 u of the same size. Half as
 * much again is for the second orders; sums of float64 are off by 2^-50 n. Where a product could
 * leave the range of float32 nothing is known, and below 1e-37 the steps of denormal numbers
 * count. */
static float least(const struct run *r, uint64_t row)
{
    const double error = 1.5 * (double)(r->width + 8) * 0x1p-24;
    const double length = sqrt(r->x.squares[row]), size = cosine(r) ? 1 : r->y.longest;
    const double key = r->n_hits[row] == r->keep ? r->hits[row * r->keep].key : -INFINITY;
    const double value = cosine(r) ? key : (key + r->x.squares[row]) / 2;
    const double slack = error * (cosine(r) ? 1 : (length + size) * size) + 1e-37 +
                         (double)r->width * 0x1p-50 * (cosine(r) ? 1 : r->x.squares[row]);
    if (!(value > -FLT_MAX / 4) || (!cosine(r) && (length + size) * size > FLT_MAX / 4))
        return -INFINITY;
    return nextafterf((float)(value - slack), -INFINITY);
}

/* Whether a value of p[n] is not below `bound`: NaN is not. */
static bool any(const float *p, int64_t n, float bound)
{
    int found = 0;
    for (int64_t i = 0; i < n; i++)
        found |= !(p[i] < bound);
    return found;
}

/* Looks at the products p [y.n] of a query with all targets. */
static void look(struct run *r, uint64_t row, const float *p)
{
    const float *x = r->x.values + row * (uint64_t)r->width;
    const int64_t n = (int64_t)r->y.n;
    float bound = least(r, row);
    for (int64_t at = 0; at < n; at += LANES) {
        const int64_t end = n - at < LANES ? n : at + LANES;
        if (!any(p + at, end - at, bound))
            continue;
        for (int64_t j = at; j < end; j++) {
            const float *y = r->y.values + j * r->width;
            struct hit hit = {.target = r->y.first + (uint64_t)j};
            if (p[j] < bound || (r->job->itself && hit.target == r->x.first + row))
                continue;
            hit.key = cosine(r) ? dot(x, y, r->width) / sqrt(r->x.squares[row] * r->y.squares[j])
                                : -squared_distance(x, y, r->width);
            put(r, row, hit);
            bound = least(r, row);
        }
    }
}

/* Queries [first, end) of the block with all targets of theirs. */
static void compare(void *user, int thread, int64_t first, int64_t end)
{
    struct run *r = user;
    uint8_t *scratch = r->scratch + (size_t)thread * r->scratch_size;
    float *products = (void *)scratch;
    const struct bi_counts counts = {0};
    const struct bi_linear_params p = {.counts = &counts,
                                       .x = r->unit + first * r->width,
                                       .w = r->packed,
                                       .bias = cosine(r) ? NULL : r->bias,
                                       .y = products,
                                       .ldx = r->width,
                                       .ldy = (int64_t)r->y.n,
                                       .rows = end - first,
                                       .axis = BI_AXIS_FIXED,
                                       .n = (int32_t)r->y.n,
                                       .k = (int32_t)r->width};
    const int64_t n_tasks = r->kernels->product->tasks(&p, 1);
    for (int64_t task = 0; task < n_tasks; task++)
        r->kernels->product->run(&p, task, n_tasks, scratch + r->products_size);
    for (int64_t i = first; i < end; i++)
        look(r, (uint64_t)i, products + (i - first) * (int64_t)r->y.n);
}

/* ---- a run ---- */

static bool new_block(struct run *r, struct block *b, const struct bi_vectors *of, uint64_t most)
{
    b->of = of;
    b->most = most < 1 ? 1 : most < of->n ? most : of->n;
    b->values = bi_calloc(r->job->env, b->most, (size_t)r->width * sizeof *b->values);
    b->squares = bi_calloc(r->job->env, b->most, sizeof *b->squares);
    return b->values && b->squares;
}

static bool prepare(struct run *r)
{
    const struct bi_nearest *job = r->job;
    const struct bi_env *env = job->env;
    const size_t row = (size_t)r->width * sizeof(float), panel = (size_t)r->kernels->panel() * row;
    const size_t memory = job->memory ? job->memory : BLOCK;
    const uint64_t kept = r->keep * sizeof *r->hits;
    const uint64_t targets = memory / row < MOST_TARGETS ? memory / row : MOST_TARGETS;
    struct bi_linear_params widest;
    if (!new_block(r, &r->x, &job->queries, memory / (row > kept ? row : kept)) ||
        !new_block(r, &r->y, &job->targets, targets))
        return false;
    widest = (struct bi_linear_params){.n = (int32_t)r->y.most, .k = (int32_t)r->width};
    r->rows = (int64_t)r->x.most / (4 * r->n_threads);
    r->rows = r->rows < 1 ? 1 : r->rows > ROWS ? ROWS : r->rows;
    r->products_size = (size_t)r->rows * r->y.most * sizeof(float);
    r->products_size = (r->products_size > panel ? r->products_size : panel) + BI_ALIGN - 1;
    r->products_size &= ~(size_t)(BI_ALIGN - 1);
    r->scratch_size = r->kernels->product->scratch_size
                          ? r->kernels->product->scratch_size(&widest, r->rows, r->rows)
                          : 0;
    r->scratch_size = (r->products_size + r->scratch_size + BI_ALIGN - 1) & ~(size_t)(BI_ALIGN - 1);
    r->scratch = bi_calloc(env, (size_t)r->n_threads, r->scratch_size);
    r->unit = bi_calloc(env, r->x.most, row);
    r->bias = bi_calloc(env, r->y.most, sizeof *r->bias);
    r->packed = bi_zalloc(env, r->kernels->pack_size((int64_t)r->y.most, r->width));
    r->hits = bi_calloc(env, r->x.most, kept);
    r->n_hits = bi_calloc(env, r->x.most, sizeof *r->n_hits);
    return r->scratch && r->unit && r->bias && r->packed && r->hits && r->n_hits;
}

/* Compares the queries of the block with all targets. */
static int meet(struct run *r, struct bioinfer_error *err)
{
    const struct bi_nearest *job = r->job;
    const double pairs = (double)job->queries.n * (double)job->targets.n;
    const int64_t panel = r->kernels->panel();
    int st = 0;
    memset(r->n_hits, 0, r->x.most * sizeof *r->n_hits);
    bi_team_for(job->env, r->n_threads, (int64_t)r->x.n, 64, scale_queries, r);
    for (r->y.first = 0; r->y.first < job->targets.n && !st; r->y.first += r->y.n) {
        double done;
        if (r->y.n != job->targets.n) { /* else all are there from the queries before */
            if ((st = fill(r, &r->y, err)))
                return st;
            bi_team_for(job->env, r->n_threads, (int64_t)r->y.n, panel, pack, r);
        }
        bi_team_for(job->env, r->n_threads, (int64_t)r->x.n, r->rows, compare, r);
        done = (double)r->x.first * (double)job->targets.n +
               (double)r->x.n * (double)(r->y.first + r->y.n);
        if (job->progress && job->progress(job->user, done / pairs))
            st = bi_fail(err, BIOINFER_CANCELLED, "stopped");
    }
    return st;
}

/* Hands out the neighbours of the queries of the block. */
static int give(struct run *r, struct bi_neighbour *out)
{
    const struct bi_nearest *job = r->job;
    int st = 0;
    for (uint64_t i = 0; i < r->x.n && !st; i++) {
        struct hit *h = r->hits + i * r->keep;
        qsort(h, r->n_hits[i], sizeof *h, by_nearness);
        for (uint64_t k = 0; k < r->n_hits[i]; k++)
            out[k] = (struct bi_neighbour){h[k].target, cosine(r) ? h[k].key : sqrt(-h[k].key)};
        st = job->take(job->user, r->x.first + i, out, r->n_hits[i]);
    }
    return st;
}

int bi_nearest_run(const struct bi_nearest *job, struct bioinfer_error *err)
{
    struct run r = {.job = job,
                    .kernels = bi_cpu_kernels_choose(job->cpu_mask, "fp32"),
                    .width = (int64_t)job->targets.width,
                    .n_threads = job->n_threads < 1 ? 1 : job->n_threads,
                    .keep = job->k < job->targets.n ? job->k : job->targets.n};
    struct bi_neighbour *out = NULL;
    int st = 0;
    if (r.kernels && r.kernels->base) /* sums of bfloat16 terms have other errors */
        r.kernels = r.kernels->base();
    if (!r.kernels)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "this machine has no '%s' kernels of float32",
                       job->cpu_mask);
    if (!prepare(&r) || !(out = bi_calloc(job->env, r.keep, sizeof *out)))
        st = bi_fail(err, BIOINFER_NOMEM, "blocks of vectors");
    for (r.x.first = 0; r.x.first < job->queries.n && !st; r.x.first += r.x.n)
        if (!(st = fill(&r, &r.x, err)) && !(st = meet(&r, err)))
            st = give(&r, out);
    bi_free(job->env, out);
    bi_free(job->env, r.x.values);
    bi_free(job->env, r.x.squares);
    bi_free(job->env, r.y.values);
    bi_free(job->env, r.y.squares);
    bi_free(job->env, r.scratch);
    bi_free(job->env, r.unit);
    bi_free(job->env, r.bias);
    bi_free(job->env, r.packed);
    bi_free(job->env, r.hits);
    bi_free(job->env, r.n_hits);
    return st;
}

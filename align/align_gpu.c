/* align_gpu.c - batches of alignments on a GPU: one upload, one submit, one download each.
 *
 * Pairs whose numbers fit 16 bits go two to a job, sorted by the shape of their strips and by
 * target length; one whose target length no neighbour has goes alone. All others, and large pairs
 * that have little company, go strip by strip over the whole device. For tracebacks kernels leave
 * flags, and a walk through them leaves moves; where the flags of one pair are beyond its limit,
 * what strips hand on is kept instead and strips are computed again, some at a time from the last
 * to the first.
 *
 * Sections: life, shapes, block, jobs, strips, walks, launches, results. */
#define _GNU_SOURCE
#include "align_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "../kernels/gpu/align.h"
#include "../engine/engine.h"

enum {
    HIGH_16 = 32000, /* numbers of 16 bits stay below it */
    COMPANY = 256    /* pairs from which even large ones fill the device two to a job */
};
static const uint64_t most_flags = (uint64_t)2 << 30; /* bytes on the device at a time */

struct shape {
    const char *entry;
    int lanes, rows, letters;
    enum bi_gpu_align_makes makes;
};
static const struct shape shapes[] = {
#define SHAPE(E, name, module, params, threads, shared, grid, takes, lanes, rows, letters, makes)  \
    {#name, lanes, rows, letters, BI_GPU_ALIGN_##makes},
    BI_GPU_ALIGN_SHAPES(SHAPE, )
#undef SHAPE
};
enum { N_SHAPES = BI_COUNT(shapes), LONG = N_SHAPES, LONG_TRACE, WALK, N_ENTRIES };

struct place { /* one pair in the order of the launches */
    uint64_t key;
    uint32_t pair, shape;
};

struct batch {                    /* one slot */
    unsigned char *host, *result; /* pinned */
    uint64_t host_size, result_size;
    struct bi_buffer input, output;
    size_t n, n_long, n_launches;
    uint64_t codes_size, n_strips; /* totals of all long pairs */
    uint64_t walked_at, moves_at;  /* in result */
    uint64_t *moves;               /* by pair: its first word */
    size_t moves_cap, launches_cap, seconds_cap;
    bool sparse; /* one pair, whose flags are made some strips at a time */
    struct bi_launch *launches;
    double *seconds;
    struct bi_program program;
};

struct bi_align_gpu {
    const struct bi_env *env;
    const struct bi_backend_ops *ops;
    const struct bi_align_plan *plan;
    struct bi_device *device;
    struct bi_queue *queue;
    struct bi_buffer border, flags; /* programs run one after the other */
    struct batch batches[BI_SLOTS];
    struct bi_launch entries[N_ENTRIES]; /* functions resolved when they are first needed */
    struct place *places, *sorted;
    size_t places_cap, sorted_cap;
    bool trace, timed, bytes; /* bytes: scores fit the tables of 16-bit kernels */
    int32_t high;             /* largest score, at least 0 */
    int32_t corner;           /* keeps 16-bit numbers from being negative */
    uint64_t flags_budget;
    struct bioinfer_align_profile profile;
};

/* ---- life ---- */

void bi_align_gpu_close(struct bi_align_gpu **gpu)
{
    struct bi_align_gpu *g = *gpu;
    if (!g)
        return;
    if (g->queue)
        g->ops->wait(g->queue, BI_ALL_SLOTS, NULL); /* blocks and programs may be on their way */
    for (int i = 0; g->device && i < BI_SLOTS; i++) {
        struct batch *b = &g->batches[i];
        if (g->queue)
            g->ops->release(g->queue, &b->program);
        g->ops->free(g->device, &b->input);
        g->ops->free(g->device, &b->output);
        g->ops->host_free(g->device, b->host);
        g->ops->host_free(g->device, b->result);
        bi_free(g->env, b->moves);
        bi_free(g->env, b->launches);
        bi_free(g->env, b->seconds);
    }
    if (g->queue)
        g->ops->queue_free(&g->queue);
    if (g->device) {
        g->ops->free(g->device, &g->border);
        g->ops->free(g->device, &g->flags);
        g->ops->close(&g->device);
    }
    bi_free(g->env, g->places);
    bi_free(g->env, g->sorted);
    bi_free(g->env, g);
    *gpu = NULL;
}

void bi_align_gpu_set_profile(struct bi_align_gpu *g, bool on)
{
    g->timed = on;
}

void bi_align_gpu_get_profile(const struct bi_align_gpu *g, struct bioinfer_align_profile *profile)
{
    *profile = g->profile;
}

int bi_align_gpu_open(struct bi_align_gpu **out, const struct bi_env *env,
                      const struct bi_backend_ops *ops, int ordinal,
                      const struct bi_align_plan *plan, bool trace, struct bioinfer_error *err)
{
    const struct bi_align_scoring *s = &plan->scoring;
    struct bi_device_params params = {.ordinal = ordinal, .n_threads = 1};
    struct bi_align_gpu *g = bi_zalloc(env, sizeof *g);
    struct bi_caps caps = {0};
    int st;
    if (!g)
        return bi_fail(err, BIOINFER_NOMEM, "aligner");
    g->env = env;
    g->ops = ops;
    g->plan = plan;
    g->trace = trace;
    g->bytes = s->open <= HIGH_16 / 8;
    g->corner = 4 * s->open + 256;
    for (int a = 0; a < s->n_letters; a++)
        for (int b = 0; b < s->n_letters; b++) {
            const int64_t score = s->score[a][b] + 2 * (int64_t)s->extend;
            g->bytes = g->bytes && score >= INT8_MIN && score <= INT8_MAX;
            g->high = s->score[a][b] > g->high ? s->score[a][b] : g->high;
        }
    for (int i = 0; i < N_SHAPES; i++)
        g->entries[i].entry = shapes[i].entry;
    g->entries[LONG].entry = BI_GPU_ALIGN_LONG;
    g->entries[LONG_TRACE].entry = BI_GPU_ALIGN_LONG_TRACE;
    g->entries[WALK].entry = BI_GPU_ALIGN_WALK;
    if ((st = ops->open(&g->device, env, &params, err)) ||
        (st = ops->queue_new(&g->queue, g->device, err)))
        goto out;
    ops->caps(g->device, &caps);
    g->flags_budget = plan->memory_limit > most_flags ? plan->memory_limit : most_flags;
    if (caps.memory_free && g->flags_budget > caps.memory_free / 4)
        g->flags_budget = caps.memory_free / 4;
    *out = g;
    g = NULL;
out:
    bi_align_gpu_close(&g);
    return st;
}

/* Device memory of at least `size` bytes; `shared`: other batches may be using what there is. */
static int need(struct bi_align_gpu *g, struct bi_buffer *b, uint64_t size, bool shared,
                struct bioinfer_error *err)
{
    int st;
    if (size <= b->size)
        return 0;
    if (shared && b->ptr && (st = g->ops->wait(g->queue, BI_ALL_SLOTS, err)))
        return st;
    g->ops->free(g->device, b);
    return g->ops->alloc(g->device, b, size + size / 4, err);
}

/* Pinned memory; what was in it is gone. */
static int need_host(struct bi_align_gpu *g, unsigned char **ptr, uint64_t *had, uint64_t size,
                     struct bioinfer_error *err)
{
    void *new;
    int st;
    if (size <= *had)
        return 0;
    g->ops->host_free(g->device, *ptr);
    *ptr = NULL;
    *had = 0;
    size += size / 4;
    if ((st = g->ops->host_alloc(g->device, &new, size, err)))
        return st;
    *ptr = new;
    *had = size;
    return 0;
}

/* ---- shapes ---- */

static int64_t parts(int64_t x, int64_t of)
{
    return (x + of - 1) / of;
}

/* Whether numbers of 16 bits are exact for a pair, pad rows included. */
static bool fits_16(const struct bi_align_gpu *g, int64_t n, int64_t m)
{
    const int64_t rows = n + 512, least = rows < m ? rows : m;
    return g->bytes && n < 1 << 14 && m < 1 << 14 &&
           g->corner + g->high * least + g->plan->scoring.extend * (rows + m) < HIGH_16;
}

bool bi_align_gpu_is_narrow(const struct bi_align_gpu *g)
{
    return g->bytes;
}

static uint64_t long_flags(const struct bi_align_input *in)
{
    return bi_align_flags_size(in->n, in->m, BI_ALIGN_LONG_HEIGHT, BI_ALIGN_LONG_ROWS);
}

/* Bytes that strips hand on, when all of it is kept. */
static uint64_t kept_rows(const struct bi_align_input *in)
{
    return (uint64_t)parts(in->n, BI_ALIGN_LONG_HEIGHT) * (uint64_t)in->m * 2 * sizeof(int32_t);
}

/* Strips of a pair whose flags are there at a time: all of them where that is allowed. */
static int64_t strips_at_a_time(const struct bi_align_gpu *g, const struct bi_align_input *in)
{
    const uint64_t limit = g->plan->memory_limit < g->flags_budget ? g->plan->memory_limit
                                                                   : g->flags_budget;
    const int64_t strips = parts(in->n, BI_ALIGN_LONG_HEIGHT);
    const uint64_t one = long_flags(in) / (uint64_t)strips, kept = kept_rows(in);
    return long_flags(in) <= limit ? strips
           : limit < kept + one    ? 1
                                   : (int64_t)((limit - kept) / one);
}

static bool is_sparse(const struct bi_align_gpu *g, const struct bi_align_input *in)
{
    return g->trace && strips_at_a_time(g, in) < parts(in->n, BI_ALIGN_LONG_HEIGHT);
}

static bool is_long(const struct bi_align_gpu *g, const struct bi_align_input *in, size_t n_pairs)
{
    return !fits_16(g, in->n, in->m) || is_sparse(g, in) ||
           (n_pairs < COMPANY && in->n > 512 && in->m > 512);
}

uint64_t bi_align_gpu_least(const struct bi_align_gpu *g, const struct bi_align_input *in)
{
    const uint64_t strips = (uint64_t)parts(in->n, BI_ALIGN_LONG_HEIGHT);
    return is_sparse(g, in) ? kept_rows(in) + long_flags(in) / strips : 0;
}

uint64_t bi_align_gpu_cost(const struct bi_align_gpu *g, const struct bi_align_input *in)
{
    return !g->trace          ? 0
           : is_sparse(g, in) ? g->flags_budget
                              : (uint64_t)(parts(in->n, 256) * 256) * (uint64_t)(in->m + 31);
}

uint64_t bi_align_gpu_budget(const struct bi_align_gpu *g)
{
    return g->flags_budget;
}

/* The entry that takes the fewest cycles a pair, as measured: 10 for each row of a step, 50
 * more. */
static uint32_t best_shape(int makes, int64_t n, int64_t m, int letters)
{
    uint32_t best = 0;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < N_SHAPES; i++) {
        const struct shape *s = &shapes[i];
        const int64_t strips = parts(n, s->lanes * s->rows);
        /* letters first: they decide how many blocks fit a multiprocessor */
        const int64_t cost = strips * (m + s->lanes - 1) * s->lanes * (10 * s->rows + 50) *
                             (s->letters + 64);
        if ((int)s->makes == makes && letters <= s->letters && cost < least) {
            least = cost;
            best = i;
        }
    }
    return best;
}

static int makes_of(const struct bi_align_gpu *g)
{
    const unsigned ends = g->plan->scoring.free_ends &
                          (BIOINFER_FREE_QUERY_END | BIOINFER_FREE_TARGET_END);
    return g->trace ? BI_GPU_ALIGN_TRACE : ends ? BI_GPU_ALIGN_ENDS : BI_GPU_ALIGN_SCORES;
}

const char *bi_align_gpu_entry(bool trace, bool ends, int64_t n, int64_t m, int letters)
{
    const int makes = trace ? BI_GPU_ALIGN_TRACE : ends ? BI_GPU_ALIGN_ENDS : BI_GPU_ALIGN_SCORES;
    return shapes[best_shape(makes, n, m, letters)].entry;
}

/* Places in ascending order of keys, by 11 bits at a time. */
static const struct place *sort_places(struct bi_align_gpu *g, size_t n)
{
    struct place *from = g->places, *to = g->sorted;
    uint64_t seen = 0;
    for (size_t i = 1; i < n; i++)
        seen |= from[i].key ^ from[0].key;
    for (int shift = 0; shift < 44; shift += 11) {
        uint32_t start[2049] = {0};
        if (!(seen >> shift & 2047))
            continue;
        for (size_t i = 0; i < n; i++)
            start[(from[i].key >> shift & 2047) + 1]++;
        for (int k = 1; k < 2048; k++)
            start[k] += start[k - 1];
        for (size_t i = 0; i < n; i++)
            to[start[from[i].key >> shift & 2047]++] = from[i];
        struct place *other = from;
        from = to;
        to = other;
    }
    return from;
}

/* ---- block: what a batch uploads, codes first ---- */

struct block {
    uint64_t jobs, longs, tasks, trails, map, table8, table32, zeros, size;
};

static uint64_t take(uint64_t *at, uint64_t size)
{
    const uint64_t here = (*at + 63) / 64 * 64;
    *at = here + size;
    return here;
}

static struct block layout(const struct batch *b, bool trace)
{
    struct block at = {0};
    uint64_t end = b->codes_size;
    at.jobs = take(&end, (b->n - b->n_long) * sizeof(struct bi_align_job));
    at.longs = take(&end, b->n_long * sizeof(struct bi_align_long));
    at.tasks = take(&end, b->n_strips * (trace ? 2 : 1) * 2 * sizeof(int32_t));
    at.trails = take(&end, trace ? b->n * sizeof(struct bi_align_trail) : 0);
    at.map = take(&end, BI_ALIGN_LETTERS);
    at.table8 = take(&end, BI_ALIGN_LETTERS * BI_ALIGN_LETTERS);
    at.table32 = take(&end, BI_ALIGN_LETTERS * BI_ALIGN_LETTERS * sizeof(int32_t));
    /* counters of tasks: of the first pass and of every group of strips, then progress */
    at.zeros = take(&end, (2 * b->n_strips + 2) * sizeof(int32_t));
    at.size = end;
    return at;
}

int bi_align_gpu_begin(struct bi_align_gpu *g, int slot, const struct bi_align_input *inputs,
                       size_t n, uint64_t codes_size, uint8_t **codes, struct bioinfer_error *err)
{
    struct batch *b = &g->batches[slot];
    int st;
    b->n = n;
    b->n_long = b->n_strips = 0;
    b->codes_size = codes_size;
    for (size_t i = 0; i < n; i++)
        if (is_long(g, &inputs[i], n)) {
            b->n_long++;
            b->n_strips += (uint64_t)parts(inputs[i].n, BI_ALIGN_LONG_HEIGHT);
        }
    st = need_host(g, &b->host, &b->host_size, layout(b, g->trace).size, err);
    *codes = b->host;
    return st;
}

static struct bi_align_rules make_rules(const struct bi_align_gpu *g, int32_t corner)
{
    const struct bi_align_scoring *s = &g->plan->scoring;
    struct bi_align_rules r = {.gap = s->open - s->extend,
                               .extend = s->extend,
                               .corner = corner,
                               .left = corner - (s->open - s->extend),
                               .top = corner - (s->open - s->extend),
                               .free_row = !!(s->free_ends & BIOINFER_FREE_TARGET_END),
                               .free_column = !!(s->free_ends & BIOINFER_FREE_QUERY_END),
                               .corner_first = s->ties == BIOINFER_TIES_EMBOSS};
    if (s->free_ends & BIOINFER_FREE_QUERY_BEGIN) {
        r.left = corner;
        r.left_step = s->extend;
    }
    if (s->free_ends & BIOINFER_FREE_TARGET_BEGIN) {
        r.top = corner;
        r.top_step = s->extend;
    }
    return r;
}

/* Tables of scores; returns how many letters the map numbers. */
static int fill_tables(const struct bi_align_gpu *g, struct batch *b, const struct block *at,
                       uint32_t letters)
{
    const struct bi_align_scoring *s = &g->plan->scoring;
    uint8_t *map = b->host + at->map;
    int8_t *table8 = (int8_t *)b->host + at->table8;
    int32_t *table32 = (int32_t *)(b->host + at->table32);
    int n = 0;
    memset(map, 0, BI_ALIGN_LETTERS);
    memset(table8, 0, BI_ALIGN_LETTERS * BI_ALIGN_LETTERS);
    for (int t = 0; t < BI_ALIGN_LETTERS; t++) {
        for (int q = 0; q < BI_ALIGN_LETTERS; q++) {
            const int32_t score = s->score[q][t] + 2 * s->extend;
            table32[q * BI_ALIGN_LETTERS + t] = score;
            if (letters >> t & 1)
                table8[q * BI_ALIGN_LETTERS + n] = (int8_t)score;
        }
        if (letters >> t & 1)
            map[t] = (uint8_t)n++;
    }
    return n;
}

/* ---- jobs: two pairs each ---- */

/* Launches of a batch have been given so much so far. */
struct totals {
    uint64_t flags, border, moves; /* bytes, columns, words */
    size_t n_jobs, n_tasks, n_trails;
    size_t of_shape[N_SHAPES];
};

static int log_of(int x)
{
    int n = 0;
    while (1 << n < x)
        n++;
    return n;
}

static void add_trail(struct batch *b, const struct block *at, const struct bi_align_input *in,
                      uint32_t pair, int height, int rows, uint64_t flags, struct totals *t)
{
    struct bi_align_trail *trails = (struct bi_align_trail *)(b->host + at->trails);
    b->moves[pair] = t->moves;
    trails[t->n_trails++] = (struct bi_align_trail){.query = (uint32_t)(in->query - b->host),
                                                    .target = (uint32_t)(in->target - b->host),
                                                    .out = (int32_t)pair,
                                                    .m = (int32_t)in->m,
                                                    .height_log = log_of(height),
                                                    .rows_log = log_of(rows),
                                                    .flags = flags,
                                                    .moves = t->moves};
    t->moves += (uint64_t)parts(in->n + in->m, 16);
}

static void make_jobs(struct bi_align_gpu *g, struct batch *b, const struct block *at,
                      const struct bi_align_input *inputs, const struct place *places, size_t n,
                      struct totals *t)
{
    struct bi_align_job *jobs = (struct bi_align_job *)(b->host + at->jobs);
    for (size_t i = 0; i < n;) {
        const struct place *x = &places[i], *y = x;
        const struct shape *s = &shapes[x->shape];
        const int height = s->lanes * s->rows;
        if (i + 1 < n && x[1].shape == x->shape && inputs[x[1].pair].m == inputs[x->pair].m)
            y = x + 1;
        const struct bi_align_input *a = &inputs[x->pair], *c = &inputs[y->pair];
        struct bi_align_job *job = &jobs[t->n_jobs++];
        *job = (struct bi_align_job){
            .query = {(uint32_t)(a->query - b->host), (uint32_t)(c->query - b->host)},
            .target = {(uint32_t)(a->target - b->host), (uint32_t)(c->target - b->host)},
            .n = {(int32_t)a->n, (int32_t)c->n},
            .m = (int32_t)a->m,
            .out = {(int32_t)x->pair, (int32_t)y->pair},
            .flags = {t->flags, t->flags},
            .border = t->border};
        t->of_shape[x->shape]++;
        i += y == x ? 1 : 2;
        if (a->n > height || c->n > height)
            t->border += (uint64_t)a->m;
        if (!g->trace)
            continue;
        /* both halves go through the strips of the longer one */
        const uint64_t size = bi_align_flags_size(a->n > c->n ? a->n : c->n, a->m, height, s->rows);
        add_trail(b, at, a, x->pair, height, s->rows, t->flags, t);
        t->flags += size;
        if (y == x)
            continue;
        job->flags[1] = t->flags;
        add_trail(b, at, c, y->pair, height, s->rows, t->flags, t);
        t->flags += size;
    }
}

/* ---- strips: long pairs ---- */

/* Places of long pairs are sorted by strips, the most first. */
static void make_longs(struct bi_align_gpu *g, struct batch *b, const struct block *at,
                       const struct bi_align_input *inputs, const struct place *places,
                       struct totals *t)
{
    struct bi_align_long *longs = (struct bi_align_long *)(b->host + at->longs);
    uint64_t progress = b->n_strips + 1; /* behind the counters of tasks */
    for (size_t i = 0; i < b->n_long; i++) {
        const struct bi_align_input *in = &inputs[places[i].pair];
        const int64_t strips = parts(in->n, BI_ALIGN_LONG_HEIGHT);
        longs[i] = (struct bi_align_long){.query = (uint32_t)(in->query - b->host),
                                          .target = (uint32_t)(in->target - b->host),
                                          .n = (int32_t)in->n,
                                          .m = (int32_t)in->m,
                                          .out = (int32_t)places[i].pair,
                                          .strips = (int32_t)strips,
                                          .border_step = b->sparse ? in->m : 0,
                                          .border = t->border,
                                          .progress = progress,
                                          .flags = t->flags};
        t->border += (uint64_t)in->m * (uint64_t)(b->sparse ? strips : 1);
        progress += (uint64_t)strips;
        if (!g->trace)
            continue;
        add_trail(b, at, in, places[i].pair, BI_ALIGN_LONG_HEIGHT, BI_ALIGN_LONG_ROWS, t->flags, t);
        t->flags += b->sparse
                        ? long_flags(in) / (uint64_t)strips * (uint64_t)strips_at_a_time(g, in)
                        : long_flags(in);
    }
}

/* Tasks of strips [first, last) of all long pairs, a strip behind the one above it. */
static size_t add_tasks(struct batch *b, const struct block *at, int64_t first, int64_t last,
                        struct totals *t)
{
    const struct bi_align_long *longs = (const struct bi_align_long *)(b->host + at->longs);
    int32_t *tasks = (int32_t *)(b->host + at->tasks);
    const size_t was = t->n_tasks;
    for (int64_t strip = first; strip < last && longs[0].strips > strip; strip++)
        for (size_t i = 0; i < b->n_long && longs[i].strips > strip; i++) {
            tasks[2 * t->n_tasks] = (int32_t)i;
            tasks[2 * t->n_tasks++ + 1] = (int32_t)strip;
        }
    return t->n_tasks - was;
}

/* ---- launches ---- */

static int add_launch(struct bi_align_gpu *g, struct batch *b, int entry, const void *params,
                      size_t size, struct bioinfer_error *err)
{
    int st;
    if (!g->entries[entry].function && (st = g->ops->module(g->device, &g->entries[entry], 1, err)))
        return st;
    if (!bi_grow(g->env, &b->launches, &b->launches_cap, b->n_launches + 1, sizeof *b->launches))
        return bi_fail(err, BIOINFER_NOMEM, "launches of alignments");
    b->launches[b->n_launches] = g->entries[entry];
    memcpy(b->launches[b->n_launches++].params, params, size);
    return 0;
}

/* Flags of the one pair there is, some strips at a time from its last one on, and the path through
 * them. */
static int add_sparse(struct bi_align_gpu *g, struct batch *b, const struct block *at,
                      const struct bi_align_input *in, struct bi_align_long_params *l,
                      struct bi_align_walk_params *w, struct totals *t, struct bioinfer_error *err)
{
    const int32_t *const tasks = l->tasks;
    const int64_t group = strips_at_a_time(g, in);
    int st = 0;
    l->again = 1;
    for (int64_t last = parts(in->n, BI_ALIGN_LONG_HEIGHT); !st && last > 0; last -= group) {
        const int64_t first = last > group ? last - group : 0;
        l->tasks = tasks + 2 * t->n_tasks;
        l->n_tasks = (int32_t)add_tasks(b, at, first, last, t);
        l->progress++; /* another counter */
        l->first_strip = (int32_t)first;
        w->floor = (int32_t)first * BI_ALIGN_LONG_HEIGHT;
        if (!(st = add_launch(g, b, LONG_TRACE, l, sizeof *l, err)))
            st = add_launch(g, b, WALK, w, sizeof *w, err);
        w->resumes = 1;
    }
    return st;
}

static int make_launches(struct bi_align_gpu *g, struct batch *b, const struct block *at,
                         const struct bi_align_input *inputs, int letters, struct totals *t,
                         struct bioinfer_error *err)
{
    const char *in = b->input.ptr;
    char *out = b->output.ptr;
    struct bi_align_params p = {.codes = (const uint8_t *)in,
                                .map = (const uint8_t *)in + at->map,
                                .table = (const int8_t *)in + at->table8,
                                .found = (struct bi_align_found *)out,
                                .jobs = (const struct bi_align_job *)(in + at->jobs),
                                .border = g->border.ptr,
                                .flags = g->flags.ptr,
                                .rules = make_rules(g, g->corner)};
    struct bi_align_long_params l = {.codes = p.codes,
                                     .table = (const int32_t *)(in + at->table32),
                                     .pairs = (const struct bi_align_long *)(in + at->longs),
                                     .tasks = (const int32_t *)(in + at->tasks),
                                     .found = p.found,
                                     .border = p.border,
                                     .progress = (int32_t *)((char *)b->input.ptr + at->zeros),
                                     .column = (struct bi_align_found *)(p.border + 2 * t->border),
                                     .flags = p.flags,
                                     .rules = make_rules(g, 0)};
    struct bi_align_walk_params w = {.codes = p.codes,
                                     .flags = p.flags,
                                     .found = p.found,
                                     .trails = (const struct bi_align_trail *)(in + at->trails),
                                     .walked = (struct bi_align_walked *)(out + b->walked_at),
                                     .moves = (uint32_t *)(out + b->moves_at),
                                     .n_trails = (int32_t)t->n_trails,
                                     .ties = g->plan->scoring.ties};
    int st = 0;
    p.rules.letters = letters;
    for (int i = 0; !st && i < N_SHAPES; i++) {
        p.n_jobs = (int32_t)t->of_shape[i];
        if (p.n_jobs)
            st = add_launch(g, b, i, &p, sizeof p, err);
        p.jobs += p.n_jobs;
    }
    if (!st && b->n_long) {
        l.n_tasks = (int32_t)add_tasks(b, at, 0, INT32_MAX, t);
        st = add_launch(g, b, g->trace && !b->sparse ? LONG_TRACE : LONG, &l, sizeof l, err);
    }
    if (!st && b->sparse)
        st = add_sparse(g, b, at, inputs, &l, &w, t, err);
    else if (!st && g->trace)
        st = add_launch(g, b, WALK, &w, sizeof w, err);
    return st;
}

/* Keys: shape, target length, query length; for long pairs the most strips first. */
static const struct place *make_places(struct bi_align_gpu *g, const struct batch *b,
                                       const struct bi_align_input *inputs, int letters)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct bi_align_input *in = &inputs[i];
        struct place *p = &g->places[i];
        p->pair = (uint32_t)i;
        if (b->n_long && is_long(g, in, b->n)) {
            p->shape = LONG;
            p->key = (uint64_t)LONG << 39 |
                     (uint64_t)((1 << 18) - parts(in->n, BI_ALIGN_LONG_HEIGHT));
            continue;
        }
        /* one pair is like its neighbour most times */
        const bool same = i && in->n == in[-1].n && in->m == in[-1].m && p[-1].shape != LONG;
        p->shape = same ? p[-1].shape : best_shape(makes_of(g), in->n, in->m, letters);
        p->key = (uint64_t)p->shape << 39 | (uint64_t)in->m << 14 | (uint64_t)in->n;
    }
    return sort_places(g, b->n);
}

int bi_align_gpu_submit(struct bi_align_gpu *g, int slot, const struct bi_align_input *inputs,
                        uint32_t used, struct bioinfer_error *err)
{
    struct batch *b = &g->batches[slot];
    const struct block at = layout(b, g->trace);
    const struct bi_counts counts = {0}; /* nothing here reads them */
    const double begun = bi_now();
    struct totals t = {0};
    int st;
    if (!bi_grow(g->env, &g->places, &g->places_cap, b->n, sizeof *g->places) ||
        !bi_grow(g->env, &g->sorted, &g->sorted_cap, b->n, sizeof *g->sorted) ||
        (g->trace && !bi_grow(g->env, &b->moves, &b->moves_cap, b->n, sizeof *b->moves)))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs", b->n);
    const int letters = fill_tables(g, b, &at, used);
    const struct place *places = make_places(g, b, inputs, letters);
    b->sparse = b->n == 1 && is_sparse(g, inputs);
    memset(b->host + at.zeros, 0, at.size - at.zeros);
    make_jobs(g, b, &at, inputs, places, b->n - b->n_long, &t);
    make_longs(g, b, &at, inputs, places + (b->n - b->n_long), &t);
    b->walked_at = (b->n * sizeof(struct bi_align_found) + 15) / 16 * 16;
    b->moves_at = b->walked_at + (g->trace ? b->n * sizeof(struct bi_align_walked) : 0);
    const uint64_t result = b->moves_at + t.moves * sizeof(uint32_t);
    const uint64_t border = t.border * 2 * sizeof(int32_t) +
                            (2 * b->n_strips + 2) * sizeof(struct bi_align_found);
    g->ops->release(g->queue, &b->program);
    b->program = (struct bi_program){.bucket = {.n_tokens = 1, .n_seqs = 1, .longest = 1}};
    b->n_launches = 0;
    if ((st = need_host(g, &b->result, &b->result_size, result, err)) ||
        (st = need(g, &b->input, at.size, false, err)) ||
        (st = need(g, &b->output, result, false, err)) ||
        (st = need(g, &g->border, border, true, err)) ||
        (st = need(g, &g->flags, t.flags, true, err)) ||
        (st = make_launches(g, b, &at, inputs, letters, &t, err)))
        return st;
    b->program.launches = b->launches;
    b->program.n_launches = (int)b->n_launches;
    if (g->timed) {
        if (!bi_grow(g->env, &b->seconds, &b->seconds_cap, b->n_launches, sizeof *b->seconds))
            return bi_fail(err, BIOINFER_NOMEM, "profile");
        memset(b->seconds, 0, b->n_launches * sizeof *b->seconds);
        b->program.seconds = b->seconds;
        if ((st = g->ops->prepare(g->queue, &b->program, err)))
            return st;
    }
    g->profile.prepare_seconds += bi_now() - begun;
    g->profile.uploads++;
    g->profile.jobs += t.n_jobs + t.n_tasks;
    g->profile.bytes_in += at.size;
    g->profile.bytes_out += result;
    if (!(st = g->ops->upload(g->queue, slot, b->input.ptr, b->host, at.size, err)) &&
        !(st = g->ops->submit(g->queue, slot, &b->program, &counts, err)))
        st = g->ops->download(g->queue, slot, b->result, b->output.ptr, result, err);
    return st;
}

int bi_align_gpu_wait(struct bi_align_gpu *g, int slot, struct bioinfer_error *err)
{
    const struct batch *b = &g->batches[slot];
    const double begun = bi_now();
    const int st = g->ops->wait(g->queue, slot, err);
    g->profile.wait_seconds += bi_now() - begun;
    for (int i = 0; !st && b->program.seconds && i < b->program.n_launches; i++)
        g->profile.kernel_seconds += b->seconds[i];
    return st;
}

void bi_align_gpu_drain(struct bi_align_gpu *g)
{
    g->ops->wait(g->queue, BI_ALL_SLOTS, NULL);
}

/* ---- results ---- */

/* Kernels do not look at ends in row or column 0. */
struct bi_align_end bi_align_gpu_end(const struct bi_align_gpu *g, int slot, size_t i,
                                     const struct bi_align_input *in)
{
    const struct bi_align_found *f = (const struct bi_align_found *)g->batches[slot].result + i;
    return bi_align_or_nothing(&g->plan->scoring, in->n, in->m,
                               (struct bi_align_end){f->score, f->i, f->j});
}

void bi_align_gpu_path(const struct bi_align_gpu *g, int slot, size_t i,
                       const struct bi_align_input *in, struct bi_align_walk *begin,
                       struct bi_align_path *path, bool *sparse)
{
    const struct batch *b = &g->batches[slot];
    const struct bi_align_end end = bi_align_gpu_end(g, slot, i, in);
    struct bi_align_walked w = ((const struct bi_align_walked *)(b->result + b->walked_at))[i];
    const uint32_t *moves = (const uint32_t *)(b->result + b->moves_at) + b->moves[i];
    int64_t row = end.i, column = end.j;
    if (!end.i || !end.j) /* where the device has not been */
        w = (struct bi_align_walked){.i = (int32_t)end.i, .j = (int32_t)end.j};
    for (int32_t k = 0; k < w.n_moves; k++) {
        const int move = (int)(moves[k / 16] >> k % 16 * 2 & 3);
        const int op = move == BI_ALIGN_MOVE_F                        ? BI_CIGAR_I
                       : move == BI_ALIGN_MOVE_E                      ? BI_CIGAR_D
                       : in->query[row - 1] == in->target[column - 1] ? BI_CIGAR_EQ
                                                                      : BI_CIGAR_X;
        bi_align_path_push(path, op, 1);
        row -= move != BI_ALIGN_MOVE_E;
        column -= move != BI_ALIGN_MOVE_F;
    }
    *begin = (struct bi_align_walk){.i = w.i, .j = w.j};
    bi_align_border(&g->plan->scoring, begin, path);
    bi_align_path_finish(path);
    *sparse = b->sparse;
}

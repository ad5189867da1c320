/* attention.c - softmax(scale q k^T + bias) v within each sequence, and its parts.
 *
 * A task is one head of one sequence for up to MAX_ROWS rows of queries. It walks over the
 * keys in tiles of KEY_TILE counted from the start of the sequence; per tile it packs keys
 * (rotated) and values once, then each block of queries takes its scores, moves its running
 * maximum and sum, and adds its share of the output. Scratch does not grow with the length.
 *
 * Sections: tasks, attention, scores, biases and softmax, mix. */
#include "../attention.h"
#include "attention_tile.h"
#include "entries.h"
#include "math.h"

/* ---- tasks: sequences * n_heads * pieces, pieces as the longest sequence needs ---- */

enum { MAX_ROWS = 480, MIN_ROWS = 96 }; /* multiples of every BLOCK */

struct part {
    int64_t seq;    /* number of the sequence */
    int64_t start;  /* first token of the sequence */
    int64_t length; /* residues of the sequence */
    int64_t first;  /* row of the sequence the task begins with */
    int n, head;    /* n: rows, 0 = nothing to do */
};

/* seqs: the axis that counts sequences. */
static int64_t count_tasks(const struct bi_counts *counts, int seqs, int n_heads, int n_threads)
{
    const int64_t longest = counts->longest, heads = bi_live_rows(counts, seqs, 0) * n_heads;
    int64_t pieces = (longest + MAX_ROWS - 1) / MAX_ROWS;
    if (pieces < 1)
        return 0;
    while (heads * pieces < 4 * (int64_t)n_threads && longest / pieces > MIN_ROWS)
        pieces++;
    return heads * pieces;
}

static struct part find_part(const struct bi_counts *counts, int seqs, const int32_t *start,
                             int n_heads, int64_t task, int64_t n_tasks)
{
    const int64_t pieces = n_tasks / (bi_live_rows(counts, seqs, 0) * n_heads);
    const int64_t rows = (counts->longest + pieces - 1) / pieces;
    const int64_t step = (rows + BLOCK - 1) / BLOCK * BLOCK;
    const int64_t seq = task / pieces / n_heads;
    struct part part = {
        .seq = seq,
        .start = start[seq],
        .length = start[seq + 1] - start[seq],
        .first = task % pieces * step,
        .head = (int)(task / pieces % n_heads),
    };
    const int64_t left = part.length - part.first;
    part.n = (int)(left < 0 ? 0 : left < step ? left : step);
    return part;
}

static int min_int(int64_t a, int b)
{
    return a < b ? (int)a : b;
}

/* Floats for `blocks` blocks of queries: q and out, maxima and sums. */
static size_t block_floats(int d)
{
    return (size_t)(d + round_up(d, KEY_GROUP) + 2) * BLOCK;
}

static size_t scratch_floats(int d, int blocks)
{
    const size_t width = (size_t)round_up(d, KEY_GROUP), longer = d > KEY_TILE ? d : KEY_TILE;
    return 2 * KEY_TILE * width + longer * BLOCK + (size_t)blocks * block_floats(d) + 3 * VW;
}

/* Where things lie in the scratch of a thread. */
struct work {
    float *keys, *values; /* [KEY_TILE][width] */
    float *scores;        /* [KEY_TILE][BLOCK], and space for packing queries */
    float *blocks;        /* [blocks] of block_floats() */
};

BI_INLINE struct work lay_out(void *scratch, int d)
{
    const int width = round_up(d, KEY_GROUP);
    struct work w = {.keys = scratch};
    w.values = w.keys + KEY_TILE * width;
    w.scores = w.values + KEY_TILE * width;
    w.blocks = w.scores + (d > KEY_TILE ? d : KEY_TILE) * BLOCK;
    return w;
}

/* Writes out [d, BLOCK], times `by` of each query, to the n rows y [d]; out is changed. */
BI_INLINE void unpack_rows(float *y, int64_t ldy, float *out, int n, int d, const vf *by)
{
    for (int c = 0; c < d; c++)
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            float *o = out + c * BLOCK + v * VW;
            vf_store(o, vf_mul(vf_load(o), by[v]));
        }
    transpose(y, ldy, out, BLOCK, d, n);
}

/* ---- attention ---- */

BI_INLINE void attend_tile(float *block, const struct work *w, int n_keys, int d, int nv,
                           const struct place *at)
{
    float *q = block, *out = q + d * BLOCK;
    float *top = out + round_up(d, KEY_GROUP) * BLOCK, *total = top + BLOCK;
    vf high[BLOCK_VECTORS], sum[BLOCK_VECTORS], keep[BLOCK_VECTORS];
    for (int v = 0; v < nv; v++)
        high[v] = vf_load(top + v * VW);
    tile_scores(w->scores, q, w->keys, n_keys, d, nv, high, at);
    for (int v = 0; v < nv; v++) {
        keep[v] = exp2_negative(vf_sub(vf_load(top + v * VW), high[v]));
        sum[v] = vf_mul(vf_load(total + v * VW), keep[v]);
        vf_store(top + v * VW, high[v]);
    }
    tile_exp(w->scores, n_keys, nv, high, sum);
    for (int v = 0; v < nv; v++)
        vf_store(total + v * VW, sum[v]);
    tile_mix(out, w->scores, w->values, n_keys, d, nv, keep);
}

typedef void tile_step(float *block, const struct work *w, int n_keys, int d,
                       const struct place *at);

/* steps[nv - 1] is attend_tile for so many vectors of queries. */
BI_INLINE void attend(const struct bi_attention_params *p, const struct part *part, void *scratch,
                      const int d, tile_step *const steps[BLOCK_VECTORS])
{
    const struct work w = lay_out(scratch, d);
    const int width = round_up(d, KEY_GROUP);
    const size_t size = block_floats(d);
    const int64_t column = (int64_t)part->head * d;
    float *bias = w.blocks + (size_t)(MAX_ROWS / BLOCK) * size;
    struct place at = {p->grid_bias ? bias : NULL, bias, p->reach, 0};
    const int64_t grid = p->grid_bias ? bi_bias_grid(p->counts, p->grid_start, p->axis, part->seq,
                                                     part->start)
                                      : 0;
    if (p->bias)
        lay_bias(bias, p->bias + (int64_t)part->head * (2 * p->reach + 1), p->reach, LOG2E);
    for (int r = 0; r < part->n; r += BLOCK) {
        float *block = w.blocks + (size_t)(r / BLOCK) * size;
        float *out = block + d * BLOCK, *top = out + width * BLOCK;
        pack_queries(block, p->q + column, p->ldq, p->table, part->start, part->first + r,
                     min_int(part->n - r, BLOCK), d, p->scale * LOG2E, w.scores);
        for (int i = 0; i < width * BLOCK; i++)
            out[i] = 0;
        for (int i = 0; i < BLOCK; i++) {
            top[i] = -FLT_MAX; /* not -inf: the difference of two would be NaN */
            top[BLOCK + i] = 0;
        }
    }
    for (int64_t first = 0; first < part->length; first += KEY_TILE) {
        const int n_keys = min_int(part->length - first, KEY_TILE);
        pack_keys(w.keys, p->k + column, p->ldk, p->table, part->start, first, n_keys, d);
        pack_values(w.values, p->v + column, p->ldv, part->start + first, n_keys, d);
        for (int r = 0; r < part->n; r += BLOCK) {
            const int nv = (min_int(part->n - r, BLOCK) + VW - 1) / VW;
            at.ahead = part->first + r - first;
            if (p->grid_bias)
                lay_pairs(bias,
                          p->grid_bias + part->head +
                              (grid + (part->first + r) * part->length + first) * p->ldgb,
                          p->ldgb, part->length * p->ldgb, min_int(part->n - r, BLOCK), n_keys,
                          LOG2E);
            steps[nv - 1](w.blocks + (size_t)(r / BLOCK) * size, &w, n_keys, d, &at);
        }
    }
    for (int r = 0; r < part->n; r += BLOCK) {
        float *out = w.blocks + (size_t)(r / BLOCK) * size + d * BLOCK;
        const float *total = out + (width + 1) * BLOCK;
        vf by[BLOCK_VECTORS];
        for (int v = 0; v < BLOCK_VECTORS; v++)
            by[v] = vf_div(vf_set1(1), vf_load(total + v * VW));
        unpack_rows(p->y + (part->start + part->first + r) * p->ldy + column, p->ldy, out,
                    min_int(part->n - r, BLOCK), d, by);
    }
}

/* Head widths of known models, with loops of fixed length; any other goes the last way. */
#define STEP(name, width, nv, where)                                                               \
    static __attribute__((noinline)) void step_##name##_##nv(                                      \
        float *block, const struct work *w, int n_keys, int d, const struct place *at)             \
    {                                                                                              \
        (void)d;                                                                                   \
        (void)at;                                                                                  \
        attend_tile(block, w, n_keys, (width), nv, where);                                         \
    }
#define ATTEND(name, width, where)                                                                 \
    STEP(name, width, 1, where)                                                                    \
    STEP(name, width, 2, where)                                                                    \
    STEP(name, width, 3, where)                                                                    \
    static void attend_##name(const struct bi_attention_params *p, const struct part *part,        \
                              void *scratch)                                                       \
    {                                                                                              \
        static tile_step *const steps[] = {step_##name##_1, step_##name##_2, step_##name##_3};     \
        const int d = p->head_dim;                                                                 \
        attend(p, part, scratch, (width), steps);                                                  \
        (void)d;                                                                                   \
    }
ATTEND(16, 16, NULL)
ATTEND(24, 24, NULL)
ATTEND(32, 32, NULL)
ATTEND(64, 64, NULL)
ATTEND(128, 128, NULL)
ATTEND(any, d, NULL)
ATTEND(bias_32, 32, at)
ATTEND(bias_64, 64, at)
ATTEND(bias_128, 128, at)
ATTEND(bias_any, d, at)

int64_t BI_ISA_NAME(attention_tasks)(const void *params, int n_threads)
{
    const struct bi_attention_params *p = params;
    return count_tasks(p->counts, p->seqs, p->n_heads, n_threads);
}

void BI_ISA_NAME(attention_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_attention_params *p = params;
    const struct part part = find_part(p->counts, p->seqs, p->start, p->n_heads, task, n_tasks);
    if (!part.n)
        return;
    if (p->bias || p->grid_bias) {
        if (p->head_dim == 128)
            attend_bias_128(p, &part, scratch);
        else if (p->head_dim == 32)
            attend_bias_32(p, &part, scratch);
        else if (p->head_dim == 64)
            attend_bias_64(p, &part, scratch);
        else
            attend_bias_any(p, &part, scratch);
        return;
    }
    switch (p->head_dim) {
    case 16:
        attend_16(p, &part, scratch);
        break;
    case 24:
        attend_24(p, &part, scratch);
        break;
    case 32:
        attend_32(p, &part, scratch);
        break;
    case 64:
        attend_64(p, &part, scratch);
        break;
    case 128:
        attend_128(p, &part, scratch);
        break;
    default:
        attend_any(p, &part, scratch);
    }
}

size_t BI_ISA_NAME(attention_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_attention_params *p = params;
    (void)rows;
    (void)longest;
    const size_t bias = p->bias        ? 2 * (size_t)p->reach + 1 + 2 * BLOCK
                        : p->grid_bias ? KEY_TILE * BLOCK
                                       : 0;
    return (scratch_floats(p->head_dim, MAX_ROWS / BLOCK) + bias) * sizeof(float);
}

/* ---- scores ---- */

int64_t BI_ISA_NAME(scores_tasks)(const void *params, int n_threads)
{
    const struct bi_scores_params *p = params;
    return count_tasks(p->counts, p->seqs, p->n_heads, n_threads);
}

void BI_ISA_NAME(scores_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_scores_params *p = params;
    const struct part part = find_part(p->counts, p->seqs, p->start, p->n_heads, task, n_tasks);
    const int d = p->head_dim;
    const struct work w = lay_out(scratch, d);
    const int64_t column = (int64_t)part.head * d;
    for (int r = 0; r < part.n; r += BLOCK)
        pack_queries(w.blocks + (size_t)(r / BLOCK) * block_floats(d), p->q + column, p->ldq, NULL,
                     part.start, part.first + r, min_int(part.n - r, BLOCK), d, p->scale, w.scores);
    for (int64_t first = 0; part.n && first < part.length; first += KEY_TILE) {
        const int n_keys = min_int(part.length - first, KEY_TILE);
        pack_keys(w.keys, p->k + column, p->ldk, NULL, part.start, first, n_keys, d);
        for (int r = 0; r < part.n; r += BLOCK) {
            vf unused[BLOCK_VECTORS] = {vf_zero(), vf_zero(), vf_zero()};
            tile_scores(w.scores, w.blocks + (size_t)(r / BLOCK) * block_floats(d), w.keys, n_keys,
                        d, BLOCK_VECTORS, unused, NULL);
            transpose(p->p + (part.start + part.first + r) * p->ldp + part.head * p->ldh + first,
                      p->ldp, w.scores, BLOCK, n_keys, min_int(part.n - r, BLOCK));
        }
    }
}

size_t BI_ISA_NAME(scores_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_scores_params *p = params;
    (void)rows;
    (void)longest;
    return scratch_floats(p->head_dim, MAX_ROWS / BLOCK) * sizeof(float);
}

/* ---- relative_bias, grid_bias, softmax: a row at a time ---- */

int64_t BI_ISA_NAME(relative_bias_tasks)(const void *params, int n_threads)
{
    const struct bi_relative_bias_params *p = params;
    return count_tasks(p->counts, p->seqs, p->n_heads, n_threads);
}

void BI_ISA_NAME(relative_bias_run)(const void *params, int64_t task, int64_t n_tasks,
                                    void *scratch)
{
    const struct bi_relative_bias_params *p = params;
    const struct part part = find_part(p->counts, p->seqs, p->start, p->n_heads, task, n_tasks);
    const float *bias = p->bias + (int64_t)part.head * (2 * p->reach + 1) + p->reach;
    (void)scratch;
    for (int64_t i = part.first; i < part.first + part.n; i++) {
        const int64_t row = (part.start + i) * p->ldp + part.head * p->ldh;
        for (int64_t j = 0; j < part.length; j++) {
            const int64_t x = j - i;
            p->p[row + j] = p->x[row + j] + bias[x < -p->reach  ? -p->reach
                                                 : x > p->reach ? p->reach
                                                                : x];
        }
    }
}

int64_t BI_ISA_NAME(softmax_tasks)(const void *params, int n_threads)
{
    const struct bi_softmax_params *p = params;
    return count_tasks(p->counts, p->seqs, p->n_heads, n_threads);
}

int64_t BI_ISA_NAME(grid_bias_tasks)(const void *params, int n_threads)
{
    const struct bi_grid_bias_params *p = params;
    return count_tasks(p->counts, p->seqs, p->n_heads, n_threads);
}

void BI_ISA_NAME(grid_bias_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_grid_bias_params *p = params;
    const struct part part = find_part(p->counts, p->seqs, p->start, p->n_heads, task, n_tasks);
    const int64_t grid = part.n
                             ? bi_bias_grid(p->counts, p->grid_start, p->axis, part.seq, part.start)
                             : 0;
    (void)scratch;
    for (int64_t i = part.first; i < part.first + part.n; i++) {
        const int64_t row = (part.start + i) * p->ldp + part.head * p->ldh;
        const float *bias = p->bias + (grid + i * part.length) * p->ldb + part.head;
        for (int64_t j = 0; j < part.length; j++)
            p->p[row + j] = p->x[row + j] + bias[j * p->ldb];
    }
}

static void softmax_row(float *p, const float *x, int64_t n, int64_t width)
{
    const int64_t whole = n / VW * VW;
    const int rest = (int)(n - whole);
    vf top = vf_set1(-FLT_MAX), sum = vf_zero();
    for (int64_t j = 0; j < whole; j += VW)
        top = vf_max(top, vf_load(x + j));
    if (rest)
        top = vf_max(top, vf_select(vm_first(rest), vf_load_n(x + whole, rest), top));
    const vf high = vf_set1(vf_hmax(top));
    for (int64_t j = 0; j < whole; j += VW) {
        vf y = vf_exp(vf_sub(vf_load(x + j), high));
        sum = vf_add(sum, y);
        vf_store(p + j, y);
    }
    if (rest) {
        vf y = vf_exp(vf_sub(vf_load_n(x + whole, rest), high));
        sum = vf_add(sum, vf_select(vm_first(rest), y, vf_zero()));
        vf_store_n(p + whole, y, rest);
    }
    const vf by = vf_set1(1 / vf_hsum(sum));
    for (int64_t j = 0; j < whole; j += VW)
        vf_store(p + j, vf_mul(vf_load(p + j), by));
    if (rest)
        vf_store_n(p + whole, vf_mul(vf_load_n(p + whole, rest), by), rest);
    for (int64_t j = n; j < width; j++)
        p[j] = 0;
}

void BI_ISA_NAME(softmax_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_softmax_params *p = params;
    const struct part part = find_part(p->counts, p->seqs, p->start, p->n_heads, task, n_tasks);
    (void)scratch;
    for (int r = 0; r < part.n; r++) {
        const int64_t row = (part.start + part.first + r) * p->ldp + part.head * p->ldh;
        softmax_row(p->p + row, p->x + row, part.length, p->ldh);
    }
}

/* ---- mix ---- */

int64_t BI_ISA_NAME(mix_tasks)(const void *params, int n_threads)
{
    const struct bi_mix_params *p = params;
    return count_tasks(p->counts, p->seqs, p->n_heads, n_threads);
}

void BI_ISA_NAME(mix_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_mix_params *p = params;
    const struct part part = find_part(p->counts, p->seqs, p->start, p->n_heads, task, n_tasks);
    const int d = p->head_dim, width = round_up(d, KEY_GROUP);
    const struct work w = lay_out(scratch, d);
    const int64_t column = (int64_t)part.head * d;
    const vf one[BLOCK_VECTORS] = {vf_set1(1), vf_set1(1), vf_set1(1)};
    for (int r = 0; r < part.n; r += BLOCK)
        memset(w.blocks + (size_t)(r / BLOCK) * block_floats(d), 0,
               sizeof(float) * (size_t)(width * BLOCK));
    for (int64_t first = 0; part.n && first < part.length; first += KEY_TILE) {
        const int n_keys = min_int(part.length - first, KEY_TILE);
        pack_values(w.values, p->v + column, p->ldv, part.start + first, n_keys, d);
        for (int r = 0; r < part.n; r += BLOCK) {
            transpose(w.scores, BLOCK,
                      p->p + (part.start + part.first + r) * p->ldp + part.head * p->ldh + first,
                      p->ldp, min_int(part.n - r, BLOCK), n_keys);
            tile_mix(w.blocks + (size_t)(r / BLOCK) * block_floats(d), w.scores, w.values, n_keys,
                     d, BLOCK_VECTORS, one);
        }
    }
    for (int r = 0; r < part.n; r += BLOCK)
        unpack_rows(p->y + (part.start + part.first + r) * p->ldy + column, p->ldy,
                    w.blocks + (size_t)(r / BLOCK) * block_floats(d), min_int(part.n - r, BLOCK), d,
                    one);
}

size_t BI_ISA_NAME(mix_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_mix_params *p = params;
    (void)rows;
    (void)longest;
    return scratch_floats(p->head_dim, MAX_ROWS / BLOCK) * sizeof(float);
}

BI_CPU_ENTRY_SCRATCH(attention)
BI_CPU_ENTRY_SCRATCH(scores)
BI_CPU_ENTRY(relative_bias)
BI_CPU_ENTRY(grid_bias)
BI_CPU_ENTRY(softmax)
BI_CPU_ENTRY_SCRATCH(mix)

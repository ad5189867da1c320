/* multiquery.c - attention of which all heads share keys and values, see kernels/multiquery.h.
 *
 * A task is one head for up to MAX_ROWS queries of a sequence, in blocks of BLOCK; lanes are
 * queries (attention_tile.h). A query's chain of operations does not depend on its block. */
#include "../multiquery.h"
#include "attention_tile.h"
#include "entries.h"
#include "math.h"

enum { MAX_ROWS = 4 * BLOCK };

static int64_t pieces_of(const struct bi_multiquery_params *p)
{
    return ((int64_t)p->n + MAX_ROWS - 1) / MAX_ROWS;
}

/* A block: queries [d][BLOCK], sums [e][BLOCK], maxima, totals. */
static size_t block_floats(int d, int e)
{
    return (size_t)(round_up(d, KEY_GROUP) + round_up(e, KEY_GROUP) + 2) * BLOCK;
}

struct work {
    float *keys, *values, *scores, *rows, *blocks;
};

static struct work lay_out(void *scratch, int d, int e)
{
    const size_t dw = (size_t)round_up(d, KEY_GROUP), ew = (size_t)round_up(e, KEY_GROUP);
    struct work w = {.keys = scratch};
    w.values = w.keys + KEY_TILE * dw;
    w.scores = w.values + KEY_TILE * ew;
    w.rows = w.scores + KEY_TILE * BLOCK;
    w.blocks = w.rows + BLOCK * dw;
    return w;
}

size_t BI_ISA_NAME(multiquery_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_multiquery_params *p = params;
    const size_t d = (size_t)round_up(p->d, KEY_GROUP), e = (size_t)round_up(p->e, KEY_GROUP);
    (void)rows;
    (void)longest;
    return sizeof(float) *
           (KEY_TILE * (d + e + BLOCK) + BLOCK * d + MAX_ROWS / BLOCK * block_floats(p->d, p->e));
}

int64_t BI_ISA_NAME(multiquery_tasks)(const void *params, int n_threads)
{
    const struct bi_multiquery_params *p = params;
    (void)n_threads;
    return pieces_of(p) * p->n_heads * (p->rows / p->n);
}

/* Where a tile lies: queries from row `query` of the sequence on, keys from row `key`. */
struct spot {
    const float *bias; /* [side][side], ldb apart, of the head; NULL = none */
    int64_t query, key;
};

/* Adds biases, caps, multiplies by LOG2E; top = the largest of each query. */
static void finish_logits(const struct bi_multiquery_params *p, const struct spot *at,
                          float *scores, int n_keys, vf *top)
{
    const int64_t side = p->n / p->pool;
    const vf cap = vf_set1(p->cap * LOG2E), inverse = vf_set1(p->cap > 0 ? 1 / p->cap : 0);
    float bias[BLOCK] = {0};
    for (int j = 0; j < n_keys; j++) {
        const int64_t key = at->key + j;
        for (int i = 0; at->bias && (!j || key % p->pool == 0) && i < BLOCK; i++) {
            const int64_t query = at->query + i < p->n ? at->query + i : p->n - 1;
            bias[i] = at->bias[(query / p->pool * side + key / p->pool) * p->ldb];
        }
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            float *s = scores + j * BLOCK + v * VW;
            const vf z = vf_add(vf_load(s), vf_load(bias + v * VW));
            const vf y = p->cap > 0 ? vf_mul(cap, vf_tanh(vf_mul(z, inverse)))
                                    : vf_mul(z, vf_set1(LOG2E));
            vf_store(s, y);
            top[v] = vf_max(top[v], y);
        }
    }
}

static __attribute__((noinline)) void attend_tile(const struct bi_multiquery_params *p,
                                                  float *block, const struct work *w,
                                                  const struct spot *at, int n_keys)
{
    const int d = p->d, e = p->e;
    float *out = block + round_up(d, KEY_GROUP) * BLOCK;
    float *top = out + round_up(e, KEY_GROUP) * BLOCK, *total = top + BLOCK;
    vf high[BLOCK_VECTORS], sum[BLOCK_VECTORS], keep[BLOCK_VECTORS], unused[BLOCK_VECTORS];
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        high[v] = vf_load(top + v * VW);
        unused[v] = vf_zero();
    }
    tile_scores(w->scores, block, w->keys, n_keys, d, BLOCK_VECTORS, unused, NULL);
    finish_logits(p, at, w->scores, n_keys, high);
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        keep[v] = exp2_negative(vf_sub(vf_load(top + v * VW), high[v]));
        sum[v] = vf_mul(vf_load(total + v * VW), keep[v]);
        vf_store(top + v * VW, high[v]);
    }
    tile_exp(w->scores, n_keys, BLOCK_VECTORS, high, sum);
    for (int v = 0; v < BLOCK_VECTORS; v++)
        vf_store(total + v * VW, sum[v]);
    tile_mix(out, w->scores, w->values, n_keys, e, BLOCK_VECTORS, keep);
}

/* Divides the sums of a block by their totals and writes n rows of a head. */
static void put_rows(float *y, int64_t ldy, float *out, int e, int n)
{
    const float *total = out + (round_up(e, KEY_GROUP) + 1) * BLOCK;
    for (int c = 0; c < e; c++)
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            float *o = out + c * BLOCK + v * VW;
            vf_store(o, vf_div(vf_load(o), vf_load(total + v * VW)));
        }
    transpose(y, ldy, out, BLOCK, e, n);
}

void BI_ISA_NAME(multiquery_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_multiquery_params *p = params;
    const int d = p->d, e = p->e, dw = round_up(d, KEY_GROUP), ew = round_up(e, KEY_GROUP);
    const struct work w = lay_out(scratch, d, e);
    const size_t size = block_floats(d, e);
    const int64_t pieces = pieces_of(p), head = task / pieces % p->n_heads, side = p->n / p->pool;
    const int64_t run = task / (pieces * p->n_heads), start = run * p->n;
    const int64_t row0 = task % pieces * MAX_ROWS;
    const int64_t rows = p->n - row0 < MAX_ROWS ? p->n - row0 : MAX_ROWS;
    (void)n_tasks;
    for (int64_t r = 0; r < rows; r += BLOCK) {
        float *block = w.blocks + (size_t)(r / BLOCK) * size, *top = block + (dw + ew) * BLOCK;
        const int n = rows - r < BLOCK ? (int)(rows - r) : BLOCK;
        pack_queries(block, p->q + head * d, p->ldq, p->table, start, row0 + r, n, d, p->scale,
                     w.rows);
        memset(block + dw * BLOCK, 0, sizeof *block * (size_t)(ew * BLOCK));
        for (int i = 0; i < BLOCK; i++) {
            top[i] = -FLT_MAX; /* not -inf: the difference of two would be NaN */
            top[BLOCK + i] = 0;
        }
    }
    for (int64_t key = 0; key < p->n; key += KEY_TILE) {
        const int n_keys = p->n - key < KEY_TILE ? (int)(p->n - key) : KEY_TILE;
        pack_keys(w.keys, p->k, p->ldk, p->table, start, key, n_keys, d);
        pack_values(w.values, p->v, p->ldv, start + key, n_keys, e);
        for (int64_t r = 0; r < rows; r += BLOCK) {
            const struct spot at = {p->bias ? p->bias + run * side * side * p->ldb + head : NULL,
                                    row0 + r, key};
            attend_tile(p, w.blocks + (size_t)(r / BLOCK) * size, &w, &at, n_keys);
        }
    }
    for (int64_t r = 0; r < rows; r += BLOCK)
        put_rows(p->y + (start + row0 + r) * p->ldy + head * e, p->ldy,
                 w.blocks + (size_t)(r / BLOCK) * size + dw * BLOCK, e,
                 rows - r < BLOCK ? (int)(rows - r) : BLOCK);
}

BI_CPU_ENTRY_SCRATCH(multiquery)

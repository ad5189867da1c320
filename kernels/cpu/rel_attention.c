/* rel_attention.c - attention over one sequence with relative positions, see
 * kernels/rel_attention.h.
 *
 * A task is one head for up to MAX_ROWS queries, in blocks of BLOCK; lanes are queries
 * (attention_tile.h). Against a tile of keys first ... first + KEY_TILE - 1, the queries
 * i0 ... i0 + BLOCK - 1 meet the positions of a band of KEY_TILE + BLOCK - 1 rows of r. The
 * products with the band are made like scores, then added along its diagonals. A query's
 * tiles of keys and its chain of operations depend on its token only, not on its block. */
#include "../rel_attention.h"
#include "attention_tile.h"
#include "entries.h"

enum { MAX_ROWS = 4 * BLOCK, BAND = KEY_TILE + BLOCK };

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t pieces_of(const struct bi_rel_attention_params *p)
{
    return (p->n_queries + MAX_ROWS - 1) / MAX_ROWS;
}

/* Where things lie in the scratch of a thread. The key width d and the value width e are
 * rounded up to KEY_GROUP. */
struct work {
    float *keys;   /* [KEY_TILE][d] */
    float *values; /* [KEY_TILE][e] */
    float *band;   /* [BAND][d], rows of r */
    float *scores; /* [KEY_TILE][BLOCK] */
    float *along;  /* [BAND][BLOCK]; before that, rows of queries */
    float *blocks; /* [MAX_ROWS / BLOCK] of block_floats() */
};

/* A block: queries + u, queries + w [d][BLOCK] each, sums [e][BLOCK], maxima, totals. */
static size_t block_floats(int d, int e)
{
    return (size_t)(2 * round_up(d, KEY_GROUP) + round_up(e, KEY_GROUP) + 2) * BLOCK;
}

static size_t along_floats(int d)
{
    return (size_t)(d > BAND ? d : BAND) * BLOCK;
}

static struct work lay_out(void *scratch, int d, int e)
{
    const size_t dw = (size_t)round_up(d, KEY_GROUP), ew = (size_t)round_up(e, KEY_GROUP);
    struct work w = {.keys = scratch};
    w.values = w.keys + KEY_TILE * dw;
    w.band = w.values + KEY_TILE * ew;
    w.scores = w.band + BAND * dw;
    w.along = w.scores + KEY_TILE * BLOCK;
    w.blocks = w.along + along_floats(d);
    return w;
}

size_t BI_ISA_NAME(rel_attention_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_rel_attention_params *p = params;
    const size_t d = (size_t)round_up(p->key_dim, KEY_GROUP);
    const size_t e = (size_t)round_up(p->value_dim, KEY_GROUP);
    (void)rows;
    (void)longest;
    return sizeof(float) *
           ((KEY_TILE + BAND) * d + KEY_TILE * e + KEY_TILE * BLOCK + along_floats(p->key_dim) +
            MAX_ROWS / BLOCK * block_floats(p->key_dim, p->value_dim));
}

int64_t BI_ISA_NAME(rel_attention_tasks)(const void *params, int n_threads)
{
    const struct bi_rel_attention_params *p = params;
    (void)n_threads;
    return pieces_of(p) * p->n_heads * p->n_windows;
}

/* to[c][r] = LOG2E (scale x[r][c] + bias[c]), lanes beyond n zero. rows: work space. */
static void pack_biased(float *to, const float *x, int64_t ldx, const float *bias, int n, int d,
                        float scale, float *rows)
{
    for (int r = 0; r < n; r++)
        for (int c = 0; c < d; c += VW) {
            const int m = d - c < VW ? d - c : VW;
            const vf q = vf_mul(vf_load_n(x + r * ldx + c, m), vf_set1(scale));
            vf_store_n(rows + r * d + c, vf_mul(vf_add(q, vf_load_n(bias + c, m)), vf_set1(LOG2E)),
                       m);
        }
    if (n < BLOCK)
        memset(rows + n * d, 0, sizeof *rows * (size_t)((BLOCK - n) * d));
    transpose(to, BLOCK, rows, d, BLOCK, d);
}

/* Rows first ... first + n - 1 of r, which may begin before the table or end behind it where
 * only lanes without a query look. */
static void pack_band(float *to, const struct bi_rel_attention_params *p, int64_t column,
                      int64_t first, int n)
{
    const int d = p->key_dim, width = round_up(d, KEY_GROUP);
    const int64_t last = 2 * (int64_t)p->n - 2;
    for (int m = 0; m < round_up(n, KEY_GROUP); m++) {
        int64_t row = first + m;
        row = row < 0 ? 0 : row > last ? last : row;
        memcpy(to + m * width, p->r + row * p->ldr + column, sizeof *to * (size_t)d);
    }
}

/* scores[j][i] += along[j + BLOCK - 1 - i][i], top = the largest of each query */
static void add_diagonals(float *scores, const float *along, int n_keys, vf *top)
{
    for (int j = 0; j < round_up(n_keys, KEY_GROUP); j++) {
        const int from = j < n_keys ? j : n_keys - 1; /* rows behind the last repeat it */
        float *s = scores + j * BLOCK;
        const float *a = along + (from + BLOCK - 1) * BLOCK;
        for (int i = 0; i < BLOCK; i++)
            s[i] += a[i - i * BLOCK];
        for (int v = 0; v < BLOCK_VECTORS; v++)
            top[v] = vf_max(top[v], vf_load(s + v * VW));
    }
}

static __attribute__((noinline)) void attend_tile(const struct bi_rel_attention_params *p,
                                                  float *block, const struct work *w,
                                                  int64_t column, int64_t token, int64_t first,
                                                  int n_keys, const int d, const int e)
{
    float *content = block, *position = content + round_up(d, KEY_GROUP) * BLOCK;
    float *out = position + round_up(d, KEY_GROUP) * BLOCK;
    float *top = out + round_up(e, KEY_GROUP) * BLOCK, *total = top + BLOCK;
    const int band = n_keys + BLOCK - 1;
    vf high[BLOCK_VECTORS], sum[BLOCK_VECTORS], keep[BLOCK_VECTORS], unused[BLOCK_VECTORS];
    /* lane i and key j meet at row n - 1 - (token + i) + first + j of r */
    pack_band(w->band, p, column, p->n - 1 - token - (BLOCK - 1) + first, band);
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        high[v] = vf_load(top + v * VW);
        unused[v] = vf_zero();
    }
    tile_scores(w->scores, content, w->keys, n_keys, d, BLOCK_VECTORS, unused, NULL);
    tile_scores(w->along, position, w->band, band, d, BLOCK_VECTORS, unused, NULL);
    add_diagonals(w->scores, w->along, n_keys, high);
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

/* The params of a task's window alone. */
static struct bi_rel_attention_params window_of(const struct bi_rel_attention_params *all,
                                                int64_t task)
{
    struct bi_rel_attention_params p = *all;
    const int64_t window = task / (pieces_of(all) * all->n_heads);
    p.q += window * p.n_queries * p.ldq;
    p.k += window * p.n * p.ldk;
    p.v += window * p.n * p.ldv;
    p.y += window * p.n_queries * p.ldy;
    return p;
}

void BI_ISA_NAME(rel_attention_run)(const void *params, int64_t task, int64_t n_tasks,
                                    void *scratch)
{
    const struct bi_rel_attention_params own = window_of(params, task), *p = &own;
    const int d = p->key_dim, e = p->value_dim, ew = round_up(e, KEY_GROUP);
    const struct work w = lay_out(scratch, d, e);
    const size_t size = block_floats(d, e);
    const int64_t pieces = pieces_of(p), head = task / pieces % p->n_heads;
    const int64_t row0 = task % pieces * MAX_ROWS;
    const int64_t rows = min64(p->n_queries - row0, MAX_ROWS);
    const int64_t kc = head * d, vc = head * e;
    (void)n_tasks;
    for (int64_t r = 0; r < rows; r += BLOCK) {
        float *block = w.blocks + (size_t)(r / BLOCK) * size;
        float *position = block + round_up(d, KEY_GROUP) * BLOCK;
        float *out = position + round_up(d, KEY_GROUP) * BLOCK, *top = out + ew * BLOCK;
        const float *q = p->q + (row0 + r) * p->ldq + kc;
        const int n = (int)min64(rows - r, BLOCK);
        pack_biased(block, q, p->ldq, p->u + kc, n, d, p->scale, w.along);
        pack_biased(position, q, p->ldq, p->w + kc, n, d, p->scale, w.along);
        memset(out, 0, sizeof *out * (size_t)(ew * BLOCK));
        for (int i = 0; i < BLOCK; i++) {
            top[i] = -FLT_MAX; /* not -inf: the difference of two would be NaN */
            top[BLOCK + i] = 0;
        }
    }
    for (int64_t first = 0; first < p->n; first += KEY_TILE) {
        const int n_keys = (int)min64(p->n - first, KEY_TILE);
        pack_keys(w.keys, p->k + kc, p->ldk, NULL, 0, first, n_keys, d);
        pack_values(w.values, p->v + vc, p->ldv, first, n_keys, e);
        for (int64_t r = 0; r < rows; r += BLOCK)
            attend_tile(p, w.blocks + (size_t)(r / BLOCK) * size, &w, kc, p->first + row0 + r,
                        first, n_keys, d, e);
    }
    for (int64_t r = 0; r < rows; r += BLOCK) {
        float *out = w.blocks + (size_t)(r / BLOCK) * size +
                     2 * (size_t)round_up(d, KEY_GROUP) * BLOCK;
        const float *total = out + (ew + 1) * BLOCK;
        for (int c = 0; c < e; c++)
            for (int v = 0; v < BLOCK_VECTORS; v++) {
                float *o = out + c * BLOCK + v * VW;
                vf_store(o, vf_div(vf_load(o), vf_load(total + v * VW)));
            }
        transpose(p->y + (row0 + r) * p->ldy + vc, p->ldy, out, BLOCK, e,
                  (int)min64(rows - r, BLOCK));
    }
}

BI_CPU_ENTRY_SCRATCH(rel_attention)

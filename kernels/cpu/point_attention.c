/* point_attention.c - invariant point attention, see kernels/point_attention.h.
 *
 * A task is one head of one sequence for up to MAX_ROWS queries, in blocks of BLOCK; lanes are
 * queries (attention_tile.h). Points of queries are moved to space once a task, points of keys by
 * tiles, and distances are sums of squares of differences. Values of a key are C numbers and 3 V
 * coordinates in space. A query's chain of operations depends on its place in the sequence only. */
#include "../point_attention.h"
#include "../rigid.h"
#include "attention_tile.h"
#include "entries.h"
#include "math.h"

enum {
    MAX_ROWS = 2 * BLOCK,
    PLACED = (int)BI_POINT_VALUES + 3 * (int)BI_POINT_KEYS /* floats of a key's points, at most */
};
_Static_assert((int)KEY_TILE >= (int)PLACED, "scores have room for rows that are packed");

typedef struct bi_point_attention_params P;

/* Where things lie in the scratch of a thread; widths of q, k and values are rounded up to
 * KEY_GROUP. */
struct work {
    float *keys;   /* [KEY_TILE][C] */
    float *points; /* [KEY_TILE][3 P], in space */
    float *values; /* [KEY_TILE][C + 3 V] */
    float *scores; /* [KEY_TILE][BLOCK], and rows for packing */
    float *bias;   /* [KEY_TILE][BLOCK], where there is one */
    float *blocks; /* [MAX_ROWS / BLOCK] of struct block */
};

/* A block of queries: every row is of BLOCK lanes. */
struct block {
    float *q;      /* [C] */
    float *points; /* [3 P], in space */
    float *out;    /* [C + 3 V] */
    float *bins;   /* [n_bins] */
    float *pair;   /* [BLOCK][D] in place of rows of BLOCK */
    float *top, *total;
    int32_t *number; /* Per query; zero beyond them */
};

static size_t block_floats(const P *p)
{
    return (size_t)(round_up(p->head_dim, KEY_GROUP) + 3 * p->n_keys +
                    round_up(p->head_dim + 3 * p->n_values, KEY_GROUP) + p->n_bins + p->width + 3) *
           BLOCK;
}

static struct block block_of(const P *p, const struct work *w, int64_t row)
{
    struct block b = {.q = w->blocks + (size_t)(row / BLOCK) * block_floats(p)};
    b.points = b.q + round_up(p->head_dim, KEY_GROUP) * BLOCK;
    b.out = b.points + 3 * p->n_keys * BLOCK;
    b.bins = b.out + round_up(p->head_dim + 3 * p->n_values, KEY_GROUP) * BLOCK;
    b.pair = b.bins + p->n_bins * BLOCK;
    b.top = b.pair + p->width * BLOCK;
    b.total = b.top + BLOCK;
    b.number = (int32_t *)(b.total + BLOCK);
    return b;
}

static struct work lay_out(const P *p, void *scratch)
{
    struct work w = {.keys = scratch};
    w.points = w.keys + KEY_TILE * round_up(p->head_dim, KEY_GROUP);
    w.values = w.points + KEY_TILE * 3 * p->n_keys;
    w.scores = w.values + KEY_TILE * round_up(p->head_dim + 3 * p->n_values, KEY_GROUP);
    w.bias = w.scores + KEY_TILE * BLOCK;
    w.blocks = w.bias + (p->bias ? KEY_TILE * BLOCK : 0);
    return w;
}

size_t BI_ISA_NAME(point_attention_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const P *p = params;
    float *from = NULL;
    (void)rows;
    (void)longest;
    return (size_t)((char *)(lay_out(p, from).blocks + MAX_ROWS / BLOCK * block_floats(p)) -
                    (char *)from);
}

static int64_t pieces_of(const P *p)
{
    return (p->counts->longest + MAX_ROWS - 1) / MAX_ROWS;
}

int64_t BI_ISA_NAME(point_attention_tasks)(const void *params, int n_threads)
{
    const P *p = params;
    (void)n_threads;
    return p->counts->n_seqs * pieces_of(p) * p->n_heads;
}

/* The n points from column `at` of x on, `stride` columns a coordinate, of a token with this frame
 * (NULL: the identity), to [n][3] in space. */
static void place(float *to, const float *x, int64_t stride, int64_t at, int n, const float *frame)
{
    static const float identity[BI_FRAME] = {1};
    const float *f = frame ? frame : identity, *t = f + 4;
    const struct bi_rotation r = bi_rotation_of(f);
    for (int i = 0; i < n; i++, at++)
        for (int c = 0; c < 3; c++)
            to[3 * i + c] = r.of[3 * c] * x[at] + r.of[3 * c + 1] * x[stride + at] +
                            r.of[3 * c + 2] * x[2 * stride + at] + t[c];
}

static const float *frame_of(const P *p, int64_t token)
{
    return p->frame ? p->frame + token * p->ldf : NULL;
}

/* Queries of the n tokens from `token` on; lanes beyond them are zero. */
static void pack_block(const P *p, const struct work *w, const struct block *b, int head,
                       int64_t token, int n)
{
    const int width = 3 * p->n_keys, values = round_up(p->head_dim + 3 * p->n_values, KEY_GROUP);
    pack_queries(b->q, p->q + head * p->head_dim, p->ldq, NULL, 0, token, n, p->head_dim,
                 p->scale * LOG2E, w->scores);
    memset(w->scores, 0, sizeof *w->scores * (size_t)(width * BLOCK));
    for (int i = 0; i < n; i++)
        place(w->scores + i * width, p->points + (token + i) * p->ldp,
              (int64_t)p->n_heads * p->n_keys, (int64_t)head * p->n_keys, p->n_keys,
              frame_of(p, token + i));
    transpose(b->points, BLOCK, w->scores, width, BLOCK, width);
    memset(b->out, 0, sizeof *b->out * (size_t)((values + p->n_bins + p->width) * BLOCK));
    for (int i = 0; i < BLOCK; i++) {
        b->top[i] = -FLT_MAX; /* not -inf: the difference of two would be NaN */
        b->total[i] = 0;
        b->number[i] = p->n_bins && i < n ? p->number[token + i] : 0;
    }
}

/* Keys, their points and values, of the n tokens from `token` on. */
static void pack_tile(const P *p, const struct work *w, int head, int64_t token, int n)
{
    const int c = p->head_dim, more = p->n_keys + p->n_values, keys = 3 * p->n_keys;
    const int width = round_up(c + 3 * p->n_values, KEY_GROUP);
    float placed[PLACED];
    pack_keys(w->keys, p->k + head * c, p->ldk, NULL, 0, token, n, c);
    for (int j = 0; j < n; j++) {
        float *values = w->values + j * width;
        place(placed, p->more + (token + j) * p->ldm, (int64_t)p->n_heads * more,
              (int64_t)head * more, more, frame_of(p, token + j));
        memcpy(w->points + j * keys, placed, sizeof *placed * (size_t)keys);
        memset(values, 0, sizeof *values * (size_t)width);
        memcpy(values, p->v + (token + j) * p->ldv + head * c, sizeof *values * (size_t)c);
        memcpy(values + c, placed + keys, sizeof *values * (size_t)(3 * p->n_values));
    }
}

/* scores -= by |difference of points|^2, top = the largest of each query. */
static void add_distances(const P *p, const struct work *w, const struct block *b, int n_keys,
                          vf by, vf *top)
{
    const int width = 3 * p->n_keys;
    for (int j = 0; j < n_keys; j++) {
        float *s = w->scores + j * BLOCK;
        vf square[BLOCK_VECTORS];
        for (int v = 0; v < BLOCK_VECTORS; v++)
            square[v] = vf_zero();
        for (int c = 0; c < width; c++) {
            const vf x = vf_set1(w->points[j * width + c]);
            for (int v = 0; v < BLOCK_VECTORS; v++) {
                const vf a = vf_sub(vf_load(b->points + c * BLOCK + v * VW), x);
                square[v] = vf_fma(a, a, square[v]);
            }
        }
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            const vf y = vf_fnma(by, square[v], vf_load(s + v * VW));
            top[v] = vf_max(top[v], y);
            vf_store(s + v * VW, y);
        }
    }
}

/* bins[number of key - number of query][query] += its weight, key by key. */
static void add_bins(const P *p, const struct work *w, const struct block *b, int64_t token,
                     int n_keys)
{
    for (int j = 0; j < n_keys; j++) {
        const float *s = w->scores + j * BLOCK;
        for (int i = 0; i < BLOCK; i++) {
            const int64_t gap = ((int64_t)p->number[token + j] - b->number[i]) % p->n_bins;
            b->bins[(gap < 0 ? gap + p->n_bins : gap) * BLOCK + i] += s[i];
        }
    }
}

/* pair[query] = keep pair[query] + sums over keys of weights and values of pairs, key by key, of n
 * queries; first is the row of query 0 and key 0, `side` rows from a query to the next. */
static void add_pairs(const P *p, const struct work *w, const struct block *b, const float *keep,
                      int64_t first, int64_t side, int n, int n_keys)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < p->width; c += VW) {
            const int some = p->width - c < VW ? p->width - c : VW;
            const float *x = p->pair + (first + i * side) * p->ldz + c;
            float *to = b->pair + i * p->width + c;
            vf sum = vf_mul(vf_load_n(to, some), vf_set1(keep[i]));
            for (int j = 0; j < n_keys; j++, x += p->ldz)
                sum = vf_fma(vf_set1(w->scores[j * BLOCK + i]), vf_load_n(x, some), sum);
            vf_store_n(to, sum, some);
        }
}

/* A block of n queries against the n_keys keys of a tile, from `token` on. by: of squares, in
 * powers of two; pair: the row of query 0 and key 0 in the grid, `side` rows a query. */
static void attend_tile(const P *p, const struct work *w, const struct block *b, int head,
                        int64_t token, int n, int n_keys, vf by, int64_t pair, int64_t side)
{
    const struct place at = {.tile = w->bias};
    float shrink[BLOCK];
    vf high[BLOCK_VECTORS], sum[BLOCK_VECTORS], keep[BLOCK_VECTORS], unused[BLOCK_VECTORS];
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        high[v] = vf_load(b->top + v * VW);
        unused[v] = vf_zero();
    }
    if (p->bias)
        lay_pairs(w->bias, p->bias + pair * p->ldb + head, p->ldb, side * p->ldb, n, n_keys,
                  bi_point_bias_scale * LOG2E);
    tile_scores(w->scores, b->q, w->keys, n_keys, p->head_dim, BLOCK_VECTORS, unused,
                p->bias ? &at : NULL);
    add_distances(p, w, b, n_keys, by, high);
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        keep[v] = exp2_negative(vf_sub(vf_load(b->top + v * VW), high[v]));
        sum[v] = vf_mul(vf_load(b->total + v * VW), keep[v]);
        vf_store(b->top + v * VW, high[v]);
        vf_store(shrink + v * VW, keep[v]);
    }
    tile_exp(w->scores, n_keys, BLOCK_VECTORS, high, sum);
    for (int v = 0; v < BLOCK_VECTORS; v++)
        vf_store(b->total + v * VW, sum[v]);
    tile_mix(b->out, w->scores, w->values, n_keys, p->head_dim + 3 * p->n_values, BLOCK_VECTORS,
             keep);
    for (int i = 0; i < p->n_bins; i++)
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            float *bin = b->bins + i * BLOCK + v * VW;
            vf_store(bin, vf_mul(vf_load(bin), keep[v]));
        }
    if (p->n_bins)
        add_bins(p, w, b, token, n_keys);
    if (p->width)
        add_pairs(p, w, b, shrink, pair, side, n, n_keys);
}

/* The points of a query, sums in space, to its frame and their lengths. */
static void write_points(const P *p, int head, int64_t token, const float *sums)
{
    static const float identity[BI_FRAME] = {1};
    const float *f = p->frame ? frame_of(p, token) : identity, *t = f + 4;
    const struct bi_rotation r = bi_rotation_of(f);
    const int64_t width = (int64_t)p->n_heads * p->n_values;
    float *y = p->y + token * p->ldy + p->n_heads * p->head_dim + head * p->n_values;
    for (int i = 0; i < p->n_values; i++) {
        const float a = sums[3 * i] - t[0], b = sums[3 * i + 1] - t[1], c = sums[3 * i + 2] - t[2];
        float square = p->eps;
        for (int d = 0; d < 3; d++) {
            const float x = r.of[d] * a + r.of[3 + d] * b + r.of[6 + d] * c;
            y[d * width + i] = x;
            square += x * x;
        }
        y[3 * width + i] = sqrtf(square);
    }
}

/* Results of a block: of the n tokens from `token` on. */
static void write_block(const P *p, const struct work *w, const struct block *b, int head,
                        int64_t token, int n)
{
    const int c = p->head_dim, width = c + 3 * p->n_values;
    float *bins = p->y + token * p->ldy + p->n_heads * (c + 4 * (int64_t)p->n_values) +
                  (int64_t)head * p->n_bins;
    float *pairs = bins + (int64_t)head * p->width; /* one of both has columns */
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        const vf by = vf_div(vf_set1(1), vf_load(b->total + v * VW));
        for (int i = 0; i < width; i++)
            vf_store(b->out + i * BLOCK + v * VW, vf_mul(vf_load(b->out + i * BLOCK + v * VW), by));
        for (int i = 0; i < p->n_bins; i++)
            vf_store(b->bins + i * BLOCK + v * VW,
                     vf_mul(vf_load(b->bins + i * BLOCK + v * VW), by));
    }
    transpose(w->scores, width, b->out, BLOCK, width, n);
    for (int i = 0; i < n; i++) {
        memcpy(p->y + (token + i) * p->ldy + head * c, w->scores + i * width,
               sizeof *p->y * (size_t)c);
        write_points(p, head, token + i, w->scores + i * width + c);
    }
    transpose(bins, p->ldy, b->bins, BLOCK, p->n_bins, n);
    for (int i = 0; i < n; i++)
        for (int e = 0; e < p->width; e++)
            pairs[i * p->ldy + e] = b->pair[i * p->width + e] / b->total[i];
}

void BI_ISA_NAME(point_attention_run)(const void *params, int64_t task, int64_t n_tasks,
                                      void *scratch)
{
    const P *p = params;
    const struct work w = lay_out(p, scratch);
    const int64_t pieces = pieces_of(p), seq = task / pieces / p->n_heads;
    const int head = (int)(task / pieces % p->n_heads);
    const int64_t start = p->start[seq], end = p->start[seq + 1];
    const int64_t first = start + task % pieces * MAX_ROWS;
    const int64_t last = first + MAX_ROWS < end ? first + MAX_ROWS : end;
    const vf by = vf_mul(vf_softplus(vf_set1(p->w[head])), vf_set1(p->by_distance * LOG2E));
    const int64_t grid = p->bias || p->pair ? p->grid_start[seq] : 0;
    (void)n_tasks;
    for (int64_t i = first; i < last; i += BLOCK) {
        const struct block b = block_of(p, &w, i - first);
        pack_block(p, &w, &b, head, i, (int)(last - i < BLOCK ? last - i : BLOCK));
    }
    for (int64_t j = start; first < last && j < end; j += KEY_TILE) {
        const int n = (int)(end - j < KEY_TILE ? end - j : KEY_TILE);
        pack_tile(p, &w, head, j, n);
        for (int64_t i = first; i < last; i += BLOCK) {
            const struct block b = block_of(p, &w, i - first);
            attend_tile(p, &w, &b, head, j, (int)(last - i < BLOCK ? last - i : BLOCK), n, by,
                        grid + (i - start) * (end - start) + j - start, end - start);
        }
    }
    for (int64_t i = first; i < last; i += BLOCK) {
        const struct block b = block_of(p, &w, i - first);
        write_block(p, &w, &b, head, i, (int)(last - i < BLOCK ? last - i : BLOCK));
    }
}

BI_CPU_ENTRY_SCRATCH(point_attention)

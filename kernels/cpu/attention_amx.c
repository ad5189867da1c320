/* attention_amx.c - softmax(scale q k^T + bias) v on AMX tiles, see kernels/attention.h.
 *
 * Both products are made of the bfloat16 terms of terms_amx.h: scores of three in both tables, as
 * their absolute errors become relative ones of p; the second product of as many as the table has.
 * As in attention.c lanes are queries, keys come in tiles of KEY_TILE, and each block of queries
 * moves its maximum and its sum:
 *
 *     scores [keys][queries] = keys [keys][d] times queries [d][queries]
 *     p = exp(scores - maximum), split into terms as it is made
 *     out [d][queries] = out * correction + values^T [d][keys] times p [keys][queries]
 *
 * Keys and values^T are rows of tiles, queries and p are panels. Behind the last key p is 0. */
#define ATTENTION_BLOCK 32 /* NR: queries of a panel */
#include "attention_parts.h"
#include "entries.h"
#include "terms_amx.h"

#include <stdbool.h>

_Static_assert(ATTENTION_BLOCK == NR, "a block of queries is a panel");

enum {
    KEY_STEPS = KEY_TILE / TILE_K,
    KEY_PANEL = KEY_STEPS * 2 * TILE_SIZE,
    SCORE_TERMS = TERMS_MAX
};

/* Sizes that follow from the width of a head. */
struct sizes {
    int d, terms;   /* terms: of p and values */
    int64_t steps;  /* a product over d has so many */
    int64_t height; /* tiles of 16 rows that d takes */
    int64_t panel;  /* bytes of one term of a block of queries */
    int64_t keys;   /* bytes of MR packed keys */
    int64_t values; /* bytes of MR packed rows of values^T */
};

static struct sizes sizes_of(int d, int terms)
{
    struct sizes s = {.d = d, .terms = terms};
    s.steps = (d + TILE_K - 1) / TILE_K;
    s.height = height_of(d);
    s.panel = s.steps * 2 * TILE_SIZE;
    s.keys = s.panel * SCORE_TERMS;
    s.values = (int64_t)KEY_PANEL * terms;
    return s;
}

/* Floats of out, maxima and sums of a block. */
static int64_t sums_floats(const struct sizes *s)
{
    return (s->height * TILE_ROWS + 2) * BLOCK;
}

static int64_t block_size(const struct sizes *s)
{
    return s->panel * SCORE_TERMS + sums_floats(s) * (int64_t)sizeof(float);
}

/* Floats of rows being packed: values^T and keys, or queries and their transpose. */
static int64_t rows_floats(const struct sizes *s)
{
    return (int64_t)s->d * (s->d > KEY_TILE ? s->d : KEY_TILE) + 2 * BLOCK * s->d;
}

static int64_t keys_size(const struct sizes *s)
{
    return KEY_TILE / MR * s->keys;
}

static int64_t values_size(const struct sizes *s)
{
    return (s->height + 1) / 2 * s->values;
}

/* Where things lie in the scratch of a thread. */
struct work {
    char *keys;    /* [KEY_TILE / MR] of sizes.keys */
    char *values;  /* [height / 2] of sizes.values */
    char *p;       /* [terms] of KEY_PANEL */
    float *scores; /* [KEY_TILE][BLOCK] */
    char *blocks;  /* each takes block_size() */
    float *rows;   /* rows_floats() */
    float *bias;
};

static struct work lay_out(void *scratch, const struct sizes *s)
{
    struct work w = {.keys = scratch};
    w.values = w.keys + keys_size(s);
    w.p = w.values + values_size(s);
    w.scores = (float *)(void *)(w.p + s->values);
    w.blocks = (char *)(w.scores + KEY_TILE * BLOCK);
    w.rows = (float *)(void *)(w.blocks + MAX_ROWS / BLOCK * block_size(s));
    w.bias = w.rows + rows_floats(s);
    return w;
}

static size_t scratch_size(const struct bi_attention_params *p, int terms)
{
    const struct sizes s = sizes_of(p->head_dim, terms);
    const int64_t bias = p->bias ? 2 * (int64_t)p->reach + 1 + 2 * BLOCK : 0;
    const int64_t floats = KEY_TILE * BLOCK + rows_floats(&s) + bias;
    return (size_t)(keys_size(&s) + values_size(&s) + s.values +
                    MAX_ROWS / BLOCK * block_size(&s)) +
           (size_t)floats * sizeof(float);
}

static float *sums_of(char *block, const struct sizes *s)
{
    return (float *)(void *)(block + s->panel * SCORE_TERMS);
}

/* ---- packing ---- */

/* Terms of two rows that are neighbours in k, of VW columns at n, into row i of a panel's step: the
 * high halves of the floats, whose low ones are 0 but in denormal numbers. */
BI_INLINE void put_pair(char *step, int i, int n, vf even, vf odd)
{
    const vi low = vi_and(vi_sar(vf_bits(even), 16), vi_set1(0xffff));
    char *to = step + n / TILE_COLUMNS * TILE_SIZE + i * 64 + n % TILE_COLUMNS * 4;
    const vi high = vi_and(vf_bits(odd), vi_set1((int32_t)0xffff0000));
    vf_store((float *)(void *)to, vi_float_bits(vi_or(low, high)));
}

/* [d][BLOCK] floats into a panel of each term. */
BI_INLINE void pack_panel(char *to, const struct sizes *s, const float *q)
{
    for (int64_t i = 0; i < s->steps * TILE_K; i += 2) {
        char *step = to + i / TILE_K * 2 * TILE_SIZE;
        for (int n = 0; n < BLOCK; n += VW) {
            vf even = i < s->d ? vf_load(q + i * BLOCK + n) : vf_zero();
            vf odd = i + 1 < s->d ? vf_load(q + (i + 1) * BLOCK + n) : vf_zero();
            for (int t = 0; t < SCORE_TERMS; t++) {
                const vf a = round_term(even), b = round_term(odd);
                put_pair(step + t * s->panel, (int)(i % TILE_K) / 2, n, a, b);
                even = vf_sub(even, a);
                odd = vf_sub(odd, b);
            }
        }
    }
}

/* Queries first ... first + n - 1 of a sequence; sums, maxima and out of their block at 0. */
static void begin_block(const struct bi_attention_params *p, const struct part *part,
                        const struct sizes *s, const struct work *w, char *block, int64_t first,
                        int n)
{
    float *transposed = w->rows + BLOCK * s->d, *out = sums_of(block, s);
    float *top = out + s->height * TILE_ROWS * BLOCK;
    pack_queries(transposed, p->q + (int64_t)part->head * s->d, p->ldq, p->table, part->start,
                 first, n, s->d, p->scale * LOG2E, w->rows);
    pack_panel(block, s, transposed);
    memset(out, 0, (size_t)sums_floats(s) * sizeof *out);
    for (int i = 0; i < BLOCK; i++)
        top[i] = -FLT_MAX; /* not -inf: the difference of two would be NaN */
}

static void pack_tiles(char *to, const float *x, int64_t ldx, int64_t rows, int64_t k, int terms)
{
    if (terms == 2)
        pack_rows_of(to, x, ldx, rows, k, 2);
    else
        pack_rows_of(to, x, ldx, rows, k, 3);
}

/* Keys first ... first + n - 1 and their values. */
static void pack_keys_and_values(const struct bi_attention_params *p, const struct part *part,
                                 const struct sizes *s, const struct work *w, int64_t first, int n)
{
    const int64_t column = (int64_t)part->head * s->d, d = s->d;
    for (int j = 0; j < n; j += MR) {
        const int rows = min_int(n - j, MR);
        for (int r = 0; r < rows; r++)
            rotate_row(w->rows + r * d, p->k + (part->start + first + j + r) * p->ldk + column,
                       p->table ? p->table + (first + j + r) * d : NULL, s->d, 1);
        /* full height: what is behind the last key scores 0 */
        memset(w->rows + rows * d, 0, sizeof *w->rows * (size_t)((MR - rows) * d));
        pack_tiles(w->keys + j / MR * s->keys, w->rows, d, MR, d, SCORE_TERMS);
    }
    transpose(w->rows, KEY_TILE, p->v + (part->start + first) * p->ldv + column, p->ldv, n, s->d);
    for (int64_t c = 0; c < d; c += MR)
        pack_tiles(w->values + c / MR * s->values, w->rows + c * KEY_TILE, KEY_TILE,
                   min_int(d - c, MR), n, s->terms);
}

/* ---- a block of queries against a tile of keys ---- */

/* x >= 0 rounded to 8 bits of significand, to nearest; |x| < 2^100, NaN stays. */
BI_INLINE vf round_small(vf x)
{
    const vf c = vf_mul(x, vf_set1(65537));
    return vf_sub(c, vf_sub(c, x));
}

BI_INLINE void put_weights(const struct work *w, int j, int n, vf even, vf odd, const int terms)
{
    char *step = w->p + j / TILE_K * 2 * TILE_SIZE;
    for (int t = 0; t < terms; t++) {
        const vf a = round_small(even), b = round_small(odd);
        put_pair(step + t * KEY_PANEL, j % TILE_K / 2, n, a, b);
        even = vf_sub(even, a);
        odd = vf_sub(odd, b);
    }
}

/* p = 2^(scores - high) of all keys, 0 behind them; *total += its sum in the order of keys. */
BI_INLINE void exponentials(const struct work *w, int n_keys, const vf *high, vf *total,
                            const int terms)
{
    vf top[BLOCK_VECTORS], sum[BLOCK_VECTORS];
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        top[v] = high[v];
        sum[v] = vf_zero();
    }
    for (int j = 0; j < n_keys; j += 2)
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            const float *s = w->scores + j * BLOCK + v * VW;
            const vf even = exp2_negative(vf_sub(vf_load(s), top[v]));
            vf odd = vf_zero();
            sum[v] = vf_add(sum[v], even);
            if (j + 1 < n_keys) {
                odd = exp2_negative(vf_sub(vf_load(s + BLOCK), top[v]));
                sum[v] = vf_add(sum[v], odd);
            }
            put_weights(w, j, v * VW, even, odd, terms);
        }
    for (int j = (n_keys + 1) & ~1; j % TILE_K; j += 2)
        for (int v = 0; v < BLOCK_VECTORS; v++)
            put_weights(w, j, v * VW, vf_zero(), vf_zero(), terms);
    for (int v = 0; v < BLOCK_VECTORS; v++)
        total[v] = vf_add(total[v], sum[v]);
}

static void lay_scores(float *s, int n_keys, const struct place *at)
{
    for (int j = 0; j < n_keys; j++)
        memcpy(s + j * BLOCK, bias_of(at, j), BLOCK * sizeof *s);
    memset(s + n_keys * BLOCK, 0, (size_t)((KEY_TILE - n_keys) * BLOCK) * sizeof *s);
}

/* at NULL: no bias. */
BI_INLINE void attend_tile(const struct sizes *s, const struct work *w, char *block, int n_keys,
                           const struct place *at, const int terms)
{
    float *out = sums_of(block, s), *top = out + s->height * TILE_ROWS * BLOCK;
    float *total = top + BLOCK;
    const int64_t width = s->height * TILE_ROWS;
    vf high[BLOCK_VECTORS], sum[BLOCK_VECTORS], keep[BLOCK_VECTORS];
    int moved = 0;

    if (at)
        lay_scores(w->scores, n_keys, at);
    for (int j = 0; j < n_keys; j += MR) {
        const struct micro m = {.a = w->keys + j / MR * s->keys,
                                .b = block,
                                .b_term = s->panel,
                                .steps = s->steps,
                                .c = w->scores + j * BLOCK,
                                .more = at != NULL};
        micro_kernels[1][SCORE_TERMS - 2][SCORE_TERMS - 1](&m);
    }
    for (int v = 0; v < BLOCK_VECTORS; v++)
        high[v] = vf_load(top + v * VW);
    for (int j = 0; j < n_keys; j++)
        for (int v = 0; v < BLOCK_VECTORS; v++)
            high[v] = vf_max(high[v], vf_load(w->scores + j * BLOCK + v * VW));
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        keep[v] = exp2_negative(vf_sub(vf_load(top + v * VW), high[v]));
        moved |= vm_any(vf_ne(keep[v], vf_set1(1)));
        sum[v] = vf_mul(vf_load(total + v * VW), keep[v]);
        vf_store(top + v * VW, high[v]);
    }
    exponentials(w, n_keys, high, sum, terms);
    for (int v = 0; v < BLOCK_VECTORS; v++)
        vf_store(total + v * VW, sum[v]);
    for (int64_t c = 0; moved && c < width; c++)
        for (int v = 0; v < BLOCK_VECTORS; v++)
            vf_store(out + c * BLOCK + v * VW, vf_mul(vf_load(out + c * BLOCK + v * VW), keep[v]));
    for (int64_t c = 0; c < width; c += MR) {
        const struct micro m = {.a = w->values + c / MR * s->values,
                                .b = w->p,
                                .b_term = KEY_PANEL,
                                .steps = (n_keys + TILE_K - 1) / TILE_K,
                                .c = out + c * BLOCK,
                                .more = true};
        micro_kernels[width - c > TILE_ROWS][terms - 2][terms - 1](&m);
    }
}

/* ---- tasks ---- */

BI_INLINE void attend(const struct bi_attention_params *p, const struct part *part, void *scratch,
                      const int terms)
{
    const struct sizes s = sizes_of(p->head_dim, terms);
    const struct work w = lay_out(scratch, &s);
    const int64_t size = block_size(&s), column = (int64_t)part->head * s.d;
    struct place at = {w.bias, p->reach, 0};

    if (p->bias)
        lay_bias(w.bias, p->bias + (int64_t)part->head * (2 * p->reach + 1), p->reach, LOG2E);
    for (int r = 0; r < part->n; r += BLOCK)
        begin_block(p, part, &s, &w, w.blocks + r / BLOCK * size, part->first + r,
                    min_int(part->n - r, BLOCK));
    tiles_begin();
    for (int64_t first = 0; first < part->length; first += KEY_TILE) {
        const int n_keys = min_int(part->length - first, KEY_TILE);
        pack_keys_and_values(p, part, &s, &w, first, n_keys);
        for (int r = 0; r < part->n; r += BLOCK) {
            at.ahead = part->first + r - first;
            attend_tile(&s, &w, w.blocks + r / BLOCK * size, n_keys, p->bias ? &at : NULL, terms);
        }
    }
    tiles_end();
    for (int r = 0; r < part->n; r += BLOCK) {
        float *out = sums_of(w.blocks + r / BLOCK * size, &s);
        const float *total = out + (s.height * TILE_ROWS + 1) * BLOCK;
        vf by[BLOCK_VECTORS];
        for (int v = 0; v < BLOCK_VECTORS; v++)
            by[v] = vf_div(vf_set1(1), vf_load(total + v * VW));
        unpack_rows(p->y + (part->start + part->first + r) * p->ldy + column, p->ldy, out,
                    min_int(part->n - r, BLOCK), s.d, by);
    }
}

static int64_t tasks(const void *params, int n_threads)
{
    const struct bi_attention_params *p = params;
    return count_tasks(p->counts, p->n_heads, n_threads);
}

#define ENTRY(terms)                                                                               \
    static void run_##terms(const void *params, int64_t task, int64_t n_tasks, void *scratch)      \
    {                                                                                              \
        const struct bi_attention_params *p = params;                                              \
        const struct part part = find_part(p->counts, p->start, p->n_heads, task, n_tasks);        \
        if (part.n)                                                                                \
            attend(p, &part, scratch, terms);                                                      \
    }                                                                                              \
    static size_t scratch_size_##terms(const void *params, int64_t rows, int64_t longest)          \
    {                                                                                              \
        (void)rows;                                                                                \
        (void)longest;                                                                             \
        return scratch_size(params, terms);                                                        \
    }                                                                                              \
    BI_CPU_ENTRY_MADE_OF(attention_##terms##_entry, attention, bi_cpu_accepts_full, tasks,         \
                         run_##terms, scratch_size_##terms)
ENTRY(2)
ENTRY(3)

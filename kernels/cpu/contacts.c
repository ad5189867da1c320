/* contacts.c - attention maps to contact logits, from stored maps or from queries and keys.
 *
 * A task is a sequence. Z = sum_h w[h] A_h gathers in y, with the row sums r[h] of each
 * M_h = A_h + A_h^T aside; then, in place,
 *   y = before + Z + Z^T - sum_h (w[h] / t[h]) r[h] r[h]^T
 * which is symmetric to the bit where `before` is. attention_contacts takes PIECE queries at a
 * time and all heads over them, so that the part of y they add to stays in the cache; memory
 * beyond y is proportional to the length.
 *
 * Sections: sequence, contacts, attention_contacts. */
#include "../contacts.h"
#include "attention_tile.h"
#include "entries.h"

/* ---- what both have in common ---- */

struct sequence {
    int64_t start; /* first token */
    int length, n; /* tokens, residues; n <= 0: nothing but zeros */
    int n_prefix, n_heads;
    const float *w, *before; /* before, y: of the first residue */
    float *y;
    int64_t ldb, ldy;
};

static void clear_rows(float *y, int64_t ldy, int64_t rows)
{
    memset(y, 0, sizeof *y * (size_t)(rows * ldy));
}

enum { SQUARE = 32 }; /* a multiple of every VW */

/* tile[i][j] = Z[i][j] + Z[j][i] - sum_h c[h] r[h][i] r[h][j], i from i0, j from j0 */
static void square_tile(float tile[SQUARE][SQUARE], const struct sequence *s, const float *r,
                        const float *c, int i0, int j0)
{
    const int ni = s->n - i0 < SQUARE ? s->n - i0 : SQUARE;
    const int nj = s->n - j0 < SQUARE ? s->n - j0 : SQUARE;
    transpose(tile[0], SQUARE, s->y + j0 * s->ldy + i0, s->ldy, nj, ni);
    for (int i = 0; i < ni; i++)
        for (int v = 0; v < nj; v += VW) {
            const int k = nj - v < VW ? nj - v : VW;
            vf sum = vf_add(vf_load_n(tile[i] + v, k),
                            vf_load_n(s->y + (i0 + i) * s->ldy + j0 + v, k));
            for (int h = 0; h < s->n_heads; h++) {
                const float *row = r + (int64_t)h * s->n;
                vf product = vf_mul(vf_set1(row[i0 + i]), vf_load_n(row + j0 + v, k));
                sum = vf_fnma(product, vf_set1(c[h]), sum);
            }
            vf_store_n(tile[i] + v, sum, k);
        }
}

static void write_tile(float tile[SQUARE][SQUARE], const struct sequence *s, int i0, int j0)
{
    const int ni = s->n - i0 < SQUARE ? s->n - i0 : SQUARE;
    const int nj = s->n - j0 < SQUARE ? s->n - j0 : SQUARE;
    for (int i = 0; i < ni; i++)
        for (int v = 0; v < nj; v += VW) {
            const int k = nj - v < VW ? nj - v : VW;
            vf sum = vf_load_n(tile[i] + v, k);
            if (s->before)
                sum = vf_add(vf_load_n(s->before + (i0 + i) * s->ldb + j0 + v, k), sum);
            vf_store_n(s->y + (i0 + i) * s->ldy + j0 + v, sum, k);
        }
}

/* From Z in y and r [n_heads][n] to y; c: [n_heads]. */
static void finish(const struct sequence *s, const float *r, float *c)
{
    float tile[SQUARE][SQUARE], mirror[SQUARE][SQUARE];
    for (int h = 0; h < s->n_heads; h++) {
        float total = 0;
        for (int i = 0; i < s->n; i++)
            total += r[(int64_t)h * s->n + i];
        c[h] = s->w[h] / total;
    }
    for (int i0 = 0; i0 < s->n; i0 += SQUARE)
        for (int j0 = i0; j0 < s->n; j0 += SQUARE) {
            square_tile(tile, s, r, c, i0, j0);
            write_tile(tile, s, i0, j0);
            if (j0 == i0)
                continue;
            transpose(mirror[0], SQUARE, tile[0], SQUARE, SQUARE,
                      s->n - j0 < SQUARE ? s->n - j0 : SQUARE);
            write_tile(mirror, s, j0, i0);
        }
}

/* ---- contacts ---- */

int64_t BI_ISA_NAME(contacts_tasks)(const void *params, int n_threads)
{
    const struct bi_contacts_params *p = params;
    (void)n_threads;
    return p->counts->n_seqs;
}

/* y += w a, r += a over a row of a map, and its sum. */
static float add_row(float *y, float *r, const float *a, float w, int n)
{
    vf sum = vf_zero();
    for (int j = 0; j < n; j += VW) {
        const int k = n - j < VW ? n - j : VW;
        vf x = vf_load_n(a + j, k);
        sum = vf_add(sum, x);
        vf_store_n(r + j, vf_add(vf_load_n(r + j, k), x), k);
        vf_store_n(y + j, vf_fma(x, vf_set1(w), vf_load_n(y + j, k)), k);
    }
    return vf_hsum(sum);
}

void BI_ISA_NAME(contacts_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_contacts_params *p = params;
    const int64_t start = p->start[task], length = p->start[task + 1] - start;
    const int64_t first = start + p->n_prefix;
    const struct sequence s = {
        .start = start,
        .length = (int)length,
        .n = (int)length - p->n_prefix - p->n_suffix,
        .n_prefix = p->n_prefix,
        .n_heads = p->n_heads,
        .w = p->w,
        .before = p->before ? p->before + first * p->ldb : NULL,
        .y = p->y + first * p->ldy,
        .ldb = p->ldb,
        .ldy = p->ldy,
    };
    float *c = scratch, *r = c + round_up(s.n_heads, VW);
    (void)n_tasks;
    clear_rows(p->y + start * p->ldy, p->ldy, length);
    if (s.n <= 0)
        return;
    for (int64_t i = 0; i < (int64_t)s.n_heads * s.n; i++)
        r[i] = 0;
    for (int i = 0; i < s.n; i++)
        for (int h = 0; h < s.n_heads; h++) {
            float *sums = r + (int64_t)h * s.n;
            sums[i] += add_row(s.y + i * s.ldy, sums,
                               p->p + (first + i) * p->ldp + h * p->ldh + s.n_prefix, s.w[h], s.n);
        }
    finish(&s, r, c);
}

size_t BI_ISA_NAME(contacts_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_contacts_params *p = params;
    (void)rows;
    return sizeof(float) *
           ((size_t)round_up(p->n_heads, VW) + (size_t)p->n_heads * (size_t)longest);
}

/* ---- attention_contacts ---- */

enum { PIECE = 480 }; /* queries per round over the heads, a multiple of every BLOCK */

struct work {
    float *c;        /* [n_heads] */
    float *r;        /* [n_heads][n] */
    float *columns;  /* [n_heads][n][VW]: sums over the queries, lane by lane */
    float *keys;     /* [length][width] */
    float *scores;   /* [length][BLOCK] */
    float *q, *rows; /* [d][BLOCK] each */
};

static size_t work_floats(int64_t longest, int n_heads, int d)
{
    const size_t n = (size_t)longest + KEY_GROUP, heads = (size_t)n_heads;
    return (size_t)round_up(n_heads, VW) + heads * n * (1 + VW) +
           n * (size_t)round_up(d, KEY_GROUP) + n * BLOCK + 2 * (size_t)d * BLOCK;
}

static struct work lay_out(float *scratch, int64_t length, int n_heads, int d)
{
    const int64_t n = length + KEY_GROUP;
    struct work w = {.c = scratch};
    w.r = w.c + round_up(n_heads, VW);
    w.columns = w.r + n_heads * n;
    w.keys = w.columns + n_heads * n * VW;
    w.scores = w.keys + n * round_up(d, KEY_GROUP);
    w.q = w.scores + n * BLOCK;
    w.rows = w.q + d * BLOCK;
    return w;
}

/* Adds the maps of residues i0 ... i0 + rows - 1 of one head; rows <= BLOCK. */
static void add_block(const struct bi_attention_contacts_params *p, const struct sequence *s,
                      const struct work *w, int head, int i0, int rows)
{
    const int d = p->head_dim;
    float *r = w->r + (int64_t)head * s->n, *columns = w->columns + (int64_t)head * s->n * VW;
    vf top[BLOCK_VECTORS], total[BLOCK_VECTORS], sum[BLOCK_VECTORS];
    float sums[BLOCK];
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        top[v] = vf_set1(-FLT_MAX);
        total[v] = sum[v] = vf_zero();
    }
    pack_queries(w->q, p->q + (int64_t)head * d, p->ldq, p->table, s->start, s->n_prefix + i0, rows,
                 d, p->scale * LOG2E, w->rows);
    tile_scores(w->scores, w->q, w->keys, s->length, d, BLOCK_VECTORS, top, NULL);
    for (int j = 0; j < s->length; j += KEY_TILE)
        tile_exp(w->scores + j * BLOCK, s->length - j < KEY_TILE ? s->length - j : KEY_TILE,
                 BLOCK_VECTORS, top, total);
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        const int k = rows - v * VW;
        total[v] = vf_div(vf_set1(1), total[v]);
        if (k < VW)
            total[v] = vf_select(vm_first(k < 0 ? 0 : k), total[v], vf_zero());
    }
    const vf weight = vf_set1(s->w[head]);
    for (int j = 0; j < s->n; j++) {
        const float *a = w->scores + (s->n_prefix + j) * BLOCK;
        float *y = s->y + j * s->ldy + i0; /* Z transposed: finish() adds both */
        vf column = vf_load(columns + j * VW);
        for (int v = 0; v < BLOCK_VECTORS && v * VW < rows; v++) {
            const int k = rows - v * VW < VW ? rows - v * VW : VW;
            vf x = vf_mul(vf_load(a + v * VW), total[v]);
            sum[v] = vf_add(sum[v], x);
            column = vf_add(column, x);
            vf_store_n(y + v * VW, vf_fma(x, weight, vf_load_n(y + v * VW, k)), k);
        }
        vf_store(columns + j * VW, column);
    }
    for (int v = 0; v < BLOCK_VECTORS; v++)
        vf_store(sums + v * VW, sum[v]);
    for (int i = 0; i < rows; i++)
        r[i0 + i] = sums[i];
}

int64_t BI_ISA_NAME(attention_contacts_tasks)(const void *params, int n_threads)
{
    const struct bi_attention_contacts_params *p = params;
    (void)n_threads;
    return p->counts->n_seqs;
}

void BI_ISA_NAME(attention_contacts_run)(const void *params, int64_t task, int64_t n_tasks,
                                         void *scratch)
{
    const struct bi_attention_contacts_params *p = params;
    const int d = p->head_dim;
    const int64_t start = p->start[task], length = p->start[task + 1] - start;
    const int64_t first = start + p->n_prefix;
    const struct sequence s = {
        .start = start,
        .length = (int)length,
        .n = (int)length - p->n_prefix - p->n_suffix,
        .n_prefix = p->n_prefix,
        .n_heads = p->n_heads,
        .w = p->w,
        .before = p->before ? p->before + first * p->ldb : NULL,
        .y = p->y + first * p->ldy,
        .ldb = p->ldb,
        .ldy = p->ldy,
    };
    const struct work w = lay_out(scratch, length, p->n_heads, d);
    (void)n_tasks;
    clear_rows(p->y + start * p->ldy, p->ldy, length);
    if (s.n <= 0)
        return;
    for (int64_t i = 0; i < (int64_t)s.n_heads * s.n * VW; i++)
        w.columns[i] = 0;
    for (int piece = 0; piece < s.n; piece += PIECE)
        for (int h = 0; h < s.n_heads; h++) {
            pack_keys(w.keys, p->k + (int64_t)h * d, p->ldk, p->table, start, 0, s.length, d);
            for (int i = piece; i < s.n && i < piece + PIECE; i += BLOCK)
                add_block(p, &s, &w, h, i, s.n - i < BLOCK ? s.n - i : BLOCK);
        }
    for (int64_t i = 0; i < (int64_t)s.n_heads * s.n; i++)
        w.r[i] += vf_hsum(vf_load(w.columns + i * VW));
    finish(&s, w.r, w.c);
}

size_t BI_ISA_NAME(attention_contacts_scratch_size)(const void *params, int64_t rows,
                                                    int64_t longest)
{
    const struct bi_attention_contacts_params *p = params;
    (void)rows;
    return sizeof(float) * work_floats(longest, p->n_heads, p->head_dim);
}

BI_CPU_ENTRY_SCRATCH(contacts)
BI_CPU_ENTRY_SCRATCH(attention_contacts)

/* junctions.c - the places of most likely splice sites, and counts of reads across pairs: top_rows,
 * find_sites, rope_at, junctions. */
#include "../junctions.h"

#include <math.h>

#include "attention_tile.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

/* ---- top_rows: a task is a class ---- */

int64_t BI_ISA_NAME(top_rows_tasks)(const void *params, int n_threads)
{
    const struct bi_top_rows_params *p = params;
    (void)n_threads;
    return p->n_classes;
}

/* An integer in the order of floats that are numbers. */
static uint32_t order_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* Rows whose numbers are at least `least` and, in their order, at least `from`. */
static int64_t count_from(const struct bi_top_rows_params *p, int64_t class, uint32_t from)
{
    int64_t n = 0;
    for (int64_t r = 0; r < p->rows; r++) {
        const float x = p->x[r * p->ldx + class];
        n += x >= p->least && order_of(x) >= from;
    }
    return n;
}

void BI_ISA_NAME(top_rows_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_top_rows_params *p = params;
    uint32_t from = 0; /* the largest that at least k numbers reach, or 0 */
    int64_t equal;     /* numbers of exactly this order that are taken */
    int32_t n = 0, *y = p->y + task * p->k;
    (void)n_tasks;
    (void)scratch;
    for (uint32_t bit = 0x80000000u; bit; bit >>= 1)
        if (count_from(p, task, from | bit) >= p->k)
            from |= bit;
    equal = p->k - (from == UINT32_MAX ? 0 : count_from(p, task, from + 1));
    for (int64_t r = 0; r < p->rows && n < p->k; r++) {
        const float x = p->x[r * p->ldx + task];
        if (x >= p->least && (order_of(x) > from || (order_of(x) == from && equal-- > 0)))
            y[n++] = (int32_t)r;
    }
    while (n < p->k)
        y[n++] = -1;
}

BI_CPU_ENTRY(top_rows)

/* ---- find_sites: a task is a class ---- */

int64_t BI_ISA_NAME(find_sites_tasks)(const void *params, int n_threads)
{
    (void)params;
    (void)n_threads;
    return BI_JUNCTION_CLASSES;
}

void BI_ISA_NAME(find_sites_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_find_sites_params *p = params;
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = task * p->k; i < (task + 1) * p->k; i++)
        p->y[i] = -1;
    for (int64_t t = p->n_tiles - 1; t >= 0; t--)
        for (int64_t m = p->k - 1; m >= 0; m--) {
            const int64_t j = (t * BI_JUNCTION_CLASSES + task) * p->k + m;
            for (int64_t i = task * p->k; p->found[j] >= 0 && i < (task + 1) * p->k; i++)
                if (p->sites[i] == p->found[j] + t * p->step)
                    p->y[i] = (int32_t)j;
        }
}

BI_CPU_ENTRY(find_sites)

/* ---- rope_at ---- */

int64_t BI_ISA_NAME(rope_at_tasks)(const void *params, int n_threads)
{
    const struct bi_rope_at_params *p = params;
    (void)n_threads;
    return row_tasks(p->rows, 16 * (int64_t)p->n);
}

void BI_ISA_NAME(rope_at_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_rope_at_params *p = params;
    const struct rows rows = task_rows(task, p->rows, 16 * (int64_t)p->n);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int32_t i = 0; i < p->n; i++) {
            const double angle = (double)((float)p->at[r] * p->inv_freq[i]);
            p->y[r * 2 * p->n + i] = (float)cos(angle);
            p->y[r * 2 * p->n + p->n + i] = (float)sin(angle);
        }
}

BI_CPU_ENTRY(rope_at)

/* ---- junctions: a task is a track; lanes are donors ---- */

int64_t BI_ISA_NAME(junctions_tasks)(const void *params, int n_threads)
{
    const struct bi_junctions_params *p = params;
    (void)n_threads;
    return p->n_tracks[0] + p->n_tracks[1];
}

size_t BI_ISA_NAME(junctions_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_junctions_params *p = params;
    const size_t d = (size_t)round_up(p->d, KEY_GROUP);
    (void)rows;
    (void)longest;
    return sizeof(float) *
           ((size_t)round_up(p->k, KEY_GROUP) * d + 2 * BLOCK * d + KEY_TILE * BLOCK);
}

/* Sites [first, first + n) of a class for a track, their rows ld apart. */
static void make_sites(const struct bi_junctions_params *p, int class, int64_t track, int64_t first,
                       int n, float *to, int64_t ld)
{
    const float *scale = p->w[class] + track * p->d;
    const float *offset = scale + (int64_t)p->n_tracks[class / 2] * p->d;
    for (int i = 0; i < n; i++) {
        const int64_t row = (int64_t)class * p->k + first + i;
        const float *x = p->x + row * p->ldx, *cosine = p->table + row * p->d;
        const float *sine = cosine + p->d / 2;
        float *y = to + i * ld;
        for (int c = 0; c < p->d / 2; c++) {
            const float a = scale[2 * c] * x[2 * c] + offset[2 * c];
            const float b = scale[2 * c + 1] * x[2 * c + 1] + offset[2 * c + 1];
            y[2 * c] = a * cosine[c] - b * sine[c];
            y[2 * c + 1] = b * cosine[c] + a * sine[c];
        }
    }
}

/* Writes counts of donors [first, first + n) and acceptors [key, key + n_keys). */
static void put_counts(const struct bi_junctions_params *p, int strand, int64_t column,
                       int64_t first, int n, int64_t key, int n_keys, const float *products)
{
    const int32_t *donor = p->at + 2 * strand * (int64_t)p->k, *acceptor = donor + p->k;
    for (int j = 0; j < n_keys; j++) {
        float counts[BLOCK];
        for (int v = 0; v < BLOCK_VECTORS; v++)
            vf_store(counts + v * VW, vf_softplus(vf_load(products + j * BLOCK + v * VW)));
        for (int i = 0; i < n; i++)
            p->y[((first + i) * p->k + key + j) * p->ldy + column] = donor[first + i] < 0 ||
                                                                             acceptor[key + j] < 0
                                                                         ? 0
                                                                         : counts[i];
    }
}

void BI_ISA_NAME(junctions_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_junctions_params *p = params;
    const int strand = task >= p->n_tracks[0], d = p->d, wide = round_up(d, KEY_GROUP);
    const int64_t track = strand ? task - p->n_tracks[0] : task;
    float *keys = scratch, *queries = keys + (int64_t)round_up(p->k, KEY_GROUP) * wide;
    float *rows = queries + BLOCK * wide, *products = rows + BLOCK * wide;
    vf unused[BLOCK_VECTORS];
    (void)n_tasks;
    for (int v = 0; v < BLOCK_VECTORS; v++)
        unused[v] = vf_zero();
    make_sites(p, 2 * strand + 1, track, 0, p->k, keys, wide);
    for (int j = p->k; j < round_up(p->k, KEY_GROUP); j++)
        memcpy(keys + (int64_t)j * wide, keys + (int64_t)(p->k - 1) * wide,
               sizeof *keys * (size_t)d);
    for (int64_t first = 0; first < p->k; first += BLOCK) {
        const int n = p->k - first < BLOCK ? (int)(p->k - first) : BLOCK;
        make_sites(p, 2 * strand, track, first, n, rows, d);
        if (n < BLOCK)
            memset(rows + n * d, 0, sizeof *rows * (size_t)((BLOCK - n) * d));
        transpose(queries, BLOCK, rows, d, BLOCK, d);
        for (int64_t key = 0; key < p->k; key += KEY_TILE) {
            const int n_keys = p->k - key < KEY_TILE ? (int)(p->k - key) : KEY_TILE;
            tile_scores(products, queries, keys + key * wide, n_keys, d, BLOCK_VECTORS, unused,
                        NULL);
            put_counts(p, strand, task, first, n, key, n_keys, products);
        }
    }
}

BI_CPU_ENTRY_SCRATCH(junctions)

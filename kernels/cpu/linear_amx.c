/* linear_amx.c - y = act(x w^T + bias) + residual on AMX tiles, see kernels/linear.h; and the two
 * tables of kernels in which it stands in place of linear.c.
 *
 * A float32 is the sum of three bfloat16 terms of falling size, x = x1 + x2 + x3, each the rounded
 * rest of those before it, but for what is below 2^-126. The tables differ in how many terms they
 * take:
 *     fp32     x1 w3 + x1 w2 + x2 w2 + x2 w1 + x3 w1 + x1 w1
 *     bf16x2   x1 w2 + x1 w1 + x2 w1
 * On normal random numbers sums of fp32 are off by 7e-8 (k = 48) to 6e-7 (5,120) of their size,
 * half of what a chain of float32 is off by, as few sums are rounded; those of bf16x2 by 4.5e-6.
 * Terms of weights are made when they are packed, those of x while its rows are. Weights of half
 * precision have fewer: a panel keeps as many as it needs, and products with the rest, which would
 * add 0, are left out.
 *
 * A step is 32 columns of k. For each step the products in this order are added to a sum, by
 * tile_dot() of tile_amx.h; behind k everything is 0. So a sum depends on its row and column
 * alone. */
#include "entries.h"
#include "tile_amx.h"

enum {
    MR = 2 * TILE_ROWS,
    NR = 2 * TILE_COLUMNS,
    TERMS_MAX = 3,
    SUMS_STRIDE = NR * (int)sizeof(float),
    BLOCK_SIZE = 1 << 20, /* packed rows of one task: half of a level-2 cache */
    WIDE = 16             /* panels of a task before rows are split */
};
#ifndef AMX_KC
#define AMX_KC 1280 /* longest block of k */
#endif
#ifndef AMX_FETCH
#define AMX_FETCH 1 /* operands of the next step are fetched into the level-1 cache */
#endif

#include "linear_parts.h"

/* Packed weights: this, a byte for each panel that counts its terms, and from a multiple of 64 on
 * [term][panel][step][NR / 16] tiles. Terms that no panel has are memory that nothing touches. */
struct packed {
    int32_t terms; /* x has so many, w at most so many */
    int32_t unused[15];
    uint8_t of[];
};

static int64_t steps_of(int64_t k)
{
    return ceil_div(k, TILE_K);
}

static size_t head_size(int64_t n)
{
    return (sizeof(struct packed) + (size_t)ceil_div(n, NR) + 63) & ~(size_t)63;
}

/* Bytes of one step of a tile of MR rows. */
static size_t step_size(int terms)
{
    return (size_t)terms * 2 * TILE_SIZE;
}

/* Bytes of one term of a panel. */
static int64_t panel_size(int64_t k)
{
    return steps_of(k) * 2 * TILE_SIZE;
}

/* Bytes of one term of all panels. */
static int64_t term_size(int64_t n, int64_t k)
{
    return ceil_div(n, NR) * panel_size(k);
}

/* ---- terms ---- */

/* x rounded to bfloat16, to nearest even; what is denormal is 0, NaN stays. */
BI_INLINE vf round_term(vf x)
{
    const vi bits = vf_bits(x), high = vi_set1((int32_t)0xffff0000);
    const vi odd = vi_and(vi_sar(bits, 16), vi_set1(1));
    const vf rounded = vi_float_bits(vi_and(vi_add(bits, vi_add(odd, vi_set1(0x7fff))), high));
    const vf quiet = vi_float_bits(vi_and(vi_or(bits, vi_set1(0x400000)), high));
    const vf kept = vf_select(vf_lt(vf_abs(x), vf_set1(0x1p-126f)), vf_zero(), rounded);
    return vf_select(vf_ne(x, x), quiet, kept);
}

/* The terms of n <= 32 floats; what is behind them is 0. */
BI_INLINE void split(uint16_t terms[][TILE_K], const float *x, int n, const int n_terms)
{
    for (int at = 0; at < TILE_K; at += VW) {
        const int left = n - at < 0 ? 0 : n - at;
        vf rest = left >= VW ? vf_load(x + at) : left ? vf_load_n(x + at, left) : vf_zero();
        for (int t = 0; t < n_terms; t++) {
            const vf term = round_term(rest);
            float f[VW];
            vf_store(f, term);
            for (int i = 0; i < VW; i++) {
                uint32_t bits;
                memcpy(&bits, f + i, sizeof bits);
                terms[t][at + i] = (uint16_t)(bits >> 16);
            }
            rest = vf_sub(rest, term);
        }
    }
}

/* 32 floats of a row of x into a row of a tile of each term; n of them are there. */
BI_INLINE void pack_step(char *to, int64_t term_stride, const float *x, int n, const int n_terms)
{
#ifdef __AVX512BF16__
    const int low = n < VW ? n : VW;
    vf a = vf_load_n(x, low), b = n > VW ? vf_load_n(x + VW, n - VW) : vf_zero();
    for (int t = 0; t < n_terms; t++) {
        const __m512i term = (__m512i)_mm512_cvtne2ps_pbh(b, a);
        _mm512_storeu_si512(to + t * term_stride, term);
        if (t + 1 == n_terms)
            break;
        a = vf_sub(a,
                   vi_float_bits(vi_shl(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(term)), 16)));
        b = vf_sub(b, vi_float_bits(
                          vi_shl(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(term, 1)), 16)));
    }
#else
    uint16_t terms[TERMS_MAX][TILE_K];
    split(terms, x, n, n_terms);
    for (int t = 0; t < n_terms; t++)
        memcpy(to + t * term_stride, terms[t], sizeof terms[t]);
#endif
}

/* Tiles of 16 rows that `rows` rows of x take. */
static int64_t height_of(int64_t rows)
{
    return ceil_div(rows, TILE_ROWS);
}

/* Columns [0, k) of at most MR rows into [step][term][height] tiles; missing rows are 0. */
BI_INLINE void pack_rows_of(char *to, const float *x, int64_t ldx, int64_t rows, int64_t k,
                            const int n_terms)
{
    const int64_t height = height_of(rows), term = height * TILE_SIZE;
    for (int64_t r = 0; r < height * TILE_ROWS; r++) {
        char *row = to + r / TILE_ROWS * TILE_SIZE + r % TILE_ROWS * 64;
        for (int64_t i = 0; i < k; i += TILE_K, row += n_terms * term) {
            if (r < rows)
                pack_step(row, term, x + r * ldx + i, (int)min64(k - i, TILE_K), n_terms);
            else
                for (int t = 0; t < n_terms; t++)
                    memset(row + t * term, 0, 64);
        }
    }
}

static void pack_rows(char *to, const float *x, int64_t ldx, int64_t rows, int64_t k, int terms)
{
    if (terms == 2)
        pack_rows_of(to, x, ldx, rows, k, 2);
    else
        pack_rows_of(to, x, ldx, rows, k, 3);
}

/* ---- a tile of rows times a panel ---- */

struct micro {
    const char *a, *b; /* packed rows and panel, at the block of k */
    int64_t b_term;    /* bytes from a term of the panel to the next */
    int64_t steps;
    float *c;  /* [height * 16, NR] */
    bool more; /* go on from the sums in c, else from 0 */
};

/* Registers 0 to 3 are sums, two beside each other and two below them. */
BI_INLINE void zero_sums(struct tiles *tiles, const int height)
{
    tile_zero(tiles, 0);
    tile_zero(tiles, 1);
    if (height > 1) {
        tile_zero(tiles, 2);
        tile_zero(tiles, 3);
    }
}

BI_INLINE void load_sums(struct tiles *tiles, const float *c, const int height)
{
    tile_load(tiles, 0, c, SUMS_STRIDE);
    tile_load(tiles, 1, c + TILE_COLUMNS, SUMS_STRIDE);
    if (height > 1) {
        tile_load(tiles, 2, c + TILE_ROWS * NR, SUMS_STRIDE);
        tile_load(tiles, 3, c + TILE_ROWS * NR + TILE_COLUMNS, SUMS_STRIDE);
    }
}

BI_INLINE void store_sums(struct tiles *tiles, float *c, const int height)
{
    tile_store(tiles, 0, c, SUMS_STRIDE);
    tile_store(tiles, 1, c + TILE_COLUMNS, SUMS_STRIDE);
    if (height > 1) {
        tile_store(tiles, 2, c + TILE_ROWS * NR, SUMS_STRIDE);
        tile_store(tiles, 3, c + TILE_ROWS * NR + TILE_COLUMNS, SUMS_STRIDE);
    }
}

/* One product of terms for each of the sums; x in 4 and 5, w in 6 and 7. */
BI_INLINE void dots(struct tiles *tiles, const int height)
{
    tile_dot(tiles, 0, 4, 6);
    tile_dot(tiles, 1, 4, 7);
    if (height > 1) {
        tile_dot(tiles, 2, 5, 6);
        tile_dot(tiles, 3, 5, 7);
    }
}

BI_INLINE void load_rows(struct tiles *tiles, const char *a, const int height)
{
    tile_load(tiles, 4, a, 64);
    if (height > 1)
        tile_load(tiles, 5, a + TILE_SIZE, 64);
}

BI_INLINE void load_panel(struct tiles *tiles, const char *b)
{
    tile_load(tiles, 6, b, 64);
    tile_load(tiles, 7, b + TILE_SIZE, 64);
}

/* `size` bytes that the next step reads, `ahead` behind those of this one. */
BI_INLINE void fetch(const char *p, const int ahead, const int size)
{
#if AMX_FETCH
#pragma GCC unroll 64
    for (int i = 0; i < size; i += 64)
        __builtin_prefetch(p + ahead + i, 0, 3);
#else
    (void)p;
    (void)ahead;
    (void)size;
#endif
}

BI_INLINE void micro(const struct micro *m, const int height, const int terms, const int w_terms)
{
    const int a_term = height * TILE_SIZE;
    const int64_t b_term = m->b_term;
    const char *a = m->a, *b = m->b;
    struct tiles tiles;
    tiles_see_memory();
    if (m->more)
        load_sums(&tiles, m->c, height);
    else
        zero_sums(&tiles, height);
    for (int64_t i = 0; i < m->steps; i++, a += terms * a_term, b += 2 * TILE_SIZE) {
        load_rows(&tiles, a, height);
        if (w_terms > 2) {
            load_panel(&tiles, b + 2 * b_term);
            dots(&tiles, height); /* x1 w3 */
            fetch(b + 2 * b_term, 2 * TILE_SIZE, 2 * TILE_SIZE);
        }
        if (w_terms > 1) {
            load_panel(&tiles, b + b_term);
            dots(&tiles, height); /* x1 w2 */
            fetch(b + b_term, 2 * TILE_SIZE, 2 * TILE_SIZE);
        }
        if (terms == 2) {
            load_panel(&tiles, b);
            dots(&tiles, height); /* x1 w1 */
            fetch(b, 2 * TILE_SIZE, 2 * TILE_SIZE);
            load_rows(&tiles, a + a_term, height);
            dots(&tiles, height); /* x2 w1 */
            fetch(a, terms * a_term, terms * a_term);
            continue;
        }
        load_rows(&tiles, a + a_term, height);
        if (w_terms > 1)
            dots(&tiles, height); /* x2 w2 */
        load_panel(&tiles, b);
        dots(&tiles, height); /* x2 w1 */
        fetch(b, 2 * TILE_SIZE, 2 * TILE_SIZE);
        load_rows(&tiles, a + 2 * a_term, height);
        dots(&tiles, height); /* x3 w1 */
        fetch(a, terms * a_term, 2 * a_term);
        load_rows(&tiles, a, height);
        dots(&tiles, height); /* x1 w1 */
        fetch(a + 2 * a_term, terms * a_term, a_term);
    }
    store_sums(&tiles, m->c, height);
}

#define MICRO(height, terms, w_terms)                                                              \
    static                                                                                         \
        __attribute__((noinline)) void micro_##height##_##terms##_##w_terms(const struct micro *m) \
    {                                                                                              \
        micro(m, height, terms, w_terms);                                                          \
    }
#define MICROS(height)                                                                             \
    MICRO(height, 2, 1)                                                                            \
    MICRO(height, 2, 2)                                                                            \
    MICRO(height, 3, 1)                                                                            \
    MICRO(height, 3, 2)                                                                            \
    MICRO(height, 3, 3)
MICROS(1)
MICROS(2)

/* By height - 1, terms of x - 2, terms of w - 1. */
static void (*const micro_kernels[2][2][TERMS_MAX])(const struct micro *) = {
    {{micro_1_2_1, micro_1_2_2, NULL}, {micro_1_3_1, micro_1_3_2, micro_1_3_3}},
    {{micro_2_2_1, micro_2_2_2, NULL}, {micro_2_3_1, micro_2_3_2, micro_2_3_3}},
};

/* ---- tasks ---- */

static const struct packed *head_of(const struct bi_linear_params *p)
{
    return p->w;
}

/* Longest block of k when all blocks are about equal, in steps; one block of a gated product, whose
 * partial sums would not fit into y. */
static int64_t block_steps(const struct bi_linear_params *p)
{
    const int64_t n = p->gated ? 1 : ceil_div(p->k, AMX_KC);
    return p->k ? ceil_div(steps_of(p->k), n) : 1;
}

/* Most tiles of rows of one task: they stay in the level-2 cache beside one panel. */
static int64_t block_tiles(const struct bi_linear_params *p, int terms)
{
    const int64_t n = BLOCK_SIZE / (block_steps(p) * (int64_t)step_size(terms));
    return n < 1 ? 1 : n > 16 ? 16 : n;
}

int64_t BI_ISA_NAME(linear_tasks)(const void *params, int n_threads)
{
    const struct bi_linear_params *p = params;
    const int64_t m = bi_live_rows(p->counts, p->axis, p->rows);
    if (m <= 0 || p->n <= 0)
        return 0;
    const struct grid g = grid_for(p, m, n_threads > 1 ? 4 * (int64_t)n_threads : 1,
                                   block_tiles(p, head_of(p)->terms), WIDE);
    return g.rows * g.columns;
}

/* Weights may not be there yet: room for tiles of any number of terms. */
size_t BI_ISA_NAME(linear_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const struct bi_linear_params *p = params;
    size_t most = 0;
    (void)rows;
    (void)longest;
    for (int terms = 2; terms <= TERMS_MAX; terms++) {
        const size_t size = (size_t)(block_tiles(p, terms) * block_steps(p)) * step_size(terms);
        most = size > most ? size : most;
    }
    return most;
}

/* A block of k for one tile of rows and one panel: sums so far lie in y. */
static void tile_times_panel(const struct bi_linear_params *p, struct micro *m,
                             void (*kernel)(const struct micro *), int64_t row, int64_t rows,
                             int64_t column, bool last)
{
    float tile[MR * NR] __attribute__((aligned(64)));
    const int columns = (int)min64(p->n - column, NR);
    float *y = p->y + row * p->ldy + column;
    m->c = tile;
    if (m->more) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(tile + r * NR, y + r * p->ldy, (size_t)columns * sizeof *y);
        for (int64_t r = 0; r < MR && columns < NR; r++) /* columns of zero weights */
            memset(tile + r * NR + columns, 0, (size_t)(NR - columns) * sizeof *y);
        memset(tile + rows * NR, 0, (size_t)((MR - rows) * NR) * sizeof *y);
    }
    kernel(m);
    write_tile(p, tile, row, rows, column, columns, last);
}

void BI_ISA_NAME(linear_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_linear_params *p = params;
    const struct packed *w = head_of(p);
    const int64_t m = bi_live_rows(p->counts, p->axis, p->rows), block = block_steps(p);
    const struct grid g = grid_for(p, m, n_tasks, block_tiles(p, w->terms), WIDE);
    assert(g.rows * g.columns == n_tasks);
    const struct part at = part_of(&g, task);
    const int64_t tile_size = block * (int64_t)step_size(w->terms);
    const char *panels = (const char *)w + head_size(p->n);
    char *packed = scratch;
    int64_t step0 = 0;

    tiles_begin();
    do {
        const int64_t k0 = step0 * TILE_K, k = min64(p->k - k0, block * TILE_K);
        const bool last = k0 + k == p->k;
        for (int64_t t = at.tile0; t < at.tile1; t++)
            pack_rows(packed + (t - at.tile0) * tile_size, p->x + t * MR * p->ldx + k0, p->ldx,
                      min64(m - t * MR, MR), k, w->terms);
        for (int64_t j = at.panel0; j < at.panel1; j++) {
            const int w_terms = w->of[j];
            for (int64_t t = at.tile0; t < at.tile1; t++) {
                const int64_t rows = min64(m - t * MR, MR);
                struct micro args = {.a = packed + (t - at.tile0) * tile_size,
                                     .b = panels + j * panel_size(p->k) + step0 * 2 * TILE_SIZE,
                                     .b_term = term_size(p->n, p->k),
                                     .steps = steps_of(k),
                                     .more = k0 > 0};
                tile_times_panel(p, &args,
                                 micro_kernels[height_of(rows) - 1][w->terms - 2][w_terms - 1],
                                 t * MR, rows, j * NR, last);
            }
        }
        step0 += block;
    } while (step0 < steps_of(p->k));
    tiles_end();
}

/* ---- weights ---- */

static size_t pack_size(int64_t n, int64_t k, int terms)
{
    return head_size(n) + (size_t)(terms * term_size(n, k));
}

/* How many of at most `terms` terms are not all 0 in n floats; at least 1. */
static int count_terms(const float *w, int64_t n, int terms)
{
    int most = 1;
    for (int64_t i = 0; i < n && most < terms; i += TILE_K) {
        uint16_t t[TERMS_MAX][TILE_K];
        split(t, w + i, (int)min64(n - i, TILE_K), terms);
        for (int c = 0; c < TILE_K; c++)
            for (int s = terms - 1; s >= most; s--)
                if (t[s][c] & 0x7fff)
                    most = s + 1;
    }
    return most;
}

/* Column c of a panel, of k floats, or of zeros. stride: bytes from a term to the next. */
static void pack_column(char *panel, int64_t stride, const float *w, int64_t k, int64_t c,
                        int terms)
{
    char *to = panel + c / TILE_COLUMNS * TILE_SIZE + c % TILE_COLUMNS * 4;
    for (int64_t i = 0; i < k; i += TILE_K, to += 2 * TILE_SIZE) {
        uint16_t of[TERMS_MAX][TILE_K] = {{0}};
        if (w)
            split(of, w + i, (int)min64(k - i, TILE_K), terms);
        for (int t = 0; t < terms; t++)
            for (int pair = 0; pair < TILE_K / 2; pair++)
                memcpy(to + t * stride + pair * 64, of[t] + 2 * pair, 4);
    }
}

static void pack(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows, const float *w,
                 int terms)
{
    struct packed *head = packed;
    assert(first % NR == 0 && first + rows <= n);
    if (!first)
        head->terms = terms;
    for (int64_t j = 0; j < rows; j += NR) {
        const int64_t columns = min64(rows - j, NR), at = (first + j) / NR;
        const int of = count_terms(w + j * k, columns * k, terms);
        char *panel = (char *)packed + head_size(n) + at * panel_size(k);
        head->of[at] = (uint8_t)of;
        for (int64_t c = 0; c < NR; c++)
            pack_column(panel, term_size(n, k), c < columns ? w + (j + c) * k : NULL, k, c, of);
    }
}

static size_t pack_size_2(int64_t n, int64_t k)
{
    return pack_size(n, k, 2);
}

static size_t pack_size_3(int64_t n, int64_t k)
{
    return pack_size(n, k, 3);
}

static void pack_2(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows, const float *w)
{
    pack(packed, n, k, first, rows, w, 2);
}

static void pack_3(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows, const float *w)
{
    pack(packed, n, k, first, rows, w, 3);
}

static int64_t panel(void)
{
    return NR;
}

/* c [16, 16] float32, a [16, 32] and b [16][16][2] bfloat16: one tile_dot(). */
void BI_ISA_NAME(tile_dot)(float *c, const uint16_t *a, const uint16_t *b)
{
    struct tiles tiles;
    tiles_begin();
    tiles_see_memory();
    tile_load(&tiles, 0, c, 64);
    tile_load(&tiles, 1, a, 64);
    tile_load(&tiles, 2, b, 64);
    tile_dot(&tiles, 0, 1, 2);
    tile_store(&tiles, 0, c, 64);
    tiles_end();
}

BI_CPU_ENTRY_OF(linear, accepts_product, BI_ISA_NAME(linear_scratch_size))

/* ---- the tables: all else is what the set of the vectors has ---- */

static const struct bi_cpu_entry *const entries[] = {&BI_ISA_NAME(linear_entry), NULL};

#ifdef __AMX_BF16__
#define BASE(name) bi_cpu_##name##_avx512
#define NAME "amx"
#define BY_NAME false
#else
#define BASE(name) bi_cpu_##name##_avx2
#define NAME "amx-emulated"
#define BY_NAME true
#endif
size_t BASE(pack_size)(int64_t n, int64_t k);
void BASE(pack)(void *packed, int64_t n, int64_t k, int64_t first, int64_t rows, const float *w);
void BASE(to_half)(uint16_t *dst, const float *src, int64_t n);
void BASE(checksum)(uint64_t sum[2], const struct bi_checksum_keys *keys, const float *x,
                    int64_t first, int64_t rows, int64_t width);
const struct bi_align_kernels *BASE(align)(int bits);

#define TABLE(terms, words)                                                                        \
    {.name = NAME,                                                                                 \
     .precision = words,                                                                           \
     .by_name = BY_NAME,                                                                           \
     .entries = entries,                                                                           \
     .base = BASE(kernels),                                                                        \
     .product = &BI_ISA_NAME(linear_entry),                                                        \
     .pack_size = pack_size_##terms,                                                               \
     .pack = pack_##terms,                                                                         \
     .panel = panel,                                                                               \
     .panels_size = BASE(pack_size),                                                               \
     .panels = BASE(pack),                                                                         \
     .to_half = BASE(to_half),                                                                     \
     .checksum = BASE(checksum),                                                                   \
     .align = BASE(align)}

const struct bi_cpu_kernels *BI_ISA_NAME(kernels)(int terms)
{
    static const struct bi_cpu_kernels tables[2] = {TABLE(2, "bf16x2"), TABLE(3, "fp32")};
    return &tables[terms - 2];
}

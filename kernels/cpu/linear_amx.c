/* linear_amx.c - y = act(x w^T + bias) + residual on AMX tiles, see kernels/linear.h; and the two
 * tables of kernels in which it stands in place of linear.c.
 *
 * On normal random numbers sums of fp32 are off by 7e-8 (k = 48) to 6e-7 (5,120) of their size,
 * half of what a chain of float32 is off by, as few sums are rounded; those of bf16x2 by 4.5e-6.
 * Terms of weights are made when they are packed, those of x while its rows are. Weights of half
 * precision have fewer: a panel keeps as many as it needs, and products with the rest, which would
 * add 0, are left out.
 * Products and their order are those of terms_amx.h. */
#include "entries.h"
#include "terms_amx.h"

enum {
    BLOCK_SIZE = 1 << 20, /* packed rows of one task: half of a level-2 cache */
    WIDE = 16             /* panels of a task before rows are split */
};
#ifndef AMX_KC
#define AMX_KC 1280 /* longest block of k */
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

static void pack_rows(char *to, const float *x, int64_t ldx, int64_t rows, int64_t k, int terms)
{
    if (terms == 2)
        pack_rows_of(to, x, ldx, rows, k, 2);
    else
        pack_rows_of(to, x, ldx, rows, k, 3);
}

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

static const struct bi_cpu_entry *const entries_2[] = {&BI_ISA_NAME(linear_entry),
                                                       &BI_ISA_NAME(attention_2_entry), NULL};
static const struct bi_cpu_entry *const entries_3[] = {&BI_ISA_NAME(linear_entry),
                                                       &BI_ISA_NAME(attention_3_entry), NULL};

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
     .entries = entries_##terms,                                                                   \
     .base = BASE(kernels),                                                                        \
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

/* align_bits.c - penalties and paths of unit costs, 64 rows of a column in one word.
 *
 * Where a mismatch and a residue in a gap cost one each, neighbours in a column differ by -1, 0 or
 * 1: two words hold these differences of a block of 64 rows, and a column takes some twenty
 * operations of whole words for each block. Blocks outside of a band of diagonals are left out:
 * above it a row grows by one with each column, and below it a column by one with each row, as a
 * path that goes there alone does, so that nothing gets less than it costs.
 *
 * A path needs three bits of a cell, one for each step that may lead there. Those of a window of
 * columns are kept at a time: the way down keeps what stands in front of each window, and the way
 * back computes windows once more, from the last to the first, down to the row of the path. A pair
 * whose bits are few has one window and is computed once.
 * Source: Myers, J. ACM 46:395 (1999); Hyyro, Nordic J. Comput. 10:29 (2003), for blocks. */
#include "align_wave.h"

#include <string.h>

enum {
    ROWS = 64,
    DIRECT = 4 << 20,  /* bytes of cells that are kept whole */
    LEAST_WINDOW = 128 /* columns */
};

struct block {
    uint64_t up, down; /* rows that are one more, one less than the row above */
};

/* By which steps the best paths lead to the cells of a column of a block. */
struct cells {
    uint64_t up, left, diagonal;
};

/* One column of a block; grows, falls: 1 where the row above the block is one more, one less than
 * in the column before. They become those of its last row. cells: NULL, or gets its cells. */
static inline void step(struct block *b, uint64_t equal, uint64_t *grows, uint64_t *falls,
                        struct cells *cells)
{
    const uint64_t x = equal | b->down, e = equal | *falls;
    const uint64_t h = (((e & b->up) + b->up) ^ b->up) | e;
    uint64_t more = b->down | ~(h | b->up), less = b->up & h;
    const uint64_t more_out = more >> 63, less_out = less >> 63;
    if (cells) {
        cells->left = more;
        cells->diagonal = equal | ~(h | b->down); /* else as much as on the diagonal before */
    }
    more = more << 1 | *grows;
    less = less << 1 | *falls;
    b->up = less | ~(x | more);
    b->down = more & x;
    if (cells)
        cells->up = b->up;
    *grows = more_out;
    *falls = less_out;
}

/* A column of blocks; returns what the last row grows by. cells: of block `first`. */
static inline int one_column(struct block *blocks, const uint64_t *equal, int64_t first,
                             int64_t last, struct cells *cells)
{
    uint64_t grows = 1, falls = 0;
    for (int64_t b = first; b <= last; b++)
        step(&blocks[b], equal[b], &grows, &falls, cells ? cells++ : NULL);
    return (int)grows - (int)falls;
}

/* Two columns, the second a block behind the first: a block waits for the one above it, and so two
 * are under way at once. */
static inline int two_columns(struct block *blocks, const uint64_t *equal, const uint64_t *next,
                              int64_t first, int64_t last, struct cells *cells,
                              struct cells *next_cells)
{
    uint64_t grows = 1, falls = 0, next_grows = 1, next_falls = 0;
    step(&blocks[first], equal[first], &grows, &falls, cells ? cells++ : NULL);
    for (int64_t b = first + 1; b <= last; b++) {
        step(&blocks[b], equal[b], &grows, &falls, cells ? cells++ : NULL);
        step(&blocks[b - 1], next[b - 1], &next_grows, &next_falls, cells ? next_cells++ : NULL);
    }
    step(&blocks[last], next[last], &next_grows, &next_falls, cells ? next_cells++ : NULL);
    return (int)grows - (int)falls + (int)next_grows - (int)next_falls;
}

static int count_bits(uint64_t x)
{
    return __builtin_popcountll(x);
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

struct pair {
    const struct bi_align_input *in;
    int64_t low, high;        /* diagonals */
    int64_t n_blocks, stride; /* in a column: all, and most in the band */
    int64_t window;           /* columns, an even number */
    uint64_t *equal;          /* [code][block]: a bit for each row that has the code */
    struct block *blocks;
    struct block *kept;  /* [window][stride]: blocks before its first column, from its first on */
    struct cells *cells; /* [column of the window][stride], from the first block on */
};

/* The first block of column j; columns go by twos. */
static int64_t first_block(const struct pair *p, int64_t j)
{
    const int64_t odd = (j - 1) / 2 * 2 + 1;
    return (clamp(odd - p->high, 1, p->in->n) - 1) / ROWS;
}

/* The last block of columns j and j + two, j odd. */
static int64_t last_block(const struct pair *p, int64_t j, int64_t two)
{
    return (clamp(j + two - p->low, 1, p->in->n) - 1) / ROWS;
}

/* Columns `from`, an odd number, to `to`; keeps their cells if asked to, of blocks up to `lowest`.
 * *last: the lowest block so far, -1 at first; returns what the penalty of its last row grows by,
 * as long as `lowest` leaves out none. */
static int64_t run_columns(const struct pair *p, int64_t from, int64_t to, int64_t lowest,
                           bool keep, int64_t *last)
{
    int64_t bottom = 0;
    for (int64_t j = from, two; j <= to; j += 1 + two) {
        two = j < to;
        const int64_t first = first_block(p, j), most = last_block(p, j, two);
        const int64_t until = most < lowest ? most : lowest;
        const uint64_t *equal = p->equal + p->in->target[j - 1] * p->n_blocks;
        const uint64_t *next = two ? p->equal + p->in->target[j] * p->n_blocks : NULL;
        struct cells *cells = keep ? p->cells + (j - from) * p->stride : NULL;
        for (; *last < until; bottom += ROWS)
            p->blocks[++*last] = (struct block){.up = ~(uint64_t)0};
        if (keep && two)
            bottom += two_columns(p->blocks, equal, next, first, *last, cells, cells + p->stride);
        else if (keep)
            bottom += one_column(p->blocks, equal, first, *last, cells);
        else if (two)
            bottom += two_columns(p->blocks, equal, next, first, *last, NULL, NULL);
        else
            bottom += one_column(p->blocks, equal, first, *last, NULL);
    }
    return bottom;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sizes of a pair, and of its cells and kept blocks: 0 for a score alone. */
static struct pair plan_pair(const struct bi_align_input *in, int64_t low, int64_t high, bool trace,
                             uint64_t *cells, uint64_t *kept)
{
    struct pair p = {.in = in, .low = low, .high = high, .n_blocks = (in->n + ROWS - 1) / ROWS};
    const int64_t even = in->m + (in->m & 1);
    p.stride = smaller((high - low) / ROWS + 3, p.n_blocks);
    p.window = even;
    *cells = *kept = 0;
    if (!trace)
        return p;
    if ((uint64_t)even > DIRECT / sizeof(struct cells) / (uint64_t)p.stride) {
        p.window = LEAST_WINDOW;
        while (p.window * p.window < even)
            p.window *= 2;
        p.window = smaller(p.window, even);
        *kept = (uint64_t)((even + p.window - 1) / p.window * p.stride) * sizeof(struct block);
    }
    *cells = (uint64_t)(p.window * p.stride) * sizeof(struct cells);
    return p;
}

uint64_t bi_align_bits_size(const struct bi_align_input *in, int64_t low, int64_t high)
{
    uint64_t cells, kept;
    plan_pair(in, low, high, true, &cells, &kept);
    return cells + kept;
}

static int take_memory(struct pair *p, struct bi_align_work *work, uint64_t cells, uint64_t kept,
                       struct bioinfer_error *err)
{
    const uint64_t size = (uint64_t)p->n_blocks * sizeof(uint64_t);
    int st;
    if ((st = bi_align_buffer_need(work->env, &work->profile, size * BI_ALIGN_LETTERS, err)) ||
        (st = bi_align_buffer_need(work->env, &work->state, size * 2, err)) ||
        (st = bi_align_buffer_need(work->env, &work->flags, cells, err)) ||
        (st = bi_align_buffer_need(work->env, &work->corners, kept, err)))
        return st;
    p->equal = work->profile.ptr;
    p->blocks = work->state.ptr;
    p->cells = work->flags.ptr;
    p->kept = work->corners.ptr;
    memset(p->equal, 0, size * BI_ALIGN_LETTERS);
    for (int64_t i = 0; i < p->in->n; i++)
        p->equal[p->in->query[i] * p->n_blocks + i / ROWS] |= (uint64_t)1 << i % ROWS;
    return 0;
}

/* Steps back through the cells of the columns from `from` on, as bi_align_step() does: costs are
 * linear, so that a gap goes on where another one could begin. */
static void walk_back(const struct pair *p, const struct bi_align_scoring *s, int64_t from,
                      struct bi_align_walk *at, struct bi_align_path *path)
{
    while (at->i && at->j >= from) {
        const struct cells *c = p->cells + (at->j - from) * p->stride + (at->i - 1) / ROWS -
                                first_block(p, at->j);
        const int bit = (int)((at->i - 1) % ROWS);
        const bool up = c->up >> bit & 1, left = c->left >> bit & 1;
        const bool equal = p->in->query[at->i - 1] == p->in->target[at->j - 1];
        bool diagonal = c->diagonal >> bit & 1;
        if ((at->state == BI_WALK_F && up) || (at->state == BI_WALK_E && left) ||
            (s->ties == BIOINFER_TIES_WFA && equal && (up || left)))
            diagonal = false;
        if (diagonal) {
            bi_align_path_push(path, equal ? BI_CIGAR_EQ : BI_CIGAR_X, 1);
            at->i--;
            at->j--;
            at->state = BI_WALK_H;
        } else if (up && !(left && (at->state == BI_WALK_E ||
                                    (s->ties == BIOINFER_TIES_EMBOSS && at->state == BI_WALK_H)))) {
            bi_align_path_push(path, BI_CIGAR_I, 1);
            at->i--;
            at->state = BI_WALK_F;
        } else {
            bi_align_path_push(path, BI_CIGAR_D, 1);
            at->j--;
            at->state = BI_WALK_E;
        }
    }
}

static void way_back(const struct pair *p, const struct bi_align_scoring *s,
                     struct bi_align_walk *begin, struct bi_align_path *path)
{
    struct bi_align_walk at = {.i = p->in->n, .j = p->in->m};
    while (at.i && at.j) {
        const int64_t w = (at.j - 1) / p->window, from = w * p->window + 1;
        if (p->window < p->in->m) {
            const int64_t first = first_block(p, from), row = (at.i - 1) / ROWS;
            int64_t last = w ? last_block(p, from - 2, 1) : -1;
            for (int64_t b = first; b <= last; b++)
                p->blocks[b] = p->kept[w * p->stride + b - first];
            last = smaller(last, row);
            run_columns(p, from, at.j, row, true, &last);
        }
        walk_back(p, s, from, &at, path);
    }
    bi_align_border(s, &at, path);
    bi_align_path_finish(path);
    *begin = at;
}

int bi_align_bits(struct bi_align_work *work, const struct bi_align_input *in, int64_t low,
                  int64_t high, int64_t *penalty, const struct bi_align_scoring *s,
                  struct bi_align_walk *begin, struct bi_align_path *path,
                  struct bioinfer_error *err)
{
    uint64_t cells, kept;
    struct pair p = plan_pair(in, low, high, path != NULL, &cells, &kept);
    int64_t last = -1, bottom = 0; /* the lowest block, and the penalty of its last row */
    int st;
    if ((st = take_memory(&p, work, cells, kept, err)))
        return st;
    for (int64_t w = 0, from = 1; from <= in->m; w++, from += p.window) {
        const int64_t first = first_block(&p, from);
        for (int64_t b = first; kept && b <= last; b++)
            p.kept[w * p.stride + b - first] = p.blocks[b];
        bottom += run_columns(&p, from, smaller(from + p.window - 1, in->m), p.n_blocks,
                              path && !kept, &last);
    }
    /* rows behind the last one lie in the last block, too: what they add is taken away */
    const uint64_t behind = in->n % ROWS ? ~(uint64_t)0 << in->n % ROWS : 0;
    *penalty = bottom - count_bits(p.blocks[last].up & behind) +
               count_bits(p.blocks[last].down & behind);
    if (path)
        way_back(&p, s, begin, path);
    return 0;
}

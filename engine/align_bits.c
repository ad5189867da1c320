/* align_bits.c - penalties of unit costs, 64 rows of a column in one word.
 *
 * Where a mismatch and a residue in a gap cost one each, neighbours in a column differ by -1, 0 or
 * 1: two words hold these differences of a block of 64 rows, and a column takes some twenty
 * operations of whole words for each block. Blocks outside of a band of diagonals are left out:
 * above it a row grows by one with each column, and below it a column by one with each row, as a
 * path that goes there alone does, so that nothing gets less than it costs.
 * Source: Myers, J. ACM 46:395 (1999); Hyyro, Nordic J. Comput. 10:29 (2003), for blocks. */
#include "align_wave.h"

#include <string.h>

enum { ROWS = 64 };

struct block {
    uint64_t up, down; /* rows that are one more, one less than the row above */
};

/* One column of a block; grows, falls: 1 where the row above the block is one more, one less than
 * in the column before. They become those of its last row. */
static inline void step(struct block *b, uint64_t equal, uint64_t *grows, uint64_t *falls)
{
    const uint64_t x = equal | b->down, e = equal | *falls;
    const uint64_t h = (((e & b->up) + b->up) ^ b->up) | e;
    uint64_t more = b->down | ~(h | b->up), less = b->up & h;
    const uint64_t more_out = more >> 63, less_out = less >> 63;

    more = more << 1 | *grows;
    less = less << 1 | *falls;
    b->up = less | ~(x | more);
    b->down = more & x;
    *grows = more_out;
    *falls = less_out;
}

/* A column of blocks; returns what the last row grows by. */
static int one_column(struct block *blocks, const uint64_t *equal, int64_t first, int64_t last)
{
    uint64_t grows = 1, falls = 0;

    for (int64_t b = first; b <= last; b++)
        step(&blocks[b], equal[b], &grows, &falls);
    return (int)grows - (int)falls;
}

/* Two columns, the second a block behind the first: a block waits for the one above it, and so two
 * are under way at once. */
static int two_columns(struct block *blocks, const uint64_t *equal, const uint64_t *next,
                       int64_t first, int64_t last)
{
    uint64_t grows = 1, falls = 0, next_grows = 1, next_falls = 0;

    step(&blocks[first], equal[first], &grows, &falls);
    for (int64_t b = first + 1; b <= last; b++) {
        step(&blocks[b], equal[b], &grows, &falls);
        step(&blocks[b - 1], next[b - 1], &next_grows, &next_falls);
    }
    step(&blocks[last], next[last], &next_grows, &next_falls);
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

int bi_align_bits(struct bi_align_work *work, const struct bi_align_input *in, int64_t low,
                  int64_t high, int64_t *penalty, struct bioinfer_error *err)
{
    const int64_t n_blocks = (in->n + ROWS - 1) / ROWS;
    const uint64_t size = (uint64_t)n_blocks * sizeof(uint64_t);
    uint64_t *equal; /* [code][block]: a bit for each row that has the code */
    struct block *blocks;
    int64_t last = -1, bottom = 0; /* the lowest block, and the penalty of its last row */
    int st;

    if ((st = bi_align_buffer_need(work->env, &work->profile, size * BI_ALIGN_LETTERS, err)) ||
        (st = bi_align_buffer_need(work->env, &work->state, size * 2, err)))
        return st;
    equal = work->profile.ptr;
    blocks = work->state.ptr;
    memset(equal, 0, size * BI_ALIGN_LETTERS);
    for (int64_t i = 0; i < in->n; i++)
        equal[in->query[i] * n_blocks + i / ROWS] |= (uint64_t)1 << i % ROWS;
    for (int64_t j = 1, two; j <= in->m; j += 1 + two) {
        two = j < in->m;
        const int64_t first = (clamp(j - high, 1, in->n) - 1) / ROWS;
        const int64_t until = (clamp(j + two - low, 1, in->n) - 1) / ROWS;
        const uint64_t *column = equal + in->target[j - 1] * n_blocks;
        for (; last < until; bottom += ROWS)
            blocks[++last] = (struct block){.up = ~(uint64_t)0};
        bottom += two ? two_columns(blocks, column, equal + in->target[j] * n_blocks, first, last)
                      : one_column(blocks, column, first, last);
    }
    /* rows behind the last one lie in the last block, too: what they add is taken away */
    const uint64_t behind = in->n % ROWS ? ~(uint64_t)0 << in->n % ROWS : 0;
    *penalty = bottom - count_bits(blocks[last].up & behind) +
               count_bits(blocks[last].down & behind);
    return 0;
}

/* gpu_tiles.h - kernels over tiles of rows of one sequence.
 *
 * The tiles of sequence s are blocks start[s] / rows + s and following: that leaves room for
 * ceil(length / rows) of them, needs no list, and counts from the sequence's own start. */
#ifndef BI_GPU_TILES_H
#define BI_GPU_TILES_H

#include "gpu.h"

struct tile {
    int64_t start; /* first token of the sequence */
    int length;    /* number of tokens */
    int first;     /* first row of the tile, counted from start; >= length: nothing to do */
    int seq;       /* number of the sequence */
};

/* The last s of n whose key(s) <= x, for keys that do not decrease; 0 where none is, and for n
 * below 2. */
template <typename F> DEV int last_at_most(int n, int64_t x, F key)
{
    int low = 0, high = n;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (key(middle) <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The tile that a block has: rows of one of n sequences; all 0 where there is none. A block with
 * nothing to do, behind the last tile too, has first >= length. */
template <int rows> DEV tile find_tile(int n, const int32_t *start, int block)
{
    if (n < 1)
        return tile{0, 0, 0, 0};
    const int s = last_at_most(n, block, [=](int i) { return (int64_t)start[i] / rows + i; });
    const int64_t first = start[s];
    return tile{first, (int)(start[s + 1] - first), (block - (int)(first / rows) - s) * rows, s};
}

/* The same of sequences of tokens. */
template <int rows>
DEV tile find_tile(const struct bi_counts *counts, const int32_t *start, int block)
{
    return find_tile<rows>(counts->n_seqs, start, block);
}

/* The same by all threads of a block at once: one look at memory instead of one after another.
 * found: in shared memory; ends with a barrier, and is read behind it: another one has to come
 * before it is used again. */
template <int rows, int threads>
DEV tile find_tile_at_once(const struct bi_counts *counts, const int32_t *start, int block,
                           int *found)
{
    const int n = counts->n_seqs;
    for (int s = thread_id(); s < n; s += threads)
        if (start[s] / rows + s <= block && (s + 1 == n || start[s + 1] / rows + s + 1 > block))
            *found = s;
    barrier();
    if (n < 1)
        return tile{0, 0, 0, 0};
    const int s = *found;
    const int64_t first = start[s];
    return tile{first, (int)(start[s + 1] - first), (block - (int)(first / rows) - s) * rows, s};
}

/* The sequence, of n, of a row, never an empty one; of a row behind all of them the last one, 0
 * where there is no sequence. */
DEV int sequence_of(int n, const int32_t *start, int64_t row)
{
    return last_at_most(n, row, [=](int i) { return (int64_t)start[i]; });
}

/* The same of a token. */
DEV int sequence_of(const struct bi_counts *counts, const int32_t *start, int64_t token)
{
    return sequence_of(counts->n_seqs, start, token);
}

#endif

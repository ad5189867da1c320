/* attention_parts.h - how attention is cut into tasks: of one head of one sequence up to MAX_ROWS
 * rows of queries. */
#ifndef BI_CPU_ATTENTION_PARTS_H
#define BI_CPU_ATTENTION_PARTS_H

#include "../attention.h"
#include "attention_tile.h"

enum { MAX_ROWS = 480, MIN_ROWS = 96 }; /* multiples of every BLOCK */

struct part {
    int64_t start;  /* first token of the sequence */
    int64_t length; /* the sequence has so many tokens */
    int64_t first;  /* row of the sequence the task begins with */
    int n, head;    /* n: rows, 0 = nothing to do */
};

/* n_seqs * n_heads * pieces, as many as the longest sequence needs. */
static int64_t count_tasks(const struct bi_counts *counts, int n_heads, int n_threads)
{
    const int64_t longest = counts->longest, heads = (int64_t)counts->n_seqs * n_heads;
    int64_t pieces = (longest + MAX_ROWS - 1) / MAX_ROWS;
    if (pieces < 1)
        return 0;
    while (heads * pieces < 4 * (int64_t)n_threads && longest / pieces > MIN_ROWS)
        pieces++;
    return heads * pieces;
}

static struct part find_part(const struct bi_counts *counts, const int32_t *start, int n_heads,
                             int64_t task, int64_t n_tasks)
{
    const int64_t pieces = n_tasks / ((int64_t)counts->n_seqs * n_heads);
    const int64_t rows = (counts->longest + pieces - 1) / pieces;
    const int64_t step = (rows + BLOCK - 1) / BLOCK * BLOCK;
    const int64_t seq = task / pieces / n_heads;
    struct part part = {
        .start = start[seq],
        .length = start[seq + 1] - start[seq],
        .first = task % pieces * step,
        .head = (int)(task / pieces % n_heads),
    };
    const int64_t left = part.length - part.first;
    part.n = (int)(left < 0 ? 0 : left < step ? left : step);
    return part;
}

static int min_int(int64_t a, int b)
{
    return a < b ? (int)a : b;
}

/* y = out / by, rows of queries again. */
BI_INLINE void unpack_rows(float *y, int64_t ldy, float *out, int n, int d, const vf *by)
{
    for (int c = 0; c < d; c++)
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            float *o = out + c * BLOCK + v * VW;
            vf_store(o, vf_mul(vf_load(o), by[v]));
        }
    transpose(y, ldy, out, BLOCK, d, n);
}

#endif

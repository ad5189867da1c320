/* block_attention.cu - attention of blocks of rows to the rows around them, all in f32, see
 * block_attention.h.
 *
 * A block of 256 threads takes the 32 queries of one head against 32 keys at a time, eight lanes a
 * query or key; online softmax. Tiles count from the start of the own sequence: the same bits in
 * any batch. Grid: tiles of gpu_tiles.h, heads. */
#include "lib/gpu_tiles.h"

#include "lib/gpu_math.h"
#include "../block_attention.h"

enum {
    AROUND_ROWS = BI_BLOCK_QUERIES,
    AROUND_THREADS = 256,
    AROUND_LANES = AROUND_THREADS / AROUND_ROWS,
    AROUND_OF = AROUND_ROWS / AROUND_LANES,       /* keys of a lane */
    AROUND_VALUES = BI_BLOCK_HEAD / AROUND_LANES, /* columns of a lane */
    AROUND_LD = BI_BLOCK_HEAD + 1
};

struct around_tiles {
    float q[AROUND_ROWS * AROUND_LD], k[AROUND_ROWS * AROUND_LD], v[AROUND_ROWS * AROUND_LD];
    float weights[AROUND_ROWS * (AROUND_ROWS + 1)];
};

/* A lane's columns of a head's row r, times scale; zeros where the row is not there. */
DEV void around_load(float *to, const float *x, int64_t ldx, int64_t r, bool there, int at, int d,
                     float scale)
{
    const int row = thread_id() / AROUND_LANES, lane = thread_id() % AROUND_LANES;
    for (int c = lane; c < d; c += AROUND_LANES)
        to[row * AROUND_LD + c] = there ? scale * x[r * ldx + at + c] : 0;
}

KERNEL(block_attention_f32, struct bi_block_attention_params, AROUND_THREADS, 2)
{
    SHARED(around_tiles, s, 29440);
    const tile q = find_tile<AROUND_ROWS>(p.counts, p.start, block_x());
    if (q.first >= q.length)
        return;
    const int head = block_y(), row = thread_id() / AROUND_LANES;
    const int lane = thread_id() % AROUND_LANES;
    const int d = p.head_dim, me = q.first + row;
    const bool there = me < q.length;
    float o[AROUND_VALUES] = {}, max = -INF, sum = 0;

    around_load(s.q, p.q, p.ldq, q.start + me, there, head * d, d, p.scale);
    for (int j0 = 0; j0 < BI_BLOCK_KEYS; j0 += AROUND_ROWS) {
        const int first = q.first - BI_BLOCK_BEFORE + j0; /* key of the tile's first place */
        float x[AROUND_OF];
        if (first + AROUND_ROWS <= 0 || first >= q.length)
            continue;
        barrier(); /* the last tile is used up */
        const int key = first + row;
        const bool has = key >= 0 && key < q.length;
        around_load(s.k, p.k, p.ldk, q.start + key, has, head * d, d, 1);
        around_load(s.v, p.v, p.ldv, q.start + key, has, head * d, d, 1);
        barrier();
        float top = max;
#pragma GCC unroll 4
        for (int e = 0; e < AROUND_OF; e++) {
            const int j = lane + AROUND_LANES * e, at = first + j;
            float dot = 0;
            for (int c = 0; c < d; c++)
                dot = fma_(s.q[row * AROUND_LD + c], s.k[j * AROUND_LD + c], dot);
            x[e] = -INF;
            if (there && at >= 0 && at < q.length)
                x[e] = dot +
                       p.bias[((q.start + (int64_t)me) * BI_BLOCK_KEYS + j0 + j) * p.ldb + head];
            top = max_(top, x[e]);
        }
        top = lanes_max<AROUND_LANES>(top);
        const float shrink = max == top ? 1 : exp_(max - top);
        max = top;
        sum *= shrink;
#pragma GCC unroll 4
        for (int e = 0; e < AROUND_OF; e++) {
            const float weight = x[e] == -INF ? 0 : exp_(x[e] - (top == -INF ? 0 : top));
            s.weights[row * (AROUND_ROWS + 1) + lane + AROUND_LANES * e] = weight;
            sum += weight;
        }
        barrier(); /* weights are there */
#pragma GCC unroll 8
        for (int e = 0; e < AROUND_VALUES; e++)
            o[e] *= shrink;
        for (int j = 0; j < AROUND_ROWS; j++) {
            const float weight = s.weights[row * (AROUND_ROWS + 1) + j];
#pragma GCC unroll 8
            for (int e = 0; e < AROUND_VALUES; e++) /* columns that no value has are not written */
                o[e] = fma_(weight, s.v[j * AROUND_LD + lane + AROUND_LANES * e], o[e]);
        }
    }
    sum = lanes_sum<AROUND_LANES>(sum);
    for (int e = 0; e < AROUND_VALUES; e++) {
        const int c = lane + AROUND_LANES * e;
        if (there && c < d)
            p.y[(q.start + me) * p.ldy + head * d + c] = o[e] / sum;
    }
}

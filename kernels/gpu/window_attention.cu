/* window_attention.cu - attention of rows to rows near them, all in f32, see window_attention.h.
 *
 * A block of 256 threads takes 32 queries of one head against 32 keys at a time, eight lanes a
 * query or key; online softmax. Tiles count from the start of the own sequence, and those that no
 * query reaches are left out: the same bits in any batch.
 * Grid: tiles of gpu_tiles.h, heads. */
#include "lib/gpu_tiles.h"

#include "lib/gpu_math.h"
#include "../window_attention.h"

enum {
    REACH_ROWS = 32,
    REACH_THREADS = 256,
    REACH_LANES = REACH_THREADS / REACH_ROWS,
    REACH_OF = REACH_ROWS / REACH_LANES,         /* keys of a lane */
    REACH_VALUES = BI_WINDOW_HEAD / REACH_LANES, /* columns of a lane */
    REACH_LD = BI_WINDOW_HEAD + 1
};

struct window_tiles {
    float q[REACH_ROWS * REACH_LD], k[REACH_ROWS * REACH_LD], v[REACH_ROWS * REACH_LD];
    float weights[REACH_ROWS * (REACH_ROWS + 1)];
};

/* Rows of a head from row r of x on, normed, rotated and scaled; those from `rows` on are zero.
 * All threads take part, and end with a barrier. */
DEV void window_turn(const struct bi_window_attention_params &p, float *to, const float *x,
                     int64_t ldx, int64_t r, int rows, int head, float scale)
{
    const int row = thread_id() / REACH_LANES, lane = thread_id() % REACH_LANES;
    const int d = p.head_dim, half = d / 2;
    const float *from = x + (r + row) * ldx + head * d, *table = p.table + (r + row) * p.ldt;
    float square = 0;
    for (int c = lane; c < d && row < rows; c += REACH_LANES)
        square = fma_(from[c], from[c], square);
    square = lanes_sum<REACH_LANES>(square);
    const float by = scale / __builtin_sqrtf(square / (float)d + p.eps);
    for (int c = lane; c < half; c += REACH_LANES) {
        float a = 0, b = 0;
        if (row < rows) {
            a = fma_(-from[half + c], table[half + c], from[c] * table[c]) * by;
            b = fma_(from[c], table[half + c], from[half + c] * table[c]) * by;
        }
        to[row * REACH_LD + c] = a;
        to[row * REACH_LD + half + c] = b;
    }
    barrier();
}

KERNEL(window_attention_f32, struct bi_window_attention_params, REACH_THREADS, 2)
{
    SHARED(window_tiles, s, 29440);
    const tile q = find_tile<REACH_ROWS>(p.counts, p.start, block_x());
    if (q.first >= q.length)
        return;
    const int head = block_y(), row = thread_id() / REACH_LANES, lane = thread_id() % REACH_LANES;
    const int rows = q.length - q.first < REACH_ROWS ? q.length - q.first : REACH_ROWS;
    const int d = p.head_dim, me = q.first + row;
    const int low = q.first > p.reach ? (q.first - p.reach) / REACH_ROWS * REACH_ROWS : 0;
    const int64_t last = (int64_t)q.first + rows + p.reach; /* a reach may be any number */
    const int high = last < q.length ? (int)last : q.length;
    float o[REACH_VALUES] = {}, max = -INF, sum = 0;

    window_turn(p, s.q, p.q, p.ldq, q.start + q.first, rows, head, p.scale);
    for (int j0 = low; j0 < high; j0 += REACH_ROWS) {
        const int keys = high - j0 < REACH_ROWS ? high - j0 : REACH_ROWS;
        float x[REACH_OF];
        barrier(); /* the last tile is used up */
        for (int c = lane; c < d && row < keys; c += REACH_LANES)
            s.v[row * REACH_LD + c] = p.v[(q.start + j0 + row) * p.ldv + head * d + c];
        window_turn(p, s.k, p.k, p.ldk, q.start + j0, keys, head, 1);
        float top = max;
#pragma GCC unroll 4
        for (int e = 0; e < REACH_OF; e++) {
            const int j = lane + REACH_LANES * e, far = j0 + j - me;
            float dot = 0;
            for (int c = 0; c < d; c++)
                dot = fma_(s.q[row * REACH_LD + c], s.k[j * REACH_LD + c], dot);
            x[e] = j < keys && far <= p.reach && -far <= p.reach ? dot : -INF;
            top = max_(top, x[e]);
        }
        top = lanes_max<REACH_LANES>(top);
        const float shrink = max == top ? 1 : exp_(max - top);
        max = top;
        sum *= shrink;
#pragma GCC unroll 4
        for (int e = 0; e < REACH_OF; e++) {
            const float weight = x[e] == -INF ? 0 : exp_(x[e] - (top == -INF ? 0 : top));
            s.weights[row * (REACH_ROWS + 1) + lane + REACH_LANES * e] = weight;
            sum += weight;
        }
        barrier(); /* weights are there */
#pragma GCC unroll 8
        for (int e = 0; e < REACH_VALUES; e++)
            o[e] *= shrink;
        for (int j = 0; j < keys; j++) {
            const float weight = s.weights[row * (REACH_ROWS + 1) + j];
            if (j0 + j - me > p.reach || me - j0 - j > p.reach)
                continue; /* values out of reach may be NaN */
#pragma GCC unroll 8
            for (int e = 0; e < REACH_VALUES; e++) /* columns that no value has are not written */
                o[e] = fma_(weight, s.v[j * REACH_LD + lane + REACH_LANES * e], o[e]);
        }
    }
    sum = lanes_sum<REACH_LANES>(sum);
    for (int e = 0; e < REACH_VALUES; e++) {
        const int c = lane + REACH_LANES * e;
        if (row < rows && c < d)
            p.y[(q.start + me) * p.ldy + head * d + c] = o[e] / sum;
    }
}

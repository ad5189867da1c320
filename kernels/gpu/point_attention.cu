/* point_attention.cu - invariant point attention, all in f32, see point_attention.h.
 *
 * A block of 256 threads takes 32 queries of one head against 32 keys at a time, eight lanes a
 * query; online softmax. Points are moved to space on the way to shared memory. Of the bins of a
 * query each lane owns every eighth and walks over all keys of the tile, so sums are in the order
 * of keys; so it does with the values of pairs, whose sums lie where bins do. Tiles count from the
 * start of the own sequence: the same bits in any batch.
 * Grid: tiles of gpu_tiles.h, heads. */
#include "lib/gpu_tiles.h"

#define BI_RIGID_FUNCTION DEV
#include "lib/gpu_math.h"
#include "lib/gpu_norm_act.h"
#include "../point_attention.h"
#include "../rigid.h"

enum {
    POINT_ROWS = 32,
    POINT_THREADS = 256,
    POINT_LANES = POINT_THREADS / POINT_ROWS,
    POINT_OF = POINT_ROWS / POINT_LANES, /* keys of a lane */
    POINT_LC = BI_POINT_HEAD + 1,
    POINT_LP = 3 * BI_POINT_KEYS + 1,
    POINT_LV = BI_POINT_VALUES + 1,
    POINT_LB = BI_POINT_BINS + 1
};

struct point_tiles {
    float q[POINT_ROWS * POINT_LC], k[POINT_ROWS * POINT_LC];
    float a[POINT_ROWS * POINT_LP], b[POINT_ROWS * POINT_LP]; /* points of queries and keys */
    float v[POINT_ROWS * POINT_LV]; /* values, in the end sums of a query */
    float weights[POINT_ROWS * (POINT_ROWS + 1)], bins[POINT_ROWS * POINT_LB];
    int32_t number[POINT_ROWS];
};

/* A rotation and a translation. */
struct point_frame {
    bi_rotation r;
    float t[3];
};

DEV point_frame point_frame_of(const struct bi_point_attention_params &p, int64_t token)
{
    float f[BI_FRAME] = {1, 0, 0, 0, 0, 0, 0};
    if (p.frame)
#pragma GCC unroll 7
        for (int i = 0; i < BI_FRAME; i++)
            f[i] = p.frame[token * p.ldf + i];
    return point_frame{bi_rotation_of(f), {f[4], f[5], f[6]}};
}

/* The point in column `at` of x, `stride` columns a coordinate, in space. */
DEV void point_place(float *to, const float *x, int64_t stride, int64_t at, const point_frame &f)
{
    const float a = x[at], b = x[stride + at], c = x[2 * stride + at];
#pragma GCC unroll 3
    for (int d = 0; d < 3; d++)
        to[d] = f.r.of[3 * d] * a + f.r.of[3 * d + 1] * b + f.r.of[3 * d + 2] * c + f.t[d];
}

/* Queries of `rows` tokens from `token` on. */
DEV void point_read_queries(const struct bi_point_attention_params &p, point_tiles &s, int head,
                            int64_t token, int rows)
{
    for (int at = thread_id(); at < POINT_ROWS * p.head_dim; at += POINT_THREADS) {
        const int i = at / p.head_dim, c = at % p.head_dim;
        s.q[i * POINT_LC + c] = i < rows
                                    ? p.q[(token + i) * p.ldq + head * p.head_dim + c] * p.scale
                                    : 0;
    }
    for (int at = thread_id(); at < rows * p.n_keys; at += POINT_THREADS) {
        const int i = at / p.n_keys, c = at % p.n_keys;
        point_place(s.a + i * POINT_LP + 3 * c, p.points + (token + i) * p.ldp,
                    (int64_t)p.n_heads * p.n_keys, head * p.n_keys + c,
                    point_frame_of(p, token + i));
    }
}

/* Keys of `rows` tokens from `token` on; rows behind them stay as they are. */
DEV void point_read_keys(const struct bi_point_attention_params &p, point_tiles &s, int head,
                         int64_t token, int rows, bool bins)
{
    const int d = p.head_dim, more = p.n_keys + p.n_values;
    for (int at = thread_id(); at < rows * d; at += POINT_THREADS) {
        const int j = at / d, c = at % d;
        s.k[j * POINT_LC + c] = p.k[(token + j) * p.ldk + head * d + c];
        s.v[j * POINT_LV + c] = p.v[(token + j) * p.ldv + head * d + c];
    }
    for (int at = thread_id(); at < rows * more; at += POINT_THREADS) {
        const int j = at / more, c = at % more;
        point_place(c < p.n_keys ? s.b + j * POINT_LP + 3 * c
                                 : s.v + j * POINT_LV + d + 3 * (c - p.n_keys),
                    p.more + (token + j) * p.ldm, (int64_t)p.n_heads * more, head * more + c,
                    point_frame_of(p, token + j));
    }
    if (bins && thread_id() < rows)
        s.number[thread_id()] = p.number[token + thread_id()];
}

/* Bins of the lane, row by row of keys. */
DEV void point_add_bins(const struct bi_point_attention_params &p, point_tiles &s, int row,
                        int lane, int number, int keys, float shrink)
{
    float *bins = s.bins + row * POINT_LB;
    for (int b = lane; b < p.n_bins; b += POINT_LANES)
        bins[b] *= shrink;
    for (int j = 0; j < keys; j++) {
        const int64_t gap = ((int64_t)s.number[j] - number) % p.n_bins;
        const int b = (int)(gap < 0 ? gap + p.n_bins : gap);
        if (b % POINT_LANES == lane)
            bins[b] += s.weights[row * (POINT_ROWS + 1) + j];
    }
}

/* Sums of values of pairs of the lane, key by key; x: those of the query and the first key. */
DEV void point_add_pairs(const struct bi_point_attention_params &p, point_tiles &s, int row,
                         int lane, const float *x, int keys, float shrink)
{
    for (int c = lane; c < p.width; c += POINT_LANES) {
        float sum = s.bins[row * POINT_LB + c] * shrink;
        for (int j = 0; j < keys; j++)
            sum = fma_(s.weights[row * (POINT_ROWS + 1) + j], x[j * p.ldz + c], sum);
        s.bins[row * POINT_LB + c] = sum;
    }
}

/* Writes a row of results: sums of values are in s.v, divided already. */
DEV void point_write(const struct bi_point_attention_params &p, point_tiles &s, int head,
                     int64_t token, int row, int lane, int columns, float total)
{
    const int64_t width = (int64_t)p.n_heads * p.n_values;
    const float *sums = s.v + row * POINT_LV;
    const point_frame f = point_frame_of(p, token);
    float *y = p.y + token * p.ldy, *points = y + p.n_heads * p.head_dim + head * p.n_values;
    for (int c = lane; c < p.head_dim; c += POINT_LANES)
        y[head * p.head_dim + c] = sums[c];
    for (int i = lane; i < p.n_values; i += POINT_LANES) {
        const float *x = sums + p.head_dim + 3 * i;
        const float a = x[0] - f.t[0], b = x[1] - f.t[1], c = x[2] - f.t[2];
        float square = p.eps;
#pragma GCC unroll 3
        for (int d = 0; d < 3; d++) {
            const float z = f.r.of[d] * a + f.r.of[3 + d] * b + f.r.of[6 + d] * c;
            points[d * width + i] = z;
            square += z * z;
        }
        points[3 * width + i] = __builtin_sqrtf(square);
    }
    float *bins = y + p.n_heads * (p.head_dim + 4 * (int64_t)p.n_values) + (int64_t)head * columns;
    for (int b = lane; b < columns; b += POINT_LANES)
        bins[b] = s.bins[row * POINT_LB + b] / total;
}

/* PAIRS: with biases and values of pairs, else with bins. As one kernel it would take more scalar
 * registers than AMD's have. */
template <bool PAIRS>
DEV void point_attention(const struct bi_point_attention_params &p, point_tiles &s)
{
    enum { VALUES = BI_POINT_VALUES / POINT_LANES };
    const tile q = find_tile<POINT_ROWS>(p.counts, p.start, block_x());
    if (q.first >= q.length)
        return;
    const int head = block_y(), row = thread_id() / POINT_LANES, lane = thread_id() % POINT_LANES;
    const int rows = q.length - q.first < POINT_ROWS ? q.length - q.first : POINT_ROWS;
    const int64_t token = q.start + q.first + (row < rows ? row : 0);
    const int coordinates = 3 * p.n_keys;
    const float by = softplus(p.w[head]) * p.by_distance;
    const int columns = PAIRS ? p.width : p.n_bins;
    const int number = !PAIRS && columns ? p.number[token] : 0;
    int64_t pair = 0; /* the row of the pair of this query and the first key */
    float o[VALUES] = {}, max = -INF, sum = 0;

    if (PAIRS)
        pair = p.grid_start[q.seq] + (token - q.start) * q.length;
    point_read_queries(p, s, head, q.start + q.first, rows);
    for (int b = lane; b < columns; b += POINT_LANES)
        s.bins[row * POINT_LB + b] = 0;
    for (int j0 = 0; j0 < q.length; j0 += POINT_ROWS) {
        const int keys = q.length - j0 < POINT_ROWS ? q.length - j0 : POINT_ROWS;
        float x[POINT_OF];
        barrier(); /* the last tile is used up */
        point_read_keys(p, s, head, q.start + j0, keys, !PAIRS && columns);
        barrier();
        float high = max;
#pragma GCC unroll 4
        for (int e = 0; e < POINT_OF; e++) {
            const int j = lane + POINT_LANES * e;
            float dot = 0, square = 0;
            if (row < rows && j < keys) {
                if (PAIRS && p.bias)
                    dot = bi_point_bias_scale * p.bias[(pair + j0 + j) * p.ldb + head];
                for (int c = 0; c < p.head_dim; c++)
                    dot = fma_(s.q[row * POINT_LC + c], s.k[j * POINT_LC + c], dot);
                for (int c = 0; c < coordinates; c++) {
                    const float d = s.a[row * POINT_LP + c] - s.b[j * POINT_LP + c];
                    square = fma_(d, d, square);
                }
            }
            x[e] = j < keys ? fma_(-by, square, dot) : -INF;
            high = max_(high, x[e]);
        }
        high = lanes_max<POINT_LANES>(high);
        const float shrink = max == high ? 1 : exp_(max - high);
        max = high;
        sum *= shrink;
#pragma GCC unroll 4
        for (int e = 0; e < POINT_OF; e++) {
            const float weight = exp_(x[e] - (high == -INF ? 0 : high));
            s.weights[row * (POINT_ROWS + 1) + lane + POINT_LANES * e] = weight;
            sum += weight;
        }
        barrier(); /* weights are there */
#pragma GCC unroll 8
        for (int e = 0; e < VALUES; e++)
            o[e] *= shrink;
        for (int j = 0; j < keys; j++)
#pragma GCC unroll 8
            for (int e = 0; e < VALUES; e++) /* columns that no value has are not written */
                o[e] = fma_(s.weights[row * (POINT_ROWS + 1) + j],
                            s.v[j * POINT_LV + lane + POINT_LANES * e], o[e]);
        if (!PAIRS && columns)
            point_add_bins(p, s, row, lane, number, keys, shrink);
        if (PAIRS && p.pair)
            point_add_pairs(p, s, row, lane, p.pair + (pair + j0) * p.ldz, keys, shrink);
    }
    sum = lanes_sum<POINT_LANES>(sum);
    barrier(); /* the last tile is used up */
#pragma GCC unroll 8
    for (int e = 0; e < VALUES; e++)
        s.v[row * POINT_LV + lane + POINT_LANES * e] = o[e] / sum;
    barrier();
    if (row < rows)
        point_write(p, s, head, token, row, lane, columns, sum);
}

KERNEL(point_attention_f32, struct bi_point_attention_params, POINT_THREADS, 1)
{
    SHARED(point_tiles, s, sizeof(point_tiles));
    point_attention<false>(p, s);
}

KERNEL(point_attention_pairs_f32, struct bi_point_attention_params, POINT_THREADS, 1)
{
    SHARED(point_tiles, s, sizeof(point_tiles));
    point_attention<true>(p, s);
}

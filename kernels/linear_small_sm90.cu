/* linear_small_sm90.cu - linear_sm90.cu for few rows, where a launch is over before its pipeline has
 * filled: a block makes one tile of y, two blocks share a multiprocessor, and what there is of code is
 * run once, so that it is short.
 *
 * One thread asks for tiles of w and x, 64 along k at a time, into a ring; those of w, no inputs, before
 * the launch in front is over. A warpgroup multiplies 64 rows, and finishes the sums where they are, in
 * registers. A tile is 128, 64 or 32 rows. The matrix unit takes 64: for 32 it is told that groups of eight
 * rows are half as far apart as they are. It then reads 8 rows for each of the four warps, and junk for
 * the 8 after them (behind the last tile of x, of w), which is not looked at: so all four have rows to
 * finish.
 * A product of 16 along k takes 63 cycles before the next one of its chain begins, however narrow the
 * tile, so that loops are as long with small tiles; epilogues are shorter, and blocks more.
 * Each element of y is the same chain over k as in linear_sm90.cu: the same bits. */
#include "gpu_math.h"
#include "gpu_tiles.h"
#include "sm90.h"

#include "linear_sm90.h"

enum { SLICE = 64 /* of k */ };

/* Two warpgroups have a multiprocessor to themselves. */
template <int M, int N> struct small_memory {
    enum { WARPGROUPS = (M + 63) / 64, RING = WARPGROUPS * 96 << 10, STAGES = RING / ((M + N) * SLICE * 2) };
    f16 x[STAGES][M * SLICE], w[STAGES][N * SLICE];
    u64 full[STAGES], empty[STAGES];
};

/* Where in the ring, and the parity of the round. */
template <int STAGES> struct spot {
    int at;
    u32 phase;
    METHOD void next()
    {
        if (++at == STAGES) {
            at = 0;
            phase ^= 1;
        }
    }
};

/* Two neighbouring columns of a row. */
struct two {
    float a, b;
};

template <typename T> DEV two load_two(const T *from)
{
    typedef T vector __attribute__((vector_size(2 * sizeof(T))));
    const vector v = *(const vector *)from;
    return two{(float)v[0], (float)v[1]};
}

template <typename T> DEV void store_two(T *to, const two &v)
{
    typedef T vector __attribute__((vector_size(2 * sizeof(T))));
    *(vector *)to = vector{(T)v.a, (T)v.b};
}

/* ---- rotation: a thread has both of a pair of columns, as half a head is 8, 16 or 32 ---- */

/* Pair i of the columns of lower halves, as j: columns 8 j + 2 (lane % 4). */
template <int half> DEV constexpr int lower(int i)
{
    return i / (half / 8) * (half / 4) + i % (half / 8);
}

/* Cosines and sines of the pairs of a row, whose place in its sequence has this row of the table. */
template <int PAIRS> struct angles {
    two cosine[PAIRS / 2], sine[PAIRS / 2];
};

template <int half, int PAIRS> DEV void ask_angles(angles<PAIRS> &a, const float *table, int n)
{
#pragma GCC unroll 8
    for (int i = 0; i < PAIRS / 2; i++) {
        const int c = (n + 8 * lower<half>(i)) % half;
        a.cosine[i] = load_two(table + c);
        a.sine[i] = load_two(table + half + c);
    }
}

/* Turns columns n + 8 j of a row, as far as they are of heads that are rotated. */
template <int half, int PAIRS>
DEV void rotate(two (&v)[PAIRS], const angles<PAIRS> &a, int n, int n_rotated)
{
#pragma GCC unroll 8
    for (int i = 0; i < PAIRS / 2; i++) {
        two &low = v[lower<half>(i)], &high = v[lower<half>(i) + half / 8];
        const two x = low, z = high, cosine = a.cosine[i], sine = a.sine[i];
        if (n + 8 * lower<half>(i) >= n_rotated)
            continue;
        low = two{fma_(x.a, cosine.a, -(z.a * sine.a)), fma_(x.b, cosine.b, -(z.b * sine.b))};
        high = two{fma_(z.a, cosine.a, x.a * sine.a), fma_(z.b, cosine.b, x.b * sine.b)};
    }
}

/* ---- the kernel ---- */

/* rotated: with a table, without act and residual. */
template <int M, int N, bool rotated, typename Y>
DEV void small_linear(const struct bi_linear_params &p, const tensor_map *maps)
{
    typedef small_memory<M, N> memory;
    enum { STAGES = memory::STAGES, PAIRS = N / 8, PARTS = M < 64 ? 1 : 2,
           MULTIPLY = 128 * memory::WARPGROUPS /* threads */ };
    SHARED(memory, s, sizeof(memory));
    const int tiles_n = (p.n + N - 1) / N, n0 = block_x() % tiles_n * N;
    const int64_t m0 = (int64_t)(block_x() / tiles_n) * M;
    const int channels = p.ldx < p.k ? (int)p.ldx : p.k; /* of a tap (linear_sm90.cu) */
    const int slices = p.k / channels * ((channels + SLICE - 1) / SLICE);
    const int64_t rows = bi_live_rows(p.counts, p.axis, p.rows);
    if (m0 >= rows) {
        wait_for_inputs();
        return;
    }
    if (thread_id() == MULTIPLY) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&s.full[i], 1);
            barrier_init(&s.empty[i], memory::WARPGROUPS);
        }
        barriers_ready();
    }
    barrier();
    if (thread_id() >= MULTIPLY) {
        if (thread_id() > MULTIPLY)
            return;
        const int first = slices < STAGES ? slices : STAGES;
        spot<STAGES> r = {0, 1};
        int w_tap = 0, w_c = 0, x_tap = 0, x_c = 0;
        const auto ask_w = [&](int at) ALWAYS_INLINE { /* behind the channels: zeros of x */
            barrier_expect(&s.full[at], (M + N) * SLICE * 2);
            copy_tile(s.w[at], &maps[1], w_tap * channels + w_c, n0, &s.full[at]);
            if ((w_c += SLICE) >= channels) {
                w_c = 0;
                w_tap++;
            }
        };
        const auto ask_x = [&](int at) ALWAYS_INLINE {
            copy_tile(s.x[at], &maps[0], x_c, (int)m0 + x_tap, &s.full[at]);
            if ((x_c += SLICE) >= channels) {
                x_c = 0;
                x_tap++;
            }
        };
#pragma GCC unroll 1
        for (int k = 0; k < first; k++)
            ask_w(k);
        wait_for_inputs();
#pragma GCC unroll 1
        for (int k = 0; k < slices; k++, r.next()) {
            if (k >= STAGES) {
                barrier_wait(&s.empty[r.at], r.phase);
                ask_w(r.at);
            }
            ask_x(r.at);
        }
        return;
    }
    /* a thread has a row of its warp's, or two, 8 apart, and pairs of columns 8 apart */
    const int lane = lane_id(), n = n0 + lane % 4 * 2, head = p.head_dim;
    const int64_t row0 = m0 + wave_id() * (M < 64 ? 8 : 16) + lane / 4;
    two bias[PAIRS] = {}, more[PARTS][PAIRS] = {};
    angles<PAIRS> turns[PARTS];
    const float *table[PARTS];
#pragma GCC unroll 16
    for (int j = 0; j < PAIRS; j++)
        if (p.bias && n + 8 * j < p.n)
            bias[j] = load_two(p.bias + n + 8 * j);
    if (rotated)
#pragma GCC unroll 2
        for (int h = 0; h < PARTS; h++) {
            const int64_t row = row0 + 8 * h < rows ? row0 + 8 * h : rows - 1;
            table[h] = p.table + (row - p.start[sequence_of(p.counts, p.start, row)]) * head;
        }
    wait_for_inputs();
#pragma GCC unroll 2
    for (int h = 0; h < PARTS; h++) {
        if (rotated && head == 16)
            ask_angles<8>(turns[h], table[h], n);
        else if (rotated && head == 32)
            ask_angles<16>(turns[h], table[h], n);
        else if (rotated)
            ask_angles<32>(turns[h], table[h], n);
        else if (p.residual && row0 + 8 * h < rows)
#pragma GCC unroll 16
            for (int j = 0; j < PAIRS; j++)
                if (n + 8 * j < p.n)
                    more[h][j] = load_two((const Y *)p.residual + (row0 + 8 * h) * p.ldr + n + 8 * j);
    }
    float d[N / 2];
    const u64 closer = M == 32 ? (u64)(512 / 16) << 32 : 0; /* groups of eight rows */
    const u64 x0 = descriptor(s.x[0] + thread_id() / 128 * 64 * SLICE) - closer;
    const u64 w0 = descriptor(s.w[0]);
    spot<STAGES> r = {0, 0};
    int last = 0;
#pragma GCC unroll 1
    for (int k = 0; k < slices; k++) {
        const u64 x = x0 + r.at * (M * SLICE * 2 / 16), w = w0 + r.at * (N * SLICE * 2 / 16);
        barrier_wait(&s.full[r.at], r.phase);
        products_begin();
#pragma GCC unroll 4
        for (int kk = 0; kk < SLICE / 16; kk++)
            product(d, x + kk * 2, w + kk * 2, k + kk > 0);
        products_commit();
        if (k > 0) {
            products_wait<1>();
            if (thread_id() % 128 == 0)
                barrier_arrive(&s.empty[last]);
        }
        last = r.at;
        r.next();
    }
    products_wait<0>();
#pragma GCC unroll 2
    for (int h = 0; h < PARTS; h++) {
        const int64_t row = row0 + 8 * h;
        two v[PAIRS];
        if (row >= rows)
            break;
#pragma GCC unroll 16
        for (int j = 0; j < PAIRS; j++) {
            v[j] = two{d[4 * j + 2 * h] + bias[j].a, d[4 * j + 2 * h + 1] + bias[j].b};
            if (rotated)
                continue;
            if (p.act == BI_ACT_GELU)
                v[j] = sizeof(Y) == 2 ? two{gelu_half(v[j].a), gelu_half(v[j].b)}
                                      : two{gelu(v[j].a), gelu(v[j].b)};
            else if (p.act == BI_ACT_RELU)
                v[j] = two{relu(v[j].a), relu(v[j].b)};
            v[j] = two{v[j].a + more[h][j].a, v[j].b + more[h][j].b};
        }
        if (rotated && head == 16)
            rotate<8>(v, turns[h], n, p.n_rotated);
        else if (rotated && head == 32)
            rotate<16>(v, turns[h], n, p.n_rotated);
        else if (rotated)
            rotate<32>(v, turns[h], n, p.n_rotated);
#pragma GCC unroll 16
        for (int j = 0; j < PAIRS; j++)
            if (n + 8 * j < p.n)
                store_two((Y *)p.y + row * p.ldy + n + 8 * j, v[j]);
    }
}

#define SMALL_LINEAR(name, M, N, rotated, Y)                                             \
    KERNEL_EARLY(name, struct bi_linear_sm90_params, M > 64 ? 288 : 160, M > 64 ? 1 : 2) \
    {                                                                                    \
        small_linear<M, N, rotated, Y>(p.linear, MAPS(name));                            \
    }
SMALL_LINEAR(linear_sm90_128x64_f16, 128, 64, false, f16)
SMALL_LINEAR(linear_sm90_128x64_f32, 128, 64, false, float)
SMALL_LINEAR(linear_sm90_128x64_rotated_f16, 128, 64, true, f16)
SMALL_LINEAR(linear_sm90_64x64_f16, 64, 64, false, f16)
SMALL_LINEAR(linear_sm90_64x64_f32, 64, 64, false, float)
SMALL_LINEAR(linear_sm90_64x64_rotated_f16, 64, 64, true, f16)
SMALL_LINEAR(linear_sm90_32x64_f16, 32, 64, false, f16)
SMALL_LINEAR(linear_sm90_32x64_f32, 32, 64, false, float)
SMALL_LINEAR(linear_sm90_32x64_rotated_f16, 32, 64, true, f16)
SMALL_LINEAR(linear_sm90_32x32_f16, 32, 32, false, f16)
SMALL_LINEAR(linear_sm90_32x32_f32, 32, 32, false, float)

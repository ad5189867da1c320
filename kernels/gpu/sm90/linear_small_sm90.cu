/* linear_small_sm90.cu - linear_sm90.cu for products of one round of tiles: few rows, where a
 * launch is over before its pipeline has filled, or (linear_wide_sm90.cu) as many as make about a
 * large tile for each multiprocessor. A block makes one tile of y, blocks of small tiles share a
 * multiprocessor, and what there is of code is run once, so that it is short.
 *
 * One thread asks for tiles of w and x, 64 along k at a time, into a ring; those of w, no inputs,
 * before the launch in front is over. A warpgroup multiplies 64 rows, and finishes the sums where
 * they are, in registers. A tile is 192, 128, 64 or 32 rows. The matrix unit takes 64: for 32 it is
 * told that groups of eight rows are half as far apart as they are. It then reads 8 rows for each
 * of the four warps, and junk for the 8 after them (behind the last tile of x, of w), which is not
 * looked at: so all four have rows to finish.
 * A product of 16 along k takes 63 cycles before the next one of its chain begins, however narrow
 * the tile, so that loops are as long with small tiles; epilogues are shorter, and blocks more.
 * Each element of y is the same chain over k as in linear_sm90.cu: the same bits. */
#include "linear_sm90_kinds.h"

/* More than one warpgroup has a multiprocessor to itself. */
template <int M, int N> struct small_memory {
    enum {
        WARPGROUPS = (M + 63) / 64,
        RING = (WARPGROUPS < 3 ? WARPGROUPS * 96 : 226) << 10,
        STAGES = RING / ((M + N) * SLICE * 2)
    };
    f16 x[STAGES][M * SLICE], w[STAGES][N * SLICE];
    u64 full[STAGES], empty[STAGES];
};

template <bool first, typename A, typename B> struct either {
    typedef A type;
};
template <typename A, typename B> struct either<false, A, B> {
    typedef B type;
};

/* ---- rotation: a thread has both of a pair of columns, as half a head is 8, 16 or 32 ---- */

/* Pair i of the columns of lower halves, as j: columns 8 j + 2 (lane % 4). */
template <int half> DEV constexpr int lower(int i)
{
    return i / (half / 8) * (half / 4) + i % (half / 8);
}

/* Cosines and sines of the pairs of a row, whose place in its sequence has this row of the
 * table. */
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

/* The two of above for a thread's rows, heads of head_dim; table: that row of it for each. */
template <int PARTS, int PAIRS>
DEV void ask_turns(angles<PAIRS> (&turns)[PARTS], const float *const (&table)[PARTS],
                   const struct bi_linear_params &p, int n)
{
#pragma GCC unroll 2
    for (int h = 0; h < PARTS; h++) {
        if (p.head_dim == 16)
            ask_angles<8>(turns[h], table[h], n);
        else if (p.head_dim == 32)
            ask_angles<16>(turns[h], table[h], n);
        else
            ask_angles<32>(turns[h], table[h], n);
    }
}

template <int PARTS, int PAIRS>
DEV void turn(two (&v)[PARTS][PAIRS], const angles<PAIRS> (&turns)[PARTS],
              const struct bi_linear_params &p, int n)
{
#pragma GCC unroll 2
    for (int h = 0; h < PARTS; h++) {
        if (p.head_dim == 16)
            rotate<8>(v[h], turns[h], n, p.n_rotated);
        else if (p.head_dim == 32)
            rotate<16>(v[h], turns[h], n, p.n_rotated);
        else
            rotate<32>(v[h], turns[h], n, p.n_rotated);
    }
}

/* ---- what follows the sums ---- */

/* A thread adds these to a group of its columns, 8 apart, of its rows, 8 apart. */
template <int PARTS, int GROUP, typename T> struct added {
    two bias[GROUP], scale[GROUP], shift[GROUP];
    raw<T> more[PARTS][GROUP], odd[PARTS][GROUP]; /* a residual; POOLED: differences, odd rows */
};

/* The addends of columns: n = the thread's first, not behind the end. */
template <int kind, int PARTS, int GROUP, typename T>
DEV void ask_columns(added<PARTS, GROUP, T> &a, const struct bi_linear_params &p, int n)
{
#pragma GCC unroll 16
    for (int j = 0; j < GROUP; j++) {
        const int c = n + 8 * j;
        if (c >= p.n)
            continue;
        if (kind != POOLED && p.bias)
            a.bias[j] = load_two(p.bias + c);
        if (kind == NORMED || (kind == POOLED && p.scale)) {
            a.scale[j] = load_two(p.scale + c);
            a.shift[j] = load_two(p.shift + c);
        }
    }
}

template <int kind, int PARTS, int GROUP, typename T>
DEV void ask_rows(added<PARTS, GROUP, T> &a, const struct bi_linear_params &p, int64_t row0,
                  int64_t rows, int n)
{
    if (kind != POOLED && !p.residual)
        return;
#pragma GCC unroll 2
    for (int h = 0; h < PARTS; h++)
#pragma GCC unroll 16
        for (int j = 0; j < GROUP; j++) {
            const int64_t row = row0 + 8 * h;
            const int c = n + 8 * j;
            if (row >= rows || c >= p.n)
                continue;
            if (kind == POOLED) {
                a.more[h][j] = hold_two((const T *)p.x + row * p.ldx + c);
                a.odd[h][j] = hold_two((const T *)p.odd + row * p.ldo + c);
            } else {
                a.more[h][j] = hold_two((const T *)p.residual + row * p.ldr + c);
            }
        }
}

/* Sums to values of y, for PLAIN with its act; POOLED pools and norms. */
template <int kind, int PARTS, int GROUP, typename T, typename Y>
DEV void finish_sums(two (&v)[PARTS][GROUP], const added<PARTS, GROUP, T> &a,
                     const struct bi_linear_params &p)
{
    const auto each = [&](auto f) ALWAYS_INLINE {
#pragma GCC unroll 2
        for (int h = 0; h < PARTS; h++)
#pragma GCC unroll 16
            for (int j = 0; j < GROUP; j++)
                v[h][j] = f(v[h][j], h, j);
    };
    if (kind == POOLED) {
        each([&](const two &x, int h, int j) ALWAYS_INLINE {
            const two d = a.more[h][j].floats(), odd = a.odd[h][j].floats();
            return two{fma_(d.a, share(x.a), odd.a), fma_(d.b, share(x.b), odd.b)};
        });
        if (p.scale)
            each([&](const two &x, int, int j)
                     ALWAYS_INLINE { return norm_act(x, a.scale[j], a.shift[j], p.then); });
        return;
    }
    each([&](const two &x, int, int j)
             ALWAYS_INLINE { return two{x.a + a.bias[j].a, x.b + a.bias[j].b}; });
    if (kind == PLAIN && p.act == BI_ACT_GELU)
        each([&](const two &x, int, int) ALWAYS_INLINE {
            return sizeof(Y) == 2 ? two{gelu_half(x.a), gelu_half(x.b)} : two{gelu(x.a), gelu(x.b)};
        });
    else if (kind == PLAIN && p.act == BI_ACT_RELU)
        each([&](const two &x, int, int) ALWAYS_INLINE { return two{relu(x.a), relu(x.b)}; });
    if (kind == PLAIN || kind == PAIRED)
        each([&](const two &x, int h, int j) ALWAYS_INLINE {
            const two more = a.more[h][j].floats();
            return two{x.a + more.a, x.b + more.b};
        });
}

/* Where a warp has the values of its rows until they are written a line at a time: y, and what is
 * beside it (linear.h). The gaps between rows are there against bank conflicts. */
template <int N, int kind, typename Y> struct lines {
    enum { LD = N + 8, ROWS = kind == PAIRED ? 8 : 16, BOTH = kind == NORMED || kind == PAIRED };
    Y y[ROWS * LD], also[BOTH ? ROWS * LD : 8];
};

/* Values of y of columns n + 8 j of a row of ld, and what is beside it, for rows from row0 on.
 * PAIRED: all lanes of the warp. */
template <int kind, int N, typename Y, int PARTS, int GROUP, typename T>
DEV void put_staged(lines<N, kind, Y> &to, const two (&v)[PARTS][GROUP],
                    const added<PARTS, GROUP, T> &a, const struct bi_linear_params &p, int row0,
                    int n)
{
    typedef lines<N, kind, Y> lines_t;
    const bool upper = lane_id() &
                       4; /* PAIRED: row 2 i is a lane's, 2 i + 1 that of the lane 4 further */
    const int pair = (row0 + 8 * upper) / 2; /* a pair of the first rows, or of the others */
#pragma GCC unroll 16
    for (int j = 0; j < GROUP; j++) {
        if (kind == PAIRED) {
            two odd, difference;
            make_pair(v[0][j], v[1][j], upper, odd, difference);
            store_two(to.y + pair * lines_t::LD + n + 8 * j, odd);
            store_two(to.also + pair * lines_t::LD + n + 8 * j, difference);
            continue;
        }
#pragma GCC unroll 2
        for (int h = 0; h < PARTS; h++) {
            const int at = (row0 + 8 * h) * lines_t::LD + n + 8 * j;
            store_two(to.y + at, v[h][j]);
            if (kind == NORMED)
                store_two(to.also + at, norm_act(v[h][j], a.scale[j], a.shift[j], p.then));
        }
    }
}

/* n_rows that are staged (NULL = zeros) to columns n0 ... n0 + N - 1, as far as they are of
 * `width`. */
template <int N, int LD, typename Y>
DEV void write_rows(Y *to, int64_t ld, const Y *from, int n_rows, int n0, int width)
{
    typedef Y line __attribute__((vector_size(16)));
    enum { RUN = 16 / sizeof(Y), RUNS = N / RUN };
#pragma GCC unroll 4
    for (int i = lane_id(); i < n_rows * RUNS; i += 32) {
        const int row = i / RUNS, c = i % RUNS * RUN;
        if (n0 + c < width)
            *(line *)(to + row * ld + n0 + c) = from ? *(const line *)(from + row * LD + c)
                                                     : line{};
    }
}

/* All that a warp has staged, of rows from m0 on, to memory. */
template <int N, int kind, typename Y>
DEV void write_staged(const lines<N, kind, Y> &from, const struct bi_linear_params &p, int64_t m0,
                      int64_t rows, int n0)
{
    enum { LD = lines<N, kind, Y>::LD };
    const int left = rows - m0 < 16 ? (int)(rows - m0) : 16;
    Y *y = (Y *)p.y;
    if (left <= 0)
        return;
    if (kind == PAIRED) {
        write_rows<N, LD>(y + m0 / 2 * p.ldy, p.ldy, from.y, left / 2, n0, p.n);
        write_rows<N, LD>((Y *)p.also + m0 / 2 * p.lda, p.lda, from.also, left / 2, n0, p.n);
        return;
    }
    write_rows<N, LD>(y + (kind == POOLED ? p.pad + m0 : m0) * p.ldy, p.ldy, from.y, left, n0, p.n);
    if (kind == NORMED)
        write_rows<N, LD>((Y *)p.also + m0 * p.lda, p.lda, from.also, left, n0, p.n);
    for (int64_t m = m0; m < m0 + left && kind == POOLED;
         m++) { /* by who has the rows next to the edge */
        if (m < p.pad)
            write_rows<N, LD>(y + m * p.ldy, p.ldy, (const Y *)nullptr, 1, n0, p.n);
        if (m >= rows - p.pad)
            write_rows<N, LD>(y + (m + 2 * p.pad) * p.ldy, p.ldy, (const Y *)nullptr, 1, n0, p.n);
    }
}

/* Values of y of columns n + 8 j, to memory. */
template <typename Y, int PARTS, int GROUP>
DEV void put(const two (&v)[PARTS][GROUP], const struct bi_linear_params &p, int64_t row0,
             int64_t rows, int n)
{
#pragma GCC unroll 2
    for (int h = 0; h < PARTS; h++) {
        const int64_t row = row0 + 8 * h;
        if (row >= rows)
            break;
#pragma GCC unroll 16
        for (int j = 0; j < GROUP; j++)
            if (n + 8 * j < p.n)
                store_two((Y *)p.y + row * p.ldy + n + 8 * j, v[h][j]);
    }
}

/* ---- the kernel ---- */

/* A block's tile of y: rows m0 ... of `rows`, columns n0 ...; a row of w has so many slices of
 * channels. */
struct small_tile {
    int64_t m0, rows;
    int n0, channels, slices;
};

/* Called by the one thread that asks: fills the ring with the tile's slices of w and x, and
 * waits for the inputs between the first of w and the first of x. */
template <int M, int N>
DEV void ask_slices(small_memory<M, N> &s, const tensor_map *maps, const small_tile &t)
{
    enum { STAGES = small_memory<M, N>::STAGES };
    const int first = t.slices < STAGES ? t.slices : STAGES;
    spot<STAGES> r = {0, 1};
    int w_tap = 0, w_c = 0, x_tap = 0, x_c = 0;
    const auto ask_w = [&](int at)
                           ALWAYS_INLINE { /* behind the channels: zeros of x */
                                           barrier_expect(&s.full[at], (M + N) * SLICE * 2);
                                           copy_tile(s.w[at], &maps[MAP_W],
                                                     w_tap * t.channels + w_c, t.n0, &s.full[at]);
                                           if ((w_c += SLICE) >= t.channels) {
                                               w_c = 0;
                                               w_tap++;
                                           }
                           };
    const auto ask_x = [&](int at) ALWAYS_INLINE {
        copy_tile(s.x[at], &maps[MAP_X], x_c, (int)t.m0 + x_tap, &s.full[at]);
        if ((x_c += SLICE) >= t.channels) {
            x_c = 0;
            x_tap++;
        }
    };
#pragma GCC unroll 1
    for (int k = 0; k < first; k++)
        ask_w(k);
    wait_for_inputs();
#pragma GCC unroll 1
    for (int k = 0; k < t.slices; k++, r.next()) {
        if (k >= STAGES) {
            barrier_wait(&s.empty[r.at], r.phase);
            ask_w(r.at);
        }
        ask_x(r.at);
    }
}

/* Begins d, a warpgroup's sums over all slices but for the last product, which the caller waits
 * for. */
template <int M, int N>
DEV void multiply_slices(float (&d)[N / 2], small_memory<M, N> &s, int slices)
{
    const u64 closer = M == 32 ? (u64)(512 / 16) << 32 : 0; /* groups of eight rows */
    const u64 x0 = descriptor(s.x[0] + thread_id() / 128 * 64 * SLICE) - closer;
    const u64 w0 = descriptor(s.w[0]);
    spot<small_memory<M, N>::STAGES> r = {0, 0};
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
}

/* ROTATED: with a table, without act and residual. */
template <int M, int N, int kind, typename Y>
DEV void small_linear(const struct bi_linear_params &p, const tensor_map *maps)
{
    typedef small_memory<M, N> memory;
    enum {
        STAGES = memory::STAGES,
        PAIRS = N / 8,
        PARTS = M < 64 ? 1 : 2,
        MULTIPLY = 128 * memory::WARPGROUPS /* threads */,
        GROUP = N > 128                    ? 2
                : N > 96 || kind > ROTATED ? 4
                                           : PAIRS /* finished at once */
    };
    SHARED(memory, s, sizeof(memory));
    const int tiles_n = (p.n + N - 1) / N, n0 = block_x() % tiles_n * N;
    const int64_t m0 = (int64_t)(block_x() / tiles_n) * M;
    const int channels = BI_LINEAR_CHANNELS(&p); /* a tap's (linear_sm90.cu) */
    const int slices = p.k / channels * ((channels + SLICE - 1) / SLICE);
    const int64_t rows = bi_live_rows(p.counts, p.axis, p.rows);
    const small_tile tile = {m0, rows, n0, channels, slices};
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
        if (M > 128)
            registers_down<24>();
        if (thread_id() > MULTIPLY)
            return;
        ask_slices(s, maps, tile);
        return;
    }
    if (M > 128)
        registers_up<160>();
    /* a thread has a row of its warp's, or two, 8 apart, and pairs of columns 8 apart */
    const int lane = lane_id(), n = n0 + lane % 4 * 2;
    const int64_t row0 = m0 + wave_id() * (M < 64 ? 8 : 16) + lane / 4;
    typedef typename either<kind == POOLED, f16, Y>::type more_t;
    added<PARTS, GROUP, more_t> more = {};
    angles<kind == ROTATED ? PAIRS : 2> turns[PARTS];
    const float *table[PARTS];
    ask_columns<kind>(more, p, n);
    if (kind == ROTATED)
#pragma GCC unroll 2
        for (int h = 0; h < PARTS; h++) {
            const int64_t row = row0 + 8 * h < rows ? row0 + 8 * h : rows - 1;
            table[h] = p.table + (row - p.start[sequence_of(p.counts, p.start, row)]) * p.head_dim;
        }
    wait_for_inputs();
    if (kind == ROTATED)
        ask_turns(turns, table, p, n);
    else if (GROUP == PAIRS)
        ask_rows<kind>(more, p, row0, rows, n);
    float d[N / 2];
    multiply_slices(d, s, tile.slices);
    if (GROUP < PAIRS)
        ask_rows<kind>(more, p, row0, rows, n);
    products_wait<0>();
    /* large tiles, all done at the same time, write lines: pairs of columns would take 3 us
     * longer */
    constexpr bool staged = M > 128; /* gpu_entries_sm90.h says what that takes */
    lines<N, kind, Y> *stages = (lines<N, kind, Y> *)&s;
    if constexpr (staged) {
        static_assert(sizeof(lines<N, kind, Y>) * MULTIPLY / 32 <= sizeof s.x + sizeof s.w, "room");
        group_barrier<MULTIPLY>(1); /* the ring is used up */
    }
#pragma GCC unroll 16
    for (int first = 0; first < PAIRS; first += GROUP) {
        two v[PARTS][GROUP];
#pragma GCC unroll 2
        for (int h = 0; h < PARTS; h++)
#pragma GCC unroll 16
            for (int j = 0; j < GROUP; j++)
                v[h][j] = two{d[4 * (first + j) + 2 * h], d[4 * (first + j) + 2 * h + 1]};
        finish_sums<kind, PARTS, GROUP, more_t, Y>(v, more, p);
        if constexpr (kind == ROTATED)
            turn(v, turns, p, n);
        const auto now = more;
        if (first + GROUP < PAIRS) {
            ask_columns<kind>(more, p, n + 8 * (first + GROUP));
            ask_rows<kind>(more, p, row0, rows, n + 8 * (first + GROUP));
        }
        if constexpr (staged)
            put_staged<kind>(stages[wave_id()], v, now, p, lane / 4, lane % 4 * 2 + 8 * first);
        else
            put<Y>(v, p, row0, rows, n + 8 * first);
    }
    if constexpr (staged) {
        wave_barrier();
        write_staged(stages[wave_id()], p, row0 - lane / 4, rows, n0);
    }
}

#define SMALL_LINEAR(name, M, N, kind, Y)                                                          \
    KERNEL_EARLY(name, struct bi_linear_sm90_params,                                               \
                 M > 128  ? 512                                                                    \
                 : M > 64 ? 288                                                                    \
                          : 160,                                                                   \
                 M > 64 ? 1 : 2)                                                                   \
    {                                                                                              \
        small_linear<M, N, kind, Y>(p.linear, MAPS(name));                                         \
    }
#ifndef LINEAR_WIDE
SMALL_LINEAR(linear_sm90_128x64_f16, 128, 64, PLAIN, f16)
SMALL_LINEAR(linear_sm90_128x64_f32, 128, 64, PLAIN, float)
SMALL_LINEAR(linear_sm90_128x64_rotated_f16, 128, 64, ROTATED, f16)
SMALL_LINEAR(linear_sm90_64x64_f16, 64, 64, PLAIN, f16)
SMALL_LINEAR(linear_sm90_64x64_f32, 64, 64, PLAIN, float)
SMALL_LINEAR(linear_sm90_64x64_rotated_f16, 64, 64, ROTATED, f16)
SMALL_LINEAR(linear_sm90_32x64_f16, 32, 64, PLAIN, f16)
SMALL_LINEAR(linear_sm90_32x64_f32, 32, 64, PLAIN, float)
SMALL_LINEAR(linear_sm90_32x64_rotated_f16, 32, 64, ROTATED, f16)
SMALL_LINEAR(linear_sm90_32x32_f16, 32, 32, PLAIN, f16)
SMALL_LINEAR(linear_sm90_32x32_f32, 32, 32, PLAIN, float)
#else /* linear_wide_sm90.cu */
SMALL_LINEAR(linear_sm90_192x96_f16, 192, 96, PLAIN, f16)
SMALL_LINEAR(linear_sm90_192x96_f32, 192, 96, PLAIN, float)
SMALL_LINEAR(linear_sm90_192x96_pooled_f16, 192, 96, POOLED, f16)
SMALL_LINEAR(linear_sm90_192x96_pooled_f32, 192, 96, POOLED, float)
SMALL_LINEAR(linear_sm90_192x192_f16, 192, 192, PLAIN, f16)
SMALL_LINEAR(linear_sm90_192x192_normed_f16, 192, 192, NORMED, f16)
SMALL_LINEAR(linear_sm90_192x192_paired_f16, 192, 192, PAIRED, f16)
#endif

/* linear_followed_tile.h - what becomes of the sums of a warpgroup of linear_followed_sm90.cu: y
 * alone, PLAIN, or y and what follows it, NORMED, PAIRED or POOLED; TWIN: NORMED of
 * linear_twin_sm90.cu.
 *
 * A warp has 16 rows of each 64. It goes through parts of 64 columns, and finishes the sums in the
 * registers where they are. What is added comes by the copy engine, in boxes of 16 rows and 64
 * columns, permuted as the engine does, while the products are made; a box is read, and results are
 * put into one, as matrices of 8 x 8, which is how the sums are spread over a warp; the engine
 * takes the results to memory. What is the same for all rows is read once for all of a warp's. The
 * parts are a loop, for which the sums move down, as its code has to stay in the instruction
 * cache. */
#ifndef BI_LINEAR_FOLLOWED_TILE_H
#define BI_LINEAR_FOLLOWED_TILE_H

#include "linear_sm90_kinds.h"

enum { STAGED = 64 /* columns of a part */, BOX = 16 * STAGED };

/* Where lane l has or gets the address of its row of two columns of matrices: 16 rows, chunks 2 g,
 * 2 g + 1, g from 0 to 3. row: that of lane l % 16. */
DEV f16 *place_in(f16 *box, int row, int g)
{
    return box + row * STAGED + ((2 * g + lane_id() / 16) ^ row % 8) * 8;
}
DEV f16 *place_in(f16 *box, int g) /* place of 16 rows from the first on */
{
    const int lane = lane_id();
    return box + lane % 16 * STAGED + ((2 * g + lane / 16) ^ lane % 8) * 8;
}

/* Two numbers as float16 in a word, the first in the lower half; too large ones are infinity. */
DEV u32 packed(const two &v)
{
    return bits<u32>(f16x2{(f16)v.a, (f16)v.b});
}

/* The two numbers of such a word. */
DEV two unpacked(u32 v)
{
    const f16x2 x = bits<f16x2>(v);
    return two{(float)x[0], (float)x[1]};
}

template <int MT, int N, int kind, typename Y> struct finisher {
    /* boxes, each for the MT times 16 rows. NORMED: y and its norm. PLAIN, PAIRED: the residual of
     * each part, where its results go too. POOLED: the differences of a part, and the odd rows of
     * each part, where its results go too */
    enum {
        PARTS = N / STAGED,
        NORMS = kind == NORMED || kind == TWIN,
        /* sums 0 are of even rows, sums 1 of the odd ones behind them: a thread has both of a
         * pair */
        TWOS = kind == TWIN || (kind == PAIRED && MT == 2),
        WIDE = kind == PLAIN && sizeof(Y) == 4 /* boxes are of 32 columns, PARTS times as many */,
        BARRIERS = NORMS  ? 0
                   : WIDE ? PARTS * MT
                          : PARTS,
        APART = TWOS ? 16 : 64 /* rows of sums 0 and 1 */,
        BOXES = NORMS            ? 2
                : kind == POOLED ? 1 + PARTS
                                 : PARTS
    };
    struct room { /* a warp's */
        f16 box[BOXES][MT][BOX];
    };
    /* by a warpgroup: scale, shift and bias of the tile's columns; PAIRED: more_bias and bias.
     * NORMED reads them from memory: of few channels its products are made sooner than they would
     * come */
    struct shared {
        alignas(16) float term[kind == TWIN ? 3 : kind == NORMED ? 0 : 2][N];
        u64 landed;
    };
    const struct bi_linear_params &p;
    const tensor_map *maps;
    f16 (*box)[MT][BOX];
    u64 *landed; /* a barrier: what is added to a part is here */
    struct shared &of_all;
    int64_t rows;
    int m0 = 0, n0 = 0; /* the warp's first row and column */
    u32 n_done = 0;     /* tiles */

    METHOD finisher(const struct bi_linear_params &params, const tensor_map *all_maps, room &own,
                    u64 *barriers, struct shared &of_warpgroup, int64_t live)
        : p(params), maps(all_maps), box(own.box), landed(barriers), of_all(of_warpgroup),
          rows(live)
    {
    }

    static METHOD void init(struct shared &s)
    {
        barrier_init(&s.landed, 1);
    }

    /* One lane: what is added to part i, or its differences. */
    METHOD void ask(int map, int i, f16 (&to)[MT][BOX]) const
    {
#pragma GCC unroll 2
        for (int m = 0; m < MT; m++)
            copy_tile(to[m], &maps[map], n0 + i * STAGED, m0 + m * APART, &landed[i]);
    }

    /* The residual of 32 columns of part i. */
    METHOD void ask_wide(int i, int half, int m) const
    {
        u64 *const at = &landed[half * MT + m];
        barrier_expect(at, BOX * 2);
        copy_tile(box[half][m], &maps[MAP_ADDED], 2 * (n0 + i * STAGED) + half * STAGED,
                  m0 + m * 64, at);
    }

    /* One thread of the warpgroup, when all of it are done with the tile before. */
    METHOD void ask_terms() const
    {
        const bool own = kind == PAIRED || kind == PLAIN;
        const float *const from[] = {own ? p.more_bias : p.scale, own ? p.bias : p.shift,
                                     kind == TWIN ? p.bias : nullptr};
        const int bytes = (p.n - n0 < N ? p.n - n0 : N) * 4;
        int given = 0;
#pragma GCC unroll 3
        for (int i = 0; i < 3; i++)
            given += from[i] != nullptr;
        barrier_expect(&of_all.landed, given * bytes);
#pragma GCC unroll 3
        for (int i = 0; i < 3; i++)
            if (from[i])
                copy_in(of_all.term[i], from[i] + n0, bytes, &of_all.landed);
    }

    /* A tile whose products begin; tile_m0: the first of the warp's rows. */
    METHOD void begin(int tile_m0, int tile_n0)
    {
        m0 = tile_m0;
        n0 = tile_n0;
        if (kind != NORMED && thread_id() % 128 == 0)
            ask_terms();
        if (NORMS || lane_id())
            return;
        stores_read<0>();
#pragma GCC unroll 1
        for (int i = 0; i < PARTS; i++) {
            if ((kind == PAIRED || (kind == PLAIN && !WIDE)) && p.residual) {
                barrier_expect(&landed[i], MT * BOX * 2);
                ask(MAP_ADDED, i, box[i]);
            }
            for (int m = 0; WIDE && m < MT && p.residual; m++)
                ask_wide(0, i, m);
            if (kind == POOLED) {
                barrier_expect(&landed[i], 2 * MT * BOX * 2);
                ask(MAP_ADDED, i, box[1 + i]);
                if (i == 0)
                    ask(MAP_ALSO, i, box[0]);
            }
        }
    }
    METHOD void prepare()
    {
    }

    /* The same for all rows of 16 columns: of group 8 h, columns + 2 (lane % 4). */
    struct terms {
        two bias[2], scale[2], shift[2];
    };
    METHOD terms terms_of(int i, int g) const
    {
        terms t = {};
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++) {
            const int c = i * STAGED + 16 * g + 8 * h + lane_id() % 4 * 2;
            const int n = n0 + c < p.n ? n0 + c : 0;
            if (kind == NORMED) {
                t.scale[h] = load_two(p.scale + n);
                t.shift[h] = load_two(p.shift + n);
                if (p.bias)
                    t.bias[h] = load_two(p.bias + n);
                continue;
            }
            if (kind != POOLED && p.bias)
                t.bias[h] = load_two(of_all.term[NORMS ? 2 : 1] + c);
            if (kind == PAIRED && p.more_bias) {
                const two more = load_two(of_all.term[0] + c);
                t.bias[h] = two{t.bias[h].a + more.a, t.bias[h].b + more.b};
            }
            if (kind != PAIRED && kind != PLAIN && p.scale) {
                t.scale[h] = load_two(of_all.term[0] + c);
                t.shift[h] = load_two(of_all.term[1] + c);
            }
        }
        return t;
    }

    /* f(g, m, its terms) for the four times 16 columns of part i and all rows; terms are asked for
     * one ahead. */
    template <typename F> METHOD void each(int i, F f) const
    {
        terms next = terms_of(i, 0);
#pragma GCC unroll 4
        for (int g = 0; g < STAGED / 16; g++) {
            const terms now = next;
            if (g + 1 < STAGED / 16)
                next = terms_of(i, g + 1);
#pragma GCC unroll 2
            for (int m = 0; m < MT; m++)
                f(g, m, now);
        }
    }

    /* The sum of columns 16 g + 8 (k / 2) + 2 (lane % 4) and the next one, of row lane / 4 + 8 (k %
     * 2). */
    static METHOD two sum(const float (&d)[N / 2], int g, int k)
    {
        return two{d[8 * g + 2 * k], d[8 * g + 2 * k + 1]};
    }
    static METHOD void set(float (&d)[N / 2], int g, int k, const two &v)
    {
        d[8 * g + 2 * k] = v.a;
        d[8 * g + 2 * k + 1] = v.b;
    }

    /* Boxes of results of part i to memory: y, and what is beside it, where not NULL. pairs: of two
     * rows each. */
    METHOD void write(int i, const f16 *y, const f16 *also, bool pairs) const
    {
        fence_async();
        wave_barrier();
        if (lane_id())
            return;
#pragma GCC unroll 2
        for (int m = 0; m < MT; m++) {
            const int row = (m0 + m * APART) / (pairs ? 2 : 1);
            if (y)
                store_tile(&maps[MAP_Y], n0 + i * STAGED, row, y + m * BOX);
            if (also)
                store_tile(&maps[MAP_ALSO], n0 + i * STAGED, row, also + m * BOX);
        }
        stores_commit();
    }

    /* place_in() of sums m; TWOS: of rows 2 i + m. */
    static METHOD f16 *place_of_sums(f16 (&to)[MT][BOX], int m, int g)
    {
        return TWOS ? place_in(to[0], lane_id() % 16 * 2 + m, g) : place_in(to[m], g);
    }

    template <bool quick> METHOD void normed(int i, const float (&d)[MT][N / 2])
    {
        each(i, [&](int g, int m, const terms &t) ALWAYS_INLINE {
            u32x4 to_y, to_also;
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                const two s = sum(d[m], g, k), bias = t.bias[k / 2],
                          x = {s.a + bias.a, s.b + bias.b};
                to_y[k] = packed(x);
                to_also[k] = packed(norm_act<quick>(x, t.scale[k / 2], t.shift[k / 2]));
            }
            if (g == 0 && m == 0) { /* the boxes are in memory */
                if (lane_id() == 0)
                    stores_read<0>();
                wave_barrier();
            }
            if (p.y)
                put_matrices(place_of_sums(box[0], m, g), to_y);
            put_matrices(place_of_sums(box[1], m, g), to_also);
        });
        write(i, p.y ? box[0][0] : nullptr, box[1][0], false);
    }

    METHOD two acted(const two &v) const
    {
        return p.act == BI_ACT_GELU
                   ? (WIDE ? two{gelu(v.a), gelu(v.b)} : two{gelu_half(v.a), gelu_half(v.b)})
               : p.act == BI_ACT_RELU ? two{relu(v.a), relu(v.b)}
                                      : v;
    }

    /* A box of results to memory, if all its rows are live; else those that are, 16 bytes at a
     * time. column: in units of f16. */
    METHOD void write_live(const f16 *from, int column, int row) const
    {
        const int lane = lane_id();
        if (row + 16 <= rows) {
            fence_async();
            wave_barrier();
            if (lane == 0) {
                store_tile(&maps[MAP_Y], column, row, from);
                stores_commit();
            }
            return;
        }
        wave_barrier();
        const int at = column + lane % 8 * 8, size = sizeof(Y) / 2;
#pragma GCC unroll 1
        for (int r = lane / 8; row + r < rows; r += 4)
            if (at < p.n * size)
                *(u32x4 *)((f16 *)p.y + (row + r) * p.ldy * size +
                           at) = *(const u32x4 *)(from + r * STAGED + (lane % 8 ^ r % 8) * 8);
        if (lane == 0)
            stores_commit(); /* no stores, to be counted as others are */
    }

    METHOD void plain(int i, const float (&d)[MT][N / 2])
    {
        if (p.residual)
            barrier_wait(&landed[i], n_done % 2);
        else
            wave_barrier();
        each(i, [&](int g, int m, const terms &t) ALWAYS_INLINE {
            const u32x4 residual = p.residual ? matrices(place_in(box[i][m], g)) : u32x4{};
            u32x4 to_y;
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                const two s = sum(d[m], g, k), bias = t.bias[k / 2], more = unpacked(residual[k]);
                const two v = acted(two{s.a + bias.a, s.b + bias.b});
                to_y[k] = packed(two{v.a + more.a, v.b + more.b});
            }
            put_matrices(place_in(box[i][m], g), to_y);
        });
#pragma GCC unroll 2
        for (int m = 0; m < MT; m++)
            write_live(box[i][m], n0 + i * STAGED, m0 + m * 64);
    }

    /* 32 columns and 64 rows after the others: what is added to those of the next part is asked for
     * when their box is in memory. */
    METHOD void plain_wide(int i, const float (&d)[MT][N / 2])
    {
        const int lane = lane_id();
        if (i && lane == 0) {
            stores_read<0>();
            if (p.residual)
                ask_wide(i, 1, MT - 1);
        }
        wave_barrier();
#pragma GCC unroll 2
        for (int half = 0; half < 2; half++) {
            terms t[2] = {terms_of(i, 2 * half), terms_of(i, 2 * half + 1)};
#pragma GCC unroll 2
            for (int m = 0; m < MT; m++) {
                float *const to = (float *)box[half][m] + lane / 4 * 32 + lane % 2 * 2;
                if (p.residual)
                    barrier_wait(&landed[half * MT + m], i % 2);
#pragma GCC unroll 8
                for (int k = 0; k < 8; k++) { /* columns 8 (k / 2) of the box, rows 8 (k % 2) */
                    float *const at = to + k % 2 * 8 * 32 +
                                      (k / 2 * 2 + lane % 4 / 2 ^ lane / 4) * 4;
                    const two s = sum(d[m], 2 * half + k / 4, k % 4),
                              bias = t[k / 4].bias[k % 4 / 2];
                    two v = acted(two{s.a + bias.a, s.b + bias.b});
                    if (p.residual) {
                        const two more = load_two(at);
                        v = two{v.a + more.a, v.b + more.b};
                    }
                    store_two(at, v);
                }
                write_live(box[half][m], 2 * (n0 + i * STAGED) + half * STAGED, m0 + m * 64);
                if (p.residual && i + 1 < PARTS && half + m > 0 && lane == 0) {
                    stores_read<1>();
                    ask_wide(i + 1, m ? half : half - 1, m ? m - 1 : MT - 1);
                }
            }
        }
    }

    METHOD void paired(int i, float (&d)[MT][N / 2])
    {
        const int lane = lane_id(),
                  row = lane % 8 / 2 + lane % 2 * 4; /* a pair of which a lane has the address */
        if (p.residual)
            barrier_wait(&landed[i], n_done % 2);
        else
            wave_barrier(); /* the boxes are in memory: begin() has waited for it */
        each(i, [&](int g, int m, const terms &t) ALWAYS_INLINE {
            const u32x4 residual = p.residual ? matrices(place_of_sums(box[i], m, g)) : u32x4{};
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                const two s = sum(d[m], g, k), bias = t.bias[k / 2], more = unpacked(residual[k]);
                set(d[m], g, k, two{s.a + bias.a + more.a, s.b + bias.b + more.b});
            }
        });
        wave_barrier(); /* before results are put where the residual was */
        if constexpr (TWOS) {
#pragma GCC unroll 4
            for (int g = 0; g < STAGED / 16; g++) {
                u32x4 to_odd, to_also;
#pragma GCC unroll 4
                for (int k = 0; k < 4; k++) {
                    const two even = sum(d[0], g, k), odd = sum(d[1], g, k);
                    to_odd[k] = packed(odd);
                    to_also[k] = packed(two{even.a - odd.a, even.b - odd.b});
                }
                put_matrices(place_in(box[i][0], g), to_odd);
                put_matrices(place_in(box[i][1], g), to_also);
            }
            fence_async();
            wave_barrier();
            if (lane == 0) {
                store_tile(&maps[MAP_Y], n0 + i * STAGED, m0 / 2, box[i][0]);
                store_tile(&maps[MAP_ALSO], n0 + i * STAGED, m0 / 2, box[i][1]);
                stores_commit();
            }
            return;
        }
#pragma GCC unroll 2
        for (int m = 0; m < MT; m++) {
            u32x4 to_odd, to_also;
#pragma GCC unroll 8
            for (int j = 0; j < STAGED / 8; j++) {
                two odd, difference;
                make_pair(sum(d[m], j / 2, j % 2 * 2), sum(d[m], j / 2, j % 2 * 2 + 1), lane & 4,
                          odd, difference);
                to_odd[j % 4] = packed(odd);
                to_also[j % 4] = packed(difference);
                if (j % 4 == 3) {
                    f16 *at = box[i][m] + row * STAGED + ((j - 3 + lane / 8) ^ row) * 8;
                    put_matrices(at, to_odd);
                    put_matrices(at + BOX / 2, to_also);
                }
            }
        }
        write(i, box[i][0], box[i][0] + BOX / 2, true);
    }

    /* mode 0: no norm; 1: tanh_gelu, 2: quick_gelu behind it. */
    template <int mode> METHOD void pooled(int i, float (&d)[MT][N / 2])
    {
        barrier_wait(&landed[i], n_done % 2);
#pragma GCC unroll 4
        for (int g = 0; g < STAGED / 16; g++)
#pragma GCC unroll 2
            for (int m = 0; m < MT; m++) {
                const u32x4 difference = matrices(place_in(box[0][m], g));
                const u32x4 odd = matrices(place_in(box[1 + i][m], g));
#pragma GCC unroll 4
                for (int k = 0; k < 4; k++) {
                    const two s = sum(d[m], g, k), by = unpacked(difference[k]),
                              on = unpacked(odd[k]);
                    set(d[m], g, k,
                        two{fma_(by.a, share(s.a), on.a), fma_(by.b, share(s.b), on.b)});
                }
            }
        wave_barrier(); /* the boxes are read */
        if (i + 1 < PARTS && lane_id() == 0)
            ask(MAP_ALSO, i + 1, box[0]);
        each(i, [&](int g, int m, const terms &t) ALWAYS_INLINE {
            u32x4 to_y;
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) {
                two x = sum(d[m], g, k);
                if (mode)
                    x = norm_act < mode == 2 > (x, t.scale[k / 2], t.shift[k / 2]);
                to_y[k] = packed(x);
                const int64_t row = m0 + m * 64 + lane_id() / 4 + k % 2 * 8;
                const int n = n0 + i * STAGED + 16 * g + k / 2 * 8 + lane_id() % 4 * 2;
                if (sizeof(Y) == 4 && row < rows && n < p.n)
                    store_two((Y *)p.y + (p.pad + row) * p.ldy + n, x);
            }
            if (sizeof(Y) == 2)
                put_matrices(place_in(box[1 + i][m], g), to_y);
        });
        if (sizeof(Y) == 2)
            write(i, box[1 + i][0], nullptr, false);
    }

    /* The zero rows around y, by who has the rows next to them. */
    METHOD void put_zeros() const
    {
#pragma GCC unroll 1
        for (int k = 0; k < 2 * p.pad; k++) {
            const bool below = k >= p.pad;
            const int64_t row = below ? rows + k : k, beside = below ? rows - 1 : 0;
            if (beside >= m0 && (beside - m0) % 64 < 16 && beside < m0 + 64 * MT)
#pragma GCC unroll 1
                for (int n = n0 + lane_id() * 2; n < n0 + N && n < p.n; n += 64)
                    store_two((Y *)p.y + row * p.ldy + n, two{0, 0});
        }
    }

    METHOD void part(int i, float (&d)[MT][N / 2])
    {
        const bool quick = p.then == BI_NORM_ACT_QUICK_GELU;
        if (kind != NORMED && i == 0)
            barrier_wait(&of_all.landed, n_done % 2);
        if constexpr (WIDE) {
            plain_wide(i, d);
        } else if constexpr (kind == PLAIN) {
            plain(i, d);
        } else if constexpr (kind == PAIRED) {
            paired(i, d);
        } else if constexpr (NORMS) {
            if (quick)
                normed<true>(i, d);
            else
                normed<false>(i, d);
        } else {
            if (!p.scale)
                pooled<0>(i, d);
            else if (quick)
                pooled<2>(i, d);
            else
                pooled<1>(i, d);
        }
    }

    /* The sums of the tile, which are used up. */
    METHOD void finish(float (&d)[MT][N / 2])
    {
#pragma GCC unroll 1
        for (int i = 0; i < PARTS; i++) {
            part(i, d);
#pragma GCC unroll 2
            for (int m = 0; m < MT; m++)
#pragma GCC unroll 128
                for (int k = STAGED / 2; k < N / 2; k++)
                    d[m][k - STAGED / 2] = d[m][k];
        }
        if (kind == POOLED)
            put_zeros();
        if (kind != NORMED)
            group_barrier<128>(thread_id() / 128); /* the terms are read */
        n_done++;
    }

    /* After the last tile. */
    METHOD void end()
    {
        if (lane_id() == 0)
            stores_done();
    }
};

#endif

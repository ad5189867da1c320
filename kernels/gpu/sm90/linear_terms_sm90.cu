/* linear_terms_sm90.cu - y = act(x w^T + bias) + residual on Hopper, all in float32: three products
 * of two terms of float16 each by warpgroups, w in terms in memory (linear_terms.h).
 *
 * A block stays on its multiprocessor and goes through tiles. Its first warpgroup asks for slices
 * of 64 columns of x, as floats, and of both terms of w, into a ring of stages; each of the others
 * multiplies 64 rows. A thread splits its part of x itself: a row of a slice is scaled by a power
 * of two that brings its largest element to 2^14 and more, and each element is that rounded to
 * float16, and what is left, rounded again. The 64 columns are summed from 0 by the matrix unit,
 * the small products first, since the unit cuts where an addition rounds; such sums are added up in
 * float32, in units of the largest slice of the row so far. So no number that x and w can hold
 * leaves the range of float16, and zeros stay zeros. The error bound stands in
 * docs/design/kernels.md. A slice of a row that holds an infinity or NaN makes NaN.
 *
 * Each element of y is one chain over slices, whatever the tile: the same bits from any tile, and
 * for any number of rows. x of any alignment is taken: where the copy engine cannot read its rows,
 * the threads of the first warpgroup do. Windows (rows of x that overlap, ldx < k) are rows as any.
 *
 * act: any of linear.h; gates in blocks of 16; before, slope. */
#include "../lib/gpu_act.h"
#include "linear_sm90_kinds.h"
#include "linear_sm90_tile.h"
#pragma clang force_cuda_host_device begin
#include "linear_terms.h"
#pragma clang force_cuda_host_device end

enum {
    HALF = SLICE / 2, /* floats in a row of a box: the 128 bytes of the copy engine's swizzle */
    PART = 16,        /* columns of y that a warp stages at once, rows too */
    STEPS = SLICE / 16
};

template <int GROUPS, int N, int STAGES> struct terms_ring {
    enum { M = 64 * GROUPS };
    float x[STAGES][2][M * HALF];
    f16 w[STAGES][2][N * SLICE];
    float part[4 * GROUPS][PART * PART]; /* a warp's */
    float bias[GROUPS][N];               /* for the tile that a warpgroup makes */
    int unit[GROUPS][N];                 /* the same of exponents of rows of w */
    u64 full[STAGES], empty[STAGES];
};

/* ---- a slice of x in terms ---- */

/* A lane's part of rows g and g + 8 of its warp's 16, g = lane / 4, as x of four products. */
struct terms {
    u32x4 large[STEPS], small[STEPS];
    int unit[2]; /* the exponent of the row's scale, as bi_terms_unit() has it */
};

/* Two floats rounded to f16, a in the low half. */
DEV u32 pack_two(float a, float b)
{
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
}
DEV two unpack_two(u32 h)
{
    two r;
    asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}"
        : "=f"(r.a), "=f"(r.b)
        : "r"(h));
    return r;
}

/* Both terms of two neighbours. */
DEV void split_two(u32 &large, u32 &small, float a, float b, float scale)
{
    a *= scale;
    b *= scale;
    large = pack_two(a, b);
    const two back = unpack_two(large);
    small = pack_two(a - back.a, b - back.b);
}

/* x: 16 rows of the first half of a slice; the second half is `apart` floats further. Each step
 * takes four neighbours of a lane's eight, so that no two lanes read one bank. */
DEV void read_terms(terms &o, const float *x, int apart)
{
    const int g = lane_id() / 4, t = lane_id() % 4;
    f32x4 v[STEPS][2];
    float scale[2];
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
        for (int r = 0; r < 2; r++)
            v[s][r] = *(const f32x4 *)(x + s / 2 * apart + (g + 8 * r) * HALF +
                                       ((2 * t + s % 2) ^ g) * 4);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float most = 0;
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                most = max_(most, __builtin_fabsf(v[s][r][i]));
        o.unit[r] = bi_terms_unit(lanes_max<4>(most));
        scale[r] = bi_terms_power(-o.unit[r]);
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                u32 large, small;
                split_two(large, small, v[s][r][2 * i], v[s][r][2 * i + 1], scale[r]);
                o.large[s][2 * i + r] = large;
                o.small[s][2 * i + r] = small;
            }
}

/* ---- the ring ---- */

/* Reads a slice of x from column k on by the threads of a warpgroup, as the copy engine would. */
template <int M>
DEV void read_slice(float (&to)[2][M * HALF], const struct bi_linear_params &p, int64_t m0, int k,
                    int64_t rows)
{
#pragma unroll 1
    for (int i = thread_id() % 128; i < M * SLICE; i += 128) {
        const int r = i / SLICE, c = i % SLICE;
        const bool there = m0 + r < rows && k + c < p.k;
        to[c / HALF][r * HALF + (c % HALF / 4 ^ r % 8) * 4 + c % 4] =
            there ? p.x[(m0 + r) * p.ldx + k + c] : 0;
    }
}

/* Asks for the slices of all of a block's tiles. mapped: the copy engine reads x, and one thread
 * is enough; else the whole warpgroup calls it. */
template <int GROUPS, int N, int STAGES>
DEV void ask_slices(terms_ring<GROUPS, N, STAGES> &s, const struct bi_linear_params &p,
                    const tensor_map *maps, int tiles_m, int tiles_n, int64_t rows, bool mapped)
{
    enum { M = 64 * GROUPS };
    const int columns = (int)bi_terms_columns(p.k);
    spot<STAGES> to = {0, 1}; /* the ring is empty */
    for (int i = block_x(); i < tiles_m * tiles_n; i += blocks_x()) {
        const place at = place_of<M, N>(i, tiles_m, tiles_n);
        for (int k = 0; k < columns; k += SLICE) {
            u64 *full = &s.full[to.at];
            barrier_wait(&s.empty[to.at], to.phase);
            if (thread_id() == 0) {
                barrier_expect(full, (mapped ? 2 * M * 128 : 0) + 2 * N * 128);
                for (int h = 0; h < 2; h++) {
                    if (mapped)
                        copy_tile(s.x[to.at][h], &maps[MAP_X], 2 * (k + HALF * h), at.m0, full);
                    copy_tile(s.w[to.at][h], &maps[MAP_W], k + h * columns, at.n0, full);
                }
            }
            if (!mapped) {
                read_slice<M>(s.x[to.at], p, at.m0, k, rows);
                barrier_arrive(full);
            }
            to.next();
        }
    }
}

/* ---- products ---- */

/* d = the products of a slice; large, small: the terms of w. */
template <int count>
DEV void multiply_slice(float (&d)[count], const terms &o, u64 large, u64 small)
{
    products_begin();
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        product(d, o.small[s], large + 2 * s, s > 0);
        product(d, o.large[s], small + 2 * s, 1);
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++)
        product(d, o.large[s], large + 2 * s, 1);
    products_commit();
}

/* 2^-down, or 0 where that is not worth a float. */
DEV float less_by(int down)
{
    return down > 126 ? 0 : bi_terms_power(-down);
}

/* Turns sums, in units of 2^top by row, to the units of a slice where these are larger. by: the
 * factors of the slice's own sums. */
template <int count>
DEV void meet_units(float (&sum)[count], int (&top)[2], const int (&slice)[2], float (&by)[2])
{
    if (slice[0] > top[0] || slice[1] > top[1]) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int most = slice[r] > top[r] ? slice[r] : top[r];
            by[r] = less_by(most - top[r]);
            top[r] = most;
        }
#pragma unroll
        for (int e = 0; e < count; e++)
            sum[e] *= by[e / 2 % 2];
    }
#pragma unroll
    for (int r = 0; r < 2; r++)
        by[r] = less_by(top[r] - slice[r]);
}

/* ---- results ---- */

/* Column c of row r of what a warp has staged. */
DEV int part_at(int r, int c)
{
    return r * PART + (c ^ r / 2 % 2 * 8);
}

/* A part of the sums to shared memory. */
DEV void stage_part(float *part, const float *d)
{
    const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int b = 0; b < 2; b++)
#pragma unroll
        for (int r = 0; r < 2; r++)
            store_two(part + part_at(g + 8 * r, 8 * b + 2 * t),
                      two{d[4 * b + 2 * r], d[4 * b + 2 * r + 1]});
}

/* Applies an activation of linear.h. */
DEV void activate(quad (&v)[2], int act)
{
    if (act == BI_ACT_GELU)
        each(v, [](float x) { return gelu(x); });
    else if (act == BI_ACT_RELU)
        each(v, [](float x) { return relu(x); });
    else if (act == BI_ACT_SILU)
        each(v, [](float x) { return silu(x); });
    else if (act == BI_ACT_GELU_TANH)
        each(v, [](float x) { return gelu_tanh(x); });
}

/* Where a lane's four columns of two rows, m and m + 8, go. whole: they are read and written at
 * once, and no gradient asks for more. columns: all that y has. */
struct terms_target {
    const struct bi_linear_params &p;
    int64_t m, rows;
    int columns;
    bool whole;
};

DEV void ask_residual(const terms_target &t, int n, held (&more)[2])
{
#pragma unroll
    for (int h = 0; h < 2; h++)
        if (t.whole && t.p.residual && n < t.columns && t.m + 8 * h < t.rows)
            more[h] = hold(t.p.residual + (t.m + 8 * h) * t.p.ldr + n);
}

/* v: with bias, and gated or not; to columns n ... n + 3. */
DEV void put_quads(const terms_target &t, quad (&v)[2], int n, const held (&more)[2])
{
    const struct bi_linear_params &p = t.p;
    if (t.whole && !p.gated)
        activate(v, p.act);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int64_t m = t.m + 8 * h;
        const quad add = quad_of<float>(more[h]);
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            if (t.whole || n + i >= t.columns || m >= t.rows)
                continue;
            float x = p.gated ? v[h].of[i] : linear_result(p, m, n + i, v[h].of[i]);
            if (p.residual)
                x += p.residual[m * p.ldr + n + i];
            p.y[m * p.ldy + n + i] = x;
        }
        if (!t.whole || n >= t.columns || m >= t.rows)
            continue;
#pragma unroll
        for (int i = 0; i < RUN; i++)
            v[h].of[i] = p.residual ? v[h].of[i] + add.of[i] : v[h].of[i]; /* -0 stays */
        store_quad(p.y + m * p.ldy + n, v[h]);
    }
}

/* A warp's sums to y. top: the units of rows m0 + lane / 4 and 8 rows further; bias, unit: for the
 * columns from n0 on. The parts are a loop, as its code has to stay in the instruction cache. */
template <int N>
DEV void finish_sums(const struct bi_linear_params &p, const float (&sum)[N / 2],
                     const int (&top)[2], float *part, const float *bias, const int *unit,
                     int64_t m0, int n0, int64_t rows)
{
    const int lane = lane_id(), own = lane % 4 * RUN, columns = p.gated ? p.n / 2 : p.n;
    const u64 bases = (u64)p.y / 4 | (u64)p.residual / 4 | (u64)p.ldy | (u64)p.ldr;
    const terms_target t = {p, m0 + lane / 4, rows, columns,
                            (bases | (u64)columns) % RUN == 0 && !p.before && !p.slope};
    held more[2] = {}, next[2] = {};
    quad gates[2] = {};
    ask_residual(t, n0 + own, next);
#pragma unroll 1
    for (int i = 0; i < N / PART; i++) {
        const int c = i * PART + own;
        quad v[2];
        wave_barrier(); /* the part before is read */
#pragma unroll
        for (int j = 0; j < N / PART; j++)
            if (i == j)
                stage_part(part, sum + j * (PART / 2));
        wave_barrier();
#pragma unroll
        for (int h = 0; h < 2; h++) {
            more[h] = next[h];
            v[h] = load_quad(part + part_at(lane / 4 + 8 * h, own));
#pragma unroll
            for (int k = 0; k < RUN; k++) {
                const int e = top[h] + unit[c + k], low = e >> 1;
                const float x = v[h].of[k] * bi_terms_power(low) * bi_terms_power(e - low);
                v[h].of[k] = x + bias[c + k];
            }
        }
        if (i + 1 < N / PART && !p.gated)
            ask_residual(t, n0 + c + PART, next);
        if (p.gated && i % 2 == 0) {
            activate(v, p.act);
            gates[0] = v[0];
            gates[1] = v[1];
            continue;
        }
        if (p.gated)
#pragma unroll
            for (int k = 0; k < 2 * RUN; k++)
                v[k / RUN].of[k % RUN] *= gates[k / RUN].of[k % RUN];
        put_quads(t, v, p.gated ? n0 / 2 + i / 2 * PART + own : n0 + c, more);
    }
}

/* ---- the kernel ---- */

template <int GROUPS, int N, int STAGES>
DEV void linear_terms(const struct bi_linear_params &p, const tensor_map *maps)
{
    typedef terms_ring<GROUPS, N, STAGES> ring;
    enum { M = 64 * GROUPS };
    SHARED(ring, s, sizeof(ring));
    const int warpgroup = thread_id() / 128;
    const bool mapped = ((u64)p.x | (u64)p.ldx * 4) % 16 == 0;
    if (thread_id() == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&s.full[i], mapped ? 1 : 1 + 128);
            barrier_init(&s.empty[i], GROUPS);
        }
        barriers_ready();
        if (mapped)
            map_prefetch(&maps[MAP_X]);
        map_prefetch(&maps[MAP_W]);
    }
    barrier();
    const int64_t rows = bi_live_rows(p.counts, p.axis, p.rows);
    const int tiles_m = (int)((rows + M - 1) / M), tiles_n = (p.n + N - 1) / N;
    if (warpgroup == 0) {
        registers_down<24>();
        wait_for_inputs();
        if (!mapped || thread_id() == 0)
            ask_slices<GROUPS, N, STAGES>(s, p, maps, tiles_m, tiles_n, rows, mapped);
        return;
    }
    registers_up<GROUPS == 1 ? 232 : 240>();
    wait_for_inputs();
    const int me = warpgroup - 1, thread = thread_id() % 128, row0 = me * 64 + thread / 32 * 16;
    const int slices = (p.k + SLICE - 1) / SLICE;
    const int64_t stride = bi_terms_stride(p.k);
    spot<STAGES> from = {0, 0};
    for (int i = block_x(); i < tiles_m * tiles_n; i += blocks_x()) {
        const place to = place_of<M, N>(i, tiles_m, tiles_n);
        float sum[N / 2], d[N / 2];
        int top[2] = {BI_TERMS_LEAST_UNIT, BI_TERMS_LEAST_UNIT};
        for (int c = thread; c < N; c += 128) {
            const int n = to.n0 + c;
            s.bias[me][c] = p.bias && n < p.n ? p.bias[n] : 0;
            s.unit[me][c] = n < p.n ? *(const int *)((const f16 *)p.w + (n + 1) * stride - 8) : 0;
        }
#pragma unroll
        for (int e = 0; e < N / 2; e++)
            sum[e] = 0;
#pragma unroll 1
        for (int k = 0; k < slices; k++) {
            terms o;
            float by[2];
            barrier_wait(&s.full[from.at], from.phase);
            read_terms(o, s.x[from.at][0] + row0 * HALF, M * HALF);
            multiply_slice(d, o, descriptor(s.w[from.at][0]), descriptor(s.w[from.at][1]));
            meet_units(sum, top, o.unit, by);
            products_wait<0>();
            if (thread == 0)
                barrier_arrive(&s.empty[from.at]);
            from.next();
#pragma unroll
            for (int e = 0; e < N / 2; e++)
                sum[e] = fma_(d[e], by[e / 2 % 2], sum[e]);
        }
        group_barrier<128>(1 + me); /* bias and units are there */
        finish_sums<N>(p, sum, top, s.part[wave_id() - 4], s.bias[me], s.unit[me], to.m0 + row0,
                       to.n0, rows);
        group_barrier<128>(1 + me); /* they are read */
    }
}

#define TERMS(name, GROUPS, N, STAGES, BLOCKS)                                                     \
    KERNEL_EARLY(name, struct bi_linear_sm90_params, 128 * (GROUPS + 1), BLOCKS)                   \
    {                                                                                              \
        linear_terms<GROUPS, N, STAGES>(p.linear, MAPS(name));                                     \
    }
TERMS(linear_sm90_terms_128x160_f32, 2, 160, 3, 1)
TERMS(linear_sm90_terms_128x128_f32, 2, 128, 3, 1)
TERMS(linear_sm90_terms_64x64_f32, 1, 64, 3, 2)
TERMS(linear_sm90_terms_64x32_f32, 1, 32, 4, 2)

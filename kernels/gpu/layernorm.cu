/* layernorm.cu - y = norm(x) w + b, or, with `add`, of sum = x + add, or root mean square norm;
 * x and y f32 or f16; sums f32 only. Parts may be heads that are rotated. Eight rows, or parts of
 * rows (groups), to a block. */
#include "lib/gpu_rows.h"

#include "lib/gpu_tiles.h"
#include "../layernorm.h"

/* Where the parts of a row are, and whether four columns may be read at a time. */
template <typename X, typename Y> struct rows {
    const X *x;
    const float *add, *w, *b;
    float *sum;
    Y *y;
    f16 *copy;
    const float *turn; /* cosines, then sines, of half a head each; NULL = not rotated */
    int width;
    bool whole;
};

/* Scales of four columns. */
struct scales {
    f32x4 w, b;
};

DEV f32x4 normed(const f32x4 &v, const moments &m, const scales &s)
{
    f32x4 y;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        y[i] = fma_((v[i] - m.mean) * m.scale, s.w[i], s.b[i]);
    return y;
}

/* Columns c ... c + 3 of a row whose heads are rotated; other: those half a head away. whole: the
 * table may be read four at a time. */
template <bool whole>
DEV f32x4 turned(const f32x4 &y, const f32x4 &other, const float *turn, int c, int head_dim)
{
    const int half = head_dim / 2, i = c % half;
    f32x4 cosine, sine;
    if (whole) {
        cosine = load_four(turn + i);
        sine = load_four(turn + half + i);
    } else {
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            cosine[k] = turn[i + k];
            sine[k] = turn[half + i + k];
        }
    }
    f32x4 z;
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        z[k] = fma_(y[k], cosine[k], c & half ? other[k] * sine[k] : -(other[k] * sine[k]));
    return z;
}

template <typename X, typename Y> DEV scales scales_at(const rows<X, Y> &r, int c)
{
    const f32x4 zero = {0, 0, 0, 0};
    return scales{load4(r.w, c, r.width, r.whole), r.b ? load4(r.b, c, r.width, r.whole) : zero};
}

template <typename X, typename Y> DEV f32x4 source(const rows<X, Y> &r, int c)
{
    f32x4 v = load4(r.x, c, r.width, r.whole);
    if (sizeof(X) == 4 && r.add) {
        v += load4(r.add, c, r.width, r.whole);
        store4(r.sum, c, r.width, r.whole, v);
    }
    return v;
}

enum {
    HELD = 1280,
    HELD_WIDE = 1536
}; /* widest row that is held; apart, as the others would take an eighth longer */

template <int WIDEST> struct held_scales {
    scales of[WIDEST / 4];
};

/* A row of at most 128 PARTS columns, all `whole`, is read once and stays in registers. Behind its
 * end column 0 is read in place of a branch, and taken for zero. Four columns at a time throughout:
 * a launch of few rows takes as long as its code takes to arrive. at(c): scales of the columns. */
template <int PARTS, bool TURNS, typename X, typename Y, typename F>
DEV void norm_held(const struct bi_layernorm_params &p, const rows<X, Y> &r, F at)
{
    const int c0 = my_column();
    f32x4 v[PARTS];
#pragma GCC unroll 12
    for (int i = 0; i < PARTS; i++) {
        const int c = c0 + i * 4 * ROW_LANES;
        const f32x4 x = load_four(r.x + (c < r.width ? c : 0)), zero = {0, 0, 0, 0};
        v[i] = c < r.width ? x : zero;
    }
    if (sizeof(X) == 4 && r.add) {
#pragma GCC unroll 12
        for (int i = 0; i < PARTS; i++) {
            const int c = c0 + i * 4 * ROW_LANES;
            if (c < r.width) {
                v[i] += load_four(r.add + c);
                store_four(r.sum + c, v[i]);
            }
        }
    }
    const moments m = row_moments(
        [&](auto use) ALWAYS_INLINE {
#pragma GCC unroll 12
            for (int i = 0; i < PARTS; i++)
                use(c0 + i * 4 * ROW_LANES, v[i]);
        },
        r.width, true, p.eps, p.rms);
    if (TURNS) { /* lanes trade, those behind the end too */
#pragma GCC unroll 12
        for (int i = 0; i < PARTS; i++) {
            const int c = c0 + i * 4 * ROW_LANES;
            const f32x4 y = normed(v[i], m, scales_at(r, c));
            f32x4 other;
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                other[k] = shuffle_xor(y[k], p.head_dim / 8);
            if (c < r.width)
                store_four(r.y + c, turned<true>(y, other, r.turn, c, p.head_dim));
        }
        return;
    }
#pragma GCC unroll 12
    for (int i = 0; i < PARTS; i++) {
        const int c = c0 + i * 4 * ROW_LANES;
        if (c < r.width) {
            const f32x4 y = normed(v[i], m, at(c));
            store_four(r.y + c, y);
            if (r.copy)
                store_four(r.copy + c, y);
        }
    }
}

template <bool TURNS, typename X, typename Y>
DEV void norm_any(const struct bi_layernorm_params &p, const rows<X, Y> &r)
{
    const X *x = r.x;
    if (sizeof(X) == 4 && r.add) { /* each thread reads again only what it wrote itself */
        for (int c = my_column(); c < r.width; c += 4 * ROW_LANES)
            source(r, c);
        x = (const X *)r.sum;
    }
    const moments m = row_moments(x, r.width, r.whole, p.eps, p.rms);
    for (int c = my_column(); c < r.width; c += 4 * ROW_LANES) {
        f32x4 y = normed(load4(x, c, r.width, r.whole), m, scales_at(r, c));
        if (TURNS) {
            const int o = c ^ p.head_dim / 2;
            y = turned<false>(y, normed(load4(x, o, r.width, r.whole), m, scales_at(r, o)), r.turn,
                              c, p.head_dim);
        }
        store4(r.y, c, r.width, r.whole, y);
        if (r.copy)
            store4(r.copy, c, r.width, r.whole, y);
    }
}

template <bool TURNS, typename X, typename Y, typename F>
DEV void norm_rows(const struct bi_layernorm_params &p, bool whole, int groups, F one)
{
    const int64_t live = bi_live_rows(p.counts, p.axis, p.rows) * groups;
    for (int64_t at = my_row(); at - thread_id() / ROW_LANES < live;
         at += BI_LAYERNORM_BLOCKS * ROWS_PER_BLOCK) {
        const bool in = at < live;
        const int64_t row = in ? at / groups : 0;
        const int first = (int)(at % groups) * p.width; /* column of the part */
        const float *turn = TURNS ? p.table + (row - p.start[sequence_of(p.counts, p.start, row)]) *
                                                  p.head_dim
                                  : nullptr;
        one(rows<X, Y>{(const X *)p.x + row * p.ldx + first, p.add ? p.add + row * p.lda : nullptr,
                       p.w + first, p.b ? p.b + first : nullptr,
                       p.add ? p.sum + row * p.lds : nullptr, (Y *)p.y + row * p.ldy + first,
                       p.copy ? (f16 *)p.copy + row * p.ldc : nullptr, turn,
                       in ? p.width : 0, /* the others only keep company in sums */
                       whole});
    }
}

template <typename X, typename Y, bool TURNS = false, int WIDEST = HELD>
DEV void norm(const struct bi_layernorm_params &p)
{
    const int groups = p.groups > 1 ? p.groups : 1;
    const bool whole = fours((const X *)p.x, p.ldx) && fours((const Y *)p.y, p.ldy) &&
                       fours(p.w, 0) && fours(p.b, 0) && fours(p.add, p.add ? p.lda : 0) &&
                       fours(p.sum, p.sum ? p.lds : 0) && (!TURNS || fours(p.table, p.head_dim)) &&
                       fours((const f16 *)p.copy, p.copy ? p.ldc : 0) && p.width % 4 == 0;
    SHARED(held_scales<WIDEST>, s, sizeof(held_scales<WIDEST>));
    if (!whole || p.width > WIDEST) {
        wait_for_inputs();
        norm_rows<TURNS, X, Y>(p, whole, groups,
                               [&](const rows<X, Y> &r) ALWAYS_INLINE { norm_any<TURNS>(p, r); });
    } else if (TURNS || groups > 1) {
        wait_for_inputs();
        norm_rows<TURNS, X, Y>(p, true, groups, [&](const rows<X, Y> &r) ALWAYS_INLINE {
            norm_held<WIDEST / 128, TURNS>(p, r,
                                           [&](int c) ALWAYS_INLINE { return scales_at(r, c); });
        });
    } else {
        /* weights are no inputs: they wait in shared memory for those */
        for (int c = thread_id() * 4; c < p.width; c += ROW_THREADS * 4) {
            const f32x4 zero = {0, 0, 0, 0};
            s.of[c / 4] = scales{load_four(p.w + c), p.b ? load_four(p.b + c) : zero};
        }
        barrier();
        wait_for_inputs();
        const auto at = [&](int c) ALWAYS_INLINE { return s.of[c / 4]; };
        norm_rows<false, X, Y>(p, true, 1, [&](const rows<X, Y> &r) ALWAYS_INLINE {
            if (WIDEST == HELD && p.width <= 4 * 128)
                norm_held<4, false>(p, r, at);
            else
                norm_held<WIDEST / 128, false>(p, r, at);
        });
    }
}

KERNEL_EARLY(layernorm_f32_f16, struct bi_layernorm_params, ROW_THREADS, 2)
{
    norm<float, f16>(p);
}

KERNEL_EARLY(layernorm_wide_f32_f16, struct bi_layernorm_params, ROW_THREADS, 2)
{
    norm<float, f16, false, HELD_WIDE>(p);
}

KERNEL_EARLY(layernorm_f32_f32, struct bi_layernorm_params, ROW_THREADS, 2)
{
    norm<float, float>(p);
}

KERNEL_EARLY(layernorm_f16_f16, struct bi_layernorm_params, ROW_THREADS, 2)
{
    norm<f16, f16>(p);
}

KERNEL_EARLY(layernorm_rotated_f16_f16, struct bi_layernorm_params, ROW_THREADS, 2)
{
    norm<f16, f16, true>(p);
}

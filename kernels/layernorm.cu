/* layernorm.cu - y = norm(x) w + b, or, with `add`, of sum = x + add, or root mean square norm;
 * x and y f32 or f16; sums f32 only. Eight rows, or parts of rows (groups), to a block. */
#include "gpu_rows.h"

#include "layernorm.h"

/* Where the parts of a row are, and whether four columns may be read at a time. */
template <typename X, typename Y> struct rows {
    const X *x;
    const float *add, *w, *b;
    float *sum;
    Y *y;
    f16 *copy;
    int width;
    bool whole;
};

template <typename X, typename Y>
DEV void finish(const rows<X, Y> &r, int c, const f32x4 &v, const moments &m)
{
    const f32x4 w = load4(r.w, c, r.width, r.whole), zero = {0, 0, 0, 0};
    const f32x4 b = r.b ? load4(r.b, c, r.width, r.whole) : zero;
    f32x4 y;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        y[i] = fma_((v[i] - m.mean) * m.scale, w[i], b[i]);
    store4(r.y, c, r.width, r.whole, y);
    if (r.copy)
        store4(r.copy, c, r.width, r.whole, y);
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

/* A row of at most 128 PARTS columns, all `whole`, is read once and stays in registers. Behind its
 * end column 0 is read in place of a branch, and taken for zero. */
template <int PARTS, typename X, typename Y>
DEV void norm_held(const struct bi_layernorm_params &p, rows<X, Y> r)
{
    r.whole = true; /* the compiler knows, too */
    f32x4 v[PARTS];
#pragma GCC unroll 10
    for (int i = 0; i < PARTS; i++) {
        const int c = my_column() + i * 4 * ROW_LANES;
        const bool in = c < r.width;
        typedef X X4 __attribute__((vector_size(4 * sizeof(X))));
        const X4 x = *(const X4 *)(r.x + (in ? c : 0));
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
            v[i][k] = in ? (float)x[k] : 0;
    }
    if (sizeof(X) == 4 && r.add) {
#pragma GCC unroll 10
        for (int i = 0; i < PARTS; i++) {
            const int c = my_column() + i * 4 * ROW_LANES;
            v[i] += load4(r.add, c, r.width, true);
            store4(r.sum, c, r.width, true, v[i]);
        }
    }
    const moments m = row_moments(
        [&](auto use) ALWAYS_INLINE {
#pragma GCC unroll 10
            for (int i = 0; i < PARTS; i++)
                use(my_column() + i * 4 * ROW_LANES, v[i]);
        },
        r.width, true, p.eps, p.rms);
#pragma GCC unroll 10
    for (int i = 0; i < PARTS; i++)
        finish(r, my_column() + i * 4 * ROW_LANES, v[i], m);
}

template <typename X, typename Y>
DEV void norm_any(const struct bi_layernorm_params &p, const rows<X, Y> &r)
{
    const X *x = r.x;
    if (sizeof(X) == 4 && r.add) { /* each thread reads again only what it wrote itself */
        for (int c = my_column(); c < r.width; c += 4 * ROW_LANES)
            source(r, c);
        x = (const X *)r.sum;
    }
    const moments m = row_moments(x, r.width, r.whole, p.eps, p.rms);
    for (int c = my_column(); c < r.width; c += 4 * ROW_LANES)
        finish(r, c, load4(x, c, r.width, r.whole), m);
}

template <typename X, typename Y> DEV void norm(const struct bi_layernorm_params &p)
{
    const int groups = p.groups > 1 ? p.groups : 1;
    const int64_t at = my_row(), row = at / groups;
    const int first = (int)(at % groups) * p.width; /* column of the part */
    const bool live = row < bi_live_rows(p.counts, p.axis, p.rows);
    rows<X, Y> r = {(const X *)p.x + (live ? row : 0) * p.ldx + first,
                    p.add ? p.add + row * p.lda : nullptr,
                    p.w + first,
                    p.b ? p.b + first : nullptr,
                    p.add ? p.sum + row * p.lds : nullptr,
                    (Y *)p.y + row * p.ldy + first,
                    p.copy ? (f16 *)p.copy + row * p.ldc : nullptr,
                    live ? p.width : 0, /* the others only keep company in sums */
                    false};
    r.whole = fours(r.x, p.ldx) && fours(r.y, p.ldy) && fours(r.w, 0) && fours(r.b, 0) &&
              fours(r.add, r.add ? p.lda : 0) && fours(r.sum, r.sum ? p.lds : 0) &&
              fours(r.copy, r.copy ? p.ldc : 0) && p.width % 4 == 0;
    if (!r.whole)
        norm_any(p, r);
    else if (p.width <= 4 * 128)
        norm_held<4>(p, r);
    else if (p.width <= 10 * 128)
        norm_held<10>(p, r);
    else
        norm_any(p, r);
}

KERNEL(layernorm_f32_f16, struct bi_layernorm_params, ROW_THREADS, 3)
{
    norm<float, f16>(p);
}

KERNEL(layernorm_f32_f32, struct bi_layernorm_params, ROW_THREADS, 3)
{
    norm<float, float>(p);
}

KERNEL(layernorm_f16_f16, struct bi_layernorm_params, ROW_THREADS, 2)
{
    norm<f16, f16>(p);
}

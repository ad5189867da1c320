/* linear_sm90_kinds.h - what Hopper's linears share beside their products: kinds of entries, and
 * pairs of columns, as a thread has them of the sums of its warpgroup (sm90.h). */
#ifndef BI_LINEAR_SM90_KINDS_H
#define BI_LINEAR_SM90_KINDS_H

#include "../lib/gpu_math.h"
#include "../lib/gpu_tiles.h"
#include "../../linear.h"
#include "linear_sm90.h"
#include "../../norm_act.h"
#include "sm90.h"

/* NORMED, PAIRED, POOLED: what follows y as linear.h says. TWIN: NORMED, of rows that share
 * products. */
enum { PLAIN, ROTATED, GATED, NORMED, PAIRED, POOLED, TWIN };

enum { SLICE = 64 /* along k */ };

/* Maps: tiles of x, of w; and where something follows y, what is added (PAIRED: residual, or tiles
 * of more_x; POOLED: odd rows), y between its zero rows, what is written beside it or, POOLED, the
 * differences, and tiles of more_w. Behind the first two: boxes of 16 rows, of 8 that small PAIRED
 * writes. Where rows come in twos (TWIN, PAIRED), x and more_x are their even rows, and last come
 * the odd ones. */
enum { MAP_X, MAP_W, MAP_ADDED, MAP_Y, MAP_ALSO, MAP_MORE_W, MAP_ODD, MAP_MORE_ODD };

/* Where in a ring, 0 to STAGES - 1, and the parity of the round, 0 or 1, which next() turns where
 * the ring begins anew. */
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

enum { GROUP = 16 /* row tiles that blocks go down together */ };

/* Tile i of the grid's order, 0 <= i < tiles_m tiles_n: its first row and column, in elements. */
struct place {
    int m0, n0;
};
template <int M, int N> DEV place place_of(int i, int tiles_m, int tiles_n)
{
    const int group = i / (GROUP * tiles_n), within = i % (GROUP * tiles_n);
    const int first = group * GROUP, high = tiles_m - first < GROUP ? tiles_m - first : GROUP;
    return place{(first + within % high) * M, within / high * N};
}

/* Two neighbouring columns of a row. */
struct two {
    float a, b;
};

/* As they lie in memory: to turn them into floats is to wait for them. */
template <typename T> struct raw {
    typedef T vector __attribute__((vector_size(2 * sizeof(T))));
    vector of;
    METHOD two floats() const
    {
        return two{(float)of[0], (float)of[1]};
    }
};

/* Two neighbours as they lie in memory; from is aligned to both. */
template <typename T> DEV raw<T> hold_two(const T *from)
{
    return raw<T>{*(const typename raw<T>::vector *)from};
}

/* The same as floats. */
template <typename T> DEV two load_two(const T *from)
{
    return hold_two(from).floats();
}

/* Writes two neighbours, rounded to T; to is aligned to both. */
template <typename T> DEV void store_two(T *to, const two &v)
{
    typedef typename raw<T>::vector vector;
    *(vector *)to = vector{(T)v.a, (T)v.b};
}

/* 1 / (1 + e^-2x) for what is made of operands of f16, also where it stays f32: one special
 * instruction where gate() of gpu_norm_act.h takes two, and there are 10^8 of these at a time. PTX
 * promises 2.5e-4 of it; checkkernel sees 4e-5 at most, by results of pooling in f32. */
DEV float sigmoid_of_double(float x)
{
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x));
    return fma_(0.5f, t, 0.5f);
}

/* POOLED: the share of a pair's even row, by the difference of logits. */
DEV float share(float logit)
{
    return sigmoid_of_double(0.5f * logit);
}

/* act(v scale + shift), the acts of norm_act.h that stand between convolutions, as good as operands
 * of f16 are: any act but BI_NORM_ACT_QUICK_GELU is taken for TANH_GELU. */
DEV float quick_gelu(float z)
{
    return z * sigmoid_of_double(0.5f * 1.702f * z);
}
DEV float tanh_gelu(float z) /* 1/2 (1 + tanh x) = sigmoid(2 x) */
{
    return z * sigmoid_of_double(0.79788456f * fma_(0.044715f, z * z * z, z));
}
template <bool quick> DEV two norm_act(const two &v, const two &scale, const two &shift)
{
    const two z = {fma_(v.a, scale.a, shift.a), fma_(v.b, scale.b, shift.b)};
    return quick ? two{quick_gelu(z.a), quick_gelu(z.b)} : two{tanh_gelu(z.a), tanh_gelu(z.b)};
}
DEV two norm_act(const two &v, const two &scale, const two &shift, int act)
{
    return act == BI_NORM_ACT_QUICK_GELU ? norm_act<true>(v, scale, shift)
                                         : norm_act<false>(v, scale, shift);
}

/* PAIRED: a lane has row 2 i, or 2 i + 1 (upper), of one pair of rows, and the same of the pair 8
 * rows further; the lane 4 further, or before, the others. Makes the odd row and the difference of
 * one pair: of the first a lower lane, of the other an upper one. All lanes of the warp. */
DEV void make_pair(const two &first, const two &second, bool upper, two &odd, two &difference)
{
    const two mine = upper ? second : first, gives = upper ? first : second;
    const two gets = {shuffle_xor(gives.a, 4), shuffle_xor(gives.b, 4)};
    const two even = upper ? gets : mine;
    odd = upper ? mine : gets;
    difference = two{even.a - odd.a, even.b - odd.b};
}

#endif

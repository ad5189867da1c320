/* linear.cu - y = act(x w^T + bias) + residual on matrix units, f16 in, f32 sums. The residual is
 * of the type of y.
 *
 * Tiles are those of linear_tile.h, of 128 x 128 or 64 x 64, from slices of 32 columns: four on
 * their way, or one and several blocks on a multiprocessor (its 64 KiB would hold one
 * double-buffered block). A wave holds 64 x 32 (wave 32) or 64 x 64 (wave 64) of a large tile, or
 * half of that in each direction of a small one.
 *
 * linear_gated: rows of w are gates and values in blocks of 16 (linear.h).
 *
 * Each element of y is one chain over k = 0, 16, 32, ..., whatever the tile: the same bits from
 * either tile size and for any number of rows. */
#include "lib/linear_tile.h"

template <int size>
struct half_shape : linear_shape<f16, f16x8, size, 2 * size, 32, 40, COPY_ASYNC ? 4 : 1> {
};

/* Adds the products of a slice. x, w: this wave's rows of it. */
template <int size>
DEV void multiply_slice(linear_sums<half_shape<size>> &d, const f16 *x, const f16 *w)
{
    typedef half_shape<size> S;
#pragma GCC unroll 2
    for (int k = 0; k < S::SLICE; k += 16) {
        frag a[S::MT], b[S::NT];
#pragma GCC unroll 8
        for (int i = 0; i < S::MT; i++)
            a[i] = frag_x(x + i * 16 * S::LD + k, S::LD);
#pragma GCC unroll 8
        for (int j = 0; j < S::NT; j++)
            b[j] = frag_w(w + j * 16 * S::LD + k, S::LD);
#pragma GCC unroll 8
        for (int i = 0; i < S::MT; i++)
#pragma GCC unroll 8
            for (int j = 0; j < S::NT; j++)
                multiply(d.of[i][j], a[i], b[j]);
    }
}

/* The tile of this block. */
template <int size, typename Y, linear_gates gates = GATES_NEVER>
DEV void linear(const struct bi_linear_params &p)
{
    typedef half_shape<size> S;
    SHARED(typename S::stages, s, sizeof(typename S::stages));
    linear_tile<S, Y, gates>(p, s, bi_live_rows(p.counts, p.axis, p.rows), block_x());
}

KERNEL(linear_f16_f16, struct bi_linear_params, 256, 2)
{
    linear<128, f16>(p);
}

KERNEL(linear_f16_f32, struct bi_linear_params, 256, 2)
{
    linear<128, float>(p);
}

KERNEL(linear_small_f16_f16, struct bi_linear_params, 128, 4)
{
    linear<64, f16>(p);
}

KERNEL(linear_gated_f16_f16, struct bi_linear_params, 256, 2)
{
    linear<128, f16, GATES_ALWAYS>(p);
}

KERNEL(linear_gated_small_f16_f16, struct bi_linear_params, 128, 4)
{
    linear<64, f16, GATES_ALWAYS>(p);
}

KERNEL(linear_small_f16_f32, struct bi_linear_params, 128, 4)
{
    linear<64, float>(p);
}

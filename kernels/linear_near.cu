/* linear_near.cu - y = act(x w^T + bias) + residual, all in f32, on matrix units.
 *
 * Tiles are those of linear_tile.h, of 64 x 64 or 32 x 32, from slices of 16 columns. Every element
 * of y is one chain over k = 0, 16, 32, ..., whatever the tile: the same bits from both sizes and
 * for any number of rows. Errors are those of float32 sums, and on NVIDIA 2^-21 of the products
 * beside (gpu.h). */
#include "gpu_mix.h"
#include "linear_tile.h"

template <int size>
struct near_shape : linear_shape<float, f32x4, size, 128, 16, COPY_ASYNC ? 16 : 20,
                                 !COPY_ASYNC  ? 1
                                 : size == 32 ? 8
                                              : 4> {
};

/* Adds the products of a slice. x, w: this wave's rows of it. */
template <int size>
DEV void multiply_slice(linear_sums<near_shape<size>> &d, const float *x, const float *w)
{
    typedef near_shape<size> S;
    near_frag b[S::NT];
#pragma GCC unroll 4
    for (int j = 0; j < S::NT; j++)
        b[j] = near_frag_of(w + j * 16 * S::LD, S::LD);
#pragma GCC unroll 4
    for (int i = 0; i < S::MT; i++) {
        const near_frag a = near_frag_of(x + i * 16 * S::LD, S::LD);
#pragma GCC unroll 4
        for (int j = 0; j < S::NT; j++)
            multiply(d.of[i][j], a, b[j]);
    }
}

/* Tile `block`; a wave's part of small tiles is too narrow for gates beside their values. */
template <int size>
DEV void linear_near(const struct bi_linear_params &p, typename near_shape<size>::stages &s,
                     int64_t rows, int block)
{
    linear_tile<near_shape<size>, float, size == 32 ? GATES_NEVER : GATES_AS_TOLD>(p, s, rows,
                                                                                   block);
}

KERNEL(linear_near_f32, struct bi_linear_params, 128, 4)
{
    SHARED(near_shape<64>::stages, s, sizeof(near_shape<64>::stages));
    linear_near<64>(p, s, bi_live_rows(p.counts, p.axis, p.rows), block_x());
}

KERNEL(linear_near_32_f32, struct bi_linear_params, 128, 4)
{
    SHARED(near_shape<32>::stages, s, sizeof(near_shape<32>::stages));
    linear_near<32>(p, s, bi_live_rows(p.counts, p.axis, p.rows), block_x());
}

KERNEL(tensor_mix_near_f32, struct bi_tensor_mix_params, 128, 4)
{
    SHARED(near_shape<64>::stages, s, sizeof(near_shape<64>::stages));
    const mix_tile t = mix_tile_of(p, 64);
    linear_near<64>(t.layer, s, t.rows, t.block);
}

KERNEL(tensor_mix_near_32_f32, struct bi_tensor_mix_params, 128, 4)
{
    SHARED(near_shape<32>::stages, s, sizeof(near_shape<32>::stages));
    const mix_tile t = mix_tile_of(p, 32);
    linear_near<32>(t.layer, s, t.rows, t.block);
}

/* linear_near.cu - y = act(x w^T + bias) + residual, all in f32, on matrix units.
 *
 * Tiles have 64 x 64 or 32 x 32 elements (linear_tile.h), made from slices of 16 columns;
 * launches of few rows have tiles of 16 x 16, below. Every element of y is one chain over
 * k = 0, 16, 32, ..., whatever the tile: the same bits for any size and any number of rows. Errors
 * are those of float32 sums, and on NVIDIA 2^-21 of the products beside (gpu.h). */
#include "lib/gpu_mix.h"
#include "lib/gpu_rows.h"
#include "lib/linear_tile.h"

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

/* ---- few rows: waves share the k of a tile of 16 x 16 ---- */

/* A launch of few rows takes as long as its longest chain. Where the products of 16 columns of k
 * are a sum of their own (NEAR_APART, gpu.h), each wave makes every eighth of them, straight from
 * memory, and a thread then adds up the sums of one element in the order of k: the bits of the
 * other tiles. Elsewhere a product begins with the sum before it, so one wave makes them all. */
enum {
    FEW_SIZE = 16,
    FEW_THREADS = 256,
    FEW_WAVES = FEW_THREADS / WAVE,
    FEW_EACH = 4, /* slices of k a wave has in flight */
    FEW_MAKERS = NEAR_APART ? FEW_WAVES : 1,
    FEW_SLICES = FEW_MAKERS * FEW_EACH
};
static_assert((int)FEW_WAVES == (int)ACC, "a wave finishes one element of each lane's acc");

struct few_sums {
    float of[FEW_SLICES][ACC * WAVE];
};

/* A lane's elements of FEW_EACH fragments before they are split into terms. */
struct few_values {
    f32x4 of[FEW_EACH][NEAR / 4];
};

/* A wave's slices, of those from `first` on, of the 16 rows from row0 on of an array [rows, k];
 * zeros outside of it. */
DEV few_values read_few(const float *base, int64_t ld, int64_t row0, int64_t rows, int first, int k)
{
    const bool whole = ((u64)base | (u64)ld * 4) % 16 == 0;
    few_values v = {};
#pragma GCC unroll 4
    for (int i = 0; i < FEW_EACH; i++)
#pragma GCC unroll 4
        for (int j = 0; j < NEAR; j += 4) {
            const int64_t r = row0 + near_row(lane_id(), j);
            const int c = 16 * (first + i * FEW_MAKERS + wave_id()) + near_k(lane_id(), j);
            if (r < rows)
                v.of[i][j / 4] = load4(base + r * ld, c, k, whole);
        }
    return v;
}

DEV near_frag few_frag(const few_values &v, int i)
{
    near_frag f;
#pragma GCC unroll 16
    for (int j = 0; j < NEAR; j++)
        near_set(f, j, v.of[i][j / 4][j % 4]);
    return f;
}

KERNEL_EARLY(linear_near_few_f32, struct bi_linear_params, FEW_THREADS, 2)
{
    SHARED(few_sums, s, sizeof(few_sums));
    const int tiles_n = (p.n + FEW_SIZE - 1) / FEW_SIZE, n0 = block_x() % tiles_n * FEW_SIZE;
    const int64_t m0 = (int64_t)(block_x() / tiles_n) * FEW_SIZE;
    const int slices = (p.k + 15) / 16;
    const bool makes = wave_id() < FEW_MAKERS;
    few_values w = {};
    if (makes)
        w = read_few((const float *)p.w, p.k, n0, p.n, 0, p.k);
    wait_for_inputs();
    const int64_t rows = bi_live_rows(p.counts, p.axis, p.rows);
    if (m0 >= rows)
        return;
    acc sum = {};
    float d = 0;
    for (int first = 0; first < slices; first += FEW_SLICES) {
        const int here = slices - first < FEW_SLICES ? slices - first : FEW_SLICES;
        if (makes) {
            if (first > 0)
                w = read_few((const float *)p.w, p.k, n0, p.n, first, p.k);
            const few_values x = read_few(p.x, p.ldx, m0, rows, first, p.k);
#pragma GCC unroll 4
            for (int i = 0; i < FEW_EACH; i++) {
                if (FEW_MAKERS > 1)
                    sum = acc{};
                multiply(sum, few_frag(x, i), few_frag(w, i)); /* zeros behind the last slice */
#pragma GCC unroll 8
                for (int e = 0; e < ACC && FEW_MAKERS > 1; e++)
                    s.of[i * FEW_MAKERS + wave_id()][e * WAVE + lane_id()] = sum.of[e];
            }
        }
        if (FEW_MAKERS == 1)
            continue;
        barrier();
#pragma GCC unroll 8
        for (int i = 0; i < here; i++)
            d += s.of[i][thread_id()];
        barrier(); /* the sums are used up */
    }
    if (FEW_MAKERS == 1) {
#pragma GCC unroll 8
        for (int e = 0; e < ACC && makes; e++)
            s.of[0][e * WAVE + lane_id()] = sum.of[e];
        barrier();
        d = s.of[0][thread_id()];
    }
    linear_put(p, m0 + acc_m(wave_id()), n0 + acc_n(wave_id()), rows, d);
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

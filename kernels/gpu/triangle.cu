/* triangle.cu - products of the rows of two grids, channel by channel, f32 arithmetic.
 *
 * A block makes 16 by 16 pairs of a sequence for 32 channels. Edges go through shared memory for
 * eight k at a time; a thread has one channel and 4 by 8 of the pairs. */
#include "lib/gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "../triangle.h"
#pragma clang force_cuda_host_device end

enum { EDGE_SIDE = 16, EDGE_CHANNELS = 32, EDGE_DEPTH = 8, EDGE_DOWN = 4, EDGE_ACROSS = 8 };

struct triangle_tiles {
    float a[EDGE_DEPTH][EDGE_SIDE][EDGE_CHANNELS], b[EDGE_DEPTH][EDGE_SIDE][EDGE_CHANNELS];
};

/* Edges of places first ... and triangles from ..., 0 where there is none; x: of the grid's row 0
 * and the block's first channel. */
template <typename T>
DEV void read_edges(float (&to)[EDGE_DEPTH][EDGE_SIDE][EDGE_CHANNELS],
                    const struct bi_triangle_params &p, const T *x, int64_t ldx, int n, int first,
                    int from, int channels)
{
    const int c = thread_id() % EDGE_CHANNELS;
    for (int at = thread_id() / EDGE_CHANNELS; at < EDGE_DEPTH * EDGE_SIDE;
         at += ROW_THREADS / EDGE_CHANNELS) {
        /* neighbours in memory are neighbours here */
        const int k = p.incoming ? at / EDGE_SIDE : at % EDGE_DEPTH,
                  i = p.incoming ? at % EDGE_SIDE : at / EDGE_DEPTH;
        float v = 0;
        if (first + i < n && from + k < n && c < channels)
            v = (float)x[bi_triangle_row(&p, n, first + i, from + k) * ldx + c];
        to[k][i][c] = v;
    }
}

template <typename T> DEV void triangle(const struct bi_triangle_params &p)
{
    SHARED(triangle_tiles, s, sizeof(triangle_tiles));
    const int side = (p.counts->longest + EDGE_SIDE - 1) / EDGE_SIDE;
    const int seq = side ? block_x() / (side * side) : p.counts->n_seqs;
    if (seq >= p.counts->n_seqs)
        return;
    const int64_t grid = p.grid_start[seq];
    const int n = (int)bi_grid_side(p.grid_start[seq + 1] - grid);
    const int row0 = block_x() / side % side * EDGE_SIDE, column0 = block_x() % side * EDGE_SIDE;
    if (row0 >= n || column0 >= n)
        return;
    const int channel = block_y() * EDGE_CHANNELS, c = thread_id() % EDGE_CHANNELS;
    const int group = thread_id() / EDGE_CHANNELS, i0 = group / 2 * EDGE_DOWN,
              j0 = group % 2 * EDGE_ACROSS;
    const T *a = (const T *)p.a + grid * p.lda + channel;
    const T *b = (const T *)p.b + grid * p.ldb + channel;
    float sum[EDGE_DOWN][EDGE_ACROSS] = {};
    for (int from = 0; from < n; from += EDGE_DEPTH) {
        const int depth = n - from < EDGE_DEPTH ? n - from : EDGE_DEPTH;
        barrier(); /* the last edges are used up */
        read_edges<T>(s.a, p, a, p.lda, n, row0, from, p.width - channel);
        read_edges<T>(s.b, p, b, p.ldb, n, column0, from, p.width - channel);
        barrier();
        for (int k = 0; k < depth; k++) {
            float x[EDGE_DOWN];
#pragma GCC unroll 4
            for (int u = 0; u < EDGE_DOWN; u++)
                x[u] = s.a[k][i0 + u][c];
#pragma GCC unroll 8
            for (int v = 0; v < EDGE_ACROSS; v++) {
                const float y = s.b[k][j0 + v][c];
#pragma GCC unroll 4
                for (int u = 0; u < EDGE_DOWN; u++)
                    sum[u][v] = fma_(x[u], y, sum[u][v]);
            }
        }
    }
    if (channel + c >= p.width)
        return;
#pragma GCC unroll 4
    for (int u = 0; u < EDGE_DOWN; u++)
#pragma GCC unroll 8
        for (int v = 0; v < EDGE_ACROSS; v++) {
            const int64_t i = row0 + i0 + u, j = column0 + j0 + v;
            if (i < n && j < n)
                p.y[(grid + i * n + j) * p.ldy + channel + c] = sum[u][v];
        }
}

KERNEL(triangle_f32, struct bi_triangle_params, ROW_THREADS, 2)
{
    triangle<float>(p);
}

KERNEL(triangle_f16, struct bi_triangle_params, ROW_THREADS, 2)
{
    triangle<f16>(p);
}

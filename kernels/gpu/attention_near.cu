/* attention_near.cu - softmax(scale q k^T) v within each sequence, f32 on matrix units: on NVIDIA
 * by terms of float16 (attention_terms.h), on CDNA by its float32 products.
 *
 * A block of 128 threads takes 128 queries of one head, of heads wider than 64 columns 64. Keys and
 * values pass through shared memory 32 (on CDNA 16 of wide heads) at a time. Online softmax.
 *
 * Key tiles count from the start of the own sequence, and a row does not depend on the other rows
 * of its block: the same bits in any batch. _dN serves head widths up to N, zero-padded; any
 * alignment. docs/design/kernels.md has the error bound. Grid: tiles of gpu_tiles.h, heads. */
#include "lib/attention_terms.h"

#if !NEAR_TERMS

template <int D_> struct near_heads {
    enum {
        D = D_,
        THREADS = 128,
        ROWS = D > 64 ? 64 : 128,
        KEYS = D > 64 ? 16 : 32, /* there are 64 KiB of shared memory */
        LD = D + 4,
        MT = ROWS / 16 / (THREADS / WAVE), /* 16-row parts of a wave */
        NT = KEYS / 16,
        KT = D / 16
    };
    float k[KEYS * LD], v[KEYS * LD], q[ROWS * LD];
};

template <int D> DEV void attend(const struct bi_attention_params &p)
{
    typedef near_heads<D> S;
    enum { MT = S::MT, NT = S::NT, KT = S::KT, LD = S::LD, KEYS = S::KEYS };
    SHARED(S, s, sizeof(S));
    const tile q = find_tile<S::ROWS>((int)bi_live_rows(p.counts, p.seqs, 0), p.start, block_x());
    if (q.first >= q.length)
        return;
    const int64_t column = (int64_t)block_y() * p.head_dim;
    const int row0 = wave_id() * MT * 16, d = p.head_dim;
    acc o[MT][KT] = {};
    float max[MT][ACC_ROWS], sum[MT][ACC_ROWS];
#pragma GCC unroll 4
    for (int m = 0; m < MT; m++)
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++) {
            max[m][r] = -INF;
            sum[m][r] = 0;
        }

    read_plain<S::ROWS, D, S::THREADS, float>(
        head_rows{p.q + (q.start + q.first) * p.ldq + column, p.ldq,
                  p.table ? p.table + (int64_t)q.first * d : p.table, q.length - q.first, d},
        0, s.q, LD);
    for (int j0 = 0; j0 < q.length; j0 += KEYS) {
        const int64_t at = q.start + j0;
        const int keys = q.length - j0;
        barrier(); /* the last keys and values are used up */
        read_plain<KEYS, D, S::THREADS, float>(
            head_rows{p.k + at * p.ldk + column, p.ldk,
                      p.table ? p.table + (int64_t)j0 * d : p.table, keys, d},
            0, s.k, LD);
        bring_rows<KEYS, D, S::THREADS>(
            head_rows{p.v + at * p.ldv + column, p.ldv, nullptr, keys, d}, s.v, LD);
        barrier();

        acc x[MT][NT] = {};
#pragma GCC unroll 1
        for (int k = 0; k < KT; k++) {
            near_frag query[MT];
#pragma GCC unroll 4
            for (int m = 0; m < MT; m++)
                query[m] = near_frag_of(s.q + (row0 + m * 16) * LD + k * 16, LD);
#pragma GCC unroll 4
            for (int n = 0; n < NT; n++) {
                const near_frag w = near_frag_of(s.k + n * 16 * LD + k * 16, LD);
#pragma GCC unroll 4
                for (int m = 0; m < MT; m++)
                    multiply(x[m][n], query[m], w);
            }
        }
        if (keys < KEYS)
            mask_keys(x, keys);
#pragma GCC unroll 4
        for (int m = 0; m < MT; m++)
            weigh<NO_BIAS, 0>(x[m], max[m], sum[m], o[m], p, bias_rows{});
#pragma GCC unroll 4
        for (int n = 0; n < NT; n++) {
            near_frag weights[MT];
#pragma GCC unroll 4
            for (int m = 0; m < MT; m++)
                weights[m] = near_frag_of(x[m][n]);
#pragma GCC unroll 8
            for (int k = 0; k < KT; k++) {
                const near_frag w = near_frag_t(s.v + n * 16 * LD + k * 16, LD);
#pragma GCC unroll 4
                for (int m = 0; m < MT; m++)
                    multiply(o[m][k], weights[m], w);
            }
        }
    }
    write_rows<float>(p, o, sum, q, row0);
}

#endif

/* On a multiprocessor: shared memory of CDNA has room for one. */
enum { NEAR_BLOCKS = COPY_ASYNC ? 2 : 1 };

#define ATTENTION_NEAR(D)                                                                          \
    KERNEL(attention_near_d##D##_f32, struct bi_attention_params, 128, NEAR_BLOCKS)                \
    {                                                                                              \
        attend<D>(p);                                                                              \
    }
ATTENTION_NEAR(32)
ATTENTION_NEAR(48)
ATTENTION_NEAR(64)
ATTENTION_NEAR(80)
ATTENTION_NEAR(128)

/* attention_sm90.cu - softmax(scale q k^T) v within each sequence on Hopper, f16.
 *
 * A block is one warpgroup with 64 queries of one head; keys and values come by the copy engine,
 * KEYS at a time, one step ahead. Scores stay in registers, and so do the exponentials, rounded
 * to f16, as the first operand of the product with the values. Three blocks share a
 * multiprocessor, so that one's exponentials run beside another's products.
 *
 * Key tiles count from the start of the own sequence and a row does not depend on other rows:
 * the same bits in any batch. Keys behind the sequence count as -inf, and values there, which may
 * be anything, are zeroed in shared memory. There is no table: queries and keys come rotated.
 * Grid: tiles of gpu_tiles.h, heads. */
#include "gpu_math.h"
#include "gpu_tiles.h"
#include "sm90.h"

#include "attention_sm90.h"

enum { THREADS = 128, ROWS = 64, STAGES = 2, AT_ONCE = 2 /* parts of 16 keys */ };

template <int D, int KEYS> struct tiles {
    enum { WIDE = D < 64 ? D : 64, PARTS = D / WIDE }; /* columns of a copied box */
    f16 q[PARTS][ROWS * WIDE];
    f16 k[STAGES][PARTS][KEYS * WIDE], v[STAGES][PARTS][KEYS * WIDE];
    u64 full[STAGES];
    int sequence;
};

DEV u32 two_f16(float a, float b)
{
    typedef f16 f16x2 __attribute__((vector_size(4)));
    return bits<u32>(f16x2{(f16)a, (f16)b});
}

template <int D, int KEYS> DEV void attention(const struct bi_attention_params &p, const tensor_map *maps)
{
    typedef tiles<D, KEYS> T;
    enum { WIDE = T::WIDE, PARTS = T::PARTS, BYTES = WIDE * 2 };
    SHARED(T, s, sizeof(T));
    const bool leader = thread_id() == 0;
    if (leader) {
        for (int i = 0; i < STAGES; i++)
            barrier_init(&s.full[i], 1);
        barriers_ready();
        for (int i = 0; i < 3; i++)
            map_prefetch(&maps[i]);
    }
    const tile q = find_tile_at_once<ROWS, THREADS>(p.counts, p.start, block_x(), &s.sequence);
    if (q.first >= q.length)
        return;
    const int column = block_y() * D, steps = (q.length + KEYS - 1) / KEYS;
    const float to_log2 = p.scale * LOG2E;
    float o[PARTS][WIDE / 2];
    float max[2] = {-INF, -INF}, sum[2] = {0, 0};

    wait_for_inputs();
    if (leader) {
        barrier_expect(&s.full[0], (ROWS + 2 * KEYS) * D * 2);
        for (int c = 0; c < PARTS; c++) {
            copy_tile(s.q[c], &maps[0], column + c * WIDE, (int)q.start + q.first, &s.full[0]);
            copy_tile(s.k[0][c], &maps[1], column + c * WIDE, (int)q.start, &s.full[0]);
            copy_tile(s.v[0][c], &maps[2], column + c * WIDE, (int)q.start, &s.full[0]);
        }
    }
#pragma GCC unroll 2
    for (int c = 0; c < PARTS; c++)
#pragma GCC unroll 64
        for (int i = 0; i < WIDE / 2; i++)
            o[c][i] = 0;

    for (int j = 0; j < steps; j++) {
        const int at = j % STAGES, keys = q.length - j * KEYS;
        barrier(); /* the barriers are there; what the next copy overwrites is used up */
        if (leader && j + 1 < steps) {
            const int next = (j + 1) % STAGES, row = (int)q.start + (j + 1) * KEYS;
            barrier_expect(&s.full[next], 2 * KEYS * D * 2);
            for (int c = 0; c < PARTS; c++) {
                copy_tile(s.k[next][c], &maps[1], column + c * WIDE, row, &s.full[next]);
                copy_tile(s.v[next][c], &maps[2], column + c * WIDE, row, &s.full[next]);
            }
        }
        barrier_wait(&s.full[at], j / STAGES & 1);

        float x[KEYS / 2];
        products_begin();
#pragma GCC unroll 8
        for (int k = 0; k < D / 16; k++)
            product(x, descriptor<BYTES>(s.q[k * 16 / WIDE]) + k * 16 % WIDE / 8,
                    descriptor<BYTES>(s.k[at][k * 16 / WIDE]) + k * 16 % WIDE / 8, k > 0);
        products_commit();
        products_wait<0>();

        if (keys < KEYS) {
            const int n0 = thread_id() % 4 * 2;
#pragma GCC unroll 128
            for (int i = 0; i < KEYS / 2; i++)
                if (i / 4 * 8 + n0 + i % 2 >= keys)
                    x[i] = -INF;
            for (int i = thread_id() + keys * (WIDE / 8); i < KEYS * (WIDE / 8); i += THREADS)
                for (int c = 0; c < PARTS; c++)
                    *(u32x4 *)(s.v[at][c] + i * 8) = u32x4{0, 0, 0, 0};
            fence_async();
            barrier();
        }

        float shrink[2], low[2];
#pragma GCC unroll 2
        for (int r = 0; r < 2; r++) {
            float high = max[r];
#pragma GCC unroll 64
            for (int i = 0; i < KEYS / 4; i++)
                high = max_(high, x[i / 2 * 4 + 2 * r + i % 2]);
            high = row_max(high);
            low[r] = high == -INF ? 0 : high * to_log2;
            shrink[r] = max[r] == high ? 1 : exp2_((max[r] - high) * to_log2);
            max[r] = high;
            sum[r] *= shrink[r];
        }
#pragma GCC unroll 2
        for (int c = 0; c < PARTS; c++)
#pragma GCC unroll 64
            for (int i = 0; i < WIDE / 2; i++)
                o[c][i] *= shrink[i / 2 % 2];

        /* the products of some keys run while the next ones' exponentials are made */
        u32x4 weights[KEYS / 16];
#pragma GCC unroll 8
        for (int part = 0; part < KEYS / 16; part += AT_ONCE) {
#pragma GCC unroll 8
            for (int n = part; n < part + AT_ONCE; n++) {
#pragma GCC unroll 8
                for (int i = 8 * n; i < 8 * n + 8; i++) {
                    x[i] = exp2_(fma_(x[i], to_log2, -low[i / 2 % 2]));
                    sum[i / 2 % 2] += x[i];
                }
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++)
                    weights[n][i] = two_f16(x[8 * n + 2 * i], x[8 * n + 2 * i + 1]);
            }
            products_begin();
#pragma GCC unroll 8
            for (int n = part; n < part + AT_ONCE; n++)
#pragma GCC unroll 2
                for (int c = 0; c < PARTS; c++)
                    product_t(o[c], weights[n], descriptor<BYTES>(s.v[at][c]) + n * BYTES);
            products_commit();
        }
        products_wait<0>();
    }

    const int t = thread_id(), n0 = t % 4 * 2;
#pragma GCC unroll 2
    for (int r = 0; r < 2; r++) {
        const int row = q.first + t / 32 * 16 + t % 32 / 4 + 8 * r;
        const float rest = 1.0f / row_sum(sum[r]);
        u32 *y = (u32 *)((f16 *)p.y + (q.start + row) * p.ldy + column + n0);
        if (row >= q.length)
            continue;
#pragma GCC unroll 2
        for (int c = 0; c < PARTS; c++)
#pragma GCC unroll 16
            for (int j = 0; j < WIDE / 8; j++)
                y[c * WIDE / 2 + j * 4] = two_f16(o[c][4 * j + 2 * r] * rest,
                                                  o[c][4 * j + 2 * r + 1] * rest);
    }
}

KERNEL_EARLY(attention_sm90_d16_f16, struct bi_attention_sm90_params, 128, 3)
{
    attention<16, 128>(p.attention, MAPS(attention_sm90_d16_f16));
}

KERNEL_EARLY(attention_sm90_d32_f16, struct bi_attention_sm90_params, 128, 3)
{
    attention<32, 128>(p.attention, MAPS(attention_sm90_d32_f16));
}

KERNEL_EARLY(attention_sm90_d64_f16, struct bi_attention_sm90_params, 128, 3)
{
    attention<64, 128>(p.attention, MAPS(attention_sm90_d64_f16));
}

KERNEL_EARLY(attention_sm90_d128_f16, struct bi_attention_sm90_params, 128, 2)
{
    attention<128, 64>(p.attention, MAPS(attention_sm90_d128_f16));
}

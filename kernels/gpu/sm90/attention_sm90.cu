/* attention_sm90.cu - softmax(scale q k^T) v within each sequence on Hopper, f16.
 *
 * A block stays on its multiprocessor and goes through tiles of queries, each of one head. Its
 * first warpgroup only asks the copy engine for queries, keys and values, KEYS at a time, two steps
 * ahead and past the end of a tile; a warp of it fills one ring. The other warpgroups multiply, 64
 * queries each; GROUPS of them share the keys and values of a ring. Scores stay in registers, and
 * so do the exponentials, rounded to f16, as the first operand of the product with the values.
 * Warpgroups know nothing of each other, so that one's exponentials run beside another's products.
 *
 * Lengths differ, so blocks claim tiles one by one (bi_counts.n_claimed). The last sequence comes
 * first, as it was written last; within a sequence the tiles of a head follow each other.
 *
 * Key tiles count from the start of the own sequence and a row does not depend on other rows:
 * the same bits in any batch. Keys behind the sequence count as -inf, and values there, which may
 * be anything, are zeroed in shared memory. There is no table: queries and keys come rotated. */
#include "../lib/gpu_math.h"
#include "../lib/gpu_tiles.h"
#include "sm90.h"

#include "attention_sm90.h"

enum { ROWS = 64, KEYS = 128, STAGES = 2, AT_ONCE = 2 /* parts of 16 keys */ };

/* How a ring's producer and consumers tell each other, and which tile it is. */
struct signals {
    u64 q_full, q_empty, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    int start, length, first, head; /* length -1: there are no more */
};

template <int D, int GROUPS, int RINGS> struct rings {
    enum { WIDE = D < 64 ? D : 64, PARTS = D / WIDE }; /* columns of a copied box */
    struct {
        f16 q[GROUPS][PARTS][ROWS * WIDE];
        f16 k[STAGES][PARTS][KEYS * WIDE], v[STAGES][PARTS][KEYS * WIDE];
    } of[RINGS];
    struct signals signals[RINGS];
};

DEV u32 two_f16(float a, float b)
{
    typedef f16 f16x2 __attribute__((vector_size(4)));
    return bits<u32>(f16x2{(f16)a, (f16)b});
}

/* The thread that fills ring r. */
template <int D, int GROUPS, int RINGS>
DEV void fill(const struct bi_attention_params &p, const tensor_map *maps,
              rings<D, GROUPS, RINGS> &shared, int r)
{
    typedef rings<D, GROUPS, RINGS> T;
    enum { WIDE = T::WIDE, PARTS = T::PARTS, TILE = ROWS * GROUPS };
    struct signals &s = shared.signals[r];
    auto &ring = shared.of[r];
    int32_t *claimed = (int32_t *)&p.counts->n_claimed;
    const int across = p.counts->n_tokens / TILE + p.counts->n_seqs, tiles = across * p.n_heads;
    int step = 0;
    u32 phase = 1; /* phase of q_empty: the ring is empty */
    for (int i = r * blocks_x() + block_x(), next; i < tiles; i = next) {
        const int turn = tiles - 1 - i, at_all = turn / p.n_heads, now = claim(claimed);
        const tile any = find_tile<TILE>(p.counts, p.start, at_all);
        const int from = (int)any.start, length = any.length;
        /* tiles of the sequence, and which of all heads' this is */
        const int own = (from + length) / TILE - from / TILE + 1;
        const int within = turn - (at_all - any.first / TILE) * p.n_heads;
        const int head = within / own, first = within % own * TILE, column = head * D;
        if (first < length) {
            barrier_wait(&s.q_empty, phase);
            phase ^= 1;
            s.start = from;
            s.length = length;
            s.first = first;
            s.head = head;
            barrier_expect(&s.q_full, TILE * D * 2);
            for (int g = 0; g < GROUPS; g++)
                for (int c = 0; c < PARTS; c++)
                    copy_tile(ring.q[g][c], &maps[0], column + c * WIDE, from + first + g * ROWS,
                              &s.q_full);
            for (int key = 0; key < length; key += KEYS, step++) {
                const int at = step % STAGES;
                const u32 empty = (step / STAGES & 1) ^ 1;
                barrier_wait(&s.k_empty[at], empty);
                barrier_expect(&s.k_full[at], KEYS * D * 2);
                for (int c = 0; c < PARTS; c++)
                    copy_tile(ring.k[at][c], &maps[1], column + c * WIDE, from + key,
                              &s.k_full[at]);
                barrier_wait(&s.v_empty[at], empty);
                barrier_expect(&s.v_full[at], KEYS * D * 2);
                for (int c = 0; c < PARTS; c++)
                    copy_tile(ring.v[at][c], &maps[2], column + c * WIDE, from + key,
                              &s.v_full[at]);
            }
        }
        /* every tile claims once: this was the last claim of all, and the next launch counts
         * anew */
        if (now == tiles - 1)
            publish(claimed, 0);
        next = RINGS * blocks_x() + now;
    }
    barrier_wait(&s.q_empty, phase);
    s.length = -1;
    barrier_arrive(&s.q_full);
}

/* Takes part in the rounds of a ring without rows of its own: all keys of a tile go by. */
DEV void pass_keys(struct signals &s, int length, int &step, bool tells)
{
    for (int keys = length; keys > 0; keys -= KEYS, step++) {
        const int at = step % STAGES;
        const u32 full = step / STAGES & 1;
        barrier_wait(&s.k_full[at], full);
        if (tells)
            barrier_arrive(&s.k_empty[at]);
        barrier_wait(&s.v_full[at], full);
        if (tells)
            barrier_arrive(&s.v_empty[at]);
    }
}

/* The largest score of a row so far, and what of sums and results still counts beside it. low: what
 * is taken from scores of base 2. */
template <int PARTS, int WIDE>
DEV void add_largest(const float (&x)[KEYS / 2], float (&max)[2], float (&sum)[2], float (&low)[2],
                     float (&o)[PARTS][WIDE / 2], float to_log2)
{
    float shrink[2];
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
}

template <int PARTS, int WIDE>
DEV void write_rows(const struct bi_attention_params &p, const float (&o)[PARTS][WIDE / 2],
                    const float (&sum)[2], int start, int first, int length, int column, int thread)
{
    const int n0 = thread % 4 * 2;
#pragma GCC unroll 2
    for (int r = 0; r < 2; r++) {
        const int row = first + thread / 32 * 16 + thread % 32 / 4 + 8 * r;
        const float rest = 1.0f / row_sum(sum[r]);
        u32 *y = (u32 *)((f16 *)p.y + (int64_t)(start + row) * p.ldy + column + n0);
        if (row < length)
#pragma GCC unroll 2
            for (int c = 0; c < PARTS; c++)
#pragma GCC unroll 16
                for (int j = 0; j < WIDE / 8; j++)
                    y[c * WIDE / 2 + j * 4] = two_f16(o[c][4 * j + 2 * r] * rest,
                                                      o[c][4 * j + 2 * r + 1] * rest);
    }
}

/* Warpgroup `me` of those that multiply. */
template <int D, int GROUPS, int RINGS>
DEV void multiply(const struct bi_attention_params &p, rings<D, GROUPS, RINGS> &shared, int me)
{
    typedef rings<D, GROUPS, RINGS> T;
    enum { WIDE = T::WIDE, PARTS = T::PARTS, BYTES = WIDE * 2 };
    const int member = me % GROUPS, thread = thread_id() % 128;
    struct signals &s = shared.signals[me / GROUPS];
    auto &ring = shared.of[me / GROUPS];
    const bool tells = lane_id() == 0; /* for its warp */
    const float to_log2 = p.scale * LOG2E;
    int step = 0;
    for (u32 phase = 0;; phase ^= 1) {
        barrier_wait(&s.q_full, phase);
        /* by shuffles, for the compiler to see that a warp stays together */
        const int start = shuffle(s.start, 0), length = shuffle(s.length, 0);
        const int first = shuffle(s.first, 0) + member * ROWS, column = shuffle(s.head, 0) * D;
        if (length < 0)
            return;
        if (GROUPS > 1 && first >= length) { /* company of one that has rows */
            pass_keys(s, length, step, tells);
            if (tells)
                barrier_arrive(&s.q_empty);
            continue;
        }
        float o[PARTS][WIDE / 2];
        float max[2] = {-INF, -INF}, sum[2] = {0, 0};
#pragma GCC unroll 2
        for (int c = 0; c < PARTS; c++)
#pragma GCC unroll 64
            for (int i = 0; i < WIDE / 2; i++)
                o[c][i] = 0;

        for (int keys = length; keys > 0; keys -= KEYS, step++) {
            const int at = step % STAGES;
            const u32 full = step / STAGES & 1;
            float x[KEYS / 2];
            barrier_wait(&s.k_full[at], full);
            products_begin();
#pragma GCC unroll 8
            for (int k = 0; k < D / 16; k++)
                product(x, descriptor<BYTES>(ring.q[member][k * 16 / WIDE]) + k * 16 % WIDE / 8,
                        descriptor<BYTES>(ring.k[at][k * 16 / WIDE]) + k * 16 % WIDE / 8, k > 0);
            products_commit();
            barrier_wait(&s.v_full[at], full); /* here, where it parts nothing that could overlap */
            products_wait<0>();
            if (tells) {
                barrier_arrive(&s.k_empty[at]);
                if (keys <= KEYS)
                    barrier_arrive(&s.q_empty);
            }
            if (keys < KEYS) {
                const int n0 = thread % 4 * 2;
#pragma GCC unroll 128
                for (int i = 0; i < KEYS / 2; i++)
                    if (i / 4 * 8 + n0 + i % 2 >= keys)
                        x[i] = -INF;
                /* warpgroups that share the values all write the same */
                for (int i = thread + keys * (WIDE / 8); i < KEYS * (WIDE / 8); i += 128)
                    for (int c = 0; c < PARTS; c++)
                        *(u32x4 *)(ring.v[at][c] + i * 8) = u32x4{0, 0, 0, 0};
                fence_async();
                group_barrier<128>(me + 1);
            }

            float low[2];
            add_largest<PARTS, WIDE>(x, max, sum, low, o, to_log2);

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
                        product_t(o[c], weights[n], descriptor<BYTES>(ring.v[at][c]) + n * BYTES);
                products_commit();
            }
            products_wait<0>();
            if (tells)
                barrier_arrive(&s.v_empty[at]);
        }

        write_rows<PARTS, WIDE>(p, o, sum, start, first, length, column, thread);
    }
}

/* UP, DOWN: registers of a thread that multiplies, and of one that copies. */
template <int D, int GROUPS, int RINGS, int UP, int DOWN>
DEV void attention(const struct bi_attention_params &p, const tensor_map *maps)
{
    typedef rings<D, GROUPS, RINGS> T;
    SHARED(T, shared, sizeof(T));
    const int warpgroup = shuffle(thread_id() / 128, 0);
    if (thread_id() == 0) {
        for (int r = 0; r < RINGS; r++) {
            struct signals &s = shared.signals[r];
            barrier_init(&s.q_full, 1);
            barrier_init(&s.q_empty, 4 * GROUPS);
            for (int i = 0; i < STAGES; i++) {
                barrier_init(&s.k_full[i], 1);
                barrier_init(&s.v_full[i], 1);
                barrier_init(&s.k_empty[i], 4 * GROUPS);
                barrier_init(&s.v_empty[i], 4 * GROUPS);
            }
        }
        barriers_ready();
        for (int i = 0; i < 3; i++)
            map_prefetch(&maps[i]);
    }
    barrier();
    if (warpgroup == 0) {
        registers_down<DOWN>();
        if (wave_id() < RINGS && lane_id() == 0) {
            wait_for_inputs();
            fill<D, GROUPS, RINGS>(p, maps, shared, wave_id());
        }
    } else {
        registers_up<UP>();
        wait_for_inputs();
        multiply<D, GROUPS, RINGS>(p, shared, warpgroup - 1);
    }
}

#define ATTENTION(name, D, GROUPS, RINGS, UP, DOWN)                                                \
    KERNEL_EARLY(name, struct bi_attention_sm90_params, 128 * (GROUPS * RINGS + 1), 1)             \
    {                                                                                              \
        attention<D, GROUPS, RINGS, UP, DOWN>(p.attention, MAPS(name));                            \
    }
ATTENTION(attention_sm90_d16_f16, 16, 1, 3, 160, 32)
ATTENTION(attention_sm90_d32_f16, 32, 1, 3, 160, 32)
ATTENTION(attention_sm90_d64_f16, 64, 1, 3, 160, 32)
ATTENTION(attention_sm90_d128_f16, 128, 2, 1, 240, 24)

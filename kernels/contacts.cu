/* contacts.cu - attention maps to contact logits, one layer; f32 arithmetic. See contacts.h.
 *
 * A block takes one sequence and, head after head, makes the row sums of M = A + A^T in shared
 * memory, their total, and then adds the head's share to y, 32 x 32 at a time (gpu_heads.h).
 * attention_contacts computes the maps itself, each time they are used, from one stored number
 * per row, the logarithm of its sum of exponentials. Sums go by tiles counted from the start
 * of the sequence: the same bits in any batch.
 * Longest sequence: 5,000 tokens; a longer one gets NaN. One block per sequence is slow for few
 * sequences, and enough for contacts, which few ask for. */
#include "gpu_heads.h"

#include "contacts.h"
#include "gpu_math.h"

struct contacts_shared {
    pair_tiles tiles;
    float sums[BI_GPU_CONTACTS_LONGEST], log_sum[BI_GPU_CONTACTS_LONGEST], part[8];
};

/* A[i][j] + A[j][i] for row i = pair_row() and columns j = pair_column(c) of the tile at
 * (i0, j0), tokens of the sequence. */
struct both_ways {
    float of[PAIR_OF];
};

/* ---- where maps come from ---- */

struct stored_maps {
    const float *p; /* of the sequence */
    int64_t ldp, ldh;
    int length;

    METHOD void start_head(contacts_shared &, int) const
    {
    }
    METHOD both_ways tile(contacts_shared &, int h, int i0, int j0) const
    {
        const float *a = p + h * ldh;
        const int64_t i = i0 + pair_row();
        both_ways m = {};
#pragma GCC unroll 4
        for (int c = 0; c < PAIR_OF; c++) {
            const int64_t j = j0 + pair_column(c);
            if (i < length && j < length)
                m.of[c] = a[i * ldp + j] + a[j * ldp + i];
        }
        return m;
    }
};

template <typename T> struct computed_maps {
    const T *q, *k; /* of the sequence */
    int64_t ldq, ldk;
    const float *table;
    int length, d;
    float scale;

    METHOD head_rows rows(const T *x, int64_t ld, int h, int first) const
    {
        return head_rows{x + first * ld + (int64_t)h * d, ld,
                         table ? table + (int64_t)first * d : table, length - first, d};
    }
    METHOD void start_head(contacts_shared &s, int h) const
    {
        for (int i0 = 0; i0 < length; i0 += PAIR_ROWS) {
            float max = -INF, sum = 0;
            for (int j0 = 0; j0 < length; j0 += PAIR_ROWS) {
                const pair_scores x =
                    multiply_pairs<T>(s.tiles, rows(q, ldq, h, i0), rows(k, ldk, h, j0));
                float high = max;
#pragma GCC unroll 4
                for (int c = 0; c < PAIR_OF; c++)
                    if (j0 + pair_column(c) < length)
                        high = max_(high, x.of[c] * scale);
                high = lanes_max<8>(high);
                sum *= max == high ? 1 : exp_(max - high);
                max = high;
#pragma GCC unroll 4
                for (int c = 0; c < PAIR_OF; c++)
                    if (j0 + pair_column(c) < length)
                        sum += exp_(x.of[c] * scale - max);
            }
            sum = lanes_sum<8>(sum);
            if (i0 + pair_row() < length)
                s.log_sum[i0 + pair_row()] = max + log_(sum);
        }
        barrier();
    }
    METHOD both_ways tile(contacts_shared &s, int h, int i0, int j0) const
    {
        const pair_scores there =
            multiply_pairs<T>(s.tiles, rows(q, ldq, h, i0), rows(k, ldk, h, j0));
        const pair_scores back =
            multiply_pairs<T>(s.tiles, rows(k, ldk, h, i0), rows(q, ldq, h, j0));
        const int i = i0 + pair_row();
        both_ways m = {};
#pragma GCC unroll 4
        for (int c = 0; c < PAIR_OF; c++) {
            const int j = j0 + pair_column(c);
            if (i < length && j < length)
                m.of[c] = exp_(there.of[c] * scale - s.log_sum[i]) +
                          exp_(back.of[c] * scale - s.log_sum[j]);
        }
        return m;
    }
};

/* ---- the share of each head ---- */

struct contacts_rest {
    const float *w, *before; /* before and y: of the sequence */
    float *y;
    int64_t ldb, ldy;
    int n_heads, n_prefix, length, end; /* residues are tokens n_prefix ... end - 1 */
};

DEV float total_of(contacts_shared &s, const contacts_rest &p)
{
    float sum = 0, total = 0;
    for (int i = p.n_prefix + thread_id(); i < p.end; i += PAIR_THREADS)
        sum += s.sums[i];
    sum = lanes_sum(sum);
    if (thread_id() % 32 == 0)
        s.part[thread_id() / 32] = sum;
    barrier();
#pragma GCC unroll 8
    for (int i = 0; i < PAIR_THREADS / 32; i++)
        total += s.part[i];
    return total;
}

template <typename M> DEV void add_heads(contacts_shared &s, M maps, const contacts_rest &p)
{
    const bool fits = p.length <= BI_GPU_CONTACTS_LONGEST;
    for (int t = 0; t < p.length; t++)
        for (int64_t j = thread_id(); j < p.ldy; j += PAIR_THREADS) {
            const bool inside = t >= p.n_prefix && t < p.end && j < p.end - p.n_prefix;
            p.y[t * p.ldy + j] = !inside      ? 0
                                 : !fits      ? __builtin_nanf("")
                                 : p.before   ? p.before[t * p.ldb + j]
                                              : 0;
        }
    for (int h = 0; h < p.n_heads && fits; h++) {
        barrier(); /* the last head's sums are used up, and y is there for all */
        maps.start_head(s, h);
        for (int i0 = 0; i0 < p.end; i0 += PAIR_ROWS) {
            float sum = 0;
            for (int j0 = 0; j0 < p.end; j0 += PAIR_ROWS) {
                const both_ways m = maps.tile(s, h, i0, j0);
#pragma GCC unroll 4
                for (int c = 0; c < PAIR_OF; c++) {
                    const int j = j0 + pair_column(c);
                    sum += j >= p.n_prefix && j < p.end ? m.of[c] : 0;
                }
            }
            sum = lanes_sum<8>(sum);
            if (i0 + pair_row() < p.end)
                s.sums[i0 + pair_row()] = sum;
        }
        barrier();
        const float total = total_of(s, p), w = p.w[h];
        for (int i0 = 0; i0 < p.end; i0 += PAIR_ROWS)
            for (int j0 = 0; j0 < p.end; j0 += PAIR_ROWS) {
                const both_ways m = maps.tile(s, h, i0, j0);
                const int i = i0 + pair_row();
#pragma GCC unroll 4
                for (int c = 0; c < PAIR_OF; c++) {
                    const int j = j0 + pair_column(c);
                    if (i >= p.n_prefix && i < p.end && j >= p.n_prefix && j < p.end) {
                        float *y = p.y + i * p.ldy + j - p.n_prefix;
                        *y = fma_(w, m.of[c] - s.sums[i] * s.sums[j] / total, *y);
                    }
                }
            }
    }
}

template <typename P> DEV contacts_rest rest_of(const P &p, int64_t start, int length)
{
    return contacts_rest{p.w, p.before ? p.before + start * p.ldb : p.before,
                         p.y + start * p.ldy, p.ldb, p.ldy, p.n_heads, p.n_prefix, length,
                         length - p.n_suffix};
}

KERNEL(contacts_f32, struct bi_contacts_params, PAIR_THREADS, 1)
{
    SHARED(contacts_shared, s, sizeof(contacts_shared));
    if (block_x() >= p.counts->n_seqs)
        return;
    const int64_t start = p.start[block_x()];
    const int length = (int)(p.start[block_x() + 1] - start);
    add_heads(s, stored_maps{p.p + start * p.ldp, p.ldp, p.ldh, length},
              rest_of(p, start, length));
}

template <typename T> DEV void attention_contacts(const struct bi_attention_contacts_params &p)
{
    SHARED(contacts_shared, s, sizeof(contacts_shared));
    if (block_x() >= p.counts->n_seqs)
        return;
    const int64_t start = p.start[block_x()];
    const int length = (int)(p.start[block_x() + 1] - start);
    add_heads(s, computed_maps<T>{(const T *)p.q + start * p.ldq, (const T *)p.k + start * p.ldk,
                                  p.ldq, p.ldk, p.table, length, p.head_dim, p.scale},
              rest_of(p, start, length));
}

KERNEL(attention_contacts_f32, struct bi_attention_contacts_params, PAIR_THREADS, 1)
{
    attention_contacts<float>(p);
}

KERNEL(attention_contacts_f16, struct bi_attention_contacts_params, PAIR_THREADS, 1)
{
    attention_contacts<f16>(p);
}

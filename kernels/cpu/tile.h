/* tile.h - a few rows times one panel of a packed weight: the inner loop of linear.c and of the
 * kernels that have a matrix product in them.
 *
 * A panel is NR columns of a weight, [k][NR]; a tile is at most MR rows, [k / 4][rows][4], so
 * that both are walked without a stride. Every sum is one chain over k in order. */
#ifndef BI_CPU_TILE_H
#define BI_CPU_TILE_H

#include <stdbool.h>

#include "simd.h"
#include "unchecked.h"

/* MR x NV accumulators, NV vectors of a panel and one broadcast fill the registers. */
#if BI_ISA_ID == BI_ISA_ID_avx512
enum { MR = 14, NV = 2 };
#elif BI_ISA_ID == BI_ISA_ID_avx2
enum { MR = 6, NV = 2 };
#elif BI_ISA_ID == BI_ISA_ID_neon
enum { MR = 8, NV = 3 };
#else
enum { MR = 4, NV = 2 };
#endif

enum { NR = NV * VW };

/* All that micro() reads and writes. */
struct micro {
    const float *a, *b; /* packed tile and panel, at the block of k */
    int64_t k;
    float *c; /* [rows, NR] with stride ldc */
    int64_t ldc;
    bool more;             /* go on from the sums in c, else from 0 */
    const float *bias;     /* [NR] or NULL, added to the sums */
    const float *residual; /* [rows, NR] or NULL, added after it */
    int64_t ldr;
    const float *next; /* k * 4 floats, fetched into the level-2 cache meanwhile */
};

/* All loops with constant bounds must vanish: only then acc lives in registers. */
#if BI_ISA_ID == BI_ISA_ID_generic
#define UNROLL_K _Pragma("GCC unroll 1") /* else gcc orders the products first and spills */
#else
#define UNROLL_K UNROLL
#endif

/* Tells the sanitizer all that micro() of `rows` rows reads and writes; nothing without one. */
BI_INLINE void check_operands(const struct micro *m, int rows)
{
    check_floats(m->a, m->k * rows);
    check_floats(m->b, m->k * NR);
    for (int r = 0; r < rows; r++) {
        check_floats(m->c + r * m->ldc, NR);
        if (m->residual)
            check_floats(m->residual + r * m->ldr, NR);
    }
    if (m->bias)
        check_floats(m->bias, NR);
}

/* Makes the products of `rows` rows, at most MR, with a panel of NR columns, as struct micro
 * says: c = (c or 0) + a b + bias + residual, in this order. The residual may be c; k may be 0. */
BI_INLINE UNCHECKED void micro(const struct micro *m, const int rows)
{
    const float *a = m->a, *b = m->b;
    const float *next = m->next;
    vf acc[MR][NV];
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < NV; v++)
        acc[r][v] = vf_zero();
    if (m->more)
        UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < NV; v++)
        acc[r][v] = vf_load(m->c + r * m->ldc + v * VW);

    for (int64_t quads = m->k / 4; quads > 0; quads--) {
        UNROLL_K
        for (int i = 0; i < 4; i++) {
            vf w[NV];
            UNROLL
            for (int v = 0; v < NV; v++)
                w[v] = vf_load(b + i * NR + v * VW);
            UNROLL
            for (int r = 0; r < rows; r++) {
                vf x = vf_set1(a[r * 4 + i]);
                UNROLL
                for (int v = 0; v < NV; v++)
                    acc[r][v] = vf_fma(x, w[v], acc[r][v]);
            }
        }
        __builtin_prefetch(next, 0, 2);
        next += 16;
        a += 4 * rows;
        b += 4 * NR;
    }
    for (int64_t rest = m->k % 4; rest > 0; rest--) {
        vf w[NV];
        UNROLL
        for (int v = 0; v < NV; v++)
            w[v] = vf_load(b + v * VW);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vf x = vf_set1(a[r * 4]);
            UNROLL
            for (int v = 0; v < NV; v++)
                acc[r][v] = vf_fma(x, w[v], acc[r][v]);
        }
        a++;
        b += NR;
    }

    if (m->bias)
        UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < NV; v++)
        acc[r][v] = vf_add(acc[r][v], vf_load(m->bias + v * VW));
    if (m->residual)
        UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < NV; v++)
        acc[r][v] = vf_add(acc[r][v], vf_load(m->residual + r * m->ldr + v * VW));
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int v = 0; v < NV; v++)
        vf_store(m->c + r * m->ldc + v * VW, acc[r][v]);
}

#define MICRO(rows)                                                                                \
    static __attribute__((noinline)) UNCHECKED void micro_##rows(const struct micro *m)            \
    {                                                                                              \
        check_operands(m, rows);                                                                   \
        micro(m, rows);                                                                            \
    }
MICRO(2)
MICRO(4)
#if BI_ISA_ID != BI_ISA_ID_generic
MICRO(6)
#endif
#if BI_ISA_ID == BI_ISA_ID_avx512 || BI_ISA_ID == BI_ISA_ID_neon
MICRO(8)
#endif
#if BI_ISA_ID == BI_ISA_ID_avx512
MICRO(10)
MICRO(12)
MICRO(14)
#endif

/* By rows / 2 - 1, rows as tile_height() gives them: the last tile of a block may have fewer rows.
 * Each writes all of its rows and NR columns to c. */
static void (*const micro_kernels[MR / 2])(const struct micro *) = {
    micro_2,  micro_4,
#if BI_ISA_ID != BI_ISA_ID_generic
    micro_6,
#endif
#if BI_ISA_ID == BI_ISA_ID_avx512 || BI_ISA_ID == BI_ISA_ID_neon
    micro_8,
#endif
#if BI_ISA_ID == BI_ISA_ID_avx512
    micro_10, micro_12, micro_14,
#endif
};

/* Rows the micro kernel works on for `rows` rows of x: as many, one more where that is odd. */
BI_INLINE int64_t tile_height(int64_t rows)
{
    return (rows + 1) & ~(int64_t)1;
}

/* Columns [0, k) of `rows` rows into one tile of tile_height(rows) rows; the row that is missing
 * for an odd number is zero. Where 4 does not divide k, the last places of each row are left as
 * they were: the tile has room for (k + 3) / 4 * 4 numbers of each row. */
BI_INLINE void pack_tile(float *to, const float *x, int64_t ldx, int64_t rows, int64_t k)
{
    int64_t height = tile_height(rows), quads = k / 4, rest = k % 4;
    for (int64_t r = 0; r < height; r++) {
        float *t = to + 4 * r;
        if (r < rows) {
            const float *from = x + r * ldx;
            for (int64_t i = 0; i < quads; i++)
                memcpy(t + i * 4 * height, from + 4 * i, 4 * sizeof *t);
            for (int64_t i = 0; i < rest; i++)
                t[quads * 4 * height + i] = from[4 * quads + i];
        } else {
            for (int64_t i = 0; i < quads; i++)
                memset(t + i * 4 * height, 0, 4 * sizeof *t);
            for (int64_t i = 0; i < rest; i++)
                t[quads * 4 * height + i] = 0;
        }
    }
}

#endif

/* tile_amx.h - the eight tile registers of AMX, as the instructions, or in plain C where they are
 * not compiled in.
 *
 * A tile here is always full: 16 rows of 64 bytes. tile_dot(c, a, b) is TDPBF16PS: c [16, 16]
 * float32, a [16, 32] bfloat16, b [16][16][2] bfloat16, of which b[i][n] holds rows 2 i and 2 i +
 * 1 of column n. As Intel's manual (volume 2, TDPBF16PS) has it:
 *
 *     for each row m and column n
 *         even = odd = 0
 *         for i = 0 to 15
 *             even = fma(a[m][2 i], b[i][n][0], even)
 *             odd = fma(a[m][2 i + 1], b[i][n][1], odd)
 *         c[m][n] = c[m][n] + (even + odd)
 *
 * with operands that are denormal taken as 0, results that are denormal made 0, and each step
 * rounded to nearest even, whatever MXCSR says. */
#ifndef BI_CPU_TILE_AMX_H
#define BI_CPU_TILE_AMX_H

#include "simd.h"
#include "unchecked.h"

#include <immintrin.h>

enum { TILE_ROWS = 16, TILE_COLUMNS = 16, TILE_K = 32, TILE_SIZE = 1024 };

#ifdef __AMX_BF16__

struct tiles {
    int unused; /* the registers are the thread's */
};

/* One LDTILECFG for a task; the release tells the system that there is nothing to save. Only where
 * the kernels of AMX are usable (cpu.h), else the instruction is refused. */
BI_INLINE void tiles_begin(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = TILE_ROWS;
    }
    _tile_loadconfig(&config);
}

/* Releases the tiles: what is in them is lost. Afterwards no tile is used before tiles_begin(). */
BI_INLINE void tiles_end(void)
{
    _tile_release();
}

/* The intrinsics of loads do not say that they read memory: what was written before must be there.
 * */
#define tiles_see_memory() __asm__ volatile("" ::: "memory")
#define tile_zero(tiles, t)                                                                        \
    do {                                                                                           \
        (void)(tiles);                                                                             \
        _tile_zero(t);                                                                             \
    } while (0)
#define tile_load(tiles, t, from, stride)                                                          \
    do {                                                                                           \
        (void)(tiles);                                                                             \
        _tile_loadd(t, from, stride);                                                              \
    } while (0)
#define tile_store(tiles, t, to, stride)                                                           \
    do {                                                                                           \
        (void)(tiles);                                                                             \
        _tile_stored(t, to, stride);                                                               \
    } while (0)
#define tile_dot(tiles, c, a, b)                                                                   \
    do {                                                                                           \
        (void)(tiles);                                                                             \
        _tile_dpbf16ps(c, a, b);                                                                   \
    } while (0)

#else

struct tiles {
    float of[8][TILE_SIZE / sizeof(float)];
};

/* Emulated: nothing is to be configured, released or seen. Tiles hold anything until they are set
 * to zero or loaded. */
BI_INLINE void tiles_begin(void)
{
}
BI_INLINE void tiles_end(void)
{
}
BI_INLINE void tiles_see_memory(void)
{
}

/* Sets tile t to zeros. Here and below a tile is 0 to 7, a constant where they are instructions. */
BI_INLINE void tile_zero(struct tiles *tiles, int t)
{
    memset(tiles->of[t], 0, TILE_SIZE);
}

/* Loads tile t, rows of 64 bytes that are `stride` bytes apart. */
BI_INLINE void tile_load(struct tiles *tiles, int t, const void *from, int64_t stride)
{
    for (int r = 0; r < TILE_ROWS; r++)
        memcpy(tiles->of[t] + 16 * r, (const char *)from + r * stride, 64);
}

/* Stores it the same way. */
BI_INLINE void tile_store(struct tiles *tiles, int t, void *to, int64_t stride)
{
    for (int r = 0; r < TILE_ROWS; r++)
        memcpy((char *)to + r * stride, tiles->of[t] + 16 * r, 64);
}

/* Adds to c [16, 16] the products of pairs of bfloat16 of a and b, as a tile has them. The caller
 * has set MXCSR. */
static __attribute__((noinline)) UNCHECKED void dot_rows(float *c, const float *a, const float *b)
{
    const vi high = vi_set1((int32_t)0xffff0000);
    for (int m = 0; m < TILE_ROWS; m++)
        for (int n = 0; n < TILE_COLUMNS; n += VW) {
            vf even = vf_zero(), odd = vf_zero();
            for (int i = 0; i < TILE_K / 2; i++) {
                const vi x = vf_bits(vf_set1(a[m * 16 + i])), w = vf_bits(vf_load(b + i * 16 + n));
                even = vf_fma(vi_float_bits(vi_shl(x, 16)), vi_float_bits(vi_shl(w, 16)), even);
                odd = vf_fma(vi_float_bits(vi_and(x, high)), vi_float_bits(vi_and(w, high)), odd);
            }
            vf_store(c + m * 16 + n, vf_add(vf_load(c + m * 16 + n), vf_add(even, odd)));
        }
}

/* Adds to tile c the products of tiles a and b, with the roundings of the chip: denormals are 0.
 * MXCSR is afterwards as before. */
BI_INLINE void tile_dot(struct tiles *tiles, int c, int a, int b)
{
    enum { EXCEPTIONS_MASKED = 0x1f80, DENORMALS_ARE_ZERO = 0x40, FLUSH_TO_ZERO = 0x8000 };
    const unsigned before = _mm_getcsr();
    _mm_setcsr(EXCEPTIONS_MASKED | DENORMALS_ARE_ZERO | FLUSH_TO_ZERO);
    dot_rows(tiles->of[c], tiles->of[a], tiles->of[b]);
    _mm_setcsr(before);
}

#endif

#endif

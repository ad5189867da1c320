/* products.h - what matrix units do, for the host emulation; the second half of gpu.h's fragments.
 * Sums are made in double, in the order of k, and rounded once: the order inside the units is not
 * specified. */
#ifndef BI_EMU_PRODUCTS_H
#define BI_EMU_PRODUCTS_H

/* A number as the matrix unit takes it: 0 for one below 2^-14 where it flushes. From float16 to
 * double at once is a function of the compiler's library, which takes longer than a product. */
DEV float as_taken(f16 x, bool flushes)
{
    const float v = (float)x;
    return flushes && v > -0x1p-14f && v < 0x1p-14f ? 0 : v;
}

/* d[m][n] += the sum over k of x[m][k] w[k][n]. Each addition waits for the one before it, so the
 * four vectors of a row are summed side by side. */
template <int K> DEV void add_products(float d[16][16], const float x[16][K], const float w[K][16])
{
    typedef float f32x4 __attribute__((vector_size(16)));
    typedef double f64x4 __attribute__((vector_size(32)));
    f64x4 wide[K][4];
    for (int k = 0; k < K; k++)
        for (int q = 0; q < 4; q++) {
            f32x4 part;
            __builtin_memcpy(&part, &w[k][q * 4], sizeof part);
            wide[k][q] = __builtin_convertvector(part, f64x4);
        }
    for (int m = 0; m < 16; m++) {
        f32x4 row[4];
        __builtin_memcpy(row, d[m], sizeof row);
        f64x4 a = __builtin_convertvector(row[0], f64x4);
        f64x4 b = __builtin_convertvector(row[1], f64x4);
        f64x4 c = __builtin_convertvector(row[2], f64x4);
        f64x4 e = __builtin_convertvector(row[3], f64x4);
        for (int k = 0; k < K; k++) {
            const double scale = (double)x[m][k];
            a += scale * wide[k][0];
            b += scale * wide[k][1];
            c += scale * wide[k][2];
            e += scale * wide[k][3];
        }
        row[0] = __builtin_convertvector(a, f32x4);
        row[1] = __builtin_convertvector(b, f32x4);
        row[2] = __builtin_convertvector(c, f32x4);
        row[3] = __builtin_convertvector(e, f32x4);
        __builtin_memcpy(d[m], row, sizeof row);
    }
}

struct frags {
    frag x, w;
};

/* The lane that meets last puts the product where the frags of all lanes are. */
static void multiply_frags(void *all)
{
    const auto *of = (const frags *)all;
    const bool flushes = bi_emu_flushes();
    float x[16][16], w[16][16], d[16][16] = {};
    for (int l = 0; l < WAVE; l++)
        for (int i = 0; i < FRAG; i++) {
            x[x_row(l, i)][x_k(l, i)] = as_taken(of[l].x[i], flushes);
            w[w_k(l, i)][w_row(l, i)] = as_taken(of[l].w[i], flushes);
        }
    static_assert(sizeof d <= WAVE * sizeof *of, "a product has no more bytes than what it is of");
    add_products<16>(d, x, w);
    __builtin_memcpy(all, d, sizeof d);
}

/* d += x w^T, as gpu.h says; all lanes of the wave take part. */
DEV void multiply(acc &d, const frag &x, const frag &w)
{
    const frags mine = {x, w};
    const auto *sums = (const float *)bi_emu_meet(&mine, sizeof mine, 0, multiply_frags);
    for (int i = 0; i < ACC; i++)
        d.of[i] += sums[acc_m(i) * 16 + acc_n(i)];
}

/* ---- fragments of float32 ---- */

#if defined MAP_RDNA
/* d += x w^T, as gpu.h says of float32, by fused multiply-adds; all lanes of the wave take part,
 * and shuffle all at once. */
DEV void multiply(acc &d, const near_frag &x, const near_frag &w)
{
    const auto *all = (const near_frag *)bi_emu_meet(&w, sizeof w, 0, nullptr);
    for (int i = 0; i < ACC; i++)
        for (int k = 0; k < NEAR; k++)
            d.of[i] = fma_(x.of[k], all[acc_n(i)].of[k], d.of[i]);
}
#else
struct near_frags {
    near_frag x, w;
    acc d;
};

/* The lane that meets last puts the product where the frags of all lanes are. Sums are rounded
 * where the unit ends one; CDNA's begin with D. */
static void multiply_near_frags(void *all)
{
    const auto *of = (const near_frags *)all;
    float d[16][16] = {};
#if defined MAP_NVIDIA
    struct terms {
        float x[16][8], w[8][16];
    } large[2], small[2];
    for (int l = 0; l < WAVE; l++)
        for (int i = 0; i < NEAR; i++) {
            const int row = near_row(l, i), s = i % 4 / 2, k = l % 4 * 2 + i % 2;
            large[s].x[row][k] = of[l].x.large[i];
            small[s].x[row][k] = of[l].x.small[i];
            large[s].w[k][row] = of[l].w.large[i];
            small[s].w[k][row] = of[l].w.small[i];
        }
    for (int s = 0; s < 2; s++) {
        add_products<8>(d, small[s].x, large[s].w);
        add_products<8>(d, large[s].x, small[s].w);
    }
    for (int s = 0; s < 2; s++)
        add_products<8>(d, large[s].x, large[s].w);
#else
    struct {
        float x[16][4], w[4][16];
    } step[NEAR];
    for (int l = 0; l < WAVE; l++)
        for (int i = 0; i < NEAR; i++) {
            step[i].x[l % 16][l / 16] = of[l].x.of[i];
            step[i].w[l / 16][l % 16] = of[l].w.of[i];
            d[x_row(l, i)][x_k(l, i)] = of[l].d.of[i];
        }
    static_assert((int)NEAR == (int)ACC, "a lane has as many elements of D");
    for (int i = 0; i < NEAR; i++)
        add_products<4>(d, step[i].x, step[i].w);
#endif
    static_assert(sizeof d <= WAVE * sizeof *of, "a product has no more bytes than what it is of");
    __builtin_memcpy(all, d, sizeof d);
}

/* d += x w^T, as gpu.h says of float32; all lanes of the wave take part. */
DEV void multiply(acc &d, const near_frag &x, const near_frag &w)
{
    const near_frags mine = {x, w, d};
    const auto *sums = (const float *)bi_emu_meet(&mine, sizeof mine, 0, multiply_near_frags);
    for (int i = 0; i < ACC; i++) {
        const float sum = sums[acc_m(i) * 16 + acc_n(i)];
#if defined MAP_NVIDIA
        d.of[i] += sum;
#else
        d.of[i] = sum;
#endif
    }
}
#endif

#endif

/* products.h - what matrix units do, for the host emulation; the second half of gpu.h's fragments.
 * Sums are made in double, in the order of k, and rounded once: the order inside the units is not
 * specified. */
#ifndef BI_EMU_PRODUCTS_H
#define BI_EMU_PRODUCTS_H

/* A number as the matrix unit takes it: 0 for one below 2^-14 where it flushes. */
DEV double as_taken(f16 x, bool flushes)
{
    const float v = (float)x;
    return flushes && v > -0x1p-14f && v < 0x1p-14f ? 0 : v;
}

/* d[m][n] += the sum over k of x[m][k] w[k][n]. */
template <int K>
DEV void add_products(float d[16][16], const double x[16][K], const double w[K][16])
{
    typedef double f64x4 __attribute__((vector_size(32)));
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n += 8) {
            f64x4 a, b;
            for (int j = 0; j < 4; j++) {
                a[j] = (double)d[m][n + j];
                b[j] = (double)d[m][n + 4 + j];
            }
            for (int k = 0; k < K; k++) {
                f64x4 at, behind;
                __builtin_memcpy(&at, &w[k][n], sizeof at);
                __builtin_memcpy(&behind, &w[k][n + 4], sizeof behind);
                a += x[m][k] * at;
                b += x[m][k] * behind;
            }
            for (int j = 0; j < 4; j++) {
                d[m][n + j] = (float)a[j];
                d[m][n + 4 + j] = (float)b[j];
            }
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
    double x[16][16], w[16][16];
    float d[16][16] = {};
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
        double x[16][8], w[8][16];
    } large[2], small[2];
    for (int l = 0; l < WAVE; l++)
        for (int i = 0; i < NEAR; i++) {
            const int row = near_row(l, i), s = i % 4 / 2, k = l % 4 * 2 + i % 2;
            large[s].x[row][k] = (double)of[l].x.large[i];
            small[s].x[row][k] = (double)of[l].x.small[i];
            large[s].w[k][row] = (double)of[l].w.large[i];
            small[s].w[k][row] = (double)of[l].w.small[i];
        }
    for (int s = 0; s < 2; s++) {
        add_products<8>(d, small[s].x, large[s].w);
        add_products<8>(d, large[s].x, small[s].w);
    }
    for (int s = 0; s < 2; s++)
        add_products<8>(d, large[s].x, large[s].w);
#else
    struct {
        double x[16][4], w[4][16];
    } step[NEAR];
    for (int l = 0; l < WAVE; l++)
        for (int i = 0; i < NEAR; i++) {
            step[i].x[l % 16][l / 16] = (double)of[l].x.of[i];
            step[i].w[l / 16][l % 16] = (double)of[l].w.of[i];
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

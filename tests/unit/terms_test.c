/* terms_test.c - weights in two terms of float16 as they lie in memory (linear_terms.h), and the
 * error bound of products in terms that docs/design/kernels.md states, over hostile rows:
 * the arithmetic of linear_terms_sm90.cu in plain C, whose matrix unit cuts each sum of 16 columns
 * to 24 bits. */
#include "engine/gpu.h"
#include "kernels/cpu/cpu.h"
#include "kernels/gpu/sm90/linear_terms.h"
#include "../test.h"

enum { MOST = 1500, KINDS = 8 };

static uint32_t seed = 1;

/* From -1 to 1. */
static float draw(void)
{
    seed = seed * 1664525 + 1013904223;
    return (float)(int32_t)seed / 2147483648.0f;
}

/* A row of numbers of like sizes, or one that asks much of scales. */
static void fill(float *row, int k, int kind)
{
    for (int c = 0; c < k; c++) {
        row[c] = draw();
        row[c] *= kind == 1   ? powf(10, 30 * draw())
                  : kind == 2 ? (float)(c >= 100)
                  : kind == 3 ? (c == 77 ? 1e6f : 1)
                  : kind == 4 ? 3e38f
                  : kind == 5 ? 1e-37f
                  : kind == 6 ? 1e-41f
                              : 1;
        if (kind == 7)
            row[c] = 0;
    }
}

static float largest_of(const float *row, int k)
{
    float largest = 0;
    for (int c = 0; c < k; c++)
        largest = fmaxf(largest, fabsf(row[c]));
    return largest;
}

static void write_row(uint16_t *to, const float *row, int k)
{
    bi_gpu_rows_write(bi_cpu_kernels_usable(0), BI_LAYOUT_LINEAR_TERMS, to, row, (size_t)k,
                      (size_t)k);
}

static int32_t unit_of(const uint16_t *packed, int k)
{
    int32_t q;
    memcpy(&q, packed + 2 * bi_terms_columns(k), sizeof q);
    return q;
}

static void rows(void)
{
    static float row[MOST];
    static uint16_t packed[2 * MOST + 200];
    for (int i = 0; i < 10 * KINDS; i++) {
        const int k = 256 + i * 1200 / (10 * KINDS);
        const int64_t columns = bi_terms_columns(k);
        bool near = true, placed[MOST + 64] = {false}, zeros = true;
        fill(row, k, i % KINDS);
        write_row(packed, row, k);
        CHECK_EQ(bi_gpu_rows_size(BI_LAYOUT_LINEAR_TERMS, (size_t)k), 2 * (2 * columns + 8));
        for (int c = 0; c < k; c++) {
            const int64_t at = bi_terms_place(c);
            const double terms = (double)bi_f16_to_f32(packed[at]) +
                                 (double)bi_f16_to_f32(packed[columns + at]);
            near &= fabs(ldexp(terms, unit_of(packed, k)) - (double)row[c]) <=
                    fabs((double)row[c]) * 0x1p-23 + (double)largest_of(row, k) * 0x1p-39;
            placed[at] = true;
        }
        for (int64_t c = 0; c < columns; c++)
            zeros &= placed[c] || (!packed[c] && !packed[columns + c]);
        CHECK(near && zeros);
    }
}

/* Towards zero, to a float. */
static float cut(double x)
{
    const float f = (float)x;
    return fabs((double)f) > fabs(x) ? nextafterf(f, 0) : f;
}

static double products(const float *x, const float *w)
{
    double sum = 0;
    for (int c = 0; c < 16; c++)
        sum += (double)x[c] * (double)w[c];
    return sum;
}

/* Row x, of k columns, times a packed row of w. */
static double multiply(const float *x, const uint16_t *w, int k)
{
    const int64_t columns = bi_terms_columns(k);
    float sum = 0;
    int top = BI_TERMS_LEAST_UNIT;
    for (int at = 0; at < k; at += BI_TERMS_SLICE) {
        const int here = k - at < BI_TERMS_SLICE ? k - at : BI_TERMS_SLICE;
        const int unit = bi_terms_unit(largest_of(x + at, here));
        float xs[2][BI_TERMS_SLICE] = {{0}}, ws[2][BI_TERMS_SLICE], d = 0;
        for (int c = 0; c < here; c++) {
            const float scaled = x[at + c] * bi_terms_power(-unit);
            const float large = bi_f16_to_f32(bi_f32_to_f16(scaled));
            xs[0][bi_terms_place(c)] = large;
            xs[1][bi_terms_place(c)] = bi_f16_to_f32(bi_f32_to_f16(scaled - large));
        }
        for (int c = 0; c < BI_TERMS_SLICE; c++) {
            ws[0][c] = bi_f16_to_f32(w[at + c]);
            ws[1][c] = bi_f16_to_f32(w[columns + at + c]);
        }
        for (int s = 0; s < BI_TERMS_SLICE; s += 16) {
            d = cut((double)d + products(xs[1] + s, ws[0] + s));
            d = cut((double)d + products(xs[0] + s, ws[1] + s));
        }
        for (int s = 0; s < BI_TERMS_SLICE; s += 16)
            d = cut((double)d + products(xs[0] + s, ws[0] + s));
        if (unit > top) {
            sum = ldexpf(sum, top - unit);
            top = unit;
        }
        sum = fmaf(d, ldexpf(1, unit - top), sum);
    }
    return ldexp((double)sum, top + unit_of(w, k));
}

static double norm_of(const float *row, int k)
{
    double sum = 0;
    for (int c = 0; c < k; c++)
        sum += (double)row[c] * (double)row[c];
    return sqrt(sum);
}

static void bound(void)
{
    static float x[MOST], w[MOST];
    static uint16_t packed[2 * MOST + 200];
    double worst = 0;
    for (int i = 0; i < 10 * KINDS * KINDS; i++) {
        const int k = 256 + i % 10 * 123, kind = i / 10;
        double want = 0, off, size;
        fill(x, k, kind % KINDS);
        fill(w, k, kind / KINDS);
        write_row(packed, w, k);
        for (int c = 0; c < k; c++)
            want += (double)x[c] * (double)w[c];
        off = fabs(multiply(x, packed, k) - want);
        size = norm_of(x, k) * norm_of(w, k);
        worst = size > 0 ? fmax(worst, off / size) : worst;
        if (!CHECK(off <= (0x1p-20 + k * 0x1p-30) * size))
            fprintf(stderr, "    k = %d, kinds %d and %d: off by %g of %g\n", k, kind % KINDS,
                    kind / KINDS, off, size);
    }
    printf("errors are at most %.2g of |x| |w|\n", worst);
}

/* The result of an infinity or a NaN anywhere in a row of x, or of w, is not finite. */
static void bad_numbers(void)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static float x[MOST], w[MOST];
    static uint16_t packed[2 * MOST + 200];
    for (int i = 0; i < 10 * KINDS * KINDS * (int)BI_COUNT(bad); i++) {
        const int kind = i / (10 * (int)BI_COUNT(bad)), k = 256 + i % 10 * 123, at = 37 * i % k;
        float *row = i % 2 ? x : w;
        fill(x, k, kind % KINDS);
        fill(w, k, kind / KINDS);
        row[at] = bad[i / 10 % (int)BI_COUNT(bad)];
        write_row(packed, w, k);
        if (!CHECK(!isfinite(multiply(x, packed, k))))
            fprintf(stderr, "    k = %d, kinds %d and %d: %g in column %d of %s\n", k, kind % KINDS,
                    kind / KINDS, (double)row[at], at, i % 2 ? "x" : "w");
    }
}

int main(void)
{
    TEST(rows);
    TEST(bound);
    TEST(bad_numbers);
    return test_report();
}

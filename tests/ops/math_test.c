/* math_test.c - exp and gelu of kernels/cpu/math.h against double libm, over all floats of
 * their ranges (every 31st by default), and float16 of all floats (every 527th); BIOINFER_SWEEP=1
 * for every one. Compiled per instruction set; one that the machine lacks is skipped. */
#include "base/base.h"
#include "kernels/checksum.h"
#include "kernels/cpu/entries.h"
#include "kernels/cpu/math.h"
#include "../test.h"

#include <float.h>
#include <stdbool.h>

static uint32_t step = 31;

static float next_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Spacing of floats at the exact result y. */
static double spacing(double y)
{
    int e;
    frexp(fabs(y), &e);
    return ldexp(1, e - 24 < -149 ? -149 : e - 24);
}

static double gelu(double z)
{
    return z > 0 ? z - z / 2 * erfc(z * sqrt(0.5)) : z / 2 * erfc(-z * sqrt(0.5));
}

static vf call_exp(vf x)
{
    return vf_exp(x);
}

static vf call_gelu(vf x)
{
    return vf_gelu(x);
}

/* Largest error over the floats from..to of one sign, |from| <= |to|. */
static void sweep(vf (*f)(vf), double (*exact)(double), float from, float to, double *ulp,
                  double *absolute)
{
    uint32_t lo, hi;
    memcpy(&lo, &from, sizeof lo);
    memcpy(&hi, &to, sizeof hi);
    *ulp = *absolute = 0;
    for (uint64_t at = lo; at <= hi; at += (uint64_t)step * VW) {
        float x[VW], y[VW];
        for (int i = 0; i < VW; i++) {
            uint64_t bits = at + (uint64_t)i * step;
            x[i] = next_float((uint32_t)(bits < hi ? bits : hi));
        }
        vf_store(y, f(vf_load(x)));
        for (int i = 0; i < VW; i++) {
            double want = exact(x[i]), error = fabs(y[i] - want);
            if (!(error <= DBL_MAX)) /* also NaN */
                error = INFINITY;
            if (error / spacing(want) > *ulp)
                *ulp = error / spacing(want);
            if (error > *absolute)
                *absolute = error;
        }
    }
}

static void exp_is_within_its_bound(void)
{
    static const float ranges[][2] = {{-0.0f, -1e-30f},   {-1e-30f, -87.3f}, {-87.3f, -103.9f},
                                      {-103.9f, -200.0f}, {0.0f, 1e-30f},    {1e-30f, 88.7f}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        double ulp, absolute;
        uint32_t keep = step;
        if (i == 0 || i == 4)
            step = 1009;
        sweep(call_exp, exp, ranges[i][0], ranges[i][1], &ulp, &absolute);
        step = keep;
        printf("%s exp  %9g .. %9g: %.3f ulp\n", BI_ISA_STRING, ranges[i][0], ranges[i][1], ulp);
        CHECK(ulp <= 1.01);
    }
}

static void gelu_is_within_its_bounds(void)
{
    static const struct {
        float from, to;
        double ulp, absolute; /* allowed */
    } ranges[] = {{0.0f, 1e-30f, 1, 1},   {1e-30f, 1, 2.5, 1},         {1, 1e30f, 2, INFINITY},
                  {-0.0f, -1e-30f, 1, 1}, {-1e-30f, -1, 4.2, 1},       {-1, -3, 14, 1},
                  {-3, -5, 1e9, 5e-9},    {-5, -1e30f, INFINITY, 5e-9}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        double ulp, absolute;
        uint32_t keep = step;
        if (i == 0 || i == 3)
            step = 1009;
        sweep(call_gelu, gelu, ranges[i].from, ranges[i].to, &ulp, &absolute);
        step = keep;
        printf("%s gelu %9g .. %9g: %.3f ulp, %.2e\n", BI_ISA_STRING, ranges[i].from, ranges[i].to,
               ulp, absolute);
        CHECK(ulp <= ranges[i].ulp);
        CHECK(absolute <= ranges[i].absolute);
    }
}

/* Numbers of all sizes, infinities and NaN among them, in runs of every length up to 3 VW. */
static void halves_are_the_nearest(void)
{
    enum { N = 4096 };
    static float x[N];
    static uint16_t y[N + 1];
    const uint32_t by = step > 1 ? 17 * step : 1;
    int wrong = 0, run = 1;
    for (uint64_t at = 0; at < (uint64_t)1 << 32; at += (uint64_t)by * N) {
        for (int i = 0; i < N; i++)
            x[i] = next_float((uint32_t)(at + (uint64_t)i * by));
        for (int i = 0, n; i < N; i += n, run = run % (3 * VW) + 1) {
            n = N - i < run ? N - i : run;
            y[i + n] = 0x5a5a;
            BI_ISA_NAME(to_half)(y + i, x + i, n);
            wrong += y[i + n] != 0x5a5a;
        }
        for (int i = 0; i < N; i++)
            wrong += y[i] != bi_f32_to_f16(x[i]);
    }
    CHECK(wrong == 0);
}

/* The definition in checksum.h. */
static void checksum_as_defined(uint64_t sum[2], const struct bi_checksum_keys *keys,
                                const float *x, int64_t rows, int64_t width)
{
    const int64_t padded = width + width % 2;
    for (int64_t i = 0; i < rows * padded; i += 2) {
        uint64_t factor[2];
        uint32_t v[2];
        for (int64_t k = 0; k < 2; k++) {
            const int64_t row = (i + k) / padded, column = (i + k) % padded;
            uint32_t w = 0;
            if (column < width)
                memcpy(&w, x + row * width + column, sizeof w);
            v[k] = w + keys->key[(i + k) % BI_CHECKSUM_BLOCK];
        }
        bi_checksum_factors((uint64_t)(i / BI_CHECKSUM_BLOCK), factor);
        sum[0] += (uint64_t)v[0] * v[1] * factor[0];
        sum[1] += (v[0] + ((uint64_t)v[1] << 32)) * factor[1];
    }
}

/* Whole and in pieces; any bit counts. */
static void checksums_add_up(void)
{
    static const int shapes[][2] = {
        {1, 1},   {1, 3 * BI_CHECKSUM_BLOCK + 17}, {40, 48},
        {61, 51}, {3, BI_CHECKSUM_BLOCK},          {7, 2 * BI_CHECKSUM_BLOCK - 1}};
    static float x[7 * 2 * BI_CHECKSUM_BLOCK];
    struct bi_checksum_keys keys;
    bi_checksum_init(&keys);
    for (int i = 0; i < 7 * 2 * BI_CHECKSUM_BLOCK; i++) {
        const uint32_t w = (uint32_t)bi_checksum_random((uint64_t)i + 77777);
        memcpy(x + i, &w, sizeof w);
    }
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int rows = shapes[s][0], width = shapes[s][1];
        uint64_t want[2] = {0}, whole[2] = {0}, pieces[2] = {0};
        checksum_as_defined(want, &keys, x, rows, width);
        BI_ISA_NAME(checksum)(whole, &keys, x, 0, rows, width);
        for (int at = 0, run = 1; at < rows; at += run, run = run % 7 + 1)
            BI_ISA_NAME(checksum)(pieces, &keys, x + at * width, at,
                                  rows - at < run ? rows - at : run, width);
        for (int k = 0; k < 2; k++) {
            CHECK(whole[k] == want[k]);
            CHECK(pieces[k] == want[k]);
        }
        for (int i = 0; i < rows * width; i += 41)
            for (int bit = 0; bit < 32; bit++) {
                uint64_t sum[2] = {0};
                uint32_t w, kept;
                memcpy(&kept, x + i, sizeof kept);
                w = kept ^ (uint32_t)1 << bit;
                memcpy(x + i, &w, sizeof w);
                BI_ISA_NAME(checksum)(sum, &keys, x, 0, rows, width);
                CHECK(sum[0] != want[0] && sum[1] != want[1]);
                memcpy(x + i, &kept, sizeof kept);
            }
    }
}

/* Every float16, by its definition. */
static void halves_are_read_as_they_are(void)
{
    int wrong = 0;
    for (uint32_t h = 0; h < 1 << 16; h++) {
        const int exponent = (int)(h >> 10 & 31);
        const double fraction = (double)(h & 0x3ff) / 1024, sign = h >> 15 ? -1 : 1;
        const float x = bi_f16_to_f32((uint16_t)h);
        if (exponent == 31 && fraction > 0)
            wrong += !isnan(x);
        else
            wrong += x != (float)(sign * (exponent == 31 ? INFINITY
                                          : exponent     ? ldexp(1 + fraction, exponent - 15)
                                                         : ldexp(fraction, -14))) ||
                     (signbit(x) != 0) != (sign < 0) || bi_f32_to_f16(x) != h;
    }
    CHECK(wrong == 0);
}

static float one(vf (*f)(vf), float x)
{
    float y[VW];
    vf_store(y, f(vf_set1(x)));
    return y[VW - 1];
}

static void ends_are_right(void)
{
    CHECK(one(call_exp, 0.0f) == 1.0f);
    CHECK(one(call_exp, -INFINITY) == 0.0f);
    CHECK(one(call_exp, -FLT_MAX) == 0.0f);
    CHECK(one(call_exp, INFINITY) == INFINITY);
    CHECK(one(call_exp, FLT_MAX) == INFINITY);
    CHECK(isnan(one(call_exp, NAN)));
    CHECK(one(call_gelu, 0.0f) == 0.0f);
    CHECK(one(call_gelu, INFINITY) == INFINITY);
    CHECK(one(call_gelu, FLT_MAX) == FLT_MAX);
    CHECK(one(call_gelu, -INFINITY) <= 0 && one(call_gelu, -INFINITY) > -1e-34f);
    CHECK(one(call_gelu, -FLT_MAX) <= 0 && one(call_gelu, -FLT_MAX) > -1e-34f);
    CHECK(isnan(one(call_gelu, NAN)));
}

/* Lanes past n are neither read nor written, reductions and choices do what simd.h says. */
static void vectors_keep_their_promises(void)
{
    float x[3 * VW], y[3 * VW];
    for (int n = 0; n <= VW; n++) {
        for (int i = 0; i < 3 * VW; i++) {
            x[i] = (float)(i + 1);
            y[i] = -1;
        }
        vf v = vf_load_n(x + VW, n);
        vf_store_n(y + VW, v, n);
        float all[VW], sum = 0, max = 0;
        vf_store(all, v);
        for (int i = 0; i < 3 * VW; i++)
            CHECK(y[i] == (i >= VW && i < VW + n ? x[i] : -1));
        for (int i = 0; i < VW; i++) {
            CHECK(all[i] == (i < n ? x[VW + i] : 0));
            sum += all[i];
            max = all[i] > max ? all[i] : max;
        }
        CHECK(vf_hsum(v) == sum);
        CHECK(vf_hmax(v) == max);
        vf_store(all, vf_select(vm_first(n), vf_set1(1), vf_set1(2)));
        for (int i = 0; i < VW; i++)
            CHECK(all[i] == (i < n ? 1 : 2));
        CHECK(vm_any(vm_first(n)) == (n > 0));
        CHECK(vm_any(vm_not(vm_first(n))) == (n < VW));
    }
    for (int i = 0; i < VW; i++)
        x[i] = (float)i / 4 - 1.5f;
    vf_store(y, vf_round(vf_load(x)));
    for (int i = 0; i < VW; i++)
        CHECK(y[i] == nearbyintf(x[i]));
    vf_store(y, vi_to_float(vf_to_int(vf_load(x))));
    for (int i = 0; i < VW; i++)
        CHECK(y[i] == nearbyintf(x[i]));
    vf nan = vf_set1(NAN), two = vf_set1(2);
    CHECK(vm_any(vf_isnan(nan)) && !vm_any(vf_isnan(two)));
    CHECK(!vm_any(vf_lt(nan, two)) && !vm_any(vf_ge(nan, two)) && !vm_any(vf_eq(nan, nan)));
    vf_store(x, vf_max(nan, two));
    vf_store(y, vf_max(two, nan));
    CHECK(x[0] == 2 && isnan(y[0]));
    vf_store(x, vf_min(nan, two));
    vf_store(y, vf_min(two, nan));
    CHECK(x[0] == 2 && isnan(y[0]));
    vf_store(x, vf_copysign(vf_set1(-3), two));
    vf_store(y, vf_neg(vf_abs(vf_set1(-3))));
    CHECK(x[0] == 3 && y[0] == -3);
}

int main(void)
{
    bool usable = false;
    for (int i = 0; bi_cpu_kernels_usable(i); i++)
        usable |= !strcmp(bi_cpu_kernels_usable(i)->name, BI_ISA_STRING);
    if (!usable) {
        printf("this machine has no %s\n", BI_ISA_STRING);
        return 77;
    }
    const char *sweep_all = getenv("BIOINFER_SWEEP");
    if (sweep_all && !strcmp(sweep_all, "1"))
        step = 1;
    else if (getenv("BIOINFER_SANITIZED")) /* all instructions, and fewer numbers */
        step = 503;
    TEST(vectors_keep_their_promises);
    TEST(ends_are_right);
    TEST(halves_are_the_nearest);
    TEST(halves_are_read_as_they_are);
    TEST(checksums_add_up);
    TEST(exp_is_within_its_bound);
    TEST(gelu_is_within_its_bounds);
    return test_report();
}

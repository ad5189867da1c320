/* math_test.cpp - exp, log, gelu, sigmoid, sine and cosine of gpu_math.h against double
 * libm, over every 1009th float of their ranges. exp2 is libm's here; devices are off by 2 ulp
 * more where it is used (gelu). */
#define BI_EMU_NVIDIA 1
#include "kernels/gpu/lib/gpu_math.h"

#include "../test.h"

static double spacing(double y)
{
    int e;
    frexp(fabs(y), &e);
    return ldexp(1, e - 24 < -149 ? -149 : e - 24);
}

/* Largest errors over the floats from..to of one sign, |from| <= |to|. */
struct errors {
    double ulp, absolute;
};

template <typename F, typename G> static errors sweep(F f, G exact, float from, float to)
{
    errors worst = {0, 0};
    for (uint64_t at = bits<u32>(from); at <= bits<u32>(to); at += 1009) {
        const float x = bits<float>((u32)at);
        const double want = exact((double)x), error = fabs((double)f(x) - want);
        if (!(error / spacing(want) <= worst.ulp))
            worst.ulp = error / spacing(want);
        if (!(error <= worst.absolute))
            worst.absolute = error;
    }
    return worst;
}

static double gelu_exact(double z)
{
    return z > 0 ? z - z / 2 * erfc(z * sqrt(0.5)) : z / 2 * erfc(-z * sqrt(0.5));
}

static double sigmoid_exact(double x)
{
    return 1 / (1 + exp(-x));
}

static void exponentials()
{
    CHECK(sweep(exp_, [](double x) { return exp(x); }, 0.0f, 88.7f).ulp <= 1.01);
    CHECK(sweep(exp_, [](double x) { return exp(x); }, -0.0f, -103.9f).ulp <= 1.01);
    CHECK(exp_(89.5f) == INF && exp_(INF) == INF && exp_(-200.0f) == 0 && exp_(-INF) == 0);
    CHECK(isnan(exp_(NAN)));
}

static void logarithms()
{
    const errors e = sweep(log_, [](double x) { return log(x); }, 1.2e-38f, 3.4e38f);
    printf("log: %.3g absolute\n", e.absolute);
    CHECK(sweep(log_, [](double x) { return log(x); }, 2.0f, 3.4e38f).ulp <= 2);
    CHECK(sweep(log_, [](double x) { return log(x); }, 0.5f, 2.0f).absolute <= 1e-7);
    CHECK(log_(INF) == INF && isnan(log_(NAN)) && log_(1.0f) == 0);
}

static void gelus()
{
    const errors up = sweep(gelu, gelu_exact, 0.0f, 3e38f);
    const errors down = sweep(gelu, gelu_exact, -0.0f, -3e38f);
    printf("gelu: %.3g ulp above zero, %.3g absolute below\n", up.ulp, down.absolute);
    CHECK(up.ulp <= 3);
    CHECK(down.absolute <= 1e-7);
    CHECK(gelu(INF) == INF && gelu(-INF) == 0 && isnan(gelu(NAN)));
}

/* Much finer than a result in f16, which is off by 2.4e-4 of itself; f16 has nothing below 6e-8. */
static void gelus_for_f16()
{
    double worst = 0, high = 0;
    for (uint64_t at = bits<u32>(1e-6f); at <= bits<u32>(6.0f); at += 1009) {
        const double t = (double)bits<float>((u32)at);
        const double low = gelu_exact(-t), up = gelu_exact(t);
        const double off = fabs((double)gelu_half((float)-t) - low) / -low;
        worst = off > worst ? off : worst;
        high = fmax(high, fabs((double)gelu_half((float)t) - up) / up);
    }
    printf("gelu for f16: %.3g of the result below zero, %.3g above\n", worst, high);
    CHECK(worst <= 8e-6 && high <= 4e-6);
    CHECK(sweep(gelu_half, gelu_exact, -6.0f, -3e38f).absolute <= 1e-8);
    CHECK(sweep(gelu_half, gelu_exact, 6.0f, 3e38f).ulp <= 1);
    CHECK(gelu_half(INF) == INF && gelu_half(0) == 0 && isnan(gelu_half(NAN)));
    CHECK(fabsf(gelu_half(-INF)) <= 1e-8f);
}

static void sigmoids()
{
    CHECK(sweep(sigmoid, sigmoid_exact, 0.0f, 1e30f).ulp <= 3);
    CHECK(sweep(sigmoid, sigmoid_exact, -0.0f, -87.0f).ulp <= 4);
    CHECK(sigmoid(INF) == 1 && sigmoid(-INF) == 0 && isnan(sigmoid(NAN)));
}

static float sine(float x)
{
    float s, c;
    sin_cos(x, &s, &c);
    return s;
}

static float cosine(float x)
{
    float s, c;
    sin_cos(x, &s, &c);
    return c;
}

static void angles()
{
    const errors s = sweep(sine, [](double x) { return sin(x); }, 0.0f, 1e5f);
    const errors c = sweep(cosine, [](double x) { return cos(x); }, 0.0f, 1e5f);
    printf("sine: %.3g ulp, %.3g absolute; cosine: %.3g ulp, %.3g absolute\n", s.ulp, s.absolute,
           c.ulp, c.absolute);
    CHECK(s.absolute <= 1e-7 && c.absolute <= 1e-7);
    CHECK(sweep(sine, [](double x) { return sin(x); }, -0.0f, -1e5f).absolute <= 1e-7);
    CHECK(sweep(cosine, [](double x) { return cos(x); }, -0.0f, -1e5f).absolute <= 1e-7);
    CHECK(isnan(sine(NAN)) && isnan(cosine(NAN)));
}

int main()
{
    TEST(exponentials);
    TEST(logarithms);
    TEST(gelus);
    TEST(gelus_for_f16);
    TEST(sigmoids);
    TEST(angles);
    return test_report();
}

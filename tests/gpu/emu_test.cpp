/* emu_test.cpp - the emulation finds what is planted, and only that. */
#define BI_EMU_NVIDIA 1
#include "kernels/gpu/lib/gpu.h"

#include "../test.h"

struct numbers {
    float *y;
    int what;
};

struct floats {
    float of[64];
};

static const char *launch(void (*run)(const void *), numbers n, int wave, int shared)
{
    bi_emu_launch l = {};
    l.run = run;
    l.params = &n;
    l.wave = wave;
    l.grid[0] = 3;
    l.grid[1] = 2;
    l.block = 64;
    l.shared_size = shared;
    for (l.seed = 0; l.seed < 8; l.seed++)
        if (const char *error = bi_emu_run(&l))
            return error;
    return "";
}

/* Reversal through shared memory, with one mistake on request. */
enum { RIGHT, NO_BARRIER, HALF_BARRIER, EXIT_EARLY, OVERRUN };

KERNEL(reverse, numbers, 64, 1)
{
    SHARED(floats, s, sizeof(floats));
    const int t = thread_id(), block = block_y() * 3 + block_x();
    s.of[t] = (float)(block * 64 + t);
    if (p.what == OVERRUN && t == 0)
        *(&s.of[0] + 64 + p.what) = 1;
    if (p.what == EXIT_EARLY && t == 5)
        return;
    if (p.what != NO_BARRIER && (p.what != HALF_BARRIER || t < 32))
        barrier();
    p.y[block * 64 + t] = s.of[63 - t];
}

static void barriers()
{
    float y[6 * 64];
    CHECK_STR(launch(reverse, {y, RIGHT}, 32, 256), "");
    for (int i = 0; i < 6 * 64; i++)
        CHECK(y[i] == (float)(i / 64 * 64 + 63 - i % 64));
    CHECK_STR(launch(reverse, {y, NO_BARRIER}, 32, 256), ""); /* seen in the numbers: */
    int unset = 0;
    for (int i = 0; i < 6 * 64; i++)
        unset += isnan(y[i]);
    CHECK(unset > 0);
    CHECK_HAS(launch(reverse, {y, HALF_BARRIER}, 32, 256), "barrier");
    CHECK_HAS(launch(reverse, {y, EXIT_EARLY}, 32, 256), "barrier");
    CHECK_HAS(launch(reverse, {y, OVERRUN}, 32, 256), "shared memory");
    CHECK_HAS(launch(reverse, {y, RIGHT}, 32, 128), "shared memory");
    CHECK_HAS(launch(reverse, {y, RIGHT}, 48, 256), "shape");
}

enum { ALL, SOME, OTHERWISE };

KERNEL(wave_sums, numbers, 64, 1)
{
    const int t = thread_id();
    float x = (float)t;
    if (p.what == ALL || (p.what == SOME && t % 32))
        x = lanes_sum(x);
    else if (p.what == OTHERWISE) {
        acc d = {};
        if (t % 2)
            x = lanes_sum(x);
        else
            multiply(d, frag{}, frag{});
    }
    p.y[t] = x;
}

static void waves()
{
    float y[64];
    CHECK_STR(launch(wave_sums, {y, ALL}, 32, 0), "");
    for (int t = 0; t < 64; t++)
        CHECK(y[t] == (t < 32 ? 496 : 1520));
    CHECK_HAS(launch(wave_sums, {y, SOME}, 32, 0), "lanes");
    CHECK_HAS(launch(wave_sums, {y, OTHERWISE}, 32, 0), "different operations");
}

enum { WAITS, EARLY, NEVER };

KERNEL(copies, numbers, 64, 1)
{
    SHARED(floats, s, sizeof(floats));
    const int t = thread_id();
    if (t < 16)
        copy_async(&s.of[4 * t], &p.y[4 * t], t < 15 ? 16 : 4);
    copy_commit();
    if (p.what == WAITS)
        copy_wait<0>();
    barrier();
    p.y[64 + t] = s.of[t];
    if (p.what != NEVER)
        copy_wait<0>();
}

static void asynchronous_copies()
{
    alignas(16) float y[128];
    for (int i = 0; i < 64; i++)
        y[i] = (float)i + 1;
    CHECK_STR(launch(copies, {y, WAITS}, 32, 256), "");
    for (int i = 0; i < 64; i++)
        CHECK(y[64 + i] == (i <= 60 ? y[i] : 0));
    CHECK_STR(launch(copies, {y, EARLY}, 32, 256), "");
    CHECK(isnan(y[64])); /* the thread that copied it reads it before its wait */
    CHECK_HAS(launch(copies, {y, NEVER}, 32, 256), "asynchronous");
}

/* One 16 x 16 x 16 product by lane maps, against the plain loops. */
struct product {
    f16 x[16 * 24], w[16 * 24], t[16 * 24];
};

KERNEL(one_product, numbers, 64, 1)
{
    SHARED(product, s, sizeof(product));
    for (int at = thread_id(); at < 256; at += 64) {
        const int r = at / 16, k = at % 16;
        s.x[r * 24 + k] = (f16)(r - 2 * k);
        s.w[r * 24 + k] = s.t[k * 24 + r] = (f16)(3 * r + k);
    }
    barrier();
    acc d = {}, e = {}, f = {};
    multiply(d, frag_x(s.x, 24), frag_w(s.w, 24));
    multiply(e, frag_x(s.x, 24), frag_w_t(s.t, 24));
    for (int i = 0; i < ACC; i++)
        f.of[i] = (float)s.x[acc_m(i) * 24 + acc_n(i)];
    acc g = {};
    multiply(g, frag_of(f), frag_w(s.w, 24));
    for (int i = 0; i < ACC; i++) {
        const bool same = d.of[i] == e.of[i] && d.of[i] == g.of[i];
        p.y[acc_m(i) * 16 + acc_n(i)] = same ? d.of[i] : NAN;
    }
}

static void fragments()
{
    float y[256];
    CHECK_STR(launch(one_product, {y, 0}, 32, sizeof(product)), "");
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += (float)(m - 2 * k) * (float)(3 * n + k);
            CHECK(y[m * 16 + n] == sum);
        }
}

int main()
{
    TEST(barriers);
    TEST(waves);
    TEST(asynchronous_copies);
    TEST(fragments);
    return test_report();
}

/* linear_test.c - the packed matmul of every usable instruction set: bit for bit the chain that
 * linear.h promises, whatever the rows, strides, threads and epilogue; on tiles, bit for bit the
 * sum of products of terms that linear_amx.c promises. */
#include "../test.h"
#include "kernels/cpu/cpu.h"
#include "kernels/linear.h"
#include "tiles.h"

#include <stdbool.h>

static const struct bi_cpu_kernels *kernels;
static const struct bi_cpu_entry *entry;
static uint32_t state = 1;
static uint32_t kept = 0xffffffff; /* bits of weights: fewer are fewer terms */

static float random_float(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 8388608.0f - 1;
}

/* Exactly n floats, so that a checker of memory sees one read too many. */
static float *floats(int64_t n)
{
    float *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    if (!x)
        exit(1);
    for (int64_t i = 0; i < n; i++)
        x[i] = random_float();
    return x;
}

/* By steps of 32 columns and products of terms, smallest first but for x1 w1 of three. */
static float sum_of_terms(const float *x, const float *w, int k, int n_terms)
{
    static const int products[2][6][2] = {{{0, 1}, {0, 0}, {1, 0}},
                                          {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}}};
    float sum = 0;
    for (int k0 = 0; k0 < k; k0 += 32) {
        uint16_t a[3][32] = {{0}}, b[3][32] = {{0}};
        for (int i = 0; i < 32 && k0 + i < k; i++) {
            uint16_t xs[3], ws[3];
            terms_of_float(xs, x[k0 + i], n_terms);
            terms_of_float(ws, w[k0 + i], n_terms);
            for (int t = 0; t < n_terms; t++) {
                a[t][i] = xs[t];
                b[t][i] = ws[t];
            }
        }
        for (int p = 0; p < (n_terms == 2 ? 3 : 6); p++)
            sum = tile_element(sum, a[products[n_terms - 2][p][0]], b[products[n_terms - 2][p][1]],
                               2);
    }
    return sum;
}

static float chain(const float *x, const float *w, int k)
{
    if (kernels->base)
        return sum_of_terms(x, w, k, strcmp(kernels->precision, "fp32") ? 2 : 3);
    bool fused = strcmp(kernels->name, "generic") != 0;
    volatile float sum = 0, product;
    for (int i = 0; i < k; i++) {
        if (fused) {
            sum = fmaf(x[i], w[i], sum);
        } else {
            product = x[i] * w[i];
            sum = sum + product;
        }
    }
    return sum;
}

static void run(const struct bi_linear_params *p, int n_threads)
{
    size_t size = (entry->scratch_size(p, p->rows, 0) + 63) & ~(size_t)63;
    char *scratch = aligned_alloc(64, size + 64);
    if (!scratch)
        exit(1);
    memset(scratch, 0xff, size + 64);
    int64_t n_tasks = entry->tasks(p, n_threads);
    for (int64_t i = n_tasks - 1; i >= 0; i--)
        entry->run(p, i, n_tasks, scratch);
    for (int i = 0; i < 64; i++)
        if (!test_check((scratch[size + (size_t)i] & 0xff) == 0xff, "scratch end", __FILE__,
                        __LINE__))
            break;
    free(scratch);
}

struct shape {
    int m, n, k;
};

/* x [m, ldx] from x + 1 on, w [n, k], and their products by chain() [m, n]. Products of tiles in
 * plain C take most of the time of this test, so all epilogues share them. */
struct operands {
    const struct shape *s;
    int64_t ldx;
    float *x, *w, *sums;
};

static struct operands make_operands(const struct shape *s)
{
    struct operands o = {.s = s, .ldx = s->k + 3};
    o.x = floats(s->m * o.ldx + 1), o.w = floats((int64_t)s->n * s->k);
    o.sums = floats((int64_t)s->m * s->n);
    for (int64_t i = 0; i < (int64_t)s->n * s->k; i++)
        o.w[i] = float_of(bits_of(o.w[i]) & kept);
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++)
            o.sums[i * s->n + j] = chain(o.x + 1 + i * o.ldx, o.w + j * s->k, s->k);
    return o;
}

static void free_operands(struct operands *o)
{
    free(o->x), free(o->w), free(o->sums);
}

static void compare(const struct operands *o, int act, bool with_bias, bool with_residual)
{
    const struct shape *s = o->s;
    const float *x = o->x, *w = o->w;
    const int64_t ldx = o->ldx, ldy = s->n + 5, ldr = s->n + 1;
    struct bi_counts counts = {.n_rows = s->m};
    float *bias = floats(s->n);
    float *r = floats(s->m * ldr + 1), *y = floats(s->m * ldy + 1), *z = floats(s->m * ldy + 1);
    size_t packed_size = kernels->pack_size(s->n, s->k);
    char *packed = malloc(packed_size + 64);
    if (!packed)
        exit(1);
    memset(packed, 0xff, packed_size + 64);

    /* in two calls, to see that the parts meet */
    int64_t half = (s->n / 2 + kernels->panel() - 1) / kernels->panel() * kernels->panel();
    if (half > s->n)
        half = 0;
    if (half)
        kernels->pack(packed, s->n, s->k, 0, half, w);
    kernels->pack(packed, s->n, s->k, half, s->n - half, w + half * s->k);
    for (size_t i = 0; i < 64; i++)
        if (!test_check((packed[packed_size + i] & 0xff) == 0xff, "packed end", __FILE__, __LINE__))
            break;

    for (int64_t i = 0; i < s->m * ldy + 1; i++)
        y[i] = NAN;
    struct bi_linear_params p = {.counts = &counts,
                                 .axis = BI_AXIS_ROWS,
                                 .rows = s->m + 100,
                                 .n = s->n,
                                 .k = s->k,
                                 .x = x + 1,
                                 .ldx = ldx,
                                 .y = y + 1,
                                 .ldy = ldy,
                                 .w = packed,
                                 .act = act,
                                 .bias = with_bias ? bias : NULL,
                                 .residual = with_residual ? r + 1 : NULL,
                                 .ldr = ldr};
    run(&p, 1);

    long wrong = 0, spilled = 0;
    for (int64_t i = 0; i < s->m; i++) {
        for (int64_t j = 0; j < s->n; j++) {
            volatile float want = o->sums[i * s->n + j];
            float got = y[1 + i * ldy + j];
            if (with_bias)
                want = want + bias[j];
            if (act == BI_ACT_GELU) {
                double exact = want < 0 ? (double)want / 2 * erfc(-want * sqrt(0.5))
                                        : want - (double)want / 2 * erfc(want * sqrt(0.5));
                if (with_residual)
                    exact += r[1 + i * ldr + j];
                wrong += !(fabs(got - exact) <= 3e-7 * (1 + fabs(exact)));
            } else {
                if (with_residual)
                    want = want + r[1 + i * ldr + j];
                wrong += memcmp(&got, (const void *)&(float){want}, sizeof got) != 0;
            }
        }
        for (int64_t j = s->n; j < ldy; j++)
            spilled += !isnan(y[1 + i * ldy + j]);
    }
    spilled += !isnan(y[0]);
    if (!CHECK_EQ(wrong, 0) || !CHECK_EQ(spilled, 0))
        fprintf(stderr, "    %s: m %d, n %d, k %d, act %d, bias %d, residual %d\n", kernels->name,
                s->m, s->n, s->k, act, with_bias, with_residual);

    static const int threads[] = {2, 3, 64, 1000};
    p.y = z + 1;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        for (int64_t i = 0; i < s->m * ldy + 1; i++)
            z[i] = NAN;
        run(&p, threads[t]);
        CHECK(!memcmp(y, z, (size_t)(s->m * ldy + 1) * sizeof *y));
    }

    /* each row alone */
    long differ = 0;
    counts.n_rows = 1;
    for (int64_t i = 0; i < s->m; i += s->m < 40 ? 1 : 37) {
        p.x = x + 1 + i * ldx;
        p.residual = with_residual ? r + 1 + i * ldr : NULL;
        run(&p, 2);
        differ += memcmp(z + 1, y + 1 + i * ldy, (size_t)s->n * sizeof *y) != 0;
    }
    CHECK_EQ(differ, 0);
    free(bias), free(r), free(y), free(z), free(packed);
}

static void equals_the_chain(void)
{
    static const struct shape shapes[] = {
        {1, 1, 1},     {1, 33, 3},    {2, 7, 5},      {3, 16, 4},     {5, 32, 64},   {13, 31, 17},
        {14, 64, 128}, {15, 65, 129}, {27, 12, 33},   {28, 96, 320},  {29, 24, 20},  {83, 40, 24},
        {258, 33, 96}, {200, 320, 8}, {17, 80, 1281}, {45, 35, 2600}, {9, 64, 5120}, {6, 5, 0},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct operands o = make_operands(&shapes[i]);
        for (int kind = 0; kind < 8; kind++)
            compare(&o, kind & 1 ? BI_ACT_GELU : BI_ACT_NONE, kind & 2, kind & 4);
        free_operands(&o);
    }
}

/* Weights of float16 have two terms at most, those of bfloat16 one. */
static void equals_the_chain_of_half_precision(void)
{
    static const struct shape shapes[] = {{17, 40, 31}, {40, 65, 129}, {5, 100, 2600}};
    static const uint32_t bits[] = {0xffffe000, 0xffff0000};
    for (size_t i = 0; kernels->base && i < sizeof shapes / sizeof *shapes; i++)
        for (int half = 0; half < 2; half++) {
            kept = bits[half];
            struct operands o = make_operands(&shapes[i]);
            compare(&o, BI_ACT_NONE, true, false);
            free_operands(&o);
        }
    kept = 0xffffffff;
}

/* One row of NaN and infinities, and its neighbours are as they were. */
static void rows_do_not_meet(void)
{
    enum { M = 40, N = 40, K = 50 };
    struct bi_counts counts = {.n_tokens = M};
    float *x = floats(M * K), *w = floats(N * K), *y = floats(M * N), *z = floats(M * N);
    void *packed = malloc(kernels->pack_size(N, K));
    if (!packed)
        exit(1);
    kernels->pack(packed, N, K, 0, N, w);
    struct bi_linear_params p = {.counts = &counts,
                                 .axis = BI_AXIS_TOKENS,
                                 .rows = M,
                                 .n = N,
                                 .k = K,
                                 .x = x,
                                 .ldx = K,
                                 .y = y,
                                 .ldy = N,
                                 .w = packed,
                                 .act = BI_ACT_GELU};
    run(&p, 1);
    for (int i = 0; i < K; i++)
        x[16 * K + i] = i % 2 ? INFINITY : NAN;
    p.y = z;
    run(&p, 1);
    CHECK(!memcmp(y, z, 16 * N * sizeof *y));
    CHECK(!memcmp(y + 17 * N, z + 17 * N, (M - 17) * N * sizeof *y));
    for (int i = 0; i < N; i++)
        CHECK(isnan(z[16 * N + i]));
    free(x), free(w), free(y), free(z), free(packed);
}

static void no_rows_no_tasks(void)
{
    struct bi_counts counts = {0};
    struct bi_linear_params p = {
        .counts = &counts, .axis = BI_AXIS_TOKENS, .rows = 9, .n = 8, .k = 8};
    CHECK_EQ(entry->tasks(&p, 4), 0);
}

static void description_names_the_machine(void)
{
    char text[128] = "", small[4];
    bi_cpu_description(text, sizeof text);
    CHECK_HAS(text, bi_cpu_kernels_usable(0)->name);
    CHECK(text[0] != ' ' && text[0] != '(');
    bi_cpu_description(small, sizeof small);
    CHECK_EQ(strlen(small), 3);
}

int main(void)
{
    TEST(description_names_the_machine);
    for (int i = 0; (kernels = bi_cpu_kernels_usable(i)); i++) {
        entry = bi_cpu_find_entry(kernels, "linear", NULL);
        TEST(equals_the_chain);
        TEST(equals_the_chain_of_half_precision);
        TEST(rows_do_not_meet);
        TEST(no_rows_no_tasks);
        printf("%s: ", kernels->name);
        fflush(stdout);
        printf("%ld checks\n", test_checks);
    }
    return test_report();
}

/* amx_test.c - the tile instruction of AMX: the emulation against plain numbers, bit for bit, and
 * the processor, where it has AMX, against the emulation; then whole linear layers of both.
 *
 *     amx_test [--chip]        --chip: fail where the processor's own tiles cannot be tested */
#include "../test.h"
#include "kernels/cpu/cpu.h"
#include "kernels/linear.h"
#include "tiles.h"

#include <stdbool.h>

static uint64_t state = 7;

static uint32_t random_bits(void) /* splitmix64 */
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z ^ z >> 31);
}

enum kind { NEAR, WIDE, TINY, LARGE, EVERY, KINDS };

/* A number whose exponent is of a kind: near 1, anything, near the smallest or the largest normal
 * one, or any bits at all. Zeros, denormals, infinities and NaN are among those of EVERY. */
static uint32_t random_number(enum kind kind)
{
    const uint32_t bits = random_bits(), rest = bits & 0x807fffff;
    switch (kind) {
    case NEAR:
        return rest | (120 + random_bits() % 16) << 23;
    case WIDE:
        return rest | (30 + random_bits() % 190) << 23;
    case TINY:
        return rest | (random_bits() % 100) << 23;
    case LARGE:
        return rest | (180 + random_bits() % 75) << 23;
    default:
        return random_bits() % 8 ? bits : random_bits() % 2 ? bits | 0x7f800000 : rest & 0x80000000;
    }
}

struct operands {
    float c[16 * 16];
    uint16_t a[16 * 32], b[16 * 32];
};

static void fill(struct operands *o, enum kind kind)
{
    for (int i = 0; i < 16 * 16; i++)
        o->c[i] = random_bits() % 4 ? float_of(random_number(kind)) : 0;
    for (int i = 0; i < 16 * 32; i++) {
        o->a[i] = (uint16_t)(random_number(kind) >> 16);
        /* products near 1 of small and large numbers, and cancellation */
        o->b[i] = (uint16_t)(random_number(kind == TINY && random_bits() % 2 ? LARGE : kind) >> 16);
        if (i % 7 == 0 && i)
            o->b[i] = o->b[i - 1] ^ 0x8000;
    }
}

/* NaN is NaN, whichever it is: the manual does not say which. */
static bool same(float x, float y)
{
    return bits_of(x) == bits_of(y) || (isnan(x) && isnan(y));
}

static void emulation_is_the_manual(void)
{
    long wrong = 0;
    for (int round = 0; round < 200; round++) {
        struct operands o;
        float c[16 * 16];
        fill(&o, round % KINDS);
        memcpy(c, o.c, sizeof c);
        bi_cpu_tile_dot_amx_emulated(c, o.a, o.b);
        for (int m = 0; m < 16; m++)
            for (int n = 0; n < 16; n++) {
                const float want = tile_element(o.c[16 * m + n], o.a + 32 * m, o.b + 2 * n, 32);
                if (!same(c[16 * m + n], want) && !wrong++)
                    fprintf(stderr, "    kind %d: [%d][%d] got %a, expected %a\n", round % KINDS, m,
                            n, (double)c[16 * m + n], (double)want);
            }
    }
    CHECK_EQ(wrong, 0);
}

static void chip_is_the_emulation(void)
{
    long wrong[KINDS] = {0};
    for (int round = 0; round < 20000; round++) {
        struct operands o;
        float c[16 * 16], d[16 * 16];
        fill(&o, round % KINDS);
        memcpy(c, o.c, sizeof c);
        memcpy(d, o.c, sizeof d);
        bi_cpu_tile_dot_amx(c, o.a, o.b);
        bi_cpu_tile_dot_amx_emulated(d, o.a, o.b);
        for (int i = 0; i < 16 * 16; i++)
            if (!same(c[i], d[i]) && !wrong[round % KINDS]++)
                fprintf(stderr, "    kind %d: [%d][%d] the chip has %a, the emulation %a\n",
                        round % KINDS, i / 16, i % 16, (double)c[i], (double)d[i]);
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (!CHECK_EQ(wrong[kind], 0))
            fprintf(stderr, "    kind %d: %ld of %d differ\n", kind, wrong[kind],
                    20000 / KINDS * 256);
}

static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof *x);
    if (!x)
        exit(1);
    for (size_t i = 0; i < n; i++)
        x[i] = float_of(random_number(NEAR));
    return x;
}

static float *run_linear(const struct bi_cpu_kernels *k, struct bi_linear_params p, const float *w)
{
    const struct bi_cpu_entry *e = bi_cpu_find_entry(k, "linear", NULL);
    const size_t size = (e->scratch_size(&p, p.rows, 0) + 63) & ~(size_t)63;
    void *packed = malloc(k->pack_size(p.n, p.k)), *scratch = aligned_alloc(64, size);
    float *y = calloc((size_t)(p.rows * p.n), sizeof *y);
    if (!packed || !scratch || !y)
        exit(1);
    k->pack(packed, p.n, p.k, 0, p.n, w);
    p.w = packed;
    p.y = y;
    const int64_t n = e->tasks(&p, 3);
    for (int64_t i = 0; i < n; i++)
        e->run(&p, i, n, scratch);
    free(packed), free(scratch);
    return y;
}

static void layers_are_the_emulation(void)
{
    static const int shapes[][3] = {{1, 33, 5}, {50, 96, 320}, {200, 130, 1700}};
    for (int i = 0; i < 12; i++) {
        const int m = shapes[i % 3][0], n = shapes[i % 3][1], k = shapes[i % 3][2];
        const int terms = 2 + i / 3 % 2;
        struct bi_counts counts = {.n_rows = m};
        float *x = numbers((size_t)(m * k)), *w = numbers((size_t)(n * k));
        float *bias = numbers((size_t)n);
        const struct bi_linear_params p = {.counts = &counts,
                                           .axis = BI_AXIS_ROWS,
                                           .rows = m,
                                           .n = n,
                                           .k = k,
                                           .x = x,
                                           .ldx = k,
                                           .ldy = n,
                                           .bias = bias,
                                           .act = i % 5};
        float *y = run_linear(bi_cpu_kernels_amx(terms), p, w);
        float *z = run_linear(bi_cpu_kernels_amx_emulated(terms), p, w);
        CHECK(!memcmp(y, z, (size_t)(m * n) * sizeof *y));
        free(x), free(w), free(bias), free(y), free(z);
    }
}

static const struct bi_cpu_kernels *find(const char *name)
{
    const struct bi_cpu_kernels *k;
    for (int i = 0; (k = bi_cpu_kernels_usable(i)); i++)
        if (!strcmp(k->name, name))
            break;
    return k;
}

int main(int argc, char **argv)
{
    const bool chip = argc > 1 && !strcmp(argv[1], "--chip");
    if (!find("amx-emulated")) {
        printf("no AVX2, on which the emulation stands\n");
        return 77;
    }
    TEST(emulation_is_the_manual);
    if (find("amx")) {
        TEST(chip_is_the_emulation);
        TEST(layers_are_the_emulation);
        printf("the chip's tiles are tested\n");
    } else {
        printf("no tiles of a chip: %s\n", bi_cpu_amx_refused() ? bi_cpu_amx_refused() : "no AMX");
        CHECK(!chip);
    }
    return test_report();
}

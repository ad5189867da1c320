/* base_test.c - memory, statuses, float16, element types, full tables, random words. */
#include "base/base.h"

#include <errno.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/random.h"
#include "base/seen.h"

#include "../test.h"

/* Sizes whose product does not fit are no memory, rather than less memory. */
static void products_do_not_wrap(void)
{
    static const struct {
        size_t n, size;
    } cases[] = {{SIZE_MAX / 2 + 2, 2}, {4, SIZE_MAX / 4 + 2}, {SIZE_MAX, SIZE_MAX}};
    const struct bi_env env = bi_env_default();
    struct bi_arena arena = {.env = &env};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        void *p = bi_calloc(&env, cases[i].n, cases[i].size);
        CHECK(!p);
        bi_free(&env, p);
        CHECK(!bi_arena_calloc(&arena, cases[i].n, cases[i].size));
    }
    bi_arena_reset(&arena);
}

/* Whatever was taken before, memory of an arena fits every type; it is what was asked for. */
static void arenas_align(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_arena arena = {.env = &env};
    unsigned char *at[80];
    for (size_t n = 0; n < BI_COUNT(at); n++)
        if (CHECK((at[n] = bi_arena_alloc(&arena, n)) && (uintptr_t)at[n] % 16 == 0))
            memset(at[n], (int)n, n);
    for (size_t n = 0; n < BI_COUNT(at); n++)
        for (size_t i = 0; at[n] && i < n; i++)
            CHECK_EQ(at[n][i], n);
    bi_arena_reset(&arena);
}

static void statuses_tell_reasons(void)
{
    CHECK_EQ(bi_status_from_errno(ENOSPC), BIOINFER_NO_SPACE);
    CHECK_EQ(bi_status_from_errno(EDQUOT), BIOINFER_NO_SPACE);
    CHECK_EQ(bi_status_from_errno(EROFS), BIOINFER_IO);
    CHECK_EQ(bi_status_from_errno(ENOENT), BIOINFER_NOT_FOUND);
    CHECK_EQ(bi_status_from_errno(EMFILE), BIOINFER_NOMEM);
}

/* The nearest float16, the even one of two; beyond 65504 by half a step or more it is infinite. */
static void halves_are_the_nearest(void)
{
    static const struct {
        float x;
        uint16_t half;
    } cases[] = {{0, 0},
                 {-0.0F, 0x8000},
                 {1, 0x3C00},
                 {-2, 0xC000},
                 {1 + 0x1p-10F, 0x3C01},
                 {1 + 0x1p-11F, 0x3C00}, /* between 0x3C00 and 0x3C01 */
                 {1 + 0x1p-11F + 0x1p-23F, 0x3C01},
                 {1 + 0x3p-11F, 0x3C02}, /* between 0x3C01 and 0x3C02 */
                 {65504, 0x7BFF},
                 {-65519.99F, 0xFBFF},
                 {65520, 0x7C00},
                 {65536, 0x7C00},
                 {3e38F, 0x7C00},
                 {-INFINITY, 0xFC00},
                 {0x1p-14F, 0x0400},
                 {0x1p-24F, 0x0001},
                 {0x1p-25F, 0}, /* between 0 and 0x0001 */
                 {0x3p-25F, 0x0002}};
    for (size_t i = 0; i < BI_COUNT(cases); i++)
        if (!CHECK_EQ(bi_f32_to_f16(cases[i].x), cases[i].half))
            fprintf(stderr, "    %a\n", (double)cases[i].x);
    CHECK_EQ(bi_f32_to_f16(NAN) & 0x7E00, 0x7E00);
    for (uint32_t h = 0; h <= UINT16_MAX; h++) { /* each of them is itself, but for kinds of NaN */
        const float x = bi_f16_to_f32((uint16_t)h);
        if (x == x)
            CHECK_EQ(bi_f32_to_f16(x), h);
    }
}

/* Numbers of all types that weights have, as they are in files: negative and large ones, too. */
static void types_become_floats(void)
{
    static const uint8_t i32[] = {0xFE, 0xFF, 0xFF, 0xFF, 0x00, 0x01, 0x00, 0x00};
    static const uint8_t i64[] = {0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                  0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00};
    static const uint8_t f32[] = {0x00, 0x00, 0x80, 0xBF, 0x00, 0x00, 0x00, 0x40};
    static const uint8_t f64[] = {0, 0, 0, 0, 0, 0, 0xF8, 0xBF, 0, 0, 0, 0, 0, 0, 0xE0, 0x3F};
    static const uint8_t f16[] = {0x00, 0xBC, 0x01, 0x00}, bf16[] = {0x80, 0xBF, 0x00, 0x40};
    static const uint8_t bytes[] = {0xFF, 0x01};
    static const struct {
        enum bi_dtype dtype;
        const uint8_t *bytes;
        float want[2];
    } cases[] = {{BI_I32, i32, {-2, 256}},      {BI_I64, i64, {-3, 4294967296.0F}},
                 {BI_F32, f32, {-1, 2}},        {BI_F64, f64, {-1.5F, 0.5F}},
                 {BI_F16, f16, {-1, 0x1p-24F}}, {BI_BF16, bf16, {-1, 2}},
                 {BI_U8, bytes, {255, 1}}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        float got[2] = {0, 0};
        bi_dtype_to_f32(cases[i].dtype, cases[i].bytes, 2, got);
        if (!CHECK(got[0] == cases[i].want[0] && got[1] == cases[i].want[1]))
            fprintf(stderr, "    %s: %g, %g\n", bi_dtype_name(cases[i].dtype), (double)got[0],
                    (double)got[1]);
    }
}

/* A full table knows what it has, and takes nothing more. */
static void tables_are_full_at_their_limit(void)
{
    enum { MOST = 100 };
    const struct bi_env env = bi_env_default();
    struct bi_seen seen = {.env = &env, .max = MOST};
    struct bi_seen_slot *slot;
    for (int i = 0; i < MOST; i++) {
        CHECK_EQ(bi_seen_add(&seen, &i, sizeof i, &slot), 1);
        slot->a = (uint32_t)i;
    }
    for (int i = 0; i < MOST; i++) {
        CHECK_EQ(bi_seen_add(&seen, &i, sizeof i, &slot), 0);
        CHECK_EQ(slot->a, i);
    }
    for (int i = MOST; i < MOST + 2; i++) {
        CHECK_EQ(bi_seen_add(&seen, &i, sizeof i, &slot), BIOINFER_LIMIT);
        CHECK(!slot && !bi_seen_find(&seen, &i, sizeof i));
    }
    bi_seen_free(&seen);
}

/* The vectors that Random123 brings; the first numbers of mt19937, and that which C++ asks for. */
static void random_words_are_the_published_ones(void)
{
    static const struct {
        uint64_t key;
        uint32_t counter[4], want[4];
    } cases[] = {{0, {0}, {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}},
                 {UINT64_MAX,
                  {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
                  {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}},
                 {0x299F31D0A4093822,
                  {0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344},
                  {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}}};
    static const uint32_t first[] = {3499211612u, 581869302u, 3890346734u, 3586334585u, 545404204u};
    struct bi_random r;
    uint32_t word = 0;
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        uint32_t got[4];
        bi_philox(cases[i].key, cases[i].counter, got);
        CHECK(!memcmp(got, cases[i].want, sizeof got));
    }
    bi_random_start(&r, BI_RNG_TORCH, 5489, 0);
    for (size_t i = 0; i < 10000; i++) {
        word = bi_mt19937(&r);
        if (i < BI_COUNT(first))
            CHECK_EQ(word, first[i]);
    }
    CHECK_EQ(word, 4123659995u);
}

int main(void)
{
    TEST(products_do_not_wrap);
    TEST(arenas_align);
    TEST(statuses_tell_reasons);
    TEST(halves_are_the_nearest);
    TEST(types_become_floats);
    TEST(tables_are_full_at_their_limit);
    TEST(random_words_are_the_published_ones);
    return test_report();
}

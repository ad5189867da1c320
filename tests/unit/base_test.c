/* base_test.c - memory, statuses, float16, element types, full tables, random words. */
#include "base/base.h"

#include <errno.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/random.h"
#include "base/seen.h"
#include "base/sha256.h"

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

/* The sums of FIPS 180-4's examples, and of 1 to 300 letters, by instructions and in C, in pieces
 * of any size. */
static void sums_are_those_of_the_standard(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                 {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                 {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
    char text[301], all[2][BI_SHA256_TEXT];
    struct bi_sha256 s[2], total[2];
    for (size_t i = 0; i < 300; i++)
        text[i] = (char)('a' + i % 23);
    for (int plain = 0; plain < 2; plain++) {
        for (size_t i = 0; i < BI_COUNT(cases); i++) {
            bi_sha256_begin(s, plain);
            bi_sha256_add(s, cases[i].text, strlen(cases[i].text));
            bi_sha256_end(s, all[0]);
            CHECK(!strcmp(all[0], cases[i].want));
        }
        bi_sha256_begin(&total[plain], plain);
    }
    for (size_t n = 0; n <= 300; n++) {
        for (int plain = 0; plain < 2; plain++) {
            const size_t step = plain ? n + 1 : n % 67 + 1; /* at once, or in pieces */
            bi_sha256_begin(&s[plain], plain);
            for (size_t at = 0; at < n; at += step)
                bi_sha256_add(&s[plain], text + at, n - at < step ? n - at : step);
            bi_sha256_end(&s[plain], all[plain]);
            bi_sha256_add(&total[plain], all[plain], 64);
        }
        CHECK(!strcmp(all[0], all[1]));
    }
    for (int plain = 0; plain < 2; plain++) {
        bi_sha256_end(&total[plain], all[plain]);
        CHECK(!strcmp(all[plain],
                      "4921d7787d008415a4bcb65c9e263231232c1beaba0b841f7ffbd7e52bdc857c"));
    }
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
    TEST(sums_are_those_of_the_standard);
    return test_report();
}

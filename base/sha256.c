/* sha256.c - SHA-256: the processor's instructions where it has them, else C. */
#include "sha256.h"

#include <string.h>

static const uint32_t table[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

static uint32_t turned(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Adds n blocks of 64 bytes. */
static void add_plain(uint32_t h[8], const uint8_t *blocks, size_t n)
{
    for (; n; n--, blocks += 64) {
        uint32_t w[64], s[8];
        for (int i = 0; i < 16; i++)
            w[i] = word(blocks + 4 * i);
        for (int i = 16; i < 64; i++) {
            const uint32_t a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + w[i - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) +
                   (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
        }
        memcpy(s, h, sizeof s);
        for (int i = 0; i < 64; i++) {
            const uint32_t a = s[0], e = s[4];
            const uint32_t t = s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                               ((e & s[5]) ^ (~e & s[6])) + table[i] + w[i];
            const uint32_t u = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
                               ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
            memmove(s + 1, s, 7 * sizeof *s);
            s[4] += t;
            s[0] = t + u;
        }
        for (int i = 0; i < 8; i++)
            h[i] += s[i];
    }
}

#if defined __x86_64__

#include <cpuid.h>
#include <immintrin.h>

/* The same by SHA-NI, whose registers hold the words as ABEF and CDGH. */
__attribute__((target("sha,sse4.1"))) static void add_fast(uint32_t h[8], const uint8_t *blocks,
                                                           size_t n)
{
    const __m128i swap = _mm_set_epi64x(0x0C0D0E0F08090A0B, 0x0405060700010203);
    __m128i t = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)h), 0xB1);
    __m128i c = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(h + 4)), 0x1B);
    __m128i a = _mm_alignr_epi8(t, c, 8);
    c = _mm_blend_epi16(c, t, 0xF0);
    for (; n; n--, blocks += 64) {
        const __m128i a0 = a, c0 = c;
        __m128i w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(blocks + 16 * i)), swap);
        for (int i = 0; i < 16; i++) {
            const __m128i now = w[i & 3];
            const __m128i k = _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(table + 4 * i)));
            c = _mm_sha256rnds2_epu32(c, a, k);
            a = _mm_sha256rnds2_epu32(a, c, _mm_shuffle_epi32(k, 0x0E));
            if (i < 12) { /* the words that take the place of these four */
                const __m128i last = w[(i + 3) & 3];
                const __m128i mid = _mm_alignr_epi8(last, w[(i + 2) & 3], 4);
                const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) & 3]), mid);
                w[i & 3] = _mm_sha256msg2_epu32(sum, last);
            }
        }
        a = _mm_add_epi32(a, a0);
        c = _mm_add_epi32(c, c0);
    }
    t = _mm_shuffle_epi32(a, 0x1B);
    c = _mm_shuffle_epi32(c, 0xB1);
    _mm_storeu_si128((__m128i *)h, _mm_blend_epi16(t, c, 0xF0));
    _mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(c, t, 8));
}

static int has_fast(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
        return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}

#else

#define add_fast add_plain

static int has_fast(void)
{
    return 0;
}

#endif

void bi_sha256_begin(struct bi_sha256 *s, int plain)
{
    static const uint32_t first[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                      0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
    memset(s, 0, sizeof *s);
    memcpy(s->h, first, sizeof first);
    s->add = !plain && has_fast() ? add_fast : add_plain;
}

void bi_sha256_add(struct bi_sha256 *s, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    const size_t have = s->n % sizeof s->block, lack = sizeof s->block - have;
    s->n += n;
    if (have && n >= lack) {
        memcpy(s->block + have, p, lack);
        s->add(s->h, s->block, 1);
        p += lack;
        n -= lack;
    } else if (have) {
        memcpy(s->block + have, p, n);
        return;
    }
    s->add(s->h, p, n / sizeof s->block);
    if (n % sizeof s->block)
        memcpy(s->block, p + n - n % sizeof s->block, n % sizeof s->block);
}

void bi_sha256_end(struct bi_sha256 *s, char text[BI_SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    const uint64_t bits = 8 * s->n;
    uint8_t tail[72] = {0x80};
    const size_t zeros = (119 - s->n % 64) % 64; /* after the 0x80, up to the length */
    for (int i = 0; i < 8; i++)
        tail[1 + zeros + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    bi_sha256_add(s, tail, 9 + zeros);
    for (int i = 0; i < 64; i++)
        text[i] = digits[s->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    text[64] = '\0';
}

/* crc32c.c - CRC-32C: the processor's instruction where it has one, else a table. */
#include "crc32c.h"

/* One byte of the reflected polynomial 0x82F63B78, built at compile time. */
#define BIT(c) ((c) & 1 ? 0x82F63B78u ^ (c) >> 1 : (c) >> 1)
#define BIT2(c) BIT(BIT(c))
#define BIT4(c) BIT2(BIT2(c))

/* CRC of every 4-bit value: two steps a byte need 64 bytes of table and no set-up. */
static const uint32_t nibble[16] = {
    BIT4(0u), BIT4(1u), BIT4(2u),  BIT4(3u),  BIT4(4u),  BIT4(5u),  BIT4(6u),  BIT4(7u),
    BIT4(8u), BIT4(9u), BIT4(10u), BIT4(11u), BIT4(12u), BIT4(13u), BIT4(14u), BIT4(15u),
};

uint32_t bi_crc32c_plain(uint32_t crc, const void *bytes, size_t n)
{
    crc = ~crc;
    for (const uint8_t *p = bytes; n; n--, p++) {
        crc ^= *p;
        crc = nibble[crc & 15] ^ crc >> 4;
        crc = nibble[crc & 15] ^ crc >> 4;
    }
    return ~crc;
}

#if defined __x86_64__

#include <cpuid.h>

__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t crc, const void *bytes,
                                                           size_t n)
{
    const uint8_t *p = bytes;
    uint64_t c = ~crc;
    for (; n >= 8; n -= 8, p += 8)
        c = __builtin_ia32_crc32di(c, bi_le64(p));
    for (; n; n--, p++)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p);
    return ~(uint32_t)c;
}

bi_crc32c bi_crc32c_best(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2 ? crc_fast : bi_crc32c_plain;
}

#elif defined __ARM_FEATURE_CRC32

#include <arm_acle.h>

static uint32_t crc_fast(uint32_t crc, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8)
        crc = __crc32cd(crc, bi_le64(p));
    for (; n; n--, p++)
        crc = __crc32cb(crc, *p);
    return ~crc;
}

bi_crc32c bi_crc32c_best(void)
{
    return crc_fast;
}

#else

bi_crc32c bi_crc32c_best(void)
{
    return bi_crc32c_plain;
}

#endif

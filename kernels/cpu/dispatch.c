/* dispatch.c - which tables of kernels this machine can run. */
#define _GNU_SOURCE
#include "cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined __x86_64__

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* XCR0: the register states the system saves on a task switch. */
static unsigned saved_states(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

#define HAS(word, bits) (((word) & (bits)) == (bits))

/* Sets of instructions that the processor has and the system saves the registers of; bits. */
enum feature { AVX2 = 1, AVX512 = 2, AMX = 4 };

static unsigned features(void)
{
    enum { XMM_YMM = 0x6, OPMASK_ZMM = 0xe0 };
    const unsigned ecx1 = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
    const unsigned ebx7 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !HAS(c, ecx1))
        return 0;
    unsigned states = saved_states();
    if (!HAS(states, XMM_YMM) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !HAS(b, bit_AVX2))
        return 0;
    return HAS(b, ebx7) && HAS(states, OPMASK_ZMM) ? AVX2 | AVX512 : AVX2;
}

bool bi_cpu_has_vbmi(void)
{
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && HAS(c, bit_AVX512VBMI);
}

/* Asks for the tiles, for all threads of the process; asked again, the system answers the same.
 * True: they are usable. Else *refusal is why, where the processor has them. */
static bool has_amx(const char **refusal)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18, TILES = 3 << 17 }; /* Linux 5.16 */
    const unsigned tile_bf16 = 1u << 24 | 1u << 22, avx512_bf16 = 1u << 5;
    unsigned a, b, c, d;
    *refusal = NULL;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !HAS(d, tile_bf16) ||
        !__get_cpuid_count(7, 1, &a, &b, &c, &d) || !HAS(a, avx512_bf16))
        return false;
    if (!HAS(saved_states(), TILES))
        *refusal = "the system does not save AMX tiles";
    else if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA))
        *refusal = "the system does not grant AMX tiles to this process";
    return !*refusal;
}

const char *bi_cpu_amx_refused(void)
{
    const char *refusal = NULL;
    if (features() & AVX512)
        has_amx(&refusal);
    return refusal;
}

static void brand(char text[49])
{
    unsigned a, b, c, d, word[12] = {0};
    if (__get_cpuid(0x80000000u, &a, &b, &c, &d) && a >= 0x80000004u)
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &word[4 * i], &word[4 * i + 1], &word[4 * i + 2],
                        &word[4 * i + 3]);
    memcpy(text, word, sizeof word);
    text[48] = 0;
}

static const struct bi_cpu_kernels *amx(void)
{
    return bi_cpu_kernels_amx(3);
}

static const struct bi_cpu_kernels *amx_2(void)
{
    return bi_cpu_kernels_amx(2);
}

static const struct bi_cpu_kernels *emulated(void)
{
    return bi_cpu_kernels_amx_emulated(3);
}

static const struct bi_cpu_kernels *emulated_2(void)
{
    return bi_cpu_kernels_amx_emulated(2);
}

/* Tables in the order of choice, and the features that each needs. AMX is behind the others: three
 * terms took 1.2 times as long as AVX-512 where two threads share tiles. */
static const struct {
    const struct bi_cpu_kernels *(*table)(void);
    unsigned needs;
} rows[] = {{bi_cpu_kernels_avx512, AVX512},
            {bi_cpu_kernels_avx2, AVX2},
            {bi_cpu_kernels_generic, 0},
            {amx, AVX512 | AMX},
            {amx_2, AVX512 | AMX},
            {emulated, AVX2},
            {emulated_2, AVX2}};

const struct bi_cpu_kernels *bi_cpu_kernels_usable(int index)
{
    const char *refusal;
    unsigned has = features();
    if (has & AVX512 && has_amx(&refusal))
        has |= AMX;
    for (size_t i = 0; index >= 0 && i < sizeof rows / sizeof *rows; i++)
        if (HAS(has, rows[i].needs) && !index--)
            return rows[i].table();
    return NULL;
}

#else

static void brand(char text[49])
{
#if defined __aarch64__
    strcpy(text, "aarch64");
#else
    strcpy(text, "CPU");
#endif
}

const char *bi_cpu_amx_refused(void)
{
    return NULL;
}

const struct bi_cpu_kernels *bi_cpu_kernels_usable(int index)
{
#if defined __aarch64__
    if (index == 0) /* every aarch64 machine has NEON */
        return bi_cpu_kernels_neon();
    index--;
#endif
    return index == 0 ? bi_cpu_kernels_generic() : NULL;
}

#endif

static bool is_given(const char *text)
{
    return text && *text;
}

const struct bi_cpu_kernels *bi_cpu_kernels_choose(const char *name, const char *precision)
{
    const struct bi_cpu_kernels *k;
    for (int i = 0; (k = bi_cpu_kernels_usable(i)); i++)
        if ((is_given(name) ? !strcmp(name, k->name) : !k->by_name) &&
            (!is_given(precision) || !strcmp(precision, k->precision)))
            return k;
    return NULL;
}

void bi_cpu_description(char *text, size_t size)
{
    char name[49];
    brand(name);
    const char *start = name + strspn(name, " ");
    size_t n = strlen(start);
    while (n && start[n - 1] == ' ')
        n--;
    snprintf(text, size, "%.*s (%s)", n ? (int)n : 3, n ? start : "CPU",
             bi_cpu_kernels_usable(0)->name);
}

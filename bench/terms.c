/* terms.c - would products of bfloat16 terms pay on a processor without AMX?
 *
 *     terms
 *
 * A float32 as the sum of two bfloat16 terms takes three products, of three terms six. This
 * measures, on one core and in registers, how many multiply-adds a nanosecond float32 has and how
 * many the instruction for bfloat16 has (VDPBF16PS of AVX-512, BFMMLA of ARM), by turns, the
 * fastest of 15 short runs of each. A third and a sixth of the ratio are what linear layers in two
 * and in three terms could reach at most against float32; below 1 they do not pay. */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { CHAINS = 12, ROUNDS = 1000000, RUNS = 15 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* NAME(): ROUNDS times CHAINS independent instructions s[i] = STEP of a and b, which the compiler
 * must think change each time. */
#define PROBE(name, vector, operand, start, value, step, constraint)                               \
    USES static void name(void)                                                                    \
    {                                                                                              \
        vector s[CHAINS];                                                                          \
        operand a = value, b = value;                                                              \
        for (int i = 0; i < CHAINS; i++)                                                           \
            s[i] = start;                                                                          \
        for (int n = 0; n < ROUNDS; n++) {                                                         \
            __asm__ volatile("" : "+" constraint(a), "+" constraint(b));                           \
            _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) s[i] = step;                 \
        }                                                                                          \
        for (int i = 0; i < CHAINS; i++)                                                           \
            __asm__ volatile("" : : constraint(s[i]));                                             \
    }

#if defined __x86_64__

#include <immintrin.h>

#define USES __attribute__((target("avx512f,avx512bw,avx512bf16")))
enum { FLOAT_WIDTH = 16, TERM_WIDTH = 32 }; /* multiply-adds of one instruction */
static const char instruction[] = "VDPBF16PS";
PROBE(floats, __m512, __m512, _mm512_setzero_ps(), _mm512_set1_ps(1e-3f),
      _mm512_fmadd_ps(a, b, s[i]), "v")
PROBE(terms, __m512, __m512bh, _mm512_setzero_ps(), (__m512bh)_mm512_set1_epi16(0x3a83),
      _mm512_dpbf16_ps(s[i], a, b), "v")

static bool has_terms(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16");
}

#elif defined __aarch64__

#include <arm_neon.h>
#include <sys/auxv.h>

#define USES __attribute__((target("arch=armv8.2-a+bf16")))
enum { FLOAT_WIDTH = 4, TERM_WIDTH = 16 };
static const char instruction[] = "BFMMLA";
PROBE(floats, float32x4_t, float32x4_t, vdupq_n_f32(0), vdupq_n_f32(1e-3f), vfmaq_f32(s[i], a, b),
      "w")
PROBE(terms, float32x4_t, bfloat16x8_t, vdupq_n_f32(0), vreinterpretq_bf16_u16(vdupq_n_u16(0x3a83)),
      vbfmmlaq_f32(s[i], a, b), "w")

static bool has_terms(void)
{
    const unsigned long hwcap2_bf16 = 1ul << 14;
    return getauxval(AT_HWCAP2) & hwcap2_bf16;
}

#else

enum { FLOAT_WIDTH = 1, TERM_WIDTH = 1 };
static const char instruction[] = "instruction";
static void floats(void)
{
}
static void terms(void)
{
}
static bool has_terms(void)
{
    return false;
}

#endif

/* Instructions a nanosecond of CPU time. */
static double rate_of(void (*probe)(void))
{
    const double begun = now();
    probe();
    return (double)CHAINS * ROUNDS / (now() - begun) * 1e-9;
}

int main(void)
{
    double of_floats = 0, of_terms = 0;
    if (!has_terms()) {
        printf("no bfloat16 %s here\n", instruction);
        return 77;
    }
    for (int i = 0; i < RUNS; i++) {
        const double x = rate_of(floats), y = rate_of(terms);
        of_floats = x > of_floats ? x : of_floats;
        of_terms = y > of_terms ? y : of_terms;
    }
    const double ratio = of_terms * TERM_WIDTH / (of_floats * FLOAT_WIDTH);
    printf("multiply-adds a nanosecond: float32 %.1f (%.2f instructions), %s %.1f (%.2f); linear "
           "layers at most: two terms %.2fx, three %.2fx\n",
           of_floats * FLOAT_WIDTH, of_floats, instruction, of_terms * TERM_WIDTH, of_terms,
           ratio / 3, ratio / 6);
    return 0;
}

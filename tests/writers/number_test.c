/* number_test.c - printing floats so that they read back equal, and reading decimals. */
#include "../../base/number.h"

#include <locale.h>

#include "../test.h"

static uint64_t random_state = 1;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void prints_f32(void)
{
    static const struct {
        float x;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0f, "-0.0"},
        {1, "1"},
        {-2.5f, "-2.5"},
        {0.1f, "0.1"},
        {1.0f / 3, "0.33333334"},
        {16777216, "16777216"},
        {1e-5f, "0.00001"},
        {1.5e-6f, "0.0000015"},
        {1.5e-7f, "1.5e-07"},
        {123456784, "123456780"},
        {9999999e3f, "9999999000"},
        {1e10f, "1e+10"},
        {3.4028235e38f, "3.4028235e+38"},
        {1.17549435e-38f, "1.1754944e-38"},
        {1.4e-45f, "1e-45"},
        {4.2e-45f, "4e-45"},
        {8.589974e9f, "8589974000"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "NaN"},
    };
    char text[BI_NUMBER_SIZE];
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        CHECK_EQ(bi_print_f32(text, cases[i].x), strlen(cases[i].text));
        CHECK_STR(text, cases[i].text);
    }
}

/* Shortest: no fewer digits read back equal. */
static void prints_f32_shortest(void)
{
    char text[BI_NUMBER_SIZE], fewer[64];
    for (int i = 0; i < 200000; i++) {
        union {
            uint32_t u;
            float f;
        } v = {.u = (uint32_t)random_bits()};
        double back;
        size_t n, digits = 0;
        if (i < 2048) /* all powers of two and their neighbours */
            v.u = (uint32_t)(i / 8) << 23 | ((uint32_t)(i % 8 - 4) & 0x7FFFFF);
        if (v.f - v.f != 0)
            continue;
        n = bi_print_f32(text, v.f);
        CHECK(n < BI_NUMBER_SIZE && strlen(text) == n);
        if (!CHECK(bi_parse_f64(text, n, &back) && (float)back == v.f))
            fprintf(stderr, "    %s\n", text);
        for (const char *p = text; *p && *p != 'e'; p++)
            digits += *p >= '0' && *p <= '9' && (digits || *p != '0');
        if (v.f == 0 || strchr(text, 'e') == NULL) /* zeros of a plain number may be room */
            continue;
        if (digits > 1) {
            snprintf(fewer, sizeof fewer, "%.*e", (int)digits - 2, (double)v.f);
            CHECK(strtof(fewer, NULL) != v.f);
        }
    }
}

static void prints_nine_digits(void)
{
    for (int i = 0; i < 400000; i++) {
        union {
            uint32_t u;
            float f;
        } v = {.u = (uint32_t)random_bits()};
        char text[BI_NUMBER_SIZE], want[64];
        if (i < 2048) /* all powers of two and their neighbours */
            v.u = (uint32_t)(i / 8) << 23 | ((uint32_t)(i % 8 - 4) & 0x7FFFFF);
        else if (i < 100000) /* numbers of a few digits, and halves of a digit */
            v.f = (float)(i * 5) / (float)(1 << i % 24);
        if (v.f != v.f)
            v.u &= INT32_MAX;
        snprintf(want, sizeof want, "%.9g", (double)v.f);
        CHECK_EQ(bi_print_g9(text, v.f), strlen(want));
        CHECK_STR(text, want);
    }
}

static void prints_f64(void)
{
    char text[BI_NUMBER_SIZE];
    CHECK_EQ(bi_print_f64(text, 0.1), 3);
    CHECK_STR(text, "0.1");
    bi_print_f64(text, -1e300);
    CHECK_STR(text, "-1e+300");
    bi_print_f64(text, 5e-324);
    CHECK_STR(text, "4.94065645841247e-324");
    bi_print_f64(text, 0.1 + 0.2);
    CHECK_STR(text, "0.30000000000000004");
    bi_print_f64(text, -12.345678);
    CHECK_STR(text, "-12.345678");
    bi_print_f64(text, 123456789.012345);
    CHECK_STR(text, "123456789.012345");
    bi_print_f64(text, 1e-6);
    CHECK_STR(text, "0.000001");
    bi_print_f64(text, 1200);
    CHECK_STR(text, "1200");
    bi_print_f64(text, 1e15);
    CHECK_STR(text, "1e+15");
    for (int i = 0; i < 20000; i++) { /* few digits stay as they are */
        char want[BI_NUMBER_SIZE];
        const int places = 1 + i % 9;
        size_t n = (size_t)snprintf(want, sizeof want, "%llu.%0*llu",
                                    (unsigned long long)(random_bits() % 99999), places,
                                    (unsigned long long)(random_bits() % 1000000000));
        const char *point = strchr(want, '.');
        want[n = (size_t)(point - want) + 1 + (size_t)places] = '\0';
        while (want[n - 1] == '0')
            want[--n] = '\0';
        if (want[n - 1] == '.')
            want[--n] = '\0';
        if (strtod(want, NULL) < 1e-6)
            continue;
        bi_print_f64(text, strtod(want, NULL));
        CHECK_STR(text, want);
    }
    for (int i = 0; i < 200000; i++) {
        union {
            uint64_t u;
            double f;
        } v = {.u = random_bits()};
        double back;
        size_t n;
        if (v.f - v.f != 0)
            continue;
        n = bi_print_f64(text, v.f);
        CHECK(n < BI_NUMBER_SIZE && bi_parse_f64(text, n, &back) && back == v.f);
    }
}

static void parses(void)
{
    static const char *const good[] = {
        /* clang-format off */
        "0", "-0", "+1", "1.", ".5", "00012.50", "1e5", "1E+5", "1e-5", "123456789012345678901",
        "1e308", "1.7976931348623157e308", "1.7976931348623159e308", "1e309", "-1e400", "5e-324",
        "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "9007199254740993",
        "9007199254740992.99999999999999999999", "9007199254740993.0000000000000000000001",
        "2.2250738585072011e-308", "2.2250738585072014e-308", "0.000000000000000000000000000001",
        "1e22", "1e23", "8.41e21", "9.5367431640625e-07", "1e99999999999", "1e-99999999999",
        "0e99999999999", "100000000000000016777215", "100000000000000016777216",
        /* clang-format on */
    };
    static const char *const bad[] = {"",      "-",    ".",   "e5",  "1e",  "1e+",   " 1",  "1 ",
                                      "1.2.3", "0x10", "nan", "inf", "1,5", "1e5.5", "--1", "1f"};
    double x;
    for (size_t i = 0; i < BI_COUNT(good); i++) {
        CHECK(bi_parse_f64(good[i], strlen(good[i]), &x));
        if (!CHECK(x == strtod(good[i], NULL)))
            fprintf(stderr, "    %s: %a\n", good[i], x);
    }
    x = 7;
    for (size_t i = 0; i < BI_COUNT(bad); i++)
        if (!CHECK(!bi_parse_f64(bad[i], strlen(bad[i]), &x) && x == 7))
            fprintf(stderr, "    '%s'\n", bad[i]);
}

/* Against strtod: random digits and exponents, long ones, and the middle of two doubles. */
static void parses_like_strtod(void)
{
    char text[1200];
    for (int i = 0; i < 10000; i++) {
        union {
            uint64_t u;
            double f;
        } v = {.u = random_bits()};
        double x;
        int n;
        if (i % 3 == 0)
            v.u &= 0x800FFFFFFFFFFFFFu;
        if (v.f - v.f != 0)
            continue;
        if (i % 4 == 0)
            n = snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)random_bits(),
                         (unsigned long long)random_bits(), (int)(random_bits() % 700) - 350);
        else if (i % 4 == 1)
            n = snprintf(text, sizeof text, "%.*e", (int)(random_bits() % 800), v.f);
        else if (i % 4 == 2) /* exactly between v.f and the next double */
            n = snprintf(text, sizeof text, "%.1100Lg",
                         (long double)v.f + ((long double)nextafter(v.f, INFINITY) - v.f) / 2);
        else
            n = snprintf(text, sizeof text, "%.17g", v.f);
        if (strstr(text, "inf"))
            continue;
        CHECK(bi_parse_f64(text, (size_t)n, &x));
        if (!CHECK(x == strtod(text, NULL)))
            fprintf(stderr, "    %.60s: %a, expected %a\n", text, x, strtod(text, NULL));
    }
}

static void ignores_the_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    char text[BI_NUMBER_SIZE];
    double x;
    for (size_t i = 0; i < BI_COUNT(names); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        bi_print_f64(text, -1234.5);
        CHECK_STR(text, "-1234.5");
        bi_print_f32(text, 0.1f);
        CHECK_STR(text, "0.1");
        CHECK(bi_parse_f64("1.5", 3, &x) && x == 1.5);
        CHECK(!bi_parse_f64("1,5", 3, &x));
    }
    setlocale(LC_ALL, "C");
}

int main(void)
{
    TEST(prints_f32);
    TEST(prints_f32_shortest);
    TEST(prints_nine_digits);
    TEST(prints_f64);
    TEST(parses);
    TEST(parses_like_strtod);
    TEST(ignores_the_locale);
    return test_report();
}

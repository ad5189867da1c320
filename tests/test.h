/* test.h - a test is a function; a failed CHECK is printed and counted, the rest goes on.
 *
 *     static void reads_empty_file(void) { CHECK(n == 0); }
 *     int main(void) { TEST(reads_empty_file); return test_report(); }
 */
#ifndef BI_TEST_H
#define BI_TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Threads of a test check, too. */
#ifdef __cplusplus
#include <atomic>
static std::atomic<long> test_checks, test_failures;
#else
static _Atomic long test_checks, test_failures;
#endif
static const char *test_name = "";

#define CHECK(cond) test_check((cond) != 0, #cond, __FILE__, __LINE__)
#define CHECK_EQ(a, b) test_equal((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_STR(a, b) test_string((a), (b), #a, __FILE__, __LINE__)
/* `text` must contain `part` */
#define CHECK_HAS(text, part) test_has((text), (part), #text, __FILE__, __LINE__)
#define TEST(function)                                                                             \
    do {                                                                                           \
        test_name = #function;                                                                     \
        function();                                                                                \
    } while (0)

static inline int test_check(int ok, const char *what, const char *file, int line)
{
    test_checks++;
    if (!ok) {
        test_failures++;
        fprintf(stderr, "%s:%d: %s: failed: %s\n", file, line, test_name, what);
    }
    return ok;
}

static inline int test_equal(long long a, long long b, const char *what, const char *file, int line)
{
    int ok = test_check(a == b, what, file, line);
    if (!ok)
        fprintf(stderr, "    got %lld, expected %lld\n", a, b);
    return ok;
}

static inline int test_string(const char *a, const char *b, const char *what, const char *file,
                              int line)
{
    int ok = test_check(a && b && !strcmp(a, b), what, file, line);
    if (!ok)
        fprintf(stderr, "    got      '%s'\n    expected '%s'\n", a ? a : "(null)",
                b ? b : "(null)");
    return ok;
}

static inline int test_has(const char *text, const char *part, const char *what, const char *file,
                           int line)
{
    int ok = test_check(text && strstr(text, part), what, file, line);
    if (!ok)
        fprintf(stderr, "    got      '%s'\n    expected '...%s...'\n", text ? text : "(null)",
                part);
    return ok;
}

static inline int test_report(void)
{
    printf("%ld checks, %ld failed\n", (long)test_checks, (long)test_failures);
    return test_failures || !test_checks ? 1 : 0;
}

#endif

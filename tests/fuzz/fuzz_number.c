/* fuzz_number.c - numbers as text: floats that are printed must read back as the same bits, and
 * what is read must be what the C library reads.
 *
 * Reading a number that is not short takes long multiplications, which the fuzzer's tracing of
 * comparisons makes ten times as slow: an input is a few numbers, not many. */
#include "../../base/number.h"
#include "fuzz.h"

static void check_f32(const uint8_t *data)
{
    char text[BI_NUMBER_SIZE];
    union {
        uint32_t u;
        float f;
    } x = {.u = bi_le32(data)}, back;
    size_t n = bi_print_f32(text, x.f);
    double d;
    if (n != strlen(text) || n >= sizeof text)
        abort();
    if (x.f - x.f != 0) /* NaN and infinity have words, no number */
        return;
    if (!bi_parse_f64(text, n, &d))
        abort();
    back.f = (float)d;
    if (back.u != x.u)
        abort();
}

static void check_f64(const uint8_t *data)
{
    char text[BI_NUMBER_SIZE];
    union {
        uint64_t u;
        double f;
    } x = {.u = bi_le64(data)}, back;
    size_t n = bi_print_f64(text, x.f);
    if (n != strlen(text) || n >= sizeof text)
        abort();
    if (x.f - x.f == 0 && (!bi_parse_f64(text, n, &back.f) || back.u != x.u))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *end;
    double d;
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i + 4 <= size && i < 8; i += 4)
        check_f32(data + i);
    if (size >= 8)
        check_f64(data);
    if (bi_parse_f64(text, strlen(text), &d) && d - d == 0) /* our number equals libc's */
        if (d != strtod(text, &end) || *end)
            abort();
    free(text);
    return 0;
}

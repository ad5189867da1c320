/* text.c - text of outputs: UTF-8, JSON strings, base64, fields of tables. */
#include "text.h"

#include <string.h>

#include "../base/number.h"

size_t bi_utf8_char(const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text;
    uint8_t low = 0x80, high = 0xBF; /* bounds of the second byte */
    size_t length;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    length = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (p[0] == 0xE0)
        low = 0xA0; /* shorter forms exist */
    else if (p[0] == 0xED)
        high = 0x9F; /* surrogates */
    else if (p[0] == 0xF0)
        low = 0x90;
    else if (p[0] == 0xF4)
        high = 0x8F; /* beyond U+10FFFF */
    if (n < length || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 0;
    return length;
}

bool bi_utf8_valid(const char *text)
{
    size_t n = strlen(text), step;
    for (; n; text += step, n -= step)
        if (!(step = bi_utf8_char(text, n)))
            return false;
    return true;
}

void bi_put_utf8(struct bi_buf *out, const char *text)
{
    size_t n = strlen(text);
    while (n) {
        size_t step = bi_utf8_char(text, n);
        if (step)
            bi_buf_append(out, text, step);
        else
            bi_buf_append(out, "\xEF\xBF\xBD", 3);
        step += !step;
        text += step;
        n -= step;
    }
}

void bi_put_json(struct bi_buf *out, const char *text)
{
    size_t n = strlen(text);
    bi_buf_putc(out, '"');
    while (n) {
        unsigned char c = (unsigned char)text[0];
        size_t step = bi_utf8_char(text, n);
        if (c < 0x20 || c == 0x7F)
            bi_buf_printf(out, "\\u%04X", c);
        else if (c == '"' || c == '\\')
            bi_buf_append(out, (char[2]){'\\', text[0]}, 2);
        else if (step)
            bi_buf_append(out, text, step);
        else
            bi_buf_append(out, "\xEF\xBF\xBD", 3);
        step += !step;
        text += step;
        n -= step;
    }
    bi_buf_putc(out, '"');
}

void bi_put_base64(struct bi_buf *out, const void *bytes, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = bytes;
    uint64_t length;
    char *q;
    if (!bi_mul_size((uint64_t)n / 3 + 1, 4, &length) || length > SIZE_MAX) {
        out->failed = true;
        return;
    }
    if (!(q = bi_buf_reserve(out, (size_t)length)))
        return;
    for (; n >= 3; n -= 3, p += 3) {
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        *q++ = digit[v >> 18];
        *q++ = digit[v >> 12 & 63];
        *q++ = digit[v >> 6 & 63];
        *q++ = digit[v & 63];
    }
    if (n) {
        uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0);
        *q++ = digit[v >> 18];
        *q++ = digit[v >> 12 & 63];
        *q++ = n > 1 ? digit[v >> 6 & 63] : '=';
        *q++ = '=';
    }
    out->size = (size_t)(q - out->data);
}

void bi_put_field(struct bi_buf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bi_buf_putc(out, c < 0x20 || c == 0x7F ? ' ' : *text);
    }
}

void bi_put_u64(struct bi_buf *out, uint64_t n)
{
    char text[20], *p = text + sizeof text;
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    bi_buf_append(out, p, (size_t)(text + sizeof text - p));
}

void bi_put_f32(struct bi_buf *out, float x)
{
    char *p = bi_buf_reserve(out, BI_NUMBER_SIZE);
    if (p)
        out->size += bi_print_f32(p, x);
}

void bi_put_json_f32(struct bi_buf *out, float x)
{
    if (x - x == 0)
        bi_put_f32(out, x);
    else
        bi_buf_puts(out, "null");
}

int bi_count_cells(const char *head)
{
    int n = 1;
    for (; *head; head++)
        n = *head == '\n' && head[1] ? 1 : n + (*head == '\t');
    return n;
}

static void put_g9(struct bi_buf *out, float x)
{
    char *p = bi_buf_reserve(out, BI_NUMBER_SIZE);
    if (p)
        out->size += bi_print_g9(p, x);
}

static void put_cell(struct bi_buf *out, const struct bioinfer_column *c, int64_t row)
{
    const int64_t *at = c->data;
    if (c->type == BIOINFER_F32) {
        put_g9(out, ((const float *)c->data)[row]);
    } else if (c->type == BIOINFER_F64) {
        const double x = ((const double *)c->data)[row];
        bi_buf_printf(out, x == x ? "%.9g" : "nan", x);
    } else if (c->type == BIOINFER_I64) {
        if (at[row] != BIOINFER_MISSING)
            bi_buf_printf(out, "%lld", (long long)at[row]);
    } else {
        for (int64_t i = at[row]; i < at[row + 1]; i++)
            bi_buf_putc(out, strchr("\t\n\r", c->bytes[i]) ? ' ' : c->bytes[i]);
    }
}

void bi_put_lines(struct bi_buf *out, const struct bioinfer_result *r, int n_cells)
{
    const int n_numbers = n_cells - r->n_columns - 1;
    for (int64_t row = 0; row < r->n_rows && r->n_columns; row++) {
        for (int k = 0; k < r->n_columns; k++) {
            if (k)
                bi_buf_putc(out, '\t');
            put_cell(out, &r->columns[k], row);
        }
        if (n_numbers >= 0)
            bi_buf_printf(out, "\t%s", bi_status_name(r->status));
        for (int i = 0; n_numbers >= 0 && !r->status && i < r->n_arrays; i++)
            for (int64_t k = 0; k < r->arrays[i].shape[0]; k++) {
                bi_buf_putc(out, '\t');
                put_g9(out, r->arrays[i].data[k]);
            }
        for (int k = 0; r->status && k < n_numbers; k++)
            bi_buf_putc(out, '\t');
        bi_buf_putc(out, '\n');
    }
}

/* "blocks" are what a pair of brackets of dimension k holds, counted in units of the innermost
 * thing printed. */
void bi_put_json_nested(struct bi_buf *out, const struct bioinfer_array *a)
{
    uint64_t block[4] = {0}, n = 1;
    int depth = 0; /* dimensions before the first 0 */
    while (depth < a->n_dims && a->shape[depth])
        depth++;
    for (int k = depth - 1; k >= 0; k--)
        block[k] = n *= (uint64_t)a->shape[k];
    for (uint64_t i = 0; i < n; i++) {
        bi_buf_puts(out, i ? "," : "");
        for (int k = 0; k < depth; k++)
            if (i % block[k] == 0)
                bi_buf_putc(out, '[');
        if (depth < a->n_dims)
            bi_buf_puts(out, "[]");
        else
            bi_put_json_f32(out, a->data[i]);
        for (int k = 0; k < depth; k++)
            if ((i + 1) % block[k] == 0)
                bi_buf_putc(out, ']');
    }
}

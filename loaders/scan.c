/* scan.c - JSON text as a sequence of tokens (RFC 8259, strictly). */
#include "scan.h"

#include <string.h>

enum state { WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COMMA, WANT_NOTHING };

static const char *const token_names[] = {
    [BI_TOKEN_END] = "the end",    [BI_TOKEN_NULL] = "null",       [BI_TOKEN_FALSE] = "false",
    [BI_TOKEN_TRUE] = "true",      [BI_TOKEN_NUMBER] = "a number", [BI_TOKEN_STRING] = "a string",
    [BI_TOKEN_ARRAY] = "an array", [BI_TOKEN_ARRAY_END] = "']'",   [BI_TOKEN_OBJECT] = "an object",
    [BI_TOKEN_OBJECT_END] = "'}'",
};

const char *bi_token_name(enum bi_token token)
{
    return token_names[token];
}

/* ---- UTF-8 ---- */

/* Length of the well-formed sequence at p, 0 when there is none (RFC 3629, table 3-7 of
 * the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF). */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    unsigned char a = p[0], low = 0x80, high = 0xBF;
    size_t n = a < 0x80 ? 1 : a < 0xC2 ? 0 : a < 0xE0 ? 2 : a < 0xF0 ? 3 : a < 0xF5 ? 4 : 0;
    if (n > left || !n)
        return 0;
    if (a == 0xE0)
        low = 0xA0;
    else if (a == 0xED)
        high = 0x9F;
    else if (a == 0xF0)
        low = 0x90;
    else if (a == 0xF4)
        high = 0x8F;
    for (size_t i = 1; i < n; i++, low = 0x80, high = 0xBF)
        if (p[i] < low || p[i] > high)
            return 0;
    return n;
}

size_t bi_utf8_check(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t i = 0, step;
    while (i < n && (step = utf8_length(p + i, n - i)))
        i += step;
    return i;
}

static char *put_utf8(char *dst, uint32_t c)
{
    if (c < 0x80) {
        *dst++ = (char)c;
    } else if (c < 0x800) {
        *dst++ = (char)(0xC0 | c >> 6);
        *dst++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *dst++ = (char)(0xE0 | c >> 12);
        *dst++ = (char)(0x80 | (c >> 6 & 63));
        *dst++ = (char)(0x80 | (c & 63));
    } else {
        *dst++ = (char)(0xF0 | c >> 18);
        *dst++ = (char)(0x80 | (c >> 12 & 63));
        *dst++ = (char)(0x80 | (c >> 6 & 63));
        *dst++ = (char)(0x80 | (c & 63));
    }
    return dst;
}

/* ---- errors ---- */

static int fail_at(const struct bi_scan *s, struct bioinfer_error *err, size_t at,
                   const char *expected)
{
    if (at >= s->size)
        return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: expected %s, got the end of the text",
                       s->name, at, expected);
    unsigned char c = (unsigned char)s->text[at];
    if (c > 0x20 && c < 0x7F)
        return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: expected %s, got '%c'", s->name, at,
                       expected, c);
    return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: expected %s, got byte 0x%02X", s->name, at,
                   expected, c);
}

/* ---- tokens ---- */

static int hex4(const struct bi_scan *s, size_t at, uint32_t *out)
{
    uint32_t v = 0;
    for (size_t i = at; i < at + 4; i++) {
        char c = i < s->size ? s->text[i] : '\0';
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit > 15)
            return -1;
        v = v << 4 | digit;
    }
    *out = v;
    return 0;
}

/* The escape whose backslash is at *pos; *pos moves behind it. Decoded forms are never
 * longer than their escapes, so writing to *dst never overtakes reading. */
static int read_escape(struct bi_scan *s, size_t *pos, char **dst, struct bioinfer_error *err)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    size_t at = *pos;
    char c = at + 1 < s->size ? s->text[at + 1] : '\0';
    const char *found = c ? strchr(from, c) : NULL;
    uint32_t u, v;
    if (found) {
        *(*dst)++ = to[found - from];
        *pos = at + 2;
        return 0;
    }
    if (c != 'u')
        return fail_at(s, err, at + 1, "an escape");
    if (hex4(s, at + 2, &u))
        return fail_at(s, err, at + 2, "four hexadecimal digits");
    *pos = at + 6;
    if (u >= 0xD800 && u < 0xDC00) {
        if (at + 7 >= s->size || s->text[at + 6] != '\\' || s->text[at + 7] != 'u' ||
            hex4(s, at + 8, &v) || v < 0xDC00 || v > 0xDFFF)
            return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: lone surrogate U+%04X", s->name, at,
                           (unsigned)u);
        u = 0x10000 + ((u - 0xD800) << 10) + (v - 0xDC00);
        *pos = at + 12;
    } else if (u >= 0xDC00 && u < 0xE000) {
        return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: lone surrogate U+%04X", s->name, at,
                       (unsigned)u);
    }
    *dst = put_utf8(*dst, u);
    return 0;
}

/* The string whose opening quote is at pos. */
static int read_string(struct bi_scan *s, const char **out, size_t *len, struct bioinfer_error *err)
{
    size_t start = s->pos + 1, i = start;
    char *dst = s->text + start;
    for (;;) {
        size_t run = i;
        while (i < s->size && (unsigned char)s->text[i] >= 0x20 && s->text[i] != '"' &&
               s->text[i] != '\\')
            i++;
        if (i > run && dst != s->text + run)
            memmove(dst, s->text + run, i - run);
        dst += i - run;
        if (i >= s->size)
            return fail_at(s, err, i, "'\"'");
        if (s->text[i] == '"')
            break;
        if (s->text[i] != '\\')
            return fail_at(s, err, i, "no control character in a string");
        int st = read_escape(s, &i, &dst, err);
        if (st)
            return st;
    }
    *dst = '\0'; /* at or before the closing quote */
    *out = s->text + start;
    *len = (size_t)(dst - *out);
    s->pos = i + 1;
    return 0;
}

static size_t digits(const struct bi_scan *s, size_t i)
{
    while (i < s->size && s->text[i] >= '0' && s->text[i] <= '9')
        i++;
    return i;
}

/* A number always has a consumed byte before it (text[-1] at worst): it moves there, so
 * that its last byte can become the NUL. */
static int read_number(struct bi_scan *s, struct bioinfer_error *err)
{
    size_t start = s->pos, i = start, j;
    if (i < s->size && s->text[i] == '-')
        i++;
    j = digits(s, i);
    if (j == i)
        return fail_at(s, err, i, "a value");
    if (s->text[i] == '0' && j > i + 1)
        return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: number with a leading zero", s->name,
                       start);
    i = j;
    if (i < s->size && s->text[i] == '.') {
        j = digits(s, i + 1);
        if (j == i + 1)
            return fail_at(s, err, j, "a digit");
        i = j;
    }
    if (i < s->size && (s->text[i] == 'e' || s->text[i] == 'E')) {
        i++;
        if (i < s->size && (s->text[i] == '+' || s->text[i] == '-'))
            i++;
        j = digits(s, i);
        if (j == i)
            return fail_at(s, err, j, "a digit");
        i = j;
    }
    char *p = s->text + start;
    memmove(p - 1, p, i - start);
    s->text[i - 1] = '\0';
    s->value = p - 1;
    s->value_len = i - start;
    s->pos = i;
    s->token = BI_TOKEN_NUMBER;
    return 0;
}

static int read_word(struct bi_scan *s, const char *word, enum bi_token token,
                     struct bioinfer_error *err)
{
    size_t n = strlen(word);
    if (n > s->size - s->pos || memcmp(s->text + s->pos, word, n))
        return fail_at(s, err, s->pos, "a value");
    s->pos += n;
    s->token = token;
    return 0;
}

static void skip_space(struct bi_scan *s)
{
    while (s->pos < s->size && (s->text[s->pos] == ' ' || s->text[s->pos] == '\n' ||
                                s->text[s->pos] == '\r' || s->text[s->pos] == '\t'))
        s->pos++;
}

static bool in_object(const struct bi_scan *s)
{
    return s->depth && (s->objects >> (s->depth - 1) & 1);
}

static void value_done(struct bi_scan *s)
{
    s->state = s->depth ? WANT_COMMA : WANT_NOTHING;
}

static int open_container(struct bi_scan *s, bool object, struct bioinfer_error *err)
{
    if (s->depth == BI_SCAN_MAX_DEPTH)
        return bi_fail(err, BIOINFER_LIMIT, "%s: byte %zu: nested deeper than %d", s->name, s->pos,
                       BI_SCAN_MAX_DEPTH);
    s->objects &= ~((uint64_t)1 << s->depth);
    s->objects |= (uint64_t)object << s->depth;
    s->depth++;
    s->pos++;
    s->token = object ? BI_TOKEN_OBJECT : BI_TOKEN_ARRAY;
    s->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
    return 0;
}

static int close_container(struct bi_scan *s)
{
    s->token = in_object(s) ? BI_TOKEN_OBJECT_END : BI_TOKEN_ARRAY_END;
    s->depth--;
    s->pos++;
    value_done(s);
    return 0;
}

static int read_value(struct bi_scan *s, struct bioinfer_error *err)
{
    int st;
    s->at = s->pos;
    switch (s->pos < s->size ? s->text[s->pos] : '\0') {
    case '{':
        return open_container(s, true, err);
    case '[':
        return open_container(s, false, err);
    case '"':
        st = read_string(s, &s->value, &s->value_len, err);
        s->token = BI_TOKEN_STRING;
        break;
    case 'n':
        st = read_word(s, "null", BI_TOKEN_NULL, err);
        break;
    case 't':
        st = read_word(s, "true", BI_TOKEN_TRUE, err);
        break;
    case 'f':
        st = read_word(s, "false", BI_TOKEN_FALSE, err);
        break;
    default:
        st = read_number(s, err);
    }
    value_done(s);
    return st;
}

int bi_scan_next(struct bi_scan *s, struct bioinfer_error *err)
{
    char c;
    int st;
    s->key = NULL;
    s->key_len = 0;
    s->value = NULL;
    s->value_len = 0;
    skip_space(s);
    c = s->pos < s->size ? s->text[s->pos] : '\0';
    if (s->state == WANT_NOTHING) {
        s->at = s->pos;
        if (s->pos < s->size)
            return fail_at(s, err, s->pos, "nothing after the value");
        s->token = BI_TOKEN_END;
        return 0;
    }
    if (s->state == WANT_COMMA) {
        if (c == (in_object(s) ? '}' : ']')) {
            s->at = s->pos;
            return close_container(s);
        }
        if (c != ',')
            return fail_at(s, err, s->pos, in_object(s) ? "',' or '}'" : "',' or ']'");
        s->pos++;
        s->state = in_object(s) ? WANT_KEY : WANT_VALUE;
        skip_space(s);
        c = s->pos < s->size ? s->text[s->pos] : '\0';
    }
    if ((s->state == WANT_KEY_OR_END && c == '}') || (s->state == WANT_VALUE_OR_END && c == ']')) {
        s->at = s->pos;
        return close_container(s);
    }
    if (s->state == WANT_KEY || s->state == WANT_KEY_OR_END) {
        if (c != '"')
            return fail_at(s, err, s->pos, "a name in quotes");
        if ((st = read_string(s, &s->key, &s->key_len, err)))
            return st;
        skip_space(s);
        if (s->pos >= s->size || s->text[s->pos] != ':')
            return fail_at(s, err, s->pos, "':'");
        s->pos++;
        skip_space(s);
    }
    return read_value(s, err);
}

int bi_scan_skip(struct bi_scan *s, struct bioinfer_error *err)
{
    int st = 0, depth;
    if (s->token != BI_TOKEN_ARRAY && s->token != BI_TOKEN_OBJECT)
        return 0;
    depth = s->depth - 1;
    while (!st && s->depth > depth)
        st = bi_scan_next(s, err);
    return st;
}

int bi_scan_start(struct bi_scan *s, const char *name, char *text, size_t size,
                  struct bioinfer_error *err)
{
    size_t bad = bi_utf8_check(text, size);
    *s = (struct bi_scan){.name = name, .text = text, .size = size, .state = WANT_VALUE};
    if (bad < size)
        return bi_fail(err, BIOINFER_FORMAT, "%s: byte %zu: not UTF-8 (byte 0x%02X)", name, bad,
                       (unsigned char)text[bad]);
    if (size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3))
        return bi_fail(err, BIOINFER_FORMAT, "%s: byte 0: byte order mark before JSON", name);
    return 0;
}

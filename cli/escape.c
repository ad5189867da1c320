/* escape.c - words for people, with nothing in them that steers a terminal: file names, ids and
 * names of tensors may hold any byte. */
#include "cli.h"

#include <string.h>

/* Length of the character at text[0, n), which may be shown as it stands; 0 = it may not. */
static size_t shown(const unsigned char *text, size_t n)
{
    uint32_t c = text[0];
    size_t length = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : 4;
    if (c < 0x80)
        return (c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t';
    if (c < 0xC2 || c > 0xF4 || length > n)
        return 0;
    c &= 0x7Fu >> length;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (text[i] & 0x3F);
    }
    if (c < 0xA0 || (length == 3 && c < 0x800) || (length == 4 && (c < 0x10000 || c > 0x10FFFF)) ||
        (c >= 0xD800 && c < 0xE000))
        return 0; /* a control character, or no UTF-8 */
    /* marks that turn the direction of writing would show words in another order */
    return c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
                   (c >= 0x2066 && c <= 0x2069)
               ? 0
               : length;
}

void cli_escape(void (*put)(void *user, const char *text, size_t n), void *user, const char *text,
                size_t n)
{
    static const char digits[] = "0123456789abcdef";
    size_t begin = 0, at = 0;
    while (at < n) {
        size_t length = shown((const unsigned char *)text + at, n - at);
        if (!length) {
            const unsigned char c = (unsigned char)text[at];
            const char hex[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
            put(user, text + begin, at - begin);
            put(user, hex, sizeof hex);
            begin = at + 1;
        }
        at += length ? length : 1;
    }
    put(user, text + begin, n - begin);
}

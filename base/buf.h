/* buf.h - a growing byte buffer, also used to build text. */
#ifndef BI_BUF_H
#define BI_BUF_H

#include "base.h"

/* Zero-initialise but for env. After a failed append `failed` stays set and further
 * appends do nothing, so a caller may check once at the end. `data` is not terminated
 * unless bi_buf_text() was called. */
struct bi_buf {
    const struct bi_env *env;
    char *data;
    size_t size, cap;
    bool failed;
};

/* Each appends bytes, a character, a text without its NUL, or a formatted text, or sets `failed`
 * where there is no memory or the format fails: then data and size are as before. Nothing that is
 * appended may lie in the buffer itself. */
void bi_buf_append(struct bi_buf *buf, const void *bytes, size_t n);
void bi_buf_putc(struct bi_buf *buf, char c);
void bi_buf_puts(struct bi_buf *buf, const char *text);
void bi_buf_printf(struct bi_buf *buf, const char *fmt, ...) BI_PRINTF(2, 3);
/* Room for n more bytes: a pointer to write to, valid until the next append; `size` is left to the
 * caller. NULL: no memory, or an append failed before; `failed` is set. n may be 0. */
char *bi_buf_reserve(struct bi_buf *buf, size_t n);
/* The content as text, owned by buf and valid until the next append. The NUL is not counted in
 * `size`. NULL: an append failed, or there is no memory for the NUL. */
const char *bi_buf_text(struct bi_buf *buf);
/* Frees the content; buf is empty then, without a failure, and may be used again. */
void bi_buf_free(struct bi_buf *buf);

#endif

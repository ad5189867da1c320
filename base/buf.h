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

void bi_buf_append(struct bi_buf *buf, const void *bytes, size_t n);
void bi_buf_putc(struct bi_buf *buf, char c);
void bi_buf_puts(struct bi_buf *buf, const char *text);
void bi_buf_printf(struct bi_buf *buf, const char *fmt, ...) BI_PRINTF(2, 3);
/* Room for n more bytes: a pointer to write to (then add to size), NULL: no memory. */
char *bi_buf_reserve(struct bi_buf *buf, size_t n);
/* The content as NUL-terminated text; NULL after a failure. Valid until the next append. */
const char *bi_buf_text(struct bi_buf *buf);
void bi_buf_free(struct bi_buf *buf);

#endif

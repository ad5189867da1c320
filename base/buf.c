/* buf.c - a growing byte buffer, also used to build text. */
#include "buf.h"

#include <stdio.h>
#include <string.h>

char *bi_buf_reserve(struct bi_buf *buf, size_t n)
{
    if (!n) /* the pointer is real even when nothing was ever put in */
        n = 1;
    if (buf->failed || n > SIZE_MAX - buf->size ||
        !bi_grow(buf->env, &buf->data, &buf->cap, buf->size + n, 1)) {
        buf->failed = true;
        return NULL;
    }
    return buf->data + buf->size;
}

void bi_buf_append(struct bi_buf *buf, const void *bytes, size_t n)
{
    char *p = bi_buf_reserve(buf, n);
    if (p && n) {
        memcpy(p, bytes, n);
        buf->size += n;
    }
}

void bi_buf_putc(struct bi_buf *buf, char c)
{
    bi_buf_append(buf, &c, 1);
}

void bi_buf_puts(struct bi_buf *buf, const char *text)
{
    bi_buf_append(buf, text, strlen(text));
}

void bi_buf_printf(struct bi_buf *buf, const char *fmt, ...)
{
    va_list ap;
    char *p;
    int n;
    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        buf->failed = true;
        return;
    }
    if (!(p = bi_buf_reserve(buf, (size_t)n + 1)))
        return;
    va_start(ap, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    buf->size += (size_t)n;
}

const char *bi_buf_text(struct bi_buf *buf)
{
    char *p = bi_buf_reserve(buf, 1);
    if (!p)
        return NULL;
    *p = '\0';
    return buf->data;
}

void bi_buf_free(struct bi_buf *buf)
{
    bi_free(buf->env, buf->data);
    *buf = (struct bi_buf){.env = buf->env};
}

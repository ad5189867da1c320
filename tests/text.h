/* text.h - text that calls write, kept in one piece. */
#ifndef BI_TEST_TEXT_H
#define BI_TEST_TEXT_H

#include <stdlib.h>
#include <string.h>

struct test_text {
    char *data; /* ends with a zero; NULL = nothing was written yet */
    size_t size;
};

/* A bioinfer_write whose user is a struct test_text. */
static inline int test_append(void *user, const char *text, size_t len)
{
    struct test_text *t = user;
    t->data = realloc(t->data, t->size + len + 1);
    memcpy(t->data + t->size, text, len);
    t->size += len;
    t->data[t->size] = '\0';
    return 0;
}

#endif

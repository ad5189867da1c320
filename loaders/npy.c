/* npy.c - the header of a NumPy array (.npy, versions 1 to 3): magic, version, length, and a
 * literal of a Python dictionary, of which descr and shape are found and nothing is evaluated. */
#include "npy.h"

#include <string.h>

enum { MAX_HEADER = 65536 };

static int bad(const struct bi_file *f, const char *name, const char *what,
               struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: %s%s%s: %s", f->path, name ? "'" : "",
                   name ? name : "npy", name ? "'" : "", what);
}

/* Finds the text behind 'key':; NULL = the key is not there. */
static const char *value_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (!at)
        return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':')
        at++;
    return at;
}

static bool read_dtype(struct bi_npy *npy, const char *at)
{
    size_t n;
    if (!at || (*at != '\'' && *at != '"')) {
        memcpy(npy->dtype, "structured", sizeof "structured");
        return at && *at == '[';
    }
    n = strcspn(at + 1, *at == '"' ? "\"" : "'");
    if (!at[n + 1] || !n || n >= sizeof npy->dtype)
        return false;
    memcpy(npy->dtype, at + 1, n);
    npy->dtype[n] = '\0';
    return true;
}

/* "(3, 320)", "(3,)", "()" */
static bool read_shape(struct bi_npy *npy, const char *at)
{
    npy->rank = 0;
    if (!at || *at++ != '(')
        return false;
    for (;;) {
        uint64_t n = 0;
        while (*at == ' ' || *at == ',')
            at++;
        if (*at == ')')
            return true;
        if (*at < '0' || *at > '9' || npy->rank == BI_NPY_RANK)
            return false;
        for (; *at >= '0' && *at <= '9'; at++)
            if (!bi_mul_size(n, 10, &n) || !bi_add_size(n, (uint64_t)(*at - '0'), &n))
                return false;
        npy->shape[npy->rank++] = n;
    }
}

static bool read_order(const char *at)
{
    return at && !strncmp(at, "True", 4);
}

int bi_npy_read(struct bi_npy *npy, const struct bi_file *f, uint64_t at, uint64_t size,
                const char *name, struct bioinfer_error *err)
{
    uint8_t head[12] = {0};
    char *text = NULL;
    uint64_t length, start;
    int st;
    if (size < 10)
        return bad(f, name, "shorter than the header of a NumPy array", err);
    if ((st = bi_file_read(f, at, head, size < sizeof head ? (size_t)size : sizeof head, err)))
        return st;
    if (memcmp(head, "\x93NUMPY", 6) || head[6] < 1 || head[6] > 3)
        return bad(f, name, "not a NumPy array of version 1, 2 or 3", err);
    start = head[6] == 1 ? 10 : 12;
    length = head[6] == 1 ? bi_le16(head + 8) : bi_le32(head + 8);
    if (length > MAX_HEADER || start + length > size)
        return bad(f, name, "a NumPy array whose header is longer than itself or 64 KiB", err);
    if (!(text = bi_alloc(f->env, (size_t)length + 1)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: header of an array", f->path);
    if (!(st = bi_file_read(f, at + start, text, (size_t)length, err))) {
        text[length] = '\0';
        npy->fortran = read_order(value_of(text, "'fortran_order'"));
        if (!read_dtype(npy, value_of(text, "'descr'")) ||
            !read_shape(npy, value_of(text, "'shape'")))
            st = bad(f, name, "a NumPy array without descr and shape in its header", err);
    }
    bi_free(f->env, text);
    return st;
}

/* rows.c - rows and ids of one array of all records; see rows.h. */
#include "rows.h"

#include <string.h>

#include "text.h"

enum { MAX_ID = 255 };    /* bytes, of which one byte tells */
enum { PIECE = 1 << 16 }; /* bytes of ids that are read, and of those that are handed out */

int bi_rows_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                  struct bioinfer_error *err)
{
    for (int i = 0; i < r->n_arrays; i++)
        if (r->arrays[i].n_dims != 1)
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: a matrix has one vector per record, got '%s' of %d dimensions; "
                           "without the layout matrix every record has arrays of its own",
                           w->path, r->arrays[i].kind, r->arrays[i].n_dims);
    if (r->n_arrays != 1)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: a matrix has one vector per record, got %d (several kinds or layers)",
                       w->path, r->n_arrays);
    return 0;
}

int bi_rows_same_width(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                       int64_t width, struct bioinfer_error *err)
{
    return r->arrays[0].shape[0] == width
               ? 0
               : bi_fail(err, BIOINFER_INVALID,
                         "%s: record '%.60s' has %lld values, the ones before have %lld", w->path,
                         r->id, (long long)r->arrays[0].shape[0], (long long)width);
}

void bi_rows_rename(const struct bioinfer_writer *w, struct bi_buf *out,
                    const struct bioinfer_result *r)
{
    (void)w;
    bi_put_utf8(out, r->id);
    if (!out->size || out->size > MAX_ID) {
        out->size = 0;
        bi_buf_printf(out, "seq_%llu", (unsigned long long)r->ordinal);
    }
}

int bi_rows_open(struct bi_rows *m, const struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct bi_buf path = {.env = w->env};
    int st;
    m->ids = BI_OUT_NONE;
    m->text.env = w->env;
    m->width = -1;
    m->longest = 1;
    bi_buf_printf(&path, "%s.ids", w->path);
    st = bi_buf_text(&path) ? bi_out_open(&m->ids, w->env, path.data, err)
                            : bi_writer_check(w, &path, err);
    bi_buf_free(&path);
    return st;
}

int64_t bi_rows_width(const struct bi_rows *m)
{
    return m->width < 0 ? 0 : m->width;
}

int bi_rows_add_id(struct bi_rows *m, const struct bioinfer_writer *w, const char *name,
                   struct bioinfer_error *err)
{
    const size_t n = strlen(name);
    const unsigned char size_of_id = (unsigned char)n;
    int st;
    if (n > MAX_ID) /* a suffix has made it longer */
        return bi_fail(err, BIOINFER_LIMIT, "%s: id '%.60s' has %zu bytes, at most %d are held",
                       w->path, name, n, MAX_ID);
    m->longest = n > m->longest ? n : m->longest;
    m->n++;
    st = bi_out_write(&m->ids, &size_of_id, 1, err);
    return st ? st : bi_out_write(&m->ids, name, n, err);
}

int bi_rows_add(struct bi_rows *m, struct bioinfer_writer *w, const struct bioinfer_result *r,
                const char *name, const void **bytes, size_t *size, struct bioinfer_error *err)
{
    const struct bioinfer_array *a = r->arrays;
    int st = bi_array_bytes(w, r, a, bytes, size, err);
    if (st)
        return st;
    if (m->width < 0)
        m->width = a->shape[0];
    st = bi_rows_same_width(w, r, m->width, err);
    return st ? st : bi_rows_add_id(m, w, name, err);
}

int bi_rows_ids(struct bi_rows *m, const struct bioinfer_writer *w,
                int (*take)(void *user, const void *bytes, size_t n, struct bioinfer_error *err),
                void *user, struct bioinfer_error *err)
{
    const uint64_t size = m->ids.size;
    unsigned char *in, *out;
    uint64_t at = 0;
    int st = 0;
    m->text.size = 0;
    if (!(in = (unsigned char *)bi_buf_reserve(&m->text, 2 * PIECE)))
        return bi_writer_check(w, &m->text, err);
    out = in + PIECE;
    while (at < size && !st) {
        const size_t n = (size_t)(size - at < PIECE ? size - at : PIECE);
        size_t begin = 0, used = 0;
        if ((st = bi_out_read(&m->ids, at, in, n, err)))
            break;
        /* whole ids alone: the rest of one is read again with what follows */
        for (; begin < n && begin + 1 + in[begin] <= n && used + m->longest <= PIECE;
             begin += 1 + (size_t)in[begin], used += m->longest) {
            memset(out + used, 0, m->longest);
            memcpy(out + used, in + begin + 1, in[begin]);
        }
        st = take(user, out, used, err);
        at += begin;
    }
    return st;
}

void bi_rows_close(struct bi_rows *m)
{
    if (m->ids.env)
        bi_out_close(&m->ids);
    bi_buf_free(&m->text);
}

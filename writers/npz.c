/* npz.c - arrays by key in a ZIP of stored NPY members, as numpy.load reads it.
 *
 * [local header | name | ZIP64 extra | padding extra | NPY]...  central directory  ends
 * Sizes are always in ZIP64 extras; the data of a member starts at a multiple of 64. A
 * member is written in one go, CRC first, because its array is in memory. Dates are
 * fixed (1980-01-01), so equal results are equal files. The archive's comment names
 * bioinfer, the model and its fingerprint. */
#include <string.h>
#include <zlib.h>

#include "text.h"
#include "writer.h"

enum { MAX_ID = 60000 };     /* bytes; a member name has at most 65,535 */
enum { UTF8_NAME = 0x0800 }; /* general purpose flag */
enum { ZIP64_VERSION = 45 };
enum { PAD_ID = 0x4942 }; /* private extra field */

struct npz {
    struct bi_out out;
    struct bi_buf head, central, key;
    uint64_t n;
};

static void put16(struct bi_buf *out, unsigned v)
{
    bi_buf_append(out, (uint8_t[]){(uint8_t)v, (uint8_t)(v >> 8)}, 2);
}

static void put32(struct bi_buf *out, uint64_t v)
{
    put16(out, (unsigned)(v & 0xFFFF));
    put16(out, (unsigned)(v >> 16 & 0xFFFF));
}

static void put64(struct bi_buf *out, uint64_t v)
{
    put32(out, v & 0xFFFFFFFF);
    put32(out, v >> 32);
}

/* Member names are paths to whoever unpacks the file: none may lead out of a folder.
 * NumPy takes "x.npy" for the member of key "x". */
static void npz_rename(struct bi_buf *out, const char *id, uint64_t ordinal)
{
    size_t n = strlen(id), start = 0;
    if (!n || n > MAX_ID) {
        bi_buf_printf(out, "seq_%llu", (unsigned long long)ordinal);
        return;
    }
    for (size_t i = 0; i <= n; i++) {
        if (i < n && id[i] != '/' && id[i] != '\\')
            continue;
        if (i - start == 2 && id[start] == '.' && id[start + 1] == '.')
            bi_buf_putc(out, '_');
        else
            for (size_t k = start; k < i; k++) {
                unsigned char c = (unsigned char)id[k];
                bi_buf_putc(out, c < 0x20 || c == 0x7F ? '_' : id[k]);
            }
        if (i < n)
            bi_buf_putc(out, i ? id[i] : '_');
        start = i + 1;
    }
    if (!out->failed && out->size >= 4 && !memcmp(out->data + out->size - 4, ".npy", 4))
        out->data[out->size - 4] = '_';
}

static int npz_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = bi_zalloc(w->env, sizeof *s);
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->head.env = s->central.env = s->key.env = w->env;
    s->out = BI_OUT_NONE;
    return bi_out_open(&s->out, w->env, w->path, err);
}

/* What local and central header share from "version needed" to the length of the name.
 */
static void put_common(struct bi_buf *out, unsigned flags, uint32_t crc,
                       size_t name_size)
{
    put16(out, ZIP64_VERSION);
    put16(out, flags);
    put16(out, 0);    /* stored */
    put16(out, 0);    /* time */
    put16(out, 0x21); /* 1980-01-01 */
    put32(out, crc);
    put32(out, 0xFFFFFFFF); /* sizes: see the ZIP64 extra */
    put32(out, 0xFFFFFFFF);
    put16(out, (unsigned)name_size);
}

static int put_member(struct bioinfer_writer *w, const struct bioinfer_result *r,
                      const struct bioinfer_array *a, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    uint64_t n, size, offset = s->out.size, data_size;
    size_t head_size, npy_size, pad;
    unsigned flags = 0;
    uint32_t crc;
    int st = bi_array_size(w, r, a, &n, &size, err);
    if (st)
        return st;
    bi_buf_puts(&s->key, ".npy");
    s->head.size = 0;
    bi_npy_header(&s->head, a->n_dims, a->shape);
    if ((st = bi_writer_check(w, &s->head, err)) || !bi_buf_text(&s->key))
        return st ? st : bi_writer_check(w, &s->key, err);
    npy_size = s->head.size;
    data_size = npy_size + size;
    crc = (uint32_t)crc32_z(0, (const uint8_t *)s->head.data, npy_size);
    if (size)
        crc = (uint32_t)crc32_z(crc, (const uint8_t *)a->data, (size_t)size);
    for (size_t i = 0; i < s->key.size; i++)
        if ((unsigned char)s->key.data[i] >= 0x80 && bi_utf8_valid(s->key.data))
            flags = UTF8_NAME;
    pad = (size_t)(64 - (offset + 30 + s->key.size + 20) % 64) % 64;
    if (pad && pad < 4)
        pad += 64;

    s->head.size = 0;
    bi_buf_append(&s->head, "PK\x03\x04", 4);
    put_common(&s->head, flags, crc, s->key.size);
    put16(&s->head, (unsigned)(20 + pad));
    bi_buf_append(&s->head, s->key.data, s->key.size);
    put16(&s->head, 1);
    put16(&s->head, 16);
    put64(&s->head, data_size);
    put64(&s->head, data_size);
    if (pad) {
        char *p;
        put16(&s->head, PAD_ID);
        put16(&s->head, (unsigned)(pad - 4));
        if ((p = bi_buf_reserve(&s->head, pad - 4))) {
            memset(p, 0, pad - 4);
            s->head.size += pad - 4;
        }
    }
    head_size = s->head.size;
    bi_npy_header(&s->head, a->n_dims, a->shape);
    if ((st = bi_writer_check(w, &s->head, err)))
        return st;
    assert((offset + head_size) % 64 == 0);

    bi_buf_append(&s->central, "PK\x01\x02", 4);
    put16(&s->central,
          3 << 8 | ZIP64_VERSION); /* made on Unix: the mode below counts */
    put_common(&s->central, flags, crc, s->key.size);
    put16(&s->central, 28);
    put16(&s->central, 0); /* comment */
    put16(&s->central, 0); /* disk */
    put16(&s->central, 0);
    put32(&s->central, (uint64_t)0100644 << 16);
    put32(&s->central, 0xFFFFFFFF);
    bi_buf_append(&s->central, s->key.data, s->key.size);
    put16(&s->central, 1);
    put16(&s->central, 24);
    put64(&s->central, data_size);
    put64(&s->central, data_size);
    put64(&s->central, offset);
    if ((st = bi_writer_check(w, &s->central, err)))
        return st;
    s->n++;
    if ((st = bi_out_write(&s->out, s->head.data, s->head.size, err)))
        return st;
    return bi_out_write(&s->out, a->data, (size_t)size, err);
}

static int npz_put(struct bioinfer_writer *w, const struct bioinfer_result *r,
                   const char *name, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    for (int i = 0; i < r->n_arrays; i++) {
        int st;
        if (bi_array_key(&s->key, name, r, &r->arrays[i]))
            return bi_writer_check(w, &s->key, err);
        if ((st = put_member(w, r, &r->arrays[i], err)))
            return st;
    }
    return 0;
}

static int npz_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    uint64_t start = s->out.size, size = s->central.size;
    struct bi_buf *end = &s->head, *comment = &s->key;
    int st;
    comment->size = 0;
    bi_buf_printf(comment, "bioinfer %d.%d.%d %.200s %.64s", BIOINFER_VERSION_MAJOR,
                  BIOINFER_VERSION_MINOR, BIOINFER_VERSION_PATCH, w->params.model,
                  w->params.fingerprint);
    end->size = 0;
    bi_buf_append(end, "PK\x06\x06", 4);
    put64(end, 44); /* size of this record behind here */
    put16(end, 3 << 8 | ZIP64_VERSION);
    put16(end, ZIP64_VERSION);
    put32(end, 0);
    put32(end, 0);
    put64(end, s->n);
    put64(end, s->n);
    put64(end, size);
    put64(end, start);
    bi_buf_append(end, "PK\x06\x07", 4);
    put32(end, 0);
    put64(end, start + size);
    put32(end, 1);
    bi_buf_append(end, "PK\x05\x06", 4);
    put32(end, 0);
    put16(end, s->n < 0xFFFF ? (unsigned)s->n : 0xFFFF);
    put16(end, s->n < 0xFFFF ? (unsigned)s->n : 0xFFFF);
    put32(end, size < 0xFFFFFFFF ? size : 0xFFFFFFFF);
    put32(end, start < 0xFFFFFFFF ? start : 0xFFFFFFFF);
    put16(end, (unsigned)comment->size);
    bi_buf_append(end, comment->data, comment->failed ? 0 : comment->size);
    if ((st = bi_writer_check(w, comment, err)) ||
        (st = bi_writer_check(w, end, err)) ||
        (st = bi_out_write(&s->out, s->central.data, s->central.size, err)) ||
        (st = bi_out_write(&s->out, end->data, end->size, err)))
        return st;
    return bi_out_finish(&s->out, err);
}

static void npz_close(struct bioinfer_writer *w)
{
    struct npz *s = w->state;
    if (!s)
        return;
    bi_out_close(&s->out);
    bi_buf_free(&s->head);
    bi_buf_free(&s->central);
    bi_buf_free(&s->key);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_npz = {
    .name = "npz",
    .suffix = ".npz",
    .keyed_by_id = true,
    .open = npz_open,
    .rename = npz_rename,
    .put = npz_put,
    .finish = npz_finish,
    .close = npz_close,
};

/* zip_out.c - a ZIP of stored members; see zip_out.h. */
#include "zip_out.h"

#include <string.h>
#include <zlib.h>

#include "../base/team.h"
#include "text.h"

enum { UTF8_NAME = 0x0800 }; /* general purpose flag */
enum { ZIP64_VERSION = 45 };
enum { PAD_ID = 0x4942 };       /* private extra field */
enum { MAX_CENTRAL = 1 << 20 }; /* bytes of the central directory in memory */

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

/* Puts what local and central header share from "version needed" to the length of the name.
 */
static void put_common(struct bi_buf *out, unsigned flags, uint32_t crc, size_t name_size)
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

static int check(const struct bi_zip_out *zip, struct bioinfer_error *err)
{
    return zip->head.failed || zip->central.failed || zip->name.failed
               ? bi_fail(err, BIOINFER_NOMEM, "%s: output buffer", zip->out.path)
               : 0;
}

int bi_zip_out_open(struct bi_zip_out *zip, const struct bi_env *env, const char *path,
                    struct bioinfer_error *err)
{
    *zip = (struct bi_zip_out){
        .out = BI_OUT_NONE, .head.env = env, .central.env = env, .name.env = env};
    return bi_out_open(&zip->out, env, path, err);
}

/* Moves a large central directory into its file. */
static int spill(struct bi_zip_out *zip, struct bioinfer_error *err)
{
    struct bi_buf path = {.env = zip->out.env};
    int st = 0;
    if (zip->central.size < MAX_CENTRAL)
        return 0;
    if (!zip->index.env) {
        bi_buf_printf(&path, "%s.index", zip->out.path);
        st = bi_buf_text(&path) ? bi_out_open(&zip->index, zip->out.env, path.data, err)
                                : bi_fail(err, BIOINFER_NOMEM, "%s: path", zip->out.path);
        bi_buf_free(&path);
    }
    if (!st)
        st = bi_out_write(&zip->index, zip->central.data, zip->central.size, err);
    zip->central.size = 0;
    return st;
}

/* The central directory behind the members. */
static int put_central(struct bi_zip_out *zip, struct bioinfer_error *err)
{
    uint64_t n = zip->index.env ? zip->index.size : 0, at = 0;
    struct bi_buf *piece = &zip->head;
    int st = 0;
    for (piece->size = 0; !st && at < n; at += MAX_CENTRAL) {
        size_t size = (size_t)(n - at < MAX_CENTRAL ? n - at : MAX_CENTRAL);
        char *bytes = bi_buf_reserve(piece, size);
        if (!bytes)
            return check(zip, err);
        if (!(st = bi_out_read(&zip->index, at, bytes, size, err)))
            st = bi_out_write(&zip->out, bytes, size, err);
    }
    return st ? st : bi_out_write(&zip->out, zip->central.data, zip->central.size, err);
}

struct crc_pieces {
    const unsigned char *data;
    size_t n, step;
    uint32_t *of;
};

static void crc_some(void *user, int thread, int64_t first, int64_t end)
{
    struct crc_pieces *p = user;
    (void)thread;
    for (size_t i = (size_t)first; i < (size_t)end; i++) {
        const size_t at = i * p->step;
        p->of[i] = (uint32_t)crc32_z(0, p->data + at, p->n - at < p->step ? p->n - at : p->step);
    }
}

/* crc32_z() of large data in pieces by several threads. */
static uint32_t crc_of(const struct bi_zip_out *zip, uint32_t crc, const void *data, size_t n)
{
    enum { PIECE_SIZE = 1 << 20, MOST_PIECES = 64 };
    uint32_t of[MOST_PIECES];
    const size_t whole = n / PIECE_SIZE;
    const int n_pieces = whole > MOST_PIECES ? MOST_PIECES : (int)whole;
    const size_t step = n_pieces ? (n + (size_t)n_pieces - 1) / (size_t)n_pieces : n;
    struct crc_pieces pieces = {data, n, step, of};
    if (zip->n_threads < 2 || n_pieces < 2)
        return (uint32_t)crc32_z(crc, data, n);
    bi_team_for(zip->out.env, zip->n_threads, n_pieces, 1, crc_some, &pieces);
    for (int i = 0; i < n_pieces; i++) {
        const size_t first = (size_t)i * step;
        crc = (uint32_t)crc32_combine(crc, of[i], (z_off_t)(n - first < step ? n - first : step));
    }
    return crc;
}

/* General purpose flags of a member: names beyond ASCII are marked where they are UTF-8. */
static unsigned flags_of(const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c >= 0x80)
            return bi_utf8_valid(name) ? UTF8_NAME : 0;
    return 0;
}

/* Makes zip->head the local header of a member that begins at `offset`. */
static void make_local(struct bi_zip_out *zip, const char *name, uint32_t crc, uint64_t size,
                       uint64_t offset)
{
    const size_t n_name = strlen(name);
    size_t pad = (size_t)(64 - (offset + 30 + n_name + 20) % 64) % 64;
    if (pad && pad < 4)
        pad += 64;
    zip->head.size = 0;
    bi_buf_append(&zip->head, "PK\x03\x04", 4);
    put_common(&zip->head, flags_of(name), crc, n_name);
    put16(&zip->head, (unsigned)(20 + pad));
    bi_buf_append(&zip->head, name, n_name);
    put16(&zip->head, 1);
    put16(&zip->head, 16);
    put64(&zip->head, size);
    put64(&zip->head, size);
    if (pad) {
        char *p;
        put16(&zip->head, PAD_ID);
        put16(&zip->head, (unsigned)(pad - 4));
        if ((p = bi_buf_reserve(&zip->head, pad - 4))) {
            memset(p, 0, pad - 4);
            zip->head.size += pad - 4;
        }
    }
}

/* Adds a member, whose local header is at `offset`, to the central directory. */
static void put_entry(struct bi_zip_out *zip, const char *name, uint32_t crc, uint64_t size,
                      uint64_t offset)
{
    const size_t n_name = strlen(name);
    bi_buf_append(&zip->central, "PK\x01\x02", 4);
    put16(&zip->central, 3 << 8 | ZIP64_VERSION); /* made on Unix */
    put_common(&zip->central, flags_of(name), crc, n_name);
    put16(&zip->central, 28);
    put16(&zip->central, 0); /* comment */
    put16(&zip->central, 0); /* disk */
    put16(&zip->central, 0);
    put32(&zip->central, (uint64_t)0100644 << 16);
    put32(&zip->central, 0xFFFFFFFF);
    bi_buf_append(&zip->central, name, n_name);
    put16(&zip->central, 1);
    put16(&zip->central, 24);
    put64(&zip->central, size);
    put64(&zip->central, size);
    put64(&zip->central, offset);
    zip->n++;
}

int bi_zip_out_put(struct bi_zip_out *zip, const char *name, const void *prefix, size_t n_prefix,
                   const void *data, size_t n_data, struct bioinfer_error *err)
{
    const uint64_t offset = zip->out.size, size = (uint64_t)n_prefix + n_data;
    uint32_t crc = (uint32_t)crc32_z(0, prefix, n_prefix);
    int st;
    if (n_data)
        crc = crc_of(zip, crc, data, n_data);
    make_local(zip, name, crc, size, offset);
    bi_buf_append(&zip->head, prefix, n_prefix);
    put_entry(zip, name, crc, size, offset);
    if ((st = check(zip, err)) ||
        (st = bi_out_write(&zip->out, zip->head.data, zip->head.size, err)) ||
        (st = bi_out_write(&zip->out, data, n_data, err)))
        return st;
    return spill(zip, err);
}

int bi_zip_out_begin(struct bi_zip_out *zip, const char *name, const void *prefix, size_t n_prefix,
                     struct bioinfer_error *err)
{
    int st;
    zip->at = zip->out.size;
    zip->n_prefix = n_prefix;
    zip->n_data = 0;
    zip->crc = 0;
    zip->name.size = 0;
    bi_buf_puts(&zip->name, name);
    bi_buf_text(&zip->name);
    make_local(zip, name, 0, 0, zip->at);
    bi_buf_append(&zip->head, prefix, n_prefix);
    st = check(zip, err);
    return st ? st : bi_out_write(&zip->out, zip->head.data, zip->head.size, err);
}

int bi_zip_out_append(struct bi_zip_out *zip, const void *data, size_t n,
                      struct bioinfer_error *err)
{
    if (n)
        zip->crc = crc_of(zip, zip->crc, data, n);
    zip->n_data += n;
    return bi_out_write(&zip->out, data, n, err);
}

int bi_zip_out_end(struct bi_zip_out *zip, const void *prefix, size_t n_prefix,
                   struct bioinfer_error *err)
{
    const uint64_t size = zip->n_prefix + zip->n_data;
    const uint32_t crc = (uint32_t)crc32_combine((uint32_t)crc32_z(0, prefix, n_prefix), zip->crc,
                                                 (z_off_t)zip->n_data);
    int st;
    assert(n_prefix == zip->n_prefix);
    make_local(zip, zip->name.data, crc, size, zip->at);
    bi_buf_append(&zip->head, prefix, n_prefix);
    put_entry(zip, zip->name.data, crc, size, zip->at);
    if ((st = check(zip, err)) ||
        (st = bi_out_patch(&zip->out, zip->at, zip->head.data, zip->head.size, err)))
        return st;
    return spill(zip, err);
}

/* The end records of archives that are large, which classic ones only point to. */
static void put_end64(struct bi_buf *end, uint64_t n, uint64_t size, uint64_t start)
{
    bi_buf_append(end, "PK\x06\x06", 4);
    put64(end, 44); /* size of this record behind here */
    put16(end, 3 << 8 | ZIP64_VERSION);
    put16(end, ZIP64_VERSION);
    put32(end, 0);
    put32(end, 0);
    put64(end, n);
    put64(end, n);
    put64(end, size);
    put64(end, start);
    bi_buf_append(end, "PK\x06\x07", 4);
    put32(end, 0);
    put64(end, start + size);
    put32(end, 1);
}

int bi_zip_out_finish(struct bi_zip_out *zip, const char *comment, struct bioinfer_error *err)
{
    uint64_t start = zip->out.size, size;
    struct bi_buf *end = &zip->head;
    int st = put_central(zip, err);
    if (st)
        return st;
    size = zip->out.size - start;
    end->size = 0;
    if (zip->n) /* an empty archive is known by its first bytes, which begin the classic end */
        put_end64(end, zip->n, size, start);
    bi_buf_append(end, "PK\x05\x06", 4);
    put32(end, 0);
    put16(end, zip->n < 0xFFFF ? (unsigned)zip->n : 0xFFFF);
    put16(end, zip->n < 0xFFFF ? (unsigned)zip->n : 0xFFFF);
    put32(end, size < 0xFFFFFFFF ? size : 0xFFFFFFFF);
    put32(end, start < 0xFFFFFFFF ? start : 0xFFFFFFFF);
    put16(end, (unsigned)strlen(comment));
    bi_buf_puts(end, comment);
    if ((st = check(zip, err)) || (st = bi_out_write(&zip->out, end->data, end->size, err)))
        return st;
    return bi_out_finish(&zip->out, err);
}

void bi_zip_out_close(struct bi_zip_out *zip)
{
    bi_out_close(&zip->out);
    if (zip->index.env)
        bi_out_close(&zip->index);
    bi_buf_free(&zip->head);
    bi_buf_free(&zip->central);
    bi_buf_free(&zip->name);
}

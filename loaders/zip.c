/* zip.c - the directory of a ZIP archive whose records are stored, not compressed.
 *
 * Two readers that see different records in one file are how scanners of checkpoints
 * are fooled, so whatever could be read in two ways is refused: end records that
 * disagree, a directory that does not end where the end record begins, local headers
 * that differ, records that overlap, names that appear twice.
 *
 *   records | central directory | [ZIP64 end record | ZIP64 locator] | end record,
 * comment */
#include "zip.h"

#include <string.h>

#include "reader.h"

enum {
    END_SIZE = 22,
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    MAX_COMMENT = 65535,
    MAX_ENTRIES = 1000000,
};

static int fail(const struct bi_zip *z, struct bioinfer_error *err, const char *what)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: zip: %s", z->file->path, what);
}

static int fail_entry(const struct bi_zip *z, const struct bi_zip_entry *e, int status,
                      struct bioinfer_error *err, const char *what)
{
    return bi_fail(err, status, "%s: zip record '%s': %s", z->file->path,
                   bi_quote(e->name, e->name_len).text, what);
}

/* ---- the end of the archive ---- */

/* The last end signature of the file; its comment must reach exactly to the end. */
static int find_end(struct bi_zip *z, uint64_t *at, uint8_t end[END_SIZE],
                    struct bioinfer_error *err)
{
    const struct bi_file *f = z->file;
    uint64_t size = f->size < END_SIZE + MAX_COMMENT ? f->size : END_SIZE + MAX_COMMENT;
    uint8_t *tail = NULL;
    size_t i;
    int st = 0;
    if (size < END_SIZE)
        return fail(z, err, "no end record: the file is too small");
    if (!(tail = bi_alloc(z->env, (size_t)size)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: zip directory", f->path);
    if ((st = bi_file_read(f, f->size - size, tail, (size_t)size, err)))
        goto out;
    for (i = (size_t)size - END_SIZE + 1; i-- > 0;)
        if (!memcmp(tail + i, "PK\5\6", 4))
            break;
    if (i == SIZE_MAX) {
        st = fail(z, err, "no end record (is the file complete?)");
    } else if (bi_le16(tail + i + 20) != size - i - END_SIZE) {
        st = fail(z, err, "the end record's comment does not reach the end of the file");
    } else {
        memcpy(end, tail + i, END_SIZE);
        *at = f->size - size + i;
    }
out:
    bi_free(z->env, tail);
    return st;
}

struct directory {
    uint64_t n, offset, size, end; /* end: where the records that describe it begin */
};

/* Replaces the 32-bit numbers by those of the ZIP64 end record, when there is one. */
static int read_end64(struct bi_zip *z, uint64_t end_at, const uint8_t *end, struct directory *d,
                      struct bioinfer_error *err)
{
    uint8_t locator[LOCATOR_SIZE], end64[END64_SIZE];
    struct directory big;
    uint64_t at;
    int st;
    if (end_at < LOCATOR_SIZE)
        return 0;
    if ((st = bi_file_read(z->file, end_at - LOCATOR_SIZE, locator, sizeof locator, err)))
        return st;
    if (memcmp(locator, "PK\6\7", 4))
        return 0;
    at = bi_le64(locator + 8);
    if (bi_le32(locator + 4) || bi_le32(locator + 16) > 1)
        return fail(z, err, "more than one disk");
    if (end_at < LOCATOR_SIZE + END64_SIZE || at != end_at - LOCATOR_SIZE - END64_SIZE)
        return fail(z, err, "the ZIP64 end record is not right before its locator");
    if ((st = bi_file_read(z->file, at, end64, sizeof end64, err)))
        return st;
    if (memcmp(end64, "PK\6\6", 4) || bi_le64(end64 + 4) != END64_SIZE - 12)
        return fail(z, err, "no ZIP64 end record where its locator says");
    if (bi_le32(end64 + 16) || bi_le32(end64 + 20))
        return fail(z, err, "more than one disk");
    big = (struct directory){bi_le64(end64 + 32), bi_le64(end64 + 48), bi_le64(end64 + 40), at};
    if (bi_le64(end64 + 24) != big.n)
        return fail(z, err, "the two counts of records differ");
    if ((bi_le16(end + 10) != 0xFFFF && d->n != big.n) ||
        (bi_le32(end + 12) != 0xFFFFFFFF && d->size != big.size) ||
        (bi_le32(end + 16) != 0xFFFFFFFF && d->offset != big.offset))
        return fail(z, err, "the end record and the ZIP64 end record differ");
    *d = big;
    return 0;
}

static int read_end(struct bi_zip *z, struct directory *d, struct bioinfer_error *err)
{
    uint8_t end[END_SIZE];
    uint64_t at = 0;
    int st = find_end(z, &at, end, err);
    if (st)
        return st;
    if (bi_le16(end + 4) || bi_le16(end + 6))
        return fail(z, err, "more than one disk");
    if (bi_le16(end + 8) != bi_le16(end + 10))
        return fail(z, err, "the two counts of records differ");
    *d = (struct directory){bi_le16(end + 10), bi_le32(end + 16), bi_le32(end + 12), at};
    if ((st = read_end64(z, at, end, d, err)))
        return st;
    if (!bi_range_ok(d->offset, d->size, z->file->size) || d->offset + d->size != d->end)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: zip: directory of %llu bytes at %llu, expected to end at %llu",
                       z->file->path, (unsigned long long)d->size, (unsigned long long)d->offset,
                       (unsigned long long)d->end);
    if (d->n > d->size / ENTRY_SIZE)
        return bi_fail(err, BIOINFER_FORMAT, "%s: zip: %llu records in a directory of %llu bytes",
                       z->file->path, (unsigned long long)d->n, (unsigned long long)d->size);
    if (d->n > MAX_ENTRIES)
        return bi_fail(err, BIOINFER_LIMIT, "%s: zip: %llu records, at most %d", z->file->path,
                       (unsigned long long)d->n, MAX_ENTRIES);
    return 0;
}

/* ---- the directory ---- */

static int check_name(const struct bi_zip *z, const struct bi_zip_entry *e,
                      struct bioinfer_error *err)
{
    const char *name = e->name, *why = NULL;
    if (!e->name_len)
        why = "empty name";
    else if (memchr(name, '\0', e->name_len))
        why = "NUL in the name";
    else if (z->any_name)
        return 0;
    else if (name[0] == '/' || strchr(name, '\\') || (e->name_len > 1 && name[1] == ':'))
        why = "absolute name or backslash";
    else if (!strcmp(name, "..") || !strncmp(name, "../", 3) || strstr(name, "/../") ||
             (e->name_len > 2 && !strcmp(name + e->name_len - 3, "/..")))
        why = "name with '..'";
    return why ? fail_entry(z, e, BIOINFER_FORMAT, err, why) : 0;
}

/* The ZIP64 extra field: those of size, stored size, header that did not fit, in order.
 */
static int read_extra(const struct bi_zip *z, struct bi_zip_entry *e, const uint8_t *p, size_t n,
                      struct bioinfer_error *err)
{
    uint64_t *const fields[] = {&e->size, &e->stored_size, &e->header};
    bool seen = false;
    while (n >= 4) {
        size_t id = bi_le16(p), len = bi_le16(p + 2), used = 0;
        p += 4;
        n -= 4;
        if (len > n)
            return fail_entry(z, e, BIOINFER_FORMAT, err, "extra field beyond its end");
        if (id == 1) {
            if (seen)
                return fail_entry(z, e, BIOINFER_FORMAT, err, "two ZIP64 extra fields");
            seen = true;
            for (size_t i = 0; i < BI_COUNT(fields); i++) {
                if (*fields[i] != 0xFFFFFFFF)
                    continue;
                if (len - used < 8)
                    return fail_entry(z, e, BIOINFER_FORMAT, err, "ZIP64 extra field too short");
                *fields[i] = bi_le64(p + used);
                used += 8;
            }
        }
        p += len;
        n -= len;
    }
    if (n)
        return fail_entry(z, e, BIOINFER_FORMAT, err, "extra field beyond its end");
    if (!seen && (e->size == 0xFFFFFFFF || e->stored_size == 0xFFFFFFFF || e->header == 0xFFFFFFFF))
        return fail_entry(z, e, BIOINFER_FORMAT, err, "no ZIP64 extra field");
    return 0;
}

/* One entry of the directory text p[0, left); *used = its bytes. */
static int read_entry(struct bi_zip *z, const uint8_t *p, size_t left, size_t *used,
                      struct bioinfer_error *err)
{
    struct bi_zip_entry *e = &z->entries[z->n_entries];
    size_t name_len, extra_len, comment_len;
    int st;
    if (left < ENTRY_SIZE || memcmp(p, "PK\1\2", 4))
        return bi_fail(err, BIOINFER_FORMAT, "%s: zip: no directory entry for record %zu",
                       z->file->path, z->n_entries);
    name_len = bi_le16(p + 28);
    extra_len = bi_le16(p + 30);
    comment_len = bi_le16(p + 32);
    *used = ENTRY_SIZE + name_len + extra_len + comment_len;
    if (*used > left)
        return bi_fail(err, BIOINFER_FORMAT, "%s: zip: directory entry %zu reaches beyond its end",
                       z->file->path, z->n_entries);
    *e = (struct bi_zip_entry){.flags = bi_le16(p + 8),
                               .method = bi_le16(p + 10),
                               .crc = bi_le32(p + 16),
                               .stored_size = bi_le32(p + 20),
                               .size = bi_le32(p + 24),
                               .name_len = name_len,
                               .header = bi_le32(p + 42)};
    if (!(e->name = bi_arena_strndup(&z->arena, (const char *)p + ENTRY_SIZE, name_len)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: zip names", z->file->path);
    if ((st = check_name(z, e, err)))
        return st;
    if (bi_le16(p + 34))
        return fail_entry(z, e, BIOINFER_FORMAT, err, "on another disk");
    if ((st = read_extra(z, e, p + ENTRY_SIZE + name_len, extra_len, err)))
        return st;
    if ((st = bi_map_add(&z->by_name, e->name, name_len, z->n_entries, NULL)) < 0)
        return bi_fail(err, BIOINFER_NOMEM, "%s: zip names", z->file->path);
    if (!st)
        return fail_entry(z, e, BIOINFER_FORMAT, err, "name appears twice");
    z->n_entries++;
    return 0;
}

int bi_zip_open(struct bi_zip *z, const struct bi_file *file, struct bioinfer_error *err)
{
    struct directory d;
    uint8_t *text = NULL;
    size_t at = 0, used = 0;
    int st;
    z->file = file;
    z->arena.env = z->env;
    z->by_name.env = z->env;
    if ((st = read_end(z, &d, err)))
        return st;
    z->directory = d.offset;
    if (!(text = bi_alloc(z->env, (size_t)d.size)) ||
        !(z->entries = bi_calloc(z->env, (size_t)d.n, sizeof *z->entries))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: zip directory of %llu bytes", file->path,
                     (unsigned long long)d.size);
        goto out;
    }
    if ((st = bi_file_read(file, d.offset, text, (size_t)d.size, err)))
        goto out;
    while (!st && z->n_entries < d.n) {
        st = read_entry(z, text + at, (size_t)d.size - at, &used, err);
        at += used;
    }
    if (!st && at != d.size)
        st = bi_fail(err, BIOINFER_FORMAT,
                     "%s: zip: %llu records take %zu bytes of a directory of %llu", file->path,
                     (unsigned long long)d.n, at, (unsigned long long)d.size);
out:
    bi_free(z->env, text);
    return st;
}

/* ---- local headers ---- */

/* 0 and 0xFFFFFFFF stand for "see the directory". */
static bool agrees(uint32_t local, uint64_t central)
{
    return !local || local == 0xFFFFFFFF || local == central;
}

static int check_local(struct bi_zip *z, struct bi_zip_entry *e, uint8_t *scratch,
                       struct bioinfer_error *err)
{
    size_t name_len;
    int st;
    if (e->flags & 0x2041)
        return fail_entry(z, e, BIOINFER_UNSUPPORTED, err, "encrypted");
    if (e->method && (!z->deflated || e->method != 8))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: zip record '%s': compressed (method %u); PyTorch stores its records",
                       z->file->path, bi_quote(e->name, e->name_len).text, e->method);
    if (!e->method && e->size != e->stored_size)
        return fail_entry(z, e, BIOINFER_FORMAT, err, "stored, yet its two sizes differ");
    if (!bi_range_ok(e->header, LOCAL_SIZE + (uint64_t)e->name_len, z->directory))
        return fail_entry(z, e, BIOINFER_FORMAT, err, "local header outside the records");
    if ((st = bi_file_read(z->file, e->header, scratch, LOCAL_SIZE + e->name_len, err)))
        return st;
    name_len = bi_le16(scratch + 26);
    if (memcmp(scratch, "PK\3\4", 4))
        return fail_entry(z, e, BIOINFER_FORMAT, err, "no local header where the directory says");
    if (name_len != e->name_len || memcmp(scratch + LOCAL_SIZE, e->name, name_len))
        return fail_entry(z, e, BIOINFER_FORMAT, err, "local header has another name");
    if (bi_le16(scratch + 8) != e->method || bi_le16(scratch + 6) & 0x2041 ||
        !agrees(bi_le32(scratch + 14), e->crc) || !agrees(bi_le32(scratch + 18), e->stored_size) ||
        !agrees(bi_le32(scratch + 22), e->size))
        return fail_entry(z, e, BIOINFER_FORMAT, err, "local header differs from the directory");
    /* within z->directory, so none of the sums can overflow */
    e->data = e->header + LOCAL_SIZE + name_len + bi_le16(scratch + 28);
    if (!bi_range_ok(e->data, e->stored_size, z->directory))
        return fail_entry(z, e, BIOINFER_FORMAT, err, "data outside the records");
    return 0;
}

int bi_zip_check(struct bi_zip *z, struct bioinfer_error *err)
{
    struct bi_span *spans = bi_calloc(z->env, z->n_entries, sizeof *spans);
    uint8_t *scratch = bi_alloc(z->env, LOCAL_SIZE + 65536);
    int st = 0;
    if (!spans || !scratch)
        st = bi_fail(err, BIOINFER_NOMEM, "%s: zip records", z->file->path);
    for (size_t i = 0; i < z->n_entries && !st; i++) {
        struct bi_zip_entry *e = &z->entries[i];
        if (!(st = check_local(z, e, scratch, err)))
            spans[i] = (struct bi_span){e->header, e->data + e->stored_size, i};
    }
    if (!st)
        bi_span_sort(spans, z->n_entries);
    for (size_t i = 1; i < z->n_entries && !st; i++)
        if (spans[i].begin < spans[i - 1].end)
            st = fail_entry(z, &z->entries[spans[i].index], BIOINFER_FORMAT, err,
                            "overlaps another record");
    bi_free(z->env, scratch);
    bi_free(z->env, spans);
    return st;
}

const struct bi_zip_entry *bi_zip_find(const struct bi_zip *z, const char *name, size_t n)
{
    uint64_t i;
    return bi_map_find(&z->by_name, name, n, &i) ? &z->entries[i] : NULL;
}

void bi_zip_close(struct bi_zip *z)
{
    bi_free(z->env, z->entries);
    if (z->by_name.env)
        bi_map_free(&z->by_name);
    if (z->arena.env)
        bi_arena_reset(&z->arena);
    z->entries = NULL;
    z->n_entries = 0;
}

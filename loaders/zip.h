/* zip.h - the directory of a ZIP archive whose records are stored, or deflated where that is
 * wanted. */
#ifndef BI_ZIP_H
#define BI_ZIP_H

#include "../base/arena.h"
#include "../base/file.h"
#include "../base/map.h"

/* A record of an archive. */
struct bi_zip_entry {
    const char *name; /* NUL-terminated, arena */
    size_t name_len;
    unsigned flags, method;
    uint32_t crc;
    uint64_t size, stored_size;
    uint64_t header; /* where the local header is */
    uint64_t data;   /* set by bi_zip_check() */
};

/* Zero-initialise but for env. */
struct bi_zip {
    const struct bi_env *env;
    bool deflated; /* records may be deflated (method 8), which the caller inflates */
    bool any_name; /* names are keys, not paths: they may have a backslash, a drive or ".." */
    const struct bi_file *file;
    struct bi_arena arena;
    struct bi_zip_entry *entries; /* in directory order */
    size_t n_entries;
    struct bi_map by_name;
    uint64_t directory; /* where it starts: no record reaches it */
};

/* Reads the central directory: names are unique and plain. The file must stay. FORMAT: it is no
 * archive, damaged, or in parts, or a name is empty or there twice or, unless zip->any_name, leads
 * elsewhere; LIMIT: more than 1,000,000 records; else a failure to read. After a failure, too, it
 * is to be closed. */
int bi_zip_open(struct bi_zip *zip, const struct bi_file *file, struct bioinfer_error *err);
/* Checks every record against its local header, and sets `data` of each. UNSUPPORTED: encrypted, or
 * neither stored nor, where zip->deflated, deflated; FORMAT: the headers differ, a record lies
 * outside, or two overlap. The CRC and the bytes themselves are not looked at. */
int bi_zip_check(struct bi_zip *zip, struct bioinfer_error *err);
/* The record whose whole name is these n bytes; NULL when there is none. It lives until the archive
 * is closed. */
const struct bi_zip_entry *bi_zip_find(const struct bi_zip *zip, const char *name, size_t n);
/* Frees the directory; the file stays the caller's. Safe on zeros with an env. */
void bi_zip_close(struct bi_zip *zip);

#endif

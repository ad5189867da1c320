/* npz.c - a body in npz, as numpy.savez() makes it: "sequences" is an array of texts [n] (of
 * type S or U), or of letters [n, length] (uint8), and "ids" one of texts [n], where it is there.
 * Nothing else may be there: settings stand in the query of the address. */
#include "serve.h"

#include "../loaders/npy.h"
#include "../loaders/zip.h"

#include <stdlib.h>
#include <string.h>

/* An array of n texts, `width` bytes each, filled up with NUL. */
struct texts {
    const uint8_t *at;
    uint64_t n, width;
    bool wide; /* each character has 4 bytes, a code point */
};

static bool take_type(struct texts *t, const struct bi_npy *npy)
{
    const char *type = npy->dtype, *digits = type + 2;
    const bool letters = !strcmp(type, "|u1");
    t->wide = !strncmp(type, "<U", 2);
    if (letters ? npy->rank != 2 : npy->rank != 1 || (!t->wide && strncmp(type, "|S", 2)))
        return false;
    t->n = npy->shape[0];
    t->width = letters ? npy->shape[1] : strtoull(digits, NULL, 10) * (t->wide ? 4 : 1);
    return letters || (*digits >= '0' && *digits <= '9' && strlen(digits) < 10);
}

/* Finds an array of texts; *t is all zeros where there is none of the name. */
static int find_texts(struct texts *t, const struct bi_zip *zip, const char *name,
                      struct bioinfer_error *err)
{
    const struct bi_zip_entry *e = bi_zip_find(zip, name, strlen(name));
    const uint8_t *bytes = zip->file->memory;
    struct bi_npy npy;
    uint64_t head;
    int st;
    *t = (struct texts){0};
    if (!e)
        return 0;
    if ((st = bi_npy_read(&npy, zip->file, e->data, e->size, name, err)))
        return st;
    bytes += e->data;
    head = bytes[6] == 1 ? 10u + bi_le16(bytes + 8) : 12u + bi_le32(bytes + 8);
    if (!take_type(t, &npy))
        return serve_refuse(err, BIOINFER_INVALID,
                            "request: %s is %s of %d dimensions, expected texts [n] (S or U), or "
                            "letters [n, length] (uint8)",
                            name, npy.dtype, npy.rank);
    if (npy.fortran && npy.rank > 1)
        return serve_refuse(err, BIOINFER_UNSUPPORTED,
                            "request: %s is in Fortran's order: send numpy.ascontiguousarray() of "
                            "it",
                            name);
    if (head > e->size || (t->width && t->n > (e->size - head) / t->width))
        return serve_refuse(err, BIOINFER_FORMAT, "request: %s has fewer bytes than its shape says",
                            name);
    t->at = bytes + head;
    return 0;
}

/* Writes a code point in UTF-8 and gives its bytes. What is no character becomes a control byte,
 * which neither an id nor a sequence can have. */
static size_t put_point(char *to, uint32_t c)
{
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned first[] = {0, 0xc0, 0xe0, 0xf0};
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
        *to = 1;
        return 1;
    }
    to[0] = (char)(first[more] | c >> 6 * more);
    for (int i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return 1 + (size_t)more;
}

/* Copies text i, without the NULs at its end, and with those inside: its n bytes, in UTF-8 where it
 * is one of code points. */
static char *copy_text(struct serve_request *r, const struct texts *t, uint64_t i, size_t *n)
{
    const size_t step = t->wide ? 4 : 1;
    const uint8_t *at = t->at + i * t->width;
    size_t used = (size_t)t->width / step;
    char *text = bi_arena_alloc(&r->arena, (size_t)t->width + 1);
    *n = 0;
    while (used && !(t->wide ? bi_le32(at + (used - 1) * step) : at[used - 1]))
        used--;
    for (size_t k = 0; text && k < used; k++) {
        if (t->wide)
            *n += put_point(text + *n, bi_le32(at + k * step));
        else
            text[(*n)++] = (char)at[k];
    }
    if (text)
        text[*n] = '\0';
    return text;
}

/* Refuses an array that nobody knows. */
static int check_names(const struct bi_zip *zip, struct bioinfer_error *err)
{
    for (size_t i = 0; i < zip->n_entries; i++)
        if (strcmp(zip->entries[i].name, "sequences.npy") &&
            strcmp(zip->entries[i].name, "ids.npy"))
            return serve_refuse(err, BIOINFER_INVALID,
                                "request: '%.60s' is not known: an npz has sequences and ids, and "
                                "settings stand in the address",
                                zip->entries[i].name);
    return 0;
}

static int take_text(struct serve *s, struct serve_request *r, size_t i, const struct texts *texts,
                     const struct texts *ids, struct bioinfer_error *err)
{
    struct bioinfer_record *record = &r->records[i];
    struct bi_json id = {.type = BI_JSON_STRING};
    size_t n;
    char *text;
    int st;
    record->description = record->message = "";
    if (ids->at) {
        if (!(id.text = copy_text(r, ids, i, &n)))
            return serve_no_memory(err);
        id.text_len = (uint32_t)n;
    }
    if ((st = serve_request_id(r, &record->id, i, ids->at ? &id : NULL, err)))
        return st;
    if (!(text = copy_text(r, texts, i, &n)))
        return serve_no_memory(err);
    return serve_request_letters(s, r, record, text, n, err);
}

int serve_npz_read(struct serve *s, struct serve_request *r, const char *body, size_t size,
                   struct bioinfer_error *err)
{
    struct bi_zip zip = {.env = &s->env, .any_name = true};
    struct bi_file file = BI_FILE_NONE;
    struct texts texts, ids;
    int st = bi_file_from_memory(&file, &s->env, "request", body, size, err);
    if (st || (st = bi_zip_open(&zip, &file, err)) || (st = bi_zip_check(&zip, err)) ||
        (st = check_names(&zip, err)) || (st = find_texts(&texts, &zip, "sequences.npy", err)) ||
        (st = find_texts(&ids, &zip, "ids.npy", err)))
        goto out;
    if (!texts.at)
        st = serve_refuse(err, BIOINFER_INVALID, "the request has no array \"sequences\"");
    else if (ids.at && ids.n != texts.n)
        st = serve_refuse(err, BIOINFER_INVALID, "request: %llu ids for %llu sequences",
                          (unsigned long long)ids.n, (unsigned long long)texts.n);
    if (!st)
        st = serve_request_make(r, texts.n, err);
    for (size_t i = 0; !st && i < r->n_records; i++)
        st = take_text(s, r, i, &texts, &ids, err);
out:
    bi_zip_close(&zip);
    bi_file_close(&file);
    return st;
}

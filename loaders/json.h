/* json.h - a strict JSON reader for headers and configurations.
 *
 * Iterative, depth at most 64, one arena; numbers stay text until they are asked for.
 * UTF-8 is checked; duplicate keys of one object, lone surrogates and anything after the
 * value are errors. Errors name the document and the byte offset. */
#ifndef BI_JSON_H
#define BI_JSON_H

#include "../base/arena.h"
#include "watch.h"

enum bi_json_type {
    BI_JSON_NULL,
    BI_JSON_FALSE,
    BI_JSON_TRUE,
    BI_JSON_NUMBER,
    BI_JSON_STRING,
    BI_JSON_ARRAY,
    BI_JSON_OBJECT
};

/* A value of a document; a member or an item points to the next one. */
struct bi_json {
    enum bi_json_type type;
    const char *key; /* member of an object: its name (NUL-terminated) */
    uint32_t key_len;
    uint32_t text_len;            /* bytes of a string or number */
    const char *text;             /* string (decoded) or number as it stands; NUL-terminated */
    size_t n;                     /* items or members */
    struct bi_json *first, *next; /* children in file order; sibling */
    const struct bi_watch *watch; /* NULL but in tests */
};

/* Parses text[0, size), which needs no NUL. `name` is for messages. The tree lives in the arena,
 * with a copy of the text; any value may be its root. FORMAT: no JSON (an empty text is none), not
 * UTF-8, or an object has a name twice. LIMIT: nested deeper than 64, a text of 4 GiB, or values
 * that take more than 64 MiB and 16 bytes for each byte of it. After a failure *out is untouched,
 * and what the arena holds stays until it is reset. */
int bi_json_parse(struct bi_json **out, struct bi_arena *arena, const char *name, const char *text,
                  size_t size, struct bioinfer_error *err);
/* A member of an object by name; NULL when absent or json is no object (or NULL). A member that is
 * null is there, as BI_JSON_NULL. */
const struct bi_json *bi_json_get(const struct bi_json *json, const char *key);
/* Convert: false when json is NULL, of another type or out of range (*out untouched). A double too
 * small for one is 0. The text of a string ends at its first NUL, which "\u0000" can put inside:
 * text_len has all of it. */
bool bi_json_u64(const struct bi_json *json, uint64_t *out);  /* plain decimal digits only */
bool bi_json_double(const struct bi_json *json, double *out); /* locale-free */
bool bi_json_bool(const struct bi_json *json, bool *out);
const char *bi_json_string(const struct bi_json *json); /* NULL unless a string */

#endif

/* scan.h - JSON text as a sequence of tokens: one pass, no recursion, no allocation.
 *
 * The grammar is checked here; a caller only has to look at the tokens. Strings are
 * decoded and numbers are moved inside the text itself, so that both end in a NUL. */
#ifndef BI_SCAN_H
#define BI_SCAN_H

#include "../base/base.h"

enum { BI_SCAN_MAX_DEPTH = 64 };

enum bi_token {
    BI_TOKEN_END,
    BI_TOKEN_NULL,
    BI_TOKEN_FALSE,
    BI_TOKEN_TRUE,
    BI_TOKEN_NUMBER,
    BI_TOKEN_STRING,
    BI_TOKEN_ARRAY,
    BI_TOKEN_ARRAY_END,
    BI_TOKEN_OBJECT,
    BI_TOKEN_OBJECT_END
};

/* Name of a token for messages: "a string", "']'", "the end". A constant. */
const char *bi_token_name(enum bi_token token);

/* A document that is being scanned. */
struct bi_scan {
    const char *name; /* the document's, for messages */
    char *text;       /* [-1, size] may be written: a byte more on either side */
    size_t size, pos;
    uint64_t objects; /* bit d: the container at depth d is an object */
    int depth;
    int state;
    /* about the last token */
    enum bi_token token;
    size_t at;       /* byte offset where it stood */
    const char *key; /* inside an object: name of the member that starts here */
    size_t key_len;
    const char *value; /* string or number */
    size_t value_len;
};

/* Starts scanning; `name` and `text`, which is changed, must outlive it. FORMAT: the text is not
 * all UTF-8, or has a byte order mark. An empty text is found by bi_scan_next(). */
int bi_scan_start(struct bi_scan *scan, const char *name, char *text, size_t size,
                  struct bioinfer_error *err);
/* Next token into *scan; its key and value, NULL where it has none, are valid as long as the text.
 * At BI_TOKEN_END nothing but white space was left, and every later call gives it again. FORMAT: no
 * JSON from here on, with the byte; LIMIT: nested deeper than BI_SCAN_MAX_DEPTH. After a failure
 * nothing more is to be read. A name that is twice in an object is no failure here. */
int bi_scan_next(struct bi_scan *scan, struct bioinfer_error *err);
/* Skips the rest of the value whose first token was read last; a plain value has none, and *scan
 * stays. Behind a container scan->token is its end. Statuses are those of bi_scan_next(). */
int bi_scan_skip(struct bi_scan *scan, struct bioinfer_error *err);

/* Offset of the first byte that is not part of well-formed UTF-8, n when all is well, also for an
 * empty text. */
size_t bi_utf8_check(const char *text, size_t n);

#endif

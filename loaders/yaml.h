/* yaml.h - settings in the part of YAML that PyYAML writes for a flat dict of Python.
 *
 * A text is lines "key: value" at the margin. A value is a scalar, plain or in quotes, that lines
 * which are indented may continue, or a list of scalars: lines "- item" or "[a, b]". "#" after a
 * blank begins a comment, and "---" and "..." may stand around the whole. Other values (mappings,
 * lists within lists, anchors, tags, blocks) are passed over and marked OTHER. */
#ifndef BI_YAML_H
#define BI_YAML_H

#include "../base/arena.h"

enum bi_yaml_kind {
    BI_YAML_NULL,
    BI_YAML_BOOL,
    BI_YAML_NUMBER,
    BI_YAML_TEXT,
    BI_YAML_LIST,
    BI_YAML_OTHER
};

struct bi_yaml_entry {
    const char *key;
    uint64_t line; /* from 1 */
    enum bi_yaml_kind kind;
    bool flag;        /* BOOL */
    bool whole;       /* a NUMBER written as an integer */
    double number;    /* NUMBER, finite */
    const char *text; /* the scalar without its quotes; of a list the first item's; never NULL */
    size_t n_items;   /* LIST */
    bool used;        /* the caller's mark; false at first */
};

struct bi_yaml {
    struct bi_arena arena;
    const char *path; /* for messages */
    struct bi_yaml_entry *entries;
    size_t n, cap;
};

enum { BI_YAML_MOST_BYTES = 1 << 20, BI_YAML_MOST_KEYS = 4096 };

/* Reads a file. FORMAT: bytes that are not UTF-8, control characters, a line that is neither of the
 * above, a key that comes twice; the words have file and line. LIMIT: more than the bounds above.
 * After a failure, too, *out is to be freed. */
int bi_yaml_read(struct bi_yaml *out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err);
/* The same of text in memory, which is copied. */
int bi_yaml_read_memory(struct bi_yaml *out, const struct bi_env *env, const char *name,
                        const char *text, size_t size, struct bioinfer_error *err);
/* NULL: there is no such key. */
struct bi_yaml_entry *bi_yaml_find(const struct bi_yaml *yaml, const char *key);
void bi_yaml_free(struct bi_yaml *yaml); /* safe on zeros; leaves none of it */

#endif

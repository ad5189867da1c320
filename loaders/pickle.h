/* pickle.h - Python pickles as data: a restricted unpickler for PyTorch checkpoints.
 *
 * Nothing is executed: a class or function of a pickle is only a name. The names below
 * `symbols` in pickle_names.c have a meaning (containers, storages, tensors); whatever
 * any other name makes is an opaque value. No recursion; all values live in one arena,
 * bounded by 64 MiB plus 16 times the bytes read. */
#ifndef BI_PICKLE_H
#define BI_PICKLE_H

#include "../base/arena.h"
#include "../base/dtype.h"
#include "../base/file.h"
#include "../base/map.h"
#include "checkpoint.h"

enum bi_pickle_type {
    BI_PICKLE_NONE,
    BI_PICKLE_BOOL,
    BI_PICKLE_INT,
    BI_PICKLE_FLOAT,
    BI_PICKLE_BIGINT, /* text: two's complement, little-endian, more than 8 bytes */
    BI_PICKLE_STRING, /* text: UTF-8 by promise only */
    BI_PICKLE_BYTES,  /* text */
    BI_PICKLE_TUPLE,
    BI_PICKLE_LIST,
    BI_PICKLE_SET,    /* list */
    BI_PICKLE_DICT,   /* list: key, value, key, value ... */
    BI_PICKLE_OBJECT, /* list, as a dict: attributes of a Namespace */
    BI_PICKLE_SYMBOL, /* symbol */
    BI_PICKLE_DTYPE,
    BI_PICKLE_STORAGE,
    BI_PICKLE_TENSOR,
    BI_PICKLE_OPAQUE, /* symbol: what made it */
    BI_PICKLE_UNSET   /* not a value: an empty memo entry */
};

struct bi_pickle_text {
    size_t n;
    char data[];
};

struct bi_pickle_symbol {
    const char *name; /* "module.name" */
    int meaning;      /* an index into pickle_names.c's table, -1 = unknown */
};

struct bi_pickle_storage {
    const char *key;
    enum bi_dtype dtype;
    bool untyped; /* raw bytes; n counts bytes */
    uint64_t n, element_size;
    /* filled by torch.c: where the bytes are */
    bool placed;
    uint64_t offset, size;
    uint32_t crc;
    size_t record;
};

struct bi_pickle_tensor {
    struct bi_pickle_storage *storage;
    enum bi_dtype dtype;
    int rank;
    uint64_t shape[BI_MAX_RANK], stride[BI_MAX_RANK], offset; /* in elements */
};

struct bi_pickle_value {
    enum bi_pickle_type type;
    union {
        int64_t i;
        double f;
        const struct bi_pickle_text *text;
        struct bi_pickle_list *list;
        const struct bi_pickle_symbol *symbol;
        enum bi_dtype dtype;
        struct bi_pickle_storage *storage;
        struct bi_pickle_tensor *tensor;
    } u;
};

struct bi_pickle_chunk {
    struct bi_pickle_chunk *next;
    size_t n, cap;
    struct bi_pickle_value items[];
};

struct bi_pickle_list {
    struct bi_pickle_chunk *first, *last; /* a tuple has one chunk */
    size_t n;
};

/* Walks a list; of a dict, two steps are one pair. NULL at the end. */
struct bi_pickle_iter {
    const struct bi_pickle_chunk *chunk;
    size_t i;
};
/* The value at hand, after which the iterator goes on; it begins with {list->first, 0}. NULL at the
 * end, and again for every later call. */
const struct bi_pickle_value *bi_pickle_next(struct bi_pickle_iter *it);
/* Last value of a key, of string or bytes, of a dict or object, as a later one replaces an earlier;
 * NULL without, and for any other type. */
const struct bi_pickle_value *bi_pickle_get(const struct bi_pickle_value *dict, const char *key);
/* Is it a string or bytes, equal to text as a whole? */
bool bi_pickle_is_text(const struct bi_pickle_value *v, const char *text);
/* "a tuple", a constant; or "an unsupported Python class x.y.Z" for what has a name, which is in
 * the caller's buffer, cut to it; "no value" for BI_PICKLE_UNSET. */
const char *bi_pickle_describe(const struct bi_pickle_value *v, char *buffer, size_t size);

/* Zero-initialise but for the first group. One object may read several pickles, one
 * after the other: they share the arena and the storages, not the memo. */
struct bi_pickle {
    const struct bi_env *env;
    const char *label; /* for messages: "x.pt: data.pkl" */
    bool strict;       /* any name without a meaning is an error */
    bool legacy;       /* persistent ids have six members */
    struct bi_arena arena;
    struct bi_map storages; /* key -> struct bi_pickle_storage * */
    uint64_t n_read;        /* bytes of all pickles so far, for the memory bound */
};

/* Reads one pickle from file[begin, end). *stop = offset behind its STOP, or where it failed,
 * untouched where there was no memory to begin; *out lives in p->arena, as does what was made
 * before a failure, until bi_pickle_free(). FORMAT: damaged; UNSUPPORTED: an opcode or protocol, or
 * with `strict` a name, that is not read, a pickled module, or a quantised, conjugate or negative
 * tensor; LIMIT: a bound of pickle_machine.h; else a failure to read. */
int bi_pickle_read(struct bi_pickle *p, const struct bi_file *file, uint64_t begin, uint64_t end,
                   uint64_t *stop, struct bi_pickle_value *out, struct bioinfer_error *err);
/* The storage of this key; NULL: no pickle has named it so far. */
struct bi_pickle_storage *bi_pickle_find_storage(const struct bi_pickle *p, const char *key,
                                                 size_t n);
/* Frees all values; safe on zeros. */
void bi_pickle_free(struct bi_pickle *p);

#endif

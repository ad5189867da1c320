/* arrays.h - the named arrays of an output: npz, npy, safetensors, jsonl, HDF5. */
#ifndef BI_REPORT_ARRAYS_H
#define BI_REPORT_ARRAYS_H

#include "../base/arena.h"
#include "../base/dtype.h"
#include "../base/file.h"

enum { BI_ARRAY_RANK = 4 };

/* An array of an output. */
struct bi_array_entry {
    const char *name;    /* NUL-terminated; bytes of the file */
    enum bi_dtype dtype; /* BI_DTYPE_COUNT: texts, or a type that is not read */
    int rank;            /* more than BI_ARRAY_RANK: only that much of the shape is kept, and of
                          * HDF5 it cannot be read; -1: HDF5 does not tell it */
    uint64_t shape[BI_ARRAY_RANK];
    uint64_t n;     /* elements */
    uint64_t width; /* bytes of one; texts are filled up with zeros */
    uint64_t at;    /* offset in the file; in jsonl that of the line */
    uint64_t size;  /* in jsonl: bytes of the line; packed: bytes in the file */
    size_t number;  /* in jsonl: which of the line's arrays; packed: bytes before the first value */
    bool packed;    /* deflated, in npz */
};

struct bi_array_held {
    const struct bi_array_entry *of; /* their array; NULL = none is held */
    float *values;                   /* all elements of it; of a packed one: */
    uint8_t *bytes;                  /* all bytes, the header's, too */
};

/* Zero-initialise but for arena.env. */
struct bi_arrays {
    struct bi_arena arena;
    struct bi_file file;
    const char *format;                      /* "npz" */
    const char *version, *model, *signature; /* who wrote it; NULL = not told */
    const char *kinds;                       /* "mean,contacts"; NULL = not told */
    struct bi_array_entry *entries;          /* in file order */
    size_t n, cap;
    struct bi_array_held *held; /* the values of jsonl, or of a packed array, decoded last */
    struct bi_hdf5_file *h5;    /* NULL = it is no HDF5 */
};

/* Lists the arrays, maybe none. *is_one = false: the file is no container of arrays, which returns
 * 0. FORMAT: a damaged one; UNSUPPORTED: one that is not read, such as an archive with other files,
 * or columns of all records (writers/columns.h); LIMIT: a line of jsonl above 256 MiB, or too many
 * members. To be closed in any case. */
int bi_arrays_open(struct bi_arrays *a, const char *path, bool *is_one, struct bioinfer_error *err);
/* Reads elements [first, first + n) as float32, row-major; n may be 0. UNSUPPORTED: they are not
 * numbers, or the array does not have them; FORMAT: they are damaged. */
int bi_arrays_read(const struct bi_arrays *a, const struct bi_array_entry *e, uint64_t first,
                   uint64_t n, float *dst, struct bioinfer_error *err);
/* Takes text i, which lives during the call; 0 goes on, anything else ends it. Then: hands out the
 * n texts of an array of texts or of rows of bytes, in order, and of HDF5 texts of any length. A
 * status, or what take() returned; 0 also where it has not n texts, or they have 1,024 bytes and
 * more: none is taken then. An array of numbers is not told from texts. */
typedef int (*bi_array_take_text)(void *user, size_t i, const char *text);
int bi_arrays_texts(const struct bi_arrays *a, const struct bi_array_entry *e, uint64_t n,
                    bi_array_take_text take, void *user, struct bioinfer_error *err);
void bi_arrays_close(struct bi_arrays *a); /* accepts one that was not opened */

#endif

/* hdf5_read.h - datasets of an HDF5 file. Without libhdf5 every call that opens one is UNSUPPORTED.
 * Callbacks must not call back: libhdf5 is locked meanwhile. */
#ifndef BI_HDF5_READ_H
#define BI_HDF5_READ_H

#include "../base/buf.h"

enum { BI_HDF5_RANK = 8 };

struct bi_hdf5_set {
    const char *name;
    int class;    /* H5T_class_t: 0 = whole numbers, 1 = floats; -1 = unknown */
    size_t width; /* bytes of an element in the file */
    bool is_text; /* texts of any length */
    int rank;     /* -1 = unknown, or more than BI_HDF5_RANK */
    uint64_t shape[BI_HDF5_RANK];
};

struct bi_hdf5_file;

/* `path` stays the caller's until close. After a failure *out is NULL or a file that can only be
 * closed, which it is to be. UNSUPPORTED: no libhdf5; FORMAT: libhdf5 cannot open the file, which
 * may not exist. */
int bi_hdf5_open(struct bi_hdf5_file **out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err);
void bi_hdf5_close(struct bi_hdf5_file **file); /* NULL-safe */

/* Takes a dataset; its name lives during the call. Not 0: no more are wanted. */
typedef int (*bi_hdf5_take)(void *user, const struct bi_hdf5_set *set);
/* Hands out all datasets, by name within a group: 0, or what `take` returned, without words in
 * *err, or FORMAT. *cut, set unless the build lacks HDF5: names of a KiB, groups below a depth of 8
 * or named types were left out. Links to nothing and groups that cannot be read are passed over. */
int bi_hdf5_each(struct bi_hdf5_file *f, bi_hdf5_take take, void *user, bool *cut,
                 struct bioinfer_error *err);
/* Reads elements [first, first + n) of a dataset of numbers, row-major, as float32; n may be 0, and
 * is where a dimension is 0. FORMAT: libhdf5 cannot read them, the dataset has no such elements, is
 * not there or has another shape than s says. */
int bi_hdf5_read(struct bi_hdf5_file *f, const struct bi_hdf5_set *s, uint64_t first, uint64_t n,
                 float *dst, struct bioinfer_error *err);
/* Takes text i, which lives during the call; 0 goes on, anything else ends it. */
typedef int (*bi_hdf5_take_text)(void *user, size_t i, const char *text);
/* Hands out the n texts of a dataset [n], in order: 0, or what `take` returned. FORMAT: it has no n
 * texts of any length (is_text), is not there, or libhdf5 cannot read it; NOMEM. All are read
 * before the first is taken, so after either none was. */
int bi_hdf5_texts(struct bi_hdf5_file *f, const char *name, uint64_t n, bi_hdf5_take_text take,
                  void *user, struct bioinfer_error *err);
/* Hands out a text of any length that the root group has as an attribute, as text 0: what `take`
 * returned; 0 where it is not there, is something else or cannot be read. */
int bi_hdf5_about(struct bi_hdf5_file *f, const char *name, bi_hdf5_take_text take, void *user);

/* Appends a line for each dataset of a file: name, type and shape; of more than 1,000 the first,
 * and a line that says so. The statuses of bi_hdf5_open(); *out may hold a part after a failure. */
int bi_hdf5_list(struct bi_buf *out, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err);

#endif

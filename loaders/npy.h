/* npy.h - the header of a NumPy array: its type and shape. */
#ifndef BI_NPY_H
#define BI_NPY_H

#include "../base/file.h"

enum { BI_NPY_RANK = 32, BI_NPY_DTYPE = 40 };

/* The facts that the header tells. */
struct bi_npy {
    char dtype[BI_NPY_DTYPE]; /* "<f4"; "structured" for a type with fields */
    bool fortran;             /* the first axis is the fastest: of no matter below rank 2 */
    int rank;
    uint64_t shape[BI_NPY_RANK];
};

/* Reads the header of the array in bytes [at, at + size) of the file; `name` is for messages, NULL
 * = none. Versions 1 to 3, and at most 64 KiB of header. Whether all elements are there is not
 * looked at. FORMAT: it is no such array, its header is cut,
 * or it has more than BI_NPY_RANK dimensions or a dtype of BI_NPY_DTYPE bytes; else a failure to
 * read. */
int bi_npy_read(struct bi_npy *npy, const struct bi_file *file, uint64_t at, uint64_t size,
                const char *name, struct bioinfer_error *err);

#endif

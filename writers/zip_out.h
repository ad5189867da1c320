/* zip_out.h - a ZIP of stored members, as NumPy and PyTorch read it.
 *
 * [local header | name | ZIP64 extra | padding extra | data]...  central directory  ends
 * Sizes are always in ZIP64 extras; the data of a member starts at a multiple of 64. A
 * member whose data is in memory is written in one go, CRC first; of one that is streamed CRC and
 * sizes are filled in at its end. Dates are fixed
 * (1980-01-01), so equal results are equal files. The central directory waits in a file beside the
 * output once it is large, so memory does not grow with the number of members. */
#ifndef BI_ZIP_OUT_H
#define BI_ZIP_OUT_H

#include "../base/buf.h"
#include "../base/file.h"

struct bi_zip_out {
    struct bi_out out;
    struct bi_buf head, central;
    struct bi_out index; /* the central directory's first bytes; env NULL = it is all in memory */
    uint64_t n;
    int n_threads; /* that may make the CRC of large data; 0 = 1. To be set behind open */
    /* the member that is streamed */
    struct bi_buf name;
    uint64_t at, n_prefix, n_data; /* where its header is; bytes */
    uint32_t crc;                  /* CRC-32 of its data */
};

/* Opens an archive of stored members at path, which has its name after finish. Sets all of *zip, so
 * one that was open is to be closed before. To be closed after a failure, too. */
int bi_zip_out_open(struct bi_zip_out *zip, const struct bi_env *env, const char *path,
                    struct bioinfer_error *err);
/* A member: n_prefix bytes and n_data bytes behind them. Names are not compared, and have at most
 * 65,535 bytes, which is not checked. After a failure of any of these the archive can only be
 * closed. */
int bi_zip_out_put(struct bi_zip_out *zip, const char *name, const void *prefix, size_t n_prefix,
                   const void *data, size_t n_data, struct bioinfer_error *err);
/* A member whose size is known at its end: begin, append any number of times, end, with no other
 * member meanwhile. The name is copied. The prefix may change, but for its size. */
int bi_zip_out_begin(struct bi_zip_out *zip, const char *name, const void *prefix, size_t n_prefix,
                     struct bioinfer_error *err);
int bi_zip_out_append(struct bi_zip_out *zip, const void *data, size_t n,
                      struct bioinfer_error *err);
int bi_zip_out_end(struct bi_zip_out *zip, const void *prefix, size_t n_prefix,
                   struct bioinfer_error *err);
/* Writes the directory and the comment, "" = none, of at most 65,535 bytes; the archive has its
 * name then, without a member, too. Without finish there is no file. */
int bi_zip_out_finish(struct bi_zip_out *zip, const char *comment, struct bioinfer_error *err);
void bi_zip_out_close(struct bi_zip_out *zip); /* safe on zeros with out = BI_OUT_NONE */

#endif

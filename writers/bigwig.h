/* bigwig.h - values in bins along contigs, as a BigWig file. */
#ifndef BI_BIGWIG_H
#define BI_BIGWIG_H

#include "../base/file.h"

struct bioinfer_bigwig;

/* Opens a file that has its name after finish(). *out is NULL after a failure. INVALID: path is
 * standard output. */
int bi_bigwig_open(struct bioinfer_bigwig **out, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err);
/* contig and its length: the same for every call with that name, else INVALID. n 0: nothing. Also
 * INVALID: a bin begins outside the contig, or has a size that is not 1 to 2^32 - 1; NONFINITE: a
 * value is not finite; LIMIT: a name without bytes or of more than 255, a length that needs more
 * than 32 bits, or more than 65,535 contigs. After these nothing of the call is taken, and further
 * ones may follow. */
int bi_bigwig_put(struct bioinfer_bigwig *b, const char *contig, int64_t length, int64_t start,
                  int64_t bin_size, const float *values, int64_t n, struct bioinfer_error *err);
/* Adds n values of the bins behind the last ones, as if the last bi_bigwig_put() that took values
 * had had them too; its statuses. MISUSE: there was none, also where n is 0. */
int bi_bigwig_extend(struct bioinfer_bigwig *b, const float *values, int64_t n,
                     struct bioinfer_error *err);
/* Writes the values, their index and their zoom levels: the file has its name then; without a value
 * it is a BigWig of no contig. INVALID: bins overlap. After a failure, and behind finish, it can
 * only be closed. close: without finish there is no file; NULL-safe. */
int bi_bigwig_finish(struct bioinfer_bigwig *b, struct bioinfer_error *err);
void bi_bigwig_close(struct bioinfer_bigwig **bigwig);

#endif

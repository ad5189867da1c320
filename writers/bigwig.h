/* bigwig.h - values in bins along contigs, as a BigWig file. */
#ifndef BI_BIGWIG_H
#define BI_BIGWIG_H

#include "../base/file.h"

struct bioinfer_bigwig;

int bi_bigwig_open(struct bioinfer_bigwig **out, const struct bi_env *env, const char *path,
                   struct bioinfer_error *err);
/* contig and its length: the same for every call with that name. See bioinfer_bigwig_put(). */
int bi_bigwig_put(struct bioinfer_bigwig *b, const char *contig, int64_t length, int64_t start,
                  int64_t bin_size, const float *values, int64_t n, struct bioinfer_error *err);
/* Adds n values of the bins behind the last ones, as if the last call of bi_bigwig_put() had had
 * them too. */
int bi_bigwig_extend(struct bioinfer_bigwig *b, const float *values, int64_t n,
                     struct bioinfer_error *err);
int bi_bigwig_finish(struct bioinfer_bigwig *b, struct bioinfer_error *err);
void bi_bigwig_close(struct bioinfer_bigwig **bigwig);

#endif

/* fold.h - Protenix: what the task fold asks of it, as models/fold.h has it. */
#ifndef BI_PROTENIX_FOLD_H
#define BI_PROTENIX_FOLD_H

#include "../fold.h"

/* As make() and free() of bi_fold_complexes. */
int protenix_fold_make(const struct bi_model *model, const struct bi_fold_given *from,
                       struct bi_fold_complex *to, struct bioinfer_error *err);
void protenix_fold_free(const struct bi_model *model, struct bi_fold_complex *complex);
/* As fill() and score() of bi_fold_atoms. */
void protenix_fold_fill(const struct bi_model *model, const struct bi_fold_record *r,
                        const char *input, void *to, const struct bi_counts *at, int64_t index);
int protenix_fold_score(const struct bi_model *model, const struct bi_fold_record *r,
                        const struct bi_fold_rated *rated, float *plddt,
                        struct bi_fold_scores *scores, struct bioinfer_error *err);

#endif

/* features.h - ESMFold2: residues, and inputs that the host makes for a record. */
#ifndef BI_ESMFOLD2_FEATURES_H
#define BI_ESMFOLD2_FEATURES_H

#include "esmfold2.h"

/* As names() of struct bi_fold_atoms. */
int esmfold2_names(char letter, const char *names[BI_FOLD_TOKEN_ATOMS]);
/* Is it one of the twenty amino acids? */
bool esmfold2_is_known(char letter);
/* The token of ESM C for a letter. */
int32_t esmfold2_stem_token(char letter);
/* As fill() of struct bi_fold_atoms. */
void esmfold2_fill(const struct bi_model *model, const struct bi_fold_record *record,
                   const char *input, void *to, const struct bi_counts *at, int64_t index);

#endif

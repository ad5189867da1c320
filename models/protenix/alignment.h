/* alignment.h - Protenix: the rows of a job, made of the alignments of its sequences. */
#ifndef BI_PROTENIX_ALIGNMENT_H
#define BI_PROTENIX_ALIGNMENT_H

#include "../../loaders/complex_jobs.h"
#include "tokens.h"

enum { PROTENIX_ROWS = 16384, PROTENIX_PAIRED = 8192, PROTENIX_OF_SPECIES = 600 };

/* Sets rows, profile and deletions of tokens that were made of the job. Paired rows stand first.
 * FORMAT: the first row of an alignment is not the sequence; NOT_FOUND: a folder has no alignment;
 * NOMEM; else what bi_a3m_read() gives. */
int protenix_align_job(struct protenix_tokens *to, const struct bi_env *env,
                       const struct bi_complex_job *job, struct bioinfer_error *err);
/* The species of a row by its header, of which it is a part: *n bytes, 0 where there is none. */
const char *protenix_species(const char *header, size_t *n);

#endif

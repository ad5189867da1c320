/* job.h - Protenix: features of a job. */
#ifndef BI_PROTENIX_JOB_H
#define BI_PROTENIX_JOB_H

#include "../../loaders/complex_jobs.h"
#include "tokens.h"

/* Makes all that the network reads of a job, whose name messages have. UNSUPPORTED: it has
 * templates; NOT_FOUND: a bond's atom is not in its ligand's file; else what
 * protenix_tokens_make(), protenix_align_job() and protenix_ligand_read() give. The job and the
 * components must outlive *to, which is to be freed in any case. */
int protenix_job_make(struct protenix_tokens *to, const struct bi_env *env,
                      const struct bi_components *components, const struct bi_complex_job *job,
                      struct bioinfer_error *err);

#endif

/* job.h - Protenix: features of a job. */
#ifndef BI_PROTENIX_JOB_H
#define BI_PROTENIX_JOB_H

#include "../../loaders/complex_jobs.h"
#include "tokens.h"

/* Makes all that the network reads of a job, whose name messages have. UNSUPPORTED: it has
 * templates, covalent bonds or ligands from files; else what protenix_tokens_make() and
 * protenix_align_job() give. The job and the components must outlive *to, which is to be freed in
 * any case. */
int protenix_job_make(struct protenix_tokens *to, const struct bi_env *env,
                      const struct bi_components *components, const struct bi_complex_job *job,
                      struct bioinfer_error *err);

#endif

/* job.c - Protenix: features of a job (job.h). */
#include "alignment.h"
#include "job.h"

/* UNSUPPORTED: the job has something that is not read yet. */
static int refuse(const struct bi_complex_job *job, struct bioinfer_error *err)
{
    if (job->n_bonds)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: covalent bonds are not read yet", job->name);
    for (int32_t i = 0; i < job->n_entities; i++) {
        const struct bi_complex_entity *e = &job->entities[i];
        const char *what = e->file ? "a ligand from a file" : e->templates ? "templates" : NULL;
        if (what)
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: sequence %d has %s, which is not read yet", job->name, i + 1, what);
    }
    return 0;
}

int protenix_job_make(struct protenix_tokens *to, const struct bi_env *env,
                      const struct bi_components *components, const struct bi_complex_job *job,
                      struct bioinfer_error *err)
{
    struct protenix_chain *chains;
    int st = refuse(job, err);
    if (st)
        return st;
    if (!(chains = bi_calloc(env, (size_t)job->n_entities + 1, sizeof *chains)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: chains", job->name);
    for (int32_t i = 0; i < job->n_entities; i++) {
        const struct bi_complex_entity *e = &job->entities[i];
        chains[i] = (struct protenix_chain){e->codes, e->n_codes, e->copies, e->sequence != NULL};
    }
    st = protenix_tokens_make(to, env, components, chains, job->n_entities, job->name, err);
    if (!st)
        st = protenix_align_job(to, env, job, err);
    bi_free(env, chains);
    return st;
}

/* job.c - Protenix: features of a job (job.h). */
#include <string.h>

#include "alignment.h"
#include "job.h"
#include "ligand.h"

/* Chains and bonds of a job. */
struct parts {
    struct protenix_chain *chains;
    struct protenix_bond *bonds;
    struct bi_component *ligands; /* [n_entities] from files */
    const char **codes;           /* [n_entities] theirs, which are in `texts` */
    char (*texts)[BI_COMPONENT_CODE + 1];
};

static int make_chain(struct parts *p, const struct bi_env *env, const struct bi_complex_job *job,
                      int32_t i, int32_t *n_files, struct bioinfer_error *err)
{
    const struct bi_complex_entity *e = &job->entities[i];
    struct protenix_chain *c = &p->chains[i];
    int st;
    if (e->templates)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: sequence %d has templatesPath, and templates are not read yet",
                       job->name, i + 1);
    *c = (struct protenix_chain){e->codes, e->n_codes, e->copies, e->sequence != NULL, NULL};
    if (!e->file)
        return 0;
    if ((st = protenix_ligand_read(&p->ligands[i], env, e->file, ++*n_files, err)))
        return st;
    p->codes[i] = memcpy(p->texts[i], p->ligands[i].code, sizeof p->texts[i]);
    c->own = &p->ligands[i];
    c->codes = &p->codes[i];
    c->n = 1;
    return 0;
}

static int make_end(const struct parts *p, const struct bi_complex_job *job, int32_t bond, int k,
                    struct bioinfer_error *err)
{
    const struct bi_complex_end *from = &job->bonds[bond].ends[k];
    struct protenix_end *to = &p->bonds[bond].ends[k];
    *to = (struct protenix_end){from->entity, from->copy, from->position, from->atom};
    if (from->atom)
        return 0;
    if (from->number >= p->ligands[from->entity].n_atoms)
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: bond %d: no atom %d in sequence %d, whose file has %d, counted from 0",
                       job->name, bond + 1, from->number, from->entity + 1,
                       p->ligands[from->entity].n_atoms);
    to->atom = p->ligands[from->entity].atoms[from->number].name;
    return 0;
}

static int make_parts(struct parts *p, struct protenix_tokens *to, const struct bi_env *env,
                      const struct bi_complex_job *job, struct bioinfer_error *err)
{
    const size_t n = (size_t)job->n_entities + 1;
    int32_t n_files = 0;
    int st = 0;
    p->chains = bi_calloc(env, n, sizeof *p->chains);
    p->ligands = bi_calloc(env, n, sizeof *p->ligands);
    p->codes = bi_calloc(env, n, sizeof *p->codes);
    p->bonds = bi_calloc(env, (size_t)job->n_bonds + 1, sizeof *p->bonds);
    p->texts = protenix_tokens_room(to, env, n, sizeof *p->texts); /* tokens point to it */
    if (!p->chains || !p->ligands || !p->codes || !p->bonds || !p->texts)
        return bi_fail(err, BIOINFER_NOMEM, "%s: chains", job->name);
    for (int32_t i = 0; !st && i < job->n_entities; i++)
        st = make_chain(p, env, job, i, &n_files, err);
    for (int32_t b = 0; !st && b < 2 * job->n_bonds; b++)
        st = make_end(p, job, b / 2, b % 2, err);
    return st;
}

static void free_parts(struct parts *p, const struct bi_env *env, const struct bi_complex_job *job)
{
    for (int32_t i = 0; p->ligands && i < job->n_entities; i++)
        bi_component_free(env, &p->ligands[i]);
    bi_free(env, p->chains);
    bi_free(env, p->ligands);
    bi_free(env, p->codes);
    bi_free(env, p->bonds);
}

int protenix_job_make(struct protenix_tokens *to, const struct bi_env *env,
                      const struct bi_components *components, const struct bi_complex_job *job,
                      struct bioinfer_error *err)
{
    struct parts p = {.chains = NULL};
    int st = make_parts(&p, to, env, job, err);
    if (!st) {
        const struct protenix_parts parts = {p.chains, job->n_entities, job->n_bonds, p.bonds,
                                             job->name};
        st = protenix_tokens_make(to, env, components, &parts, err);
    }
    if (!st)
        st = protenix_align_job(to, env, job, err);
    free_parts(&p, env, job);
    return st;
}

/* fuzz_complex_jobs.c - jobs of complexes: those that are read are whole, or there are words. */
#include "../../loaders/complex_jobs.h"
#include "fuzz.h"

static void check_alignment(const struct bi_complex_alignment *a)
{
    if ((a->path && a->text) || (a->text && strlen(a->text) != a->size))
        abort();
}

static void check_entity(const struct bi_complex_entity *e)
{
    const bool polymer = e->kind <= BI_COMPLEX_RNA;
    if (e->copies < 1 || polymer != (e->sequence != NULL) || (e->file != NULL) != !e->n_codes ||
        (e->file && e->kind != BI_COMPLEX_LIGAND) ||
        (polymer && strlen(e->sequence) != (size_t)e->n_codes))
        abort();
    for (int32_t i = 0; i < e->n_codes; i++)
        if (!e->codes[i][0] || strlen(e->codes[i]) > 5)
            abort();
    for (int32_t i = 0; e->ids && i < e->copies; i++)
        if (!e->ids[i][0] || strlen(e->ids[i]) > 16)
            abort();
    check_alignment(&e->paired);
    check_alignment(&e->unpaired);
}

static void check_end(const struct bi_complex_job *job, const struct bi_complex_end *end)
{
    const struct bi_complex_entity *e;
    if (end->entity < 0 || end->entity >= job->n_entities || end->number < 0)
        abort();
    e = &job->entities[end->entity];
    if (end->copy < -1 || end->copy >= e->copies || end->position < 0 ||
        end->position >= (e->file ? 1 : e->n_codes) || (!end->atom && !e->file))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    struct bi_complex_jobs jobs;
    const int st = bi_complex_jobs_read_text(&jobs, &env, "fuzz", (const char *)data, size, &err);
    if (st ? !err.text[0] || err.status != st || jobs.n : jobs.n < 1)
        abort();
    for (int32_t i = 0; i < jobs.n; i++) {
        const struct bi_complex_job *job = &jobs.jobs[i];
        if (!job->name[0] || strchr(job->name, '/') || job->n_entities < 1)
            abort();
        for (int32_t k = 0; k < job->n_entities; k++)
            check_entity(&job->entities[k]);
        for (int32_t k = 0; k < job->n_bonds; k++) {
            check_end(job, &job->bonds[k].ends[0]);
            check_end(job, &job->bonds[k].ends[1]);
        }
    }
    bi_complex_jobs_free(&jobs);
    return 0;
}

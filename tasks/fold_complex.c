/* fold_complex.c - records of the task fold that are complexes of any kind of chains: the family
 * makes them of a job in JSON, or of letters of proteins. */
#include <string.h>

#include "../writers/structure.h"
#include "fold.h"

int bi_fold_open_components(struct fold *f, struct bioinfer_error *err)
{
    if (f->def->complexes)
        return bi_components_open(&f->components, f->task.env, f->p.ccd, err);
    return f->p.ccd ? bi_fail(err, BIOINFER_UNSUPPORTED,
                              "%s: components (ccd) are given, and %s folds proteins alone",
                              f->task.model->path, f->task.model->base.name)
                    : 0;
}

/* Does a text begin a job in JSON? */
static bool is_job(const struct bioinfer_record *r)
{
    size_t i = 0;
    while (i < r->length && strchr(" \t\r\n", r->sequence[i]))
        i++;
    return i < r->length && r->sequence[i] == '{';
}

/* Takes the seeds that the record asks for, unless the params have some. */
static int take_seeds(const struct fold *f, struct fold_unit *u, struct bioinfer_error *err)
{
    if (f->n_seeds || !u->complex.n_seeds)
        return 0;
    if (f->n_samples > BI_FOLD_STRUCTURES / u->complex.n_seeds)
        return bi_fail(err, BIOINFER_LIMIT,
                       "%d samples for each of %d seeds, expected at most %d structures",
                       f->n_samples, u->complex.n_seeds, BI_FOLD_STRUCTURES);
    u->n_seeds = u->complex.n_seeds;
    u->seeds = u->complex.seeds;
    return 0;
}

/* Gives chains without a name letters that no other chain has. */
static bool name_chains(const struct fold *f, struct fold_unit *u)
{
    int64_t letter = 0;
    u->block = u->chain_names = bi_calloc(f->task.env, (size_t)u->n_chains, sizeof *u->chain_names);
    for (int c = 0; u->block && c < u->n_chains; c++) {
        bool met = !u->chains[c].name;
        if (!met)
            continue;
        while (met) {
            met = false;
            bi_chain_name(u->chain_names[c], letter++);
            for (int k = 0; k < u->n_chains; k++)
                met |= u->chains[k].name && !strcmp(u->chains[k].name, u->chain_names[c]);
        }
        u->chains[c].name = u->chain_names[c];
    }
    return u->block != NULL;
}

int bi_fold_read_complex(const struct fold *f, const struct bioinfer_record *record,
                         struct fold_unit *u, struct bioinfer_error *err)
{
    const bool letters = !is_job(record);
    const struct bi_fold_given given = {.text = record->sequence,
                                        .length = record->length,
                                        .letters = letters,
                                        .id = u->base.id,
                                        .components = f->components};
    struct bi_fold_complex *c = &u->complex;
    int st;
    if (record->n_alignments)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s takes alignments from jobs in JSON alone",
                       f->task.model->base.name);
    if (letters && (st = bi_fold_check_letters(f, record, u, err)))
        return st;
    if ((st = f->def->complexes->make(&f->task.model->base, &given, c, err)))
        return st;
    if (c->n_tokens > BI_FOLD_TOKENS || (f->p.max_length && c->n_tokens > f->p.max_length))
        return bi_fail(err, BIOINFER_TOO_LONG, "%d tokens, at most %lld are allowed", c->n_tokens,
                       (long long)(f->p.max_length ? f->p.max_length : BI_FOLD_TOKENS));
    u->n = c->n_residues;
    u->n_chains = c->n_chains;
    u->n_tokens = u->n_paired = c->n_tokens;
    u->n_atoms = c->n_atoms;
    u->chains = c->chains;
    u->sequence = c->letters;
    u->first = c->first;
    u->names = c->names;
    u->elements = c->elements;
    if (!name_chains(f, u))
        return bi_fail(err, BIOINFER_NOMEM, "%d chains", u->n_chains);
    return take_seeds(f, u, err);
}

/* fold_samples.c - samples of the task fold: how many there are, inputs that a family makes for
 * them, and what they give. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "../models/folding/confidence.h"
#include "fold.h"

static struct bi_fold_record record_of(const struct fold *f, const struct fold_unit *u,
                                       enum bi_fold_program program)
{
    const int before = u->step - 1, round = bi_fold_round(f);
    return (struct bi_fold_record){
        .features = u->complex.features,
        .letters = u->letters,
        .chain = u->chain,
        .n_tokens = u->n_tokens,
        .n_chains = u->n_chains,
        .n_atoms = u->n_atoms,
        .seed = u->step ? (uint64_t)u->seeds[before / round] : 0,
        .program = (int32_t)program,
        .pass = u->step ? before % round : 0,
        .sample = program == BI_FOLD_SAMPLE ? before % round - f->n_passes : 0,
        .points = f->points,
        .n_steps = f->n_steps,
        .alignment = u->alignment.depth ? &u->alignment : NULL};
}

static const char *const made[] = {BI_FOLD_MADE};

/* Numbers the pairs of a record that is computed in parts. */
static void number_pairs(const struct bi_batch_place *place, int32_t n_tokens)
{
    int32_t *row = bi_batch_input(place, "grid_rows");
    const int64_t n = place->slot->plan->graph->n_grid, live = (int64_t)n_tokens * n_tokens;
    for (int64_t i = 0; row && i < n; i++)
        row[i] = i < live ? (int32_t)i : -1;
}

/* Sets what the family makes of an item, or where its chains begin in the stem. */
void bi_fold_fill(const struct fold *f, const struct fold_unit *u, enum bi_fold_program program,
                  const struct bi_batch_place *place)
{
    const struct bi_fold_record r = record_of(f, u, program);
    const bool stem = program == BI_FOLD_STEM && f->def->passes->tokens;
    int32_t *start = stem ? bi_batch_input(place, "start") : NULL;
    for (int c = 0; start && c <= u->n_chains; c++)
        start[place->at.n_seqs + c] = place->at.n_tokens + 2 * c +
                                      (int32_t)(c < u->n_chains ? u->chains[c].first : u->n_tokens);
    if (!stem)
        number_pairs(place, u->n_tokens);
    for (size_t i = 0; !stem && i < BI_COUNT(made); i++) {
        void *to = bi_batch_input(place, made[i]);
        if (to && !strcmp(made[i], "levels"))
            memcpy(to, f->levels, (size_t)(f->n_steps * f->level_width) * sizeof *f->levels);
        else if (to)
            f->def->atoms->fill(&f->task.model->base, &r, made[i], to, &place->at, place->index);
    }
}

/* Sets pLDDT of a residue: its CA's, or the mean of a complex's residue. */
static void take_levels(const struct fold_unit *u, struct fold_structure *s)
{
    for (int32_t i = 0; i < u->n; i++) {
        const int32_t first = u->first[i], end = u->first[i + 1];
        double sum = 0;
        for (int32_t a = first; a < end; a++)
            sum += (double)s->level[a];
        if (u->complex.features)
            s->plddt[i] = (float)(sum / (end - first));
        else if (end > first + 1)
            s->plddt[i] = s->level[first + 1];
    }
}

int bi_fold_collect_sample(const struct fold *f, struct fold_unit *u,
                           const struct bi_batch_place *place, struct bioinfer_error *err)
{
    static const int kinds[BI_FOLD_RATED] = {BI_FOLD_PLACES, BI_FOLD_LEVELS, BI_FOLD_ERRORS,
                                             BI_FOLD_DISTANCE_ERRORS, BI_FOLD_CONTACTS};
    const struct bi_fold_record r = record_of(f, u, BI_FOLD_SAMPLE);
    struct fold_structure *s = &u->of[(u->step - 1) / bi_fold_round(f) * f->n_samples + r.sample];
    struct bi_fold_scores scores = {.summary = &s->summary};
    struct bi_fold_rated rated;
    int64_t width;
    int st;
    for (int i = 0; i < BI_FOLD_RATED; i++)
        rated.rows[i] = bi_fold_rows_of(place, kinds[i], &rated.ld[i], &width);
    s->summary.size = 0; /* also of a batch that is run again */
    st = f->def->atoms->score(&f->task.model->base, &r, &rated, s->level, &scores, err);
    if (!st && (!isfinite(scores.rank) || !bi_fold_all_within(s->level, u->n_atoms, FLT_MAX)))
        st = bi_fail(err, BIOINFER_NONFINITE, "sample %d: a score is not finite", r.sample + 1);
    for (int64_t i = 0; !st && i < u->n_atoms; i++)
        if (!bi_fold_all_within(rated.rows[0] + i * rated.ld[0], 3, bi_fold_farthest))
            st = bi_fail(err, BIOINFER_NONFINITE,
                         "sample %d: an atom is not finite, or farther off than %g angstrom",
                         r.sample + 1, (double)bi_fold_farthest);
    if (st)
        return st;
    s->rank = scores.rank;
    s->ptm = scores.ptm;
    s->iptm = u->n_chains > 1 ? scores.iptm : (double)NAN;
    for (int64_t i = 0; i < u->n_atoms; i++)
        memcpy(s->x[i], rated.rows[0] + i * rated.ld[0], sizeof s->x[i]);
    take_levels(u, s);
    for (int64_t i = 0; i < (int64_t)u->n_paired * u->n_paired; i++)
        s->pae[i] = (float)bi_folded_error(rated.rows[2] + i * rated.ld[2]);
    return 0;
}

/* ---- life ---- */

/* Refuses what a family that draws nothing has no use for. */
static int refuse_draws(const struct fold *f, struct bioinfer_error *err)
{
    const char *what = f->p.samples ? "samples" : f->p.steps ? "steps" : "seeds";
    if (!f->p.samples && !f->p.steps && !f->p.n_seeds)
        return 0;
    return bi_fail(err, BIOINFER_UNSUPPORTED, "%s draws nothing, so it has no %s",
                   f->task.model->path, what);
}

/* Takes the seeds of the params, 0 without any. */
static int take_seeds(struct fold *f, struct bioinfer_error *err)
{
    const int n = f->p.n_seeds;
    if (n < 0 || n > BI_FOLD_STRUCTURES || (n && !f->p.seeds))
        return bi_fail(err, BIOINFER_INVALID, "fold: %d seeds, expected 0 to %d", n,
                       BI_FOLD_STRUCTURES);
    if (!(f->seeds = bi_calloc(f->task.env, n ? (size_t)n : 1, sizeof *f->seeds)))
        return bi_fail(err, BIOINFER_NOMEM, "fold: %d seeds", n);
    f->n_seeds = n;
    for (int i = 0; i < n; i++) {
        f->seeds[i] = f->p.seeds[i];
        if (f->seeds[i] < 0)
            return bi_fail(err, BIOINFER_INVALID, "fold: seed %lld, expected 0 or more",
                           (long long)f->seeds[i]);
        for (int k = 0; k < i; k++)
            if (f->seeds[k] == f->seeds[i])
                return bi_fail(err, BIOINFER_INVALID, "fold: seed %lld is given twice",
                               (long long)f->seeds[i]);
    }
    f->p.seeds = NULL;
    return 0;
}

int bi_fold_open_samples(struct fold *f, struct bioinfer_error *err)
{
    const struct bi_fold_atoms *atoms = f->def->atoms;
    const struct bi_model *model = &f->task.model->base;
    int st, n_seeds;
    if (!atoms)
        return refuse_draws(f, err);
    if ((st = take_seeds(f, err)))
        return st;
    f->n_samples = f->p.samples ? f->p.samples : atoms->samples(model);
    n_seeds = f->n_seeds ? f->n_seeds : 1;
    if (f->n_samples < 1 || f->n_samples > BI_FOLD_STRUCTURES / n_seeds)
        return bi_fail(err, BIOINFER_INVALID,
                       "fold: %d samples for each of %d seeds, expected 1 to %d structures in all",
                       f->n_samples, n_seeds, BI_FOLD_STRUCTURES);
    f->aligns = atoms->aligns(model);
    f->points = f->p.steps ? f->p.steps : atoms->points(model);
    if (f->points < 1 || f->points > BI_FOLD_POINTS)
        return bi_fail(err, BIOINFER_INVALID, "fold: %lld steps, expected 1 to %d",
                       (long long)f->points, BI_FOLD_POINTS);
    f->n_steps = atoms->steps(model, f->points);
    if ((st = atoms->levels(model, f->points, NULL, &f->level_width, err)))
        return st;
    f->levels = bi_calloc(f->task.env, (size_t)(f->n_steps * f->level_width), sizeof *f->levels);
    return f->levels ? atoms->levels(model, f->points, f->levels, &f->level_width, err)
                     : bi_fail(err, BIOINFER_NOMEM, "fold: levels of noise");
}

/* fold.c - the task fold: structures of the chains of a complex.
 *
 * A record is a complex, its unit has one item at a time: all chains, one after another. The graph
 * gives frames, torsions and probabilities of pLDDT (models/fold.h); atoms are placed here. Where a
 * family folds in passes, an item is the stem or a pass, and a wave is a pass of all units of a
 * window. Only the next pass reads what a pass keeps, so a pass that is computed anew finds its
 * inputs as they were. A family that draws atoms makes passes and samples for each seed, on one
 * stem.
 *
 * Sections: units, batches, life. Records are read in fold_letters.c and fold_complex.c, results
 * are in fold_result.c. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../models/fold.h"
#include "../models/folding/atoms.h"
#include "../models/folding/confidence.h"
#include "../writers/structure.h"
#include "fold.h"
#include "table.h"

enum { MOST_CYCLES = 1000 };
enum { PARTS = 16 };    /* More would save nothing: most is taken by triangles. */
enum { WINDOW = 1024 }; /* tokens whose kept values lie side by side */

_Static_assert(sizeof(struct bi_fold_shape) == 10 * sizeof(int64_t), "its padding is zeroed");

/* ---- units ---- */

int bi_fold_n_structures(const struct fold *f, const struct fold_unit *u)
{
    return f->n_samples ? f->n_samples * u->n_seeds : 1;
}

int bi_fold_round(const struct fold *f)
{
    return f->n_passes + f->n_samples;
}

/* Bytes of the arrays of a structure. */
static size_t structure_size(const struct fold *f, const struct fold_unit *u)
{
    const struct fold_structure *s = u->of;
    const size_t n = (size_t)u->n, atoms = (size_t)u->n_atoms;
    const size_t pairs = (size_t)u->n_paired * (size_t)u->n_paired;
    const size_t all = atoms * sizeof *s->x + n * sizeof *s->plddt + 4 * (size_t)8;
    return all + (f->n_passes ? pairs * sizeof *s->pae + atoms * sizeof *s->level : 0);
}

/* Takes a piece of a block, and moves *at to its end. */
static void *piece(char **at, size_t n, size_t size)
{
    void *here = *at;
    *at += (n * size + 7) / 8 * 8;
    return here;
}

/* Makes room for all structures of a unit. */
static bool make_structures(const struct fold *f, struct fold_unit *u)
{
    const size_t n = (size_t)bi_fold_n_structures(f, u), atoms = (size_t)u->n_atoms;
    const size_t pairs = (size_t)u->n_paired * (size_t)u->n_paired;
    char *at = bi_calloc(f->task.env, n, sizeof *u->of + structure_size(f, u));
    if (!at)
        return false;
    u->of = piece(&at, n, sizeof *u->of);
    for (size_t k = 0; k < n; k++) {
        struct fold_structure *s = &u->of[k];
        s->number = (int)k;
        s->ptm = s->iptm = s->rank = (double)NAN;
        s->x = piece(&at, atoms, sizeof *s->x);
        s->plddt = piece(&at, (size_t)u->n, sizeof *s->plddt);
        s->pae = f->n_passes ? piece(&at, pairs, sizeof *s->pae) : NULL;
        s->level = f->n_passes ? piece(&at, atoms, sizeof *s->level) : NULL;
        s->summary.env = f->task.env;
    }
    return true;
}

static int64_t longest_chain(const struct fold_unit *u)
{
    int64_t longest = 0;
    for (int c = 0; c < u->n_chains; c++)
        longest = u->chains[c].n_residues > longest ? u->chains[c].n_residues : longest;
    return longest;
}

/* The program of the unit's step. */
static enum bi_fold_program program_of(const struct fold *f, const struct fold_unit *u)
{
    int step;
    if (!f->n_passes)
        return BI_FOLD_WHOLE;
    if (!u->step)
        return BI_FOLD_STEM;
    step = (u->step - 1) % bi_fold_round(f) + 1;
    if (step > f->n_passes)
        return BI_FOLD_SAMPLE;
    if (step == f->n_passes)
        return step == 1 ? BI_FOLD_ONLY : BI_FOLD_LAST;
    return step == 1 ? BI_FOLD_FIRST : BI_FOLD_AGAIN;
}

/* The last step of a unit. */
static int last_step(const struct fold *f, const struct fold_unit *u)
{
    return u->n_seeds * bi_fold_round(f);
}

/* Does the program read tokens of a language model, two more for each sequence? */
static bool reads_stem(const struct fold *f, enum bi_fold_program program)
{
    return program == BI_FOLD_STEM && f->def->passes->tokens;
}

/* Makes the item of the unit's step. */
static void set_item(const struct fold *f, struct fold_unit *u)
{
    const enum bi_fold_program program = program_of(f, u);
    const bool stem = reads_stem(f, program);
    const int32_t stems = f->n_samples ? u->n_chains : 1;
    const int32_t n = stem ? u->n_tokens + 2 * stems : u->n_tokens;
    const int32_t rows = u->complex.features  ? u->complex.depth
                         : u->alignment.depth ? u->alignment.depth
                                              : 1;
    u->item = (struct bi_item){.unit = &u->base,
                               .number = u->step,
                               .program = (int32_t)program,
                               .weight = n,
                               .size = {.n_tokens = n, .n_seqs = 1, .longest = n}};
    if (stem) {
        u->item.size.n_rows = u->n_tokens;
        u->item.size.n_seqs = stems;
    } else if (f->n_passes) {
        u->item.size.n_grid = n * n;
    }
    if (f->n_samples && !stem)
        u->item.size.n_atoms = (int32_t)u->n_atoms;
    if (f->aligns && program != BI_FOLD_STEM && program != BI_FOLD_SAMPLE)
        u->item.size.n_aligned = n * rows;
    if (program == BI_FOLD_SAMPLE)
        u->item.size.n_steps = (int32_t)f->n_steps;
    u->base.items = &u->item;
    u->base.n_items = 1;
    u->base.is_over = u->step == last_step(f, u);
}

static int fold_read(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct fold *f = (struct fold *)t;
    struct fold_unit *u = (struct fold_unit *)unit;
    struct bioinfer_record r = {0};
    struct bioinfer_error why = {0};
    int st = t->source(t->source_user, &r, err);
    if (st != 1)
        return st;
    u->ordinal = r.ordinal;
    if (!(unit->id = bi_strdup(t->env, r.id ? r.id : "")))
        return bi_fail(err, BIOINFER_NOMEM, "record");
    if (r.status) {
        bi_unit_fail(t->env, unit, r.status, r.message ? r.message : "");
        return 1;
    }
    u->n_seeds = f->n_seeds ? f->n_seeds : 1;
    u->seeds = f->seeds;
    st = f->def->complexes ? bi_fold_read_complex(f, &r, u, &why)
                           : bi_fold_read_letters(f, &r, u, &why);
    if (!st && !make_structures(f, u))
        st = bi_fail(&why, BIOINFER_NOMEM, "%d residues: no memory for structures, %d of them",
                     u->n, bi_fold_n_structures(f, u));
    if (!st && !f->def->complexes)
        st = bi_fold_align(f, &r, u, &why);
    if (!st && f->p.text == BIOINFER_FOLD_PDB)
        st = bi_pdb_holds(u->n_chains, longest_chain(u), u->n_atoms, &why);
    if (st) {
        char text[sizeof why.text + 80];
        snprintf(text, sizeof text, "record '%.60s': %s", unit->id, why.text);
        bi_unit_fail(t->env, unit, st, text);
        return 1;
    }
    set_item(f, u);
    unit->result_size = (uint64_t)bi_fold_n_structures(f, u) * structure_size(f, u);
    return 1;
}

/* ---- batches ---- */

static int build_graph(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const struct bi_fold_shape *of = shape;
    const struct bi_model *model = user;
    (void)err;
    g->n_tokens = of->n_tokens;
    g->n_seqs = of->n_records;
    g->longest = of->longest;
    g->n_rows = of->n_rows;
    g->n_grid = of->n_grid;
    ((const struct bi_fold_def *)model->def->def)->build(model, g, of);
    return 0;
}

/* Is a kept value, by its number, made by this program, or read by it? Samples read the last
 * pass's. */
static bool gives(const struct fold *f, enum bi_fold_program program, int kept)
{
    if (!f->kept[kept].name)
        return false;
    if (!kept)
        return program == BI_FOLD_STEM;
    return program == BI_FOLD_FIRST || program == BI_FOLD_AGAIN ||
           (f->n_samples && (program == BI_FOLD_LAST || program == BI_FOLD_ONLY));
}

static bool takes(const struct fold *f, enum bi_fold_program program, int kept)
{
    if (!f->kept[kept].name || program == BI_FOLD_STEM)
        return false;
    if (!kept)
        return program != BI_FOLD_SAMPLE || f->def->passes->samples_read_stem;
    return program == BI_FOLD_AGAIN || program == BI_FOLD_LAST || program == BI_FOLD_SAMPLE;
}

/* Bytes of the rows of a kept value that these counts stand for. */
static uint64_t kept_size(const struct bi_fold_kept *kept, const struct bi_counts *counts)
{
    return (uint64_t)bi_live_rows(counts, (int)kept->axis, 0) * (uint64_t)kept->width *
           sizeof(float);
}

/* Counts of the unit's tokens in passes, which have no more than BI_FOLD_TOKENS. */
static struct bi_counts counts_of(const struct fold_unit *u)
{
    return (struct bi_counts){.n_tokens = u->n_tokens, .n_grid = u->n_tokens * u->n_tokens};
}

/* Takes room for all that an item is to keep, unless there is some. */
static int keep_room(const struct fold *f, const struct bi_item *item, struct bioinfer_error *err)
{
    struct fold_unit *u = (struct fold_unit *)item->unit;
    struct bi_counts counts;
    int st = 0;
    if (!f->n_passes)
        return 0;
    counts = counts_of(u);
    for (int k = 0; !st && k < BI_FOLD_KEPT; k++)
        if (gives(f, (enum bi_fold_program)item->program, k) && !u->fresh[k])
            st = bi_kept_new(&u->fresh[k], f->task.exec, kept_size(&f->kept[k], &counts), err);
    return st;
}

/* Each item copies at most all kept values in and all but one out. */
static size_t fold_take(const struct bioinfer_task *t, struct bi_item *const *items, size_t n)
{
    const size_t most = BI_EXEC_COPIES / (2 * BI_FOLD_KEPT);
    (void)items;
    return ((const struct fold *)t)->n_passes && n > most ? most : n;
}

static const char *const made[] = {BI_FOLD_MADE, "grid_rows"};

/* Names kept values of an item, which begin at place->at. */
static void fold_fill(const struct bioinfer_task *t, const struct bi_item *item,
                      const struct bi_batch_place *place)
{
    const struct fold *f = (const struct fold *)t;
    const struct fold_unit *u = (const struct fold_unit *)item->unit;
    const enum bi_fold_program program = (enum bi_fold_program)item->program;
    const struct bi_graph *g = place->slot->plan->graph;
    struct bi_counts at = place->at, counts;
    if (!f->n_passes)
        return;
    if (f->n_samples)
        bi_fold_fill(f, u, program, place);
    counts = counts_of(u);
    if (reads_stem(f, program))
        at.n_tokens = at.n_rows; /* without <cls> and <eos> */
    for (int k = 0; k < BI_FOLD_KEPT; k++) {
        const uint64_t first = kept_size(&f->kept[k], &at), size = kept_size(&f->kept[k], &counts);
        if (takes(f, program, k))
            bi_kept_take(place->slot, f->kept[k].name, first, u->kept[k], 0, size);
        for (size_t i = 0; gives(f, program, k) && i < g->n_outputs; i++)
            if (g->outputs[i].kept && !strcmp(g->outputs[i].name, f->kept[k].name))
                bi_kept_give(place->slot, &g->outputs[i], first, u->fresh[k], 0, size);
    }
}

/* The next pass reads what this one kept. */
static int fold_next(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    const struct fold *f = (const struct fold *)t;
    struct fold_unit *u = (struct fold_unit *)unit;
    (void)err;
    if (u->step == last_step(f, u))
        return 0;
    for (int k = 0; k < BI_FOLD_KEPT; k++)
        if (u->fresh[k]) {
            bi_kept_free(t->exec, &u->kept[k]);
            u->kept[k] = u->fresh[k];
            u->fresh[k] = NULL;
        }
    u->step++;
    set_item(f, u);
    return 1;
}

/* Has a record that memory does not hold computed in parts. *fits is false where it does not hold
 * that either: the record is refused then. */
static int choose_parts(struct fold *f, const struct bi_recipe *recipe, bool *fits,
                        struct bioinfer_error *err)
{
    int st = 0;
    *fits = false;
    if (!f->parts_alone)
        st = bi_task_fits(&f->task, recipe, fits, err);
    if (st || *fits || f->shape.n_grid % PARTS)
        return st;
    f->shape.n_parts = PARTS;
    return bi_task_fits(&f->task, recipe, fits, err);
}

static int fold_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                       struct bioinfer_error *err)
{
    struct fold *f = (struct fold *)t;
    const struct bi_counts *c = &b->capacity;
    bool fits = true; /* else it is refused: nothing of it is to be kept */
    int st = 0;
    memset(&f->shape, 0, sizeof f->shape);
    f->shape.n_records = c->n_seqs;
    f->shape.n_tokens = c->n_tokens;
    f->shape.longest = c->longest;
    f->shape.n_grid = f->n_passes ? c->n_grid : 0;
    f->shape.n_rows = f->n_passes ? c->n_rows : 0;
    f->shape.n_atoms = f->n_samples ? c->n_atoms : 0;
    f->shape.n_aligned = f->aligns ? c->n_aligned : 0;
    f->shape.uncorrected = f->p.uncorrected != 0;
    f->shape.program = b->items && b->n_items ? b->items[0]->program
                       : f->n_passes          ? BI_FOLD_LAST
                                              : BI_FOLD_WHOLE;
    f->shape.n_steps = f->shape.program == BI_FOLD_SAMPLE ? f->n_steps : 0;
    f->shape.n_parts = 1;
    *recipe = (struct bi_recipe){.build = build_graph,
                                 .user = &t->model->base,
                                 .shape = &f->shape,
                                 .shape_size = sizeof f->shape,
                                 .n_sizes = 7,
                                 .wide = b->wide,
                                 .no_rules = f->no_rules};
    if (b->items && b->n_items == 1 && f->n_passes && f->def->passes->in_parts && c->n_grid)
        st = choose_parts(f, recipe, &fits, err);
    else if (b->items && b->n_items == 1 && f->def->complexes)
        st = bi_task_fits(&f->task, recipe, &fits, err);
    for (size_t i = 0; !st && fits && i < (b->items ? b->n_items : 0); i++)
        st = keep_room(f, b->items[i], err);
    return st;
}

enum { CODE, NUMBER, START, GRID_START, ROW_START, ATOM_START, ALIGNED_START, IDS, SCALE, ROWS };
static const struct bi_task_input fold_inputs[] = {
    [CODE] = {.name = "code", .axis = BI_AXIS_TOKENS, .row_size = BI_FOLD_CODES * sizeof(int32_t)},
    [NUMBER] = {.name = "number", .axis = BI_AXIS_TOKENS, .row_size = sizeof(int32_t)},
    [START] = {.name = "start", .rebase = BI_AXIS_TOKENS, .starts = true},
    [GRID_START] = {.name = "grid_start", .rebase = BI_AXIS_GRID, .starts = true},
    [ROW_START] = {.name = "row_start",
                   .axis = BI_AXIS_TOKENS,
                   .rebase = BI_AXIS_GRID,
                   .starts = true},
    [ATOM_START] = {.name = "atom_start", .rebase = BI_AXIS_ATOMS, .starts = true},
    [ALIGNED_START] = {.name = "aligned_start", .rebase = BI_AXIS_ALIGNED, .starts = true},
    [IDS] = {.name = "ids", .axis = BI_AXIS_TOKENS, .row_size = sizeof(int32_t)},
    [SCALE] = {.name = BI_INPUT_SCALE, .axis = BI_AXIS_TOKENS, .row_size = sizeof(float)},
    [ROWS] = {.name = "rows",
              .axis = BI_AXIS_ROWS,
              .row_size = sizeof(int32_t),
              .rebase = BI_AXIS_TOKENS}};

static const void *fold_rows(const struct bioinfer_task *t, const struct bi_item *item, int input)
{
    const struct fold_unit *u = (const struct fold_unit *)item->unit;
    (void)t;
    switch (input) {
    case CODE:
        return u->code;
    case NUMBER:
        return u->number;
    case IDS:
        return u->ids;
    case SCALE:
        return u->scale;
    case ROWS:
        return u->rows;
    default:
        return NULL;
    }
}

/* Rows of an item of the output of a kind, and how many numbers they have; NULL: there is no such
 * output. */
const float *bi_fold_rows_of(const struct bi_batch_place *place, int kind, int64_t *ld,
                             int64_t *width)
{
    const struct bi_graph *g = place->slot->plan->graph;
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].kind == kind) {
            const float *y = bi_batch_output(place, &g->outputs[i], ld);
            *width = g->values[g->outputs[i].value].shape[1];
            return y + bi_live_rows(&place->at, (int)g->values[g->outputs[i].value].axis, 0) * *ld;
        }
    return NULL;
}

/* The expectation of n probabilities of equal bins from 0 to 1. */
static double expectation(const float *p, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += (double)p[k] * ((double)k + 0.5) / (double)n;
    return sum;
}

/* False also where one is NaN. */
bool bi_fold_all_within(const float *x, int64_t n, float most)
{
    bool within = true;
    for (int64_t i = 0; i < n; i++)
        within &= fabsf(x[i]) <= most;
    return within;
}

/* Sets aligned errors and pTM, which counts linkers as the published program does. */
static void take_errors(struct fold_unit *u, const float *p, int64_t ld)
{
    const int64_t n = u->n_tokens;
    u->of->ptm = bi_folded_tm(p, ld, n);
    for (int32_t i = 0; i < u->n; i++)
        for (int32_t j = 0; j < u->n; j++)
            u->of->pae[(int64_t)i * u->n + j] = (float)bi_folded_error(
                p + (u->token[i] * n + u->token[j]) * ld);
}

/* Sets the pLDDT of a residue, its CA's where atoms have their own, which are set, too. */
static void take_level(struct fold_unit *u, int32_t residue, const float *bins, int64_t n,
                       bool of_atoms)
{
    const int64_t each = n / BI_FOLDED_NAMES;
    u->of->plddt[residue] = (float)(of_atoms ? bi_folded_level(bins + each, (int)each)
                                             : expectation(bins, n));
    for (int32_t a = u->first[residue]; of_atoms && a < u->first[residue + 1]; a++) {
        const int name = bi_folded_name(u->names[a]);
        u->of->level[a] = (float)bi_folded_level(bins + name * each, (int)each);
    }
}

static int fold_collect(struct bioinfer_task *t, struct bi_item *item,
                        const struct bi_batch_place *place, struct bioinfer_error *err)
{
    const struct fold *f = (const struct fold *)t;
    struct fold_unit *u = (struct fold_unit *)item->unit;
    const struct fold_structure *s = u->of;
    int64_t ldf, lda, ldc, lde, width, n_bins;
    const float *frame, *angles, *bins, *levels, *errors;
    if (t->model->caps.runs && item->program == BI_FOLD_SAMPLE)
        return bi_fold_collect_sample(f, u, place, err);
    if (!t->model->caps.runs || !u->base.is_over) /* computes nothing, or passes follow */
        return 0;
    frame = bi_fold_rows_of(place, BI_FOLD_FRAME, &ldf, &width);
    angles = bi_fold_rows_of(place, BI_FOLD_ANGLES, &lda, &width);
    bins = bi_fold_rows_of(place, BI_FOLD_CONFIDENCE, &ldc, &n_bins);
    if ((levels = bins ? NULL : bi_fold_rows_of(place, BI_FOLD_LEVELS, &ldc, &n_bins)))
        bins = levels;
    if ((errors = bi_fold_rows_of(place, BI_FOLD_ERRORS, &lde, &width))) {
        take_errors(u, errors, lde);
        if (!isfinite(s->ptm) || !bi_fold_all_within(s->pae, (int64_t)u->n * u->n, FLT_MAX))
            return bi_fail(err, BIOINFER_NONFINITE, "pTM or an aligned error is not finite");
    }
    for (int32_t i = 0; i < u->n; i++) {
        const int64_t at = u->token[i];
        const int32_t first = u->first[i], atoms = u->first[i + 1] - first;
        if (u->atoms[i]) {
            float x[BI_FOLDED_ATOMS][3];
            bi_folded_place(x, bi_folded_residue(u->atoms[i]), frame + at * ldf, angles + at * lda,
                            f->def->least);
            memcpy(s->x[first], x, sizeof *x * (size_t)atoms);
        }
        take_level(u, i, bins + at * ldc, n_bins, levels != NULL);
        if (!isfinite(s->plddt[i]) ||
            (levels && !bi_fold_all_within(s->level + first, atoms, FLT_MAX)))
            return bi_fail(err, BIOINFER_NONFINITE, "residue %d: a pLDDT is not finite", i + 1);
        if (!bi_fold_all_within(s->x[first], (int64_t)3 * atoms, bi_fold_farthest))
            return bi_fail(err, BIOINFER_NONFINITE,
                           "residue %d: an atom is not finite, or farther off than %g angstrom",
                           i + 1, (double)bi_fold_farthest);
    }
    return 0;
}

static void fold_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct fold_unit *u = (struct fold_unit *)unit;
    for (int k = 0; k < BI_FOLD_KEPT; k++) {
        bi_kept_free(t->exec, &u->kept[k]);
        bi_kept_free(t->exec, &u->fresh[k]);
    }
    for (int k = 0; u->of && k < bi_fold_n_structures((const struct fold *)t, u); k++) {
        bi_buf_free(&u->of[k].summary);
    }
    bi_free(t->env, u->of);
    bi_free(t->env, u->block);
    if (((const struct fold *)t)->def->complexes)
        ((const struct fold *)t)->def->complexes->free(&t->model->base, &u->complex);
    bi_free(t->env, u->aligned);
    bi_free(t->env, u->deleted);
}

static struct bi_counts fold_one(const struct bioinfer_task *t, int64_t n_residues)
{
    const int32_t n = (int32_t)n_residues;
    (void)t;
    return (struct bi_counts){.n_tokens = n,
                              .n_seqs = 1,
                              .longest = n,
                              .n_rows = n,
                              .n_grid = n > BI_FOLD_TOKENS ? INT32_MAX : n * n,
                              .n_atoms = n > INT32_MAX / 8 ? INT32_MAX : 8 * n,
                              .n_aligned = n,
                              .n_steps = 1};
}

static void fold_free(struct bioinfer_task *t)
{
    struct fold *f = (struct fold *)t;
    bi_free(t->env, f->no_rules);
    bi_free(t->env, f->msa);
    bi_free(t->env, f->levels);
    bi_free(t->env, f->seeds);
    bi_free(t->env, f->atoms);
    bi_free(t->env, f->coordinates);
    bi_components_close(&f->components);
    if (f->text.env)
        bi_buf_free(&f->text);
}

const struct bi_task_def bi_task_fold = {.name = "fold",
                                         .kind = &bi_kind_fold,
                                         .unit_size = sizeof(struct fold_unit),
                                         .smallest = {.n_tokens = 16,
                                                      .n_seqs = 1,
                                                      .longest = 16,
                                                      .n_rows = 16,
                                                      .n_grid = 256,
                                                      .n_atoms = 256,
                                                      .n_aligned = 16,
                                                      .n_steps = 1},
                                         .inputs = fold_inputs,
                                         .n_inputs = BI_COUNT(fold_inputs),
                                         .one = fold_one,
                                         .read = fold_read,
                                         .recipe = fold_recipe,
                                         .rows = fold_rows,
                                         .take = fold_take,
                                         .fill = fold_fill,
                                         .made = made,
                                         .n_made = BI_COUNT(made),
                                         .next = fold_next,
                                         .collect = fold_collect,
                                         .result = bi_fold_result,
                                         .drop = fold_drop,
                                         .free = fold_free};

/* ---- life ---- */

static int open_fold(struct fold *f, const struct bioinfer_fold_params *params,
                     struct bioinfer_error *err)
{
    const struct bioinfer_model *model = f->task.model;
    int st;
    f->def = model->base.def->def;
    if ((st = bi_params_take(&f->p, sizeof f->p, params, "fold", err)))
        return st;
    if (f->p.uncorrected && !f->def->correction)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: uncorrected is asked for, and this family makes no correction",
                       model->path);
    if (f->p.include & BIOINFER_FOLD_PAE && !f->def->passes)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s gives no aligned errors (pae)", model->path);
    if (f->p.cycles && !f->def->passes)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s folds in one pass, without cycles",
                       model->path);
    if (f->p.cycles < 0 || f->p.cycles > (f->p.no_cycles ? 0 : MOST_CYCLES))
        return bi_fail(err, BIOINFER_INVALID, "fold: %d cycles, expected 0 to %d", f->p.cycles,
                       f->p.no_cycles ? 0 : MOST_CYCLES);
    if (f->def->passes) {
        f->def->passes->kept(&model->base, f->kept);
        f->n_passes = f->p.cycles || f->p.no_cycles ? 1 + f->p.cycles
                                                    : f->def->passes->usual(&model->base);
        f->task.window_load = WINDOW;
    }
    if ((st = bi_fold_open_samples(f, err)))
        return st;
    if ((st = bi_fold_open_components(f, err)) || (st = bi_fold_open_alignments(f, err)))
        return st;
    if (f->p.tokens_at_once < 0 || f->p.max_length < 0)
        return bi_fail(err, BIOINFER_INVALID, "fold: %lld tokens at once, records of up to %lld",
                       (long long)f->p.tokens_at_once, (long long)f->p.max_length);
    if (f->p.no_rules && !(f->no_rules = bi_strdup(f->task.env, f->p.no_rules)))
        return bi_fail(err, BIOINFER_NOMEM, "fold");
    f->task.progress = f->p.progress;
    f->task.progress_user = f->p.progress_user;
    return bi_task_open(&f->task, model, f->p.tokens_at_once, f->p.memory_limit, err);
}

int bioinfer_fold_open(bioinfer_task **out, const bioinfer_model *model,
                       const struct bioinfer_fold_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_fold, sizeof(struct fold), err);
    if (!st && (st = open_fold((struct fold *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

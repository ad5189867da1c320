/* design.c - the task design: sequences for structures.
 *
 * A structure becomes rounds of jobs (models/design.h), each round a unit whose items are its jobs
 * (design_batch.c); results leave in input order.
 *
 * Sections: life, the task. */
#include "design.h"
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static int keep(struct bi_design_task *d, const char **text, struct bioinfer_error *err)
{
    if (*text && !(*text = bi_arena_strndup(&d->strings, *text, strlen(*text))))
        return bi_fail(err, BIOINFER_NOMEM, "design");
    return 0;
}

/* Copies the sequences to score: they are read once for each structure. */
static int keep_sequences(struct bi_design_task *d, struct bioinfer_error *err)
{
    const struct bioinfer_text *from = d->run.params.sequences;
    struct bioinfer_text *to = &d->run.sequences;
    const char *name = from->name ? from->name : "sequences";
    to->length = from->length;
    to->name = bi_arena_strndup(&d->strings, name, strlen(name));
    to->text = bi_arena_strndup(&d->strings, from->text ? from->text : "", from->length);
    d->run.params.sequences = to;
    return to->name && to->text ? 0 : bi_fail(err, BIOINFER_NOMEM, "design: sequences");
}

static int check_params(struct bi_design_task *d, struct bioinfer_error *err)
{
    struct bioinfer_design_params *p = &d->run.params;
    const struct bi_design_facts *f = d->model->base.design;
    const char **texts[] = {&p->chains, &p->omit_aa, &p->buried, &p->interface_, &p->no_rules};
    int st = 0;
    for (size_t i = 0; !st && i < BI_COUNT(texts); i++)
        st = keep(d, texts[i], err);
    if (st || (p->sequences && (st = keep_sequences(d, err))))
        return st;
    if (p->per_draw > BI_DESIGN_BATCH)
        return bi_fail(err, BIOINFER_INVALID,
                       "design: batches of %d sequences: at most %d "
                       "share a draw",
                       p->per_draw, BI_DESIGN_BATCH);
    if (p->n_temperatures && p->n_sequences > INT32_MAX / p->n_temperatures)
        return bi_fail(err, BIOINFER_INVALID,
                       "design: %d sequences at each of %d temperatures: at "
                       "most %d in all",
                       p->n_sequences, p->n_temperatures, INT32_MAX);
    if (!(p->backbone_noise >= 0 && p->backbone_noise < 1000))
        return bi_fail(err, BIOINFER_INVALID, "design: backbone noise of %g angstrom",
                       p->backbone_noise);
    if ((p->buried || p->interface_ || p->transmembrane) && !f->labels)
        return bi_fail(err, BIOINFER_INVALID, "%s: these weights take no membrane labels",
                       d->model->path);
    if ((p->no_ligand || p->side_chains) && !f->ligand_atoms)
        return bi_fail(err, BIOINFER_INVALID, "%s: these weights have no ligand context",
                       d->model->path);
    if (p->no_ligand && p->side_chains)
        return bi_fail(err, BIOINFER_INVALID, "design: side chains around residues, and no ligand");
    if (p->transmembrane < 0 || p->transmembrane > 2)
        return bi_fail(err, BIOINFER_INVALID, "design: label %d, expected 0 to 2",
                       p->transmembrane);
    if (p->tied_json && p->homooligomer)
        return bi_fail(err, BIOINFER_INVALID,
                       "design: tied positions as JSON and of a homo-oligomer");
    if (p->chains && p->chains_json)
        return bi_fail(err, BIOINFER_INVALID, "design: chains by name and as JSON");
    d->run.copies = p->rng == BIOINFER_RNG_NATIVE ? 1 : p->per_draw ? p->per_draw : 1;
    d->run.n_batches = (p->n_sequences ? p->n_sequences : 1) / d->run.copies;
    if (!d->run.n_batches)
        return bi_fail(err, BIOINFER_INVALID, "design: %d sequences are no whole batch of %d",
                       p->n_sequences ? p->n_sequences : 1, d->run.copies);
    if ((p->n_sequences ? p->n_sequences : 1) % d->run.copies)
        bi_log(d->run.env, BIOINFER_LOG_WARNING, "%d sequences in batches of %d: %d are made",
               p->n_sequences, d->run.copies, d->run.n_batches * d->run.copies);
    d->run.n_temperatures = p->n_temperatures ? p->n_temperatures : 1;
    if (!(d->run.temperatures = bi_arena_calloc(&d->strings, (size_t)d->run.n_temperatures,
                                                sizeof *d->run.temperatures)))
        return bi_fail(err, BIOINFER_NOMEM, "design");
    for (int i = 0; i < d->run.n_temperatures; i++) {
        d->run.temperatures[i] = p->n_temperatures ? p->temperatures[i] : 0.1;
        if (!(d->run.temperatures[i] > 0 && d->run.temperatures[i] <= 1e6))
            return bi_fail(err, BIOINFER_INVALID,
                           "design: temperature %g, expected above 0 and up to 1e6",
                           d->run.temperatures[i]);
    }
    p->temperatures = NULL;
    return 0;
}

enum { DEFAULT_SEED = 37 };

static int open_design(struct bi_design_task *d, const struct bioinfer_design_params *params,
                       struct bioinfer_error *err)
{
    struct bioinfer_model *model = d->task.model;
    int64_t tokens = model->caps.half ? 16384 : 2048;
    int st, left = 0;
    d->model = model;
    d->run.model = &model->base;
    d->run.env = d->strings.env = d->task.env;
    bi_design_report_reset(&d->report, &d->run);
    if ((st = bi_params_take(&d->run.params, sizeof d->run.params, params, "design", err)) ||
        (st = check_params(d, err)) ||
        (st = bi_side_files_read(&d->run.side, d->run.env, &d->run.params, err)))
        return st;
    if (model->base.design->ligand_atoms) /* a residue has hundreds of pairs of atoms */
        tokens /= 8;
    if (d->run.params.tokens_at_once > 0)
        tokens = d->run.params.tokens_at_once;
    if ((st = bi_task_open(&d->task, model, tokens, d->run.params.memory_limit, err)))
        return st;
    d->task.progress = d->run.params.progress;
    d->task.progress_user = d->run.params.progress_user;
    if (!d->run.params.seed)
        d->run.params.seed = DEFAULT_SEED;
    if (model->base.design->run_py)
        d->run.side.omit_all[BI_SYMBOLS - 1] = 1; /* it draws from 20 */
    for (int c = 0; c < BI_SYMBOLS - 1; c++)
        left += d->run.side.omit_all[c] == 0;
    if (!left && d->run.params.mode == BIOINFER_DESIGN_SAMPLE)
        return bi_fail(err, BIOINFER_INVALID, "omit: all amino acids: none is left to choose");
    bi_random_start(&d->run.random, (enum bi_rng)d->run.params.rng, d->run.params.seed,
                    d->run.params.no_rng_skip    ? 0
                    : d->run.params.rng_skip > 0 ? (uint64_t)d->run.params.rng_skip
                                                 : (uint64_t)model->base.design->torch_draws);
    return 0;
}

int bioinfer_design_open(bioinfer_task **out, const bioinfer_model *model,
                         const struct bioinfer_design_params *params, struct bioinfer_error *err)
{
    int st = bi_task_new(out, model, &bi_task_design, sizeof(struct bi_design_task), err);
    if (!st && (st = open_design((struct bi_design_task *)*out, params, err)))
        bioinfer_task_close(out);
    return st;
}

static void design_free(struct bioinfer_task *t)
{
    struct bi_design_task *d = (struct bi_design_task *)t;
    if (!d->run.env) /* it was not opened */
        return;
    bi_free(d->run.env, d->cells.of);
    bi_free(d->run.env, d->cells.grids);
    bi_side_files_free(&d->run.side);
    bi_arena_reset(&d->strings);
}

/* ---- the task ---- */

/* Makes room for the logits of draws in the jobs whose scores come from others. */
static int keep_draws(struct bi_jobs *jobs, struct bioinfer_error *err)
{
    for (size_t i = 0; i < jobs->n; i++) {
        struct bi_job *j = &jobs->of[i];
        if (j->kind == BI_JOB_SAMPLE && (j->again || j->entry->n_ties) &&
            !(j->drawn_from = bi_arena_calloc(&jobs->arena, (size_t)j->entry->n * BI_SYMBOLS,
                                              sizeof *j->drawn_from)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: logits", j->entry->name);
    }
    return 0;
}

static void input_release(const struct bi_env *env, struct bi_design_input **input)
{
    struct bi_design_input *in = *input;
    *input = NULL;
    if (in && !--in->n_holders) {
        bi_entry_free(&in->entry);
        bi_free(env, in);
    }
}

/* Makes the jobs of a round. A failure of the structure is its own status. */
static int make_jobs(struct bi_design_task *d, struct bi_jobs *jobs, struct bi_entry *e,
                     struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st;
    jobs->arena.env = d->run.env;
    jobs->limit = 4 * BI_DESIGN_SAMPLED * d->task.batch_tokens;
    jobs->n = 0;
    jobs->tokens = 0;
    if ((st = bi_design_jobs(&d->run, jobs, e, &why))) {
        if (st == BIOINFER_NOMEM)
            return bi_fail(err, st, "%s", why.text);
        jobs->n = 0;
        e->walk.failed = true;
        e->status = st;
        snprintf(e->message, sizeof e->message, "%s", why.text);
        return 0;
    }
    st = bi_design_scratch(&d->run, jobs, (size_t)e->n, err);
    return st ? st : keep_draws(jobs, err);
}

static void jobs_free(const struct bi_env *env, struct bi_jobs *jobs)
{
    bi_free(env, jobs->of);
    bi_free(env, jobs->keys);
    bi_free(env, jobs->normal);
    if (jobs->arena.env)
        bi_arena_reset(&jobs->arena);
}

/* Draws the numbers of the jobs of a structure that are not made yet, and runs none of them: the
 * structures behind it have the same numbers, whatever became of this one. */
static int draw_rest(struct bi_design_task *d, struct bi_entry *e, struct bioinfer_error *err)
{
    struct bi_jobs jobs = {.arena = {0}};
    int st = 0;
    while (!st && d->run.random.kind != BI_RNG_NATIVE && !e->walk.failed && !e->walk.done) {
        st = make_jobs(d, &jobs, e, err);
        bi_arena_reset(&jobs.arena);
    }
    jobs_free(d->run.env, &jobs);
    return st;
}

/* Finds the structure whose jobs are to be made next: as bioinfer_source. */
static int next_input(struct bi_design_task *d, struct bioinfer_error *err)
{
    struct bi_entry *e = d->input ? &d->input->entry : NULL;
    struct bioinfer_record r = {0};
    int st;
    if (e && !e->status && !e->walk.done && !d->input->skip)
        return 1;
    if (e && e->walk.begun && (st = draw_rest(d, e, err)))
        return st;
    input_release(d->run.env, &d->input);
    if ((st = d->task.source(d->task.source_user, &r, err)) != 1)
        return st;
    if (!(d->input = bi_zalloc(d->run.env, sizeof *d->input)))
        return bi_fail(err, BIOINFER_NOMEM, "structure");
    d->input->n_holders = 1;
    d->input->skip = r.skip != 0;
    e = &d->input->entry;
    if ((st = bi_entry_read(e, &d->model->base, &r, &d->run.params, &d->run.side, &d->run.notes,
                            err)))
        return st;
    if (d->input->skip && !e->status && (st = draw_rest(d, e, err)))
        return st;
    return 1;
}

/* Makes the items of the jobs that are computed, or of those that are scored a second time. */
static int make_items(struct bi_design_task *d, struct bi_design_unit *u,
                      struct bioinfer_error *err)
{
    bi_free(d->run.env, u->unit.items);
    u->unit.n_items = 0;
    if (!(u->unit.items = bi_calloc(d->run.env, u->jobs.n + 1, sizeof *u->unit.items)))
        return bi_fail(err, BIOINFER_NOMEM, "%zu sequences", u->jobs.n);
    for (size_t i = 0; i < u->jobs.n; i++)
        if (!u->again || u->jobs.of[i].again) /* natives are scored once */
            bi_design_item(d, u, (int32_t)i, &u->unit.items[u->unit.n_items++]);
    return 0;
}

static int design_read(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct bi_design_task *d = (struct bi_design_task *)t;
    struct bi_design_unit *u = (struct bi_design_unit *)unit;
    struct bi_entry *e;
    int st = next_input(d, err);
    if (st != 1)
        return st;
    u->input = d->input;
    u->input->n_holders++;
    e = &u->input->entry;
    if (u->input->skip) {
        e->status = 0; /* whatever becomes of it, nobody asks */
        u->last = unit->is_over = true;
        return (unit->id = bi_strdup(t->env, e->name)) ? 1
                                                       : bi_fail(err, BIOINFER_NOMEM, "structure");
    }
    if (!e->status && ((st = make_jobs(d, &u->jobs, e, err)) || (st = make_items(d, u, err))))
        return st;
    if (e->status)
        unit->n_items = 0;
    u->last = e->status || e->walk.done;
    unit->status = e->status;
    unit->is_over = !(d->run.params.backbone_noise > 0); /* only noise has a second scoring */
    unit->result_size = (uint64_t)u->jobs.tokens * BI_SYMBOLS * 2 * sizeof(double);
    return (unit->id = bi_strdup(t->env, e->name)) ? 1 : bi_fail(err, BIOINFER_NOMEM, "structure");
}

static int design_next(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct bi_design_task *d = (struct bi_design_task *)t;
    struct bi_design_unit *u = (struct bi_design_unit *)unit;
    int st;
    if (u->again || !(d->run.params.backbone_noise > 0))
        return 0;
    u->again = true;
    st = make_items(d, u, err);
    return st ? st : unit->n_items > 0;
}

static int design_result(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err)
{
    struct bi_design_task *d = (struct bi_design_task *)t;
    struct bi_design_unit *u = (struct bi_design_unit *)unit;
    struct bi_entry *e = &u->input->entry;
    struct bioinfer_profile *p = &t->exec->profile;
    int st;
    if (unit->status && !e->status) {
        e->status = unit->status;
        snprintf(e->message, sizeof e->message, "%s",
                 unit->message ? unit->message : bioinfer_status_name(unit->status));
    }
    if (u->input->told)
        return 0;
    const struct bi_design_round round = {.entry = e,
                                          .jobs = &u->jobs,
                                          .n_pieces = &u->input->n_pieces,
                                          .last = u->last,
                                          .runs = d->model->caps.runs,
                                          .sink = t->sink,
                                          .user = t->sink_user};
    st = bi_design_report(&d->report, &round, err);
    u->input->told = e->status != 0;
    if ((e->status || u->last) && !u->input->skip) {
        p->records++;
        p->residues += (uint64_t)e->n;
    }
    return st;
}

static void design_drop(struct bioinfer_task *t, struct bi_unit *unit)
{
    struct bi_design_unit *u = (struct bi_design_unit *)unit;
    bi_free(t->env, unit->items);
    jobs_free(t->env, &u->jobs);
    input_release(t->env, &u->input);
}

int32_t bi_design_program(const struct bi_design_task *d)
{
    static const enum bi_design_pass passes[] = {BI_PASS_SAMPLE, BI_PASS_SCORE, BI_PASS_SCORE,
                                                 BI_PASS_SCORE, BI_PASS_UNCONDITIONAL};
    return (int32_t)passes[d->run.params.mode] << 1;
}

static struct bi_counts design_one(const struct bioinfer_task *t, int64_t n_residues)
{
    const int32_t n = (int32_t)n_residues;
    (void)t;
    return (struct bi_counts){
        .n_tokens = n, .n_seqs = 1, .longest = n, .n_rows = n, .n_samples = 1, .n_sampled = n};
}

static void design_end(struct bioinfer_task *t)
{
    struct bi_design_task *d = (struct bi_design_task *)t;
    input_release(d->run.env, &d->input);
    bi_notes_end(&d->run.notes, d->run.env);
    bi_design_report_reset(&d->report, &d->run);
}

static const char *const design_made[] = {"x",       "mask",         "number",       "chain",
                                          "label",   "start",        "atoms",        "atom_mask",
                                          "element", "token",        "codes",        "rank",
                                          "plan",    "weight",       "sampled_mask", "noise",
                                          "terms",   "sample_start", "sample_first", "temperature",
                                          "grid",    "cells"};

const struct bi_task_def bi_task_design = {
    .name = "design",
    .kind = &bi_kind_design,
    .unit_size = sizeof(struct bi_design_unit),
    .smallest =
        {.n_tokens = 16, .n_seqs = 1, .n_rows = 16, .longest = 16, .n_samples = 1, .n_sampled = 16},
    .made = design_made,
    .n_made = BI_COUNT(design_made),
    .read = design_read,
    .load = bi_design_load,
    .recipe = bi_design_recipe,
    .fill = bi_design_fill,
    .collect = bi_design_collect,
    .next = design_next,
    .result = design_result,
    .drop = design_drop,
    .one = design_one,
    .end = design_end,
    .free = design_free};

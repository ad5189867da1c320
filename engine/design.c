/* design.c - sequences for structures: parameters, windows of structures, the public calls.
 *
 * A structure becomes jobs (design_jobs.c), jobs of many structures share batches
 * (design_batch.c), results leave in input order (design_report.c). */
#include "design.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../graph/rules.h"

enum { WINDOW_STRUCTURES = 4096 };

/* ---- life ---- */

static int keep(struct bioinfer_design *d, const char **text, struct bioinfer_error *err)
{
    if (*text && !(*text = bi_arena_strndup(&d->strings, *text, strlen(*text))))
        return bi_fail(err, BIOINFER_NOMEM, "design");
    return 0;
}

static int check_params(struct bioinfer_design *d, struct bioinfer_error *err)
{
    struct bioinfer_design_params *p = &d->params;
    const struct bi_design_facts *f = &d->model->base.design;
    const char **texts[] = {&p->chains, &p->chains_file, &p->fixed_file, &p->tied_file,
                            &p->omit_file, &p->bias_file, &p->bias_residue_file, &p->pssm_file,
                            &p->omit_aa, &p->sequences, &p->buried, &p->interface_, &p->no_rules};
    int st = 0;
    for (size_t i = 0; !st && i < BI_COUNT(texts); i++)
        st = keep(d, texts[i], err);
    if (st)
        return st;
    if (p->mode < BIOINFER_DESIGN_SAMPLE || p->mode > BIOINFER_DESIGN_UNCONDITIONAL ||
        p->rng < BIOINFER_RNG_NATIVE || p->rng > BIOINFER_RNG_TORCH_CUDA)
        return bi_fail(err, BIOINFER_INVALID, "design: mode %d, rng %d", p->mode, p->rng);
    if (p->n_sequences < 0 || p->batch < 0 || p->n_temperatures < 0 || p->rng_skip < -1)
        return bi_fail(err, BIOINFER_INVALID, "design: %d sequences in batches of %d",
                       p->n_sequences, p->batch);
    if (p->batch > BI_DESIGN_BATCH)
        return bi_fail(err, BIOINFER_INVALID, "design: batches of %d sequences: at most %d share a "
                       "draw", p->batch, BI_DESIGN_BATCH);
    if (p->n_temperatures && p->n_sequences > INT32_MAX / p->n_temperatures)
        return bi_fail(err, BIOINFER_INVALID, "design: %d sequences at each of %d temperatures: at "
                       "most %d in all", p->n_sequences, p->n_temperatures, INT32_MAX);
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
        return bi_fail(err, BIOINFER_INVALID, "design: label %d, expected 0 to 2", p->transmembrane);
    if (p->tied_file && p->homooligomer)
        return bi_fail(err, BIOINFER_INVALID, "design: tied positions from a file and of a "
                       "homo-oligomer");
    if (p->chains && p->chains_file)
        return bi_fail(err, BIOINFER_INVALID, "design: chains by name and from a file");
    d->copies = p->rng == BIOINFER_RNG_NATIVE ? 1 : p->batch ? p->batch : 1;
    d->n_batches = (p->n_sequences ? p->n_sequences : 1) / d->copies;
    if (!d->n_batches)
        return bi_fail(err, BIOINFER_INVALID, "design: %d sequences are no whole batch of %d",
                       p->n_sequences ? p->n_sequences : 1, d->copies);
    if ((p->n_sequences ? p->n_sequences : 1) % d->copies)
        bi_log(d->env, BIOINFER_LOG_WARNING, "%d sequences in batches of %d: %d are made",
               p->n_sequences, d->copies, d->n_batches * d->copies);
    d->n_temperatures = p->n_temperatures ? p->n_temperatures : 1;
    if (!(d->temperatures = bi_arena_calloc(&d->strings, (size_t)d->n_temperatures,
                                            sizeof *d->temperatures)))
        return bi_fail(err, BIOINFER_NOMEM, "design");
    for (int i = 0; i < d->n_temperatures; i++) {
        d->temperatures[i] = p->n_temperatures ? p->temperatures[i] : 0.1;
        if (!(d->temperatures[i] > 0 && d->temperatures[i] <= 1e6))
            return bi_fail(err, BIOINFER_INVALID, "design: temperature %g, expected above 0",
                           d->temperatures[i]);
    }
    p->temperatures = NULL;
    return 0;
}

static int build_graph(void *user, struct bi_graph *g, struct bioinfer_error *err)
{
    const struct bi_design_graph *of = user;
    (void)err;
    g->n_tokens = of->shape.n_tokens;
    g->n_seqs = of->shape.n_structures;
    g->n_rows = of->shape.n_sampled;
    g->longest = of->shape.longest;
    of->model->def->build_design(of->model, g, &of->shape);
    return 0;
}

void bi_design_recipe(const struct bioinfer_design *d, const struct bi_design_shape *s,
                       struct bi_design_graph *graph, struct bi_recipe *recipe)
{
    *graph = (struct bi_design_graph){&d->model->base, *s};
    *recipe = (struct bi_recipe){
        .key = {{(uint64_t)s->n_tokens, (uint64_t)s->n_structures, (uint64_t)s->longest,
                 (uint64_t)s->n_samples, (uint64_t)s->n_sampled, (uint64_t)s->n_terms,
                 (uint64_t)s->n_cells, (uint64_t)s->pass << 1 | s->rescore}},
        .build = build_graph, .user = graph, .no_rules = d->params.no_rules};
}

enum { DEFAULT_SEED = 37 };

int bioinfer_design_new(bioinfer_design **out, const bioinfer_model *model,
                        const struct bioinfer_design_params *params, struct bioinfer_error *err)
{
    struct bioinfer_design *d = NULL;
    struct bi_design_shape probe = {16, 1, 16, 1, 16, 1, 16, BI_PASS_SAMPLE, false};
    struct bi_rule_trace trace = {{0}, NULL};
    struct bi_design_graph graph;
    struct bi_recipe recipe;
    struct bi_graph *g = NULL;
    int st;
    if (!out || !model)
        return bi_fail(err, BIOINFER_INVALID, "design: out and model must be given");
    *out = NULL;
    if ((st = bi_context_check(model->ctx, err)))
        return st;
    if (!model->base.def->build_design)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s designs no sequences", model->path,
                       model->base.def->name);
    if (!(d = bi_zalloc(model->base.env, sizeof *d)))
        return bi_fail(err, BIOINFER_NOMEM, "design");
    d->env = model->base.env;
    d->strings.env = d->env;
    d->model = (struct bioinfer_model *)(uintptr_t)model; /* its store fills under a lock */
    atomic_flag_clear(&d->busy);
    if ((st = bi_params_copy(&d->params, sizeof d->params, params, "design params", err)) ||
        (st = check_params(d, err)) ||
        (st = bi_side_files_read(&d->side, d->env, &d->params, err)) ||
        (st = bi_exec_new(&d->exec, d->model, d->params.memory_limit, err)))
        goto out;
    bi_design_recipe(d, &probe, &graph, &recipe); /* names of rules are checked here */
    recipe.trace = &trace;
    if ((st = bi_plan_graph(&g, model, &recipe, true, err)))
        goto out;
    d->batch_tokens = d->params.batch_tokens > 0 ? d->params.batch_tokens
                      : model->caps.half         ? 16384
                                                 : 2048;
    if (model->base.design.ligand_atoms) /* a residue has hundreds of pairs of atoms */
        d->batch_tokens = d->params.batch_tokens > 0 ? d->batch_tokens : d->batch_tokens / 8;
    if (!d->params.seed)
        d->params.seed = DEFAULT_SEED;
    if (model->base.design.run_py)
        d->side.omit_all[BI_SYMBOLS - 1] = 1; /* it draws from 20 */
    bi_random_start(&d->random, (enum bi_rng)d->params.rng, d->params.seed,
                    d->params.rng_skip < 0   ? 0
                    : d->params.rng_skip > 0 ? (uint64_t)d->params.rng_skip
                                             : (uint64_t)model->base.design.torch_draws);
    *out = d;
    d = NULL;
out:
    bi_graph_free(&g);
    bioinfer_design_free(&d);
    return st;
}

void bioinfer_design_free(bioinfer_design **design)
{
    struct bioinfer_design *d = design ? *design : NULL;
    if (!d)
        return;
    bi_exec_free(&d->exec);
    bi_side_files_free(&d->side);
    bi_arena_reset(&d->strings);
    bi_free(d->env, d);
    *design = NULL;
}

/* ---- the run ---- */

/* A copy of the logits of draws for the jobs whose scores come from others. */
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

static void jobs_free(const struct bioinfer_design *d, struct bi_jobs *jobs)
{
    bi_free(d->env, jobs->of);
    bi_free(d->env, jobs->keys);
    bi_free(d->env, jobs->normal);
    bi_arena_reset(&jobs->arena);
}

/* Jobs of entries from `at` on until the round is full; *end: behind the last entry that has some,
 * first[i]: the first job of entry i. */
static int make_round(struct bioinfer_design *d, struct bi_entry *entries, size_t at, size_t n,
                      struct bi_jobs *jobs, size_t *first, size_t *end, struct bioinfer_error *err)
{
    int st = 0;
    jobs->n = 0;
    jobs->tokens = 0;
    bi_arena_reset(&jobs->arena);
    first[at] = 0;
    do {
        struct bi_entry *e = &entries[at];
        struct bioinfer_error why = {0};
        if (!e->status && (st = bi_design_jobs(d, jobs, e, &why))) {
            if (st == BIOINFER_NOMEM)
                return bi_fail(err, st, "%s", why.text);
            jobs->n = first[at];
            e->status = st;
            snprintf(e->message, sizeof e->message, "%s", why.text);
        }
        first[++at] = jobs->n;
    } while (at < n && jobs->tokens < jobs->limit);
    *end = at;
    return 0;
}

static bool is_finished(const struct bi_entry *e)
{
    return e->status || e->walk.done;
}

static int report_entry(struct bi_report *r, struct bi_entry *e, const struct bi_job *jobs,
                        size_t n, struct bioinfer_error *err)
{
    struct bioinfer_design *d = r->d;
    struct bioinfer_profile *p = &d->exec->profile;
    int st = bi_design_report(r, e, jobs, n, err);
    if (!is_finished(e))
        return st;
    p->records++;
    p->residues += (uint64_t)e->n;
    if (!st && d->params.progress &&
        d->params.progress(d->params.progress_user, p->records, p->residues))
        st = bi_fail(err, BIOINFER_CANCELLED, "cancelled after %" PRIu64 " structures", p->records);
    return st;
}

/* Entries [0, n) are there: their jobs, batches, results in order, round by round. */
static int run_window(struct bioinfer_design *d, struct bi_entry *entries, size_t n,
                      struct bi_report *r, struct bioinfer_error *err)
{
    struct bi_jobs jobs = {.arena = {.env = d->env},
                           .limit = 4 * BI_DESIGN_SAMPLED * d->batch_tokens};
    size_t *first = bi_calloc(d->env, n + 1, sizeof *first);
    int64_t longest = 1;
    int st = first ? 0 : bi_fail(err, BIOINFER_NOMEM, "jobs of %zu structures", n);
    for (size_t i = 0; i < n; i++)
        longest = entries[i].n > longest ? entries[i].n : longest;
    for (size_t at = 0, end; !st && at < n; at = is_finished(&entries[end - 1]) ? end : end - 1) {
        if ((st = make_round(d, entries, at, n, &jobs, first, &end, err)) ||
            (st = bi_design_scratch(d, &jobs, (size_t)longest, err)) ||
            (st = keep_draws(&jobs, err)) || (st = bi_design_run_jobs(d, &jobs, false, err)) ||
            (d->params.backbone_noise > 0 && (st = bi_design_run_jobs(d, &jobs, true, err))))
            break;
        for (size_t i = at; !st && i < end; i++)
            st = report_entry(r, &entries[i], jobs.n ? jobs.of + first[i] : NULL,
                              first[i + 1] - first[i], err);
    }
    bi_free(d->env, first);
    jobs_free(d, &jobs);
    return st;
}

/* Sequences of one structure, for the size of a window. */
static int64_t jobs_of(const struct bioinfer_design *d, const struct bi_entry *e)
{
    return d->params.mode == BIOINFER_DESIGN_CONDITIONAL ||
                   d->params.mode == BIOINFER_DESIGN_CONDITIONAL_BACKBONE
               ? e->n
               : 1 + (int64_t)d->n_batches * d->copies * d->n_temperatures;
}

int bioinfer_design_run(bioinfer_design *d, const char *const *paths, size_t n_paths,
                        bioinfer_design_sink sink, void *user, struct bioinfer_error *err)
{
    struct bi_report r = {.d = d, .sink = sink, .user = user};
    struct bi_entry *entries = NULL;
    size_t cap = 0, n = 0;
    double begun = bi_now();
    int st;
    if (!d || (!paths && n_paths) || !sink)
        return bi_fail(err, BIOINFER_INVALID, "design: paths and sink must be given");
    if ((st = bi_context_check(d->model->ctx, err)))
        return st;
    if (atomic_flag_test_and_set(&d->busy))
        return bi_fail(err, BIOINFER_MISUSE, "the design is in use by another thread");
    r.header.env = r.sequence.env = r.order.env = d->env;
    for (size_t at = 0; !st && at < n_paths;) {
        int64_t tokens = 0, sampled = 0;
        while (!st && at < n_paths && n < WINDOW_STRUCTURES &&
               (!n || (tokens < 4 * d->batch_tokens &&
                       sampled < 4 * BI_DESIGN_SAMPLED * d->batch_tokens))) {
            if (!bi_grow(d->env, &entries, &cap, n + 1, sizeof *entries)) {
                st = bi_fail(err, BIOINFER_NOMEM, "window of %zu structures", n + 1);
                break;
            }
            st = bi_entry_read(&entries[n], d->model, paths[at], &d->params, &d->side, &d->notes,
                               err);
            entries[n].ordinal = at++;
            tokens += entries[n].n;
            sampled += entries[n].n * jobs_of(d, &entries[n]);
            n++;
        }
        if (!st)
            st = run_window(d, entries, n, &r, err);
        while (n)
            bi_entry_free(&entries[--n]);
    }
    bi_notes_end(&d->notes, d->env);
    if (st)
        bi_exec_abandon(d->exec);
    bi_free(d->env, entries);
    bi_free(d->env, r.log_probs);
    bi_free(d->env, r.probs);
    bi_free(d->env, r.mask);
    bi_buf_free(&r.header);
    bi_buf_free(&r.sequence);
    bi_buf_free(&r.order);
    d->exec->profile.seconds += bi_now() - begun;
    atomic_flag_clear(&d->busy);
    return st;
}

/* Makes all jobs of one structure, round by round, and runs none. */
static int draw_alone(struct bioinfer_design *d, const char *path, struct bi_jobs *jobs,
                      struct bioinfer_error *err)
{
    struct bi_entry e;
    size_t first[2], end;
    int st = bi_entry_read(&e, d->model, path, &d->params, &d->side, &d->notes, err);
    while (!st && !is_finished(&e))
        st = make_round(d, &e, 0, 1, jobs, first, &end, err);
    bi_entry_free(&e);
    return st;
}

int bioinfer_design_skip(bioinfer_design *d, const char *const *paths, size_t n_paths,
                         struct bioinfer_error *err)
{
    struct bi_jobs jobs = {.arena = {0}};
    int st = 0;
    if (!d || (!paths && n_paths))
        return bi_fail(err, BIOINFER_INVALID, "design: paths must be given");
    if ((st = bi_context_check(d->model->ctx, err)))
        return st;
    if (atomic_flag_test_and_set(&d->busy))
        return bi_fail(err, BIOINFER_MISUSE, "the design is in use by another thread");
    jobs.arena.env = d->env;
    jobs.limit = 4 * BI_DESIGN_SAMPLED * d->batch_tokens;
    for (size_t i = 0; i < n_paths && !st && d->random.kind != BI_RNG_NATIVE; i++)
        st = draw_alone(d, paths[i], &jobs, err);
    bi_notes_end(&d->notes, d->env);
    jobs_free(d, &jobs);
    atomic_flag_clear(&d->busy);
    return st;
}

void bioinfer_design_set_profile(bioinfer_design *d, int on)
{
    if (d)
        d->exec->profiling = on != 0;
}

int bioinfer_design_get_profile(bioinfer_design *d, struct bioinfer_profile *profile)
{
    return d && profile ? bi_exec_get_profile(d->exec, profile) : BIOINFER_INVALID;
}

int bioinfer_design_dump(bioinfer_design *d, int64_t n_residues, int fused, int trace,
                         int (*write)(void *user, const char *text, size_t len), void *user,
                         struct bioinfer_error *err)
{
    static const enum bi_design_pass passes[] = {BI_PASS_SAMPLE, BI_PASS_SCORE, BI_PASS_SCORE,
                                                 BI_PASS_SCORE, BI_PASS_UNCONDITIONAL};
    struct bi_design_shape shape;
    struct bi_design_graph graph;
    struct bi_recipe recipe;
    if (!d || !write || n_residues < 1 || n_residues > BI_MAX_RESIDUES)
        return bi_fail(err, BIOINFER_INVALID, "dump: 1 to %d residues", BI_MAX_RESIDUES);
    shape = (struct bi_design_shape){
        .n_tokens = n_residues, .n_structures = 1, .longest = n_residues, .n_samples = 1,
        .n_sampled = n_residues, .n_terms = 1, .n_cells = 1, .pass = passes[d->params.mode]};
    bi_design_recipe(d, &shape, &graph, &recipe);
    return bi_plan_dump(d->model, &recipe, fused, trace, write, user, err);
}

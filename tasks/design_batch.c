/* design_batch.c - batches of designs: structures (encoded once) and samples over them.
 *
 * An item is a job; the part that jobs have in common is their structure. */
#include "design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELLS_FROM = 2048, /* residues of a structure that is looked through cell by cell */
};

static struct bi_job *job_of(const struct bi_item *item)
{
    return &((struct bi_design_unit *)item->unit)->jobs.of[item->number];
}

/* Rows of terms that an item adds: those of the item before serve when nothing differs. */
static int64_t terms_of(const struct bi_item *before, const struct bi_item *item)
{
    const struct bi_job *j = job_of(item), *b = before ? job_of(before) : NULL;
    if (b && b->entry == j->entry && (b->temperature == j->temperature || j->kind == BI_JOB_NATIVE))
        return 0;
    return bi_entry_has_terms(j->entry) ? j->entry->n : 1;
}

void bi_design_item(const struct bi_design_task *d, struct bi_design_unit *u, int32_t number,
                    struct bi_item *item)
{
    static const enum bi_design_pass passes[] = {[BI_JOB_NATIVE] = BI_PASS_SAMPLE,
                                                 [BI_JOB_SAMPLE] = BI_PASS_SAMPLE,
                                                 [BI_JOB_SCORE] = BI_PASS_SCORE,
                                                 [BI_JOB_CONDITION] = BI_PASS_SCORE,
                                                 [BI_JOB_UNCONDITIONAL] = BI_PASS_UNCONDITIONAL};
    const struct bi_job *j = &u->jobs.of[number];
    const int32_t n = (int32_t)j->entry->n;
    const enum bi_design_pass pass = u->again ? BI_PASS_SCORE : passes[j->kind];
    /* tied positions are scored again in the same program, unless other coordinates follow */
    const bool rescore = pass == BI_PASS_SAMPLE && j->entry->n_ties &&
                         !(d->run.params.backbone_noise > 0);
    *item = (struct bi_item){
        .unit = &u->unit,
        .number = number,
        .program = (int32_t)pass << 1 | rescore,
        .weight = n,
        .part = u->again ? j->again : j->x,
        .part_size = {.n_tokens = n, .n_seqs = 1, .longest = n},
        .size = {.n_rows = n, .longest = n, .n_samples = 1, .n_sampled = n, .n_steps = n}};
}

int64_t bi_design_load(const struct bi_counts *c)
{
    const int64_t sampled = c->n_sampled / BI_DESIGN_SAMPLED;
    return c->n_tokens > sampled ? c->n_tokens : sampled;
}

/* ---- cells ---- */

/* Sorts the usable residues of one structure into cells of about 8 angstrom. */
static int make_cells(struct bi_design_task *d, const struct bi_item *item, int32_t first_token,
                      struct bi_cell_grid *grid, struct bioinfer_error *err)
{
    struct bi_design_cells *b = &d->cells;
    const struct bi_entry *e = job_of(item)->entry;
    const float *x = item->part;
    int width = d->model->base.design->ca_only ? 9 : 12;
    float low[3] = {0}, high[3] = {0};
    int64_t usable = 0, total, at;
    int32_t *table;
    *grid = (struct bi_cell_grid){{0}, 0, {0}, 0};
    for (int64_t i = 0; i < e->n; i++) {
        if (e->mask[i] == 0)
            continue;
        for (int c = 0; c < 3; c++) {
            float v = x[i * width + 3 + c];
            low[c] = !usable || v < low[c] ? v : low[c];
            high[c] = !usable || v > high[c] ? v : high[c];
        }
        usable++;
    }
    if (e->n < CELLS_FROM || usable <= d->model->base.design->k)
        return 0;
    for (grid->size = 8;; grid->size *= 1.25f) { /* wide apart: wider cells, not more of them */
        double product = 1;
        for (int c = 0; c < 3; c++)
            product *= floor((double)(high[c] - low[c]) / (double)grid->size) + 1;
        if (product <= (double)(2 * usable))
            break;
    }
    for (int c = 0; c < 3; c++) {
        grid->origin[c] = low[c];
        grid->n[c] = (int32_t)floorf((high[c] - low[c]) / grid->size) + 1;
    }
    total = (int64_t)grid->n[0] * grid->n[1] * grid->n[2];
    at = b->n + usable;
    if (!bi_grow(d->run.env, &b->of, &b->cap, (size_t)(at + total + 2), sizeof *b->of))
        return bi_fail(err, BIOINFER_NOMEM, "%s: cells", e->name);
    grid->first = (int32_t)at;
    table = b->of + at;
    memset(table, 0, (size_t)(total + 2) * sizeof *table);
    for (int pass = 0; pass < 2; pass++) { /* count behind the next cell, then place */
        for (int64_t i = 0; i < e->n; i++) {
            int64_t cell = 0;
            if (e->mask[i] == 0)
                continue;
            for (int c = 0; c < 3; c++) {
                int32_t v = (int32_t)floorf((x[i * width + 3 + c] - grid->origin[c]) / grid->size);
                cell = cell * grid->n[c] + (v < 0 ? 0 : v < grid->n[c] ? v : grid->n[c] - 1);
            }
            if (!pass)
                table[cell + 2]++;
            else
                b->of[table[cell + 1]++] = first_token + (int32_t)i;
        }
        for (int64_t c = 0; !pass && c <= total; c++)
            table[c + 1] += table[c];
        for (int64_t c = 0; !pass && c <= total + 1; c++)
            table[c] += (int32_t)b->n;
    }
    b->n = at + total + 2;
    return 0;
}

/* Tables of cells for the structures of a batch. */
static int make_all_cells(struct bi_design_task *d, const struct bi_batch *b,
                          struct bioinfer_error *err)
{
    struct bi_design_cells *cells = &d->cells;
    int32_t token = 0;
    int st = 0;
    cells->n = 0;
    cells->n_grids = 0;
    if (!bi_grow(d->run.env, &cells->grids, &cells->cap_grids, (size_t)b->counts.n_seqs + 1,
                 sizeof *cells->grids))
        return bi_fail(err, BIOINFER_NOMEM, "cells");
    for (size_t i = 0; !st && i < b->n_items; i++) {
        const struct bi_item *item = b->items[i];
        if (i && b->items[i - 1]->part == item->part)
            continue;
        st = make_cells(d, item, token, &cells->grids[cells->n_grids++], err);
        token += item->part_size.n_tokens;
    }
    return st;
}

/* ---- the graph of a batch ---- */

_Static_assert(sizeof(struct bi_design_shape) == 8 * sizeof(int64_t), "no padding");

static int build_graph(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const struct bi_design_shape *of = shape;
    const struct bi_model *model = user;
    (void)err;
    g->n_tokens = of->n_tokens;
    g->n_seqs = of->n_structures;
    g->n_rows = of->n_sampled;
    g->longest = of->longest;
    ((const struct bi_design_def *)model->def->def)->build(model, g, of);
    return 0;
}

int bi_design_recipe(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                     struct bioinfer_error *err)
{
    struct bi_design_task *d = (struct bi_design_task *)t;
    const struct bi_counts *c = &b->capacity;
    const int32_t program = b->n_items ? b->items[0]->program : bi_design_program(d);
    struct bi_design_shape *s = &d->shape;
    int64_t n_terms = b->n_items ? 0 : 1;
    int st = make_all_cells(d, b, err);
    for (size_t i = 0; i < b->n_items; i++)
        n_terms += terms_of(i ? b->items[i - 1] : NULL, b->items[i]);
    *s = (struct bi_design_shape){.n_tokens = c->n_tokens,
                                  .n_structures = c->n_seqs,
                                  .longest = c->longest,
                                  .n_samples = c->n_samples,
                                  .n_sampled = c->n_sampled,
                                  .n_terms = bi_bucket(n_terms),
                                  .n_cells = b->n_items ? bi_bucket(d->cells.n) : 1,
                                  .pass = (enum bi_design_pass)(program >> 1),
                                  .rescore = program & 1};
    *recipe = (struct bi_recipe){.build = build_graph,
                                 .user = &d->model->base,
                                 .shape = s,
                                 .shape_size = sizeof *s,
                                 .n_sizes = 7,
                                 .no_rules = d->run.params.no_rules};
    return st;
}

/* ---- inputs ---- */

static void fill_structure(const struct bi_batch_place *place, const struct bi_item *item,
                           const struct bi_design_facts *f)
{
    const struct bi_entry *e = job_of(item)->entry;
    const int32_t token = place->at.n_tokens, number = place->at.n_seqs;
    int64_t width = f->ca_only ? 9 : 12;
    size_t n = (size_t)e->n, m = (size_t)f->ligand_atoms;
    float *x = bi_batch_input(place, "x"), *mask = bi_batch_input(place, "mask");
    int32_t *numbers = bi_batch_input(place, "number"), *chain = bi_batch_input(place, "chain");
    int32_t *label = bi_batch_input(place, "label"), *start = bi_batch_input(place, "start");
    memcpy(x + token * width, item->part, n * (size_t)width * sizeof *x);
    memcpy(mask + token, e->mask, n * sizeof *mask);
    memcpy(numbers + token, e->number, n * sizeof *numbers);
    memcpy(chain + token, e->chain, n * sizeof *chain);
    if (m) {
        float(*atoms)[3] = bi_batch_input(place, "atoms");
        memcpy(atoms + (size_t)token * m, e->atoms, n * m * sizeof *atoms);
        memcpy((float *)bi_batch_input(place, "atom_mask") + (size_t)token * m, e->atom_mask,
               n * m * sizeof *e->atom_mask);
        memcpy((int32_t *)bi_batch_input(place, "element") + (size_t)token * m, e->element,
               n * m * sizeof *e->element);
    }
    if (label)
        memcpy(label + token, e->label, n * sizeof *label);
    start[number] = token;
    start[number + 1] = token + (int32_t)n;
}

static void fill_ranks(const struct bi_design_task *d, const struct bi_item *item, int32_t *rank)
{
    const struct bi_job *j = job_of(item);
    struct bi_order_key *keys = ((struct bi_design_unit *)item->unit)->jobs.keys;
    const struct bi_entry *e = j->entry;
    bool first = d->run.params.mode == BIOINFER_DESIGN_CONDITIONAL_BACKBONE;
    if (j->kind != BI_JOB_CONDITION) {
        for (int64_t t = 0; t < e->n; t++)
            rank[j->order[t]] = (int32_t)t;
        return;
    }
    for (int64_t i = 0; i < e->n; i++) {
        float order = (i == j->position) != first ? 1 : 0;
        keys[i] = (struct bi_order_key){(order + 0.0001f) * fabsf(j->keys[i]), (int32_t)i};
    }
    qsort(keys, (size_t)e->n, sizeof *keys, bi_compare_order);
    for (int64_t t = 0; t < e->n; t++)
        rank[keys[t].token] = (int32_t)t;
}

static void fill_sample(const struct bi_design_task *d, const struct bi_batch_place *place,
                        const struct bi_item *item, int32_t token, int32_t terms)
{
    const struct bi_job *j = job_of(item);
    const struct bi_entry *e = j->entry;
    const int32_t at = place->at.n_sampled;
    size_t n = (size_t)e->n;
    int32_t *tokens = bi_batch_input(place, "token"), *codes = bi_batch_input(place, "codes");
    int32_t *rank = bi_batch_input(place, "rank");
    struct bi_step *plan = bi_batch_input(place, "plan");
    float *weight = bi_batch_input(place, "weight"), *mask = bi_batch_input(place, "sampled_mask");
    double *noise = bi_batch_input(place, "noise");
    for (size_t i = 0; tokens && i < n; i++)
        tokens[(size_t)at + i] = token + (int32_t)i;
    if (codes)
        memcpy(codes + at, j->codes, n * sizeof *codes);
    if (rank)
        fill_ranks(d, item, rank + at);
    if (mask)
        memcpy(mask + at, e->mask, n * sizeof *mask);
    if (weight)
        memcpy(weight + at, j->weight, n * sizeof *weight);
    for (size_t t = 0; plan && t < n; t++) {
        plan[(size_t)at + t] = j->plan[t];
        plan[(size_t)at + t].terms += terms;
    }
    for (size_t i = 0; noise && i < n * BI_SYMBOLS; i++) /* 1 where nothing is drawn */
        noise[(size_t)at * BI_SYMBOLS + i] = j->noise && j->noise[i] > 0 ? j->noise[i] : 1;
}

static void fill_terms(const struct bi_design_task *d, const struct bi_job *j, double *terms)
{
    int64_t n = bi_entry_has_terms(j->entry) ? j->entry->n : 1;
    double temperature = j->temperature > 0 ? j->temperature : d->run.temperatures[0];
    for (int64_t i = 0; i < n; i++)
        bi_entry_terms(j->entry, &d->run.params, &d->run.side, i, temperature,
                       terms + i * BI_TERMS);
}

void bi_design_fill(const struct bioinfer_task *t, const struct bi_item *item,
                    const struct bi_batch_place *place)
{
    struct bi_design_task *d = (struct bi_design_task *)(uintptr_t)t;
    const struct bi_job *j = job_of(item);
    const struct bi_design_cells *c = &d->cells;
    struct bi_design_filling *f = &d->filling;
    int32_t *sample_start = bi_batch_input(place, "sample_start");
    int32_t *sample_first = bi_batch_input(place, "sample_first");
    float *temperature = bi_batch_input(place, "temperature");
    double *terms = bi_batch_input(place, "terms");
    int64_t n_terms;
    if (!place->index) {
        *f = (struct bi_design_filling){.before = NULL};
        memcpy(bi_batch_input(place, "grid"), c->grids, (size_t)c->n_grids * sizeof *c->grids);
        if (c->n)
            memcpy(bi_batch_input(place, "cells"), c->of, (size_t)c->n * sizeof *c->of);
    }
    if (place->part_begins) {
        f->token = place->at.n_tokens;
        fill_structure(place, item, d->model->base.design);
    }
    n_terms = terms_of(f->before, item);
    if (terms && n_terms) {
        f->terms = f->row;
        fill_terms(d, j, terms + (int64_t)f->row * BI_TERMS);
        f->row += (int32_t)n_terms;
    }
    if (sample_start) {
        sample_start[place->index] = place->at.n_sampled;
        sample_start[place->index + 1] = place->at.n_sampled + (int32_t)j->entry->n;
        sample_first[place->index] = f->token;
        temperature[place->index] = j->kind == BI_JOB_SAMPLE ? (float)j->temperature : 1;
    }
    fill_sample(d, place, item, f->token, f->terms);
    f->before = item;
}

/* ---- outputs ---- */

int bi_design_collect(struct bioinfer_task *t, struct bi_item *item,
                      const struct bi_batch_place *place, struct bioinfer_error *err)
{
    const bool again = ((struct bi_design_unit *)item->unit)->again;
    const struct bi_graph *g = place->slot->plan->graph;
    const int64_t at = place->at.n_sampled;
    struct bi_job *j = job_of(item);
    const size_t n = (size_t)j->entry->n * BI_SYMBOLS;
    const int32_t *codes = NULL;
    const float *logits = NULL, *rescored = NULL, *mine;
    int64_t ld;
    (void)t, (void)err;
    for (size_t i = 0; i < g->n_outputs; i++) {
        const void *v = bi_batch_output(place, &g->outputs[i], &ld);
        if (g->outputs[i].kind == BI_DESIGN_CODES)
            codes = v;
        else if (g->outputs[i].kind == BI_DESIGN_LOGITS)
            logits = v;
        else
            rescored = v;
    }
    mine = (rescored ? rescored : logits) + at * BI_SYMBOLS;
    if (codes)
        memcpy(j->codes, codes + at, (size_t)j->entry->n * sizeof *codes);
    if ((rescored || again) && j->drawn_from) /* the draws came from other logits */
        memcpy(j->drawn_from, rescored ? logits + at * BI_SYMBOLS : j->logits, n * sizeof *logits);
    if (j->kind == BI_JOB_CONDITION)
        memcpy(j->logits, mine + (size_t)j->position * BI_SYMBOLS, BI_SYMBOLS * sizeof *mine);
    else
        memcpy(j->logits, mine, n * sizeof *mine);
    return 0;
}

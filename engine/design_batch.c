/* design_batch.c - jobs to batches: structures (encoded once) and samples over them. */
#include "design.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELLS_FROM = 2048, /* residues of a structure that is looked through cell by cell */
};

/* ---- batches ---- */

/* A batch: jobs [0, n), their structures, and where their tables begin. */
struct batch {
    struct bi_job *jobs;
    size_t n;
    bool again; /* the second scoring, of other coordinates */
    enum bi_design_pass pass;
    bool rescore;
    struct bi_counts counts;
    int64_t n_terms, n_cells;
    int32_t *cells; /* as struct bi_knn_params says */
    size_t cap_cells;
};

static const float *coordinates_of(const struct batch *b, const struct bi_job *j)
{
    return b->again ? j->again : j->x;
}

/* Does job i begin a structure of its own in the batch? */
static bool begins(const struct batch *b, size_t i)
{
    return !i || coordinates_of(b, &b->jobs[i]) != coordinates_of(b, &b->jobs[i - 1]);
}

/* Rows of terms that job i adds: those of the job before serve when nothing differs. */
static int64_t terms_of(const struct batch *b, size_t i)
{
    const struct bi_job *j = &b->jobs[i], *before = i ? j - 1 : NULL;
    if (before && before->entry == j->entry &&
        (before->temperature == j->temperature || j->kind == BI_JOB_NATIVE))
        return 0;
    return bi_entry_has_terms(j->entry) ? j->entry->n : 1;
}

/* Sizes of jobs [0, n). */
static void measure(struct batch *b, int k, int atoms)
{
    struct bi_counts c = {0};
    b->n_terms = 0;
    for (size_t i = 0; i < b->n; i++) {
        int32_t n = (int32_t)b->jobs[i].entry->n;
        if (begins(b, i)) {
            c.n_tokens += n;
            c.n_seqs++;
        }
        c.n_samples++;
        c.n_sampled += n;
        c.longest = n > c.longest ? n : c.longest;
        b->n_terms += terms_of(b, i);
    }
    c.n_rows = c.n_sampled;
    c.n_steps = c.longest;
    c.n_edges = c.n_tokens * k;
    c.n_atoms = c.n_tokens * atoms;
    c.n_pairs = c.n_atoms * atoms;
    c.n_sample_edges = c.n_samples * k;
    c.n_sampled_edges = c.n_sampled * k;
    b->counts = c;
}

/* Sorts the usable residues of one structure into cells of about 8 angstrom. */
static int make_cells(struct bioinfer_design *d, struct batch *b, const struct bi_job *j,
                      int32_t first_token, struct bi_cell_grid *grid, struct bioinfer_error *err)
{
    const struct bi_entry *e = j->entry;
    const float *x = coordinates_of(b, j);
    int width = d->model->base.design.ca_only ? 9 : 12;
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
    if (e->n < CELLS_FROM || usable <= d->model->base.design.k)
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
    at = b->n_cells + usable;
    if (!bi_grow(d->env, &b->cells, &b->cap_cells, (size_t)(at + total + 2), sizeof *b->cells))
        return bi_fail(err, BIOINFER_NOMEM, "%s: cells", e->name);
    grid->first = (int32_t)at;
    table = b->cells + at;
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
                b->cells[table[cell + 1]++] = first_token + (int32_t)i;
        }
        for (int64_t c = 0; !pass && c <= total; c++)
            table[c + 1] += table[c];
        for (int64_t c = 0; !pass && c <= total + 1; c++)
            table[c] += (int32_t)b->n_cells;
    }
    b->n_cells = at + total + 2;
    return 0;
}

static void fill_structure(const struct batch *b, struct bi_exec_slot *slot, const struct bi_job *j,
                           int32_t token, int32_t number, const struct bi_design_facts *f)
{
    const struct bi_entry *e = j->entry;
    int64_t width = f->ca_only ? 9 : 12;
    size_t n = (size_t)e->n, m = (size_t)f->ligand_atoms;
    float *x = bi_exec_input(slot, "x"), *mask = bi_exec_input(slot, "mask");
    int32_t *numbers = bi_exec_input(slot, "number"), *chain = bi_exec_input(slot, "chain");
    int32_t *label = bi_exec_input(slot, "label"), *start = bi_exec_input(slot, "start");
    memcpy(x + token * width, coordinates_of(b, j), n * (size_t)width * sizeof *x);
    memcpy(mask + token, e->mask, n * sizeof *mask);
    memcpy(numbers + token, e->number, n * sizeof *numbers);
    memcpy(chain + token, e->chain, n * sizeof *chain);
    if (m) {
        float (*atoms)[3] = bi_exec_input(slot, "atoms");
        memcpy(atoms + (size_t)token * m, e->atoms, n * m * sizeof *atoms);
        memcpy((float *)bi_exec_input(slot, "atom_mask") + (size_t)token * m, e->atom_mask,
               n * m * sizeof *e->atom_mask);
        memcpy((int32_t *)bi_exec_input(slot, "element") + (size_t)token * m, e->element,
               n * m * sizeof *e->element);
    }
    if (label)
        memcpy(label + token, e->label, n * sizeof *label);
    start[number] = token;
    start[number + 1] = token + (int32_t)n;
}

static void fill_ranks(const struct bioinfer_design *d, const struct bi_job *j, int32_t *rank,
                       struct bi_order_key *keys)
{
    const struct bi_entry *e = j->entry;
    bool first = d->params.mode == BIOINFER_DESIGN_CONDITIONAL_BACKBONE;
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

static void fill_sample(const struct bioinfer_design *d, struct bi_exec_slot *slot, struct bi_job *j,
                        int32_t at, int32_t token, int32_t terms, struct bi_order_key *keys)
{
    const struct bi_entry *e = j->entry;
    size_t n = (size_t)e->n;
    int32_t *tokens = bi_exec_input(slot, "token"), *codes = bi_exec_input(slot, "codes");
    int32_t *rank = bi_exec_input(slot, "rank");
    struct bi_step *plan = bi_exec_input(slot, "plan");
    float *weight = bi_exec_input(slot, "weight"), *mask = bi_exec_input(slot, "sampled_mask");
    double *noise = bi_exec_input(slot, "noise");
    for (size_t i = 0; tokens && i < n; i++)
        tokens[(size_t)at + i] = token + (int32_t)i;
    if (codes)
        memcpy(codes + at, j->codes, n * sizeof *codes);
    if (rank)
        fill_ranks(d, j, rank + at, keys);
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

static void fill_terms(const struct bioinfer_design *d, const struct bi_job *j, double *terms)
{
    int64_t n = bi_entry_has_terms(j->entry) ? j->entry->n : 1;
    double temperature = j->temperature > 0 ? j->temperature : d->temperatures[0];
    for (int64_t i = 0; i < n; i++)
        bi_entry_terms(j->entry, &d->params, &d->side, i, temperature, terms + i * BI_TERMS);
}

static void fill_batch(struct bioinfer_design *d, struct batch *b, struct bi_exec_slot *slot,
                       const struct bi_cell_grid *grids, struct bi_order_key *keys)
{
    int32_t token = 0, number = 0, at = 0, row = 0, mine = 0, terms_at = 0;
    int32_t *sample_start = bi_exec_input(slot, "sample_start");
    int32_t *sample_first = bi_exec_input(slot, "sample_first");
    int32_t *cells = bi_exec_input(slot, "cells");
    float *temperature = bi_exec_input(slot, "temperature");
    double *terms = bi_exec_input(slot, "terms");
    memcpy(bi_exec_input(slot, "grid"), grids, (size_t)b->counts.n_seqs * sizeof *grids);
    if (b->n_cells)
        memcpy(cells, b->cells, (size_t)b->n_cells * sizeof *cells);
    for (size_t i = 0; i < b->n; i++) {
        struct bi_job *j = &b->jobs[i];
        int64_t n_terms = terms_of(b, i);
        if (begins(b, i)) {
            mine = token;
            fill_structure(b, slot, j, token, number++, &d->model->base.design);
            token += (int32_t)j->entry->n;
        }
        if (terms && n_terms) {
            terms_at = row;
            fill_terms(d, j, terms + (int64_t)row * BI_TERMS);
            row += (int32_t)n_terms;
        }
        if (sample_start) {
            sample_start[i] = at;
            sample_start[i + 1] = at + (int32_t)j->entry->n;
            sample_first[i] = mine;
            temperature[i] = j->kind == BI_JOB_SAMPLE ? (float)j->temperature : 1;
        }
        fill_sample(d, slot, j, at, mine, terms_at, keys);
        at += (int32_t)j->entry->n;
    }
}

static void collect(struct batch *b, const struct bi_exec_slot *slot)
{
    const struct bi_graph *g = slot->plan->graph;
    const int32_t *codes = NULL;
    const float *logits = NULL, *rescored = NULL;
    int64_t at = 0, ld;
    for (size_t i = 0; i < g->n_outputs; i++) {
        const void *v = bi_exec_output(slot, &g->outputs[i], &ld);
        if (g->outputs[i].kind == BI_DESIGN_CODES)
            codes = v;
        else if (g->outputs[i].kind == BI_DESIGN_LOGITS)
            logits = v;
        else
            rescored = v;
    }
    for (size_t i = 0; i < b->n; i++) {
        struct bi_job *j = &b->jobs[i];
        size_t n = (size_t)j->entry->n * BI_SYMBOLS;
        const float *mine = (rescored ? rescored : logits) + at * BI_SYMBOLS;
        if (codes)
            memcpy(j->codes, codes + at, (size_t)j->entry->n * sizeof *codes);
        if (rescored || b->again) { /* the draws came from other logits */
            if (j->drawn_from)
                memcpy(j->drawn_from, rescored ? logits + at * BI_SYMBOLS : j->logits,
                       n * sizeof *logits);
        }
        if (j->kind == BI_JOB_CONDITION)
            memcpy(j->logits, mine + (size_t)j->position * BI_SYMBOLS,
                   BI_SYMBOLS * sizeof *mine);
        else
            memcpy(j->logits, mine, n * sizeof *mine);
        at += j->entry->n;
    }
}

static int run_batch(struct bioinfer_design *d, struct batch *b, struct bi_order_key *keys,
                     struct bioinfer_error *err)
{
    const struct bi_design_facts *f = &d->model->base.design;
    struct bi_cell_grid *grids = NULL;
    struct bi_design_shape shape;
    struct bi_exec_slot *slot;
    struct bi_design_graph graph;
    struct bi_recipe recipe;
    struct bi_exec_batch batch;
    int32_t token = 0, number = 0;
    int st = 0;
    measure(b, f->k, f->ligand_atoms);
    b->n_cells = 0;
    if (!(grids = bi_calloc(d->env, (size_t)b->counts.n_seqs + 1, sizeof *grids)))
        return bi_fail(err, BIOINFER_NOMEM, "cells");
    for (size_t i = 0; !st && i < b->n; i++)
        if (begins(b, i)) {
            st = make_cells(d, b, &b->jobs[i], token, &grids[number++], err);
            token += (int32_t)b->jobs[i].entry->n;
        }
    if (st)
        goto out;
    shape = (struct bi_design_shape){
        .n_tokens = bi_bucket(b->counts.n_tokens), .n_structures = bi_bucket(b->counts.n_seqs),
        .longest = bi_bucket(b->counts.longest), .n_samples = bi_bucket(b->counts.n_samples),
        .n_sampled = bi_bucket(b->counts.n_sampled), .n_terms = bi_bucket(b->n_terms),
        .n_cells = bi_bucket(b->n_cells), .pass = b->pass, .rescore = b->rescore};
    bi_design_recipe(d, &shape, &graph, &recipe);
    batch = (struct bi_exec_batch){.recipe = &recipe, .counts = b->counts};
    if ((st = bi_exec_begin(d->exec, &batch, &slot, err)))
        goto out;
    fill_batch(d, b, slot, grids, keys);
    if (!(st = bi_exec_submit(d->exec, slot, err)) && !(st = bi_exec_wait(d->exec, slot, err)))
        collect(b, slot);
out:
    bi_free(d->env, grids);
    return st;
}

/* How many of jobs [0, n) make the next batch. */
static size_t next_batch(const struct bioinfer_design *d, struct batch *b, size_t n)
{
    int64_t tokens = 0, sampled = 0;
    size_t i = 0;
    for (; i < n; i++) {
        int64_t more = b->jobs[i].entry->n;
        bool own = begins(b, i); /* the others share the encoder's work */
        tokens += own ? more : 0;
        sampled += more;
        if (i && ((own && tokens > d->batch_tokens) ||
                  sampled > BI_DESIGN_SAMPLED * d->batch_tokens))
            break;
    }
    return i;
}

int bi_design_run_jobs(struct bioinfer_design *d, struct bi_jobs *jobs, bool again,
                    struct bioinfer_error *err)
{
    static const enum bi_design_pass passes[] = {
        [BI_JOB_NATIVE] = BI_PASS_SAMPLE, [BI_JOB_SAMPLE] = BI_PASS_SAMPLE, [BI_JOB_SCORE] = BI_PASS_SCORE,
        [BI_JOB_CONDITION] = BI_PASS_SCORE, [BI_JOB_UNCONDITIONAL] = BI_PASS_UNCONDITIONAL};
    struct batch b = {.again = again};
    size_t limit = SIZE_MAX, at = 0;
    int st = 0;
    while (!st && at < jobs->n) {
        struct bioinfer_error why = {0};
        size_t n = 0, left = jobs->n - at;
        b.jobs = jobs->of + at;
        while (n < left && (!again || b.jobs[n].again)) /* natives are scored once */
            n++;
        if (!n) {
            at++;
            continue;
        }
        b.n = next_batch(d, &b, n < limit ? n : limit);
        b.pass = again ? BI_PASS_SCORE : passes[b.jobs[0].kind];
        b.rescore = false;
        for (size_t i = 0; i < b.n; i++)
            b.rescore |= !again && b.jobs[i].kind == BI_JOB_SAMPLE && !b.jobs[i].again &&
                         b.jobs[i].entry->n_ties;
        st = run_batch(d, &b, jobs->keys, &why);
        if ((st == BIOINFER_TOO_LONG || st == BIOINFER_NOMEM) && b.n > 1) {
            limit = b.n / 2; /* memory does not do: halves */
            st = 0;
        } else if (st == BIOINFER_TOO_LONG || st == BIOINFER_NOMEM) {
            struct bi_entry *e = b.jobs[0].entry;
            e->status = st;
            snprintf(e->message, sizeof e->message, "%s: %.900s", e->name, why.text);
            st = 0;
            at++;
        } else if (st) {
            bi_fail(err, st, "%s", why.text);
        } else {
            at += b.n;
        }
    }
    bi_free(d->env, b.cells);
    return st;
}


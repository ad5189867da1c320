/* jobs.c - what is computed for a structure: the native sequence scored, sequences to draw,
 * positions to condition on.
 *
 * What random numbers a job takes is settled here, in the order in which the reference draws
 * them, so that jobs of many structures can share a batch later.
 * Source: dauparas/ProteinMPNN:protein_mpnn_run.py, protein_mpnn_utils.py (sample, tied_sample) */
#include "../../loaders/fasta.h"
#include "../design.h"
#include "random.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- orders and plans ---- */

/* Purposes of numbers of our own generator. */
enum stream {
    STREAM_NATIVE_ORDER = 1,
    STREAM_ORDER,
    STREAM_DRAW,
    STREAM_NOISE,
    STREAM_NOISE_AGAIN,
    STREAM_NATIVE_NOISE
};

int bi_compare_order(const void *a, const void *b)
{
    const struct bi_order_key *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* Tokens by (open + 0.0001) |r|, ascending. */
static void sort_order(int32_t *order, struct bi_order_key *keys, const float *open, const float *r,
                       int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        keys[i] = (struct bi_order_key){(open[i] + 0.0001f) * fabsf(r[i]), (int32_t)i};
    qsort(keys, (size_t)n, sizeof *keys, bi_compare_order);
    for (int64_t i = 0; i < n; i++)
        order[i] = keys[i].token;
}

/* Is the token one that is designed: of a designed chain, not fixed, all atoms there. */
float bi_is_open(const struct bi_entry *e, int64_t i)
{
    return e->designed[i] * e->open[i] * e->mask[i];
}

/* The walk of tied sampling: groups as soon as one of their tokens is met. */
static int tie_order(const struct bi_design_run *d, const struct bi_entry *e, int32_t *order,
                     int32_t *size, struct bioinfer_error *err)
{
    int32_t *tie = bi_calloc(d->env, (size_t)e->n, sizeof *tie), at = 0;
    int32_t *walk = bi_calloc(d->env, (size_t)e->n, sizeof *walk);
    bool *done = bi_calloc(d->env, (size_t)e->n, sizeof *done);
    int st = tie && walk && done ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: tied positions", e->name);
    for (size_t g = e->n_ties; !st && g-- > 0;) /* the first group of a token counts */
        for (int32_t i = 0; i < e->ties[g].n; i++)
            tie[e->ties[g].tokens[i]] = (int32_t)g + 1;
    if (!st)
        memcpy(walk, order, (size_t)e->n * sizeof *walk);
    for (int64_t t = 0; !st && t < e->n; t++) {
        const struct bi_tie *g = tie[walk[t]] ? &e->ties[tie[walk[t]] - 1] : NULL;
        if (done[walk[t]])
            continue;
        for (int32_t i = 0; i < (g ? g->n : 1); i++) {
            int32_t token = g ? g->tokens[i] : walk[t];
            if (done[token] || at == e->n) {
                st = bi_fail(err, BIOINFER_INVALID, "%s: tied positions: token %d is in two groups",
                             e->name, token + 1);
                break;
            }
            done[token] = true;
            size[at] = 0;
            order[at++] = token;
        }
        if (!st)
            size[at - 1] = g ? g->n : 1;
    }
    bi_free(d->env, tie);
    bi_free(d->env, walk);
    bi_free(d->env, done);
    return st;
}

/* Steps of a job from its order; size[t] > 0 ends a group of that many, NULL = groups of one.
 * total: logits of a group are added up, not averaged (run.py). */
static void make_plan(const struct bi_entry *e, struct bi_job *j, const int32_t *size, bool total)
{
    bool has_terms = bi_entry_has_terms(e), native = j->kind == BI_JOB_NATIVE;
    for (int64_t end = 0, first = 0; end < e->n; end++) {
        int32_t code, masked = -1, last = j->order[end];
        if (size && !size[end])
            continue;
        for (int64_t t = first; t <= end; t++) {
            int32_t token = j->order[t];
            bool there = e->mask[token] != 0;
            if (!there && masked < 0)
                masked = token;
            j->plan[t] = (struct bi_step){.position = token,
                                          .code = -1,
                                          .runs = !there        ? 0
                                                  : masked >= 0 ? 2
                                                                : 1};
            j->weight[t] = 1;
        }
        code = masked >= 0 ? e->codes[masked] : bi_is_open(e, last) != 0 ? -1 : e->codes[last];
        j->plan[end].group = (int32_t)(end - first + 1);
        j->plan[end].code = native ? e->codes[last] : code;
        j->plan[end].terms = has_terms ? last : 0;
        first = end + 1;
    }
    for (size_t g = 0; size && g < e->n_ties; g++)
        for (int32_t i = 0; i < e->ties[g].n; i++)
            for (int64_t t = 0; t < e->n; t++)
                if (j->order[t] == e->ties[g].tokens[i])
                    j->weight[t] = e->ties[g].weights[i] * (float)(total ? e->ties[g].n : 1);
}

/* ---- jobs ---- */

int bi_design_scratch(const struct bi_design_run *d, struct bi_jobs *jobs, size_t n,
                      struct bioinfer_error *err)
{
    if (!bi_grow(d->env, &jobs->keys, &jobs->cap_keys, n, sizeof *jobs->keys) ||
        !bi_grow(d->env, &jobs->normal, &jobs->cap_normal, n, sizeof *jobs->normal))
        return bi_fail(err, BIOINFER_NOMEM, "orders of %zu residues", n);
    return 0;
}

static struct bi_job *new_job(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                              enum bi_job_kind kind, struct bioinfer_error *err)
{
    struct bi_arena *a = &jobs->arena;
    size_t n = (size_t)e->n;
    struct bi_job *j;
    bool keeps = kind != BI_JOB_CONDITION;
    if (!bi_grow(d->env, &jobs->of, &jobs->cap, jobs->n + 1, sizeof *jobs->of)) {
        bi_fail(err, BIOINFER_NOMEM, "%s: jobs", e->name);
        return NULL;
    }
    j = &jobs->of[jobs->n];
    *j = (struct bi_job){.kind = kind, .entry = e, .x = e->x, .codes = e->codes};
    j->logits = bi_arena_calloc(a, (keeps ? n : 1) * BI_SYMBOLS, sizeof *j->logits);
    if (keeps && kind != BI_JOB_UNCONDITIONAL)
        j->order = bi_arena_calloc(a, n, sizeof *j->order);
    if (kind == BI_JOB_NATIVE || kind == BI_JOB_SAMPLE) {
        j->plan = bi_arena_calloc(a, n, sizeof *j->plan);
        j->weight = bi_arena_calloc(a, n, sizeof *j->weight);
        j->codes = bi_arena_calloc(a, n, sizeof *j->codes);
        if (kind == BI_JOB_SAMPLE)
            j->noise = bi_arena_calloc(a, n * BI_SYMBOLS, sizeof *j->noise);
    }
    if (!j->logits || (keeps && kind != BI_JOB_UNCONDITIONAL && !j->order) ||
        ((kind == BI_JOB_NATIVE || kind == BI_JOB_SAMPLE) &&
         (!j->plan || !j->weight || !j->codes)) ||
        (kind == BI_JOB_SAMPLE && !j->noise)) {
        bi_fail(err, BIOINFER_NOMEM, "%s: a sequence of %zu residues", e->name, n);
        return NULL;
    }
    jobs->n++;
    jobs->tokens += keeps ? e->n : 1;
    return j;
}

/* Fresh coordinates of `copies` structures with noise; NULL without noise (and *st 0). */
static float *noisy(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e, int copies,
                    enum stream stream, uint32_t sample, int *st, struct bioinfer_error *err)
{
    int atoms = d->model->design->ca_only ? 1 : BI_BACKBONE;
    size_t n = (size_t)e->n, width = d->model->design->ca_only ? 9 : 12;
    float *x, *r;
    float(*moved)[BI_BACKBONE][3];
    *st = 0;
    if (!(d->params.backbone_noise > 0))
        return NULL;
    x = bi_arena_calloc(&jobs->arena, (size_t)copies * n * width, sizeof *x);
    r = bi_calloc(d->env, (size_t)copies * n * (size_t)atoms * 3, sizeof *r);
    moved = bi_calloc(d->env, n, sizeof *moved);
    if (!x || !r || !moved) {
        *st = bi_fail(err, BIOINFER_NOMEM, "%s: noise", e->name);
        x = NULL;
    }
    for (int c = 0; x && c < copies; c++) {
        float *mine = r + (size_t)c * n * (size_t)atoms * 3;
        if (d->random.kind != BI_RNG_NATIVE && !c)
            bi_random_normal(&d->random, r, (size_t)copies * n * (size_t)atoms * 3);
        for (size_t i = 0; d->random.kind == BI_RNG_NATIVE && i < n * (size_t)atoms * 3; i++)
            mine[i] = (float)bi_random_normal_at(&d->random, stream, sample, (uint32_t)i);
        for (size_t i = 0; i < n; i++)
            for (int a = 0; a < atoms; a++)
                for (int k = 0; k < 3; k++) {
                    int atom = atoms == 1 ? BI_CA : a;
                    moved[i][atom][k] = e->backbone[i][atom][k] +
                                        (float)d->params.backbone_noise *
                                            mine[(i * (size_t)atoms + (size_t)a) * 3 + (size_t)k];
                }
        bi_entry_coordinates(e, atoms == 1, (const float(*)[BI_BACKBONE][3])moved,
                             x + (size_t)c * n * width);
    }
    bi_free(d->env, r);
    bi_free(d->env, moved);
    return x;
}

/* The keys |r| of `copies` orders: PyTorch draws them together. */
static int draw_normals(struct bi_design_run *d, struct bi_jobs *jobs, const struct bi_entry *e,
                        int copies, enum stream stream, uint32_t sample, struct bioinfer_error *err)
{
    size_t n = (size_t)e->n * (size_t)copies;
    int st = bi_design_scratch(d, jobs, n, err);
    if (st)
        return st;
    if (d->random.kind != BI_RNG_NATIVE)
        bi_random_normal(&d->random, jobs->normal, n);
    for (size_t i = 0; d->random.kind == BI_RNG_NATIVE && i < n; i++)
        jobs->normal[i] = (float)bi_random_normal_at(&d->random, stream, sample, (uint32_t)i);
    return 0;
}

/* Jobs that decode a known sequence: `copies` orders of one draw, the batch-th of the sequence. */
static int known_jobs(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                      enum bi_job_kind kind, uint32_t sample, int batch, struct bioinfer_error *err)
{
    size_t width = d->model->design->ca_only ? 9 : 12;
    float *x;
    int st = draw_normals(d, jobs, e, d->copies, STREAM_NATIVE_ORDER, sample, err);
    if (st)
        return st;
    x = noisy(d, jobs, e, d->copies, STREAM_NATIVE_NOISE, sample, &st, err);
    for (int c = 0; !st && c < d->copies; c++) {
        struct bi_job *j = new_job(d, jobs, e, kind, err);
        if (!j)
            return BIOINFER_NOMEM;
        j->number = batch * d->copies + c + 1;
        if (x)
            j->x = x + (size_t)c * (size_t)e->n * width;
        sort_order(j->order, jobs->keys, e->walk.open, jobs->normal + (int64_t)c * e->n, e->n);
        if (j->plan)
            make_plan(e, j, NULL, false);
    }
    return st;
}

/* The draws of a batch of samples, step by step. run.py draws one of 20 at every step, also where
 * nothing is decided; ProteinMPNN one of 21 where something runs. */
static void draw_noise(struct bi_design_run *d, struct bi_job *jobs, const struct bi_entry *e,
                       int copies, uint32_t sample, double *row)
{
    const bool always = d->model->design->run_py;
    const int symbols = always ? BI_SYMBOLS - 1 : BI_SYMBOLS;
    for (int64_t t = 0; t < e->n; t++) {
        bool any = always && jobs[0].plan[t].group;
        for (int c = 0; c < copies; c++)
            any |= jobs[c].plan[t].group &&
                   (e->n_ties ? jobs[c].plan[t].runs == 1 : jobs[c].plan[t].runs != 0);
        if (!any)
            continue;
        if (d->random.kind != BI_RNG_NATIVE)
            bi_random_exponential(&d->random, row, (size_t)copies * (size_t)symbols, always);
        for (int c = 0; c < copies; c++)
            for (int k = 0; k < symbols; k++)
                jobs[c].noise[t * BI_SYMBOLS + k] =
                    d->random.kind != BI_RNG_NATIVE
                        ? row[c * symbols + k]
                        : bi_random_exponential_at(
                              &d->random, STREAM_DRAW, sample,
                              (uint32_t)(jobs[c].plan[t].position * BI_SYMBOLS + k));
    }
}

/* One batch of the reference: `copies` sequences at one temperature. */
static int sample_jobs(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                       double temperature, int batch, uint32_t sample, struct bioinfer_error *err)
{
    size_t width = d->model->design->ca_only ? 9 : 12, first = jobs->n;
    int32_t *size = NULL;
    double *row = NULL;
    float *x, *again;
    int st = draw_normals(d, jobs, e, d->copies, STREAM_ORDER, sample, err);
    if (st)
        return st;
    x = noisy(d, jobs, e, d->copies, STREAM_NOISE, sample, &st, err);
    if (st)
        return st;
    row = bi_calloc(d->env, (size_t)d->copies * BI_SYMBOLS, sizeof *row);
    if (e->n_ties)
        size = bi_calloc(d->env, (size_t)e->n, sizeof *size);
    if (!row || (e->n_ties && !size)) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: draws", e->name);
        goto out;
    }
    for (int c = 0; !st && c < d->copies; c++) {
        struct bi_job *j = new_job(d, jobs, e, BI_JOB_SAMPLE, err);
        if (!j) {
            st = BIOINFER_NOMEM;
            break;
        }
        j->temperature = temperature;
        j->number = batch * d->copies + c + 1;
        if (x)
            j->x = x + (size_t)c * (size_t)e->n * width;
        /* tied: the order of the first copy is that of all */
        sort_order(j->order, jobs->keys, e->walk.open,
                   jobs->normal + (e->n_ties ? 0 : (int64_t)c * e->n), e->n);
        if (!size || !(st = tie_order(d, e, j->order, size, err)))
            make_plan(e, j, size, d->model->design->run_py);
    }
    if (st)
        goto out;
    draw_noise(d, jobs->of + first, e, d->copies, sample, row);
    again = noisy(d, jobs, e, d->copies, STREAM_NOISE_AGAIN, sample, &st, err);
    for (int c = 0; again && c < d->copies; c++)
        jobs->of[first + (size_t)c].again = again + (size_t)c * (size_t)e->n * width;
out:
    bi_free(d->env, size);
    bi_free(d->env, row);
    return st;
}

static int condition_jobs(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                          int batch, struct bioinfer_error *err)
{
    float *keys, *x;
    int st = draw_normals(d, jobs, e, 1, STREAM_NATIVE_ORDER, (uint32_t)batch, err);
    if (st)
        return st;
    if (!(keys = bi_arena_calloc(&jobs->arena, (size_t)e->n, sizeof *keys)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: orders", e->name);
    memcpy(keys, jobs->normal, (size_t)e->n * sizeof *keys);
    x = noisy(d, jobs, e, 1, STREAM_NATIVE_NOISE, (uint32_t)batch, &st, err);
    if (st)
        return st;
    for (int64_t i = 0; i < e->n; i++) {
        struct bi_job *j;
        if (bi_is_open(e, i) == 0)
            continue;
        if (!(j = new_job(d, jobs, e, BI_JOB_CONDITION, err)))
            return BIOINFER_NOMEM;
        j->position = (int32_t)i;
        j->keys = keys;
        if (x)
            j->x = x;
        j->number = batch + 1;
    }
    return 0;
}

static int unconditional_jobs(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                              struct bioinfer_error *err)
{
    struct bi_job *j;
    int st;
    const float *x = noisy(d, jobs, e, 1, STREAM_NATIVE_NOISE, 0, &st, err);
    if (st)
        return st;
    if (!(j = new_job(d, jobs, e, BI_JOB_UNCONDITIONAL, err)))
        return BIOINFER_NOMEM;
    if (x)
        j->x = x;
    return 0;
}

/* ---- sequences given ---- */

/* A sequence of the caller's over the tokens, from the first on. */
static int given_codes(struct bi_entry *e, const struct bioinfer_record *r,
                       struct bioinfer_error *err)
{
    static const char letters[] = "ACDEFGHIKLMNPQRSTVWYX";
    int32_t *codes = e->walk.codes;
    int64_t at = 0;
    memcpy(codes, e->codes, (size_t)e->n * sizeof *codes);
    for (size_t i = 0; i < r->length; i++) {
        const char *p = strchr(letters, r->sequence[i]);
        if (r->sequence[i] == '/')
            continue;
        if (!p || !*p)
            return bi_fail(err, BIOINFER_BAD_RESIDUE,
                           "sequence '%.60s': residue %zu is '%c', "
                           "expected one of %s",
                           r->id, i + 1, r->sequence[i], letters);
        if (at == e->n)
            return bi_fail(err, BIOINFER_TOO_LONG,
                           "sequence '%.60s' has more than the %lld "
                           "residues of %s",
                           r->id, (long long)e->n, e->name);
        codes[at++] = (int32_t)(p - letters);
    }
    return 0;
}

/* Reads the next sequence into the walk; walk.done behind the last. */
static int next_sequence(struct bi_design_run *d, struct bi_entry *e, struct bioinfer_error *err)
{
    struct bioinfer_reader_params params = {.struct_size = sizeof params,
                                            .residues = BIOINFER_RESIDUES_CHAINS};
    struct bi_walk *w = &e->walk;
    struct bioinfer_record r = {0};
    int st;
    w->batch = 0;
    if (!d->params.sequences) {
        w->done = true;
        return 0;
    }
    if (!w->codes && !(w->codes = bi_arena_calloc(&e->arena, (size_t)e->n, sizeof *w->codes)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: sequence", e->name);
    if (!w->reader &&
        (st = bi_fasta_open_memory(&w->reader, d->env, d->sequences.name, d->sequences.text,
                                   d->sequences.length, &params, err)))
        return st;
    st = bi_fasta_next(w->reader, &r, err);
    w->done = st == 0;
    if (st <= 0)
        return st;
    if (r.status)
        return bi_fail(err, r.status, "%s", r.message);
    bi_free(d->env, w->sequence);
    if (!(w->sequence = bi_strdup(d->env, r.id)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: sequence", e->name);
    return given_codes(e, &r, err);
}

/* One draw of orders for the sequence of the walk. */
static int score_jobs(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                      struct bioinfer_error *err)
{
    struct bi_walk *w = &e->walk;
    size_t first = jobs->n, size = (size_t)e->n * sizeof *e->codes;
    int32_t *codes = NULL;
    char *name = NULL;
    int st = known_jobs(d, jobs, e, BI_JOB_SCORE, (uint32_t)w->step, w->batch++, err);
    if (st)
        return st;
    if (w->sequence) {
        name = bi_arena_strndup(&jobs->arena, w->sequence, strlen(w->sequence));
        codes = bi_arena_alloc(&jobs->arena, size);
        if (!name || !codes)
            return bi_fail(err, BIOINFER_NOMEM, "%s: sequence", e->name);
        memcpy(codes, w->codes, size);
    }
    for (size_t i = first; codes && i < jobs->n; i++) {
        jobs->of[i].codes = codes;
        jobs->of[i].sequence = name;
    }
    return w->batch == d->n_batches ? next_sequence(d, e, err) : 0;
}

/* ---- the walk through all jobs of a structure ---- */

/* The native sequence first, then those drawn. */
static int design_step(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                       struct bioinfer_error *err)
{
    const struct bi_random before = d->random;
    const uint64_t n = (uint64_t)d->n_batches, i = e->walk.step - 1;
    int st;
    e->walk.done = e->walk.step == n * (uint64_t)d->n_temperatures;
    if (e->walk.step)
        return sample_jobs(d, jobs, e, d->temperatures[i / n], (int)(i % n), (uint32_t)i, err);
    st = known_jobs(d, jobs, e, BI_JOB_NATIVE, 0, 0, err);
    if (d->model->design->run_py) /* it scores no native sequence */
        d->random = before;
    return st;
}

static int step(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                struct bioinfer_error *err)
{
    switch (d->params.mode) {
    case BIOINFER_DESIGN_SCORE:
        return score_jobs(d, jobs, e, err);
    case BIOINFER_DESIGN_CONDITIONAL:
    case BIOINFER_DESIGN_CONDITIONAL_BACKBONE:
        e->walk.done = e->walk.step + 1 == (uint64_t)d->n_batches;
        return condition_jobs(d, jobs, e, (int)e->walk.step, err);
    case BIOINFER_DESIGN_UNCONDITIONAL:
        e->walk.done = true;
        return unconditional_jobs(d, jobs, e, err);
    default:
        return design_step(d, jobs, e, err);
    }
}

static int begin_walk(struct bi_design_run *d, struct bi_entry *e, struct bioinfer_error *err)
{
    struct bi_walk *w = &e->walk;
    if (d->copies * e->n > BI_DESIGN_BATCH_TOKENS)
        return bi_fail(err, BIOINFER_LIMIT,
                       "%s: a batch of %d sequences of %lld residues: those that "
                       "share a draw have at most %d residues together",
                       e->name, d->copies, (long long)e->n, BI_DESIGN_BATCH_TOKENS);
    if (!(w->open = bi_arena_calloc(&e->arena, (size_t)e->n, sizeof *w->open)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: mask", e->name);
    for (int64_t i = 0; i < e->n; i++)
        w->open[i] = bi_is_open(e, i);
    w->begun = true;
    return 0;
}

int bi_design_jobs(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                   struct bioinfer_error *err)
{
    int st = e->walk.begun ? 0 : begin_walk(d, e, err);
    do {
        if (!st && e->walk.step > UINT32_MAX)
            st = bi_fail(err, BIOINFER_LIMIT, "%s: more than %" PRIu32 " draws", e->name,
                         UINT32_MAX);
        if (!st)
            st = step(d, jobs, e, err);
        e->walk.step++;
    } while (!st && !e->walk.done && jobs->tokens < jobs->limit);
    if (st || e->walk.done) /* a window holds thousands of structures */
        bi_fasta_close(&e->walk.reader);
    return st;
}

void bi_walk_end(struct bi_entry *e)
{
    bi_fasta_close(&e->walk.reader);
    bi_free(e->arena.env, e->walk.sequence);
    e->walk = (struct bi_walk){0};
}

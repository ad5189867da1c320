/* align.c - batches of alignments and the public calls.
 *
 * Pairs become codes once. Scores alone go through many(): pairs of similar size in the lanes
 * of one vector; what has no company of its size, and every traceback, goes through strips.
 *
 * On a GPU all scores go through align_gpu.c instead.
 *
 * Sections: aligner, codes, groups, results, run. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "../kernels/cpu/cpu.h"
#include "../loaders/matrix.h"
#include "align_gpu.h"
#include "engine.h"

enum {
    LONG_PAIR = 1 << 27,   /* cells from which a pair gets all threads to itself */
    MOST_LENGTH = 1 << 30, /* residues */
    MOST_OPEN = 1000000,
    SCRATCH = 64 << 20 /* bytes of many() that a group may ask for */
};

/* What one thread hands back: its CIGARs, by pair. */
struct worker {
    struct bi_align_work work;
    struct bi_align_path path;
};

struct bioinfer_aligner {
    struct bioinfer_context *ctx;
    struct bi_matrix matrix;
    struct bi_align_plan plan;
    int32_t scale;
    bool traceback;
    struct worker *workers; /* n_threads */
    uint8_t *codes;
    size_t codes_cap;
    struct bi_align_input *inputs;
    size_t inputs_cap;
    uint32_t *order;
    size_t order_cap;
    uint32_t **cigars; /* one allocation each, freed by the next run */
    size_t n_cigars, cigars_cap;
    char (*messages)[160];
    size_t messages_cap;
    struct bi_align_gpu *gpu; /* NULL: the CPU computes */
    int32_t high;             /* largest score of the matrix */
    int64_t *scores;          /* what the GPU gave, by pair */
    size_t scores_cap;
};

/* ---- aligner ---- */

const char *bioinfer_align_matrix(int index)
{
    return bi_matrix_name(index);
}

static const struct bi_cpu_kernels *find_kernels(const char *mask)
{
    const struct bi_cpu_kernels *k;
    for (int i = 0; (k = bi_cpu_kernels_usable(i)); i++)
        if (!*mask || !strcmp(mask, k->name))
            return k;
    return NULL;
}

static int make_scoring(struct bioinfer_aligner *a, const struct bioinfer_align_params *p,
                        struct bioinfer_error *err)
{
    struct bi_align_scoring s = {.open = 11, .extend = 1, .free_ends = p->free_ends,
                                 .ties = p->ties};
    const int32_t most = BI_MATRIX_SCORE;
    int st;

    a->scale = p->scale ? p->scale : 1;
    if (a->scale < 0 || a->scale > 1000)
        return bi_fail(err, BIOINFER_INVALID, "alignment: scale is %d, expected 1 to 1000",
                       p->scale);
    if (p->matrix) {
        if ((st = bi_matrix_open(&a->matrix, &a->ctx->env, p->matrix, err)))
            return st;
    } else {
        const bool given = p->match || p->mismatch;
        if (p->match < -most || p->match > most || p->mismatch < -most || p->mismatch > most)
            return bi_fail(err, BIOINFER_INVALID,
                           "alignment: match %d and mismatch %d, expected -%d to %d", p->match,
                           p->mismatch, most, most);
        bi_matrix_simple(&a->matrix, given ? p->match : 5, given ? p->mismatch : -4);
    }
    if (p->gap_open || p->gap_extend) {
        s.open = p->gap_open;
        s.extend = p->gap_extend;
    } else {
        s.open *= a->scale;
        s.extend *= a->scale;
    }
    if (s.open < 1 || s.open > MOST_OPEN || s.extend < 0 || s.extend > s.open)
        return bi_fail(err, BIOINFER_INVALID,
                       "alignment: gap_open is %d and gap_extend %d, expected 1 to %d and 0 to "
                       "gap_open", s.open, s.extend, MOST_OPEN);
    if (p->ties < BIOINFER_TIES_PARASAIL || p->ties > BIOINFER_TIES_WFA ||
        p->free_ends > BIOINFER_FREE_ENDS)
        return bi_fail(err, BIOINFER_INVALID, "alignment: ties is %d and free_ends %u", p->ties,
                       p->free_ends);
    s.n_letters = a->matrix.n;
    for (int i = 0; i < s.n_letters; i++)
        for (int j = 0; j < s.n_letters; j++)
            s.score[i][j] = a->matrix.score[i][j] * a->scale;
    a->traceback = p->traceback;
    const struct bi_cpu_kernels *k = find_kernels(a->ctx->cpu_mask);
    if (!k)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "this machine has no '%s' kernels",
                       a->ctx->cpu_mask);
    bi_align_plan_make(&a->plan, &s, k->align);
    a->plan.memory_limit = p->memory_limit ? p->memory_limit : 1u << 30;
    return 0;
}

/* Opens the GPU, where the parameters ask for what it does. */
static int open_gpu(struct bioinfer_aligner *a, const struct bioinfer_align_params *p,
                    const struct bi_backend_ops *ops, int ordinal, struct bioinfer_error *err)
{
    const struct bi_align_scoring *s = &a->plan.scoring;

    if (ops == &bi_backend_reference || ops == &bi_backend_null)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "alignment does not run on device %s",
                       ops->name);
    if (p->traceback)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "alignment on a GPU gives scores alone "
                       "(--score-only); tracebacks are made on the cpu");
    if (p->free_ends & (BIOINFER_FREE_QUERY_END | BIOINFER_FREE_TARGET_END))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "alignment on a GPU is global; free ends are "
                       "computed on the cpu");
    for (int i = 0; i < s->n_letters; i++)
        for (int j = 0; j < s->n_letters; j++)
            a->high = s->score[i][j] > a->high ? s->score[i][j] : a->high;
    if (3 * (int64_t)s->open + a->high > 1 << 24)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "gap costs of %d are too large for a GPU: use "
                       "--device cpu", s->open);
    return bi_align_gpu_open(&a->gpu, &a->ctx->env, ops, ordinal, err);
}

int bioinfer_aligner_new(bioinfer_aligner **out, bioinfer_context *ctx,
                         const struct bioinfer_align_params *params, struct bioinfer_error *err)
{
    return bi_aligner_new_on(out, ctx, params, NULL, err);
}

int bi_aligner_new_on(bioinfer_aligner **out, bioinfer_context *ctx,
                      const struct bioinfer_align_params *params,
                      const struct bi_backend_ops *ops, struct bioinfer_error *err)
{
    struct bioinfer_align_params p = {0};
    struct bioinfer_aligner *a = NULL;
    int st, ordinal = 0;

    if (!out || !ctx)
        return bi_fail(err, BIOINFER_INVALID, "aligner: out and context must be given");
    *out = NULL;
    if ((st = bi_context_check(ctx, err)) ||
        (st = bi_params_copy(&p, sizeof p, params, "align params", err)) ||
        (!ops && (st = bi_backend_find(&ops, &ordinal, p.device, err))))
        return st;
    if (!(a = bi_zalloc(&ctx->env, sizeof *a)))
        return bi_fail(err, BIOINFER_NOMEM, "aligner");
    a->ctx = ctx;
    if (!(a->workers = bi_calloc(&ctx->env, (size_t)ctx->n_threads, sizeof *a->workers))) {
        st = bi_fail(err, BIOINFER_NOMEM, "aligner: %d threads", ctx->n_threads);
        goto out;
    }
    for (int t = 0; t < ctx->n_threads; t++)
        a->workers[t].work.env = a->workers[t].path.env = &ctx->env;
    if ((st = make_scoring(a, &p, err)) ||
        (ops != &bi_backend_cpu && (st = open_gpu(a, &p, ops, ordinal, err))))
        goto out;
    *out = a;
    a = NULL;
out:
    bioinfer_aligner_free(&a);
    return st;
}

static void free_cigars(struct bioinfer_aligner *a)
{
    for (size_t i = 0; i < a->n_cigars; i++)
        bi_free(&a->ctx->env, a->cigars[i]);
    a->n_cigars = 0;
}

void bioinfer_aligner_free(bioinfer_aligner **aligner)
{
    struct bioinfer_aligner *a = aligner ? *aligner : NULL;
    if (!a)
        return;
    for (int t = 0; a->workers && t < a->ctx->n_threads; t++) {
        bi_align_work_free(&a->workers[t].work);
        bi_align_path_free(&a->workers[t].path);
    }
    free_cigars(a);
    bi_align_gpu_close(&a->gpu);
    bi_free(&a->ctx->env, a->scores);
    bi_free(&a->ctx->env, a->workers);
    bi_free(&a->ctx->env, a->codes);
    bi_free(&a->ctx->env, a->inputs);
    bi_free(&a->ctx->env, a->order);
    bi_free(&a->ctx->env, a->cigars);
    bi_free(&a->ctx->env, a->messages);
    bi_free(&a->ctx->env, a);
    *aligner = NULL;
}

int bioinfer_aligner_score(const bioinfer_aligner *a, char query, char target, int *score)
{
    const int q = a->matrix.code[(unsigned char)query];
    const int t = a->matrix.code[(unsigned char)target];
    if (q == BI_MATRIX_NONE || t == BI_MATRIX_NONE)
        return 0;
    *score = a->plan.scoring.score[q][t];
    return 1;
}

/* ---- codes ---- */

static int pair_failed(struct bioinfer_aligner *a, struct bioinfer_alignment *r, size_t i,
                       int status, const char *fmt, ...) BI_PRINTF(5, 6);
static int pair_failed(struct bioinfer_aligner *a, struct bioinfer_alignment *r, size_t i,
                       int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(a->messages[i], sizeof a->messages[i], fmt, args);
    va_end(args);
    r[i].status = status;
    r[i].message = a->messages[i];
    return status;
}

/* One sequence into codes; its status. */
static int encode(struct bioinfer_aligner *a, struct bioinfer_alignment *results, size_t i,
                  const char *side, const char *letters, size_t n, uint8_t *codes)
{
    const uint8_t *code = a->matrix.code;

    if (!n)
        return pair_failed(a, results, i, BIOINFER_EMPTY, "the %s has no residues", side);
    for (size_t k = 0; k < n; k++) {
        const unsigned char c = (unsigned char)letters[k];
        if ((codes[k] = code[c]) == BI_MATRIX_NONE)
            return pair_failed(a, results, i, BIOINFER_BAD_RESIDUE,
                               c > 32 && c < 127 ? "residue %zu of the %s is '%c', which matrix "
                                                   "%.40s has not"
                                                 : "residue %zu of the %s is byte 0x%02x, which "
                                                   "matrix %.40s has not",
                               k + 1, side, c, a->matrix.name);
    }
    return 0;
}

/* The sequence seen last on one side, which neighbouring pairs may share. */
struct kept {
    const char *letters;
    size_t n;
    uint8_t *codes;
    bool good;
};

/* Whether the next sequence is another one. */
static bool take(struct kept *k, const char *letters, size_t n)
{
    if (k->letters == letters && k->n == n && n)
        return false;
    *k = (struct kept){.letters = letters, .n = n};
    return true;
}

static bool too_long(const struct bioinfer_align_pair *p)
{
    return p->query_length > MOST_LENGTH || p->target_length > MOST_LENGTH;
}

/* All pairs into codes. */
static int encode_all(struct bioinfer_aligner *a, const struct bioinfer_align_pair *pairs,
                      size_t n, struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    const struct bi_env *env = &a->ctx->env;
    struct kept q = {0}, t = {0};
    uint64_t size = 0;
    uint8_t *at;

    for (size_t i = 0; i < n; i++) {
        const struct bioinfer_align_pair *p = &pairs[i];
        if ((p->query_length && !p->query) || (p->target_length && !p->target))
            return bi_fail(err, BIOINFER_INVALID, "alignment: pair %zu has no sequences", i);
        if (too_long(p))
            continue;
        size += take(&q, p->query, p->query_length) ? p->query_length : 0;
        size += take(&t, p->target, p->target_length) ? p->target_length : 0;
    }
    /* kernels read whole vectors of codes */
    if (n > UINT32_MAX || !bi_grow(env, &a->codes, &a->codes_cap, size + 64, 1) ||
        !bi_grow(env, &a->inputs, &a->inputs_cap, n + 1, sizeof *a->inputs) ||
        !bi_grow(env, &a->order, &a->order_cap, n + 1, sizeof *a->order) ||
        !bi_grow(env, &a->cigars, &a->cigars_cap, n + 1, sizeof *a->cigars) ||
        !bi_grow(env, &a->messages, &a->messages_cap, n + 1, sizeof *a->messages))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", n);
    at = a->codes;
    q = t = (struct kept){0};
    for (size_t i = 0; i < n; i++) {
        const struct bioinfer_align_pair *p = &pairs[i];
        results[i] = (struct bioinfer_alignment){.message = ""};
        if (too_long(p)) {
            pair_failed(a, results, i, BIOINFER_TOO_LONG, "%zu x %zu residues, at most %d",
                        p->query_length, p->target_length, MOST_LENGTH);
            continue;
        }
        if (take(&q, p->query, p->query_length)) {
            q.codes = at;
            at += q.n;
        }
        if (take(&t, p->target, p->target_length)) {
            t.codes = at;
            at += t.n;
        }
        if (!q.good && !encode(a, results, i, "query", q.letters, q.n, q.codes))
            q.good = true;
        if (!results[i].status && !t.good &&
            !encode(a, results, i, "target", t.letters, t.n, t.codes))
            t.good = true;
        a->inputs[i] = (struct bi_align_input){q.codes, t.codes, (int64_t)q.n, (int64_t)t.n};
    }
    return 0;
}

/* ---- groups: pairs of similar size for many() ---- */

static int by_n(const void *x, const void *y, void *inputs)
{
    const struct bi_align_input *in = inputs;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (in[a].n != in[b].n)
        return in[a].n < in[b].n ? -1 : 1;
    return in[a].m < in[b].m ? -1 : in[a].m > in[b].m ? 1 : a < b ? -1 : 1;
}

static int by_m(const void *x, const void *y, void *inputs)
{
    const struct bi_align_input *in = inputs;
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return in[a].m < in[b].m ? -1 : in[a].m > in[b].m ? 1 : a < b ? -1 : 1;
}

/* Sorts the first n of order: by rows, in pieces of as many groups as there are pieces, and
 * each piece by columns. */
static void sort_pairs(struct bioinfer_aligner *a, size_t n, size_t lanes)
{
    size_t piece = lanes;
    while (piece / lanes * (piece / lanes) * lanes < n)
        piece += lanes;
    qsort_r(a->order, n, sizeof *a->order, by_n, a->inputs);
    for (size_t i = 0; i < n; i += piece)
        qsort_r(a->order + i, n - i < piece ? n - i : piece, sizeof *a->order, by_m, a->inputs);
}

/* Whether so many pairs are worth a many(): their cells against those of the largest. */
static bool is_full(const struct bioinfer_aligner *a, const uint32_t *order, size_t n,
                    size_t *scratch)
{
    const struct bi_align_kernels *k = a->plan.kernels;
    int64_t rows = 0, columns = 0;
    double cells = 0;

    for (size_t i = 0; i < n; i++) {
        const struct bi_align_input *in = &a->inputs[order[i]];
        rows = in->n > rows ? in->n : rows;
        columns = in->m > columns ? in->m : columns;
        cells += (double)in->n * (double)in->m;
    }
    if (!n || columns > SCRATCH || cells < 0.3 * k->lanes * (double)rows * (double)columns)
        return false;
    *scratch = k->many_scratch(rows, columns, a->plan.scoring.n_letters);
    return *scratch <= SCRATCH;
}

static int score_group(struct bioinfer_aligner *a, struct worker *w, const uint32_t *order,
                       size_t n, size_t scratch, struct bioinfer_alignment *results,
                       struct bioinfer_error *err)
{
    const struct bi_align_plan *p = &a->plan;
    struct bi_align_many many = {
        .n_pairs = (int32_t)n,
        .table = p->kernels->bits == 8 ? (const void *)p->table8_t : p->table16_t,
        .letters = p->scoring.n_letters, .open = p->scoring.open, .extend = p->scoring.extend,
        .kind = p->kind, .left = p->left, .top = p->top,
        .free_row = p->scoring.free_ends & BIOINFER_FREE_TARGET_END,
        .free_column = p->scoring.free_ends & BIOINFER_FREE_QUERY_END};
    int st = bi_align_buffer_need(&a->ctx->env, &w->work.scratch, scratch, err);

    if (st)
        return st;
    many.scratch = w->work.scratch.ptr;
    for (size_t l = 0; l < n; l++) {
        const struct bi_align_input *in = &a->inputs[order[l]];
        many.query[l] = in->query;
        many.target[l] = in->target;
        many.n[l] = in->n;
        many.m[l] = in->m;
    }
    p->kernels->many(&many);
    for (size_t l = 0; l < n; l++)
        results[order[l]].score =
            many.score[l] + bi_align_left(&p->scoring, a->inputs[order[l]].n);
    return 0;
}

/* ---- results ---- */

static void count(const struct bioinfer_aligner *a, const struct bi_align_input *in,
                  struct bioinfer_alignment *r)
{
    int64_t i = r->query_begin, j = r->target_begin;

    for (size_t k = 0; k < r->n_cigar; k++) {
        const int64_t n = r->cigar[k] >> 4;
        const int op = r->cigar[k] & 15;
        r->columns += n;
        if (op == BI_CIGAR_I) {
            i += n;
            r->gaps += n;
        } else if (op == BI_CIGAR_D) {
            j += n;
            r->gaps += n;
        } else {
            r->identities += op == BI_CIGAR_EQ ? n : 0;
            for (int64_t x = 0; x < n; x++)
                r->similarities += a->plan.scoring.score[in->query[i + x]][in->target[j + x]] > 0;
            i += n;
            j += n;
        }
    }
}

/* One pair by strips. A failure is the pair's own. */
static void align_pair(struct bioinfer_aligner *a, struct worker *w, size_t i, int n_threads,
                       struct bioinfer_alignment *results)
{
    struct bioinfer_alignment *r = &results[i];
    struct bioinfer_error err = {0};
    struct bi_align_end end = {0};
    struct bi_align_walk begin = {0};
    uint32_t *cigar = NULL;
    bool sparse = false;
    int st;

    w->path.n = 0;
    w->path.failed = false;
    st = bi_align_pair(&a->plan, &w->work, &a->inputs[i], n_threads, &end, &begin,
                       a->traceback ? &w->path : NULL, &sparse, &err);
    if (!st && a->traceback) {
        if ((cigar = bi_calloc(&a->ctx->env, w->path.n + 1, sizeof *cigar)))
            memcpy(cigar, w->path.run, w->path.n * sizeof *cigar);
        else
            st = bi_fail(&err, BIOINFER_NOMEM, "path of an alignment");
    }
    if (st) {
        pair_failed(a, results, i, st, "%s", err.text);
        return;
    }
    r->score = end.score;
    if (!a->traceback)
        return;
    r->query_begin = begin.i;
    r->query_end = end.i;
    r->target_begin = begin.j;
    r->target_end = end.j;
    r->cigar = a->cigars[i] = cigar;
    r->n_cigar = w->path.n;
    r->sparse = sparse;
    count(a, &a->inputs[i], r);
}

/* ---- run ---- */

struct job {
    struct bioinfer_aligner *a;
    struct bioinfer_alignment *results;
    size_t n, group; /* pairs in order, and how many of them a claim takes */
    atomic_size_t next;
};

/* What one thread does: claims of neighbouring pairs, as scores in lanes or one by one. */
static void run_claims(struct job *job, struct worker *w)
{
    struct bioinfer_aligner *a = job->a;
    size_t at;

    while ((at = atomic_fetch_add_explicit(&job->next, job->group, memory_order_relaxed)) <
           job->n) {
        const size_t n = job->n - at < job->group ? job->n - at : job->group;
        const uint32_t *order = a->order + at;
        size_t scratch = 0;
        struct bioinfer_error err;
        /* without memory for the lanes the pairs go one by one, to the same scores */
        if (!a->traceback && a->plan.kernels && is_full(a, order, n, &scratch) &&
            !score_group(a, w, order, n, scratch, job->results, &err))
            continue;
        for (size_t l = 0; l < n; l++)
            align_pair(a, w, order[l], 1, job->results);
    }
}

/* All pairs that are sound, on the GPU. */
static int run_gpu(struct bioinfer_aligner *a, size_t n, struct bioinfer_alignment *results,
                   struct bioinfer_error *err)
{
    const struct bi_align_batch batch = {a->inputs, a->order};
    const int64_t most = 3 * (int64_t)a->plan.scoring.open + a->high;
    size_t n_sound = 0;
    int st;

    if (!bi_grow(&a->ctx->env, &a->scores, &a->scores_cap, n + 1, sizeof *a->scores))
        return bi_fail(err, BIOINFER_NOMEM, "%zu scores", n);
    for (size_t i = 0; i < n; i++) {
        const struct bi_align_input *in = &a->inputs[i];
        if (results[i].status)
            continue;
        if (in->n > BI_ALIGN_GPU_LENGTH || in->m > BI_ALIGN_GPU_LENGTH ||
            (in->n + in->m) * most > BI_ALIGN_GPU_SCORE)
            pair_failed(a, results, i, BIOINFER_LIMIT, "%lld x %lld residues: the score may pass "
                        "32 bits, use --device cpu", (long long)in->n, (long long)in->m);
        else
            a->order[n_sound++] = (uint32_t)i;
    }
    if ((st = bi_align_gpu_run(a->gpu, &a->plan, &batch, n_sound, a->scores, err)))
        return st;
    for (size_t k = 0; k < n_sound; k++)
        results[a->order[k]].score = a->scores[a->order[k]];
    return 0;
}

int bioinfer_aligner_run(bioinfer_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                         struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    struct job job = {.a = a, .results = results};
    int st;

    if (!a || (n && (!pairs || !results)))
        return bi_fail(err, BIOINFER_INVALID, "aligner, pairs and results must be given");
    if ((st = bi_context_check(a->ctx, err)))
        return st;
    free_cigars(a);
    if ((st = encode_all(a, pairs, n, results, err)))
        return st;
    memset(a->cigars, 0, n * sizeof *a->cigars);
    a->n_cigars = n;
    if (a->gpu)
        return run_gpu(a, n, results, err);
    for (size_t i = 0; i < n; i++) {
        const struct bi_align_input *in = &a->inputs[i];
        if (results[i].status)
            continue;
        if (a->ctx->n_threads > 1 && in->n > LONG_PAIR / in->m)
            align_pair(a, &a->workers[0], i, a->ctx->n_threads, results);
        else
            a->order[job.n++] = (uint32_t)i;
    }
    job.group = a->traceback || !a->plan.kernels ? 1 : (size_t)a->plan.kernels->lanes;
    if (job.group > 1)
        sort_pairs(a, job.n, job.group);
    const size_t claims = (job.n + job.group - 1) / job.group;
    const int n_threads = claims < (size_t)a->ctx->n_threads ? (int)claims : a->ctx->n_threads;
    if (n_threads == 1)
        run_claims(&job, &a->workers[0]);
    if (n_threads > 1) {
#pragma omp parallel num_threads(n_threads)
        run_claims(&job, &a->workers[omp_get_thread_num()]);
    }
    return 0;
}

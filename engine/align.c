/* align.c - batches of alignments and the public calls.
 *
 * Pairs become codes once. They go through many(): pairs of similar size in the lanes of one
 * vector, with flags for tracebacks where these are not too many; what has no company of its size,
 * and long pairs, go through strips.
 *
 * On a GPU all of them go through align_gpu.c instead.
 *
 * Sections: aligner, codes, groups, results, CPU, GPU, run. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/buf.h"
#include "../base/team.h"
#include "../kernels/cpu/cpu.h"
#include "../loaders/matrix.h"
#include "align_gpu.h"
#include "engine.h"

enum {
    LONG_PAIR = 1 << 27,   /* cells from which a pair gets all threads to itself */
    MOST_LENGTH = 1 << 30, /* residues */
    MOST_SCORE = 10000000, /* of match and mismatch: 10000, in thousandths; */
    MOST_OPEN = 2 * MOST_SCORE,
    SCRATCH = 64 << 20,    /* bytes of many() that a group may ask for, */
    FLAGS = 12 << 20,      /* and of its flags, which should stay in a cache */
    LEAST_PAIRS = 1 << 13, /* of a batch for a GPU, where there are more to follow */
    SHARED_WORK = 1 << 15, /* residues from which several threads encode them */
    AHEAD = 8,             /* sequences on their way to the cache */
    FEEDERS = 4 /* threads that encode scores' pairs as fast as a GPU takes them: more would keep
                 * cores from those who read and write files beside them */
};

/* What one thread hands back: its CIGARs, by pair. */
struct worker {
    struct bi_align_work work;
    struct bi_align_path path;
};

/* Codes of a sequence; bad when a letter is not in the alphabet. */
struct sequence {
    const char *letters;
    size_t n;
    uint8_t *codes;
    bool target; /* or a query */
    bool bad;
};

struct bioinfer_aligner {
    struct bioinfer_context *ctx;
    struct bi_matrix matrix;
    struct bi_align_plan plan;
    const struct bi_align_kernels *coders; /* whose encode() is used */
    int n_feeders;
    uint32_t used;       /* a bit for each code of the pairs encoded last */
    int32_t scale, unit; /* unit: what scores are multiplied by after all, their common divisor */
    bool traceback;
    struct worker *workers; /* n_threads */
    uint8_t *codes;
    size_t codes_cap;
    struct bi_align_input *inputs;
    size_t inputs_cap;
    uint32_t *order; /* of places, as the CPU takes them */
    uint32_t *pair;  /* by place: which pair's inputs these are */
    uint32_t *sides; /* by place: two sequences */
    size_t order_cap, pair_cap, sides_cap;
    struct sequence *sequences;
    size_t n_sequences, sequences_cap;
    uint32_t **cigars; /* one allocation each, freed by the next run */
    size_t n_cigars, cigars_cap;
    char (*messages)[160];
    size_t messages_cap;
    struct bi_align_gpu *gpu; /* NULL: the CPU computes */
    int32_t high;             /* largest score of the matrix */
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

static int32_t divisor(int32_t a, int32_t b)
{
    while (b) {
        const int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Divides all costs by what divides them all, as narrow numbers are fast; returns it. */
static int32_t reduce(struct bi_align_scoring *s)
{
    int32_t unit = divisor(s->open, s->extend);

    for (int i = 0; i < s->n_letters; i++)
        for (int j = 0; j < s->n_letters; j++)
            unit = divisor(unit, s->score[i][j]);
    if (unit < 2)
        return 1;
    for (int i = 0; i < s->n_letters; i++)
        for (int j = 0; j < s->n_letters; j++)
            s->score[i][j] /= unit;
    s->open /= unit;
    s->extend /= unit;
    return unit;
}

static int check_costs(const struct bioinfer_align_params *p, const struct bi_align_scoring *s,
                       struct bioinfer_error *err)
{
    if (p->free_gaps && (p->gap_open || p->gap_extend))
        return bi_fail(err, BIOINFER_INVALID,
                       "alignment: free_gaps with gap_open %d and "
                       "gap_extend %d, expected 0",
                       p->gap_open, p->gap_extend);
    if (s->open < 0 || s->open > MOST_OPEN || s->extend < 0)
        return bi_fail(err, BIOINFER_INVALID,
                       "alignment: gap_open is %d and gap_extend %d, expected 0 to %d", s->open,
                       s->extend, MOST_OPEN);
    if (s->extend > s->open)
        return bi_fail(err, BIOINFER_INVALID,
                       "alignment: gap_extend is %d, expected at most gap_open, %d: a gap would "
                       "cost more than two side by side",
                       s->extend, s->open);
    return 0;
}

static int make_scoring(struct bioinfer_aligner *a, const struct bioinfer_align_params *p,
                        struct bioinfer_error *err)
{
    struct bi_align_scoring s = {
        .open = 11, .extend = 1, .free_ends = p->free_ends, .ties = p->ties};
    int32_t most;
    int st;

    a->scale = p->scale ? p->scale : 1;
    if (a->scale < 0 || a->scale > 1000)
        return bi_fail(err, BIOINFER_INVALID, "alignment: scale is %d, expected 1 to 1000",
                       p->scale);
    most = MOST_SCORE / a->scale;
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
    if (p->gap_open || p->gap_extend || p->free_gaps) {
        s.open = p->gap_open;
        s.extend = p->gap_extend;
    } else {
        s.open *= a->scale;
        s.extend *= a->scale;
    }
    if ((st = check_costs(p, &s, err)))
        return st;
    if (p->ties < BIOINFER_TIES_PARASAIL || p->ties > BIOINFER_TIES_WFA ||
        p->free_ends > BIOINFER_FREE_ENDS)
        return bi_fail(err, BIOINFER_INVALID, "alignment: ties is %d and free_ends %u", p->ties,
                       p->free_ends);
    s.n_letters = a->matrix.n;
    for (int i = 0; i < s.n_letters; i++)
        for (int j = 0; j < s.n_letters; j++)
            s.score[i][j] = a->matrix.score[i][j] * a->scale;
    a->unit = reduce(&s);
    a->traceback = p->traceback;
    const struct bi_cpu_kernels *k = find_kernels(a->ctx->cpu_mask);
    if (!k)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "this machine has no '%s' kernels",
                       a->ctx->cpu_mask);
    bi_align_plan_make(&a->plan, &s, k->align);
    a->coders = k->align(8);
    a->n_feeders = a->ctx->n_threads;
    a->plan.memory_limit = p->memory_limit ? p->memory_limit : 1u << 30;
    return 0;
}

static int32_t high_score(const struct bi_align_scoring *s)
{
    int32_t high = 0;

    for (int i = 0; i < s->n_letters; i++)
        for (int j = 0; j < s->n_letters; j++)
            high = s->score[i][j] > high ? s->score[i][j] : high;
    return high;
}

/* Once for every aligner: a decimal too many can cost a factor of 40. */
static void say_width(const struct bioinfer_aligner *a)
{
    const struct bi_align_scoring *s = &a->plan.scoring;
    const struct bi_align_kernels *k = a->plan.kernels;

    if (a->gpu && !bi_align_gpu_is_narrow(a->gpu))
        bi_log(&a->ctx->env, BIOINFER_LOG_WARNING,
               "these costs need numbers of 32 bits, which "
               "takes several times as long as 16: in their common unit, every score and two "
               "gap_extend together must be -128 to 127, gap_open at most 4000; costs of fewer "
               "digits avoid it");
    if (!a->gpu && (!k || k->bits > 8))
        bi_log(&a->ctx->env, BIOINFER_LOG_WARNING,
               "these costs need numbers of %d bits, which "
               "takes %s as long as 8: in their common unit, three gap_open and the largest score "
               "are %lld together, expected at most 255; costs of fewer digits avoid it",
               k ? 16 : 64, k ? "several times" : "tens of times",
               3 * (long long)s->open + high_score(s));
}

/* Opens the GPU, where the parameters ask for what it does. */
static int open_gpu(struct bioinfer_aligner *a, const struct bioinfer_align_params *p,
                    const struct bi_backend_ops *ops, int ordinal, struct bioinfer_error *err)
{
    const struct bi_align_scoring *s = &a->plan.scoring;

    if (ops == &bi_backend_reference || ops == &bi_backend_null)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "alignment does not run on device %s", ops->name);
    a->high = high_score(s);
    if (3 * (int64_t)s->open + a->high > 1 << 24)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "costs of so many digits are too large for a "
                       "GPU: use --device cpu");
    if (!a->traceback && a->n_feeders > FEEDERS) /* paths take more than codes do */
        a->n_feeders = FEEDERS;
    return bi_align_gpu_open(&a->gpu, &a->ctx->env, ops, ordinal, &a->plan, a->traceback, err);
}

int bioinfer_aligner_new(bioinfer_aligner **out, bioinfer_context *ctx,
                         const struct bioinfer_align_params *params, struct bioinfer_error *err)
{
    return bi_aligner_new_on(out, ctx, params, NULL, err);
}

int bi_aligner_new_on(bioinfer_aligner **out, bioinfer_context *ctx,
                      const struct bioinfer_align_params *params, const struct bi_backend_ops *ops,
                      struct bioinfer_error *err)
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
    say_width(a);
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
    bi_free(&a->ctx->env, a->pair);
    bi_free(&a->ctx->env, a->sides);
    bi_free(&a->ctx->env, a->sequences);
    bi_free(&a->ctx->env, a->workers);
    bi_free(&a->ctx->env, a->codes);
    bi_free(&a->ctx->env, a->inputs);
    bi_free(&a->ctx->env, a->order);
    bi_free(&a->ctx->env, a->cigars);
    bi_free(&a->ctx->env, a->messages);
    bi_free(&a->ctx->env, a);
    *aligner = NULL;
}

void bioinfer_aligner_set_profile(bioinfer_aligner *a, int on)
{
    if (a->gpu)
        bi_align_gpu_set_profile(a->gpu, on != 0);
}

int bioinfer_aligner_get_profile(bioinfer_aligner *a, struct bioinfer_align_profile *profile)
{
    struct bioinfer_align_profile p = {0};
    const size_t size = profile->struct_size;

    if (size < sizeof profile->struct_size)
        return BIOINFER_INVALID;
    if (a->gpu)
        bi_align_gpu_get_profile(a->gpu, &p);
    p.struct_size = size;
    memcpy(profile, &p, size < sizeof p ? size : sizeof p);
    return 0;
}

int bioinfer_aligner_score(const bioinfer_aligner *a, char query, char target, int *score)
{
    const int q = a->matrix.code[(unsigned char)query];
    const int t = a->matrix.code[(unsigned char)target];
    if (q == BI_MATRIX_NONE || t == BI_MATRIX_NONE)
        return 0;
    *score = a->plan.scoring.score[q][t] * a->unit;
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

struct encoding {
    struct bioinfer_aligner *a;
    atomic_size_t next;
    _Atomic uint32_t queries, targets; /* codes that each side uses */
};

static void encode_some(void *user, const struct bi_share *share)
{
    enum { CLAIM = 64 };
    struct encoding *e = user;
    struct bioinfer_aligner *a = e->a;
    struct bi_align_coder query = {.code = a->matrix.code}, target;
    size_t k;

    (void)share;
    memset(query.met, BI_ALIGN_NO_CODE, sizeof query.met);
    target = query;
    while ((k = atomic_fetch_add_explicit(&e->next, CLAIM, memory_order_relaxed)) < a->n_sequences)
        for (const size_t end = k + CLAIM; k < end && k < a->n_sequences; k++) {
            struct sequence *s = &a->sequences[k];
            if (k + AHEAD < a->n_sequences) /* short ones lie all over the caller's memory */
                __builtin_prefetch(a->sequences[k + AHEAD].letters);
            s->bad = !a->coders->encode(s->target ? &target : &query, s->letters, s->n, s->codes);
        }
    atomic_fetch_or(&e->queries, query.used);
    atomic_fetch_or(&e->targets, target.used);
}

/* All listed sequences, on some threads; returns the codes that targets use. */
static uint32_t encode(struct bioinfer_aligner *a, bool shared)
{
    struct encoding e = {.a = a};

    bi_team_run(&a->ctx->env, shared ? a->n_feeders : 1, encode_some, &e);
    a->used = e.queries | e.targets;
    return e.targets;
}

/* Says which letter of a bad sequence it is. */
static void say_bad(struct bioinfer_aligner *a, struct bioinfer_alignment *results, size_t i,
                    const char *side, const struct sequence *s)
{
    size_t k = 0;

    while (a->matrix.code[(unsigned char)s->letters[k]] != BI_MATRIX_NONE)
        k++;
    const unsigned char c = (unsigned char)s->letters[k];
    if (!a->matrix.name[0])
        pair_failed(a, results, i, BIOINFER_BAD_RESIDUE,
                    c > 32 && c < 127 ? "residue %zu of the %s is '%c', no nucleotide: match and "
                                        "mismatch are of these; proteins take a matrix"
                                      : "residue %zu of the %s is byte 0x%02x",
                    k + 1, side, c);
    else
        pair_failed(a, results, i, BIOINFER_BAD_RESIDUE,
                    c > 32 && c < 127 ? "residue %zu of the %s is '%c', which matrix %.40s has not"
                                      : "residue %zu of the %s is byte 0x%02x, which matrix %.40s "
                                        "has not",
                    k + 1, side, c, a->matrix.name);
}

/* The place of a sequence in the list, which neighbouring pairs on one side may share. */
static uint32_t list_sequence(struct bioinfer_aligner *a, uint32_t last, const char *letters,
                              size_t n, bool target)
{
    struct sequence *s = a->sequences + last;

    if (last != UINT32_MAX && s->letters == letters && s->n == n)
        return last;
    a->sequences[a->n_sequences] = (struct sequence){.letters = letters, .n = n, .target = target};
    return (uint32_t)a->n_sequences++;
}

/* Whether a pair is within what GPU kernels compute; else its status. */
static bool within(struct bioinfer_aligner *a, size_t i, const struct bioinfer_align_pair *p,
                   struct bioinfer_alignment *results)
{
    const int64_t most = 3 * (int64_t)a->plan.scoring.open + a->high;
    const struct bi_align_input in = {.n = (int64_t)p->query_length,
                                      .m = (int64_t)p->target_length};
    uint64_t least;

    if (in.n > BI_ALIGN_GPU_LENGTH || in.m > BI_ALIGN_GPU_LENGTH ||
        (in.n + in.m) * most > BI_ALIGN_GPU_SCORE) {
        pair_failed(a, results, i, BIOINFER_LIMIT,
                    "%lld x %lld residues: the score may pass "
                    "32 bits, use --device cpu",
                    (long long)in.n, (long long)in.m);
        return false;
    }
    if (a->traceback && (least = bi_align_gpu_least(a->gpu, &in)) > a->plan.memory_limit) {
        pair_failed(a, results, i, BIOINFER_LIMIT,
                    "the traceback of %lld x %lld residues needs %llu MiB, the limit is %llu; "
                    "--device cpu needs less",
                    (long long)in.n, (long long)in.m, (unsigned long long)(least >> 20),
                    (unsigned long long)(a->plan.memory_limit >> 20));
        return false;
    }
    return true;
}

/* Lists the sequences of pairs [first, first + n) and the pairs that are to be aligned: pair and
 * inputs from `first` on, *n_sound of them. *size: bytes of codes. */
static int list_pairs(struct bioinfer_aligner *a, const struct bioinfer_align_pair *pairs,
                      size_t first, size_t n, struct bioinfer_alignment *results, size_t *n_sound,
                      uint64_t *size, struct bioinfer_error *err)
{
    const struct bi_env *env = &a->ctx->env;
    uint32_t q = UINT32_MAX, t = UINT32_MAX;

    if (!bi_grow(env, &a->sequences, &a->sequences_cap, 2 * n + 2, sizeof *a->sequences))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", n);
    a->n_sequences = 0;
    *n_sound = 0;
    for (size_t i = first; i < first + n; i++) {
        const struct bioinfer_align_pair *p = &pairs[i];
        const size_t k = first + *n_sound;
        results[i] = (struct bioinfer_alignment){.message = ""};
        if ((p->query_length && !p->query) || (p->target_length && !p->target))
            return bi_fail(err, BIOINFER_INVALID, "alignment: pair %zu has no sequences", i);
        if (p->query_length > MOST_LENGTH || p->target_length > MOST_LENGTH) {
            pair_failed(a, results, i, BIOINFER_TOO_LONG, "%zu x %zu residues, at most %d",
                        p->query_length, p->target_length, MOST_LENGTH);
            continue;
        }
        if (!p->query_length || !p->target_length) {
            pair_failed(a, results, i, BIOINFER_EMPTY, "the %s has no residues",
                        p->query_length ? "target" : "query");
            continue;
        }
        if (a->gpu && !within(a, i, p, results))
            continue;
        q = list_sequence(a, q, p->query, p->query_length, false);
        t = list_sequence(a, t, p->target, p->target_length, true);
        a->sides[2 * k] = q;
        a->sides[2 * k + 1] = t;
        a->pair[k] = (uint32_t)i;
        a->inputs[k] = (struct bi_align_input){.n = (int64_t)p->query_length,
                                               .m = (int64_t)p->target_length};
        ++*n_sound;
    }
    *size = 0;
    for (size_t k = 0; k < a->n_sequences; k++)
        *size += a->sequences[k].n;
    return 0;
}

/* Encodes what list_pairs() listed, into `codes`. Pairs with bad letters get their status, and
 * codes all the same. Returns the codes that targets use. */
static uint32_t encode_pairs(struct bioinfer_aligner *a, size_t first, size_t n, uint8_t *codes,
                             struct bioinfer_alignment *results)
{
    const size_t n_sequences = a->n_sequences;
    const uint8_t *const first_code = codes;
    uint32_t used;
    bool bad = false;

    for (size_t k = 0; k < n_sequences; k++) {
        a->sequences[k].codes = codes;
        codes += a->sequences[k].n;
    }
    used = encode(a, codes - first_code > SHARED_WORK);
    for (size_t k = first; k < first + n; k++) {
        const struct sequence *q = &a->sequences[a->sides[2 * k]];
        const struct sequence *t = &a->sequences[a->sides[2 * k + 1]];
        a->inputs[k].query = q->codes;
        a->inputs[k].target = t->codes;
        bad |= q->bad | t->bad;
    }
    for (size_t k = first; bad && k < first + n; k++) {
        const struct sequence *q = &a->sequences[a->sides[2 * k]];
        const struct sequence *t = &a->sequences[a->sides[2 * k + 1]];
        if (q->bad || t->bad)
            say_bad(a, results, a->pair[k], q->bad ? "query" : "target", q->bad ? q : t);
    }
    return used;
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

/* Sorts n pairs: by rows, in pieces of as many groups as there are pieces, and each piece by
 * columns. */
static void sort_pairs(struct bioinfer_aligner *a, uint32_t *order, size_t n, size_t lanes)
{
    size_t piece = lanes;
    while (piece / lanes * (piece / lanes) * lanes < n)
        piece += lanes;
    qsort_r(order, n, sizeof *order, by_n, a->inputs);
    for (size_t i = 0; i < n; i += piece)
        qsort_r(order + i, n - i < piece ? n - i : piece, sizeof *order, by_m, a->inputs);
}

/* What a many() of some pairs takes. */
struct many_size {
    size_t scratch;
    int64_t rows, columns; /* of the flags */
};

static int64_t whole(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

/* Whether so many pairs are worth a many(): their cells against those of the largest. */
static bool is_full(const struct bioinfer_aligner *a, const uint32_t *order, size_t n,
                    struct many_size *size)
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
    size->rows = whole(rows, BI_ALIGN_BLOCK);
    size->columns = whole(columns, k->columns);
    if (a->traceback &&
        (a->plan.scoring.free_ends & (BIOINFER_FREE_QUERY_END | BIOINFER_FREE_TARGET_END) ||
         size->rows > FLAGS / k->lanes / size->columns))
        return false;
    size->scratch = k->many_scratch(rows, columns, a->plan.scoring.n_letters);
    return size->scratch <= SCRATCH;
}

static int score_group(struct bioinfer_aligner *a, struct worker *w, const uint32_t *order,
                       size_t n, const struct many_size *size, struct bi_align_many *many,
                       struct bioinfer_error *err)
{
    const struct bi_align_plan *p = &a->plan;
    const struct bi_env *env = &a->ctx->env;
    const uint64_t flags = a->traceback ? (uint64_t)(size->rows * size->columns * p->kernels->lanes)
                                        : 0;
    int st;

    *many = (struct bi_align_many){.n_pairs = (int32_t)n,
                                   .table = p->kernels->bits == 8 ? (const void *)p->table8_t
                                                                  : p->table16_t,
                                   .symmetric = p->symmetric,
                                   .letters = p->scoring.n_letters,
                                   .used = a->used,
                                   .open = p->scoring.open,
                                   .extend = p->scoring.extend,
                                   .kind = p->kind,
                                   .left = p->left,
                                   .top = p->top,
                                   .free_row = p->scoring.free_ends & BIOINFER_FREE_TARGET_END,
                                   .free_column = p->scoring.free_ends & BIOINFER_FREE_QUERY_END};
    if ((st = bi_align_buffer_need(env, &w->work.scratch, size->scratch, err)) ||
        (st = bi_align_buffer_need(env, &w->work.flags, flags, err)))
        return st;
    many->scratch = w->work.scratch.ptr;
    many->flags = flags ? w->work.flags.ptr : NULL;
    for (size_t l = 0; l < n; l++) {
        const struct bi_align_input *in = &a->inputs[order[l]];
        many->query[l] = in->query;
        many->target[l] = in->target;
        many->n[l] = in->n;
        many->m[l] = in->m;
    }
    p->kernels->many(many);
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

/* The path of the worker as the result of place i. */
static int put_path(struct bioinfer_aligner *a, size_t i, const struct worker *w,
                    const struct bi_align_walk *begin, const struct bi_align_end *end, bool sparse,
                    struct bioinfer_alignment *r, struct bioinfer_error *err)
{
    uint32_t *cigar = bi_calloc(&a->ctx->env, w->path.n + 1, sizeof *cigar);

    if (!cigar)
        return bi_fail(err, BIOINFER_NOMEM, "path of an alignment");
    if (w->path.n) /* a path of nothing has no memory */
        memcpy(cigar, w->path.run, w->path.n * sizeof *cigar);
    r->query_begin = begin->i;
    r->query_end = end->i;
    r->target_begin = begin->j;
    r->target_end = end->j;
    r->cigar = a->cigars[i] = cigar;
    r->n_cigar = w->path.n;
    r->sparse = sparse;
    count(a, &a->inputs[i], r);
    return 0;
}

/* One pair by strips. A failure is the pair's own. */
static void align_pair(struct bioinfer_aligner *a, struct worker *w, size_t i, int n_threads,
                       struct bioinfer_alignment *results)
{
    struct bioinfer_alignment *r = &results[a->pair[i]];
    struct bioinfer_error err = {0};
    struct bi_align_end end = {0};
    struct bi_align_walk begin = {0};
    bool sparse = false;
    int st;

    w->path.n = 0;
    w->path.failed = false;
    st = bi_align_pair(&a->plan, &w->work, &a->inputs[i], n_threads, &end, &begin,
                       a->traceback ? &w->path : NULL, &sparse, &err);
    if (!st)
        r->score = end.score * a->unit;
    if (!st && a->traceback)
        st = put_path(a, i, w, &begin, &end, sparse, r, &err);
    if (st)
        pair_failed(a, results, a->pair[i], st, "%s", err.text);
}

/* What many() found for lane l. */
static void put_one(struct bioinfer_aligner *a, struct worker *w, size_t i,
                    const struct bi_align_many *many, int l, const struct many_size *size,
                    struct bioinfer_alignment *results)
{
    const struct bi_align_scoring *s = &a->plan.scoring;
    const struct bi_align_input *in = &a->inputs[i];
    const int64_t lanes = a->plan.kernels->lanes, row = size->columns * lanes;
    struct bioinfer_alignment *r = &results[a->pair[i]];
    struct bi_align_walk walk = {.i = in->n, .j = in->m};
    const struct bi_align_end end = bi_align_or_nothing(
        s, in->n, in->m,
        (struct bi_align_end){many->score[l] + bi_align_left(s, in->n), in->n, in->m});
    struct bioinfer_error err = {0};
    int64_t corner; /* of cell (0, 0), in front of the first */
    int st;

    r->score = end.score * a->unit;
    if (!a->traceback)
        return;
    corner = (size->rows - in->n - 1) * row + (size->columns - in->m - 1) * lanes + l;
    w->path.n = 0;
    w->path.failed = false;
    while (walk.i && walk.j)
        bi_align_step(s, in, many->flags[corner + walk.i * row + walk.j * lanes], &walk, &w->path);
    bi_align_border(s, &walk, &w->path);
    bi_align_path_finish(&w->path);
    st = w->path.failed ? bi_fail(&err, BIOINFER_NOMEM, "path of an alignment")
                        : put_path(a, i, w, &walk, &end, false, r, &err);
    if (st)
        pair_failed(a, results, a->pair[i], st, "%s", err.text);
}

/* ---- CPU ---- */

struct job {
    struct bioinfer_aligner *a;
    struct bioinfer_alignment *results;
    uint32_t *order;
    size_t n, group; /* pairs in order, and how many of them a claim takes */
    atomic_size_t next;
};

/* What one thread does: claims of neighbouring pairs, as scores in lanes or one by one. */
static void run_claims(void *user, const struct bi_share *share)
{
    struct job *job = user;
    struct bioinfer_aligner *a = job->a;
    struct worker *w = &a->workers[share->thread];
    size_t at;

    while ((at = atomic_fetch_add_explicit(&job->next, job->group, memory_order_relaxed)) <
           job->n) {
        const size_t n = job->n - at < job->group ? job->n - at : job->group;
        const uint32_t *order = job->order + at;
        struct many_size size;
        struct bi_align_many many;
        struct bioinfer_error err;
        /* without memory for the lanes the pairs go one by one, to the same results */
        const bool together = a->plan.kernels && is_full(a, order, n, &size) &&
                              !score_group(a, w, order, n, &size, &many, &err);
        for (size_t l = 0; l < n; l++)
            if (together)
                put_one(a, w, order[l], &many, (int)l, &size, job->results);
            else
                align_pair(a, w, order[l], 1, job->results);
    }
}

/* The first n of order from `from` on, a claim of `group` at a time, on all threads. */
static void run_job(struct bioinfer_aligner *a, size_t from, size_t n, size_t group,
                    struct bioinfer_alignment *results)
{
    struct job job = {.a = a, .results = results, .order = a->order + from, .n = n, .group = group};
    const size_t claims = (n + group - 1) / group;
    const int n_threads = claims < (size_t)a->ctx->n_threads ? (int)claims : a->ctx->n_threads;

    if (group > 1)
        sort_pairs(a, job.order, n, group);
    if (n)
        bi_team_run(&a->ctx->env, n_threads, run_claims, &job);
}

static int run_cpu(struct bioinfer_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                   struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    const int64_t lanes = a->plan.kernels ? a->plan.kernels->lanes : 1;
    size_t n_sound, n_grouped = 0, n_single = 0;
    uint64_t size;
    int st;

    if ((st = list_pairs(a, pairs, 0, n, results, &n_sound, &size, err)))
        return st;
    /* kernels read whole vectors of codes */
    if (!bi_grow(&a->ctx->env, &a->codes, &a->codes_cap, size + 64, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", n);
    encode_pairs(a, 0, n_sound, a->codes, results);
    for (size_t i = 0; i < n_sound; i++) { /* single ones from the end of order on */
        const struct bi_align_input *in = &a->inputs[i];
        if (results[a->pair[i]].status)
            continue;
        if (a->ctx->n_threads > 1 && in->n > LONG_PAIR / in->m)
            align_pair(a, &a->workers[0], i, a->ctx->n_threads, results);
        else if (lanes == 1 || (a->traceback && in->n > FLAGS / lanes / in->m))
            a->order[n_sound - ++n_single] = (uint32_t)i;
        else
            a->order[n_grouped++] = (uint32_t)i;
    }
    run_job(a, 0, n_grouped, (size_t)lanes, results);
    run_job(a, n_sound - n_single, n_single, 1, results);
    return 0;
}

/* ---- GPU: batches, two on their way at once ---- */

struct part { /* pairs of one batch; the first n_sound places are theirs */
    size_t first, n, n_sound;
};

/* So many pairs from `first` on are one batch: a quarter of a small call, so that a batch is made
 * while another is computed. */
static size_t part_size(const struct bioinfer_aligner *a, const struct bioinfer_align_pair *pairs,
                        size_t first, size_t n)
{
    const size_t quarter = n / 4 > LEAST_PAIRS ? n / 4 : LEAST_PAIRS;
    const size_t most = quarter < BI_ALIGN_GPU_PAIRS ? quarter : BI_ALIGN_GPU_PAIRS;
    uint64_t residues = 0, cost = 0;
    size_t i = first;

    for (; i < n && i - first < most; i++) {
        const struct bi_align_input in = {.n = (int64_t)pairs[i].query_length,
                                          .m = (int64_t)pairs[i].target_length};
        if (in.n < 1 || in.m < 1 || in.n > BI_ALIGN_GPU_LENGTH || in.m > BI_ALIGN_GPU_LENGTH)
            continue; /* no codes are made of it */
        residues += (uint64_t)(in.n + in.m);
        cost += bi_align_gpu_cost(a->gpu, &in);
        if (i > first && (residues > BI_ALIGN_GPU_RESIDUES || cost > bi_align_gpu_budget(a->gpu)))
            break;
    }
    return i - first;
}

static int start_part(struct bioinfer_aligner *a, const struct bioinfer_align_pair *pairs, int slot,
                      struct part *part, struct bioinfer_alignment *results,
                      struct bioinfer_error *err)
{
    uint64_t size;
    uint8_t *codes;
    uint32_t used;
    int st;

    if ((st = list_pairs(a, pairs, part->first, part->n, results, &part->n_sound, &size, err)) ||
        !part->n_sound)
        return st;
    if ((st = bi_align_gpu_begin(a->gpu, slot, a->inputs + part->first, part->n_sound, size, &codes,
                                 err)))
        return st;
    used = encode_pairs(a, part->first, part->n_sound, codes, results);
    return bi_align_gpu_submit(a->gpu, slot, a->inputs + part->first, used, err);
}

struct finish {
    struct bioinfer_aligner *a;
    int slot;
    const struct part *part;
    struct bioinfer_alignment *results;
};

static void finish_pairs(void *user, int thread, int64_t first, int64_t end_pair)
{
    const struct finish *f = user;
    struct bioinfer_aligner *a = f->a;
    struct worker *w = &a->workers[thread];

    for (size_t k = (size_t)first; k < (size_t)end_pair; k++) {
        const size_t i = f->part->first + k;
        struct bioinfer_alignment *r = &f->results[a->pair[i]];
        const struct bi_align_end end = bi_align_gpu_end(a->gpu, f->slot, k, &a->inputs[i]);
        struct bi_align_walk begin = {0};
        struct bioinfer_error why = {0};
        bool sparse;
        if (r->status)
            continue;
        r->score = end.score * a->unit;
        if (!a->traceback)
            continue;
        w->path.n = 0;
        w->path.failed = false;
        bi_align_gpu_path(a->gpu, f->slot, k, &a->inputs[i], &begin, &w->path, &sparse);
        int failed = w->path.failed ? bi_fail(&why, BIOINFER_NOMEM, "path of an alignment")
                                    : put_path(a, i, w, &begin, &end, sparse, r, &why);
        if (failed)
            pair_failed(a, f->results, a->pair[i], failed, "%s", why.text);
    }
}

static int finish_part(struct bioinfer_aligner *a, int slot, const struct part *part,
                       struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    struct finish finish = {a, slot, part, results};
    const size_t n = part->n_sound;
    int st;

    if (!n)
        return 0;
    if ((st = bi_align_gpu_wait(a->gpu, slot, err)))
        return st;
    bi_team_for(&a->ctx->env, n > (a->traceback ? 64 : 4096) ? a->n_feeders : 1, (int64_t)n, 256,
                finish_pairs, &finish);
    return 0;
}

static int run_gpu(struct bioinfer_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                   struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    struct part parts[BI_SLOTS] = {{0}};
    size_t first = 0;
    int slot = 0, st = 0;

    while (!st && (first < n || parts[slot ^ 1].n)) {
        parts[slot] = (struct part){.first = first};
        if (first < n) {
            parts[slot].n = part_size(a, pairs, first, n);
            st = start_part(a, pairs, slot, &parts[slot], results, err);
            first += parts[slot].n;
        }
        if (!st && parts[slot ^ 1].n)
            st = finish_part(a, slot ^ 1, &parts[slot ^ 1], results, err);
        slot ^= 1;
    }
    if (st) /* the other batch may be on its way */
        bi_align_gpu_drain(a->gpu);
    return st;
}

/* ---- run ---- */

int bioinfer_aligner_run(bioinfer_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                         struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    const struct bi_env *env;
    int st;

    if (!a || (n && (!pairs || !results)))
        return bi_fail(err, BIOINFER_INVALID, "aligner, pairs and results must be given");
    if ((st = bi_context_check(a->ctx, err)))
        return st;
    env = &a->ctx->env;
    free_cigars(a);
    if (n > UINT32_MAX / 2 || !bi_grow(env, &a->inputs, &a->inputs_cap, n + 1, sizeof *a->inputs) ||
        !bi_grow(env, &a->order, &a->order_cap, n + 1, sizeof *a->order) ||
        !bi_grow(env, &a->pair, &a->pair_cap, n + 1, sizeof *a->pair) ||
        !bi_grow(env, &a->sides, &a->sides_cap, 2 * n + 2, sizeof *a->sides) ||
        !bi_grow(env, &a->messages, &a->messages_cap, n + 1, sizeof *a->messages) ||
        (a->traceback && !bi_grow(env, &a->cigars, &a->cigars_cap, n + 1, sizeof *a->cigars)))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", n);
    if (a->traceback) {
        memset(a->cigars, 0, n * sizeof *a->cigars);
        a->n_cigars = n;
    }
    return a->gpu ? run_gpu(a, pairs, n, results, err) : run_cpu(a, pairs, n, results, err);
}

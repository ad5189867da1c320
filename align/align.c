/* align.c - the life of an aligner, and its public calls.
 *
 * Pairs become codes once (align_codes.c). On the CPU they go through many(), pairs of similar size
 * in the lanes of one vector, or through strips (align_cpu.c); on a GPU through align_gpu.c, a part
 * of the call at a time (align_parts.c).
 *
 * Sections: aligner, results, calls. */
#include "aligner.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_SCORE = 10000000, /* match and mismatch: 10000, in thousandths; */
    MOST_OPEN = 2 * MOST_SCORE,
    FEEDERS = 4 /* threads that encode scores' pairs as fast as a GPU takes them: more would keep
                 * cores from those who read and write files beside them */
};

/* ---- aligner ---- */

const char *bioinfer_align_matrix(int index)
{
    return bi_matrix_name(index);
}

/* Divides all costs by what divides them all, as narrow numbers are fast; returns it. */
static int32_t reduce(struct bi_align_scoring *s)
{
    int32_t unit = (int32_t)bi_align_divisor(bi_align_divisor(s->open, s->extend),
                                             bi_align_divisor(s->open2, s->extend2));
    for (int i = 0; i < s->n_letters; i++)
        for (int j = 0; j < s->n_letters; j++)
            unit = (int32_t)bi_align_divisor(unit, s->score[i][j]);
    if (unit < 2)
        return 1;
    for (int i = 0; i < s->n_letters; i++)
        for (int j = 0; j < s->n_letters; j++)
            s->score[i][j] /= unit;
    s->open /= unit;
    s->extend /= unit;
    s->open2 /= unit;
    s->extend2 /= unit;
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
    if ((s->open2 || s->extend2) &&
        (s->open2 <= s->open || s->open2 > MOST_OPEN || s->extend2 < 0 || s->extend2 >= s->extend))
        return bi_fail(err, BIOINFER_INVALID,
                       "alignment: gap_open2 is %d and gap_extend2 %d, expected %d to %d and 0 to "
                       "%d: the second piece of a gap's cost begins above the first, %d and %d, "
                       "and grows more slowly",
                       s->open2, s->extend2, s->open + 1, MOST_OPEN, s->extend - 1, s->open,
                       s->extend);
    return 0;
}

static int make_scoring(struct bi_aligner *a, const struct bioinfer_align_params *p,
                        struct bioinfer_error *err)
{
    struct bi_align_scoring s = {
        .open = 11, .extend = 1, .free_ends = p->free_ends, .ties = p->ties, .local = p->local};
    int32_t times; /* scores of a matrix are multiplied by it */
    int st;
    a->scale = p->scale ? p->scale : 1;
    if (a->scale < 0 || a->scale > 1000)
        return bi_fail(err, BIOINFER_INVALID, "alignment: scale is %d, expected 1 to 1000",
                       p->scale);
    if (p->matrix && p->any_letters)
        return bi_fail(err, BIOINFER_INVALID,
                       "alignment: any_letters with matrix %.40s, expected match and mismatch",
                       p->matrix);
    if (p->matrix) {
        if ((st = bi_matrix_open(&a->matrix, &a->ctx->env, p->matrix, err)))
            return st;
    } else {
        const bool given = p->match || p->mismatch;
        if (p->match < -MOST_SCORE || p->match > MOST_SCORE || p->mismatch < -MOST_SCORE ||
            p->mismatch > MOST_SCORE)
            return bi_fail(err, BIOINFER_INVALID,
                           "alignment: match %d and mismatch %d, expected -%d to %d", p->match,
                           p->mismatch, MOST_SCORE, MOST_SCORE);
        (p->any_letters ? bi_matrix_letters : bi_matrix_simple)(
            &a->matrix, given ? p->match : 5 * a->scale, given ? p->mismatch : -4 * a->scale);
    }
    if (p->gap_open || p->gap_extend || p->free_gaps) {
        s.open = p->gap_open;
        s.extend = p->gap_extend;
    } else {
        s.open *= a->scale;
        s.extend *= a->scale;
    }
    s.open2 = p->gap_open2;
    s.extend2 = p->gap_extend2;
    if ((st = check_costs(p, &s, err)))
        return st;
    if (p->ties < BIOINFER_TIES_PARASAIL || p->ties > BIOINFER_TIES_WFA ||
        p->free_ends > BIOINFER_FREE_ENDS)
        return bi_fail(err, BIOINFER_INVALID, "alignment: ties is %d and free_ends %u", p->ties,
                       p->free_ends);
    if (p->local && p->free_ends)
        return bi_fail(err, BIOINFER_INVALID,
                       "alignment: local with free_ends %u, expected 0: a local alignment leaves "
                       "out what it likes at every end",
                       p->free_ends);
    s.n_letters = a->matrix.n;
    times = p->matrix ? a->scale : 1;
    for (int i = 0; i < s.n_letters; i++)
        for (int j = 0; j < s.n_letters; j++)
            s.score[i][j] = a->matrix.score[i][j] * times;
    a->unit = reduce(&s);
    a->traceback = p->traceback || p->identity;
    a->identity = !p->traceback && p->identity;
    const struct bi_cpu_kernels *k = bi_cpu_kernels_choose(a->ctx->cpu_mask, NULL);
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
static void say_width(const struct bi_aligner *a)
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
               "takes %s as long as 8: in their common unit, %s and the largest score are %lld "
               "together, expected at most 255; costs of fewer digits avoid it",
               k ? 16 : 64, k ? "several times" : "tens of times",
               s->open2 ? "two gap_open, one gap_open2" : "three gap_open",
               (long long)bi_align_most(s, high_score(s)));
}

/* Opens the GPU, where the parameters ask for what it does. */
static int open_gpu(struct bi_aligner *a, const struct bioinfer_align_params *p,
                    const struct bi_backend_ops *ops, int ordinal, struct bioinfer_error *err)
{
    const struct bi_align_scoring *s = &a->plan.scoring;
    if (s->open2)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "gaps of two pieces have no kernels for device %s: use --device cpu",
                       ops->name);
    if (p->local)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "local alignments have no kernels for device %s: use --device cpu",
                       ops->name);
    if (ops == &bi_backend_reference || ops == &bi_backend_null)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "alignment does not run on device %s", ops->name);
    a->high = high_score(s);
    if (3 * (int64_t)s->open + a->high > 1 << 24)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "costs with this many digits are too large for a "
                       "GPU: use --device cpu");
    if (!a->traceback && a->n_feeders > FEEDERS) /* paths take more than codes do */
        a->n_feeders = FEEDERS;
    return bi_align_gpu_open(&a->gpu, &a->ctx->env, ops, ordinal, &a->plan, a->traceback, err);
}

int bi_aligner_new(bi_aligner **out, bioinfer_context *ctx,
                   const struct bioinfer_align_params *params, struct bioinfer_error *err)
{
    return bi_aligner_new_on(out, ctx, params, NULL, err);
}

int bi_aligner_new_on(bi_aligner **out, bioinfer_context *ctx,
                      const struct bioinfer_align_params *params, const struct bi_backend_ops *ops,
                      struct bioinfer_error *err)
{
    struct bioinfer_align_params p = {0};
    struct bi_aligner *a = NULL;
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
    bi_aligner_free(&a);
    return st;
}

void bi_align_kept_free(const struct bi_env *env, struct bi_align_kept *kept)
{
    for (int t = 0; t < kept->n_cigars; t++)
        bi_arena_reset(&kept->cigars[t].arena);
    bi_free(env, kept->cigars);
    bi_free(env, kept->messages);
    *kept = (struct bi_align_kept){0};
}

void bi_aligner_free(bi_aligner **aligner)
{
    struct bi_aligner *a = aligner ? *aligner : NULL;
    if (!a)
        return;
    for (int t = 0; a->workers && t < a->ctx->n_threads; t++) {
        bi_align_work_free(&a->workers[t].work);
        bi_align_path_free(&a->workers[t].path);
        bi_wave_free(&a->workers[t].wave);
        bi_align_words_free(&a->workers[t].words);
    }
    bi_align_kept_free(&a->ctx->env, &a->own);
    for (int i = 0; i < BIOINFER_PAIRS_AHEAD; i++) {
        bi_align_kept_free(&a->ctx->env, &a->rooms[i].kept);
        bi_free(&a->ctx->env, a->rooms[i].results);
    }
    bi_align_gpu_close(&a->gpu);
    bi_free(&a->ctx->env, a->pair);
    bi_free(&a->ctx->env, a->chunks);
    bi_free(&a->ctx->env, a->workers);
    bi_free(&a->ctx->env, a->codes);
    bi_free(&a->ctx->env, a->inputs);
    bi_free(&a->ctx->env, a->order);
    bi_free(&a->ctx->env, a);
    *aligner = NULL;
}

void bi_aligner_set_profile(bi_aligner *a, int on)
{
    if (a->gpu)
        bi_align_gpu_set_profile(a->gpu, on != 0);
}

int bi_aligner_get_profile(bi_aligner *a, struct bioinfer_align_profile *profile)
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

int bi_aligner_score(const bi_aligner *a, char query, char target, int *score)
{
    const int q = a->matrix.code[(unsigned char)query];
    const int t = a->matrix.code[(unsigned char)target];
    if (q == BI_MATRIX_NONE || t == BI_MATRIX_NONE)
        return 0;
    *score = a->plan.scoring.score[q][t] * a->unit;
    return 1;
}

/* ---- results ---- */

int bi_aligner_fail(struct bi_aligner *a, struct bioinfer_alignment *r, size_t i, int status,
                    const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(a->kept->messages[i], sizeof a->kept->messages[i], fmt, args);
    va_end(args);
    r[i].status = status;
    r[i].message = a->kept->messages[i];
    return status;
}

static void count(const struct bi_aligner *a, const struct bi_align_input *in,
                  struct bioinfer_alignment *r)
{
    const struct bi_wave_costs *w = &a->waves;
    const bool alike = w->extend && !(a->used & ~w->letters); /* all matches are, all mismatches */
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
            if (alike)
                r->similarities += (op == BI_CIGAR_EQ ? w->match : w->other) > 0 ? n : 0;
            for (int64_t x = 0; !alike && x < n; x++)
                r->similarities += a->plan.scoring.score[in->query[i + x]][in->target[j + x]] > 0;
            i += n;
            j += n;
        }
    }
}

/* Leaves of a result what `identity` asks for. */
static void keep_identity(const struct bi_aligner *a, const struct bi_align_input *in,
                          struct bioinfer_alignment *r)
{
    if (!a->plan.scoring.local) {
        r->columns += r->query_begin + r->target_begin + (in->n - r->query_end) +
                      (in->m - r->target_end);
        r->query_begin = r->target_begin = 0;
        r->query_end = in->n;
        r->target_end = in->m;
    }
    r->similarities = r->gaps = 0;
    r->cigar = NULL;
    r->n_cigar = 0;
}

void bi_aligner_put_counts(struct bi_aligner *a, size_t i, int64_t matches, int64_t aligned,
                           struct bioinfer_alignment *r)
{
    const struct bi_align_input *in = &a->inputs[i];
    r->query_end = in->n;
    r->target_end = in->m;
    r->columns = in->n + in->m - aligned;
    r->identities = matches;
}

int bi_aligner_put_path(struct bi_aligner *a, size_t i, const struct bi_align_worker *w,
                        const struct bi_align_walk *begin, const struct bi_align_end *end,
                        bool sparse, struct bioinfer_alignment *r, struct bioinfer_error *err)
{
    uint32_t *cigar = w->path.run;
    if (!a->identity && !(cigar = bi_arena_alloc(&a->kept->cigars[w - a->workers].arena,
                                                 (w->path.n + 1) * sizeof *cigar)))
        return bi_fail(err, BIOINFER_NOMEM, "path of an alignment");
    if (!a->identity && w->path.n) /* a path of nothing has no memory */
        memcpy(cigar, w->path.run, w->path.n * sizeof *cigar);
    r->query_begin = begin->i;
    r->query_end = end->i;
    r->target_begin = begin->j;
    r->target_end = end->j;
    r->cigar = cigar;
    r->n_cigar = w->path.n;
    r->sparse = sparse;
    count(a, &a->inputs[i], r);
    if (a->identity)
        keep_identity(a, &a->inputs[i], r);
    return 0;
}

/* ---- calls ---- */

/* Makes an arena for the CIGARs of each thread. */
static bool make_arenas(const struct bi_aligner *a, struct bi_align_kept *kept)
{
    const struct bi_env *env = &a->ctx->env;
    if (kept->cigars)
        return true;
    if (!(kept->cigars = bi_calloc(env, (size_t)a->ctx->n_threads, sizeof *kept->cigars)))
        return false;
    kept->n_cigars = a->ctx->n_threads;
    for (int t = 0; t < kept->n_cigars; t++)
        kept->cigars[t].arena.env = env;
    return true;
}

int bi_aligner_run_into(struct bi_aligner *a, struct bi_align_kept *kept,
                        const struct bioinfer_align_pair *pairs, size_t n,
                        struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    const struct bi_env *env = &a->ctx->env;
    const size_t places = 1 + (a->gpu || n < BI_ALIGN_CPU_BLOCK ? n : BI_ALIGN_CPU_BLOCK);
    for (int t = 0; t < kept->n_cigars; t++)
        bi_arena_rewind(&kept->cigars[t].arena);
    if (n > UINT32_MAX / 2 ||
        !bi_grow(env, &a->inputs, &a->inputs_cap, places, sizeof *a->inputs) ||
        !bi_grow(env, &a->order, &a->order_cap, places, sizeof *a->order) ||
        !bi_grow(env, &a->pair, &a->pair_cap, places, sizeof *a->pair) ||
        !bi_grow(env, &kept->messages, &kept->messages_cap, n + 1, sizeof *kept->messages) ||
        (a->traceback && !make_arenas(a, kept)))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", n);
    a->kept = kept;
    return a->gpu ? bi_aligner_run_gpu(a, pairs, n, results, err)
                  : bi_aligner_run_cpu(a, pairs, n, results, err);
}

int bi_aligner_run(bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                   struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    int st;
    if (!a || (n && (!pairs || !results)))
        return bi_fail(err, BIOINFER_INVALID, "aligner, pairs and results must be given");
    st = bi_context_check(a->ctx, err);
    return st ? st : bi_aligner_run_into(a, &a->own, pairs, n, results, err);
}

/* align_codes.c - pairs become codes: letters of each sequence once, on several threads. */
#include "aligner.h"

#include <stdatomic.h>
#include <string.h>

enum {
    MOST_LENGTH = 1 << 30, /* residues */
    SHARED_WORK = 1 << 15, /* residues from which several threads encode them */
    AHEAD = 8              /* sequences on their way to the cache */
};

struct encoding {
    struct bi_aligner *a;
    atomic_size_t next;
    _Atomic uint32_t queries, targets; /* codes that each side uses */
};

static void encode_some(void *user, const struct bi_share *share)
{
    enum { CLAIM = 64 };
    struct encoding *e = user;
    struct bi_aligner *a = e->a;
    struct bi_align_coder query = {.code = a->matrix.code}, target;
    size_t k;

    (void)share;
    memset(query.met, BI_ALIGN_NO_CODE, sizeof query.met);
    target = query;
    while ((k = atomic_fetch_add_explicit(&e->next, CLAIM, memory_order_relaxed)) < a->n_sequences)
        for (const size_t end = k + CLAIM; k < end && k < a->n_sequences; k++) {
            struct bi_align_sequence *s = &a->sequences[k];
            if (k + AHEAD < a->n_sequences) /* short ones lie all over the caller's memory */
                __builtin_prefetch(a->sequences[k + AHEAD].letters);
            s->bad = !a->coders->encode(s->target ? &target : &query, s->letters, s->n, s->codes);
        }
    atomic_fetch_or(&e->queries, query.used);
    atomic_fetch_or(&e->targets, target.used);
}

/* All listed sequences, on some threads; returns the codes that targets use. */
static uint32_t encode(struct bi_aligner *a, bool shared)
{
    struct encoding e = {.a = a};

    bi_team_run(&a->ctx->env, shared ? a->n_feeders : 1, encode_some, &e);
    a->used = e.queries | e.targets;
    return e.targets;
}

/* Says which letter of a bad sequence it is. */
static void say_bad(struct bi_aligner *a, struct bioinfer_alignment *results, size_t i,
                    const char *side, const struct bi_align_sequence *s)
{
    size_t k = 0;

    while (a->matrix.code[(unsigned char)s->letters[k]] != BI_MATRIX_NONE)
        k++;
    const unsigned char c = (unsigned char)s->letters[k];
    if (!a->matrix.name[0])
        bi_aligner_fail(a, results, i, BIOINFER_BAD_RESIDUE,
                        c > 32 && c < 127
                            ? "residue %zu of the %s is '%c', no nucleotide: match and "
                              "mismatch are of these; proteins take a matrix"
                            : "residue %zu of the %s is byte 0x%02x",
                        k + 1, side, c);
    else
        bi_aligner_fail(a, results, i, BIOINFER_BAD_RESIDUE,
                        c > 32 && c < 127
                            ? "residue %zu of the %s is '%c', which matrix %.40s has not"
                            : "residue %zu of the %s is byte 0x%02x, which matrix %.40s "
                              "has not",
                        k + 1, side, c, a->matrix.name);
}

/* The place of a sequence in the list, which neighbouring pairs on one side may share. */
static uint32_t list_sequence(struct bi_aligner *a, uint32_t last, const char *letters, size_t n,
                              bool target)
{
    struct bi_align_sequence *s = a->sequences + last;

    if (last != UINT32_MAX && s->letters == letters && s->n == n)
        return last;
    a->sequences[a->n_sequences] = (struct bi_align_sequence){
        .letters = letters, .n = n, .target = target};
    return (uint32_t)a->n_sequences++;
}

/* Whether a pair is within what GPU kernels compute; else its status. */
static bool within(struct bi_aligner *a, size_t i, const struct bioinfer_align_pair *p,
                   struct bioinfer_alignment *results)
{
    const int64_t most = 3 * (int64_t)a->plan.scoring.open + a->high;
    const struct bi_align_input in = {.n = (int64_t)p->query_length,
                                      .m = (int64_t)p->target_length};
    uint64_t least;

    if (in.n > BI_ALIGN_GPU_LENGTH || in.m > BI_ALIGN_GPU_LENGTH ||
        (in.n + in.m) * most > BI_ALIGN_GPU_SCORE) {
        bi_aligner_fail(a, results, i, BIOINFER_LIMIT,
                        "%lld x %lld residues: the score may pass "
                        "32 bits, use --device cpu",
                        (long long)in.n, (long long)in.m);
        return false;
    }
    if (a->traceback && (least = bi_align_gpu_least(a->gpu, &in)) > a->plan.memory_limit) {
        bi_aligner_fail(a, results, i, BIOINFER_LIMIT,
                        "the traceback of %lld x %lld residues needs %llu MiB, the limit is %llu; "
                        "--device cpu needs less",
                        (long long)in.n, (long long)in.m, (unsigned long long)(least >> 20),
                        (unsigned long long)(a->plan.memory_limit >> 20));
        return false;
    }
    return true;
}

int bi_aligner_list(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t first,
                    size_t n, struct bioinfer_alignment *results, size_t *n_sound, uint64_t *size,
                    struct bioinfer_error *err)
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
            bi_aligner_fail(a, results, i, BIOINFER_TOO_LONG, "%zu x %zu residues, at most %d",
                            p->query_length, p->target_length, MOST_LENGTH);
            continue;
        }
        if (!p->query_length || !p->target_length) {
            bi_aligner_fail(a, results, i, BIOINFER_EMPTY, "the %s has no residues",
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

uint32_t bi_aligner_encode(struct bi_aligner *a, size_t first, size_t n, uint8_t *codes,
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
        const struct bi_align_sequence *q = &a->sequences[a->sides[2 * k]];
        const struct bi_align_sequence *t = &a->sequences[a->sides[2 * k + 1]];
        a->inputs[k].query = q->codes;
        a->inputs[k].target = t->codes;
        bad |= q->bad | t->bad;
    }
    for (size_t k = first; bad && k < first + n; k++) {
        const struct bi_align_sequence *q = &a->sequences[a->sides[2 * k]];
        const struct bi_align_sequence *t = &a->sequences[a->sides[2 * k + 1]];
        if (q->bad || t->bad)
            say_bad(a, results, a->pair[k], q->bad ? "query" : "target", q->bad ? q : t);
    }
    return used;
}

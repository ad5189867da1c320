/* align_codes.c - pairs become codes, on several threads.
 *
 * Pairs are listed in chunks: which of them are to be aligned, and how many codes they have. The
 * chunks in order then say where the pairs and codes of each begin, so that threads encode any of
 * them at once. A sequence that neighbouring pairs have on the same side is encoded once, also
 * where the neighbours are of two chunks.
 *
 * Sections: pairs, chunks in order, codes. */
#include "aligner.h"

#include <stdatomic.h>
#include <string.h>

enum {
    MOST_LENGTH = 1 << 30,  /* residues */
    MOST_CHUNK = 64,        /* pairs of a chunk, */
    CHUNKS = 256,           /* fewer of them where there would not be so many chunks */
    SHARED_PAIRS = 1 << 11, /* pairs from which several threads list them, */
    SHARED_WORK = 1 << 15,  /* residues from which several threads encode them */
    AHEAD = 4               /* pairs whose letters are on their way to the cache */
};

enum { QUERY, TARGET, SIDES };

struct letters {
    const char *text;
    size_t n;
};

/* Neighbouring pairs. Its first sequence of a side may be the last one of the chunk before. */
struct bi_align_chunk {
    size_t place, n_sound; /* where its pairs are that are to be aligned */
    size_t invalid;        /* a pair without sequences, or SIZE_MAX */
    uint64_t at, size;     /* where its codes are */
    struct letters first[SIDES], last[SIDES];
    uint64_t last_at[SIDES];         /* where the codes of the last begin, */
    uint64_t before[SIDES];          /* where those of the last in the chunk before begin */
    bool lone[SIDES], shared[SIDES]; /* the first is the last one, that of the chunk before */
    bool bad[SIDES];                 /* the last has letters without codes, if it is not shared */
    double cells;
};

static struct letters side_of(const struct bioinfer_align_pair *p, int side)
{
    return side == QUERY ? (struct letters){p->query, p->query_length}
                         : (struct letters){p->target, p->target_length};
}

static bool is_same(struct letters a, struct letters b)
{
    return a.text == b.text && a.n == b.n;
}

/* ---- pairs ---- */

/* Says which letter of a bad sequence it is. */
static void say_bad(struct bi_aligner *a, struct bioinfer_alignment *results, size_t i, int of,
                    struct letters s)
{
    const char *side = of == QUERY ? "query" : "target";
    size_t k = 0;
    while (a->matrix.code[(unsigned char)s.text[k]] != BI_MATRIX_NONE)
        k++;
    const unsigned char c = (unsigned char)s.text[k];
    if (!a->matrix.name[0])
        bi_aligner_fail(a, results, i, BIOINFER_BAD_RESIDUE,
                        c > 32 && c < 127
                            ? "residue %zu of the %s is '%c', no nucleotide: match and "
                              "mismatch are of these; proteins take a matrix, or any letters"
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

/* Whether a pair is to be aligned; else its status. */
static bool is_sound(struct bi_aligner *a, size_t i, const struct bioinfer_align_pair *p,
                     struct bioinfer_alignment *results)
{
    if (p->query_length > MOST_LENGTH || p->target_length > MOST_LENGTH) {
        bi_aligner_fail(a, results, i, BIOINFER_TOO_LONG, "%zu x %zu residues, at most %d",
                        p->query_length, p->target_length, MOST_LENGTH);
        return false;
    }
    if (!p->query_length || !p->target_length) {
        bi_aligner_fail(a, results, i, BIOINFER_EMPTY, "the %s has no residues",
                        p->query_length ? "target" : "query");
        return false;
    }
    return !a->gpu || within(a, i, p, results);
}

struct listing {
    struct bi_aligner *a;
    const struct bioinfer_align_pair *pairs;
    size_t first, n, place, step; /* step: pairs of a chunk */
    struct bioinfer_alignment *results;
};

/* Lists the pairs of a chunk at places as if all pairs before it were to be aligned. */
static void list_chunk(const struct listing *l, size_t at)
{
    struct bi_aligner *a = l->a;
    const size_t begin = l->first + at * l->step, all = l->first + l->n;
    struct bi_align_chunk c = {.place = l->place + at * l->step, .invalid = SIZE_MAX};
    for (size_t i = begin; i < all && i < begin + l->step; i++) {
        const struct bioinfer_align_pair *p = &l->pairs[i];
        const size_t k = c.place + c.n_sound;
        l->results[i] = (struct bioinfer_alignment){.message = ""};
        if ((p->query_length && !p->query) || (p->target_length && !p->target)) {
            c.invalid = i;
            break;
        }
        if (!is_sound(a, i, p, l->results))
            continue;
        for (int side = 0; side < SIDES; side++) {
            const struct letters s = side_of(p, side);
            if (is_same(s, c.last[side]))
                continue;
            c.lone[side] = !c.last[side].text;
            if (c.lone[side])
                c.first[side] = s;
            c.last[side] = s;
            c.last_at[side] = c.size;
            c.size += s.n;
        }
        a->pair[k] = (uint32_t)i;
        a->inputs[k] = (struct bi_align_input){.n = (int64_t)p->query_length,
                                               .m = (int64_t)p->target_length};
        c.cells += (double)p->query_length * (double)p->target_length;
        c.n_sound++;
    }
    a->chunks[at] = c;
}

static void list_some(void *user, int thread, int64_t first, int64_t end)
{
    (void)thread;
    for (int64_t k = first; k < end; k++)
        list_chunk(user, (size_t)k);
}

/* ---- chunks in order ---- */

/* Where the codes of a chunk begin, now that those of all before it are known: *last and last_at
 * say which sequences these ended with. */
static void place_codes(struct bi_align_chunk *c, struct letters *last, uint64_t *last_at,
                        uint64_t at)
{
    uint64_t cut = 0;
    for (int side = 0; side < SIDES; side++) {
        c->shared[side] = is_same(c->first[side], last[side]);
        c->before[side] = last_at[side];
        if (c->lone[side])
            c->last_at[side] -= cut; /* the query alone lies in front of it */
        cut += c->shared[side] ? c->first[side].n : 0;
    }
    for (int side = 0; side < SIDES; side++) {
        last[side] = c->last[side];
        if (!c->lone[side])
            last_at[side] = at + c->last_at[side] - cut;
        else if (!c->shared[side])
            last_at[side] = at + c->last_at[side];
    }
    c->at = at;
    c->size -= cut;
}

/* Moves the pairs of a chunk to where those before it end. */
static void move_pairs(struct bi_aligner *a, struct bi_align_chunk *c, size_t place)
{
    if (c->place != place && c->n_sound) {
        memmove(a->pair + place, a->pair + c->place, c->n_sound * sizeof *a->pair);
        memmove(a->inputs + place, a->inputs + c->place, c->n_sound * sizeof *a->inputs);
    }
    c->place = place;
}

int bi_aligner_list(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t first,
                    size_t n, size_t place, struct bioinfer_alignment *results, size_t *n_sound,
                    uint64_t *size, struct bioinfer_error *err)
{
    const struct bi_env *env = &a->ctx->env;
    const size_t step = n / CHUNKS < 1 ? 1 : n / CHUNKS < MOST_CHUNK ? n / CHUNKS : MOST_CHUNK;
    struct listing l = {a, pairs, first, n, place, step, results};
    struct letters last[SIDES] = {{0}};
    uint64_t last_at[SIDES] = {0};
    a->n_chunks = (n + step - 1) / step;
    if (!bi_grow(env, &a->chunks, &a->chunks_cap, a->n_chunks + 1, sizeof *a->chunks))
        return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of sequences", n);
    bi_team_for(env, n < SHARED_PAIRS ? 1 : a->n_feeders, (int64_t)a->n_chunks, 1, list_some, &l);
    *n_sound = 0;
    *size = 0;
    a->cells = 0;
    for (size_t k = 0; k < a->n_chunks; k++) {
        struct bi_align_chunk *c = &a->chunks[k];
        if (c->invalid != SIZE_MAX)
            return bi_fail(err, BIOINFER_INVALID, "alignment: pair %zu has no sequences",
                           c->invalid);
        move_pairs(a, c, place + *n_sound);
        if (c->n_sound)
            place_codes(c, last, last_at, *size);
        *n_sound += c->n_sound;
        *size += c->size;
        a->cells += c->cells;
    }
    return 0;
}

/* ---- codes ---- */

struct encoding {
    struct bi_aligner *a;
    const struct bioinfer_align_pair *pairs;
    uint8_t *codes;
    struct bioinfer_alignment *results;
    atomic_size_t next;
    _Atomic uint32_t used[SIDES]; /* codes that each side uses */
    atomic_bool bad;              /* some sequence is */
};

/* Encodes the sequences of a chunk, but for one that is of the chunk before. */
static void encode_chunk(struct encoding *e, struct bi_align_chunk *c,
                         struct bi_align_coder coders[SIDES])
{
    struct bi_aligner *a = e->a;
    struct letters last[SIDES] = {{0}};
    const uint8_t *at[SIDES] = {0};
    uint8_t *codes = e->codes + c->at;
    for (int side = 0; side < SIDES; side++) {
        c->bad[side] = false;
        if (!c->shared[side])
            continue;
        last[side] = c->first[side];
        at[side] = e->codes + c->before[side];
    }
    for (size_t k = c->place; k < c->place + c->n_sound; k++) {
        const struct bioinfer_align_pair *p = &e->pairs[a->pair[k]];
        if (k + AHEAD < c->place + c->n_sound) { /* short ones lie all over the caller's memory */
            __builtin_prefetch(e->pairs[a->pair[k + AHEAD]].query);
            __builtin_prefetch(e->pairs[a->pair[k + AHEAD]].target);
        }
        for (int side = 0; side < SIDES; side++) {
            const struct letters s = side_of(p, side);
            if (is_same(s, last[side]))
                continue;
            last[side] = s;
            at[side] = codes;
            c->bad[side] = !a->coders->encode(&coders[side], s.text, s.n, codes);
            codes += s.n;
        }
        a->inputs[k].query = at[QUERY];
        a->inputs[k].target = at[TARGET];
        for (int side = 0; side < SIDES; side++)
            if (c->bad[side]) {
                say_bad(a, e->results, a->pair[k], side, last[side]);
                atomic_store_explicit(&e->bad, true, memory_order_relaxed);
                break;
            }
    }
}

static void encode_some(void *user, const struct bi_share *share)
{
    struct encoding *e = user;
    const size_t n = e->a->n_chunks;
    struct bi_align_coder coders[SIDES] = {{.code = e->a->matrix.code}};
    size_t k;
    (void)share;
    memset(coders[QUERY].met, BI_ALIGN_NO_CODE, sizeof coders[QUERY].met);
    coders[TARGET] = coders[QUERY];
    while ((k = atomic_fetch_add_explicit(&e->next, 1, memory_order_relaxed)) < n)
        encode_chunk(e, &e->a->chunks[k], coders);
    for (int side = 0; side < SIDES; side++)
        atomic_fetch_or(&e->used[side], coders[side].used);
}

/* Says of pairs at the beginning of chunks that the sequence which they share with the chunk before
 * is bad: of a target where nothing was said of the query. */
static void say_shared(struct encoding *e)
{
    struct bi_aligner *a = e->a;
    bool bad[SIDES] = {false, false};
    for (size_t at = 0; at < a->n_chunks; at++) {
        const struct bi_align_chunk *c = &a->chunks[at];
        for (int side = 0; side < SIDES && c->n_sound; side++) {
            for (size_t k = c->place; bad[side] && c->shared[side] && k < c->place + c->n_sound;
                 k++) {
                const struct letters s = side_of(&e->pairs[a->pair[k]], side);
                if (!is_same(s, c->first[side]))
                    break;
                if (side == QUERY || !e->results[a->pair[k]].status)
                    say_bad(a, e->results, a->pair[k], side, s);
            }
            if (!c->lone[side] || !c->shared[side])
                bad[side] = c->bad[side];
        }
    }
}

uint32_t bi_aligner_encode(struct bi_aligner *a, const struct bioinfer_align_pair *pairs,
                           uint8_t *codes, uint64_t size, struct bioinfer_alignment *results)
{
    struct encoding e = {.a = a, .pairs = pairs, .codes = codes, .results = results};
    bi_team_run(&a->ctx->env, size > SHARED_WORK ? a->n_feeders : 1, encode_some, &e);
    if (e.bad)
        say_shared(&e);
    a->used = e.used[QUERY] | e.used[TARGET];
    return e.used[TARGET];
}

/* two_test.c - gaps of two pieces by every set of kernels: scores against the oracle, paths against
 * the definition, for all ties and modes.
 *
 *     align_two [random pairs (default 20000)] [seed]
 *
 * Sections: tools, tiny pairs, random pairs, large pairs, bad input. */
#include "compare.h"

/* ---- tools ---- */

static long n_random = 20000;

struct setting {
    const char *matrix;
    int match, mismatch, open, extend, open2, extend2;
};
static const struct setting settings[] = {
    {NULL, 2, -4, 6, 2, 25, 1},        /* minimap2 */
    {NULL, 1, -9, 6, 2, 10, 0},        /* scores below any gap's */
    {NULL, 5, -4, 3, 3, 5, 1},         /* the first piece is linear, lengths 2 cost the same */
    {"BLOSUM62", 0, 0, 11, 2, 16, 1},  /* so do lengths 6 */
    {"PAM30", 0, 0, 7, 5, 9, 2},       /* or nearly */
    {"BLOSUM62", 0, 0, 30, 9, 160, 1}, /* 8 bits: 2 o + o2 + max(S) = 231 */
    {NULL, 60, -70, 40, 30, 115, 2},   /* 255 */
    {NULL, 61, -70, 40, 30, 115, 2},   /* 256: 16 bits */
    {NULL, 5, -4, 100, 7, 60000, 0},   /* 60205 */
    {NULL, 5000, -4000, 20001, 3000, 60000, 7}, /* above 16 bits */
    {NULL, 5, -4, 10, 1, 0, 0},                 /* one piece, for which groups have other kernels */
    {"BLOSUM62", 0, 0, 11, 1, 0, 0},
    {NULL, -3, -3, 2, 1, 3, 0},
    {NULL, 0, -1, 1, 1, 2, 0}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* Ways to leave out ends; the last one is local. */
static const unsigned free_ends[] = {0, BIOINFER_FREE_ENDS, 1, 2, 4, 8, 5, 10, 6, 9, 0};
enum { MODES = sizeof free_ends / sizeof *free_ends, LOCAL = MODES - 1 };

static struct bioinfer_align_params params_of(const struct setting *s, int mode)
{
    return BIOINFER_PARAMS(struct bioinfer_align_params, .matrix = s->matrix, .match = s->match,
                           .mismatch = s->mismatch, .gap_open = s->open, .gap_extend = s->extend,
                           .gap_open2 = s->open2, .gap_extend2 = s->extend2,
                           .free_ends = free_ends[mode], .local = mode == LOCAL);
}

/* Whether a result is what plain loops give, path by path. The codes of the tests and those of the
 * matrix are not the same ones. */
static bool is_defined(const bi_aligner *a, const struct text *q, const struct text *t,
                       const struct bioinfer_alignment *r)
{
    const struct bi_env env = bi_env_default();
    struct bi_align_path path = {.env = &env};
    struct bi_align_walk begin = {0};
    struct bi_align_end end = {0};
    uint8_t *codes = malloc((size_t)(q->n + t->n));
    const struct bi_align_input in = {codes, codes + q->n, q->n, t->n};
    bool same;
    for (int i = 0; i < q->n; i++)
        codes[i] = a->matrix.code[(unsigned char)q->letters[i]];
    for (int j = 0; j < t->n; j++)
        codes[q->n + j] = a->matrix.code[(unsigned char)t->letters[j]];
    CHECK(!bi_align_reference(&env, &a->plan.scoring, &in, &end, &begin, &path, NULL));
    same = end.score * a->unit == r->score && end.i == r->query_end && end.j == r->target_end &&
           begin.i == r->query_begin && begin.j == r->target_begin && path.n == r->n_cigar &&
           (!path.n || !memcmp(path.run, r->cigar, path.n * sizeof *path.run));
    bi_align_path_free(&path);
    free(codes);
    return same;
}

/* ---- tiny pairs: all of up to 3 letters, against enumeration of all alignments ---- */

static void all_tiny_pairs(void)
{
    enum { WORDS = 4 + 16 + 64 };
    struct text words[WORDS];
    struct bioinfer_align_pair *pairs = calloc((size_t)WORDS * WORDS, sizeof *pairs);
    struct bioinfer_alignment *results = calloc((size_t)WORDS * WORDS, sizeof *results);
    int n = 0;
    for (int length = 1; length <= 3; length++)
        for (int w = 0; w < 1 << (2 * length); w++, n++) {
            words[n] = random_text(length, 4, dna);
            for (int k = 0; k < length; k++)
                words[n].letters[k] = dna[words[n].codes[k] = (uint8_t)(w >> (2 * k) & 3)];
        }
    for (int i = 0; i < n * n; i++)
        pairs[i] = pair_of(&words[i / n], &words[i % n]);
    for (int k = 0; k < SETTINGS; k++) {
        struct bioinfer_align_params p = params_of(&settings[k], 0);
        struct oracle_scoring o;
        p.traceback = 1;
        for (int c = 0; !p.matrix && c < n_contexts; c++) {
            p.ties = c;
            bi_aligner *a = aligner_of(contexts[c], &p);
            long wrong = 0;
            oracle_of(&o, a, &p);
            CHECK(!bi_aligner_run(a, pairs, (size_t)(n * n), results, NULL));
            for (int i = 0; i < n * n; i++) {
                const struct text *q = &words[i / n], *t = &words[i % n];
                const int64_t want = oracle_enumerate(&o, q->codes, q->n, t->codes, t->n);
                wrong += results[i].status || results[i].score != want ||
                         oracle_score(&o, q->codes, q->n, t->codes, t->n) != want ||
                         oracle_cigar(&o, q->codes, t->codes, &results[i], q->n, t->n) != want;
            }
            CHECK_EQ(wrong, 0);
            bi_aligner_free(&a);
        }
    }
    for (int i = 0; i < n; i++)
        free_text(&words[i]);
    free(pairs);
    free(results);
}

/* ---- random pairs ---- */

/* A relative with one long gap more, where the second piece counts. */
static struct text gapped(const struct text *q, int n_letters, const char *letters)
{
    struct text t = relative(q, (int)below(41), n_letters, letters);
    const int most = t.n / 2, n = most ? (int)below((uint32_t)most) : 0;
    const int at = n ? (int)below((uint32_t)(t.n - n)) : 0;
    if (t.n - n < 1)
        return t;
    memmove(t.letters + at, t.letters + at + n, (size_t)(t.n - n - at));
    memmove(t.codes + at, t.codes + at + n, (size_t)(t.n - n - at));
    t.n -= n;
    return t;
}

static void random_pairs(void)
{
    enum { BATCH = 128 };
    struct text q[BATCH], t[BATCH];
    struct bioinfer_align_pair pairs[BATCH];
    for (long done = 0, round = 0; done < n_random; done += BATCH, round++) {
        const struct setting *s = &settings[round % SETTINGS];
        const int mode = (int)(round / SETTINGS % MODES);
        const char *letters = s->matrix ? protein : dna;
        const int n_letters = (round & 16 ? 3 : 4) * (s->matrix ? 6 : 1);
        const uint32_t longest = round % 29 == 28 ? 400 : round % 5 == 4 ? 120 : 40;
        for (int i = 0; i < BATCH; i++) {
            q[i] = random_text(1 + (int)below(longest), n_letters, letters);
            t[i] = below(4) ? gapped(&q[i], n_letters, letters)
                            : random_text(1 + (int)below(longest), n_letters, letters);
            if (below(2)) {
                const struct text other = q[i];
                q[i] = t[i];
                t[i] = other;
            }
            pairs[i] = pair_of(&q[i], &t[i]);
        }
        compare_with_oracle(params_of(s, mode), pairs, q, t, longest == 400 ? 30 : BATCH,
                            is_defined);
        free_texts(q, t, BATCH);
    }
}

/* 65 pairs of about one size, so that they share vectors; pads in some lanes. */
static void full_lanes(void)
{
    enum { PAIRS = 65 };
    static const int shapes[][2] = {{1, 1},    {1, 300},   {300, 1},  {17, 4},  {33, 90},
                                    {239, 21}, {241, 101}, {500, 31}, {20, 700}};
    struct text q[PAIRS], t[PAIRS];
    struct bioinfer_align_pair pairs[PAIRS];
    for (int k = 0; k < SETTINGS; k++)
        for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
            const char *letters = settings[k].matrix ? protein : dna;
            const int n_letters = settings[k].matrix ? 20 : 4;
            for (int i = 0; i < PAIRS; i++) {
                const int n = shapes[shape][0], m = shapes[shape][1];
                const int less = i % 3 ? 0 : (int)below((uint32_t)n / 4 + 1);
                q[i] = random_text(n - less, n_letters, letters);
                t[i] = random_text(m - (i % 3 ? 0 : (int)below((uint32_t)m / 4 + 1)), n_letters,
                                   letters);
                for (int x = 0; i % 4 == 1 && x < q[i].n && x < t[i].n; x++)
                    if (below(8))
                        t[i].letters[x] = letters[t[i].codes[x] = q[i].codes[x]];
                pairs[i] = pair_of(&q[i], &t[i]);
            }
            compare_with_oracle(params_of(&settings[k], (int)(shape + (size_t)k) % MODES), pairs, q,
                                t, PAIRS, is_defined);
            free_texts(q, t, PAIRS);
        }
}

/* ---- large pairs: windows, kept rows, few rows, several threads ---- */

enum { SHARED = 1 << 27 }; /* cells above which all threads share a pair */

struct large_pair {
    int setting, mode, n, threads;
    uint64_t limit;    /* 0: none; with one rows are few, and gaps are short */
    int64_t more_than; /* the score has to be above this; 0: it may be any */
};

static void one_large_pair(const struct large_pair *l)
{
    const struct setting *s = &settings[l->setting];
    const char *letters = s->matrix ? protein : dna;
    struct text q = random_text(l->n, 4, letters), t;
    if (l->limit || l->more_than)
        t = relative(&q, l->limit ? 20 : 10, 4, letters);
    else
        t = gapped(&q, 4, letters);
    while (l->threads > 1 && (int64_t)q.n * t.n <= SHARED) {
        free_text(&t);
        t = gapped(&q, 4, letters);
    }
    struct bioinfer_align_pair pair = pair_of(&q, &t);

    /* threads share the way down, which knows nothing of ties */
    const int n_ties = l->threads > 1 ? 1 : 3;
    int64_t want = 0;

    for (int run = 0; run <= n_ties; run++) { /* the last one for the score alone */
        struct bioinfer_context_params p = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                           .n_threads = l->threads);
        struct bioinfer_align_params ap = params_of(s, l->mode);
        struct bioinfer_alignment r = {0};
        bioinfer_context *ctx = NULL;
        ap.traceback = run < n_ties;
        ap.ties = ap.traceback ? run : 0;
        ap.memory_limit = l->limit;
        CHECK(!bioinfer_context_new(&ctx, &p, NULL));
        bi_aligner *a = aligner_of(ctx, &ap);
        CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL) && !r.status);
        CHECK(!l->more_than || r.score > l->more_than);
        if (ap.traceback) {
            CHECK_EQ(r.sparse, l->limit != 0);
            CHECK(is_defined(a, &q, &t, &r));
            want = r.score;
        } else {
            CHECK_EQ(r.score, want);
        }
        bi_aligner_free(&a);
        bioinfer_context_free(&ctx);
    }
    free_text(&q);
    free_text(&t);
}

static void large_pairs(void)
{
    static const struct large_pair pairs[] = {
        {0, 0, 3000, 1, 0, 0},
        {0, 1, 3000, 1, 0, 0},
        {7, 0, 2000, 1, 0, 0},
        {3, LOCAL, 3000, 1, 0, 0},
        {0, LOCAL, 3000, 1, 0, 0},
        {7, LOCAL, 3000, 1, 0, UINT16_MAX}, /* local alignments have numbers of 32 bits then */
        {0, 5, 3000, 1, 200000, 0},
        {0, 0, 12000, 2, 0, 0}};
    for (size_t i = 0; i < BI_COUNT(pairs); i++)
        one_large_pair(&pairs[i]);
}

/* ---- bad input ---- */

static void refusals(void)
{
    static const struct setting bad[] = {{NULL, 2, -4, 6, 2, 6, 1},
                                         {NULL, 2, -4, 6, 2, 25, 2},
                                         {NULL, 2, -4, 6, 2, 0, 1},
                                         {NULL, 2, -4, 6, 2, 25, -1},
                                         {NULL, 2, -4, 6, 2, 20000001, 1}};
    struct bioinfer_error err = {0};
    bi_aligner *a = NULL;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const struct setting *s = &bad[k];
        struct bioinfer_align_params p = BIOINFER_PARAMS(
            struct bioinfer_align_params, .match = s->match, .mismatch = s->mismatch,
            .gap_open = s->open, .gap_extend = s->extend, .gap_open2 = s->open2,
            .gap_extend2 = s->extend2);
        CHECK_EQ(bi_aligner_new(&a, contexts[0], &p, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, "gap_open2 is");
    }
    struct bioinfer_align_params p = BIOINFER_PARAMS(struct bioinfer_align_params, .match = 2,
                                                     .mismatch = -4, .gap_open = 6, .gap_extend = 2,
                                                     .gap_open2 = 25, .gap_extend2 = 1);
    CHECK_EQ(bi_aligner_new_on(&a, contexts[0], &p, &bi_backend_null, &err), BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "--device cpu");
}

int main(int argc, char **argv)
{
    n_random = texts_arguments(argc, argv, n_random);
    open_contexts();
    TEST(all_tiny_pairs);
    TEST(random_pairs);
    TEST(full_lanes);
    TEST(large_pairs);
    TEST(refusals);
    close_contexts();
    return test_report();
}

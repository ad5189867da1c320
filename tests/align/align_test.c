/* align_test.c - alignments against an oracle of their own.
 *
 *     align_test [random pairs (default 20000)] [seed]
 *
 * Sections: tools, tiny pairs, random pairs, long pairs, published figures, bad input. */
#include <stdbool.h>

#include "../test.h"
#include "oracle.h"

/* ---- tools ---- */

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % n);
}

static const char dna[] = "ACGTN", protein[] = "ARNDCQEGHILKMFPSTWYVBZX*";

struct setting {
    const char *matrix;
    int match, mismatch, open, extend, scale;
    unsigned free_ends;
};

static bioinfer_context *contexts[4]; /* one for each instruction set of this machine */
static const char *masks[4];
static int n_contexts;

static bioinfer_aligner *open_aligner(bioinfer_context *ctx, const struct setting *s,
                                      int traceback, int ties, uint64_t limit)
{
    struct bioinfer_align_params p =
        BIOINFER_PARAMS(struct bioinfer_align_params, .matrix = s->matrix, .match = s->match,
                        .mismatch = s->mismatch, .gap_open = s->open, .gap_extend = s->extend,
                        .scale = s->scale, .free_ends = s->free_ends, .traceback = traceback,
                        .ties = ties, .memory_limit = limit);
    struct bioinfer_error err = {0};
    bioinfer_aligner *a = NULL;
    if (!CHECK(!bioinfer_aligner_new(&a, ctx, &p, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return a;
}

static void oracle_of(struct oracle_scoring *o, const bioinfer_aligner *a,
                      const struct setting *s)
{
    const char *letters = s->matrix ? protein : dna;
    memset(o, 0, sizeof *o);
    o->open = s->open;
    o->extend = s->extend;
    o->free_ends = s->free_ends;
    for (int i = 0; letters[i]; i++)
        for (int j = 0; letters[j]; j++)
            CHECK(bioinfer_aligner_score(a, letters[i], letters[j], &o->score[i][j]));
}

struct text {
    char *letters;
    uint8_t *codes;
    int n;
};

static struct text random_text(int n, int n_letters, const char *letters)
{
    struct text t = {malloc((size_t)n + 1), malloc((size_t)n + 1), n};
    for (int i = 0; i < n; i++)
        t.letters[i] = letters[t.codes[i] = (uint8_t)below((uint32_t)n_letters)];
    return t;
}

/* A copy with substitutions, and pieces left out or put in. */
static struct text relative(const struct text *a, int percent, int n_letters,
                            const char *letters)
{
    struct text t = {malloc((size_t)a->n * 2 + 64), malloc((size_t)a->n * 2 + 64), 0};
    for (int i = 0; i < a->n && t.n < 2 * a->n; i++) {
        const uint32_t dice = below(100);
        uint8_t code = a->codes[i];
        if (dice < (uint32_t)percent / 2)
            code = (uint8_t)below((uint32_t)n_letters);
        else if (dice < (uint32_t)percent * 3 / 4) {
            i += (int)below(9);
            continue;
        } else if (dice < (uint32_t)percent)
            for (uint32_t k = below(9); k; k--)
                t.letters[t.n] = letters[t.codes[t.n] = (uint8_t)below((uint32_t)n_letters)], t.n++;
        t.letters[t.n] = letters[t.codes[t.n] = code];
        t.n++;
    }
    if (!t.n)
        t.letters[0] = letters[t.codes[0] = 0], t.n = 1;
    return t;
}

static void free_text(struct text *t)
{
    free(t->letters);
    free(t->codes);
}

static struct bioinfer_align_pair pair_of(const struct text *q, const struct text *t)
{
    return (struct bioinfer_align_pair){q->letters, t->letters, (size_t)q->n, (size_t)t->n};
}

/* ---- tiny pairs: all of up to 4 letters, against enumeration ---- */

static void all_tiny_pairs(void)
{
    static const struct setting settings[] = {{NULL, 5, -4, 10, 1, 0, 0},
                                              {NULL, 1, -1, 2, 2, 0, 0},
                                              {NULL, 2, -9, 3, 1, 0, 0},
                                              {NULL, 0, -4, 8, 2, 0, 0}};
    enum { WORDS = 4 + 16 + 64 + 256 };
    static char letters[WORDS][5];
    static uint8_t codes[WORDS][4];
    static int length[WORDS];
    int n = 0;
    struct bioinfer_align_pair *pairs = calloc((size_t)WORDS * WORDS, sizeof *pairs);
    struct bioinfer_alignment *results = calloc((size_t)WORDS * WORDS, sizeof *results);

    for (int len = 1; len <= 4; len++)
        for (int w = 0; w < 1 << (2 * len); w++, n++) {
            length[n] = len;
            for (int k = 0; k < len; k++)
                letters[n][k] = dna[codes[n][k] = (uint8_t)(w >> (2 * k) & 3)];
        }
    CHECK_EQ(n, WORDS);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            pairs[i * n + j] = (struct bioinfer_align_pair){letters[i], letters[j],
                                                            (size_t)length[i], (size_t)length[j]};
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        struct oracle_scoring o;
        int64_t *want = calloc((size_t)n * (size_t)n, sizeof *want);
        for (int c = 0; c < n_contexts; c++)
            for (int traceback = 0; traceback < (c == 0 ? 2 : 1); traceback++) {
                bioinfer_aligner *a = open_aligner(contexts[c], &settings[k], traceback, 0, 0);
                long wrong = 0;
                oracle_of(&o, a, &settings[k]);
                CHECK(!bioinfer_aligner_run(a, pairs, (size_t)n * (size_t)n, results, NULL));
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) {
                        const int at = i * n + j;
                        if (!c && !traceback)
                            want[at] =
                                oracle_enumerate(&o, codes[i], length[i], codes[j], length[j]);
                        wrong += results[at].status || results[at].score != want[at] ||
                                 oracle_score(&o, codes[i], length[i], codes[j], length[j]) !=
                                     want[at] ||
                                 (traceback && oracle_cigar(&o, codes[i], codes[j], &results[at],
                                                            length[i], length[j]) != want[at]);
                    }
                CHECK_EQ(wrong, 0);
                bioinfer_aligner_free(&a);
            }
        free(want);
    }
    free(pairs);
    free(results);
}

/* ---- random pairs ---- */

static const struct setting random_settings[] = {
    {"BLOSUM62", 0, 0, 11, 1, 0, 0},   {"BLOSUM62", 0, 0, 20, 1, 2, BIOINFER_FREE_ENDS},
    {"PAM30", 0, 0, 4, 4, 0, 0},       {"PAM30", 0, 0, 9, 1, 0, 5},
    {"BLOSUM45", 0, 0, 120, 7, 0, 0},  {"PAM250", 0, 0, 3, 0, 0, BIOINFER_FREE_ENDS},
    {NULL, 5, -4, 10, 1, 0, 0},        {NULL, 2, -4, 6, 2, 0, 10},
    {NULL, 0, -4, 8, 2, 0, 0},         {NULL, 1, -1, 2, 2, 0, 12},
    {NULL, 1, -3, 2, 1, 0, 3},         {NULL, 40, -60, 90, 10, 0, 0},
    {NULL, 1000, -900, 9000, 100, 0, 0}, {NULL, 5, -4, 30000, 30000, 0, 0},
};

static void compare(const struct setting *s, const struct bioinfer_align_pair *pairs,
                    const struct text *q, const struct text *t, int n)
{
    struct bioinfer_alignment *results = calloc((size_t)n, sizeof *results);
    int64_t *want = calloc((size_t)n, sizeof *want);
    struct oracle_scoring o;
    long wrong = 0;

    for (int c = 0; c < n_contexts; c++)
        for (int traceback = 0; traceback < 2; traceback++) {
            bioinfer_aligner *a = open_aligner(contexts[c], s, traceback, (int)below(3), 0);
            if (!c && !traceback) {
                oracle_of(&o, a, s);
                for (int i = 0; i < n; i++)
                    want[i] = oracle_score(&o, q[i].codes, q[i].n, t[i].codes, t[i].n);
            }
            CHECK(!bioinfer_aligner_run(a, pairs, (size_t)n, results, NULL));
            for (int i = 0; i < n; i++) {
                bool bad = results[i].status || results[i].score != want[i];
                if (!bad && traceback)
                    bad = oracle_cigar(&o, q[i].codes, t[i].codes, &results[i], q[i].n, t[i].n) !=
                          want[i];
                if (bad && wrong++ < 3)
                    fprintf(stderr, "%s %s %d/%d gaps %d/%d free %u: %.*s x %.*s: %lld, want %lld%s\n",
                            masks[c], s->matrix ? s->matrix : "dna", s->match, s->mismatch,
                            s->open, s->extend, s->free_ends, q[i].n, q[i].letters, t[i].n,
                            t[i].letters, (long long)results[i].score, (long long)want[i],
                            traceback ? " (traceback)" : "");
            }
            bioinfer_aligner_free(&a);
        }
    CHECK_EQ(wrong, 0);
    free(results);
    free(want);
}

static long n_random = 20000;

static void random_pairs(void)
{
    enum { BATCH = 500 };
    static struct text q[BATCH], t[BATCH];
    static struct bioinfer_align_pair pairs[BATCH];
    const int n_settings = (int)(sizeof random_settings / sizeof *random_settings);

    for (long done = 0, round = 0; done < n_random; done += BATCH, round++) {
        const struct setting *s = &random_settings[round % n_settings];
        const int n_letters = s->matrix ? (round & 16 ? 24 : 20) : (round & 16 ? 5 : 4);
        const char *letters = s->matrix ? protein : dna;
        const uint32_t longest = round % 37 == 36 ? 700 : round % 5 == 4 ? 150 : 40;
        for (int i = 0; i < BATCH; i++) {
            q[i] = random_text(1 + (int)below(longest), n_letters, letters);
            t[i] = below(2) ? relative(&q[i], 30, n_letters, letters)
                            : random_text(1 + (int)below(longest), n_letters, letters);
            pairs[i] = pair_of(&q[i], &t[i]);
        }
        compare(s, pairs, q, t, longest == 700 ? 60 : BATCH);
        for (int i = 0; i < BATCH; i++) {
            free_text(&q[i]);
            free_text(&t[i]);
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"generic", "avx2", "avx512", "neon"};

    if (argc > 1)
        n_random = strtol(argv[1], NULL, 10);
    if (argc > 2)
        state = strtoull(argv[2], NULL, 10) * 2 + 1;
    for (int i = 0; i < 4; i++) {
        struct bioinfer_context_params p =
            BIOINFER_PARAMS(struct bioinfer_context_params, .cpu_mask = all[i], .n_threads = 2);
        struct bioinfer_align_params ap = BIOINFER_PARAMS(struct bioinfer_align_params, .ties = 0);
        bioinfer_context *ctx = NULL;
        bioinfer_aligner *a = NULL;
        CHECK(!bioinfer_context_new(&ctx, &p, NULL));
        if (!bioinfer_aligner_new(&a, ctx, &ap, NULL)) {
            masks[n_contexts] = all[i];
            contexts[n_contexts++] = ctx;
        } else {
            bioinfer_context_free(&ctx);
        }
        bioinfer_aligner_free(&a);
    }
    printf("%d instruction sets\n", n_contexts);
    TEST(all_tiny_pairs);
    TEST(random_pairs);
    for (int c = 0; c < n_contexts; c++)
        bioinfer_context_free(&contexts[c]);
    return test_report();
}

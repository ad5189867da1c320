/* identity_test.c - what is counted without a path against what paths have, by every set of
 * kernels, for all ties and modes.
 *
 *     align_identity [random groups (default 500)] [seed] */
#include <stdbool.h>

#include "aligners.h"

static long n_random = 500;

struct setting {
    const char *matrix;
    int match, mismatch, open, extend, open2, extend2;
    unsigned free_ends;
    int local;
};
static const struct setting settings[] = {
    /* these are counted without a path */
    {"BLOSUM62", 0, 0, 11, 1},
    {"BLOSUM62", 0, 0, 11, 1, 0, 0, BIOINFER_FREE_QUERY_BEGIN},
    {NULL, 5, -4, 10, 1},
    {NULL, 2, -4, 6, 2, 0, 0, BIOINFER_FREE_TARGET_BEGIN},
    {NULL, 0, -1, 1, 1}, /* linear, and unit costs */
    {"BLOSUM62", 0, 0, 4, 4, 0, 0, BIOINFER_FREE_QUERY_BEGIN | BIOINFER_FREE_TARGET_BEGIN},
    {NULL, 1, -1, 2, 0},
    {"BLOSUM62", 0, 0, 90, 10}, /* 16 bits */
    {NULL, 41, -60, 90, 10},
    {NULL, 41, -60, 120, 120}, /* the same, linear */
    {"BLOSUM62", 0, 0, 11, 1, 0, 0, BIOINFER_FREE_ENDS},
    {"BLOSUM62", 0, 0, 11, 1, 0, 0, BIOINFER_FREE_QUERY_END},
    {NULL, 5, -4, 10, 1, 0, 0, BIOINFER_FREE_ENDS},
    {NULL, 0, -1, 1, 1, 0, 0, BIOINFER_FREE_TARGET_BEGIN | BIOINFER_FREE_TARGET_END},
    {"BLOSUM62", 0, 0, 4, 4, 0, 0, BIOINFER_FREE_TARGET_END},
    {NULL, 41, -60, 90, 10, 0, 0, BIOINFER_FREE_QUERY_BEGIN | BIOINFER_FREE_QUERY_END},
    /* these are not */
    {NULL, 1, -9, 2, 1}, /* steep scores */
    {"PAM30", 0, 0, 9, 1, 0, 0, BIOINFER_FREE_QUERY_BEGIN},
    {"BLOSUM62", 0, 0, 1, 1, 0, 0, BIOINFER_FREE_ENDS},
    {"BLOSUM62", 0, 0, 25001, 1000}, /* plain loops */
    {"BLOSUM62", 0, 0, 11, 2, 16, 1},
    {"BLOSUM62", 0, 0, 11, 1, 0, 0, 0, 1}};
enum {
    SETTINGS = sizeof settings / sizeof *settings,
    COUNTED = 16,
    UNIT_COSTS = 4,
    OF_16_BITS = 7
};

static bi_aligner *open_aligner(bioinfer_context *ctx, const struct setting *s, int ties,
                                int traceback)
{
    const struct bioinfer_align_params p = BIOINFER_PARAMS(
        struct bioinfer_align_params, .matrix = s->matrix, .match = s->match,
        .mismatch = s->mismatch, .gap_open = s->open, .gap_extend = s->extend,
        .gap_open2 = s->open2, .gap_extend2 = s->extend2, .free_ends = s->free_ends,
        .local = s->local, .ties = ties, .traceback = traceback, .identity = 1,
        .scale = s->open > 20000 ? 1000 : 1);
    return aligner_of(ctx, &p);
}

/* Columns, those included that free ends leave out. */
static int64_t all_columns(const struct setting *s, const struct bioinfer_align_pair *p,
                           const struct bioinfer_alignment *r)
{
    return s->local ? r->columns
                    : r->columns + r->query_begin + r->target_begin +
                          ((int64_t)p->query_length - r->query_end) +
                          ((int64_t)p->target_length - r->target_end);
}

/* Whether a path is that of these letters, and has the columns and identities that are said. */
static bool is_told(const struct bioinfer_align_pair *p, const struct bioinfer_alignment *r)
{
    int64_t i = r->query_begin, j = r->target_begin, columns = 0, same = 0;
    for (size_t k = 0; k < r->n_cigar; k++) {
        const int64_t n = r->cigar[k] >> 4;
        const unsigned op = r->cigar[k] & 15;
        for (int64_t x = 0; x < n && op != 1 && op != 2; x++)
            same += p->query[i + x] == p->target[j + x];
        i += op == 2 ? 0 : n;
        j += op == 1 ? 0 : n;
        columns += n;
    }
    return i == r->query_end && j == r->target_end && columns == r->columns &&
           same == r->identities;
}

/* Whether no worker has made a path since the aligner was opened. */
static bool has_no_path(const bi_aligner *a)
{
    bool none = true;
    for (int t = 0; t < a->ctx->n_threads; t++)
        none = none && !a->workers[t].path.run;
    return none;
}

/* Under sanitizers, which look at memory, each set of kernels meets one way to break ties for a
 * group, and in turns all of them. */
static void compare(const struct setting *s, const struct bioinfer_align_pair *pairs, int n)
{
    static int n_compared;
    struct bioinfer_alignment *want = calloc((size_t)n, sizeof *want);
    struct bioinfer_alignment *found = calloc((size_t)n, sizeof *found);
    const bool sparse = getenv("BIOINFER_SANITIZED");
    long wrong = 0;
    n_compared++;
    for (int c = 0; c < n_contexts; c++)
        for (int ties = 0; ties < 3; ties++) {
            if (sparse && ties != (n_compared + c) % 3)
                continue;
            bi_aligner *a = open_aligner(contexts[c], s, ties, 1);
            bi_aligner *b = open_aligner(contexts[c], s, ties, 0);
            CHECK(!a->identity && b->identity);
            CHECK_EQ(b->plan.counts, s < settings + COUNTED);
            CHECK(!bi_aligner_run(a, pairs, (size_t)n, want, NULL));
            CHECK(!bi_aligner_run(b, pairs, (size_t)n, found, NULL));
            for (int i = 0; i < n; i++) {
                const struct bioinfer_alignment *w = &want[i], *f = &found[i];
                const bool same = !w->status && !f->status && is_told(&pairs[i], w) &&
                                  w->score == f->score && w->identities == f->identities &&
                                  !f->n_cigar && !f->cigar &&
                                  all_columns(s, &pairs[i], w) == f->columns &&
                                  all_columns(s, &pairs[i], f) == f->columns;
                if (!same && wrong++ < 3)
                    fprintf(stderr,
                            "%s, setting %d, ties %d: %.*s x %.*s: %lld of %lld, want %lld of "
                            "%lld\n",
                            masks[c], (int)(s - settings), ties, (int)pairs[i].query_length,
                            pairs[i].query, (int)pairs[i].target_length, pairs[i].target,
                            (long long)f->identities, (long long)f->columns,
                            (long long)w->identities, (long long)all_columns(s, &pairs[i], w));
            }
            bi_aligner_free(&a);
            bi_aligner_free(&b);
        }
    CHECK_EQ(wrong, 0);
    free(want);
    free(found);
}

/* Groups of pairs of about one size, of letters that tables of 11 or of 22 hold, or none; some are
 * related, some have pads. */
static void group(const struct setting *s, int n, int m, int n_letters)
{
    enum { PAIRS = 70 };
    const char *letters = s->matrix ? protein : dna;
    struct bioinfer_align_pair pairs[PAIRS];
    struct text q[PAIRS], t[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        const int rows = n - (i % 3 ? 0 : (int)below((uint32_t)n / 4 + 1));
        const int columns = m - (i % 3 ? 0 : (int)below((uint32_t)m / 4 + 1));
        q[i] = random_text(rows, n_letters, letters);
        t[i] = i % 4 == 1 ? relative(&q[i], (int)below(60), n_letters, letters)
                          : random_text(columns, n_letters, letters);
        for (int k = 0; i % 4 == 2 && k < rows && k < columns; k++)
            if (below(4))
                t[i].letters[k] = letters[t[i].codes[k] = q[i].codes[k]];
        pairs[i] = pair_of(&q[i], &t[i]);
    }
    compare(s, pairs, PAIRS);
    free_texts(q, t, PAIRS);
}

static void shapes(void)
{
    static const int sizes[][2] = {{1, 1},     {1, 90},    {90, 1},   {16, 4},
                                   {17, 33},   {239, 21},  {241, 50}, {255, 255},
                                   {256, 256}, {300, 270}, {500, 31}, {520, 515}};
    for (int k = 0; k < SETTINGS; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (i < 6 || (k + (int)i) % 4 == 0 || k < 5)
                group(&settings[k], sizes[i][0], sizes[i][1], settings[k].matrix ? 20 : 4);
}

static void random_groups(void)
{
    for (long i = 0; i < n_random; i++) {
        const struct setting *s = &settings[i % SETTINGS];
        const int most = s->matrix ? 24 : 5, n = 1 + (int)below(i % 9 ? 40 : 130);
        group(s, n, i % 2 ? n : 1 + (int)below((uint32_t)n * 2),
              2 + (int)below((uint32_t)most - 1));
    }
}

/* Equal letters alone, as many as lanes have room for and one more: more go by their paths. */
static void long_matches(void)
{
    static const struct {
        int setting, n;
        bool counted;
    } cases[] = {{0, 255, true}, {0, 256, false}, {OF_16_BITS, 900, true}};
    enum { PAIRS = 64 };
    struct bioinfer_align_pair pairs[PAIRS];
    struct bioinfer_alignment found[PAIRS];
    struct text q[PAIRS];
    for (size_t k = 0; k < BI_COUNT(cases); k++) {
        const struct setting *s = &settings[cases[k].setting];
        for (int i = 0; i < PAIRS; i++) {
            q[i] = random_text(cases[k].n - (cases[k].counted ? i % 5 : 0), s->matrix ? 20 : 4,
                               s->matrix ? protein : dna);
            pairs[i] = pair_of(&q[i], &q[i]);
        }
        compare(s, pairs, PAIRS);
        for (int c = 0; c < n_contexts; c++) {
            bi_aligner *a = open_aligner(contexts[c], s, 0, 0);
            CHECK(!bi_aligner_run(a, pairs, PAIRS, found, NULL));
            CHECK_EQ(has_no_path(a), cases[k].counted);
            for (int i = 0; i < PAIRS; i++)
                CHECK(found[i].identities == q[i].n && found[i].columns == q[i].n);
            bi_aligner_free(&a);
        }
        for (int i = 0; i < PAIRS; i++)
            free_text(&q[i]);
    }
}

/* Pairs that fill the lanes are counted by them, in every setting that counts. */
static void no_paths(void)
{
    enum { PAIRS = 64, N = 200 };
    struct bioinfer_align_pair pairs[PAIRS];
    struct bioinfer_alignment found[PAIRS];
    struct text q[PAIRS], t[PAIRS];
    for (int k = 0; k < SETTINGS; k++)
        for (int c = 0; k != UNIT_COSTS && c < n_contexts; c++) { /* these go by wavefronts, too */
            const int n_letters = settings[k].matrix ? 20 : 4;
            const char *letters = settings[k].matrix ? protein : dna;
            bi_aligner *a = open_aligner(contexts[c], &settings[k], 0, 0);
            for (int i = 0; i < PAIRS; i++) {
                q[i] = random_text(N, n_letters, letters);
                t[i] = random_text(N, n_letters, letters);
                pairs[i] = pair_of(&q[i], &t[i]);
            }
            CHECK(!bi_aligner_run(a, pairs, PAIRS, found, NULL));
            if (!CHECK_EQ(has_no_path(a), k < COUNTED))
                fprintf(stderr, "    %s, setting %d\n", masks[c], k);
            bi_aligner_free(&a);
            free_texts(q, t, PAIRS);
        }
}

int main(int argc, char **argv)
{
    n_random = texts_arguments(argc, argv, n_random);
    open_contexts();
    TEST(shapes);
    TEST(random_groups);
    TEST(long_matches);
    TEST(no_paths);
    close_contexts();
    return test_report();
}

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
    {"BLOSUM62", 0, 0, 11, 1},
    {"PAM30", 0, 0, 9, 1, 0, 0, BIOINFER_FREE_QUERY_BEGIN},
    {NULL, 5, -4, 10, 1},
    {NULL, 2, -4, 6, 2, 0, 0, BIOINFER_FREE_TARGET_BEGIN},
    {NULL, 0, -1, 1, 1}, /* linear, and unit costs */
    {"BLOSUM62", 0, 0, 4, 4, 0, 0, BIOINFER_FREE_QUERY_BEGIN | BIOINFER_FREE_TARGET_BEGIN},
    {NULL, 1, -9, 2, 1},             /* steep scores */
    {NULL, 41, -60, 90, 10},         /* 16 bits */
    {NULL, 41, -60, 70, 70},         /* the same, linear */
    {"BLOSUM62", 0, 0, 25001, 1000}, /* plain loops */
    {"BLOSUM62", 0, 0, 11, 1, 0, 0, BIOINFER_FREE_ENDS},
    {"BLOSUM62", 0, 0, 11, 1, 0, 0, BIOINFER_FREE_QUERY_END},
    {"BLOSUM62", 0, 0, 11, 2, 16, 1},
    {"BLOSUM62", 0, 0, 11, 1, 0, 0, 0, 1},
    {NULL, 1, -1, 2, 0}};
enum { SETTINGS = sizeof settings / sizeof *settings };

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

static long n_counted; /* pairs that many() counted */

static void compare(const struct setting *s, const struct bioinfer_align_pair *pairs, int n)
{
    struct bioinfer_alignment *want = calloc((size_t)n, sizeof *want);
    struct bioinfer_alignment *found = calloc((size_t)n, sizeof *found);
    long wrong = 0;

    for (int c = 0; c < n_contexts; c++)
        for (int ties = 0; ties < 3; ties++) {
            bi_aligner *a = open_aligner(contexts[c], s, ties, 1);
            bi_aligner *b = open_aligner(contexts[c], s, ties, 0);
            CHECK(!a->identity && b->identity);
            CHECK(!bi_aligner_run(a, pairs, (size_t)n, want, NULL));
            CHECK(!bi_aligner_run(b, pairs, (size_t)n, found, NULL));
            for (int i = 0; i < n; i++) {
                const struct bioinfer_alignment *w = &want[i], *f = &found[i];
                const bool same = !w->status && !f->status && w->score == f->score &&
                                  w->identities == f->identities && !f->n_cigar && !f->cigar &&
                                  all_columns(s, &pairs[i], w) == f->columns &&
                                  all_columns(s, &pairs[i], f) == f->columns;
                n_counted += b->plan.counts;
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
    CHECK(n_counted > 0);
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

/* Counts that pass 255 and 511 in lanes of 8 bits, in every residue. */
static void long_matches(void)
{
    static const struct setting s = {"BLOSUM62", 0, 0, 11, 1};
    enum { PAIRS = 66, N = 900 };
    struct bioinfer_align_pair pairs[PAIRS];
    struct text q[PAIRS];

    for (int i = 0; i < PAIRS; i++) {
        q[i] = random_text(N - i % 5, 20, protein);
        pairs[i] = pair_of(&q[i], &q[i]);
    }
    compare(&s, pairs, PAIRS);
    for (int i = 0; i < PAIRS; i++)
        free_text(&q[i]);
}

int main(int argc, char **argv)
{
    n_random = texts_arguments(argc, argv, n_random);
    open_contexts();
    TEST(shapes);
    TEST(random_groups);
    TEST(long_matches);
    close_contexts();
    return test_report();
}

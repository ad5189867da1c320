/* local_test.c - local alignments of random pairs by every set of kernels: scores against the
 * oracle, paths against the definition, for all ties; CIGARs are scored again.
 *
 *     align_local [random pairs (default 9000)] [seed] */
#include "../../align/aligner.h"
#include "../test.h"
#include "oracle.h"
#include "texts.h"

static const char letters[] = "ACGTRNDQ";
static long n_random = 9000, n_sparse;

/* Scores of two letters that are the same and of two that are not, and a matrix by chance. */
struct costs {
    int match, mismatch, open, extend;
    bool by_chance;
};
static const struct costs all_costs[] = {
    {5, -4, 10, 1},       {2, -3, 5, 2},      {1, -1, 1, 1},      {1, -1, 0, 0},
    {4, -2, 11, 1, true}, {10, -8, 20, 1},    {1, -9, 2, 1},      {3, 0, 4, 2, true},
    {-1, -2, 3, 1},       {200, -90, 300, 7}, {900, -700, 40, 9}, {40, -30, 50, 50, true}};
enum { COSTS = sizeof all_costs / sizeof *all_costs };

static void scoring_of(struct bi_align_scoring *s, const struct costs *c, int ties)
{
    *s = (struct bi_align_scoring){.n_letters = (int)sizeof letters - 1,
                                   .open = c->open,
                                   .extend = c->extend,
                                   .ties = ties,
                                   .local = true};
    for (int a = 0; a < s->n_letters; a++)
        for (int b = 0; b < s->n_letters; b++)
            s->score[a][b] = c->by_chance ? (int)below((uint32_t)(2 * c->match + 1)) - c->match
                             : a == b     ? c->match
                                          : c->mismatch;
}

/* One pair by one set of kernels, with a path and without. */
static int errors_of(const struct bi_cpu_kernels *k, struct bi_align_work *work,
                     const struct bi_align_scoring *s, const struct oracle_scoring *o,
                     const struct bi_align_input *in, const struct bi_align_end *end,
                     const struct bi_align_walk *begin, const struct bi_align_path *want)
{
    static struct bi_align_plan plan;
    struct bi_align_path path = {.env = work->env};
    int errors = 0;
    bi_align_plan_make(&plan, s, k->align);
    plan.memory_limit = 1 << 30;
    for (int trace = 0; trace < 3; trace++) {
        struct bi_align_end e;
        struct bi_align_walk b;
        bool sparse;
        int st = BIOINFER_LIMIT;
        if (trace == 2) { /* few rows are kept; lanes have 2 bytes or 4 */
            const int64_t strips = (in->n + BI_ALIGN_LOCAL_ROWS - 1) / BI_ALIGN_LOCAL_ROWS;
            const int64_t flags = (in->m + BI_ALIGN_LOCAL_ROWS) * BI_ALIGN_LOCAL_ROWS;
            int64_t group = 1;
            while (group * group < strips)
                group++;
            const int64_t rows = (strips + group - 1) / group + group;
            for (int64_t lane = 2; st == BIOINFER_LIMIT && lane <= 4; lane += 2) {
                path.n = 0;
                plan.memory_limit = (uint64_t)(flags + rows * 2 * in->m * lane);
                st = bi_align_local(&plan, work, in, &e, &b, &path, &sparse, NULL);
            }
            if (st == BIOINFER_LIMIT) /* costs beyond 8 bits */
                continue;
            n_sparse += sparse;
        } else {
            st = bi_align_local(&plan, work, in, &e, &b, trace ? &path : NULL, &sparse, NULL);
            errors += sparse;
        }
        if (st) {
            errors++;
            continue;
        }
        errors += e.score != end->score;
        if (!trace)
            continue;
        const struct bioinfer_alignment a = {.query_begin = b.i,
                                             .query_end = e.i,
                                             .target_begin = b.j,
                                             .target_end = e.j,
                                             .cigar = path.run,
                                             .n_cigar = path.n};
        errors += e.i != end->i || e.j != end->j || b.i != begin->i || b.j != begin->j;
        errors += path.n != want->n ||
                  (path.n && memcmp(path.run, want->run, path.n * sizeof *path.run));
        errors += oracle_cigar(o, in->query, in->target, &a, in->n, in->m) != e.score;
    }
    bi_align_path_free(&path);
    return errors;
}

static void random_pairs(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_align_work work = {.env = &env};
    const struct bi_cpu_kernels *k;
    long wrong = 0, nothing = 0;
    for (long round = 0; round < n_random; round++) {
        const int ties = (int)(round / COSTS % 3);
        struct bi_align_scoring s;
        struct oracle_scoring o = {.local = 1};
        struct bi_align_path want = {.env = &env};
        struct bi_align_walk begin;
        struct bi_align_end end;
        scoring_of(&s, &all_costs[round % COSTS], ties);
        o.open = s.open;
        o.extend = s.extend;
        for (int a = 0; a < s.n_letters; a++)
            for (int b = 0; b < s.n_letters; b++)
                o.score[a][b] = s.score[a][b];
        const int n_letters = 2 + (int)below((uint32_t)s.n_letters - 1);
        const int n = 1 + (int)below(round % 97 == 1 ? 700 : round % 7 ? 40 : 200);
        struct text q = random_text(n, n_letters, letters);
        struct text t = below(4) ? relative(&q, (int)below(101), n_letters, letters)
                                 : random_text(1 + (int)below(2 * (uint32_t)n), n_letters, letters);
        const struct bi_align_input in = {q.codes, t.codes, q.n, t.n};
        CHECK(!bi_align_reference(&env, &s, &in, &end, &begin, &want, NULL));
        wrong += end.score != oracle_score(&o, q.codes, q.n, t.codes, t.n);
        nothing += !end.score;
        for (int i = 0; (k = bi_cpu_kernels_usable(i)); i++)
            wrong += errors_of(k, &work, &s, &o, &in, &end, &begin, &want);
        bi_align_path_free(&want);
        free_text(&q);
        free_text(&t);
    }
    CHECK_EQ(wrong, 0);
    CHECK(nothing > 0 && nothing < n_random / 4);
    CHECK(n_sparse > n_random / 100);
    bi_align_work_free(&work);
}

/* Scores beyond 16 bits, and the same pair through the public calls. */
static void long_pair(void)
{
    enum { N = 9000 };
    bioinfer_context *ctx = NULL;
    struct text q = random_text(N, 4, letters), t = relative(&q, 4, 4, letters);
    const struct bioinfer_align_pair pair = pair_of(&q, &t);
    const struct bi_align_input in = {q.codes, t.codes, q.n, t.n};
    const struct bi_env env = bi_env_default();
    struct oracle_scoring o = {.open = 10, .extend = 1, .local = 1};
    struct bi_align_scoring s;
    CHECK(!bioinfer_context_new(&ctx, NULL, NULL));
    for (int i = 0; i < 16; i++)
        o.score[i / 4][i % 4] = i / 4 == i % 4 ? 5 : -4;
    scoring_of(&s, &all_costs[0], 0);
    for (int ties = 0; ties < 3; ties++) {
        struct bioinfer_align_params p = BIOINFER_PARAMS(
            struct bioinfer_align_params, .match = 5, .mismatch = -4, .gap_open = 10,
            .gap_extend = 1, .traceback = 1, .ties = ties, .local = 1);
        struct bioinfer_alignment r = {0};
        struct bi_align_path want = {.env = &env};
        struct bi_align_walk begin;
        struct bi_align_end end;
        bi_aligner *a = NULL;
        s.ties = ties;
        CHECK(!bi_align_reference(&env, &s, &in, &end, &begin, &want, NULL));
        CHECK(!bi_aligner_new(&a, ctx, &p, NULL));
        CHECK(!bi_aligner_run(a, &pair, 1, &r, NULL) && !r.status);
        CHECK(r.score == end.score && r.score > 1 << 15);
        CHECK(r.n_cigar == want.n && !memcmp(r.cigar, want.run, want.n * sizeof *want.run));
        CHECK_EQ(oracle_cigar(&o, q.codes, t.codes, &r, q.n, t.n), r.score);
        bi_align_path_free(&want);
        bi_aligner_free(&a);
    }
    free_text(&q);
    free_text(&t);
    bioinfer_context_free(&ctx);
}

static void refusals(void)
{
    bioinfer_context *ctx = NULL;
    bi_aligner *a = NULL;
    struct bioinfer_error err = {0};
    struct bioinfer_align_params p = BIOINFER_PARAMS(struct bioinfer_align_params, .local = 1,
                                                     .free_ends = BIOINFER_FREE_QUERY_END);
    CHECK(!bioinfer_context_new(&ctx, NULL, NULL));
    CHECK_EQ(bi_aligner_new(&a, ctx, &p, &err), BIOINFER_INVALID);
    CHECK(strstr(err.text, "local"));
    p.free_ends = 0;
    CHECK_EQ(bi_aligner_new_on(&a, ctx, &p, &bi_backend_null, &err), BIOINFER_UNSUPPORTED);
    CHECK(strstr(err.text, "--device cpu"));
    bioinfer_context_free(&ctx);
}

int main(int argc, char **argv)
{
    n_random = texts_arguments(argc, argv, n_random);
    TEST(random_pairs);
    TEST(long_pair);
    TEST(refusals);
    return test_report();
}

/* near_test.c - pairs of every divergence, 0 to 100 percent, by wavefronts, in bands and by
 * whatever an aligner chooses, against the oracle's scores and the definition's paths for all ties.
 *
 *     align_near [random pairs (default 4000)] [seed]
 *
 * So many pairs are made without free ends, as many with some, and as many whose gaps have two
 * pieces or whose letters are those of proteins. Most are short, so that 10^6 take some minutes of
 * a core:
 *   no free ends   12 in 13 up to 40 residues, the rest up to 300, but 1 in 389 up to 2,600
 *   free ends      12 in 13 up to 90 residues in up to 120 more, the rest up to 500
 *   bands          12 in 13 up to 60 residues, the rest up to 400
 * These numbers have no divisor in common with those of costs and ties, so that all meet. A run of
 * many pairs is split by the seed: `align_near 250000 1` to `align_near 250000 4`, one a core.
 *
 * Sections: tools, one pair, long pairs, random pairs, free ends, bands, calls. */
#include "../../align/aligner.h"
#include "../test.h"
#include "oracle.h"
#include "texts.h"

static const char dna[] = "ACGT", amino[] = "ARNDCQEGHILKMFPSTWYV";
static long n_random = 4000;
static const uint64_t most_kept = 48 << 20; /* bytes of a pair's wavefronts, and in all 300 MB */
static long n_kept, n_given_up, n_bits, n_placed;

/* ---- tools ---- */

struct costs {
    int match, mismatch, open, extend;
};

/* Every kind that wavefronts take, and of two that they do not: gaps that cost nothing, and
 * matches that cost more than gaps. */
static const struct costs all_costs[] = {
    {5, -4, 10, 1},  {2, -4, 6, 2},   {0, -4, 8, 2},  {0, -1, 1, 1},  {1, -1, 2, 2},  {0, -3, 4, 3},
    {10, -8, 20, 1}, {1, 0, 1, 1},    {3, -9, 2, 1},  {0, -9, 3, 2},  {-1, -3, 6, 2}, {1, -3, 1, 0},
    {1, 0, 0, 0},    {-9, -12, 4, 4}, {7, -3, 40, 2}, {5, -4, 400, 3}};
enum { COSTS = sizeof all_costs / sizeof *all_costs };
enum { FEW = 1000 }; /* pairs that need not have their share of each kind */

static void scoring_of(struct bi_align_scoring *s, const struct costs *c, int ties)
{
    *s = (struct bi_align_scoring){
        .n_letters = 4, .open = c->open, .extend = c->extend, .ties = ties};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            s->score[a][b] = a == b ? c->match : c->mismatch;
}

/* Gives some scorings a second piece of gaps. */
static void add_piece(struct bi_align_scoring *s, struct oracle_scoring *o)
{
    if (s->extend && !below(3)) {
        o->open2 = s->open2 = s->open + 1 + (int)below(40);
        o->extend2 = s->extend2 = (int)below((uint32_t)s->extend);
    }
}

/* A random text of n letters of the first few, and one like it. */
static void make_pair(int n, struct text *q, struct text *t)
{
    const int n_letters = 2 + (int)below(3);
    *q = random_text(n, n_letters, dna);
    *t = below(8) ? relative(q, (int)below(101), n_letters, dna)
                  : random_text(1 + (int)below((uint32_t)n + 9), n_letters, dna);
}

static void print_path(const uint32_t *run, size_t n)
{
    for (size_t k = 0; k < n; k++)
        fprintf(stderr, "%u%c", run[k] >> 4, "MIDNSHP=X"[run[k] & 15]);
    fprintf(stderr, "\n");
}

static bool same_path(const struct text *q, const struct text *t, const struct bi_align_path *want,
                      const uint32_t *run, size_t n)
{
    static int shown;
    const bool same = n == want->n && (!n || !memcmp(run, want->run, n * sizeof *run));
    if (!same && shown++ < 3) {
        fprintf(stderr, "%.*s x %.*s:\n", q->n, q->letters, t->n, t->letters);
        print_path(run, n);
        print_path(want->run, want->n);
    }
    return same;
}

/* ---- one pair ---- */

/* The pair by wavefronts: kept or not, with a bound from some wavefront on or without. */
static int wave_errors(struct bi_wave *w, const struct bi_align_scoring *s,
                       const struct bi_align_input *in, const struct text *q, const struct text *t,
                       int64_t score, const struct bi_align_path *want)
{
    static const uint32_t letters = 15;
    struct bi_env env = bi_env_default();
    struct bi_align_path path = {.env = &env};
    struct bi_align_walk begin;
    struct bi_align_end end;
    struct bi_wave_costs costs;
    int errors = 0;
    bi_wave_costs_make(&costs, s, letters);
    for (int way = 0; costs.extend && way < 4; way++) {
        const bool keep = way & 1, bounded = way & 2;
        int st = bi_wave_start(w, &costs, in, keep ? most_kept : 0, NULL);
        if (!st && bounded && !(st = bi_wave_run(w, (int64_t)below(3000), NULL)) &&
            (bi_wave_bound(w, INT64_MAX, NULL) != 1 ||
             bi_wave_score(&costs, in, bi_wave_most(w)) > score))
            errors++;
        if (!st)
            st = bi_wave_run(w, INT64_MAX, NULL);
        n_kept += keep;
        if (keep && !st) { /* more than may be kept: the pair would go another way */
            n_given_up++;
            bi_wave_end(w);
            continue;
        }
        if (st != 1 || bi_wave_score(&costs, in, bi_wave_penalty(w)) != score) {
            errors++;
            continue;
        }
        path.n = 0;
        if (keep) {
            bi_wave_path(w, s, &begin, &end, &path);
            errors += begin.i || begin.j || !same_path(q, t, want, path.run, path.n);
        }
        bi_wave_end(w);
    }
    bi_align_path_free(&path);
    return errors;
}

/* The pair in the band of its penalty and some more. */
static int band_errors(const struct bi_cpu_kernels *k, struct bi_align_work *work,
                       const struct bi_align_scoring *s, const struct bi_align_input *in,
                       const struct text *q, const struct text *t, int64_t score,
                       const struct bi_align_path *want)
{
    struct bi_align_path path = {.env = work->env};
    static struct bi_align_plan plan;
    struct bi_wave_costs costs;
    struct bi_align_walk begin;
    struct bi_align_end end;
    int64_t low, high;
    int errors = 0;
    bi_wave_costs_make(&costs, s, 15);
    bi_align_plan_make(&plan, s, k->align);
    plan.memory_limit = 1 << 30;
    if (!costs.extend || !plan.kernels)
        return 0;
    const int64_t points = (in->n + in->m) * costs.match - 2 * score;
    for (int trace = 0; trace < 2; trace++) {
        bi_wave_band(&costs, in, points / costs.unit + below(40), &low, &high);
        path.n = 0;
        errors += bi_align_band(&plan, work, in, low, high, &end, &begin, trace ? &path : NULL,
                                NULL) != 0 ||
                  end.score != score || (trace && !same_path(q, t, want, path.run, path.n));
    }
    bi_align_path_free(&path);
    return errors;
}

/* The pair by words of 64 rows, in the band of its penalty and some more. */
static int bits_errors(struct bi_align_work *work, const struct bi_align_scoring *s,
                       const struct bi_align_input *in, const struct text *q, const struct text *t,
                       int64_t score, const struct bi_align_path *want)
{
    struct bi_align_path path = {.env = work->env};
    struct bi_align_walk begin;
    struct bi_wave_costs costs;
    int errors = 0;
    bi_wave_costs_make(&costs, s, 15);
    if (costs.mismatch != 1 || costs.open != 1 || costs.extend != 1)
        return 0;
    const int64_t least = ((in->n + in->m) * costs.match - 2 * score) / costs.unit;
    for (int trace = 0; trace < 2; trace++) {
        int64_t low, high, penalty = -1;
        bi_wave_band(&costs, in, least + below(40), &low, &high);
        path.n = 0;
        errors += bi_align_bits(work, in, low, high, &penalty, s, &begin, trace ? &path : NULL,
                                NULL) != 0 ||
                  penalty != least ||
                  (trace && (begin.i || begin.j || !same_path(q, t, want, path.run, path.n)));
    }
    bi_align_path_free(&path);
    n_bits++;
    return errors;
}

/* ---- long pairs ---- */

/* Long pairs, whose bits are kept a window of columns at a time, against wavefronts. */
static void windows(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_align_work work = {.env = &env};
    struct bi_wave *wave = NULL;
    long wrong = 0;
    CHECK(!bi_wave_new(&wave, &env, bi_cpu_kernels_usable(0)->align(8), NULL));
    for (int round = 0; round < 12; round++) {
        struct bi_align_scoring s;
        struct bi_wave_costs costs;
        struct text q = random_text(7000 + (int)below(1000), 4, dna);
        struct text t = relative(&q, (int)below(40), 4, dna);
        const struct bi_align_input in = {q.codes, t.codes, q.n, t.n};
        struct bi_align_path want = {.env = &env};
        struct bi_align_walk begin;
        struct bi_align_end end;
        scoring_of(&s, &all_costs[3], round % 3);
        bi_wave_costs_make(&costs, &s, 15);
        CHECK(!bi_wave_start(wave, &costs, &in, UINT64_MAX, NULL));
        CHECK_EQ(bi_wave_bound(wave, INT64_MAX, NULL), 1);
        CHECK_EQ(bi_wave_run(wave, INT64_MAX, NULL), 1);
        bi_wave_path(wave, &s, &begin, &end, &want);
        const int64_t score = bi_wave_score(&costs, &in, bi_wave_penalty(wave));
        CHECK(bi_align_bits_size(&in, -in.n, in.m) < (uint64_t)(in.n * in.m) / 4);
        wrong += bits_errors(&work, &s, &in, &q, &t, score, &want);
        bi_wave_end(wave);
        bi_align_path_free(&want);
        free_text(&q);
        free_text(&t);
    }
    CHECK_EQ(wrong, 0);
    bi_wave_free(&wave);
    bi_align_work_free(&work);
}

/* Pairs in bands of fewer columns than the target has, whose rows are kept: costs by which a path
 * begins with gaps on both sides. */
static void bands(void)
{
    const struct bi_env env = bi_env_default();
    const struct bi_cpu_kernels *k = bi_cpu_kernels_usable(0);
    struct bi_align_work work = {.env = &env};
    long wrong = 0;
    for (int round = 0; round < 9; round++) {
        struct bi_align_scoring s;
        struct text q = random_text(2700, 4, dna), t = relative(&q, 16, 4, dna);
        struct bi_align_path want = {.env = &env};
        struct bi_align_walk begin;
        struct bi_align_end end;
        const int from = 20 + (int)below(30), left_out = 2 + (int)below(18);
        const struct bi_align_input in = {q.codes + left_out, t.codes + from, q.n - left_out,
                                          t.n - from};
        for (int i = 0; i < 12; i++) /* nothing there matches but by gaps */
            q.codes[left_out + i] = i < 4 ? 0 : 1, t.codes[from + i] = i < 6 ? 2 : 0;
        scoring_of(&s, &all_costs[8], round % 3);
        CHECK(!bi_align_reference(&env, &s, &in, &end, &begin, &want, NULL));
        wrong += band_errors(k, &work, &s, &in, &q, &t, end.score, &want);
        bi_align_path_free(&want);
        free_text(&q);
        free_text(&t);
    }
    CHECK_EQ(wrong, 0);
    bi_align_work_free(&work);
}

/* Where a band has not all of the best paths, one that leaves it is told and not followed. */
static void narrow_bands(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_align_work work = {.env = &env};
    struct bi_align_path path = {.env = &env};
    static struct bi_align_plan plan;
    long n_left = 0, wrong = 0;
    for (int round = 0; round < 300; round++) {
        struct bi_align_scoring s;
        struct text q = random_text(400, 4, dna), t = random_text(400, 4, dna);
        const struct bi_align_input in = {q.codes, t.codes, q.n, t.n};
        struct bi_align_walk begin = {0};
        struct bi_align_end end;
        struct bioinfer_error err = {0};
        scoring_of(&s, &all_costs[round % 8], round % 3);
        bi_align_plan_make(&plan, &s, bi_cpu_kernels_usable(0)->align);
        plan.memory_limit = 1 << 30;
        path.n = 0;
        const int st = bi_align_band(&plan, &work, &in, -2, 2, &end, &begin, &path, &err);
        wrong += st ? st != BIOINFER_INTERNAL || !strstr(err.text, "leaves its band")
                    : begin.i || begin.j || !path.n;
        n_left += st != 0;
        free_text(&q);
        free_text(&t);
    }
    CHECK_EQ(wrong, 0);
    CHECK(n_left > 0);
    bi_align_path_free(&path);
    bi_align_work_free(&work);
}

/* ---- random pairs ---- */

static void wavefronts(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_align_work work = {.env = &env};
    struct bi_wave *waves[4];
    const struct bi_cpu_kernels *k, *sets[4];
    int n_sets = 0;
    long wrong = 0;
    for (; n_sets < 4 && (k = bi_cpu_kernels_usable(n_sets)); n_sets++)
        CHECK(!bi_wave_new(&waves[n_sets], &env, (sets[n_sets] = k)->align(8), NULL));
    for (long round = 0; round < n_random; round++) {
        struct bi_align_scoring s;
        struct oracle_scoring o = {.open = all_costs[round % COSTS].open,
                                   .extend = all_costs[round % COSTS].extend};
        struct text q, t;
        struct bi_align_path want = {.env = &env};
        struct bi_align_walk begin;
        struct bi_align_end end;
        scoring_of(&s, &all_costs[round % COSTS], (int)(round / COSTS % 3));
        add_piece(&s, &o);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                o.score[a][b] = s.score[a][b];
        make_pair(1 + (int)below(round % 389 == 1 ? 2600 : round % 13 ? 40 : 300), &q, &t);
        const struct bi_align_input in = {q.codes, t.codes, q.n, t.n};
        const int64_t score = oracle_score(&o, q.codes, q.n, t.codes, t.n);
        CHECK(!bi_align_reference(&env, &s, &in, &end, &begin, &want, NULL));
        wrong += end.score != score;
        for (int i = 0; i < n_sets; i++)
            wrong += wave_errors(waves[i], &s, &in, &q, &t, score, &want) +
                     band_errors(sets[i], &work, &s, &in, &q, &t, score, &want);
        wrong += bits_errors(&work, &s, &in, &q, &t, score, &want);
        bi_align_path_free(&want);
        free_text(&q);
        free_text(&t);
    }
    CHECK_EQ(wrong, 0);
    CHECK(n_random < FEW || n_given_up < n_kept / 50);
    CHECK(n_bits >= n_random / COSTS / 2);
    bi_align_work_free(&work);
    for (int i = 0; i < n_sets; i++)
        bi_wave_free(&waves[i]);
}

/* ---- free ends ---- */

/* The best alignment of a pair with free ends, as the definition has it. */
struct best {
    struct bi_align_end end;
    struct bi_align_walk begin;
    struct bi_align_path path;
};

static bool same_alignment(const struct text *q, const struct text *t, const struct best *want,
                           const struct bi_align_place *place, const struct bi_align_end *end,
                           const struct bi_align_walk *begin, const struct bi_align_path *path)
{
    return end->i + place->query_begin == want->end.i &&
           end->j + place->target_begin == want->end.j &&
           begin->i + place->query_begin == want->begin.i &&
           begin->j + place->target_begin == want->begin.j &&
           same_path(q, t, &want->path, path->run, path->n);
}

/* The pair in the place that its penalty and some more give, by wavefronts and by strips. */
static int free_errors(struct bi_wave *w, const struct bi_cpu_kernels *k,
                       struct bi_align_words *words, struct bi_align_work *work,
                       const struct bi_align_scoring *s, enum bi_wave_whole whole,
                       const struct bi_align_input *in, const struct text *q, const struct text *t,
                       const struct best *want)
{
    struct bi_align_path path = {.env = work->env};
    static struct bi_align_plan plan;
    struct bi_wave_costs costs;
    struct bi_align_place place;
    struct bi_align_walk begin;
    struct bi_align_end end;
    int64_t low, high;
    bool anywhere = false;
    int errors = 0;
    bi_wave_costs_make_free(&costs, s, 15, whole);
    if (!costs.extend || bi_align_words_find(words, in, whole, NULL) != 1)
        return 0;
    const int64_t penalty = bi_wave_free_penalty(&costs, in, want->end.score);
    const int64_t limit = penalty + (below(2) ? 0 : below(20));
    if (bi_wave_score(&costs, in, penalty) != want->end.score)
        return 1;
    if (!bi_align_words_range(words, &costs, limit, &low, &high, &anywhere))
        return !anywhere;
    if (!bi_align_place_make(&costs, in, low, high, &place))
        return 1;
    n_placed++;
    bi_align_plan_make(&plan, s, k->align);
    plan.memory_limit = 1 << 30;
    for (int way = 0; way < 4; way++) {
        const bool trace = way & 1, wave = way & 2;
        path.n = 0;
        if (!wave && plan.kernels) {
            errors += bi_align_band_free(&plan, work, &place, &end, &begin, trace ? &path : NULL,
                                         NULL) != 0 ||
                      end.score != want->end.score ||
                      (trace && !same_alignment(q, t, want, &place, &end, &begin, &path));
        } else if (wave) {
            errors += bi_wave_start_free(w, &costs, &place, (int32_t)limit, trace ? most_kept : 0,
                                         NULL) != 0 ||
                      bi_wave_run(w, INT64_MAX, NULL) != 1 || bi_wave_penalty(w) != penalty;
            if (!errors && trace) {
                bi_wave_path(w, s, &begin, &end, &path);
                errors += !same_alignment(q, t, want, &place, &end, &begin, &path);
            }
            bi_wave_end(w);
        }
    }
    bi_align_path_free(&path);
    return errors;
}

/* A text and one like a piece of it, with some more letters at either end, now and then fewer. */
static void make_inside(int n, struct text *q, struct text *t)
{
    const int n_letters = 2 + (int)below(3), before = (int)below(60), behind = (int)below(60);
    const int percent = (int)below(below(8) ? 6 : 101);
    struct text piece = random_text(n, n_letters, dna);
    const int cut = below(5) ? 0 : (int)below((uint32_t)n);
    *q = relative(&piece, percent, n_letters, dna);
    *t = random_text(n - cut + before + behind, n_letters, dna);
    memcpy(t->codes + before, piece.codes + (below(2) ? cut : 0), (size_t)(n - cut));
    for (int j = before; j < before + n - cut; j++)
        t->letters[j] = dna[t->codes[j]];
    free_text(&piece);
    if (below(2)) {
        const struct text other = *q;
        *q = *t;
        *t = other;
    }
}

/* Pairs with free ends, in all combinations of these. */
static void free_ends(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_align_work work = {.env = &env};
    struct bi_align_words words = {.env = &env};
    struct bi_wave *waves[4];
    const struct bi_cpu_kernels *k, *sets[4];
    long wrong = 0, n = 0;
    int n_sets = 0;
    for (; n_sets < 4 && (k = bi_cpu_kernels_usable(n_sets)); n_sets++)
        CHECK(!bi_wave_new(&waves[n_sets], &env, (sets[n_sets] = k)->align(8), NULL));
    for (long round = 0; round < n_random; round++) {
        const struct costs *c = &all_costs[round % COSTS];
        struct oracle_scoring o = {.open = c->open, .extend = c->extend};
        struct best want = {.path = {.env = &env}};
        struct bi_align_scoring s;
        struct text q, t;
        scoring_of(&s, c, (int)(round / COSTS % 3));
        s.free_ends = o.free_ends = 1 + below(15);
        add_piece(&s, &o);
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                o.score[a][b] = s.score[a][b];
        make_inside(1 + (int)below(round % 13 ? 90 : 500), &q, &t);
        const struct bi_align_input in = {q.codes, t.codes, q.n, t.n};
        CHECK(!bi_align_reference(&env, &s, &in, &want.end, &want.begin, &want.path, NULL));
        wrong += want.end.score != oracle_score(&o, q.codes, q.n, t.codes, t.n);
        const bool some = !(s.free_ends & BIOINFER_FREE_TARGET_END &&
                            want.end.score <= bi_align_left(&s, in.n)) &&
                          !(s.free_ends & BIOINFER_FREE_QUERY_END &&
                            want.end.score <= bi_align_top(&s, in.m));
        const bool by_query = (q.n <= t.n) == (below(8) != 0);
        for (int i = 0; some && i < n_sets; i++, n++)
            wrong += free_errors(waves[i], sets[i], &words, &work, &s,
                                 by_query ? BI_WAVE_QUERY : BI_WAVE_TARGET, &in, &q, &t, &want);
        bi_align_path_free(&want.path);
        free_text(&q);
        free_text(&t);
    }
    CHECK_EQ(wrong, 0);
    CHECK(n_random < FEW || n_placed > n / 16);
    bi_align_work_free(&work);
    bi_align_words_free(&words);
    for (int i = 0; i < n_sets; i++)
        bi_wave_free(&waves[i]);
}

/* ---- bands ---- */

/* Two random pieces of costs, or a random matrix that is like those of proteins. */
static void random_scoring(struct bi_align_scoring *s, int n_letters)
{
    const int open = 1 + (int)below(20), extend = 1 + (int)below(open < 5 ? (uint32_t)open : 5);
    const int most = 1 + (int)below(12), asymmetric = !below(3);
    *s = (struct bi_align_scoring){.n_letters = n_letters, .open = open, .extend = extend};
    s->ties = (int)below(3);
    if (n_letters == 4 || below(2)) {
        s->open2 = open + 1 + (int)below(40);
        s->extend2 = (int)below((uint32_t)extend);
    }
    for (int a = 0; a < n_letters; a++)
        for (int b = 0; b <= a; b++) {
            s->score[a][b] = a == b ? most - (int)below(5) : 2 - (int)below(8);
            s->score[b][a] = asymmetric && a != b ? 2 - (int)below(8) : s->score[a][b];
        }
    if (n_letters == 4)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++)
                s->score[a][b] = a == b ? most : -open;
}

/* The letter whose own is the least. */
static int least_letter(const struct bi_align_owns *o, int n_letters)
{
    int least = 0;
    for (int a = 1; a < n_letters; a++)
        least = o->own[a] < o->own[least] ? a : least;
    return least;
}

/* A text with some of one letter in front, and the same with some behind: all of what such a pair
 * differs by is two gaps, and its path goes as far as its penalty can. */
static void make_shifted(const char *letters, int n_letters, int letter, struct text *q,
                         struct text *t)
{
    const int n = 40 + (int)below(200), front = 1 + (int)below(40), behind = 1 + (int)below(40);
    *q = random_text(n + front, n_letters, letters);
    *t = random_text(n + behind, n_letters, letters);
    memcpy(t->codes, q->codes + front, (size_t)n);
    memset(q->codes, letter, (size_t)front);
    memset(t->codes + n, letter, (size_t)behind);
    for (int i = 0; i < q->n; i++)
        q->letters[i] = letters[q->codes[i]];
    for (int j = 0; j < t->n; j++)
        t->letters[j] = letters[t->codes[j]];
    if (below(2)) {
        const struct text other = *q;
        *q = *t;
        *t = other;
    }
}

/* Pairs of such costs in the band of their penalty and some more. */
static void owns(void)
{
    const struct bi_env env = bi_env_default();
    struct bi_align_work work = {.env = &env};
    static struct bi_align_plan plan;
    const struct bi_cpu_kernels *k;
    long wrong = 0, narrower = 0;
    for (long round = 0; round < n_random; round++) {
        const int n_letters = round % 2 ? 20 : 4, length = round % 13 ? 60 : 400;
        const char *letters = n_letters == 4 ? dna : amino;
        struct text q, t;
        struct bi_align_path want = {.env = &env}, path = {.env = &env};
        struct bi_align_scoring s;
        struct bi_align_walk begin;
        struct bi_align_end end, best;
        struct bi_align_owns o;
        int64_t low, high;
        random_scoring(&s, n_letters);
        bi_align_owns_make(&o, &s, (1u << n_letters) - 1);
        if (round % 5 == 1) {
            make_shifted(letters, n_letters, least_letter(&o, n_letters), &q, &t);
        } else {
            q = random_text(1 + (int)below((uint32_t)length), n_letters, letters);
            t = relative(&q, (int)below(below(4) ? 20 : 101), n_letters, letters);
        }
        const struct bi_align_input in = {q.codes, t.codes, q.n, t.n};
        CHECK(!bi_align_reference(&env, &s, &in, &best, &begin, &want, NULL));
        const int64_t penalty = bi_align_owns_penalty(&o, &in, best.score);
        wrong += penalty < 0;
        bi_align_owns_band(&o, &s, &in, penalty + (below(2) ? 0 : below(60)), &low, &high);
        narrower += o.usable && high - low < in.n;
        for (int i = 0; o.usable && i < 4 && (k = bi_cpu_kernels_usable(i)); i++) {
            bi_align_plan_make(&plan, &s, k->align);
            plan.memory_limit = 1 << 30;
            bool right = true; /* a path that leaves its band is not followed */
            for (int trace = 0; plan.kernels && right && trace < 2; trace++) {
                path.n = 0;
                right = !bi_align_band(&plan, &work, &in, low, high, &end, &begin,
                                       trace ? &path : NULL, NULL) &&
                        end.score == best.score &&
                        (!trace || same_path(&q, &t, &want, path.run, path.n));
                wrong += !right;
            }
        }
        bi_align_path_free(&want);
        bi_align_path_free(&path);
        free_text(&q);
        free_text(&t);
    }
    CHECK_EQ(wrong, 0);
    CHECK(n_random < FEW || narrower > n_random / 4);
    bi_align_work_free(&work);
}

/* ---- calls ---- */

enum { PAIRS = 40 };

/* The pairs of a call, and what the definition finds. */
struct mix {
    int n;
    struct text q[PAIRS], t[PAIRS];
    struct best want[PAIRS];
};

static void find_best(struct mix *mix, const struct bi_env *env, const struct bi_align_scoring *s)
{
    for (int i = 0; i < mix->n; i++) {
        const struct text *q = &mix->q[i], *t = &mix->t[i];
        const struct bi_align_input in = {q->codes, t->codes, q->n, t->n};
        struct best *want = &mix->want[i];
        *want = (struct best){.path = {.env = env}};
        CHECK(!bi_align_reference(env, s, &in, &want->end, &want->begin, &want->path, NULL));
    }
}

static void free_mix(struct mix *mix)
{
    for (int i = 0; i < mix->n; i++) {
        bi_align_path_free(&mix->want[i].path);
        free_text(&mix->q[i]);
        free_text(&mix->t[i]);
    }
}

static bool is_best(const struct text *q, const struct text *t, const struct best *want,
                    const struct bioinfer_alignment *r)
{
    return r->query_begin == want->begin.i && r->target_begin == want->begin.j &&
           r->query_end == want->end.i && r->target_end == want->end.j &&
           same_path(q, t, &want->path, r->cigar, r->n_cigar);
}

/* Aligns the mix in one call, with paths and without; *n_near: calls that ended with a pair that
 * was taken for a near one, and was. */
static long call_errors(bioinfer_context *ctx, struct bioinfer_align_params p,
                        const struct mix *mix, long *n_near)
{
    struct bioinfer_align_pair pairs[PAIRS];
    struct bioinfer_alignment r[PAIRS];
    long wrong = 0;
    for (int i = 0; i < mix->n; i++)
        pairs[i] = pair_of(&mix->q[i], &mix->t[i]);
    for (p.traceback = 0; p.traceback < 2; p.traceback++) {
        bi_aligner *a = NULL;
        CHECK(!bi_aligner_new(&a, ctx, &p, NULL));
        CHECK(!bi_aligner_run(a, pairs, (size_t)mix->n, r, NULL));
        for (int i = 0; i < mix->n; i++)
            wrong += r[i].status || r[i].score != mix->want[i].end.score ||
                     (p.traceback && !is_best(&mix->q[i], &mix->t[i], &mix->want[i], &r[i]));
        *n_near += a->workers[0].near;
        bi_aligner_free(&a);
    }
    return wrong;
}

static void count_defects(void *user, int level, const char *text)
{
    (void)level;
    *(long *)user += strstr(text, "a defect") != NULL;
}

/* Opens a context that counts what its log calls a defect. */
static bioinfer_context *open_counting(long *n_defects, int n_threads)
{
    const struct bioinfer_context_params p = BIOINFER_PARAMS(
        struct bioinfer_context_params, .n_threads = n_threads, .log = count_defects,
        .log_user = n_defects);
    bioinfer_context *ctx = NULL;
    *n_defects = 0;
    CHECK(!bioinfer_context_new(&ctx, &p, NULL));
    return ctx;
}

/* Calls of many pairs, long enough that an aligner tries what it does not know: near and far ones
 * in turn, so that what it learns from some is wrong for others. */
static void calls(void)
{
    const struct bi_env env = bi_env_default();
    static struct mix mix = {.n = PAIRS};
    long wrong = 0, n_defects, n_near = 0;
    bioinfer_context *ctx = open_counting(&n_defects, 0);
    for (int round = 0; round < 4 * (COSTS - 2); round++) {
        const struct costs *c = &all_costs[round % COSTS];
        struct bi_align_scoring s;
        scoring_of(&s, c, round % 3);
        if (round % 3 == 1 && c->extend) {
            s.open2 = c->open + 20;
            s.extend2 = c->extend - 1;
        }
        s.free_ends = round % 2 ? below(8) ? 1 + below(15) : BIOINFER_FREE_ENDS : 0;
        for (int i = 0; i < PAIRS; i++) {
            const int n = 100 + (int)below(i % 20 ? 400 : 2000);
            if (s.free_ends)
                make_inside(n, &mix.q[i], &mix.t[i]);
            else
                make_pair(n, &mix.q[i], &mix.t[i]);
        }
        find_best(&mix, &env, &s);
        const struct bioinfer_align_params p = BIOINFER_PARAMS(
            struct bioinfer_align_params, .match = c->match, .mismatch = c->mismatch,
            .gap_open = c->open, .gap_extend = c->extend, .gap_open2 = s.open2,
            .gap_extend2 = s.extend2, .free_gaps = !c->open, .ties = s.ties,
            .free_ends = s.free_ends);
        wrong += call_errors(ctx, p, &mix, &n_near);
        free_mix(&mix);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(n_defects, 0);
    bioinfer_context_free(&ctx);
}

/* Calls of near pairs that are so long that a band is worth it: proteins, or gaps of two pieces. */
static void band_calls(void)
{
    const struct bi_env env = bi_env_default();
    static struct mix mix = {.n = 6};
    long wrong = 0, n_defects, n_near = 0;
    bioinfer_context *ctx = open_counting(&n_defects, 1);
    for (int round = 0; round < (n_random < FEW ? 2 : 6); round++) {
        const bool two = round % 2;
        const struct bioinfer_align_params p = BIOINFER_PARAMS(
            struct bioinfer_align_params, .matrix = two ? NULL : "BLOSUM62", .match = 2 * two,
            .mismatch = -4 * two, .gap_open = two ? 6 : 11, .gap_extend = two ? 2 : 1,
            .gap_open2 = 26 * two, .gap_extend2 = two, .ties = round / 2);
        bi_aligner *a = NULL;
        CHECK(!bi_aligner_new(&a, ctx, &p, NULL));
        for (int i = 0; i < mix.n; i++) {
            mix.q[i] = random_text(2000 + (int)below(500), two ? 4 : 20, two ? dna : amino);
            mix.t[i] = relative(&mix.q[i], (int)below(8), two ? 4 : 20, two ? dna : amino);
        }
        find_best(&mix, &env, &a->plan.scoring);
        wrong += a->unit != 1;
        bi_aligner_free(&a);
        wrong += call_errors(ctx, p, &mix, &n_near);
        free_mix(&mix);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(n_defects, 0);
    CHECK(n_near > 0);
    bioinfer_context_free(&ctx);
}

int main(int argc, char **argv)
{
    n_random = texts_arguments(argc, argv, n_random);
    TEST(bands);
    TEST(narrow_bands);
    TEST(wavefronts);
    TEST(free_ends);
    TEST(owns);
    TEST(windows);
    TEST(calls);
    TEST(band_calls);
    return test_report();
}

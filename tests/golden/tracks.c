/* tracks.c - families from DNA to tracks: fidelity against reference outputs, and the bits of
 * windows that reuse another one's features.
 *
 *   tracks FOLDER [--device NAME] [--no-rule NAMES] [--positions NAME] [--exact]
 *          [--data-positions FILE]      of the folder $BIOINFER_DATA; skipped without it
 *
 * FOLDER: weights, window.fa, HEAD.npy for each head (tools/golden_tracks.py). Gates: cosine of
 * every bin over tracks and of every track over bins; --exact: only the bits. */
#include <math.h>
#include <stdbool.h>

#include "../../include/bioinfer.h"
#include "../test.h"
#include "gates.h"

/* The relative error of a value above a hundredth of the largest. */
#define GATE_TRACKS_RELATIVE 1e-3

struct golden {
    bioinfer_context *ctx;
    bioinfer_model *model;
    struct bioinfer_tracks_info info;
    char *sequence;
    const char *folder, *no_rules;
};

static float *read_npy(const char *path, int64_t rows, int64_t cols)
{
    unsigned char head[10];
    char text[512] = "", shape[64];
    float *x = malloc((size_t)(rows * cols) * sizeof *x);
    FILE *f = fopen(path, "rb");
    size_t n;
    if (!f || !x || fread(head, 1, 10, f) != 10) {
        fprintf(stderr, "%s: not there\n", path);
        exit(1);
    }
    n = (size_t)(head[8] | head[9] << 8);
    if (n >= sizeof text || fread(text, 1, n, f) != n)
        exit(1);
    snprintf(shape, sizeof shape, "(%lld, %lld)", (long long)rows, (long long)cols);
    CHECK_HAS(text, shape);
    CHECK_HAS(text, "'<f4'");
    if (fread(x, sizeof *x, (size_t)(rows * cols), f) != (size_t)(rows * cols))
        exit(1);
    fclose(f);
    return x;
}

static double cosine(const float *a, const float *b, int64_t n, int64_t step)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = (double)a[i * step], y = (double)b[i * step];
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return ab / sqrt(aa * bb);
}

static bioinfer_tracks *open_tracks(const struct golden *g, struct bioinfer_tracks_params *p)
{
    struct bioinfer_error err = {0};
    bioinfer_tracks *t = NULL;
    p->struct_size = sizeof *p;
    p->no_rules = g->no_rules;
    if (!CHECK_EQ(bioinfer_tracks_new(&t, g->model, p, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    return t;
}

static float *run(const struct golden *g, bioinfer_tracks *t, const char *sequence, int mode)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    float *y;
    bioinfer_tracks_get_info(t, &info);
    y = calloc((size_t)(info.n_bins * info.n_tracks), sizeof *y);
    if (!y || !CHECK_EQ(bioinfer_tracks_run(t, sequence, (size_t)info.window, mode, y, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    (void)g;
    return y;
}

static void fidelity(const struct golden *g)
{
    const char *head;
    for (int i = 0; (head = bioinfer_model_head(g->model, i, NULL)); i++) {
        struct bioinfer_tracks_params p = {.head = head};
        struct bioinfer_tracks_info info = {.struct_size = sizeof info};
        bioinfer_tracks *t = open_tracks(g, &p);
        double worst = 1, relative = 0, most = 0;
        char path[512];
        float *got, *want;
        bioinfer_tracks_get_info(t, &info);
        got = run(g, t, g->sequence, BIOINFER_WINDOW);
        snprintf(path, sizeof path, "%s/%s.npy", g->folder, head);
        want = read_npy(path, info.n_bins, info.n_tracks);
        for (int64_t b = 0; b < info.n_bins; b++)
            worst = fmin(
                worst, cosine(got + b * info.n_tracks, want + b * info.n_tracks, info.n_tracks, 1));
        for (int64_t k = 0; k < info.n_tracks; k++)
            worst = fmin(worst, cosine(got + k, want + k, info.n_bins, info.n_tracks));
        for (int64_t k = 0; k < info.n_bins * info.n_tracks; k++)
            most = fmax(most, (double)want[k]);
        for (int64_t k = 0; k < info.n_bins * info.n_tracks; k++)
            if ((double)want[k] > 0.01 * most)
                relative = fmax(relative, fabs((double)got[k] - (double)want[k]) / (double)want[k]);
        printf("%s: %lld bins x %d tracks: worst cosine 1 - %.1e, worst relative error %.1e\n",
               head, (long long)info.n_bins, info.n_tracks, 1 - worst, relative);
        CHECK(worst >= GATE_COSINE);
        CHECK(relative <= GATE_TRACKS_RELATIVE);
        free(got);
        free(want);
        bioinfer_tracks_free(&t);
    }
}

/* Bases first ... first + n - 1 of a copy become others. */
static char *changed(const struct golden *g, int64_t first, int64_t n)
{
    char *s = malloc((size_t)g->info.window);
    memcpy(s, g->sequence, (size_t)g->info.window);
    for (int64_t i = first; i < first + n; i++)
        s[i] = s[i] == 'A' || s[i] == 'a' ? 'G' : 'A';
    return s;
}

static bool same(const float *a, const float *b, int64_t n)
{
    return !memcmp(a, b, (size_t)n * sizeof *a);
}

/* A changed window gives the bits of a run of its own, wherever and however much it changes. */
static void exact(const struct golden *g)
{
    const int64_t w = g->info.window, n = g->info.n_bins * g->info.n_tracks;
    const int64_t token = g->info.window / g->info.n_tokens;
    const struct {
        int64_t first, n;
    } changes[] = {{0, 1},     {1, 3},         {w / 2, 1},     {w / 2 - 1, 2}, {w / 3, token},
                   {w - 1, 1}, {w - 200, 150}, {token - 1, 2}, {w / 2 + 5, 0}, {w / 4, w / 2}};
    struct bioinfer_tracks_params p = {.keep = 1};
    bioinfer_tracks *t = open_tracks(g, &p);
    float *before = run(g, t, g->sequence, BIOINFER_WINDOW), *y;
    bool differs = false;
    y = run(g, t, g->sequence, BIOINFER_REFERENCE);
    CHECK(same(before, y, n));
    free(y);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *s = changed(g, changes[i].first, changes[i].n);
        float *whole = run(g, t, s, BIOINFER_WINDOW), *cut = run(g, t, s, BIOINFER_CHANGED);
        if (!CHECK(same(whole, cut, n)))
            fprintf(stderr, "    %lld bases from %lld\n", (long long)changes[i].n,
                    (long long)changes[i].first);
        differs |= !same(whole, before, n);
        free(whole);
        free(cut);
        free(s);
    }
    CHECK(differs);
    y = run(g, t, g->sequence, BIOINFER_CHANGED); /* the reference is as it was */
    CHECK(same(before, y, n));
    free(y);
    free(before);
    bioinfer_tracks_free(&t);
}

/* Many changed windows in one call: usual ones, at the ends, long ones, none, letters in the other
 * case; then of another reference. Each has the bits of its own run. */
static void company(const struct golden *g)
{
    enum { N = 37 };
    const int64_t w = g->info.window, n = g->info.n_bins * g->info.n_tracks;
    const int shifts[] = {-2};
    struct bioinfer_tracks_params p = {
        .keep = 1, .shifts = shifts, .n_shifts = 1, .reverse_complement = 1};
    struct bioinfer_error err = {0};
    bioinfer_tracks *t = open_tracks(g, &p);
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct golden other = *g;
    float *all = calloc((size_t)(N * n), sizeof *all);
    char *s[N];
    other.sequence = changed(g, w / 7, w / 2);
    for (int again = 0; again < 2; again++) {
        const struct golden *of = again ? &other : g;
        for (int i = 0; i < N; i++) {
            s[i] = changed(of,
                           i == 7    ? 0
                           : i == 20 ? w - 1
                           : i == 33 ? w / 4
                                     : (w / 3 + 17 * i) % (w - 3),
                           i == 11   ? 0
                           : i == 20 ? 1
                           : i == 33 ? w / 3
                                     : 1 + i % 3);
            if (i == 29)
                for (int64_t k = 0; k < w; k++)
                    s[i][k] ^= s[i][k] == 'N' ? 0 : 0x20;
        }
        free(run(of, t, of->sequence, BIOINFER_REFERENCE));
        CHECK_EQ(bioinfer_tracks_run_changed(t, (const char *const *)s, N, (size_t)w, all, &err),
                 0);
        for (int i = 0; i < N; i++) {
            float *alone = run(of, t, s[i], BIOINFER_WINDOW);
            if (!CHECK(same(alone, all + i * n, n)))
                fprintf(stderr, "    window %d\n", i);
            free(alone);
            free(s[i]);
        }
    }
    bioinfer_tracks_get_info(t, &info);
    if (w > 2048)
        CHECK(info.n_cut > 2 * 2 * 30);
    free(other.sequence);
    free(all);
    bioinfer_tracks_free(&t);
}

/* The first n windows, as many started as may be before the first is finished, or `ahead`. */
static void start_some(const struct golden *g, bioinfer_tracks *t, char *const *s,
                       float *const *want, float *const *got, int n, int ahead)
{
    const int64_t w = g->info.window, n_values = g->info.n_bins * g->info.n_tracks;
    struct bioinfer_error err = {0};
    float *which = NULL;
    for (int i = 0, finished = 0; finished < n; finished++) {
        for (; i < n && i - finished < ahead; i++)
            CHECK_EQ(bioinfer_tracks_start(t, s[i], (size_t)w, got[i], &err), 0);
        CHECK_EQ(bioinfer_tracks_finish(t, &which, &err), 0);
        CHECK(which == got[finished]);
        if (!CHECK(same(which, want[finished], n_values)))
            fprintf(stderr, "    window %d of %d, %d ahead\n", finished, n, ahead);
    }
}

/* Windows started before those in front of them are finished, of several views: the bits of windows
 * alone; what is asked out of turn. */
static void started(const struct golden *g)
{
    enum { N = BIOINFER_STARTED + 1 };
    const int64_t w = g->info.window, n = g->info.n_bins * g->info.n_tracks;
    const int shifts[] = {0, 3, -5};
    float *want[N], *got[N];
    char *s[N], said[80];
    for (int views = 1; views <= 3; views++) {
        struct bioinfer_tracks_params p = {.shifts = shifts, .n_shifts = views, .keep = 1};
        struct bioinfer_tracks_info before = {.struct_size = sizeof before}, info = before;
        struct bioinfer_error err = {0};
        bioinfer_tracks *t = open_tracks(g, &p);
        for (int i = 0; i < N; i++) {
            s[i] = changed(g, w / (N + 3) * i, w / (N + 2));
            want[i] = run(g, t, s[i], BIOINFER_WINDOW);
            got[i] = calloc((size_t)n, sizeof **got);
        }
        bioinfer_tracks_get_info(t, &before);
        CHECK(before.n_at_once >= 2 && before.n_at_once <= BIOINFER_STARTED);
        CHECK_EQ(bioinfer_tracks_finish(t, NULL, &err), BIOINFER_MISUSE);
        CHECK_HAS(err.text, "no window is on its way");
        for (int i = 0; i < BIOINFER_STARTED; i++)
            CHECK_EQ(bioinfer_tracks_start(t, s[i], (size_t)w, got[i], &err), 0);
        CHECK_EQ(bioinfer_tracks_start(t, s[1], (size_t)w, got[1], &err), BIOINFER_MISUSE);
        snprintf(said, sizeof said, "%d windows are on their way, expected at most %d",
                 BIOINFER_STARTED, BIOINFER_STARTED - 1);
        CHECK_HAS(err.text, said);
        CHECK_EQ(bioinfer_tracks_run(t, s[1], (size_t)w, BIOINFER_WINDOW, got[N - 1], &err),
                 BIOINFER_MISUSE);
        CHECK_EQ(
            bioinfer_tracks_run_changed(t, (const char *const *)s, 1, (size_t)w, got[N - 1], &err),
            BIOINFER_MISUSE);
        for (int i = 0; i < BIOINFER_STARTED; i++) {
            CHECK_EQ(bioinfer_tracks_finish(t, NULL, &err), 0);
            CHECK(same(got[i], want[i], n));
        }
        bioinfer_tracks_get_info(t, &info);
        CHECK_EQ(info.n_whole - before.n_whole, (uint64_t)(BIOINFER_STARTED * views));
        for (int some = 1; some <= N; some += 1 + some / 3)
            start_some(g, t, s, want, got, some, views > 1 ? info.n_at_once : BIOINFER_STARTED);
        for (int ahead = 1; ahead < BIOINFER_STARTED; ahead += 3)
            start_some(g, t, s, want, got, N, ahead);
        CHECK_EQ(bioinfer_tracks_start(t, s[0], (size_t)w, got[0], &err), 0);
        bioinfer_tracks_free(&t); /* with one on its way */
        for (int i = 0; i < N; i++) {
            free(s[i]);
            free(want[i]);
            free(got[i]);
        }
    }
}

/* Windows and others beside them that differ by little, by much, at the ends, by where things stand, by case
 * only; lone windows among them; of several views, with a reference kept and without: all have the bits of
 * windows alone. */
static void paired(const struct golden *g)
{
    enum { N = 14 };
    const int64_t w = g->info.window, n = g->info.n_bins * g->info.n_tracks;
    const int shifts[] = {-2, 4};
    char *s[N], *other[N];
    for (int i = 0; i < N; i++) {
        struct golden of = *g;
        s[i] = changed(g, w / (N + 3) * i, w / (N + 2));
        of.sequence = s[i];
        other[i] = changed(&of,
                           i == 3   ? 0
                           : i == 6 ? w - 1
                           : i == 8 ? w / 4
                                    : w / 3 + 17 * i,
                           i == 3 || i == 6 ? 1
                           : i == 8         ? w / 2
                           : i == 10        ? 0
                                            : 1 + i % 3);
        if (i == 10)
            other[i][w / 2] ^= 0x20;
        if (i == 11) /* a deletion */
            memmove(other[i] + w / 2, other[i] + w / 2 + 5, (size_t)(w - w / 2 - 5));
    }
    for (int kind = 0; kind < 3; kind++) {
        struct bioinfer_tracks_params p = {.shifts = shifts,
                                           .n_shifts = kind == 2 ? 2 : 0,
                                           .reverse_complement = kind == 2,
                                           .keep = kind > 0};
        struct bioinfer_tracks_info before = {.struct_size = sizeof before}, info = before;
        struct bioinfer_error err = {0};
        bioinfer_tracks *t = open_tracks(g, &p);
        float *want[N][2], *got[N], *which = NULL;
        for (int i = 0; i < N; i++) {
            want[i][0] = run(g, t, s[i], BIOINFER_WINDOW);
            want[i][1] = run(g, t, other[i], BIOINFER_WINDOW);
            got[i] = calloc((size_t)(2 * n), sizeof **got);
        }
        if (p.keep)
            free(run(g, t, s[0], BIOINFER_REFERENCE));
        bioinfer_tracks_get_info(t, &before);
        CHECK(before.n_pairs_at_once >= 2 && before.n_pairs_at_once <= BIOINFER_STARTED);
        for (int i = 0, finished = 0; finished < N; finished++) {
            for (; i < N && i - finished < before.n_pairs_at_once; i++)
                CHECK_EQ(i % 5 == 4 ? bioinfer_tracks_start(t, s[i], (size_t)w, got[i], &err)
                                    : bioinfer_tracks_start_pair(t, s[i], other[i], (size_t)w,
                                                                 got[i], &err),
                         0);
            CHECK_EQ(bioinfer_tracks_finish(t, &which, &err), 0);
            CHECK(which == got[finished]);
            CHECK(same(which, want[finished][0], n));
            if (finished % 5 != 4 && !CHECK(same(which + n, want[finished][1], n)))
                fprintf(stderr, "    pair %d\n", finished);
        }
        bioinfer_tracks_get_info(t, &info);
        if (w > 2048 && p.keep) /* without the lone ones, those at the ends, 8, 10 and 11 */
            CHECK(info.n_cut - before.n_cut >= (uint64_t)((kind == 2 ? 4 : 1) * (N - 2 - 2 - 3)));
        if (p.keep) {
            CHECK_EQ(bioinfer_tracks_run(t, s[0], (size_t)w, BIOINFER_CHANGED, got[0], &err),
                     BIOINFER_INVALID);
            CHECK_HAS(err.text, "there is no reference to change");
        }
        CHECK_EQ(bioinfer_tracks_start_pair(t, s[0], other[0], (size_t)w - 1, got[0], &err),
                 BIOINFER_INVALID);
        CHECK_EQ(bioinfer_tracks_start_pair(t, s[0], other[0], (size_t)w, got[0], &err), 0);
        bioinfer_tracks_free(&t); /* with one on its way */
        for (int i = 0; i < N; i++) {
            free(want[i][0]);
            free(want[i][1]);
            free(got[i]);
        }
    }
    for (int i = 0; i < N; i++) {
        free(s[i]);
        free(other[i]);
    }
}

static double sum_of(const float *values, int64_t track, int64_t n_tracks)
{
    return (double)values[track] + (double)values[n_tracks + track];
}

/* Sums over bins are those of the tracks, also of several views and of some tracks; alone, of changed windows,
 * of pairs and in company they have the same bits. */
static void summed(const struct golden *g)
{
    const int64_t w = g->info.window, bins = g->info.n_bins;
    const int shifts[] = {0, 3}, few[] = {1, 0};
    char *s = changed(g, w / 2, 1);
    for (int kind = 0; kind < 4; kind++) {
        struct bioinfer_tracks_params p = {.keep = 1,
                                           .shifts = shifts,
                                           .n_shifts = kind == 2 ? 2 : 0,
                                           .reverse_complement = kind == 2};
        struct bioinfer_tracks_info info = {.struct_size = sizeof info};
        struct bioinfer_error err = {0};
        bioinfer_tracks *all, *t;
        float *tracks, *sums, *other, *pair, *company;
        double worst = 0;
        if (kind == 3) {
            p.tracks = few;
            p.n_tracks = 2;
        }
        all = open_tracks(g, &p);
        p.sums = kind == 1 ? BIOINFER_SUMS_AND_LOGS : BIOINFER_SUMS;
        t = open_tracks(g, &p);
        bioinfer_tracks_get_info(t, &info);
        CHECK_EQ(info.n_rows, kind == 1 ? 4 : 2);
        CHECK_EQ(info.n_bins, bins);
        const int64_t n = info.n_tracks, n_values = info.n_rows * n;
        tracks = run(g, all, s, BIOINFER_WINDOW);
        sums = run(g, t, s, BIOINFER_WINDOW);
        for (int64_t k = 0; k < n; k++) {
            double want = 0, logs = 0;
            for (int64_t b = 0; b < bins; b++) {
                want += (double)tracks[b * n + k];
                logs += log2(1 + (double)tracks[b * n + k]);
            }
            worst = fmax(worst, fabs(sum_of(sums, k, n) - want) / want);
            if (kind == 1)
                worst = fmax(worst, fabs(sum_of(sums + 2 * n, k, n) - logs) / logs);
        }
        CHECK(
            worst <=
            (kind == 2 ? 1e-7 : 1e-13)); /* the tracks' means are rounded, those of sums are not */
        other = run(g, t, g->sequence, BIOINFER_REFERENCE);
        CHECK(!same(other, sums, n_values));
        pair = calloc((size_t)(2 * n_values), sizeof *pair);
        company = calloc((size_t)(2 * n_values), sizeof *company);
        float *alone = run(g, t, s, BIOINFER_CHANGED);
        CHECK(same(alone, sums, n_values));
        CHECK_EQ(bioinfer_tracks_run_changed(t, (const char *const[]){s, g->sequence}, 2, (size_t)w,
                                             company, &err),
                 0);
        CHECK(same(company, sums, n_values) && same(company + n_values, other, n_values));
        CHECK_EQ(bioinfer_tracks_start_pair(t, g->sequence, s, (size_t)w, pair, &err), 0);
        CHECK_EQ(bioinfer_tracks_finish(t, NULL, &err), 0);
        CHECK(same(pair, other, n_values) && same(pair + n_values, sums, n_values));
        free(tracks);
        free(sums);
        free(other);
        free(pair);
        free(company);
        free(alone);
        bioinfer_tracks_free(&all);
        bioinfer_tracks_free(&t);
    }
    free(s);
}

/* Strands, shifts, chosen tracks: against single windows. */
static void views(const struct golden *g)
{
    const int64_t w = g->info.window, bins = g->info.n_bins, n = g->info.n_tracks;
    const int shifts[] = {0, 3, -2}, one[] = {(int)n - 1, 0};
    struct bioinfer_tracks_params plain = {0};
    struct bioinfer_tracks_params all = {.shifts = shifts,
                                         .n_shifts = 3,
                                         .tracks = one,
                                         .n_tracks = 2,
                                         .reverse_complement = 1,
                                         .keep = 1};
    bioinfer_tracks *t = open_tracks(g, &plain), *m = open_tracks(g, &all);
    float *got = run(g, m, g->sequence, BIOINFER_WINDOW), *kept;
    double *want = calloc((size_t)(bins * 2), sizeof *want), worst = 0, most = 0;
    char *s = malloc((size_t)w);
    for (int strand = 0; strand < 2; strand++)
        for (int k = 0; k < 3; k++) {
            float *y;
            for (int64_t i = 0; i < w; i++) {
                int64_t at = i - shifts[k];
                char c = at < 0 || at >= w ? 'N' : g->sequence[strand ? w - 1 - at : at];
                const char *p = strchr("ACGTacgt", c);
                s[i] = strand && p ? "TGCAtgca"[p - "ACGTacgt"] : c;
            }
            y = run(g, t, s, BIOINFER_WINDOW);
            for (int64_t b = 0; b < bins; b++)
                for (int i = 0; i < 2; i++)
                    want[b * 2 + i] += (double)y[(strand ? bins - 1 - b : b) * n + one[i]] / 6;
            free(y);
        }
    for (int64_t i = 0; i < bins * 2; i++) {
        worst = fmax(worst, fabs(want[i] - (double)got[i]));
        most = fmax(most, want[i]);
    }
    CHECK(worst <= 1e-6 * most);
    free(run(g, m, g->sequence, BIOINFER_REFERENCE));
    free(s);
    s = changed(g, w / 2, 1);
    kept = run(g, m, s, BIOINFER_CHANGED);
    free(got);
    got = run(g, m, s, BIOINFER_WINDOW);
    CHECK(same(kept, got, bins * 2));
    free(kept);
    free(got);
    free(want);
    free(s);
    bioinfer_tracks_free(&t);
    bioinfer_tracks_free(&m);
}

/* Chosen tracks are the columns of all, to the bit, also of changed windows and of strands whose
 * tracks stand in pairs. */
static void chosen(const struct golden *g, int head, const char *name, int n_all)
{
    const int last = n_all - 1, few[] = {last, 0}, several[] = {1, 2, 0, 0, last, 1};
    const int n_many = (int)((1 << 18) / g->info.n_bins) +
                       1; /* values that several threads bring in */
    int *many = calloc((size_t)n_many, sizeof *many);
    const struct {
        const int *of;
        int n;
    } lists[] = {{few, 2}, {several, n_all > 6 ? 6 : 2}, {many, n_many}};
    int *pairs = calloc((size_t)n_all, sizeof *pairs);
    char *s = changed(g, g->info.window / 2, 1);
    for (int i = 0; i < n_all; i++)
        pairs[i] = last - i;
    for (int i = 0; i < n_many; i++)
        many[i] = i * 5 % n_all;
    for (int both = 0; both < 2; both++) {
        struct bioinfer_tracks_params p = {.head = name,
                                           .reverse_complement = both,
                                           .keep = 1,
                                           .strand_pairs = both ? pairs : NULL};
        bioinfer_tracks *all = open_tracks(g, &p);
        float *want[2] = {run(g, all, g->sequence, BIOINFER_REFERENCE),
                          run(g, all, s, BIOINFER_CHANGED)};
        for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
            bioinfer_tracks *t;
            p.tracks = lists[l].of;
            p.n_tracks = lists[l].n;
            t = open_tracks(g, &p);
            for (int w = 0; w < 2; w++) {
                float *got = run(g, t, w ? s : g->sequence,
                                 w ? BIOINFER_CHANGED : BIOINFER_REFERENCE);
                int64_t n_same = 0;
                for (int64_t b = 0; b < g->info.n_bins; b++)
                    for (int k = 0; k < p.n_tracks; k++)
                        n_same += same(got + b * p.n_tracks + k, want[w] + b * n_all + p.tracks[k],
                                       1);
                if (!CHECK_EQ(n_same, g->info.n_bins * p.n_tracks))
                    fprintf(stderr, "    head %d, list %zu, %d strands\n", head, l, 1 + both);
                free(got);
            }
            bioinfer_tracks_free(&t);
        }
        free(want[0]);
        free(want[1]);
        bioinfer_tracks_free(&all);
    }
    free(pairs);
    free(many);
    free(s);
}

static void refusals(const struct golden *g)
{
    const int tracks[] = {1 << 20}, pairs[] = {-1};
    const struct {
        struct bioinfer_tracks_params p;
        const char *text;
    } cases[] = {{{.head = "martian"}, "no head 'martian'; it has "},
                 {{.tracks = tracks, .n_tracks = 1}, "track 1048576: head "},
                 {{.shifts = tracks, .n_shifts = 1 << 20}, "shifts: 1048576 of them"},
                 {{.sums = 3}, "sums 3, expected up to 2"},
                 {{.sums = 2, .reverse_complement = 1},
                  "sums of logarithms are of one window, 2 make a mean"},
                 {{.strand_pairs = pairs, .tracks = (const int[]){0}, .n_tracks = 1},
                  "the other strand's is -1"}};
    struct bioinfer_tracks_params p = {0};
    struct bioinfer_session_params sp = {.struct_size = sizeof sp};
    struct bioinfer_error err = {0};
    bioinfer_session *session = NULL;
    bioinfer_tracks *t = NULL;
    float y[1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        p = cases[i].p;
        p.struct_size = sizeof p;
        CHECK_EQ(bioinfer_tracks_new(&t, g->model, &p, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, cases[i].text);
        CHECK(!t);
    }
    p = (struct bioinfer_tracks_params){0};
    t = open_tracks(g, &p);
    CHECK_EQ(bioinfer_tracks_run(t, "ACGT", 4, BIOINFER_WINDOW, y, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "a window of 4 bases, expected ");
    CHECK_EQ(bioinfer_tracks_run(t, g->sequence, (size_t)g->info.window, BIOINFER_CHANGED, y, &err),
             BIOINFER_INVALID);
    CHECK_HAS(err.text, "takes a session that keeps");
    bioinfer_tracks_free(&t);
    CHECK_EQ(bioinfer_session_new(&session, g->model, &sp, &err), BIOINFER_UNSUPPORTED);
    CHECK_HAS(err.text, "takes no sequences of residues");
}

static void read_window(struct golden *g)
{
    struct bioinfer_error err = {0};
    struct bioinfer_record r;
    bioinfer_reader *reader = NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/window.fa", g->folder);
    if (bioinfer_reader_open(&reader, g->ctx, path, NULL, &err) ||
        bioinfer_reader_next(reader, &r, &err) != 1 || r.length != (size_t)g->info.window) {
        fprintf(stderr, "%s: %s\n", path, err.text);
        exit(1);
    }
    g->sequence = malloc(r.length);
    memcpy(g->sequence, r.sequence, r.length);
    bioinfer_reader_close(&reader);
}

int main(int argc, char **argv)
{
    struct golden g = {.folder = argc > 1 ? argv[1] : ""};
    struct bioinfer_model_params mp = {.struct_size = sizeof mp};
    struct bioinfer_tracks_params p = {0};
    struct bioinfer_error err = {0};
    bioinfer_tracks *t;
    bool only_exact = false;
    const char *head;
    char data[512];
    FILE *f;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--exact"))
            only_exact = true;
        else if (!strcmp(argv[i], "--device") && i + 1 < argc)
            mp.device = argv[++i];
        else if (!strcmp(argv[i], "--no-rule") && i + 1 < argc)
            g.no_rules = argv[++i];
        else if (!strcmp(argv[i], "--positions") && i + 1 < argc)
            mp.positions = argv[++i];
        else if (!strcmp(argv[i], "--data-positions") && i + 1 < argc) {
            const char *folder = getenv("BIOINFER_DATA");
            snprintf(data, sizeof data, "%s/%s", folder ? folder : "", argv[++i]);
            if (!folder || !(f = fopen(data, "rb"))) {
                printf("skipped: %s of BIOINFER_DATA is not there\n", argv[i]);
                return 77;
            }
            fclose(f);
            mp.positions = data;
        }
    }
    if (bioinfer_context_new(&g.ctx, NULL, &err) ||
        bioinfer_model_open(&g.model, g.ctx, g.folder, &mp, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    t = open_tracks(&g, &p);
    g.info.struct_size = sizeof g.info;
    bioinfer_tracks_get_info(t, &g.info);
    bioinfer_tracks_free(&t);
    read_window(&g);
    if (!only_exact)
        fidelity(&g);
    if (!mp.device || strcmp(mp.device, "reference")) {
        exact(&g);
        views(&g);
        if (!g.no_rules && g.info.n_tokens <= 256) {
            company(&g);
            started(&g);
            paired(&g);
            summed(&g);
        }
        for (int i = 0, n; !g.no_rules && (head = bioinfer_model_head(g.model, i, &n)); i++)
            chosen(&g, i, head, n);
        refusals(&g);
    }
    free(g.sequence);
    bioinfer_model_close(&g.model);
    bioinfer_context_free(&g.ctx);
    return test_report();
}

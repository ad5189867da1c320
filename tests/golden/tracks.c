/* tracks.c - families from DNA to tracks: fidelity against reference outputs, and the bits of
 * windows that reuse another one's features.
 *
 *   tracks FOLDER [--device NAME] [--no-rule NAMES] [--positions NAME]
 *          [--exact | --fidelity | --brief]
 *          [--data-positions FILE]      of the folder $BIOINFER_DATA; skipped without it
 *          [--relative ERROR]           the gate of relative errors
 *
 * FOLDER: weights, window.fa, HEAD.npy for each head (tools/golden_tracks.py). Gates: cosine of
 * every bin over tracks and of every track over bins; --exact: only the bits; --fidelity: only the
 * gates; --brief: no companies of many windows. Of more than eight heads every fifth is asked for
 * chosen tracks. */
#include <math.h>
#include <stdbool.h>

#include "../../include/bioinfer.h"
#include "../test.h"
#include "../windows.h"
#include "gates.h"

/* The relative error of a value above a hundredth of the largest: somewhat above the 8.3e-5 of
 * Borzoi Prime, so that an epsilon 100 times too large shows (1.3e-4 in Enformer's layers). */
#define GATE_TRACKS_RELATIVE 1e-4

struct golden {
    bioinfer_context *ctx;
    bioinfer_model *model;
    struct bioinfer_tracks_info info;
    char *sequence;
    const char *folder, *no_rules;
    double relative;
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

static bioinfer_task *open_tracks(const struct golden *g, struct bioinfer_tracks_params *p)
{
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    p->struct_size = sizeof *p;
    p->no_rules = g->no_rules;
    if (!CHECK_EQ(bioinfer_tracks_open(&t, g->model, p, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    return t;
}

/* The values of a window and of n others that differ from it: [1 + n, n_values]. */
static float *run_with(bioinfer_task *t, const char *sequence, const char *const *others, size_t n)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    float *y;
    bioinfer_tracks_get_info(t, &info);
    y = calloc((1 + n) * (size_t)info.n_values, sizeof *y);
    if (!y || !CHECK_EQ(test_run_window(t, sequence, others, n, y, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    return y;
}

static float *run(bioinfer_task *t, const char *sequence)
{
    return run_with(t, sequence, NULL, 0);
}

/* Each row of the table of outputs is found by its names, and the table of its tracks is a file or
 * said to be absent. */
static void outputs_by_name(const struct golden *g)
{
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    struct bioinfer_error err = {0};
    char path[512];
    int at, n = 0;
    for (; !bioinfer_model_output(g->model, n, &row); n++) {
        CHECK_EQ(bioinfer_model_find_output(g->model, row.name, NULL, 0, &at, &err), 0);
        CHECK_EQ(at, n);
        CHECK_EQ(bioinfer_model_find_output(g->model, row.output, row.organism, row.resolution, &at,
                                            &err),
                 0);
        CHECK_EQ(at, n);
        const int st = bioinfer_model_tracks_table(g->model, row.organism, path, sizeof path, &err);
        CHECK(st == BIOINFER_NOT_FOUND ? err.text[0] != '\0' : !st && path[0]);
    }
    CHECK(n > 0);
    CHECK_EQ(bioinfer_model_find_output(g->model, "no such output", NULL, 0, &at, &err),
             BIOINFER_INVALID);
    CHECK_HAS(err.text, "no such output");
}

static void fidelity(const struct golden *g)
{
    const char *head;
    for (int i = 0; (head = bioinfer_model_head(g->model, i, NULL)); i++) {
        struct bioinfer_tracks_params p = {.head = head, .sums = BIOINFER_NO_SUMS};
        struct bioinfer_tracks_info info = {.struct_size = sizeof info};
        bioinfer_task *t = open_tracks(g, &p);
        double worst = 1, relative = 0, most = 0;
        char path[512];
        float *got, *want;
        bioinfer_tracks_get_info(t, &info);
        got = run(t, g->sequence);
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
        CHECK(relative <= g->relative);
        free(got);
        free(want);
        bioinfer_task_close(&t);
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

/* A changed window gives the bits of a run of its own, wherever and however much it changes, alone
 * and beside others. */
static void exact(const struct golden *g)
{
    const int64_t w = g->info.window, n = g->info.n_bins * g->info.n_tracks;
    const int64_t token = g->info.window / g->info.n_tokens;
    const struct {
        int64_t first, n;
    } changes[] = {{0, 1},     {1, 3},         {w / 2, 1},     {w / 2 - 1, 2}, {w / 3, token},
                   {w - 1, 1}, {w - 200, 150}, {token - 1, 2}, {w / 2 + 5, 0}, {w / 4, w / 2}};
    enum { N = sizeof changes / sizeof *changes };
    struct bioinfer_tracks_params p = {0};
    bioinfer_task *t = open_tracks(g, &p);
    float *before = run(t, g->sequence), *together;
    char *s[N];
    bool differs = false;
    for (int i = 0; i < N; i++)
        s[i] = changed(g, changes[i].first, changes[i].n);
    together = run_with(t, g->sequence, (const char *const *)s, N);
    CHECK(same(before, together, n));
    for (int i = 0; i < N; i++) {
        float *whole = run(t, s[i]);
        float *cut = run_with(t, g->sequence, (const char *const *)s + i, 1);
        CHECK(same(before, cut, n));
        if (!CHECK(same(whole, cut + n, n)) || !CHECK(same(whole, together + (1 + i) * n, n)))
            fprintf(stderr, "    %lld bases from %lld\n", (long long)changes[i].n,
                    (long long)changes[i].first);
        differs |= !same(whole, before, n);
        free(whole);
        free(cut);
        free(s[i]);
    }
    CHECK(differs);
    free(before);
    free(together);
    bioinfer_task_close(&t);
}

/* Many changed windows at once: usual ones, at the ends, long ones, none, letters in the other
 * case; of two windows. Each has the bits of its own run, over three views, too, where views of one
 * window go through different programs. */
static void company(const struct golden *g)
{
    enum { N = 37 };
    const int64_t w = g->info.window, n = g->info.n_bins * g->info.n_tracks;
    const int shifts[] = {-2, 0, 40};
    for (int views = 2; views <= 3; views++) {
        struct bioinfer_tracks_params p = {
            .shifts = shifts, .n_shifts = views == 2 ? 1 : 3, .reverse_complement = views == 2};
        struct bioinfer_tracks_info info = {.struct_size = sizeof info};
        struct bioinfer_error err = {0};
        bioinfer_task *t = open_tracks(g, &p);
        struct golden of[2] = {*g, *g};
        struct test_window windows[2];
        char *s[2][N];
        uint64_t n_cut;
        of[1].sequence = changed(g, w / 7, w / 2);
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < N; i++) {
                s[k][i] = changed(&of[k],
                                  i == 7    ? 0
                                  : i == 20 ? w - 1
                                  : i == 22 ? 60
                                  : i == 33 ? w / 4
                                            : (w / 3 + 17 * i) % (w - 3),
                                  i == 11   ? 0
                                  : i == 20 ? 1
                                  : i == 33 ? w / 3
                                            : 1 + i % 3);
                for (int64_t j = 0; i == 29 && j < w; j++)
                    s[k][i][j] ^= s[k][i][j] == 'N' ? 0 : 0x20;
            }
            windows[k] = (struct test_window){
                .sequence = of[k].sequence,
                .others = (const char *const *)s[k],
                .n = N,
                .values = calloc((size_t)((N + 1) * n), sizeof(float))};
        }
        CHECK_EQ(test_run_windows(t, windows, 2, NULL, &err), 0);
        bioinfer_tracks_get_info(t, &info);
        n_cut = info.n_cut;
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < N; i++) {
                float *alone = run(t, s[k][i]);
                if (!CHECK(same(alone, windows[k].values + (1 + i) * n, n)))
                    fprintf(stderr, "    window %d of %d, %d views\n", i, k, views);
                free(alone);
                free(s[k][i]);
            }
            free(windows[k].values);
        }
        if (w > 2048)
            CHECK(n_cut > (uint64_t)(views * 2 * 30));
        free(of[1].sequence);
        bioinfer_task_close(&t);
    }
}

/* Windows of several views, 1 to 17 in a run: the bits of windows alone, in the order of the
 * source. */
static void several(const struct golden *g)
{
    enum { N = 17 };
    const int64_t w = g->info.window, n = g->info.n_bins * g->info.n_tracks;
    const int shifts[] = {0, 3, -5};
    float *want[N];
    char *s[N];
    for (int views = 1; views <= 3; views++) {
        struct bioinfer_tracks_params p = {.shifts = shifts, .n_shifts = views};
        struct bioinfer_tracks_info before = {.struct_size = sizeof before}, info = before;
        struct bioinfer_error err = {0};
        bioinfer_task *t = open_tracks(g, &p);
        struct test_window windows[N] = {{0}};
        for (int i = 0; i < N; i++) {
            s[i] = changed(g, w / (N + 3) * i, w / (N + 2));
            want[i] = run(t, s[i]);
            windows[i].sequence = s[i];
            windows[i].values = calloc((size_t)n, sizeof(float));
        }
        for (int some = 1; some <= N; some += 1 + some / 3) {
            bioinfer_tracks_get_info(t, &before);
            CHECK_EQ(test_run_windows(t, windows, (size_t)some, NULL, &err), 0);
            bioinfer_tracks_get_info(t, &info);
            CHECK_EQ(info.n_whole - before.n_whole, (uint64_t)(some * views));
            for (int i = 0; i < some; i++) {
                if (!CHECK(same(windows[i].values, want[i], n)))
                    fprintf(stderr, "    window %d of %d\n", i, some);
                memset(windows[i].values, 0, (size_t)n * sizeof(float));
            }
        }
        bioinfer_task_close(&t);
        for (int i = 0; i < N; i++) {
            free(s[i]);
            free(want[i]);
            free(windows[i].values);
        }
    }
}

/* Windows and others beside them that differ by little, by much, at the ends, by where things
 * stand, by case only; lone windows among them; of several views: all have the bits of windows
 * alone. */
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
    for (int kind = 0; kind < 2; kind++) {
        struct bioinfer_tracks_params p = {
            .shifts = shifts, .n_shifts = kind ? 2 : 0, .reverse_complement = kind};
        struct bioinfer_tracks_info before = {.struct_size = sizeof before}, info = before;
        struct bioinfer_error err = {0};
        bioinfer_task *t = open_tracks(g, &p);
        struct test_window windows[N] = {{0}};
        float *want[N][2];
        for (int i = 0; i < N; i++) {
            want[i][0] = run(t, s[i]);
            want[i][1] = run(t, other[i]);
            windows[i].sequence = s[i];
            windows[i].others = (const char *const *)other + i;
            windows[i].n = i % 5 != 4;
            windows[i].values = calloc((size_t)(2 * n), sizeof(float));
        }
        bioinfer_tracks_get_info(t, &before);
        CHECK_EQ(test_run_windows(t, windows, N, NULL, &err), 0);
        bioinfer_tracks_get_info(t, &info);
        if (w > 2048) /* without the lone ones, those at the ends, 8, 10 and 11 */
            CHECK(info.n_cut - before.n_cut >= (uint64_t)((kind ? 4 : 1) * (N - 2 - 2 - 3)));
        for (int i = 0; i < N; i++) {
            CHECK(same(windows[i].values, want[i][0], n));
            if (windows[i].n && !CHECK(same(windows[i].values + n, want[i][1], n)))
                fprintf(stderr, "    pair %d\n", i);
            free(want[i][0]);
            free(want[i][1]);
            free(windows[i].values);
        }
        bioinfer_task_close(&t);
    }
    for (int i = 0; i < N; i++) {
        free(s[i]);
        free(other[i]);
    }
}

/* More changes than one piece holds, of single sums: each place of a window to another base. */
static void pieces(const struct golden *g)
{
    enum { N = 4200, CHECKED = 3 };
    const int64_t w = g->info.window;
    const int one[] = {0}, checked[CHECKED] = {1, 4095, 4199};
    struct bioinfer_tracks_params p = {.sums = BIOINFER_SUMS, .tracks = one, .n_tracks = 1};
    struct bioinfer_error err = {0};
    bioinfer_task *t = open_tracks(g, &p);
    char **s = calloc(N, sizeof *s);
    float *got = calloc(2 * (N + 1), sizeof *got);
    struct test_window window = {
        .sequence = g->sequence, .others = (const char *const *)s, .n = N, .values = got};
    size_t n_pieces = 0;
    for (int i = 0; i < N; i++)
        s[i] = changed(g, i % w, i % w == i || i % w == w - 1 ? 1 : 2);
    CHECK_EQ(test_run_windows(t, &window, 1, &n_pieces, &err), 0);
    CHECK_EQ(n_pieces, 2);
    for (int i = 0; i < CHECKED; i++) {
        float *alone = run(t, s[checked[i]]);
        CHECK(same(got + 2 * (1 + checked[i]), alone, 2));
        free(alone);
    }
    for (int i = 0; i < N; i++)
        free(s[i]);
    free(s);
    free(got);
    bioinfer_task_close(&t);
}

static double sum_of(const float *values, int64_t track, int64_t n_tracks)
{
    return (double)values[track] + (double)values[n_tracks + track];
}

/* Sums over bins are those of the tracks, also of several views and of some tracks; alone, of a
 * changed window and of several they have the same bits. */
static void summed(const struct golden *g)
{
    const int64_t w = g->info.window, bins = g->info.n_bins;
    const int shifts[] = {0, 3}, few[] = {1, 0};
    char *s = changed(g, w / 2, 1);
    for (int kind = 0; kind < 4; kind++) {
        struct bioinfer_tracks_params p = {
            .shifts = shifts, .n_shifts = kind == 2 ? 2 : 0, .reverse_complement = kind == 2};
        struct bioinfer_tracks_info info = {.struct_size = sizeof info};
        const char *both[] = {s, g->sequence};
        bioinfer_task *all, *t;
        float *tracks, *sums, *pair, *company;
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
        tracks = run(all, s);
        sums = run(t, s);
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
        company = run_with(t, g->sequence, both, 2);
        CHECK(!same(company, sums, n_values));
        CHECK(same(company + n_values, sums, n_values));
        CHECK(same(company + 2 * n_values, company, n_values));
        pair = run_with(t, g->sequence, both, 1);
        CHECK(same(pair, company, 2 * n_values));
        free(tracks);
        free(sums);
        free(pair);
        free(company);
        bioinfer_task_close(&all);
        bioinfer_task_close(&t);
    }
    free(s);
}

/* Strands, shifts, chosen tracks: against single windows. */
static void views(const struct golden *g)
{
    const int64_t w = g->info.window, bins = g->info.n_bins, n = g->info.n_tracks;
    const int shifts[] = {0, 3, -2}, one[] = {(int)n - 1, 0};
    struct bioinfer_tracks_params plain = {0};
    struct bioinfer_tracks_params all = {
        .shifts = shifts, .n_shifts = 3, .tracks = one, .n_tracks = 2, .reverse_complement = 1};
    bioinfer_task *t = open_tracks(g, &plain), *m = open_tracks(g, &all);
    float *got = run(m, g->sequence), *kept;
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
            y = run(t, s);
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
    free(s);
    s = changed(g, w / 2, 1);
    kept = run_with(m, g->sequence, (const char *const *)&s, 1);
    CHECK(same(kept, got, bins * 2));
    free(got);
    got = run(m, s);
    CHECK(same(kept + bins * 2, got, bins * 2));
    free(kept);
    free(got);
    free(want);
    free(s);
    bioinfer_task_close(&t);
    bioinfer_task_close(&m);
}

/* Tells by the name of a head what a row of its values is. */
static int kind_of(const char *head)
{
    return strstr(head, "contact_maps") ? BIOINFER_GRID
           : strstr(head, "junctions")  ? BIOINFER_JUNCTIONS
                                        : BIOINFER_BINS;
}

/* Chosen tracks are the columns of all, to the bit, also of changed windows and of strands whose
 * tracks stand in pairs. */
static void chosen(const struct golden *g, int head, const char *name, int n_all)
{
    const int last = n_all - 1, few[] = {last, 0},
              several[] = {1 % n_all, 2 % n_all, 0, 0, last, 1};
    struct bioinfer_tracks_params plain = {.head = name};
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    bioinfer_task *asked = open_tracks(g, &plain);
    bioinfer_tracks_get_info(asked, &info);
    CHECK_EQ(info.kind, kind_of(name));
    bioinfer_task_close(&asked);
    if (info.kind == BIOINFER_JUNCTIONS)
        return;                                            /* these have no changes and one order */
    const int n_many = (int)((1 << 18) / info.n_bins) + 1; /* several threads bring them in */
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
        struct bioinfer_tracks_params p = {
            .head = name, .reverse_complement = both, .strand_pairs = both ? pairs : NULL};
        const int64_t n_values = info.n_bins * n_all;
        bioinfer_task *all = open_tracks(g, &p);
        float *want = run_with(all, g->sequence, (const char *const *)&s, 1);
        for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
            bioinfer_task *t;
            p.tracks = lists[l].of;
            p.n_tracks = lists[l].n;
            t = open_tracks(g, &p);
            float *got = run_with(t, g->sequence, (const char *const *)&s, 1);
            for (int w = 0; w < 2; w++) {
                const float *mine = got + w * info.n_bins * p.n_tracks;
                int64_t n_same = 0;
                for (int64_t b = 0; b < info.n_bins; b++)
                    for (int k = 0; k < p.n_tracks; k++)
                        n_same += same(mine + b * p.n_tracks + k,
                                       want + w * n_values + b * n_all + p.tracks[k], 1);
                if (!CHECK_EQ(n_same, info.n_bins * p.n_tracks))
                    fprintf(stderr, "    head %d, list %zu, %d strands\n", head, l, 1 + both);
            }
            free(got);
            bioinfer_task_close(&t);
        }
        free(want);
        bioinfer_task_close(&all);
    }
    free(pairs);
    free(many);
    free(s);
}

/* Compares output `index` of several, of a window and one beside it, with what it is alone. */
static void compare_output(const struct golden *g, struct bioinfer_tracks_params p, int index,
                           bioinfer_task *all, const float *got, const char *other)
{
    const struct bioinfer_tracks_output *o = &p.outputs[index];
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    bioinfer_task *alone;
    int64_t n, n_same = 0;
    float *want;
    CHECK_EQ(bioinfer_tracks_get_output(all, index, &info), 0);
    n = info.n_rows * info.n_tracks;
    p.head = o->name;
    p.tracks = o->tracks;
    p.n_tracks = o->n_tracks;
    p.n_outputs = 0;
    alone = open_tracks(g, &p);
    want = run_with(alone, g->sequence, &other, other != NULL);
    for (int w = 0; w < (other ? 2 : 1); w++)
        n_same += same(got + w * info.n_values + info.values_at, want + w * n, (size_t)n);
    if (!CHECK_EQ(n_same, other ? 2 : 1))
        fprintf(stderr, "    output %s of %d\n", o->name, info.n_outputs);
    free(want);
    bioinfer_task_close(&alone);
}

/* Outputs of one run are what each of them is alone, to the bit: all of an organism; some of them,
 * with chosen tracks, also of a changed window, of both strands, and their sums. */
static void together(const struct golden *g, const char *organism)
{
    static const int last[] = {0};
    struct bioinfer_tracks_output of[64] = {{0}};
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    struct bioinfer_tracks_info past = {.struct_size = sizeof past};
    char *other = changed(g, g->info.window / 2, 1);
    int n = 0;
    for (int i = 0; !bioinfer_model_output(g->model, i, &row); i++)
        if (!organism || (row.organism && !strcmp(row.organism, organism)))
            of[n++].name = row.name;
    for (int way = 0; way < 4; way++) {
        struct bioinfer_tracks_params p = {.outputs = of,
                                           .n_outputs = n,
                                           .reverse_complement = way == 2,
                                           .sums = way == 3 ? BIOINFER_SUMS : 0};
        bioinfer_task *all;
        float *got;
        if (way == 1) { /* the last ones first, but no junctions, of which there are no changes */
            struct bioinfer_tracks_output some[64] = {{0}};
            int k = 0;
            for (int i = n - 1; i >= 0; i -= n > 8 ? 3 : 1)
                if (!strstr(of[i].name, "junctions"))
                    some[k++].name = of[i].name;
            some[0].tracks = last;
            some[0].n_tracks = 1;
            memcpy(of, some, sizeof of);
            p.n_outputs = n = k;
        }
        all = open_tracks(g, &p);
        got = run_with(all, g->sequence, (const char *const *)&other, way > 0);
        for (int i = 0; i < n; i++)
            compare_output(g, p, i, all, got, way > 0 ? other : NULL);
        CHECK_EQ(bioinfer_tracks_get_output(all, n, &past), BIOINFER_NOT_FOUND);
        free(got);
        bioinfer_task_close(&all);
    }
    free(other);
}

struct said {
    int n, status[5];
    char text[5][200];
};

static int note(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct said *said = user;
    (void)err;
    CHECK(said->n < 5 && !r->more && r->n_arrays == !r->status);
    said->status[said->n] = r->status;
    snprintf(said->text[said->n++], sizeof *said->text, "%s", r->message);
    return 0;
}

/* Windows that cannot be used come back with why, in order, and those between them with values. */
static void refused_windows(const struct golden *g)
{
    const struct bioinfer_change beyond = {g->info.window - 1, 2, "AC"};
    const struct bioinfer_change letters[] = {{5, 1, "A"}, {9, 2, "AE"}};
    const size_t length = (size_t)g->info.window;
    const struct bioinfer_record windows[] = {
        {.id = "short", .sequence = "ACGT", .length = 4},
        {.id = "good", .sequence = g->sequence, .length = length},
        {.id = "beyond",
         .sequence = g->sequence,
         .length = length,
         .changes = &beyond,
         .n_changes = 1},
        {.id = "its own", .status = BIOINFER_MISMATCH, .message = "as the source says"},
        {.id = "letters",
         .sequence = g->sequence,
         .length = length,
         .changes = letters,
         .n_changes = 2}};
    struct bioinfer_tracks_params p = {0};
    struct bioinfer_error err = {0};
    struct said said = {0};
    bioinfer_task *t = open_tracks(g, &p);
    CHECK_EQ(bioinfer_task_compute(t, windows, 5, note, &said, &err), 0);
    CHECK_EQ(said.n, 5);
    CHECK_EQ(said.status[0], BIOINFER_INVALID);
    CHECK_HAS(said.text[0], "a window of 4 bases, expected ");
    CHECK_EQ(said.status[1], 0);
    CHECK_EQ(said.status[2], BIOINFER_INVALID);
    CHECK_HAS(said.text[2], "change 0: 2 bases from ");
    CHECK_EQ(said.status[3], BIOINFER_MISMATCH);
    CHECK_HAS(said.text[3], "as the source says");
    CHECK_EQ(said.status[4], BIOINFER_BAD_RESIDUE);
    CHECK_HAS(said.text[4], "change 1: base 2 is 'E'");
    CHECK_EQ(bioinfer_task_run(t, NULL, NULL, note, &said, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "task, source and sink must be given");
    bioinfer_task_close(&t);
}

static void refusals(const struct golden *g)
{
    const int tracks[] = {1 << 20}, pairs[] = {-1}, zeros[65] = {0};
    const struct bioinfer_tracks_output twice[] = {{.name = g->info.head}, {.name = g->info.head}};
    const bool one = !bioinfer_model_head(g->model, 1, NULL); /* output, the human one */
    const struct {
        struct bioinfer_tracks_params p;
        const char *text;
    } cases[] = {
        {{.outputs = twice, .n_outputs = 100}, "outputs: 100 of them, the model has "},
        {{.outputs = twice, .n_outputs = 1, .head = "human"}, "outputs and a head: expected one"},
        {{.outputs = twice, .n_outputs = 2},
         one ? "outputs: 2 of them, the model has 1" : " is asked for twice"},
        {{.organism = "martian"}, "no output is of organism 'martian'; they are of "},
        {{.head = "human", .organism = "mouse"},
         one ? "no output is of organism 'mouse'; they are of human"
             : "no output 'human' of mouse; it has "},
        {{.resolution = 7}, "no output has bins of 7 bases; they have "},
        {{.resolution = -1}, "resolution is -1, expected 1 to "},
        {{.head = "martian"}, "no output 'martian'; it has "},
        {{.tracks = tracks, .n_tracks = 1}, "track 1048576: head "},
        {{.shifts = tracks, .n_shifts = 1}, "shifts is 1048576, expected -1000000 to 1000000"},
        {{.shifts = zeros, .n_shifts = 65}, "shifts: 65 of them, expected up to 64"},
        {{.sums = 3}, "sums is 3, expected numbers of none|sums|"},
        {{.sums = 2, .reverse_complement = 1},
         "sums of logarithms are of one window, 2 make a mean"},
        {{.strand_pairs = pairs, .tracks = (const int[]){0}, .n_tracks = 1},
         "the other strand's is -1"}};
    struct bioinfer_tracks_params p = {0};
    struct bioinfer_embed_params sp = {.struct_size = sizeof sp};
    struct bioinfer_error err = {0};
    bioinfer_task *task = NULL;
    bioinfer_task *t = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        p = cases[i].p;
        p.struct_size = sizeof p;
        CHECK_EQ(bioinfer_tracks_open(&t, g->model, &p, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, cases[i].text);
        CHECK(!t);
    }
    refused_windows(g);
    CHECK_EQ(bioinfer_embed_open(&task, g->model, &sp, &err), BIOINFER_UNSUPPORTED);
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
    struct golden g = {.folder = argc > 1 ? argv[1] : "", .relative = GATE_TRACKS_RELATIVE};
    struct bioinfer_model_params mp = {.struct_size = sizeof mp};
    struct bioinfer_tracks_params p = {0};
    struct bioinfer_error err = {0};
    bioinfer_task *t;
    bool only_exact = false, only_fidelity = false, brief = false;
    int n_heads = 0;
    const char *head;
    char data[512];
    FILE *f;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--exact"))
            only_exact = true;
        else if (!strcmp(argv[i], "--fidelity"))
            only_fidelity = true;
        else if (!strcmp(argv[i], "--brief"))
            brief = true;
        else if (!strcmp(argv[i], "--device") && i + 1 < argc)
            mp.device = argv[++i];
        else if (!strcmp(argv[i], "--no-rule") && i + 1 < argc)
            g.no_rules = argv[++i];
        else if (!strcmp(argv[i], "--relative") && i + 1 < argc)
            g.relative = strtod(argv[++i], NULL);
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
    bioinfer_task_close(&t);
    read_window(&g);
    if (!only_exact)
        fidelity(&g);
    outputs_by_name(&g);
    while (bioinfer_model_head(g.model, n_heads, NULL))
        n_heads++;
    if (!only_fidelity && (!mp.device || strcmp(mp.device, "reference"))) {
        exact(&g);
        views(&g);
        if (!g.no_rules && !brief && g.info.n_tokens <= 256) {
            company(&g);
            several(&g);
            paired(&g);
            summed(&g);
            if (g.info.n_tokens == 37)
                pieces(&g);
        }
        for (int i = 0, n; !g.no_rules && (head = bioinfer_model_head(g.model, i, &n));
             i += n_heads > 8 ? 5 : 1)
            chosen(&g, i, head, n);
        if (!g.no_rules && n_heads > 8)
            together(&g, "mouse");
        else if (!g.no_rules)
            together(&g, NULL);
        refusals(&g);
    }
    free(g.sequence);
    bioinfer_model_close(&g.model);
    bioinfer_context_free(&g.ctx);
    return test_report();
}

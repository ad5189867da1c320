/* emu_tracks.c - whole small models of DNA windows through the GPU path on the host: against the
 * CPU backend, changed windows against full ones, windows started together against each alone; and counted where the driver is called: a window
 * whose plan is known is one upload and one download, waits once and allocates nothing.
 *
 *   emu_tracks WEIGHTS WINDOW.fasta [POSITIONS] */
#include <math.h>

#include "../../engine/engine.h"
#include "../test.h"
#include "emu_backend.h"

static const struct bi_backend_ops *const backends[] = {&emu_nvidia, &emu_cdna, &emu_rdna};

struct got {
    float *window, *changed, *again;
    int64_t n;
    struct bioinfer_tracks_info info;
};

static float *run(bioinfer_tracks *t, const char *s, const struct got *g, int mode)
{
    struct bioinfer_error err = {0};
    float *y = calloc((size_t)g->n, sizeof *y);
    if (!CHECK_EQ(bioinfer_tracks_run(t, s, (size_t)g->info.window, mode, y, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    return y;
}

/* The same once more, every call of the driver counted. parts: programs of a window. */
static void check_calls(bioinfer_tracks *t, const char *s, const struct got *g, int mode, int parts)
{
    float *y;
    emu_counts = (struct emu_counts){0};
    y = run(t, s, g, mode);
    CHECK_EQ(emu_counts.copies_in, parts);
    CHECK_EQ(emu_counts.copies_out, parts);
    CHECK_EQ(emu_counts.waits, parts);
    CHECK_EQ(emu_counts.allocations, 0);
    free(y);
}

/* Three changed windows in company and each alone: the same bits. ops: and counted. */
static void check_company(bioinfer_tracks *t, const char *s, const struct got *g, bool counted)
{
    enum { N = 3 };
    const size_t window = (size_t)g->info.window;
    struct bioinfer_error err = {0};
    float *all = calloc((size_t)g->n * N, sizeof *all);
    char *changed[N];
    for (int i = 0; i < N; i++) {
        const size_t at = window / 2 + 1 + (size_t)i * 5;
        changed[i] = malloc(window);
        memcpy(changed[i], s, window);
        changed[i][at] = s[at] == 'G' ? 'T' : 'G';
    }
    for (int twice = 0; twice < 2; twice++) {
        emu_counts = (struct emu_counts){0};
        if (!CHECK_EQ(
                bioinfer_tracks_run_changed(t, (const char *const *)changed, N, window, all, &err),
                0))
            fprintf(stderr, "    %s\n", err.text);
    }
    if (counted) {
        CHECK_EQ(emu_counts.copies_in, 1);
        CHECK_EQ(emu_counts.copies_out, 1);
        CHECK_EQ(emu_counts.waits, 1);
        CHECK_EQ(emu_counts.allocations, 0);
    }
    for (int i = 0; i < N; i++) {
        float *alone = run(t, changed[i], g, BIOINFER_CHANGED);
        CHECK(!memcmp(alone, all + i * g->n, (size_t)g->n * sizeof *alone));
        free(alone);
        free(changed[i]);
    }
    free(all);
}

enum { N_STARTED = BIOINFER_STARTED + 1, BROKEN = 2 };

/* Windows, and what each gives alone. */
struct alone {
    char *s[N_STARTED], *broken;
    float *want[N_STARTED], *got[N_STARTED];
    size_t window, size; /* size: of values */
};

/* The first n windows, started and finished in order; one of them not finite. Returns uploads. */
static long start_some(bioinfer_tracks *t, const struct alone *a, int n, bool broken)
{
    struct bioinfer_error err = {0};
    emu_counts.copies_in = 0;
    for (int i = 0, finished = 0; finished < n; finished++) {
        float *which = NULL;
        for (; i < n && i - finished < BIOINFER_STARTED; i++)
            CHECK_EQ(bioinfer_tracks_start(t, broken && i == BROKEN ? a->broken : a->s[i],
                                           a->window, a->got[i], &err),
                     0);
        if (!CHECK_EQ(bioinfer_tracks_finish(t, &which, &err),
                      broken && finished == BROKEN ? BIOINFER_NONFINITE : 0))
            fprintf(stderr, "    %s\n", err.text);
        CHECK(which == a->got[finished]);
        if (!(broken && finished == BROKEN) && !CHECK(!memcmp(which, a->want[finished], a->size)))
            fprintf(stderr, "    window %d of %d\n", finished, n);
    }
    return emu_counts.copies_in;
}

/* Of n windows: eight together, the last ones filled up, but not five to eight. */
static int n_programs(int n)
{
    return n / 8 + (n % 8 > 0) + (n % 8 == 5);
}

/* PLAIN; VIEWS of two strands, whose tracks differ; a memory LIMIT that does for one window; no larger
 * block on the DEVICE than one window takes. */
enum started_kind { PLAIN, VIEWS, LIMIT, DEVICE };

/* Windows started together have the bits that each has alone. */
static void check_kind(struct bioinfer_model *model, const char *s, bool together,
                       enum started_kind kind, const int *counts, int n_counts)
{
    static const int shifts[] = {0, 3}, chosen[] = {2, 0}, strands[] = {1, 0, 2};
    static struct bioinfer_profile profile; /* of one plain window */
    const int n_windows = counts[n_counts - 1];
    struct bioinfer_tracks_params tp = {.struct_size = sizeof tp, .quarter = 1};
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    bioinfer_tracks *t = NULL, *one = NULL;
    struct alone a = {.window = strlen(s)};
    if (kind == VIEWS) {
        tp.shifts = shifts;
        tp.n_shifts = 2;
        tp.reverse_complement = 1;
        tp.tracks = chosen;
        tp.n_tracks = 2;
        tp.strand_pairs = strands;
    } else if (kind == LIMIT) {
        tp.memory_limit = (int64_t)(profile.activation_size + 2 * profile.io_size);
    }
    CHECK_EQ(bioinfer_tracks_new(&one, model, &tp, &err), 0);
    CHECK_EQ(bioinfer_tracks_new(&t, model, &tp, &err), 0);
    bioinfer_tracks_get_info(t, &info);
    CHECK_EQ(info.n_at_once, !together ? 2 : kind == VIEWS ? 5 : BIOINFER_STARTED);
    a.size = (size_t)(info.n_bins * info.n_tracks) * sizeof(float);
    a.broken = malloc(a.window);
    memcpy(a.broken, s, a.window);
    a.broken[a.window / 2] = '.';
    for (int i = 0; i < n_windows; i++) {
        const size_t part = a.window / (N_STARTED + 3), first = part * (size_t)i;
        a.s[i] = malloc(a.window);
        memcpy(a.s[i], s, a.window);
        for (size_t k = first; k < first + part; k++)
            a.s[i][k] = "ACGT"[(k * k + (size_t)i) % 4];
        a.want[i] = malloc(a.size);
        a.got[i] = malloc(a.size);
        CHECK_EQ(bioinfer_tracks_run(one, a.s[i], a.window, BIOINFER_WINDOW, a.want[i], &err), 0);
        CHECK(!i || memcmp(a.want[i], a.want[0], a.size));
    }
    if (kind == PLAIN) {
        profile.struct_size = sizeof profile;
        bioinfer_tracks_get_profile(one, &profile);
    } else if (kind == DEVICE) {
        emu_counts.most = profile.activation_size > profile.io_size ? profile.activation_size
                                                                    : profile.io_size;
    }
    for (int i = 0; i < n_counts; i++) {
        const int n = counts[i];
        const long uploads = start_some(t, &a, n, false);
        CHECK_EQ(uploads, kind == VIEWS               ? (together ? 2 : 4) * n
                          : together && kind == PLAIN ? n_programs(n)
                                                      : n);
    }
    start_some(t, &a, n_windows, true);
    start_some(t, &a, 1, false);
    emu_counts.most = 0;
    bioinfer_tracks_get_info(t, &info);
    if (kind == LIMIT || kind == DEVICE)
        CHECK_EQ(info.n_at_once, 2); /* one by one from then on */
    for (int i = 0; i < n_windows; i++) {
        free(a.s[i]);
        free(a.want[i]);
        free(a.got[i]);
    }
    free(a.broken);
    bioinfer_tracks_free(&t);
    bioinfer_tracks_free(&one);
}

/* Five windows, each beside one of another base or, the third, of many: as each of the ten alone. The third's
 * two go together, in a program between those of the pairs before and behind it; where there is no memory for
 * a pair, or the family takes no company, each goes by itself. */
static void check_pairs(struct bioinfer_model *model, const char *s, bool together, bool half)
{
    enum { N = 5, LONG = 2 };
    const size_t window = strlen(s);
    struct bioinfer_tracks_params tp = {.struct_size = sizeof tp};
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_profile profile = {.struct_size = sizeof profile};
    struct bioinfer_error err = {0};
    for (int limited = 0; limited <= half; limited++) {
        const bool by_twos = together && !limited;
        bioinfer_tracks *t = NULL, *one = NULL;
        float *got[N], *want[2];
        char *of[N][2];
        size_t n_values;
        CHECK_EQ(bioinfer_tracks_new(&one, model, &tp, &err), 0);
        bioinfer_tracks_get_info(one, &info);
        n_values = (size_t)(info.n_bins * info.n_tracks);
        for (int i = 0; i < 2; i++)
            want[i] = malloc(n_values * sizeof(float));
        CHECK_EQ(bioinfer_tracks_run(one, s, window, BIOINFER_WINDOW, want[0], &err), 0);
        bioinfer_tracks_get_profile(one, &profile);
        tp.memory_limit = limited ? (int64_t)(profile.activation_size + 2 * profile.io_size) : 0;
        CHECK_EQ(bioinfer_tracks_new(&t, model, &tp, &err), 0);
        tp.memory_limit = 0;
        for (int i = 0; i < N; i++) {
            const size_t at = window / 2 + 3 * (size_t)i;
            for (int k = 0; k < 2; k++) {
                of[i][k] = malloc(window);
                memcpy(of[i][k], s, window);
                of[i][k][window / 5 * (size_t)i] = 'N';
            }
            for (size_t k = at; k < at + (i == LONG ? window / 3 : 1); k++)
                of[i][1][k] = s[k] == 'G' ? 'T' : 'G';
            got[i] = malloc(2 * n_values * sizeof(float));
        }
        emu_counts.copies_in = 0;
        for (int i = 0; i < N; i++)
            CHECK_EQ(bioinfer_tracks_start_pair(t, of[i][0], of[i][1], window, got[i], &err), 0);
        for (int i = 0; i < N; i++)
            if (!CHECK_EQ(bioinfer_tracks_finish(t, NULL, &err), 0))
                fprintf(stderr, "    %s\n", err.text);
        CHECK_EQ(emu_counts.copies_in, by_twos ? 3 : 2 * N);
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < 2; k++) {
                CHECK_EQ(bioinfer_tracks_run(one, of[i][k], window, BIOINFER_WINDOW, want[k], &err),
                         0);
                if (!CHECK(
                        !memcmp(want[k], got[i] + (size_t)k * n_values, n_values * sizeof(float))))
                    fprintf(stderr, "    window %d of pair %d, %d\n", k, i, limited);
            }
        }
        bioinfer_tracks_get_info(t, &info);
        CHECK_EQ(info.n_cut, by_twos ? N - 1 : 0);
        CHECK_EQ(info.n_whole, by_twos ? N + 1 : 2 * N);
        for (int i = 0; i < N; i++) {
            free(of[i][0]);
            free(of[i][1]);
            free(got[i]);
        }
        free(want[0]);
        free(want[1]);
        bioinfer_tracks_free(&t);
        bioinfer_tracks_free(&one);
    }
}

static double sum_of(const float *values, int64_t track, int64_t n_tracks)
{
    return (double)values[track] + (double)values[n_tracks + track];
}

/* Sums over bins against those of the tracks, with logarithms or of two strands: of windows and of a pair that
 * are on their way together, as each gives them alone. */
static void check_sums(struct bioinfer_model *model, const char *s)
{
    enum { N = 3 };
    const size_t window = strlen(s);
    char *other = malloc(window);
    memcpy(other, s, window);
    other[window / 2] = s[window / 2] == 'G' ? 'T' : 'G';
    for (int strands = 1; strands <= 2; strands++) {
        struct bioinfer_tracks_params tp = {.struct_size = sizeof tp,
                                            .reverse_complement = strands > 1};
        struct bioinfer_tracks_info info = {.struct_size = sizeof info};
        struct bioinfer_error err = {0};
        bioinfer_tracks *t = NULL, *all = NULL;
        float *tracks, *alone[2], *got[N + 1];
        double worst = 0;
        CHECK_EQ(bioinfer_tracks_new(&all, model, &tp, &err), 0);
        tp.sums = strands > 1 ? BIOINFER_SUMS : BIOINFER_SUMS_AND_LOGS;
        CHECK_EQ(bioinfer_tracks_new(&t, model, &tp, &err), 0);
        bioinfer_tracks_get_info(t, &info);
        const int64_t n = info.n_tracks;
        const size_t size = (size_t)(info.n_rows * n) * sizeof(float);
        CHECK_EQ(info.n_rows, strands > 1 ? 2 : 4);
        tracks = calloc((size_t)(info.n_bins * n), sizeof *tracks);
        CHECK_EQ(bioinfer_tracks_run(all, s, window, BIOINFER_WINDOW, tracks, &err), 0);
        for (int i = 0; i < 2; i++) {
            alone[i] = calloc(1, size);
            CHECK_EQ(bioinfer_tracks_run(t, i ? other : s, window, BIOINFER_WINDOW, alone[i], &err),
                     0);
        }
        for (int i = 0; i <= N; i++) {
            got[i] = calloc(2, size);
            CHECK_EQ(i < N ? bioinfer_tracks_start(t, s, window, got[i], &err)
                           : bioinfer_tracks_start_pair(t, s, other, window, got[i], &err),
                     0);
        }
        for (int i = 0; i <= N; i++) {
            CHECK_EQ(bioinfer_tracks_finish(t, NULL, &err), 0);
            CHECK(!memcmp(got[i], alone[0], size));
        }
        CHECK(!memcmp((char *)got[N] + size, alone[1], size));
        CHECK(memcmp(alone[0], alone[1], size));
        for (int64_t k = 0; k < n; k++) {
            double want = 0, logs = 0;
            for (int64_t b = 0; b < info.n_bins; b++) {
                want += (double)tracks[b * n + k];
                logs += log2(1 + (double)tracks[b * n + k]);
            }
            worst = fmax(worst, fabs(sum_of(alone[0], k, n) - want) / want);
            if (strands == 1)
                worst = fmax(worst, fabs(sum_of(alone[0] + 2 * n, k, n) - logs) / logs);
        }
        CHECK(worst <= (strands > 1 ? 1e-7 : 1e-13)); /* means of tracks are rounded */
        free(tracks);
        for (int i = 0; i < 2; i++)
            free(alone[i]);
        for (int i = 0; i <= N; i++)
            free(got[i]);
        bioinfer_tracks_free(&t);
        bioinfer_tracks_free(&all);
    }
    free(other);
}

static void check_started(struct bioinfer_model *model, const char *s, bool together, bool thorough)
{
    static const int all[] = {1, 2, 3, 5, 9}, few[] = {7}, fewer[] = {5}, alone[] = {3};
    check_kind(model, s, together, PLAIN,
               thorough   ? all
               : together ? few
                          : alone,
               thorough ? 5 : 1);
    for (int kind = VIEWS; thorough && kind <= DEVICE; kind++)
        check_kind(model, s, together, (enum started_kind)kind, fewer, 1);
}

/* A base that is a quarter of each becomes one that is no number. */
static void break_quarter(struct bioinfer_model *model)
{
    static float table[BI_BASES * 8];
    for (size_t i = 0; i < model->base.n_weights; i++) {
        struct bi_weight *w = &model->base.weights[i];
        if (strcmp(w->name, "bases"))
            continue;
        CHECK_EQ(w->shape[0] * w->shape[1], BI_BASES * 8);
        memcpy(table, w->values, sizeof table);
        table[8 * BI_BASE_QUARTER] = INFINITY;
        w->values = table;
        return;
    }
    CHECK(false);
}

static void run_all(bioinfer_context *ctx, const char *weights, const char *fasta,
                    const struct bioinfer_model_params *mp, const struct bi_backend_ops *ops,
                    bool company, struct got *g)
{
    struct bioinfer_tracks_params tp = {.struct_size = sizeof tp, .keep = 1};
    struct bioinfer_profile profile = {.struct_size = sizeof profile};
    struct bioinfer_error err = {0};
    struct bioinfer_record r;
    bioinfer_reader *reader = NULL;
    bioinfer_model *model = NULL;
    bioinfer_tracks *t = NULL;
    char *s;
    if (bi_model_open_on(&model, ctx, weights, mp, ops, &err) ||
        bioinfer_tracks_new(&t, model, &tp, &err) ||
        bioinfer_reader_open(&reader, ctx, fasta, NULL, &err) ||
        bioinfer_reader_next(reader, &r, &err) != 1) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    break_quarter(model);
    g->info.struct_size = sizeof g->info;
    bioinfer_tracks_get_info(t, &g->info);
    g->n = g->info.n_bins * g->info.n_tracks;
    CHECK_EQ(r.length, g->info.window);
    s = malloc(r.length + 1);
    memcpy(s, r.sequence, r.length);
    s[r.length] = 0;
    g->window = run(t, s, g, BIOINFER_WINDOW);
    bioinfer_tracks_get_profile(t, &profile);
    CHECK_EQ(profile.uploads, 1);
    CHECK_EQ(profile.submits, 1);
    CHECK_EQ(profile.downloads, 1);
    free(run(t, s, g, BIOINFER_REFERENCE));
    s[r.length / 2] = s[r.length / 2] == 'A' ? 'C' : 'A';
    g->changed = run(t, s, g, BIOINFER_CHANGED);
    g->again = run(t, s, g, BIOINFER_WINDOW);
    if (ops) {
        check_calls(t, s, g, BIOINFER_WINDOW, 1);
        check_calls(t, s, g, BIOINFER_CHANGED, 2); /* convolutions, then the rest */
    }
    check_company(t, s, g, ops && company);
    if (ops)
        check_started(model, s, company,
                      company && ops == &emu_nvidia && !strcmp(mp->precision, "fp16"));
    if (ops && (ops == &emu_nvidia) == !strcmp(mp->precision, "fp16"))
        check_pairs(model, s, company, ops == &emu_nvidia);
    if (ops)
        check_sums(model, s);
    free(s);
    bioinfer_reader_close(&reader);
    bioinfer_tracks_free(&t);
    bioinfer_model_close(&model);
}

static void forget(struct got *g)
{
    free(g->window);
    free(g->changed);
    free(g->again);
}

static double cosine(const float *a, const float *b, int64_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

int main(int argc, char **argv)
{
    struct bioinfer_model_params mp = {.struct_size = sizeof mp};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    struct got cpu = {0};
    if (argc < 3)
        return 2;
    mp.positions = argc > 3 ? argv[3] : NULL;
    const bool company = strstr(argv[1], "/enformer/"); /* Borzoi's go one by one */
    if (bioinfer_context_new(&ctx, NULL, &err))
        return 1;
    run_all(ctx, argv[1], argv[2], &mp, NULL, company, &cpu);
    for (int precision = 0; precision < 2; precision++)
        for (int i = 0; i < 3; i++) {
            struct got g = {0};
            double c;
            mp.precision = precision ? "fp16" : "fp32";
            run_all(ctx, argv[1], argv[2], &mp, backends[i], company, &g);
            c = cosine(cpu.window, g.window, g.n);
            printf("%s %s: cosine 1 - %.1e\n", backends[i]->name, mp.precision, 1 - c);
            CHECK(c >= (precision ? 0.99999 : 0.9999999));
            CHECK(!memcmp(g.changed, g.again, (size_t)g.n * sizeof *g.changed));
            CHECK(memcmp(g.changed, g.window, (size_t)g.n * sizeof *g.changed));
            forget(&g);
        }
    forget(&cpu);
    bioinfer_context_free(&ctx);
    return test_report();
}

/* emu_tracks.c - whole small models of DNA windows through the GPU path on the host: against the
 * CPU backend, changed windows against full ones, windows together against each alone; and counted
 * where the driver is called: a window whose plan is known is one upload and one download, waits
 * once and allocates nothing.
 *
 *   emu_tracks WEIGHTS WINDOW.fasta [POSITIONS] */
#include <math.h>

#include "../../engine/task.h"
#include "../../lib/lib.h"
#include "../../models/programs.h"
#include "../test.h"
#include "../windows.h"
#include "emu_backend.h"

static const struct bi_backend_ops *const backends[] = {&emu_nvidia, &emu_cdna, &emu_rdna};

struct got {
    float *window, *changed, *again;
    int64_t n;
    struct bioinfer_tracks_info info;
};

/* A window and n others that differ from it: [1 + n, g->n]. */
static float *run(bioinfer_task *t, const char *s, const char *const *others, size_t n,
                  const struct got *g)
{
    struct bioinfer_error err = {0};
    float *y = calloc((1 + n) * (size_t)g->n, sizeof *y);
    if (!CHECK_EQ(test_run_window(t, s, others, n, y, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    return y;
}

static uint64_t rounded(int64_t n_words)
{
    return ((uint64_t)n_words * 4 + BI_ALIGN - 1) / BI_ALIGN * BI_ALIGN;
}

/* Bytes that cross where features stay on the device: counts, bases, and for changed windows in
 * company (`all` of them, filled up; 0 = there are none) lists of tokens; and values. */
static void check_bytes(const struct bioinfer_tracks_info *info, int64_t cut, int64_t all,
                        int programs, int n_values)
{
    const int64_t token = info->window / info->n_tokens;
    uint64_t in = (uint64_t)programs * BI_ALIGN + rounded(info->window);
    uint64_t out = (uint64_t)n_values * rounded(info->n_bins * info->n_tracks);
    if (all) {
        in += rounded(all * cut * token) + rounded(all * info->n_tokens) + rounded(all * cut) +
              rounded(all * info->n_bins);
        out += rounded(all * info->n_bins * info->n_tracks);
    } else {
        in += rounded(cut * token);
    }
    CHECK_EQ(emu_counts.bytes_in, in);
    CHECK_EQ(emu_counts.bytes_out, out);
}

/* The same once more, every call of the driver counted: programs that run, `kept` of which leave
 * what they give on the device. */
static void check_calls(bioinfer_task *t, const char *s, const char *const *others, size_t n,
                        const struct got *g, int programs, int kept)
{
    struct bioinfer_tracks_info before = {.struct_size = sizeof before}, after = before;
    for (int twice = 0; twice < 2; twice++) {
        bioinfer_tracks_get_info(t, &before);
        emu_counts = (struct emu_counts){0};
        free(run(t, s, others, n, g));
    }
    CHECK_EQ(emu_counts.copies_in, programs);
    CHECK_EQ(emu_counts.copies_out, programs - kept);
    CHECK_EQ(emu_counts.waits, programs);
    CHECK_EQ(emu_counts.allocations, 0);
    CHECK(!kept == !emu_counts.copies_within);
    bioinfer_tracks_get_info(t, &after);
    if (kept) {
        const int64_t cut = (int64_t)(after.cut_tokens - before.cut_tokens);
        const int64_t all = kept > 1 ? 0 : n == 3 ? 4 : (int64_t)n;
        check_bytes(&after, cut / (int64_t)n, all, programs, kept > 1 ? 2 : 1);
    }
}

/* Three changed windows in company and each alone: the same bits. counted: two programs of the
 * window and one of all changed ones; or, where a cut is most of the window, four whole windows. */
static void check_company(bioinfer_task *t, const char *s, const struct got *g, bool company,
                          bool counted)
{
    enum { N = 3 };
    const size_t window = (size_t)g->info.window;
    char *changed[N];
    float *all;
    for (int i = 0; i < N; i++) {
        const size_t at = window / 2 + 1 + (size_t)i * 5;
        changed[i] = malloc(window);
        memcpy(changed[i], s, window);
        changed[i][at] = s[at] == 'G' ? 'T' : 'G';
    }
    all = run(t, s, (const char *const *)changed, N, g);
    if (counted)
        check_calls(t, s, (const char *const *)changed, N, g, company ? 3 : 1 + N, company);
    for (int i = 0; i < N; i++) {
        float *alone = run(t, changed[i], NULL, 0, g);
        CHECK(!memcmp(alone, all + (1 + i) * g->n, (size_t)g->n * sizeof *alone));
        free(alone);
        free(changed[i]);
    }
    free(all);
}

enum { N_TOGETHER = 17, BROKEN = 2 };

/* Windows, and what each gives alone. */
struct alone {
    char *s[N_TOGETHER], *broken;
    float *want[N_TOGETHER], *got[N_TOGETHER];
    size_t window, size; /* size: of values */
};

/* The first n windows in a run; one of them not finite. Returns uploads. */
static long run_some(bioinfer_task *t, const struct alone *a, int n, bool broken)
{
    struct test_window windows[N_TOGETHER] = {{0}};
    struct bioinfer_error err = {0};
    for (int i = 0; i < n; i++) {
        windows[i].sequence = broken && i == BROKEN ? a->broken : a->s[i];
        windows[i].values = a->got[i];
    }
    emu_counts.copies_in = 0;
    if (!CHECK_EQ(test_run_windows(t, windows, (size_t)n, NULL, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    for (int i = 0; i < n; i++) {
        const bool is_broken = broken && i == BROKEN;
        CHECK_EQ(windows[i].status, is_broken ? BIOINFER_NONFINITE : 0);
        if (!is_broken && !CHECK(!memcmp(a->got[i], a->want[i], a->size)))
            fprintf(stderr, "    window %d of %d\n", i, n);
    }
    return emu_counts.copies_in;
}

/* Programs of n views: eight together, the last ones filled up, but not five to eight. */
static int n_programs(int n)
{
    return n / 8 + (n % 8 > 0) + (n % 8 == 5);
}

/* PLAIN; VIEWS of two strands, whose tracks differ; a memory LIMIT that does for one window; no
 * larger block on the DEVICE than one window takes. */
enum kind { PLAIN, VIEWS, LIMIT, DEVICE };

/* Windows of a run have the bits that each has alone. */
static void check_kind(struct bioinfer_model *model, const char *s, bool together, enum kind kind,
                       const int *counts, int n_counts)
{
    static const int shifts[] = {0, 3}, chosen[] = {2, 0}, strands[] = {1, 0, 2};
    static struct bioinfer_profile profile; /* that of one plain window */
    const int n_windows = counts[n_counts - 1];
    struct bioinfer_tracks_params tp = {.struct_size = sizeof tp, .quarter = 1};
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL, *one = NULL;
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
    CHECK_EQ(bioinfer_tracks_open(&one, model, &tp, &err), 0);
    CHECK_EQ(bioinfer_tracks_open(&t, model, &tp, &err), 0);
    bioinfer_tracks_get_info(t, &info);
    a.size = (size_t)(info.n_bins * info.n_tracks) * sizeof(float);
    a.broken = malloc(a.window);
    memcpy(a.broken, s, a.window);
    a.broken[a.window / 2] = '.';
    for (int i = 0; i < n_windows; i++) {
        const size_t part = a.window / (N_TOGETHER + 3), first = part * (size_t)i;
        a.s[i] = malloc(a.window);
        memcpy(a.s[i], s, a.window);
        for (size_t k = first; k < first + part; k++)
            a.s[i][k] = "ACGT"[(k * k + (size_t)i) % 4];
        a.want[i] = malloc(a.size);
        a.got[i] = malloc(a.size);
        CHECK_EQ(test_run_window(one, a.s[i], NULL, 0, a.want[i], &err), 0);
        CHECK(!i || memcmp(a.want[i], a.want[0], a.size));
    }
    if (kind == PLAIN) {
        profile.struct_size = sizeof profile;
        bioinfer_task_get_profile(one, &profile);
    } else if (kind == DEVICE) {
        emu_counts.most = profile.activation_size > profile.io_size ? profile.activation_size
                                                                    : profile.io_size;
    }
    for (int i = 0; i < n_counts; i++) {
        const int n = counts[i];
        /* views of the other strand go by themselves */
        CHECK_EQ(run_some(t, &a, n, false), kind == VIEWS
                                                ? (together ? 2 * n_programs(2 * n) : 4 * n)
                                            : together && kind == PLAIN ? n_programs(n)
                                                                        : n);
    }
    run_some(t, &a, n_windows, true);
    CHECK_EQ(run_some(t, &a, 1, false), kind == VIEWS ? (together ? 2 : 4) : 1);
    emu_counts.most = 0;
    for (int i = 0; i < n_windows; i++) {
        free(a.s[i]);
        free(a.want[i]);
        free(a.got[i]);
    }
    free(a.broken);
    bioinfer_task_close(&t);
    bioinfer_task_close(&one);
}

/* Five windows, each beside one of another base or, the third, of many: as each of the ten alone.
 * The third's two go as whole windows; where there is no memory for a pair, or for features, all
 * do. Where the family takes no company one change is small enough for features that are kept: two
 * programs for each of its windows. */
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
        const int n_cut = by_twos ? N - 1 : together || limited ? 0 : 1;
        bioinfer_task *t = NULL, *one = NULL;
        struct test_window windows[N] = {{0}};
        float *want[2];
        char *of[N][2];
        size_t n_values;
        CHECK_EQ(bioinfer_tracks_open(&one, model, &tp, &err), 0);
        bioinfer_tracks_get_info(one, &info);
        n_values = (size_t)(info.n_bins * info.n_tracks);
        for (int i = 0; i < 2; i++)
            want[i] = malloc(n_values * sizeof(float));
        CHECK_EQ(test_run_window(one, s, NULL, 0, want[0], &err), 0);
        bioinfer_task_get_profile(one, &profile);
        tp.memory_limit = limited ? (int64_t)(profile.activation_size + 2 * profile.io_size) : 0;
        CHECK_EQ(bioinfer_tracks_open(&t, model, &tp, &err), 0);
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
            windows[i].sequence = of[i][0];
            windows[i].others = (const char *const *)of[i] + 1;
            windows[i].n = 1;
            windows[i].values = malloc(2 * n_values * sizeof(float));
        }
        emu_counts.copies_in = 0;
        if (!CHECK_EQ(test_run_windows(t, windows, N, NULL, &err), 0))
            fprintf(stderr, "    %s\n", err.text);
        CHECK_EQ(emu_counts.copies_in, by_twos ? 2 : 2 * N + 2 * n_cut);
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < 2; k++) {
                CHECK_EQ(test_run_window(one, of[i][k], NULL, 0, want[k], &err), 0);
                if (!CHECK(!memcmp(want[k], windows[i].values + (size_t)k * n_values,
                                   n_values * sizeof(float))))
                    fprintf(stderr, "    window %d of pair %d, %d\n", k, i, limited);
            }
        }
        bioinfer_tracks_get_info(t, &info);
        CHECK_EQ(info.n_cut, n_cut);
        CHECK_EQ(info.n_whole, 2 * N - n_cut);
        for (int i = 0; i < N; i++) {
            free(of[i][0]);
            free(of[i][1]);
            free(windows[i].values);
        }
        free(want[0]);
        free(want[1]);
        bioinfer_task_close(&t);
        bioinfer_task_close(&one);
    }
}

static double sum_of(const float *values, int64_t track, int64_t n_tracks)
{
    return (double)values[track] + (double)values[n_tracks + track];
}

/* Sums over bins against those of the tracks, with logarithms or of two strands: of windows and of
 * a pair in one run, as each gives them alone. */
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
        bioinfer_task *t = NULL, *all = NULL;
        struct test_window windows[N + 1] = {{0}};
        float *tracks, *alone[2];
        double worst = 0;
        CHECK_EQ(bioinfer_tracks_open(&all, model, &tp, &err), 0);
        tp.sums = strands > 1 ? BIOINFER_SUMS : BIOINFER_SUMS_AND_LOGS;
        CHECK_EQ(bioinfer_tracks_open(&t, model, &tp, &err), 0);
        bioinfer_tracks_get_info(t, &info);
        const int64_t n = info.n_tracks;
        const size_t size = (size_t)(info.n_rows * n) * sizeof(float);
        CHECK_EQ(info.n_rows, strands > 1 ? 2 : 4);
        tracks = calloc((size_t)(info.n_bins * n), sizeof *tracks);
        CHECK_EQ(test_run_window(all, s, NULL, 0, tracks, &err), 0);
        for (int i = 0; i < 2; i++) {
            alone[i] = calloc(1, size);
            CHECK_EQ(test_run_window(t, i ? other : s, NULL, 0, alone[i], &err), 0);
        }
        for (int i = 0; i <= N; i++) {
            windows[i].sequence = s;
            windows[i].others = (const char *const *)&other;
            windows[i].n = i == N;
            windows[i].values = calloc(2, size);
        }
        CHECK_EQ(test_run_windows(t, windows, N + 1, NULL, &err), 0);
        for (int i = 0; i <= N; i++)
            CHECK(!memcmp(windows[i].values, alone[0], size));
        CHECK(!memcmp((char *)windows[N].values + size, alone[1], size));
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
            free(windows[i].values);
        bioinfer_task_close(&t);
        bioinfer_task_close(&all);
    }
    free(other);
}

static void check_together(struct bioinfer_model *model, const char *s, bool together,
                           bool thorough)
{
    static const int all[] = {1, 2, 3, 5, 9}, few[] = {7}, fewer[] = {5}, alone[] = {3};
    check_kind(model, s, together, PLAIN,
               thorough   ? all
               : together ? few
                          : alone,
               thorough ? 5 : 1);
    for (int kind = VIEWS; thorough && kind <= DEVICE; kind++)
        check_kind(model, s, together, (enum kind)kind, fewer, 1);
}

/* Bytes of the largest plan that a task has. */
static uint64_t largest_plan(const bioinfer_task *t)
{
    uint64_t most = 0;
    for (int i = 0; i < BI_PLAN_CACHE; i++) {
        const struct bi_plan *p = t->exec->plans[i];
        const struct bi_memory_plan *m = p ? &p->memory : NULL;
        const uint64_t size = !m ? 0
                                 : m->activation_size + m->input_size + m->output_size +
                                       m->upload_size + m->download_size;
        most = size > most ? size : most;
    }
    return most;
}

/* Features of a window whose middle base is each of the three others, where the memory limit does
 * for every program alone: they go into host memory, and the bits are the same. */
static void check_spilled(struct bioinfer_model *model, const char *s, const struct got *g)
{
    enum { N = 3 };
    const size_t window = (size_t)g->info.window;
    struct bioinfer_tracks_params tp = {.struct_size = sizeof tp};
    char *changed[N];
    float *want, *limited;
    bioinfer_task *t = NULL;
    for (int i = 0, base = 0; i < N; base++) {
        if ("ACGT"[base] == s[window / 2])
            continue;
        changed[i] = malloc(window);
        memcpy(changed[i], s, window);
        changed[i++][window / 2] = "ACGT"[base];
    }
    CHECK_EQ(bioinfer_tracks_open(&t, model, &tp, NULL), 0);
    want = run(t, s, (const char *const *)changed, N, g);
    CHECK(t->exec->kept_size > 0);
    tp.memory_limit = (int64_t)largest_plan(t);
    bioinfer_task_close(&t);
    CHECK_EQ(bioinfer_tracks_open(&t, model, &tp, NULL), 0);
    for (int twice = 0; twice < 2; twice++) {
        emu_counts = (struct emu_counts){0};
        limited = run(t, s, (const char *const *)changed, N, g);
        CHECK(!memcmp(limited, want, (1 + N) * (size_t)g->n * sizeof *want));
        CHECK_EQ(t->exec->kept_size, 0);
        free(limited);
    }
    CHECK_EQ(emu_counts.copies_within, 0);
    bioinfer_task_close(&t);
    for (int i = 0; i < N; i++)
        free(changed[i]);
    free(want);
}

/* Values of a window and of one beside it, of a task with these parameters. */
static float *values_of(struct bioinfer_model *model, const struct bioinfer_tracks_params *tp,
                        const char *s, const char *other)
{
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    float *values;
    CHECK_EQ(bioinfer_tracks_open(&t, model, tp, &err), 0);
    bioinfer_tracks_get_info(t, &info);
    values = malloc(2 * (size_t)info.n_values * sizeof *values);
    CHECK_EQ(test_run_window(t, s, &other, 1, values, &err), 0);
    bioinfer_task_close(&t);
    return values;
}

/* Outputs of one run have the bits that each has alone, with all tracks and with chosen ones. */
static void check_outputs(struct bioinfer_model *model, const char *s, const char *other)
{
    static const int chosen[] = {2, 0};
    struct bioinfer_tracks_output of[2] = {{0}};
    struct bioinfer_output_info row = {.struct_size = sizeof row};
    int n = 0;
    while (n < 2 && !bioinfer_model_output(model, n, &row))
        of[n++].name = row.name;
    CHECK_EQ(n, 2);
    for (int few = 0; few < 2; few++) {
        struct bioinfer_tracks_params tp = {
            .struct_size = sizeof tp, .outputs = of, .n_outputs = n};
        float *all, *alone;
        size_t at = 0, n_all = 0, size[2];
        of[1].tracks = few ? chosen : NULL;
        of[1].n_tracks = few ? 2 : 0;
        all = values_of(model, &tp, s, other);
        for (int i = 0; i < n; i++) {
            bioinfer_model_output(model, i, &row);
            size[i] = (size_t)model->base.tracks->heads[i].n_bins *
                      (size_t)(of[i].n_tracks ? of[i].n_tracks : row.n_tracks);
            n_all += size[i];
        }
        tp.n_outputs = 1;
        for (int i = 0; i < n; i++) {
            tp.outputs = &of[i];
            alone = values_of(model, &tp, s, other);
            for (size_t w = 0; w < 2; w++)
                if (!CHECK(
                        !memcmp(all + w * n_all + at, alone + w * size[i], size[i] * sizeof *all)))
                    fprintf(stderr, "    output %s, window %zu\n", of[i].name, w);
            at += size[i];
            free(alone);
        }
        free(all);
    }
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
    struct bioinfer_tracks_params tp = {.struct_size = sizeof tp};
    struct bioinfer_profile profile = {.struct_size = sizeof profile};
    struct bioinfer_error err = {0};
    struct bioinfer_record r;
    bioinfer_reader *reader = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *t = NULL;
    char *s, *other;
    if (bi_model_open_on(&model, ctx, weights, mp, ops, &err) ||
        bioinfer_tracks_open(&t, model, &tp, &err) ||
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
    g->window = run(t, s, NULL, 0, g);
    bioinfer_task_get_profile(t, &profile);
    CHECK_EQ(profile.uploads, 1);
    CHECK_EQ(profile.submits, 1);
    CHECK_EQ(profile.downloads, 1);
    other = malloc(r.length + 1);
    memcpy(other, s, r.length + 1);
    other[r.length / 2] = s[r.length / 2] == 'A' ? 'C' : 'A';
    g->changed = run(t, s, (const char *const *)&other, 1, g);
    g->again = run(t, other, NULL, 0, g);
    if (ops) {
        check_calls(t, s, NULL, 0, g, 1, 0);
        check_calls(t, s, (const char *const *)&other, 1, g, company ? 1 : 4, company ? 0 : 2);
    }
    check_company(t, other, g, company, ops != NULL);
    if (ops)
        check_together(model, s, company,
                       company && ops == &emu_nvidia && !strcmp(mp->precision, "fp16"));
    if (ops && (ops == &emu_nvidia) == !strcmp(mp->precision, "fp16")) {
        check_pairs(model, s, company, ops == &emu_nvidia);
        check_outputs(model, s, other);
    }
    if (ops) {
        check_sums(model, s);
        check_spilled(model, s, g);
    }
    free(s);
    free(other);
    bioinfer_reader_close(&reader);
    bioinfer_task_close(&t);
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
            CHECK(!memcmp(g.changed, g.window, (size_t)g.n * sizeof *g.changed));
            CHECK(!memcmp(g.changed + g.n, g.again, (size_t)g.n * sizeof *g.changed));
            CHECK(memcmp(g.changed + g.n, g.window, (size_t)g.n * sizeof *g.changed));
            forget(&g);
        }
    forget(&cpu);
    bioinfer_context_free(&ctx);
    return test_report();
}

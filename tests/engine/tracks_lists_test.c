/* tracks_lists_test.c - lists of rows that the device sums up, against sums over all rows of the
 * same windows: of a window, of one with another base, of one that goes on shifted, and of one in
 * which nothing differs. Lists that are none are refused.
 *
 *     tracks_lists_test [--tiles=N] WEIGHTS WINDOW.fasta OUTPUT:LISTS ...
 *
 * LISTS: enum bi_row_lists_kind. --tiles: windows with lists are computed in N tiles, those
 * they are compared with whole; lists whose rows ascend have the bytes that they have whole.
 *
 * The last output may be of junctions: counts of both alleles between chosen sites, against those
 * between the same sites that are given.
 *
 * With EMULATED on emulated GPUs, where all bytes that come to the host are counted, too: where
 * every output has lists, they are those of the lists. There, tiles are compared with whole windows
 * alone, on one of them. */
#include <math.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../../tasks/tracks.h"
#include "../test.h"
#include "../windows.h"

#if EMULATED
#include "../gpu/emu_backend.h"

static const struct bi_backend_ops *const backends[] = {&emu_nvidia, &emu_cdna, &emu_rdna};
#else
static const struct bi_backend_ops *const backends[] = {&bi_backend_cpu};
#endif

enum { MOST = 8, CHANGES = 3, SAME = 2, LISTS = 3, ROOM = 4 };

struct asked {
    struct bioinfer_tracks_output of[MOST];
    int lists[MOST], n;
    struct bioinfer_tracks_info info[MOST];
    int64_t n_values; /* all rows have so many */
};

static struct asked asked;
static int n_tiles; /* 0: whole windows */
static int n_changes = CHANGES;
static char *window, *changed;
static size_t length;
static struct bioinfer_change changes[CHANGES];
/* The lists of all windows, [1 + CHANGES, outputs]: the same rows, but for the second change. */
static struct bi_row_lists lists[(1 + CHANGES) * MOST];
static int32_t *rows[MOST], *others[MOST], *mine[MOST], *places[MOST], ends[MOST][LISTS];
static int n_results; /* that sinks were given */

/* All values of lists of a run, one behind the other. */
struct listed {
    float *values;
    size_t n;
};

static struct listed of_lists[2]; /* whole windows have the first, tiles the second */

static const float *values_of(const struct bioinfer_result *r, int index, int output)
{
    return index ? r->changed->values + (index - 1) * r->changed->n_values +
                       r->changed->values_at[output]
                 : r->arrays[output].data;
}

/* ---- the plain statement ---- */

static double row_of(const float *all, const struct bi_row_lists *l, int32_t at, int track,
                     int n_tracks)
{
    const int32_t row = l->rows[at];
    float largest;
    if (row >= 0)
        return (double)all[(int64_t)row * n_tracks + track];
    if (row == -1)
        return 0;
    largest = all[(int64_t)l->first * n_tracks + track];
    for (int64_t r = l->first + 1; r < l->end; r++)
        largest = fmaxf(largest, all[r * n_tracks + track]);
    return (double)largest;
}

static double sum_of(const float *own, const float *all, int index, int output, int list, int track)
{
    const struct bi_row_lists *l = &lists[index * asked.n + output];
    const struct bi_row_lists *of_own = &lists[output];
    const int n_tracks = asked.info[output].n_tracks;
    double sum = 0;
    for (int32_t at = list ? l->ends[list - 1] : 0; at < l->ends[list]; at++) {
        const double v = row_of(all, l, at, track, n_tracks);
        if (asked.lists[output] == BI_ROWS_SUMS) {
            sum += v;
            continue;
        }
        const double gap = fabs(v - row_of(own, of_own, l->against[at], track, n_tracks));
        CHECK(asked.lists[output] <= BI_ROWS_GAP_SUMS);
        sum = asked.lists[output] == BI_ROWS_GAP ? fmax(sum, (double)(float)gap) : sum + gap;
    }
    return sum;
}

/* ---- runs ---- */

/* Values of all rows: [1 + CHANGES] windows. */
static int keep_all(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    float *to = user;
    (void)err;
    n_results++;
    CHECK_EQ(r->status, 0);
    for (int i = 0; i <= CHANGES && !r->status; i++)
        for (int o = 0; o < asked.n; o++) {
            const struct bioinfer_tracks_info *info = &asked.info[o];
            memcpy(to + i * asked.n_values + info->values_at, values_of(r, i, o),
                   (size_t)(info->n_bins * info->n_tracks) * sizeof *to);
        }
    return 0;
}

static void add_values(struct listed *to, const float *values, int64_t n)
{
    to->values = realloc(to->values, (to->n + (size_t)n + 1) * sizeof *values);
    memcpy(to->values + to->n, values, (size_t)n * sizeof *values);
    to->n += (size_t)n;
}

/* Takes what lists give of a window and its changes. */
static int take_listed(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct listed *to = user;
    (void)err;
    n_results++;
    CHECK_EQ(r->status, 0);
    to->n = 0;
    for (int o = 0; o < asked.n && !r->status; o++)
        add_values(to, r->arrays[o].data, r->arrays[o].shape[0] * asked.info[o].n_tracks);
    if (!r->status)
        add_values(to, r->changed->values, n_changes * r->changed->n_values);
    return 0;
}

static int compare(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const float *all = user;
    (void)err;
    n_results++;
    CHECK_EQ(r->status, 0);
    CHECK_EQ(r->changed->n, CHANGES);
    for (int i = 0; i <= CHANGES && !r->status; i++)
        for (int o = 0; o < asked.n; o++) {
            const struct bioinfer_tracks_info *info = &asked.info[o];
            const float *of = all + i * asked.n_values + info->values_at, *got = values_of(r, i, o);
            const int n = lists[i * asked.n + o].n;
            double worst = 0;
            if (asked.lists[o] == BI_ROWS_ALL) {
                CHECK(!memcmp(got, of, (size_t)(info->n_bins * info->n_tracks) * sizeof *got));
                continue;
            }
            if (!i)
                CHECK_EQ(r->arrays[o].shape[0], 2 * n);
            for (int l = 0; l < n; l++)
                for (int t = 0; t < info->n_tracks; t++) {
                    const double want = sum_of(all + info->values_at, of, i, o, l, t);
                    const float *at = got + (int64_t)2 * l * info->n_tracks + t;
                    const double sum = (double)at[0] + (double)at[info->n_tracks];
                    const double off = fabs(sum - want) / fmax(fabs(want), 1e-30);
                    worst = off <= worst ? worst : off; /* NaN, too */
                    if (i == 1 + SAME && asked.lists[o] != BI_ROWS_SUMS)
                        CHECK(sum == 0);
                    if (i == 1 + SAME && asked.lists[o] == BI_ROWS_SUMS)
                        CHECK(!memcmp(at, values_of(r, 0, o) + (int64_t)2 * l * info->n_tracks + t,
                                      sizeof *at));
                }
            if (!CHECK(worst <= 1e-13))
                fprintf(stderr, "    window %d of output %s: %g off\n", i, info->head, worst);
        }
    return 0;
}

static void set_tiles(bioinfer_task *t, int n)
{
    for (int i = 0; t && i < BI_TILED; i++)
        ((struct bi_tracks_task *)t)->n_tiles[i] = n;
}

static bioinfer_task *open_task(const struct bioinfer_model *model, bool listed, int n)
{
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    struct bioinfer_tracks_params p = {
        .struct_size = sizeof p, .outputs = asked.of, .n_outputs = n};
    if (!CHECK_EQ(bi_tracks_open(&t, model, &p, listed ? asked.lists : NULL, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    set_tiles(t, listed ? n_tiles : 0);
    return t;
}

static void run(bioinfer_task *t, bool listed, bioinfer_sink sink, void *user)
{
    const struct bioinfer_record record = {.id = "window",
                                           .sequence = window,
                                           .length = length,
                                           .changes = changes,
                                           .n_changes = (size_t)n_changes};
    const struct bi_tracks_asks asks = {.lists = listed ? lists : NULL};
    struct bioinfer_error err = {0};
    n_results = 0;
    if (!CHECK_EQ(bi_tracks_compute(t, &record, &asks, sink, user, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(n_results, 1);
}

/* Whether all values are finite, and those of each output vary, and with the first two changes. */
static void check_values(const float *all)
{
    for (int o = 0; o < asked.n; o++) {
        const struct bioinfer_tracks_info *info = &asked.info[o];
        const float *of = all + info->values_at;
        const int64_t n = info->n_bins * info->n_tracks;
        long odd = 0, vary = 0, changed_ones[CHANGES] = {0};
        for (int64_t k = 0; k < n; k++) {
            vary += of[k] != of[0];
            odd += !isfinite(of[k]);
            for (int i = 0; i < CHANGES; i++) {
                const float value = of[(1 + i) * asked.n_values + k];
                odd += !isfinite(value);
                changed_ones[i] += value != of[k];
            }
        }
        CHECK_EQ(odd, 0);
        CHECK(vary && changed_ones[0] && changed_ones[1] && !changed_ones[SAME]);
    }
}

/* ---- lists ---- */

/* Finds the first row, of so many, behind those of the first tile. */
static int32_t behind_tile(const struct bioinfer_model *model, int32_t n_bins)
{
    const struct bi_tracks *t = model->base.tracks;
    const struct bi_tracks_tiles tiles = bi_tracks_tiles(t, n_tiles, false);
    int64_t first, end;
    bi_tracks_own(t, &tiles, 0, &first, &end);
    return tiles.n > 1 ? (int32_t)(end * n_bins / t->n_tokens) : n_bins / 3;
}

/* Makes list rows of an output, and others with a row that is none and one that is the largest of a
 * span, which reaches over the end of the first tile. */
static void make_rows(const struct bioinfer_model *model, int o, int32_t n, bool ascending)
{
    const int32_t n_bins = (int32_t)asked.info[o].n_bins;
    int32_t *own = rows[o] = realloc(rows[o], (size_t)n * sizeof *own);
    int32_t *other = others[o] = realloc(others[o], (size_t)n * sizeof *other);
    int32_t span = behind_tile(model, n_bins) + 3, first, at = 0;
    ends[o][0] = ascending ? n / 3 : 3;
    ends[o][1] = ascending ? n / 2 : 5;
    ends[o][2] = n;
    for (int32_t i = 0, list = 0, begin = 0; i < n; i++) {
        if (i == ends[o][list])
            begin = ends[o][list++];
        /* backwards, so that nothing is where it stands */
        own[i] = ascending ? (int32_t)((int64_t)(i - begin) * n_bins / (ends[o][list] - begin))
                           : n_bins - 1 - i;
    }
    memcpy(other, own, (size_t)n * sizeof *own);
    other[ascending ? 0 : 3] = -1;
    while (ascending && own[at] < span)
        at++;
    span = ascending ? own[at] + 1 : 11;
    other[ascending ? at : 4] = -2;
    first = span > 16 ? span - 16 : 0;
    for (int i = 0; i <= CHANGES; i++)
        lists[i * asked.n + o] = (struct bi_row_lists){.first = ascending ? first : 7, .end = span};
    if (ascending)
        other[at + 1] = -1;
}

static void make_lists(const struct bioinfer_model *model, bool ascending)
{
    for (int o = 0; o < asked.n; o++) {
        const int32_t n = (int32_t)asked.info[o].n_bins / 2;
        const bool compared = asked.lists[o] > BI_ROWS_SUMS;
        mine[o] = realloc(mine[o], (size_t)n * sizeof **mine);
        places[o] = realloc(places[o], (size_t)n * sizeof **places);
        make_rows(model, o, n, ascending);
        for (int32_t i = 0; i < n; i++) {
            mine[o][n - 1 - i] = rows[o][i];
            places[o][i] = n - 1 - i; /* the same row in mine */
        }
        for (int i = 0; i <= CHANGES; i++) {
            struct bi_row_lists *l = &lists[i * asked.n + o];
            const bool kept = !i && compared; /* others are compared with them */
            *l = asked.lists[o] ? *l : (struct bi_row_lists){0};
            if (!asked.lists[o])
                continue;
            l->rows = kept ? mine[o] : i == 2 ? others[o] : rows[o];
            l->against = places[o];
            l->ends = kept ? NULL : ends[o];
            l->n = kept ? 0 : LISTS;
            l->n_rows = n;
        }
    }
}

#if EMULATED
static uint64_t rounded(int64_t n_words)
{
    return ((uint64_t)n_words * 4 + BI_ALIGN - 1) / BI_ALIGN * BI_ALIGN;
}

static int ignore(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    (void)user, (void)err;
    n_results++;
    CHECK_EQ(r->status, 0);
    return 0;
}

/* Counts the bytes of a run of the outputs that have lists, which stand first. */
static void check_bytes(const struct bioinfer_model *model)
{
    static struct bi_row_lists fewer[(1 + CHANGES) * MOST];
    const struct bioinfer_record record = {.id = "window",
                                           .sequence = window,
                                           .length = length,
                                           .changes = changes,
                                           .n_changes = CHANGES};
    const struct bi_tracks_asks asks = {.lists = fewer};
    bioinfer_task *t;
    uint64_t expected = 0;
    int n = 0;
    while (n < asked.n && asked.lists[n])
        n++;
    for (int i = 0; i <= CHANGES; i++)
        for (int o = 0; o < n; o++) {
            fewer[i * n + o] = lists[i * asked.n + o];
            if (fewer[i * n + o].n)
                expected += rounded(2 * ROOM * asked.info[o].n_tracks);
        }
    t = open_task(model, true, n);
    for (int twice = 0; twice < 2; twice++) {
        emu_counts = (struct emu_counts){0};
        n_results = 0;
        CHECK_EQ(bi_tracks_compute(t, &record, &asks, ignore, NULL, NULL), 0);
        CHECK_EQ(n_results, 1);
    }
    CHECK_EQ(emu_counts.bytes_out, expected);
    CHECK_EQ(emu_counts.allocations, 0);
    CHECK(100 * expected < (uint64_t)asked.n_values * sizeof(float) * (1 + CHANGES));
    bioinfer_task_close(&t);
}
#endif

/* ---- counts of junctions ---- */

enum { AROUND = 600, SITES = 5 };

static const char *junctions; /* an output; NULL = none is counted */
static int32_t around[2 * AROUND + 1], chosen[4 * SITES];

/* Change 1 has one base more than the window, in front of the one in the middle. */
static struct bi_given_sites sites_of(size_t change)
{
    return (struct bi_given_sites){.at = chosen,
                                   .n = SITES,
                                   .joint = (int64_t)length / 2 - 1,
                                   .inserted = change == 1 ? 1 : 0};
}

static int choose(void *user, const struct bioinfer_result *r, size_t change,
                  struct bi_given_sites *sites, struct bioinfer_error *err)
{
    (void)user, (void)err;
    CHECK(change >= r->changed->first && change < r->changed->first + r->changed->n);
    if (change != SAME) /* this one is not counted */
        *sites = sites_of(change);
    return 0;
}

/* The counts of one window, given its sites. */
static int keep_counts(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const int64_t *shape = r->arrays[0].shape;
    (void)err;
    CHECK_EQ(r->status, 0);
    if (!r->status)
        memcpy(user, r->arrays[0].data, (size_t)(shape[0] * shape[1] * shape[2]) * sizeof(float));
    return 0;
}

static int take_counts(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    float *to = user;
    (void)err;
    CHECK_EQ(r->status, 0);
    CHECK_EQ(r->changed->n, CHANGES);
    if (!r->status)
        memcpy(to, r->changed->values, CHANGES * (size_t)r->changed->n_values * sizeof *to);
    return 0;
}

/* Counts of a window, or of that with a change, by a program of its own. */
static void count_alone(bioinfer_task *t, size_t change, bool changes_it, float *to)
{
    struct bi_given_sites sites = sites_of(changes_it ? change : 0);
    char *bases = malloc(length);
    const struct bioinfer_record record = {.id = "window", .sequence = bases, .length = length};
    const struct bi_tracks_asks asks = {.sites = &sites};
    memcpy(bases, window, length);
    if (changes_it)
        memcpy(bases + changes[change].first, changes[change].bases,
               (size_t)changes[change].length);
    CHECK_EQ(bi_tracks_compute(t, &record, &asks, keep_counts, to, NULL), 0);
    free(bases);
}

static void check_counts(const struct bioinfer_model *model)
{
    const struct bioinfer_tracks_output of = {.name = junctions};
    const int kind = BI_ROWS_COUNTS;
    struct bioinfer_tracks_params p = {.struct_size = sizeof p, .outputs = &of, .n_outputs = 1};
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bi_row_lists rows_of[1 + CHANGES];
    bioinfer_task *alone = NULL, *t = NULL;
    float *want, *got;
    size_t n;
    for (int32_t i = 0; i <= 2 * AROUND; i++)
        around[i] = (int32_t)length / 2 - AROUND + i;
    for (int i = 0; i < 4 * SITES; i++) /* one is the base that inserted ones are put to */
        chosen[i] = (int32_t)length / 2 - 301 + i % SITES * 100 + i / SITES * 100 % 200;
    for (int i = 0; i <= CHANGES; i++) /* change 1 has its rows one further on */
        rows_of[i] = (struct bi_row_lists){.rows = around, .n_rows = 2 * AROUND + (i == 2)};
    CHECK_EQ(bioinfer_tracks_open(&alone, model, &p, NULL), 0);
    CHECK_EQ(bi_tracks_open(&t, model, &p, &kind, NULL), 0);
    set_tiles(t, n_tiles);
    bioinfer_tracks_get_output(t, 0, &info);
    n = (size_t)(info.n_bins * info.n_tracks);
    want = calloc(2 * CHANGES * n, sizeof *want);
    got = calloc(2 * CHANGES * n, sizeof *got);
    for (size_t i = 0; i < CHANGES; i++)
        for (int changes_it = 0; i != SAME && changes_it < 2; changes_it++)
            count_alone(alone, i, changes_it, want + (2 * i + (size_t)changes_it) * n);
    set_tiles(alone, n_tiles);
    if (n_tiles)
        count_alone(alone, 1, true, got);
    CHECK(!n_tiles || !memcmp(want + 3 * n, got, n * sizeof *want));
    CHECK(memcmp(want, want + n, n * sizeof *want) && memcmp(want, want + 3 * n, n * sizeof *want));
    for (int twice = 0; twice < 2; twice++) {
        const struct bioinfer_record record = {.id = "window",
                                               .sequence = window,
                                               .length = length,
                                               .changes = changes,
                                               .n_changes = CHANGES};
        const struct bi_tracks_asks asks = {.lists = rows_of, .choose = choose};
#if EMULATED
        emu_counts = (struct emu_counts){0};
#endif
        memset(got, 0xff, 2 * CHANGES * n * sizeof *got);
        CHECK_EQ(bi_tracks_compute(t, &record, &asks, take_counts, got, NULL), 0);
        CHECK(!memcmp(want, got, 2 * CHANGES * n * sizeof *want));
    }
#if EMULATED
    CHECK_EQ(emu_counts.bytes_out, 2 * (CHANGES - 1) * rounded((int64_t)n));
    CHECK_EQ(emu_counts.allocations, 0);
#endif
    bioinfer_task_close(&alone);
    bioinfer_task_close(&t);
    free(want);
    free(got);
}

/* ---- what is refused ---- */

static int status_and_words(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    (void)err;
    n_results++;
    CHECK_EQ(r->status, BIOINFER_INVALID);
    if (r->status)
        CHECK_HAS(r->message, (const char *)user);
    return 0;
}

static void refuse(bioinfer_task *t, const struct bi_row_lists *of, const char *words)
{
    const struct bioinfer_record record = {
        .id = "window", .sequence = window, .length = length, .changes = changes, .n_changes = 1};
    const struct bi_tracks_asks asks = {.lists = of};
    n_results = 0;
    CHECK_EQ(bi_tracks_compute(t, &record, &asks, status_and_words, (void *)(uintptr_t)words, NULL),
             0);
    CHECK_EQ(n_results, 1);
}

static void check_refusals(const struct bioinfer_model *model)
{
    static const int32_t row[] = {3, -2}, far[] = {3, 1 << 30}, low[] = {-3, 0}, end[] = {2},
                         late[] = {3}, down[] = {2, 1}, beside[] = {0, 5};
    static const struct {
        struct bi_row_lists own, changed;
        int kind;
        const char *words;
    } odd[] = {{{row, NULL, end, 1, 2, 0, 0}, {0}, BI_ROWS_SUMS, "the largest of rows 0 to 0, of"},
               {{far, NULL, end, 1, 2, 0, 1}, {0}, BI_ROWS_SUMS, "row 1073741824, expected less"},
               {{low, NULL, end, 1, 2, 0, 1}, {0}, BI_ROWS_SUMS, "row -3, expected less"},
               {{row, NULL, late, 1, 2, 0, 1}, {0}, BI_ROWS_SUMS, "list 0 ends at row 3 of 2"},
               {{row, NULL, down, 2, 2, 0, 1}, {0}, BI_ROWS_SUMS, "list 1 ends at row 1 of 2"},
               {{row, NULL, end, 32769, 2, 0, 1}, {0}, BI_ROWS_SUMS, "32769 lists, expected up to"},
               {{NULL, NULL, end, 1, 2, 0, 1}, {0}, BI_ROWS_SUMS, "1 lists of 2 rows, which"},
               {{row, NULL, end, 1, 2, 0, 1}, {0}, BI_ROWS_GAP, "1 lists of 2 rows, which are not"},
               {{row, NULL, NULL, 0, 2, 0, 1}, {0}, BI_ROWS_GAP, "row -2, expected less"},
               {{row, NULL, NULL, 0, 1, 0, 0},
                {row, beside, end, 1, 2, 0, 1},
                BI_ROWS_GAP,
                "row 1 is compared with row 5 of 1"},
               {{row, NULL, NULL, 0, 1, 0, 0},
                {row, NULL, end, 1, 2, 0, 1},
                BI_ROWS_GAP,
                "lists of window 1: 1 lists of 2 rows, which are not given"},
               {{row, NULL, end, 1, 2, 0, 1}, {0}, BI_ROWS_ALL, "the output has none"}};
    struct bioinfer_error err = {0};
    struct bioinfer_tracks_params p = {
        .struct_size = sizeof p, .outputs = asked.of, .n_outputs = 1};
    const int shift = 1;
    bioinfer_task *t = NULL;
    int kind;
    for (size_t i = 0; i < BI_COUNT(odd); i++) {
        const struct bi_row_lists of[2] = {odd[i].own, odd[i].changed};
        kind = odd[i].kind;
        CHECK_EQ(bi_tracks_open(&t, model, &p, &kind, NULL), 0);
        refuse(t, of, odd[i].words);
        bioinfer_task_close(&t);
    }
    kind = BI_ROWS_SUMS;
    CHECK_EQ(bi_tracks_open(&t, model, &p, &kind, NULL), 0);
    refuse(t, NULL, "a window without lists of rows, the task has some");
    bioinfer_task_close(&t);
    kind = BI_ROWS_COUNTS + 1;
    CHECK_EQ(bi_tracks_open(&t, model, &p, &kind, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "lists 5, expected up to 4");
    kind = BI_ROWS_COUNTS;
    CHECK_EQ(bi_tracks_open(&t, model, &p, &kind, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "lists 4: only junctions are counted");
    kind = BI_ROWS_SUMS;
    p.shifts = &shift;
    p.n_shifts = 1;
    CHECK_EQ(bi_tracks_open(&t, model, &p, &kind, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "lists of rows have no shifts");
    p.n_shifts = 0;
    CHECK_EQ(bioinfer_tracks_open(&t, model, &p, NULL), 0);
    refuse(t, lists, "a window with lists of rows, the task has none");
    bioinfer_task_close(&t);
}

/* ---- the model ---- */

/* Runs the lists in tiles and whole. */
static void compare_tiles(bioinfer_task *t)
{
    for (int tiles = 1; tiles >= 0; tiles--) {
        set_tiles(t, tiles ? n_tiles : 0);
        run(t, true, take_listed, &of_lists[tiles]);
    }
    CHECK(of_lists[0].n > 0);
    CHECK_EQ(of_lists[0].n, of_lists[1].n);
    CHECK(!memcmp(of_lists[0].values, of_lists[1].values, of_lists[0].n * sizeof(float)));
}

static void check_model(const struct bioinfer_model *model)
{
    bioinfer_task *all = open_task(model, false, asked.n), *some = open_task(model, true, asked.n);
    float *values;
    asked.n_values = 0;
    for (int o = 0; o < asked.n; o++) {
        asked.info[o].struct_size = sizeof asked.info[o];
        CHECK_EQ(bioinfer_tracks_get_output(some, o, &asked.info[o]), 0);
        CHECK_EQ(asked.info[o].n_rows, asked.lists[o] ? 0 : asked.info[o].n_bins);
        CHECK_EQ(bioinfer_tracks_get_output(all, o, &asked.info[o]), 0);
    }
    bioinfer_task_close(&some);
    asked.n_values = asked.info[0].n_values;
    values = calloc((size_t)asked.n_values * (1 + CHANGES), sizeof *values);
    if (!EMULATED || !n_tiles) {
        run(all, false, keep_all, values);
        check_values(values);
    }
    /* emulation is slow: one order of whole windows, and one in tiles */
    for (int ascending = EMULATED && n_tiles; ascending < (EMULATED && !n_tiles ? 1 : 2);
         ascending++) {
        bioinfer_task *t = open_task(model, true, asked.n);
        make_lists(model, ascending);
        for (int twice = EMULATED && n_tiles ? 2 : n_tiles != 0; twice < 2; twice++)
            run(t, true, compare, values);
        if (n_tiles)
            compare_tiles(t);
        bioinfer_task_close(&t);
    }
    bioinfer_task_close(&all);
    free(values);
#if EMULATED
    if (!n_tiles)
        check_bytes(model);
#else
    check_refusals(model);
#endif
}

/* Reads the window, and makes the changed ones: another base in the middle; all bases from there on
 * one place further; the base in the middle in lower case, which is the same. */
static int read_window(bioinfer_context *ctx, const char *path, struct bioinfer_error *err)
{
    bioinfer_reader *reader = NULL;
    struct bioinfer_record record;
    size_t at;
    if (bioinfer_reader_open(&reader, ctx, path, NULL, err) ||
        bioinfer_reader_next(reader, &record, err) != 1)
        return 1;
    length = record.length;
    at = length / 2;
    window = malloc(length);
    changed = malloc(length + 2);
    memcpy(window, record.sequence, length);
    bioinfer_reader_close(&reader);
    changed[0] = window[at] == 'G' ? 'T' : 'G';
    changed[1] = (char)(window[at] | 0x20);
    memcpy(changed + 2, window + at, length - at);
    changed[2] = changed[0];
    memmove(changed + 3, window + at, length - at - 1);
    changes[0] = (struct bioinfer_change){(int64_t)at, 1, changed};
    changes[1] = (struct bioinfer_change){(int64_t)at, (int64_t)(length - at), changed + 2};
    changes[SAME] = (struct bioinfer_change){(int64_t)at, 1, changed + 1};
    return 0;
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    struct bioinfer_model_params p = {.struct_size = sizeof p};
    bioinfer_context *ctx = NULL;
    if (argc > 1 && !strncmp(argv[1], "--tiles=", 8)) {
        n_tiles = atoi(argv[1] + 8);
        n_changes = EMULATED ? CHANGES - 1 : CHANGES;
        argv[1] = argv[0];
        argv++;
        argc--;
    }
    if (argc < 4 || argc > 3 + MOST)
        return 2;
    for (; asked.n < argc - 3; asked.n++) {
        char *colon = strchr(argv[3 + asked.n], ':');
        if (!colon)
            return 2;
        *colon = 0;
        if (atoi(colon + 1) == BI_ROWS_COUNTS) { /* the last one */
            junctions = argv[3 + asked.n];
            break;
        }
        asked.of[asked.n].name = argv[3 + asked.n];
        asked.lists[asked.n] = atoi(colon + 1);
    }
    if (bioinfer_context_new(&ctx, NULL, &err) || read_window(ctx, argv[2], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    p.positions = strstr(argv[1], "enformer") ? "formula-pt" : NULL;
    for (size_t b = EMULATED && n_tiles ? 1 : 0; b < (EMULATED && n_tiles ? 2 : BI_COUNT(backends));
         b++) {
        struct bioinfer_model *model = NULL;
        if (!CHECK_EQ(bi_model_open_on(&model, ctx, argv[1], &p, backends[b], &err), 0)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        check_model(model);
        if (junctions && (!EMULATED || !n_tiles))
            check_counts(model);
        bioinfer_model_close(&model);
    }
    for (int o = 0; o < asked.n; o++) {
        free(rows[o]);
        free(others[o]);
        free(mine[o]);
        free(places[o]);
    }
    for (int i = 0; i < 2; i++)
        free(of_lists[i].values);
    free(window);
    free(changed);
    bioinfer_context_free(&ctx);
    return test_report();
}

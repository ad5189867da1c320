/* variants_test.c - the task variants: its windows are windows of tracks, its scores sums of these,
 * and records that no source hands out fail alone.
 *
 *     variants_test FOLDER: weights of windows of 5,120 bases */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdbool.h>

#include "../folder.h"
#include "engine.h"

enum { BASES = 12000, PLACES = 4 };

static char folder[256], genome_path[300], bases[BASES + 1];
static bioinfer_context *ctx;
static bioinfer_model *model;
static bioinfer_genome *genome;
static struct bioinfer_tracks_info info;

/* The arrays of one place, and its row. */
struct given {
    int status, n, n_columns;
    float *values;
    int64_t shape[3];
    char message[300], where[200], id[40], alt[40];
    int64_t pos;
};

struct all {
    struct given *of; /* PLACES of them */
    int n;
};

static struct all none(void)
{
    return (struct all){.of = calloc(PLACES, sizeof(struct given))};
}

static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct all *all = user;
    struct given *g = &all->of[all->n++];
    size_t n = 1;
    (void)err;
    if (!CHECK(all->n <= PLACES))
        return BIOINFER_LIMIT;
    *g = (struct given){.status = r->status, .n = r->n_arrays, .n_columns = r->n_columns};
    snprintf(g->message, sizeof g->message, "%s", r->message);
    snprintf(g->id, sizeof g->id, "%s", r->id);
    if (r->n_texts)
        snprintf(g->where, sizeof g->where, "%.*s", (int)r->texts[0].length, r->texts[0].text);
    if (r->n_columns) {
        const int64_t *ends = r->columns[4].data;
        CHECK_EQ(r->n_rows, 1);
        CHECK_EQ(r->columns[1].type, BIOINFER_I64);
        CHECK_STR(r->columns[4].name, "alt");
        g->pos = *(const int64_t *)r->columns[1].data;
        snprintf(g->alt, sizeof g->alt, "%.*s", (int)(ends[1] - ends[0]),
                 r->columns[4].bytes + ends[0]);
    }
    if (!r->n_arrays)
        return 0;
    for (int i = 0; i < r->arrays[0].n_dims; i++)
        n *= (size_t)(g->shape[i] = r->arrays[0].shape[i]);
    if (!(g->values = malloc(n * sizeof *g->values)))
        exit(2);
    memcpy(g->values, r->arrays[0].data, n * sizeof *g->values);
    return 0;
}

static void free_all(struct all *all)
{
    for (int i = 0; i < all->n; i++)
        free(all->of[i].values);
    free(all->of);
    *all = (struct all){.n = 0};
}

static bioinfer_task *open_variants(struct bioinfer_variants_params p)
{
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    p.genome = genome;
    if (!CHECK_EQ(bioinfer_variants_open(&t, model, &p, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    return t;
}

static struct all compute(bioinfer_task *t, const char *text)
{
    const struct bioinfer_record r = {.id = "x", .sequence = text, .length = strlen(text)};
    struct bioinfer_error err = {0};
    struct all all = none();
    if (!CHECK_EQ(bioinfer_task_compute(t, &r, 1, take, &all, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    return all;
}

/* The tracks of a window, by the task of tracks. */
static struct all tracks_of(const char *window)
{
    const struct bioinfer_record r = {.id = "x", .sequence = window, .length = (size_t)info.window};
    struct all all = none();
    bioinfer_task *t = NULL;
    CHECK_EQ(bioinfer_tracks_open(&t, model, NULL, NULL), 0);
    CHECK_EQ(bioinfer_task_compute(t, &r, 1, take, &all, NULL), 0);
    bioinfer_task_close(&t);
    CHECK_EQ(all.n, 1);
    return all;
}

static double sum_of(const struct given *g, int track)
{
    double sum = 0;
    for (int64_t b = 0; b < info.n_bins; b++)
        sum += (double)g->values[b * info.n_tracks + track];
    return sum;
}

static void windows_and_intervals(void)
{
    const int64_t start = 6050 - info.window / 2;
    const size_t size = (size_t)(info.n_bins * info.n_tracks) * sizeof(float);
    struct bioinfer_variants_params p = BIOINFER_PARAMS(struct bioinfer_variants_params,
                                                        .kind = BIOINFER_INTERVALS);
    char window[BASES + 1], where[100];
    struct all want, got;
    bioinfer_task *t = open_variants(p);
    snprintf(window, sizeof window, "%.*s", (int)info.window, bases + start);
    want = tracks_of(window);
    got = compute(t, "1\tchrA\t6000\t6100\tone\n");
    snprintf(where, sizeof where, "chrA\t%d\t%lld\t%lld", BASES,
             (long long)(start + info.first_bin * info.bin_size), (long long)info.bin_size);
    CHECK_STR(got.of[0].where, where);
    CHECK(want.of[0].values && got.of[0].values &&
          !memcmp(want.of[0].values, got.of[0].values, size));
    free_all(&got);
    got = compute(t, "1\tchrA\t6000\t6100\tone\n2\tchrA\t6000\t6100\ttwo\n");
    CHECK_EQ(got.of[0].status, BIOINFER_INVALID);
    CHECK_HAS(got.of[0].message, "line 2: expected one interval");
    free_all(&got);
    got = compute(t, "1\tchrA\t6100\t6000\tback\n");
    CHECK_EQ(got.of[0].status, BIOINFER_INVALID);
    CHECK_HAS(got.of[0].message, "line 1: chrA:6100-6000 is off the contig");
    free_all(&got);
    bioinfer_task_close(&t);
    p.kind = BIOINFER_WINDOWS;
    t = open_variants(p);
    got = compute(t, window);
    CHECK(got.of[0].values && !memcmp(want.of[0].values, got.of[0].values, size));
    CHECK_STR(got.of[0].where, "");
    free_all(&got);
    got = compute(t, "ACGT");
    CHECK_EQ(got.of[0].status, BIOINFER_INVALID);
    free_all(&got);
    bioinfer_task_close(&t);
    free_all(&want);
}

/* SAD of a variant is what its window has more than the reference's, and so is mutagenesis. */
static void scores_are_differences(void)
{
    const int64_t start = 6000 - info.window / 2;
    struct bioinfer_variants_params p = BIOINFER_PARAMS(struct bioinfer_variants_params,
                                                        .kind = BIOINFER_VARIANTS);
    char window[BASES + 1], text[100];
    struct all reference, other, got;
    bioinfer_task *t = open_variants(p);
    bool differ = false;
    int64_t letter;
    snprintf(window, sizeof window, "%.*s", (int)info.window, bases + start);
    reference = tracks_of(window);
    window[6000 - start] = bases[6000] == 'A' ? 'C' : 'A';
    letter = window[6000 - start] == 'A' ? 0 : 1;
    other = tracks_of(window);
    snprintf(text, sizeof text, "3\tchrA\t6000\trs\t%c\t%c\n4\tchrA\t6000\tno\t%c\tG\n",
             bases[6000], window[6000 - start], window[6000 - start]);
    got = compute(t, text);
    CHECK_EQ(got.n, 2);
    CHECK_EQ(got.of[0].pos, 6001);
    CHECK_STR(got.of[0].id, "rs");
    CHECK_EQ(got.of[0].alt[0], window[6000 - start]);
    CHECK_EQ(got.of[0].shape[0], info.n_tracks);
    for (int k = 0; k < info.n_tracks; k++) {
        const double want = sum_of(&other.of[0], k) - sum_of(&reference.of[0], k);
        CHECK(fabs((double)got.of[0].values[k] - want) <= 1e-6 * fabs(sum_of(&other.of[0], k)));
        differ |= want != 0;
    }
    CHECK(differ);
    CHECK_EQ(got.of[1].status, BIOINFER_MISMATCH);
    CHECK_EQ(got.of[1].n_columns, 5);
    bioinfer_task_close(&t);
    p.kind = BIOINFER_MUTAGENESIS;
    t = open_variants(p);
    {
        struct all ism = compute(t, "1\tchrA\t6000\t6001\tone\n");
        CHECK(ism.of[0].shape[0] == 1 && ism.of[0].shape[1] == 4 &&
              ism.of[0].shape[2] == info.n_tracks);
        CHECK(!memcmp(ism.of[0].values + letter * info.n_tracks, got.of[0].values,
                      (size_t)info.n_tracks * sizeof(float)));
        free_all(&ism);
        snprintf(text, sizeof text, "1\tchrA\t0\t%d\tlong\n", (int)info.window + 1);
        ism = compute(t, text);
        CHECK_EQ(ism.of[0].status, BIOINFER_INVALID);
        CHECK_HAS(ism.of[0].message, "bases, expected 1 to");
        free_all(&ism);
    }
    bioinfer_task_close(&t);
    free_all(&got);
    free_all(&other);
    free_all(&reference);
}

/* Records that bioinfer_places_source() does not make. */
static void odd_records(void)
{
    static const struct {
        const char *text, *words;
    } odd[] = {{"1\tchrA\t6000\n", "is no place"},
               {"1\tchrA\t6000\tx\tA\tC\tG\n", "is no place"},
               {"", "a record without a place"},
               {"1\tchrA\t11999\tx\tAC\tC\n", "line 1: chrA:11999-12001 is off the contig"},
               {"1\tchrA\t-1\tx\tA\tC\n", "line 1: chrA:-1-0 is off the contig"},
               {"1\tchrB\t60\tx\tA\tC\n", "line 1: the genome has no contig 'chrB'"},
               {"1\tchrA\t60\tx\t\tC\n", "line 1: expected two alleles"},
               {"1\tchrA\t60\t70\tx\n", "line 1: expected two alleles"},
               {"1\tchrA\t60\tx\tA\tC\n2\tchrA\t59\ty\tA\tC\n", "line 2: variants of a record"},
               {"1\tchrA\t60\tx\tA\tC\n2\tchrA\t9000\ty\tA\tC\n", "within half a window"}};
    const struct bioinfer_variants_params p = BIOINFER_PARAMS(struct bioinfer_variants_params);
    bioinfer_task *t = open_variants(p);
    for (size_t i = 0; i < COUNT(odd); i++) {
        struct all all = compute(t, odd[i].text);
        CHECK_EQ(all.n, 1);
        CHECK(all.of[0].status == BIOINFER_INVALID || all.of[0].status == BIOINFER_FORMAT);
        CHECK_HAS(all.of[0].message, odd[i].words);
        free_all(&all);
    }
    for (int ref = 0; ref < 2; ref++) { /* as the source judges them, which knows the rest */
        const int64_t most = ref ? info.window / 4 : info.window;
        static char text[2 * BASES + 100];
        snprintf(text, sizeof text, "1\tchrA\t60\tx\t%.*s\t%.*s\n", ref ? (int)most + 1 : 1, bases,
                 ref ? 1 : (int)most + 1, bases);
        struct all all = compute(t, text);
        CHECK_EQ(all.of[0].status, BIOINFER_TOO_LONG);
        CHECK_HAS(all.of[0].message, ref ? "a quarter of a window" : "more than a window");
        free_all(&all);
    }
    bioinfer_task_close(&t);
}

static void refuse(struct bioinfer_variants_params *p, const char *words)
{
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    p->genome = genome;
    CHECK(bioinfer_variants_open(&t, model, p, &err) < 0 && !t);
    CHECK_HAS(err.text, words);
}

static void refusals(void)
{
    static char long_path[513];
#define PARAMS(...) BIOINFER_PARAMS(struct bioinfer_variants_params, __VA_ARGS__)
#define REFUSE(words, ...)                                                                         \
    do {                                                                                           \
        struct bioinfer_variants_params p = PARAMS(__VA_ARGS__);                                   \
        refuse(&p, words);                                                                         \
    } while (0)
    struct bioinfer_variants_params none = PARAMS(.stats = NULL);
    struct bioinfer_track track = {.struct_size = sizeof track};
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    memset(long_path, 'x', sizeof long_path - 1);
    REFUSE("kind is 4, expected numbers of variants", .kind = 4);
    REFUSE("expected SAD, SAR, REF and ALT, each once", .stats = "SAD,SAD");
    REFUSE("indel is 3, expected numbers of both", .indel = 3);
    REFUSE("indel is -1, expected", .indel = -1);
    REFUSE("the list is empty", .outputs = ",");
    REFUSE("nose", .outputs = "nose");
    REFUSE("the head has tracks 0 to", .tracks = "3-2");
    REFUSE("names need the table", .tracks = "K562");
    REFUSE("not from standard input", .targets = "-");
    REFUSE("it is no file", .targets = folder);
    REFUSE("a path of more than 511 bytes", .targets = long_path);
    REFUSE("shifts: 65 values at NULL", .n_shifts = 65);
    REFUSE("expected up to 64", .shifts = (const int[65]){0}, .n_shifts = 65);
    REFUSE("scorers: they are of variants", .scorers = "center", .stats = "SAD");
    REFUSE("needs genes", .scorers = "gene");
    REFUSE("contributions: they are of intervals", .contributions = 1, .tracks = "0");
    CHECK_EQ(bioinfer_variants_open(&t, model, &none, &err), BIOINFER_INVALID);
    CHECK_HAS(err.text, "places lie in a genome");
    t = open_variants(none);
    CHECK_EQ(bioinfer_variants_get_track(t, 0, 0, &track), 0);
    CHECK(!track.number && !track.identifier);
    CHECK_EQ(bioinfer_variants_get_track(t, 0, info.n_tracks, &track), BIOINFER_NOT_FOUND);
    CHECK_EQ(bioinfer_variants_get_track(t, 1, 0, &track), BIOINFER_NOT_FOUND);
    CHECK_STR(bioinfer_variants_column(t, 0), "chrom");
    CHECK(!bioinfer_variants_column(t, 5) && !bioinfer_variants_table(NULL));
    bioinfer_task_close(&t);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    char command[300];
    uint64_t state = 7;
    FILE *f;
    if (argc != 2 || !CHECK(test_folder(folder, sizeof folder, "variants")))
        return 2;
    for (int i = 0; i < BASES; i++)
        bases[i] = "ACGT"[below(&state, 4)];
    snprintf(genome_path, sizeof genome_path, "%s/g.fa", folder);
    if (!(f = fopen(genome_path, "wb")) || fprintf(f, ">chrA\n%s\n", bases) < 0 || fclose(f))
        return 2;
    info.struct_size = sizeof info;
    if (bioinfer_context_new(&ctx, NULL, &err) ||
        bioinfer_model_open(&model, ctx, argv[1], NULL, &err) ||
        bioinfer_genome_index(ctx, genome_path, &err) ||
        bioinfer_genome_open(&genome, ctx, genome_path, &err) ||
        bioinfer_tracks_open(&t, model, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    bioinfer_tracks_get_info(t, &info);
    bioinfer_task_close(&t);
    TEST(windows_and_intervals);
    TEST(scores_are_differences);
    TEST(odd_records);
    TEST(refusals);
    bioinfer_genome_close(&genome);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK_EQ(system(command), 0);
    return test_report();
}

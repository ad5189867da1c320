/* contributions.c - derivatives of tracks by the bases of a window, against automatic
 * differentiation in float64.
 *
 *   contributions FOLDER GATE [--device NAME] [--no-rule NAMES] [--positions NAME] [--head NAME]
 *
 * FOLDER: weights, window.fa, contributions.npy (tools/golden_contributions.py): tracks 1 and 3 of
 * the first head, bins in the middle. Of a head that is named contributions.fa and
 * contributions.NAME.npy, tracks 0 and 1. GATE: the relative error in the 2-norm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bioinfer.h"
#include "../test.h"

enum { BASES = 4, COPIES = 3 };

static const int tracks[] = {1, 3}, tracks_of_head[] = {0, 1};
static const char letters[] = "ACGTacgt";

struct run {
    bioinfer_model *model;
    const char *no_rules, *bases, *head;
    const int *tracks;
    char *shuffled; /* another window of the same length */
    int64_t window;
    size_t n_read, n_done, n;
    float *gradient[COPIES]; /* [window, 4] */
    float value[COPIES];
};

/* Copies of the window, with the other one between them. */
static int give(void *user, struct bioinfer_record *r, struct bioinfer_error *err)
{
    struct run *run = user;
    (void)err;
    if (run->n_read == run->n)
        return 0;
    *r = (struct bioinfer_record){.id = "window",
                                  .ordinal = run->n_read,
                                  .sequence = run->n_read % 2 ? run->shuffled : run->bases,
                                  .length = (size_t)run->window};
    run->n_read++;
    return 1;
}

static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct run *run = user;
    const char *bases = run->n_done % 2 ? run->shuffled : run->bases;
    float *to = calloc((size_t)run->window, BASES * sizeof *to);
    (void)err;
    run->gradient[run->n_done] = to;
    if (!CHECK_EQ(r->status, 0) || !CHECK_EQ(r->n_arrays, 3)) {
        fprintf(stderr, "    %s\n", r->message);
        exit(1);
    }
    CHECK_EQ(r->ordinal, run->n_done);
    CHECK(!strcmp(r->arrays[0].kind, "contributions") && !strcmp(r->arrays[1].kind, "gradient"));
    CHECK_EQ(r->arrays[0].shape[0], run->window);
    CHECK_EQ(r->arrays[1].shape[1], BASES);
    memcpy(to, r->arrays[1].data, (size_t)run->window * BASES * sizeof *to);
    for (int64_t i = 0; i < run->window; i++) {
        const char *at = strchr(letters, bases[i]);
        const float want = at ? to[BASES * i + (at - letters) % BASES] : 0;
        CHECK(((const float *)r->arrays[0].data)[i] == want);
    }
    run->value[run->n_done++] = *(const float *)r->arrays[2].data;
    return 0;
}

static void open_and_run(struct run *run, size_t n)
{
    struct bioinfer_contributions_params p = BIOINFER_PARAMS(
        struct bioinfer_contributions_params, .head = run->head, .tracks = run->tracks,
        .n_tracks = 2, .no_rules = run->no_rules);
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    run->n = n;
    run->n_read = run->n_done = 0;
    if (!CHECK_EQ(bioinfer_contributions_open(&t, run->model, &p, &err), 0) ||
        !CHECK_EQ(bioinfer_contributions_get_info(t, &info), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    run->window = info.window;
    CHECK_EQ(strlen(run->bases), info.window);
    if (!CHECK_EQ(bioinfer_task_run(t, give, run, take, run, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    CHECK_EQ(run->n_done, n);
    bioinfer_task_close(&t);
}

static char *read_bases(const char *folder, const char *name)
{
    char path[512], line[256], *bases = calloc(1, 1 << 20);
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!bases || !(f = fopen(path, "r")))
        exit(1);
    while (fgets(line, sizeof line, f))
        if (line[0] != '>')
            strncat(bases, line, strcspn(line, "\n"));
    fclose(f);
    return bases;
}

/* The relative error of the derivatives, of which the file has as many. */
static double error_of(const struct run *run, const char *folder)
{
    char path[512];
    unsigned char head[10];
    double off = 0, all = 0;
    FILE *f;
    snprintf(path, sizeof path, "%s/contributions%s%s.npy", folder, run->head ? "." : "",
             run->head ? run->head : "");
    if (!(f = fopen(path, "rb")) || fread(head, 1, 10, f) != 10 ||
        fseek(f, head[8] | head[9] << 8, SEEK_CUR)) {
        fprintf(stderr, "%s: not there\n", path);
        exit(1);
    }
    for (int64_t i = 0; i < run->window * BASES; i++) {
        float want;
        if (!CHECK_EQ(fread(&want, sizeof want, 1, f), 1))
            break;
        off += ((double)run->gradient[0][i] - (double)want) *
               ((double)run->gradient[0][i] - (double)want);
        all += (double)want * (double)want;
    }
    CHECK_EQ(fgetc(f), EOF);
    fclose(f);
    return sqrt(off / all);
}

/* Complete values, not the derivatives: the mean of the tracks, as their own task gives them. */
static int add_tracks(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const int64_t n = r->arrays[0].shape[0];
    double *mean = user;
    (void)err;
    const int64_t bins = (int64_t)mean[0];
    const int64_t each = r->arrays[0].n_dims == 3 ? 2 * n : 2; /* a bin of a map counts with all */
    const float *at = r->arrays[0].data;
    mean[0] = 0;
    for (int64_t i = (n - bins) / 2 * each; i < ((n - bins) / 2 + bins) * each; i++)
        mean[0] += (double)at[i] / (double)(each * bins);
    return 0;
}

static void values_are_means(struct run *run)
{
    struct bioinfer_tracks_params p = BIOINFER_PARAMS(
        struct bioinfer_tracks_params, .head = run->head, .tracks = run->tracks, .n_tracks = 2);
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    double mean;
    run->n = 1;
    run->n_read = 0;
    if (!CHECK_EQ(bioinfer_tracks_open(&t, run->model, &p, &err), 0))
        exit(1);
    bioinfer_tracks_get_info(t, &info);
    mean = info.bin_size < 256 ? 256 / (double)info.bin_size : 1;
    CHECK_EQ(bioinfer_task_run(t, give, run, add_tracks, &mean, &err), 0);
    CHECK(fabs(mean - (double)run->value[0]) <= 1e-5 * fabs(mean));
    bioinfer_task_close(&t);
}

/* A window has the same bytes alone and beside others. */
static void company_changes_nothing(struct run *run)
{
    const size_t size = (size_t)run->window * BASES * sizeof(float);
    float *alone = run->gradient[0];
    const float value = run->value[0];
    run->gradient[0] = NULL;
    open_and_run(run, COPIES);
    CHECK(!memcmp(alone, run->gradient[0], size) && !memcmp(alone, run->gradient[2], size));
    CHECK(memcmp(alone, run->gradient[1], size));
    CHECK(value == run->value[0] && value == run->value[2]);
    free(alone);
}

/* Refused: no such head, tracks or bins. */
static void bad_params_are_refused(const struct run *run)
{
    static const int many[] = {0, 1 << 20};
    const struct bioinfer_contributions_params bad[] = {
        BIOINFER_PARAMS(struct bioinfer_contributions_params, .head = "nobody"),
        BIOINFER_PARAMS(struct bioinfer_contributions_params, .tracks = many, .n_tracks = 2),
        BIOINFER_PARAMS(struct bioinfer_contributions_params, .first_bin = 1 << 20, .n_bins = 1),
        BIOINFER_PARAMS(struct bioinfer_contributions_params, .first_bin = -1, .n_bins = 1)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bioinfer_error err = {0};
        bioinfer_task *t = NULL;
        CHECK_EQ(bioinfer_contributions_open(&t, run->model, &bad[i], &err), BIOINFER_INVALID);
        CHECK(t == NULL && err.text[0]);
    }
}

int main(int argc, char **argv)
{
    struct bioinfer_context_params c = BIOINFER_PARAMS(struct bioinfer_context_params);
    struct bioinfer_model_params m = BIOINFER_PARAMS(struct bioinfer_model_params);
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    struct run run = {0};
    double off;
    if (argc < 3)
        return 2;
    for (int i = 3; i + 1 < argc; i += 2)
        *(!strcmp(argv[i], "--device")    ? &m.device
          : !strcmp(argv[i], "--no-rule") ? &run.no_rules
          : !strcmp(argv[i], "--head")    ? &run.head
                                          : &m.positions) = argv[i + 1];
    if (bioinfer_context_new(&ctx, &c, &err) ||
        bioinfer_model_open(&run.model, ctx, argv[1], &m, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    run.bases = read_bases(argv[1], run.head ? "contributions.fa" : "window.fa");
    run.tracks = run.head ? tracks_of_head : tracks;
    run.shuffled = calloc(1, strlen(run.bases) + 1);
    for (size_t n = strlen(run.bases), i = 0; i < n; i++)
        run.shuffled[i] = run.bases[n - 1 - i];
    open_and_run(&run, 1);
    off = error_of(&run, argv[1]);
    printf("%lld bases: relative error %.1e\n", (long long)run.window, off);
    CHECK(off <= atof(argv[2]));
    values_are_means(&run);
    company_changes_nothing(&run);
    bad_params_are_refused(&run);
    for (int i = 0; i < COPIES; i++)
        free(run.gradient[i]);
    free(run.shuffled);
    free((void *)(uintptr_t)run.bases);
    bioinfer_model_close(&run.model);
    bioinfer_context_free(&ctx);
    return test_report();
}

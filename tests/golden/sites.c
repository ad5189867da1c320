/* sites.c - junctions of AlphaGenome between sites that are given: the bits of those that are
 * found, rows of another allele, and what is no list of sites.
 *
 *   sites FOLDER [DEVICE]
 *
 * FOLDER: weights and window.fa of tools/golden_alphagenome.py. Scores that are made of such counts
 * are compared with the released tool's in tests/cli/test_scores.py. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../tasks/tracks.h"
#include "../test.h"

enum { CLASSES = 4, SIDE = 16, TRACKS = 4, COUNTS = SIDE * SIDE * TRACKS };

struct counted {
    float counts[COUNTS], sites[CLASSES * SIDE];
    int status;
    char message[300];
};

static bioinfer_task *task;
static char *window;
static size_t length;

static int take(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct counted *c = user;
    (void)err;
    c->status = r->status;
    snprintf(c->message, sizeof c->message, "%s", r->status ? r->message : "");
    if (r->status || !CHECK_EQ(r->n_arrays, 2) || !CHECK_EQ(r->arrays[0].shape[0], SIDE) ||
        !CHECK_EQ(r->arrays[0].shape[2], TRACKS) || !CHECK_EQ(r->arrays[1].shape[1], SIDE))
        return 0;
    memcpy(c->counts, r->arrays[0].data, sizeof c->counts);
    memcpy(c->sites, r->arrays[1].data, sizeof c->sites);
    return 0;
}

static struct counted count_in(const char *bases, const struct bi_given_sites *sites)
{
    const struct bioinfer_record record = {
        .id = "window", .description = "", .sequence = bases, .length = length};
    const struct bi_tracks_asks asks = {.sites = sites};
    struct bioinfer_error err = {0};
    struct counted c = {.status = 1};
    if (!CHECK_EQ(bi_tracks_compute(task, &record, &asks, take, &c, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    return c;
}

static struct counted count(const struct bi_given_sites *sites)
{
    return count_in(window, sites);
}

/* Counts between the sites that the model finds, and where these are. */
static void find(struct counted *own, int32_t *at)
{
    *own = count(NULL);
    CHECK_EQ(own->status, 0);
    for (int i = 0; i < CLASSES * SIDE; i++)
        at[i] = (int32_t)own->sites[i];
    CHECK(at[1] >= 0 && at[SIDE - 1] < 0); /* several, and room behind them */
}

static const float *of(const struct counted *c, int donor, int acceptor)
{
    return c->counts + (donor * SIDE + acceptor) * TRACKS;
}

static void own_sites(void)
{
    struct counted own, given;
    int32_t at[CLASSES * SIDE], fewer[CLASSES * (SIDE - 1)];
    struct bi_given_sites sites = {.at = at, .n = SIDE};
    find(&own, at);
    given = count(&sites);
    CHECK_EQ(given.status, 0);
    CHECK(!memcmp(given.counts, own.counts, sizeof own.counts));
    CHECK(!memcmp(given.sites, own.sites, sizeof own.sites));
    /* the same without the first site of each class, which moves the others up */
    for (int i = 0; i < CLASSES * (SIDE - 1); i++)
        fewer[i] = at[i / (SIDE - 1) * SIDE + i % (SIDE - 1) + 1];
    sites = (struct bi_given_sites){.at = fewer, .n = SIDE - 1};
    given = count(&sites);
    for (int d = 0; d + 1 < SIDE; d++)
        for (int a = 0; a + 1 < SIDE; a++)
            CHECK(!memcmp(of(&given, d, a), of(&own, d + 1, a + 1), TRACKS * sizeof(float)));
    CHECK_EQ(given.sites[SIDE - 1], -1);
    CHECK_EQ(*of(&given, SIDE - 1, 0), 0);
}

/* Rows behind what was inserted or deleted: turned by where a site is in the first allele, so that
 * counts of two of them depend on their distance alone. */
static void moved_sites(void)
{
    struct counted own, given;
    int32_t at[CLASSES * SIDE], moved[CLASSES * SIDE];
    struct bi_given_sites sites = {.at = moved, .n = SIDE};
    find(&own, at);
    for (int more = -9; more <= 9; more += 18) {
        double worst = 0;
        for (int i = 0; i < CLASSES * SIDE; i++)
            moved[i] = at[i] < 0 ? at[i] : at[i] - more;
        sites.inserted = more;
        sites.joint = 0; /* they are all behind it */
        CHECK(moved[0] > 10);
        given = count(&sites);
        CHECK_EQ(given.status, 0);
        for (int i = 0; i < COUNTS; i++)
            worst = fmax(worst, fabs((double)given.counts[i] - (double)own.counts[i]) /
                                    (1e-3 + fabs((double)own.counts[i])));
        CHECK(worst < 1e-4);
    }
}

/* Rows of zeros stand for bases that this allele lacks, and for what inserted bases push out at the
 * end: counts there say nothing of the bases. */
static void absent_rows(void)
{
    enum { FIRST = 100, GONE = 2000 };
    struct counted deleted, end, whole;
    int32_t at[CLASSES * SIDE], last[CLASSES * SIDE];
    struct bi_given_sites sites = {.at = at, .n = SIDE, .joint = FIRST - 1, .inserted = -GONE};
    char *other = malloc(length);
    double worst = 0;
    if (!CHECK(other != NULL))
        return;
    for (size_t i = 0; i < length; i++)
        other[i] = window[length - 1 - i];
    for (int i = 0; i < CLASSES * SIDE; i++) {
        at[i] = FIRST + i % SIDE * (GONE - 1) / (SIDE - 1);
        last[i] = (int32_t)length - GONE + at[i] - FIRST;
    }
    deleted = count(&sites);
    CHECK_EQ(deleted.status, 0);
    end = count_in(other, &sites);
    CHECK(!memcmp(end.counts, deleted.counts, sizeof end.counts));
    /* the same distances */
    sites = (struct bi_given_sites){last, SIDE, FIRST, GONE};
    end = count(&sites);
    for (int i = 0; i < COUNTS; i++)
        worst = fmax(worst, fabs((double)end.counts[i] - (double)deleted.counts[i]) /
                                (1e-3 + (double)deleted.counts[i]));
    CHECK(worst < 1e-4);
    /* a base beside the span is there */
    at[0]--;
    sites = (struct bi_given_sites){at, SIDE, FIRST - 1, -GONE};
    deleted = count(&sites);
    whole = count_in(other, &sites);
    CHECK(memcmp(deleted.counts, whole.counts, SIDE * TRACKS * sizeof(float)) != 0);
    free(other);
}

/* The row of an inserted span is none of its bases', and reaches as far as the span. */
static void inserted_rows(void)
{
    struct counted own, other;
    int32_t at[CLASSES * SIDE];
    struct bi_given_sites sites = {.at = at, .n = SIDE};
    find(&own, at);
    sites.joint = at[0];
    for (int n = 1; n < 40; n = 3 * n + 1) { /* 1, 4, 13 */
        sites.inserted = n;
        other = count(&sites);
        CHECK_EQ(other.status, 0);
        CHECK(memcmp(of(&own, 0, 0), of(&other, 0, 0), TRACKS / 2 * sizeof(float)) != 0);
        own = other;
    }
}

static void refused(const struct bi_given_sites *sites, const char *words)
{
    const struct counted c = count(sites);
    CHECK_EQ(c.status, BIOINFER_INVALID);
    CHECK_HAS(c.message, words);
}

static void refusals(void)
{
    int32_t at[CLASSES * SIDE];
    for (int i = 0; i < CLASSES * SIDE; i++)
        at[i] = i % SIDE;
    refused(&(struct bi_given_sites){.at = at, .n = SIDE + 1},
            "17 sites of a class, expected 1 to");
    refused(&(struct bi_given_sites){.at = at}, "0 sites of a class");
    refused(&(struct bi_given_sites){.n = SIDE}, "16 sites of a class");
    refused(&(struct bi_given_sites){at, SIDE, (int64_t)length, 1}, "1 bases inserted after base");
    refused(&(struct bi_given_sites){at, SIDE, 0, -(int64_t)length}, "bases inserted after base 0");
    at[SIDE + 3] = 2;
    refused(&(struct bi_given_sites){.at = at, .n = SIDE}, "site 3 of class 1 is at 2: expected");
    at[SIDE + 3] = -1;
    refused(&(struct bi_given_sites){.at = at, .n = SIDE}, "site 4 of class 1 is at 4: expected");
    at[SIDE + 3] = (int32_t)length;
    refused(&(struct bi_given_sites){.at = at, .n = SIDE}, "site 3 of class 1 is at 8192");
    at[SIDE + 3] = -2;
    refused(&(struct bi_given_sites){.at = at, .n = SIDE}, "site 3 of class 1 is at -2");
}

static void read_window(const char *folder)
{
    char path[512], line[256];
    FILE *f;
    snprintf(path, sizeof path, "%s/window.fa", folder);
    if (!(f = fopen(path, "r")) || !(window = calloc(1, 1 << 14)))
        exit(1);
    while (fgets(line, sizeof line, f))
        if (line[0] != '>' && length + sizeof line < 1 << 14) {
            const size_t n = strcspn(line, "\n");
            memcpy(window + length, line, n);
            length += n;
        }
    fclose(f);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "";
    struct bioinfer_model_params mp = {.struct_size = sizeof mp,
                                       .device = argc > 2 ? argv[2] : NULL};
    struct bioinfer_tracks_params p = {.struct_size = sizeof p, .head = "human.splice_junctions.1"};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    if (bioinfer_context_new(&ctx, NULL, &err) ||
        bioinfer_model_open(&model, ctx, folder, &mp, &err) ||
        bioinfer_tracks_open(&task, model, &p, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    read_window(folder);
    TEST(own_sites);
    TEST(moved_sites);
    TEST(absent_rows);
    TEST(inserted_rows);
    TEST(refusals);
    bioinfer_task_close(&task);
    p.head = "human.atac.1";
    if (CHECK_EQ(bioinfer_tracks_open(&task, model, &p, &err), 0))
        refused(&(struct bi_given_sites){.n = 1}, "sites of junctions, which are not asked for");
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    free(window);
    return test_report();
}

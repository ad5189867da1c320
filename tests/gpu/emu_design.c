/* emu_design.c - whole designs through the GPU path on the host: the loop that decides, against the
 * CPU backend, alone and in company, with one upload, one submit and one download a batch.
 *
 *   emu_design WEIGHTS RESIDUES [--tied] [--device NAME] STRUCTURE.pdb...
 *
 * RESIDUES of each chain of the files are used. --device: through that backend's driver instead
 * of the three emulated chips. */
#include <math.h>
#include <unistd.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../designs.h"
#include "../test.h"
#include "emu_backend.h"

enum { MAX_RESULTS = 64, MAX_FILES = 4, SYMBOLS = 21 };

struct results {
    int n;
    int64_t length[MAX_RESULTS];
    int32_t *codes[MAX_RESULTS];
    float *log_probs[MAX_RESULTS];
};

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct results *all = user;
    const size_t n = (size_t)r->length;
    (void)err;
    if (!CHECK(r->status == 0) || !CHECK(all->n < MAX_RESULTS)) {
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
        return 0;
    }
    all->codes[all->n] = malloc(n * sizeof(int32_t));
    all->log_probs[all->n] = malloc(n * SYMBOLS * sizeof(float));
    if (!all->codes[all->n] || !all->log_probs[all->n])
        abort();
    memcpy(all->codes[all->n], r->design->codes, n * sizeof(int32_t));
    memcpy(all->log_probs[all->n], r->arrays[0].data, n * SYMBOLS * sizeof(float));
    all->length[all->n++] = r->length;
    return 0;
}

static void clear(struct results *r)
{
    for (int i = 0; i < r->n; i++) {
        free(r->codes[i]);
        free(r->log_probs[i]);
    }
    *r = (struct results){0};
}

/* Designs for files [0, n), or scores; counts are those of the last of two runs, of which the
 * first loads weights and makes plans. */
static void run(bioinfer_model *model, char *const *files, int n, struct bioinfer_design_params *dp,
                int times, struct results *out)
{
    struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
    bioinfer_task *design = NULL;
    struct bioinfer_error err = {0};
    if (!CHECK(!bioinfer_design_open(&design, model, dp, &err)))
        fprintf(stderr, "    %s\n", err.text);
    for (int i = 0; design && i < times; i++) {
        clear(out);
        emu_counts = (struct emu_counts){0};
        if (!CHECK(
                !test_run_designs(design, (const char *const *)files, (size_t)n, keep, out, &err)))
            fprintf(stderr, "    %s\n", err.text);
    }
    if (design) {
        bioinfer_task_get_profile(design, &profile);
        CHECK_EQ(profile.uploads, profile.passes);
        CHECK_EQ(profile.submits, profile.passes);
        CHECK_EQ(profile.downloads, profile.passes);
        CHECK_EQ(profile.passes, times); /* all fits one */
    }
    bioinfer_task_close(&design);
}

static int best(const float *row)
{
    int at = 0;
    for (int c = 1; c < SYMBOLS; c++)
        at = row[c] > row[at] ? c : at;
    return at;
}

/* Equal sequences; log-probabilities within the gate, the same top symbol at every position. */
static double compare(const struct results *got, const struct results *want)
{
    double worst = 1;
    CHECK_EQ(got->n, want->n);
    for (int i = 0; i < got->n && i < want->n; i++) {
        if (!CHECK_EQ(got->length[i], want->length[i]))
            continue;
        CHECK(!memcmp(got->codes[i], want->codes[i], (size_t)want->length[i] * sizeof(int32_t)));
        for (int64_t r = 0; r < want->length[i]; r++) {
            const float *a = got->log_probs[i] + r * SYMBOLS, *b = want->log_probs[i] + r * SYMBOLS;
            double ab = 0, aa = 0, bb = 0;
            for (int c = 0; c < SYMBOLS; c++) {
                ab += (double)a[c] * (double)b[c];
                aa += (double)a[c] * (double)a[c];
                bb += (double)b[c] * (double)b[c];
            }
            worst = fmin(worst, ab / sqrt(aa * bb));
            CHECK_EQ(best(a), best(b));
        }
    }
    CHECK(worst >= 0.9999999);
    return worst;
}

/* The first `residues` of each chain. */
static void shorten(const char *from, const char *to, int residues)
{
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    char line[128], last[7] = "";
    char chain = 0;
    int n = 0;
    if (!in || !out)
        abort();
    while (fgets(line, sizeof line, in)) {
        if (strncmp(line, "ATOM", 4) || strlen(line) < 54)
            continue;
        if (line[21] != chain || strncmp(line + 22, last, 5)) {
            n = line[21] == chain ? n + 1 : 1;
            chain = line[21];
            snprintf(last, sizeof last, "%.5s", line + 22);
        }
        if (n <= residues)
            fputs(line, out);
    }
    fclose(in);
    fclose(out);
}

/* ops NULL: the device by name. */
static void check_target(bioinfer_context *ctx, const struct bi_backend_ops *ops,
                         const char *device, const char *weights, char *const *files, int n,
                         struct bioinfer_design_params *dp, int64_t steps,
                         const struct results *want)
{
    struct bioinfer_error err = {0};
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .device = device);
    struct results packed = {0}, alone = {0};
    bioinfer_model *model = NULL;
    long launches;
    double worst;
    if (!CHECK(!bi_model_open_on(&model, ctx, weights, &mp, ops, &err))) {
        fprintf(stderr, "    %s\n", err.text);
        return;
    }
    run(model, files, n, dp, 2, &packed);
    launches = emu_counts.launches;
    if (ops) {
        CHECK_EQ(emu_counts.copies_in, 1);
        CHECK_EQ(emu_counts.copies_out, 1);
        CHECK_EQ(emu_counts.waits, 1);
        CHECK_EQ(emu_counts.allocations, 0);
    }
    worst = compare(&packed, want);
    run(model, files, 1, dp, 1, &alone); /* one structure without the others: the same bits */
    for (int i = 0; i < alone.n && i < packed.n; i++)
        CHECK(!memcmp(packed.log_probs[i], alone.log_probs[i],
                      (size_t)alone.length[i] * SYMBOLS * sizeof(float)));
    printf("%s: 1 - cosine %.1e, %ld launches, %lld steps\n", ops ? ops->name : device, 1 - worst,
           launches, (long long)steps);
    clear(&packed);
    clear(&alone);
    bioinfer_model_close(&model);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        const struct bi_backend_ops *ops;
    } targets[] = {{"nvidia", &emu_nvidia}, {"cdna", &emu_cdna}, {"rdna", &emu_rdna}};
    struct bioinfer_design_params dp = BIOINFER_PARAMS(struct bioinfer_design_params,
                                                       .n_sequences = 2);
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .device = "cpu");
    struct bioinfer_error err = {0};
    struct results want = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    char paths[MAX_FILES][64], *files[MAX_FILES];
    const char *device = NULL;
    int64_t longest = 0;
    int n = 0, residues;
    if (argc < 4)
        return 2;
    residues = atoi(argv[2]);
    for (int i = 3; i < argc && n < MAX_FILES; i++) {
        if (!strcmp(argv[i], "--tied")) {
            dp.homooligomer = 1;
            continue;
        }
        if (!strcmp(argv[i], "--device") && i + 1 < argc) {
            device = argv[++i];
            continue;
        }
        snprintf(paths[n], sizeof paths[n], "/tmp/emu_design.%ld.%d.pdb", (long)getpid(), n);
        shorten(argv[i], paths[n], residues);
        files[n] = paths[n];
        n++;
    }
    test_name = argv[argc - 1];
    if (!CHECK(!bioinfer_context_new(&ctx, NULL, &err)) ||
        !CHECK(!bioinfer_model_open(&model, ctx, argv[1], &mp, &err))) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    run(model, files, n, &dp, 1, &want);
    CHECK(want.n == 3 * n);
    for (int i = 0; i < want.n; i++)
        longest = want.length[i] > longest ? want.length[i] : longest;
    if (device)
        check_target(ctx, NULL, device, argv[1], files, n, &dp, longest, &want);
    for (size_t i = 0; !device && i < sizeof targets / sizeof targets[0]; i++) {
        printf("%s ", targets[i].name);
        check_target(ctx, targets[i].ops, NULL, argv[1], files, n, &dp, longest, &want);
    }
    clear(&want);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    for (int i = 0; i < n; i++)
        unlink(files[i]);
    return test_report();
}

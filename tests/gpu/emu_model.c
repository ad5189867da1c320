/* emu_model.c - whole tiny models through the GPU path on the host: against the CPU backend,
 * alone and in company, with one upload, one submit and one download a batch.
 *
 *   emu_model WEIGHTS SEQUENCES.fasta */
#include <math.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../test.h"
#include "emu_backend.h"

enum { MAX_RESULTS = 64 };

/* Everything these weights can give. */
static const unsigned kinds = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_LOGITS |
                              BIOINFER_CONTACTS | BIOINFER_BOS | BIOINFER_CLASS_LOGITS;

struct results {
    int n;
    float *data[MAX_RESULTS]; /* arrays of one record one behind the other */
    int64_t size[MAX_RESULTS];
    int64_t width[MAX_RESULTS];
};

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct results *all = user;
    int64_t at = 0, total = 0;
    (void)err;
    if (!CHECK(r->status == 0) || !CHECK(all->n < MAX_RESULTS)) {
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
        return 0;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < r->n_arrays; i++) {
            int64_t n = 1;
            for (int d = 0; d < r->arrays[i].n_dims; d++)
                n *= r->arrays[i].shape[d];
            if (pass)
                memcpy(all->data[all->n] + at, r->arrays[i].data, (size_t)n * sizeof(float));
            *(pass ? &at : &total) += n;
        }
        if (!pass)
            all->data[all->n] = malloc((size_t)(total + 1) * sizeof(float));
    }
    all->size[all->n++] = total;
    return 0;
}

static void clear(struct results *r)
{
    for (int i = 0; i < r->n; i++)
        free(r->data[i]);
    *r = (struct results){0};
}

static void run(bioinfer_context *ctx, bioinfer_model *model, const char *fasta,
                int64_t batch_tokens, struct results *out)
{
    struct bioinfer_embed_params sp = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                      .include = kinds & model->base.can_include,
                                                      .tokens_at_once = batch_tokens);
    struct bioinfer_reader_params rp = BIOINFER_PARAMS(struct bioinfer_reader_params,
                                                       .residues = BIOINFER_RESIDUES_RAW);
    struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
    struct bioinfer_error err = {0};
    bioinfer_task *task = NULL;
    bioinfer_reader *reader = NULL;
    clear(out);
    if (!CHECK(!bioinfer_embed_open(&task, model, &sp, &err)) ||
        !CHECK(!bioinfer_reader_open(&reader, ctx, fasta, &rp, &err)) ||
        !CHECK(!bioinfer_task_run(task, bioinfer_reader_source, reader, keep, out, &err)))
        fprintf(stderr, "    %s\n", err.text);
    if (task) {
        bioinfer_task_get_profile(task, &profile);
        CHECK_EQ(profile.uploads, profile.passes);
        CHECK_EQ(profile.submits, profile.passes);
        CHECK_EQ(profile.downloads, profile.passes);
    }
    bioinfer_reader_close(&reader);
    bioinfer_task_close(&task);
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

static void check_target(bioinfer_context *ctx, const struct bi_backend_ops *ops,
                         const char *precision, const char *weights, const char *fasta,
                         const struct results *want, double gate)
{
    struct bioinfer_model_params mp = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                      .precision = precision);
    struct bioinfer_error err = {0};
    struct results packed = {0}, alone = {0};
    bioinfer_model *model = NULL;
    double worst = 1;
    if (!CHECK(!bi_model_open_on(&model, ctx, weights, &mp, ops, &err))) {
        fprintf(stderr, "    %s\n", err.text);
        return;
    }
    run(ctx, model, fasta, 1, &alone); /* the weights go to the device here */
    emu_counts = (struct emu_counts){0};
    run(ctx, model, fasta, 4096, &packed);
    CHECK_EQ(emu_counts.copies_in, 1); /* all fits one batch */
    CHECK_EQ(emu_counts.copies_out, 1);
    CHECK_EQ(emu_counts.waits, 1);
    CHECK_EQ(packed.n, want->n);
    CHECK_EQ(alone.n, want->n);
    for (int i = 0; i < want->n && i < packed.n && i < alone.n; i++) {
        worst = fmin(worst, cosine(packed.data[i], want->data[i], want->size[i]));
        CHECK(!memcmp(packed.data[i], alone.data[i], (size_t)want->size[i] * sizeof(float)));
    }
    if (!CHECK(worst >= gate))
        fprintf(stderr, "    %s %s: min cosine %.9f\n", ops->name, precision, worst);
    printf("%s: 1 - cosine %.1e\n", precision, 1 - worst);
    clear(&packed);
    clear(&alone);
    bioinfer_model_close(&model);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        const struct bi_backend_ops *ops;
    } targets[] = {
        {"nvidia", &emu_nvidia}, {"cdna", &emu_cdna}, {"cdna2", &emu_cdna2}, {"rdna", &emu_rdna}};
    struct bioinfer_error err = {0};
    struct results want = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    if (argc < 3)
        return 2;
    test_name = argv[1];
    if (!CHECK(!bioinfer_context_new(&ctx, NULL, &err)) ||
        !CHECK(!bioinfer_model_open(&model, ctx, argv[1], NULL, &err))) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    run(ctx, model, argv[2], 4096, &want);
    CHECK(want.n > 0);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        printf("%s ", targets[i].name);
        check_target(ctx, targets[i].ops, "fp16", argv[1], argv[2], &want, 0.99999);
        if (targets[i].ops == &emu_cdna2)
            continue; /* the matrix unit has no part in float32 */
        printf("%s ", targets[i].name);
        check_target(ctx, targets[i].ops, "fp32", argv[1], argv[2], &want, 0.9999999);
    }
    clear(&want);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return test_report();
}

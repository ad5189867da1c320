/* emu_affinity.c - energies of ligands through the GPU path on the host: against the CPU backend,
 * alone and in company, with one upload, one submit and one download a pass.
 *
 *   emu_affinity RECEPTOR LIGANDS WEIGHTS [WEIGHTS...]   further weights make an ensemble
 *
 * A pocket of few residues keeps the emulation short. */
#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../test.h"
#include "emu_backend.h"

enum { MAX_LIGANDS = 16, POCKET = 5 };

struct energies {
    int n;
    float of[MAX_LIGANDS];
    int64_t n_pairs[MAX_LIGANDS];
};

static const char *receptor, *ligands, *weights, *const *more;
static int n_more;
static bioinfer_context *ctx;

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct energies *all = user;
    (void)err;
    if (!CHECK(r->status == 0 && r->affinity) || !CHECK(all->n < MAX_LIGANDS)) {
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
        return 0;
    }
    all->n_pairs[all->n] = r->affinity->n_pairs;
    all->of[all->n++] = r->affinity->energy;
    return 0;
}

/* Rates all ligands by one run; tokens: of a batch, 0 = as usual. */
static void rate(const bioinfer_model *model, int64_t tokens, struct energies *out)
{
    struct bioinfer_affinity_params p = BIOINFER_PARAMS(struct bioinfer_affinity_params,
                                                        .receptor = receptor, .pocket = POCKET,
                                                        .tokens_at_once = tokens);
    struct bioinfer_profile profile = BIOINFER_PARAMS(struct bioinfer_profile);
    bioinfer_ligands *in = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    *out = (struct energies){0};
    emu_counts = (struct emu_counts){0};
    if (!CHECK(!bioinfer_ligands_open(&in, ctx, ligands, &err)) ||
        !CHECK(!bioinfer_affinity_open(&task, model, &p, &err)) ||
        !CHECK(!bioinfer_task_run(task, bioinfer_ligands_source, in, keep, out, &err)))
        fprintf(stderr, "    %s\n", err.text);
    if (task) {
        CHECK(!bioinfer_task_get_profile(task, &profile));
        CHECK_EQ(profile.passes, tokens == 1 ? out->n : 1);
        CHECK_EQ(profile.uploads, profile.passes);
        CHECK_EQ(profile.submits, profile.passes);
        CHECK_EQ(profile.downloads, profile.passes);
        CHECK(emu_counts.copies_out == 0 || emu_counts.copies_out == (long)profile.passes);
    }
    bioinfer_task_close(&task);
    bioinfer_ligands_close(&in);
}

static bioinfer_model *open_on(const struct bi_backend_ops *ops, const char *precision)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params, .device = "cpu",
                                                     .precision = precision, .ensemble = more,
                                                     .n_ensemble = n_more);
    struct bioinfer_error err = {0};
    bioinfer_model *model = NULL;
    p.device = ops ? NULL : "cpu";
    if (!CHECK(!bi_model_open_on(&model, ctx, weights, &p, ops, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return model;
}

/* The largest difference, in parts of the energy. */
static double compare(const struct energies *got, const struct energies *want)
{
    double worst = 0;
    CHECK_EQ(got->n, want->n);
    for (int i = 0; i < got->n && i < want->n; i++) {
        CHECK_EQ(got->n_pairs[i], want->n_pairs[i]);
        worst = fmax(worst, fabs((double)got->of[i] / (double)want->of[i] - 1));
    }
    return worst;
}

static void on_all_chips(void)
{
    static const struct bi_backend_ops *const chips[] = {&emu_nvidia, &emu_cdna, &emu_cdna2,
                                                         &emu_rdna};
    static const char *const precisions[] = {"fp32", "fp16"};
    static const double bounds[] = {2e-6, 5e-3}; /* energies are sums that cancel */
    bioinfer_model *cpu = open_on(NULL, "fp32");
    struct energies want, got, alone;
    if (!cpu)
        return;
    rate(cpu, 0, &want);
    CHECK(want.n > 0);
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        for (int k = 0; k < 2; k++) {
            bioinfer_model *model = open_on(chips[i], precisions[k]);
            double worst;
            if (!model)
                continue;
            rate(model, 0, &got);
            worst = compare(&got, &want);
            printf("%zu %s: %.2g off\n", i, precisions[k], worst);
            CHECK(worst < bounds[k]);
            if (i == 0) { /* the bytes do not depend on company */
                rate(model, 1, &alone);
                CHECK(!memcmp(&alone, &got, sizeof got));
            }
            bioinfer_model_close(&model);
        }
    bioinfer_model_close(&cpu);
}

int main(int argc, char **argv)
{
    struct bioinfer_context_params params = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                            .n_threads = 1);
    if (argc < 4 || bioinfer_context_new(&ctx, &params, NULL))
        return 1;
    receptor = argv[1];
    ligands = argv[2];
    weights = argv[3];
    more = (const char *const *)argv + 4;
    n_more = argc - 4;
    TEST(on_all_chips);
    bioinfer_context_free(&ctx);
    return test_report();
}

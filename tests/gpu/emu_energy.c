/* emu_energy.c - energies and forces of atoms through the GPU path on the host: against the CPU
 * backend, and alone and in company.
 *
 *   emu_energy WEIGHTS FRAMES */
#include "../../engine/engine.h"
#include "../test.h"
#include "emu_backend.h"

enum { MOST_FRAMES = 8, MOST_ATOMS = 16 };

struct energies {
    int n;
    double of[MOST_FRAMES];
    double forces[MOST_FRAMES][3 * MOST_ATOMS];
    double stress[MOST_FRAMES][9];
};

static const char *weights, *frames;
static bioinfer_context *ctx;

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct energies *all = user;
    const struct bioinfer_energy *e = r->energy;
    (void)err;
    if (!CHECK(r->status == 0 && e) || !CHECK(all->n < MOST_FRAMES && e->n_atoms <= MOST_ATOMS)) {
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
        return 0;
    }
    all->of[all->n] = e->energy;
    memcpy(all->forces[all->n], e->forces, 3 * e->n_atoms * sizeof *e->forces);
    if (e->stress)
        memcpy(all->stress[all->n], e->stress, sizeof all->stress[0]);
    all->n++;
    return 0;
}

/* Computes all frames by one run, of so many atoms at once; 0 = as usual. */
static void compute(const bioinfer_model *model, int64_t atoms, struct energies *out)
{
    struct bioinfer_energy_params p = BIOINFER_PARAMS(struct bioinfer_energy_params,
                                                      .atoms_at_once = atoms);
    bioinfer_frames *in = NULL;
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    *out = (struct energies){0};
    if (!CHECK(!bioinfer_frames_open(&in, ctx, frames, &err)) ||
        !CHECK(!bioinfer_energy_open(&task, model, &p, &err)) ||
        !CHECK(!bioinfer_task_run(task, bioinfer_frames_source, in, keep, out, &err)))
        fprintf(stderr, "    %s\n", err.text);
    bioinfer_task_close(&task);
    bioinfer_frames_close(&in);
}

static bioinfer_model *open_on(const struct bi_backend_ops *ops)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params);
    struct bioinfer_error err = {0};
    bioinfer_model *model = NULL;
    p.device = ops ? NULL : "cpu";
    if (!CHECK(!bi_model_open_on(&model, ctx, weights, &p, ops, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return model;
}

/* Forces are small differences of large numbers: float16 is refused, not computed in float32. */
static void half_is_refused(const struct bi_backend_ops *ops)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .precision = "fp16");
    struct bioinfer_error err = {0};
    bioinfer_model *model = NULL;
    CHECK_EQ(bi_model_open_on(&model, ctx, weights, &p, ops, &err), BIOINFER_UNSUPPORTED);
    CHECK(strstr(err.text, "tensornet is computed in fp32"));
    bioinfer_model_close(&model);
}

/* The largest difference of any number. */
static double compare(const struct energies *a, const struct energies *b)
{
    double worst = 0;
    CHECK_EQ(a->n, b->n);
    for (int i = 0; i < a->n && i < b->n; i++) {
        worst = fmax(worst, fabs(a->of[i] - b->of[i]));
        for (int k = 0; k < 3 * MOST_ATOMS; k++)
            worst = fmax(worst, fabs(a->forces[i][k] - b->forces[i][k]));
        for (int k = 0; k < 9; k++)
            worst = fmax(worst, fabs(a->stress[i][k] - b->stress[i][k]));
    }
    return worst;
}

static void on_all_chips(void)
{
    static const struct bi_backend_ops *const chips[] = {&emu_nvidia, &emu_cdna, &emu_cdna2,
                                                         &emu_rdna};
    bioinfer_model *cpu = open_on(NULL);
    struct energies want, got, alone;
    if (!cpu)
        return;
    compute(cpu, 0, &want);
    CHECK(want.n > 2);
    half_is_refused(chips[0]);
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        bioinfer_model *model = open_on(chips[i]);
        double worst;
        if (!model)
            continue;
        compute(model, 0, &got);
        worst = compare(&got, &want);
        printf("%zu: %.2g off\n", i, worst);
        CHECK(worst < 1e-5);
        compute(model, 1, &alone); /* the bytes do not depend on company */
        CHECK(!memcmp(&alone, &got, sizeof got));
        bioinfer_model_close(&model);
    }
    bioinfer_model_close(&cpu);
}

int main(int argc, char **argv)
{
    struct bioinfer_context_params params = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                            .n_threads = 1);
    if (argc < 3 || bioinfer_context_new(&ctx, &params, NULL))
        return 1;
    weights = argv[1];
    frames = argv[2];
    TEST(on_all_chips);
    bioinfer_context_free(&ctx);
    return test_report();
}

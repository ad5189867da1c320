/* emu_fold.c - structures through the GPU path on the host: against the CPU backend, and alone and
 * in company.
 *
 *   emu_fold [--msa FOLDER] WEIGHTS CHAINS... */
#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../test.h"
#include "emu_backend.h"

enum { MOST = 8, MOST_ATOMS = 600, MOST_RESIDUES = 40 };

/* Structures of all complexes. */
struct folds {
    int n;
    int64_t n_atoms[MOST], n_residues[MOST];
    float x[MOST][MOST_ATOMS][3], plddt[MOST][MOST_ATOMS];
    float pae[MOST][MOST_RESIDUES * MOST_RESIDUES];
    double ptm[MOST];
};

static const char *weights, *msa;
static char **chains;
static int n_chains;
static bioinfer_context *ctx;

static int keep(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    struct folds *all = user;
    const struct bioinfer_fold *f = r->fold;
    (void)err;
    if (!CHECK(r->status == 0 && f) || !CHECK(all->n < MOST && f->n_atoms <= MOST_ATOMS) ||
        !CHECK(f->n_residues <= MOST_RESIDUES)) {
        fprintf(stderr, "    %s: %s\n", r->id, r->message);
        return 0;
    }
    for (int64_t i = 0; i < f->n_atoms; i++) {
        memcpy(all->x[all->n][i], f->atoms[i].position, sizeof f->atoms[i].position);
        all->plddt[all->n][i] = f->atoms[i].plddt;
    }
    if (f->pae)
        memcpy(all->pae[all->n], f->pae, sizeof *f->pae * (size_t)(f->n_residues * f->n_residues));
    all->n_atoms[all->n] = f->n_atoms;
    all->n_residues[all->n] = f->n_residues;
    all->ptm[all->n++] = f->pae ? f->ptm : 0;
    return 0;
}

/* Folds all complexes; tokens: at once, 0 = as usual. */
static void fold(const bioinfer_model *model, int64_t tokens, struct folds *out)
{
    struct bioinfer_fold_params p = BIOINFER_PARAMS(
        struct bioinfer_fold_params, .tokens_at_once = tokens, .force = 1, .msa = msa);
    struct bioinfer_record records[MOST] = {{0}};
    bioinfer_task *task = NULL;
    struct bioinfer_error err = {0};
    memset(out, 0, sizeof *out);
    for (int i = 0; i < n_chains; i++)
        records[i] = (struct bioinfer_record){
            .id = chains[i], .sequence = chains[i], .length = strlen(chains[i])};
    if (!CHECK(!bioinfer_fold_open(&task, model, &p, &err)) ||
        !CHECK(!bioinfer_task_compute(task, records, (size_t)n_chains, keep, out, &err)))
        fprintf(stderr, "    %s\n", err.text);
    CHECK_EQ(out->n, n_chains);
    bioinfer_task_close(&task);
}

/* ops NULL: on the CPU. */
static bioinfer_model *open_on(const struct bi_backend_ops *ops, const char *precision)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .precision = precision);
    struct bioinfer_error err = {0};
    bioinfer_model *model = NULL;
    p.device = ops ? NULL : "cpu";
    if (!CHECK(!bi_model_open_on(&model, ctx, weights, &p, ops, &err)))
        fprintf(stderr, "    %s\n", err.text);
    return model;
}

static double larger(double worst, double a, double b)
{
    const double d = fabs(a - b);
    return isnan(worst) || d <= worst ? worst : d; /* NaN stays */
}

/* The largest difference of any number: of places in angstrom, and of all others. */
static void compare(const struct folds *a, const struct folds *b, double *places, double *others)
{
    *places = *others = 0;
    for (int i = 0; i < a->n && i < b->n; i++) {
        CHECK_EQ(a->n_atoms[i], b->n_atoms[i]);
        for (int64_t k = 0; k < a->n_atoms[i]; k++) {
            for (int c = 0; c < 3; c++)
                *places = larger(*places, (double)a->x[i][k][c], (double)b->x[i][k][c]);
            *others = larger(*others, (double)a->plddt[i][k], (double)b->plddt[i][k]);
        }
        for (int64_t k = 0; k < a->n_residues[i] * a->n_residues[i]; k++)
            *others = larger(*others, (double)a->pae[i][k], (double)b->pae[i][k]);
        *others = larger(*others, a->ptm[i], b->ptm[i]);
    }
}

static void on_all_chips(void)
{
    static const struct bi_backend_ops *const chips[] = {&emu_nvidia, &emu_cdna, &emu_rdna};
    static struct folds want, got, alone;
    bioinfer_model *cpu = open_on(NULL, "fp32");
    double places, others;
    if (!cpu)
        return;
    fold(cpu, 0, &want);
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        bioinfer_model *model = open_on(chips[i], "fp32");
        if (!model)
            continue;
        fold(model, 0, &got);
        compare(&got, &want, &places, &others);
        printf("%zu: %.2g A and %.2g off\n", i, places, others);
        CHECK(places < 1e-3);
        CHECK(others < 1e-3);
        if (i == 0) { /* the bytes do not depend on company */
            fold(model, 1, &alone);
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
    if (argc > 3 && !strcmp(argv[1], "--msa")) {
        msa = argv[2];
        argc -= 2;
        argv += 2;
    }
    if (argc < 3 || argc - 2 > MOST || bioinfer_context_new(&ctx, &params, NULL))
        return 1;
    weights = argv[1];
    chains = argv + 2;
    n_chains = argc - 2;
    TEST(on_all_chips);
    bioinfer_context_free(&ctx);
    return test_report();
}

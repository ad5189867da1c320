/* fold.c - the task fold against the published program, for several antibodies in one batch.
 *
 *   fold WEIGHTS ANGSTROM PLDDT GOLDEN...    WEIGHTS: a file, or its name in $BIOINFER_DATA
 *
 * CA, the last atom and pLDDT of every residue are within ANGSTROM and PLDDT of GOLDEN, which
 * tools/golden_flashabb_fold.py made. A GOLDEN whose name has "-plain" is of the network without
 * the correction. Exit 77: the weights are not there. */
#include <stdbool.h>
#include <unistd.h>

#include "include/bioinfer.h"
#include "tests/test.h"

enum { MOST = 16, LETTERS = 400 };

static struct golden {
    char sequence[LETTERS];
    double at[LETTERS][6], plddt[LETTERS];
    int n;
} goldens[MOST];

static double angstrom, confidence, worst, worst_plddt;

/* Reads a golden file; its chains become "heavy:light". */
static bool read_golden(const char *path, struct golden *g)
{
    FILE *file = fopen(path, "r");
    int i;
    if (!CHECK(file != NULL) || !CHECK(fgets(g->sequence, sizeof g->sequence, file) != NULL))
        return false;
    g->sequence[strcspn(g->sequence, "\n")] = '\0';
    *strchr(g->sequence, ' ') = ':';
    for (g->n = 0; g->n < LETTERS; g->n++) {
        double *x = g->at[g->n];
        if (fscanf(file, "%d %lf %lf %lf %lf %lf %lf %lf", &i, &x[0], &x[1], &x[2], &x[3], &x[4],
                   &x[5], &g->plddt[g->n]) != 8)
            break;
        CHECK_EQ(i, g->n);
    }
    fclose(file);
    return CHECK_EQ(g->n, (int)strlen(g->sequence) - 1);
}

/* Raises *most to a difference. NaN stays. */
static void note(double *most, double got, double want)
{
    const double off = fabs(got - want);
    if (!isnan(*most) && !(off <= *most))
        *most = off;
}

static void note_atom(const float *got, const double *want)
{
    for (int k = 0; k < 3; k++)
        note(&worst, (double)got[k], want[k]);
}

/* A bioinfer_sink: compares a structure; user: the golden of record 0. */
static int compare(void *user, const struct bioinfer_result *r, struct bioinfer_error *err)
{
    const struct golden *g = *(struct golden **)user + r->ordinal;
    const struct bioinfer_fold *f = r->fold;
    (void)err;
    if (!CHECK_EQ(r->status, 0) || !CHECK_EQ(f->n_residues, g->n))
        return 0;
    for (int64_t i = 0; i < f->n_atoms; i++) {
        const struct bioinfer_fold_atom *a = &f->atoms[i];
        const bool last = i + 1 == f->n_atoms || a[1].residue != a->residue;
        if (!strcmp(a->name, "CA"))
            note_atom(a->position, g->at[a->residue]);
        if (last)
            note_atom(a->position, g->at[a->residue] + 3);
    }
    for (int i = 0; i < g->n; i++)
        note(&worst_plddt, (double)f->plddt[i], g->plddt[i]);
    return 0;
}

/* Folds all goldens of one kind together. */
static void fold(const bioinfer_model *model, struct golden *first, int n, bool plain)
{
    const struct bioinfer_fold_params p = BIOINFER_PARAMS(struct bioinfer_fold_params,
                                                          .uncorrected = plain);
    struct bioinfer_record records[MOST] = {{0}};
    struct bioinfer_error err = {0};
    bioinfer_task *task = NULL;
    for (int i = 0; i < n; i++)
        records[i] = (struct bioinfer_record){.id = "golden",
                                              .sequence = first[i].sequence,
                                              .length = strlen(first[i].sequence),
                                              .ordinal = (uint64_t)i};
    if (!CHECK_EQ(bioinfer_fold_open(&task, model, &p, &err), 0) ||
        !CHECK_EQ(bioinfer_task_compute(task, records, (size_t)n, compare, &first, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    bioinfer_task_close(&task);
}

int main(int argc, char **argv)
{
    const struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                           .device = "cpu");
    const char *data = getenv("BIOINFER_DATA");
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    char path[4096];
    int n = 0, n_corrected = 0;
    if (argc < 5 || argc > MOST + 4)
        return 2;
    snprintf(path, sizeof path, "%s%s%s", *argv[1] == '/' || !data ? "" : data,
             *argv[1] == '/' ? "" : "/", argv[1]);
    if (access(path, F_OK)) {
        printf("skipped: no %s in BIOINFER_DATA\n", argv[1]);
        return 77;
    }
    angstrom = strtod(argv[2], NULL);
    confidence = strtod(argv[3], NULL);
    for (int plain = 0; plain < 2; plain++) /* goldens with the correction first */
        for (int i = 4; i < argc; i++)
            if ((strstr(argv[i], "-plain") != NULL) == plain && read_golden(argv[i], &goldens[n])) {
                n++;
                n_corrected += !plain;
            }
    CHECK_EQ(n, argc - 4);
    if (!CHECK_EQ(bioinfer_context_new(&ctx, NULL, &err), 0) ||
        !CHECK_EQ(bioinfer_model_open(&model, ctx, path, &p, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    else {
        fold(model, goldens, n_corrected, false);
        fold(model, goldens + n_corrected, n - n_corrected, true);
    }
    printf("%d structures: at most %.2g A and %.2g of pLDDT off\n", n, worst, worst_plddt);
    CHECK(worst > 0 && worst < angstrom);
    CHECK(worst_plddt < confidence);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return test_report();
}

/* flashabb.c - FlashABB's graph with its published weights, against the network in NumPy in float64
 * (tools/golden_flashabb_fold.py float64).
 *
 *   flashabb NAME GOLDEN [plain]      NAME: of the weights, in $BIOINFER_DATA
 *
 * Exit 77: the weights are not there. */
#include "graph_run.h"
#include "models/fold.h"
#include "models/folding/atoms.h"

enum { MAX_TOKENS = 320 };

extern const struct bi_model_def bi_model_flashabb;

/* Both chains as tokens. */
static struct tokens {
    int32_t n, code[MAX_TOKENS][BI_FOLD_CODES], number[MAX_TOKENS], start[2];
    char atoms[MAX_TOKENS];
} tokens;

static bool read_tokens(const struct bi_fold_def *def, const char *line)
{
    int chain = 0, place = 0;
    for (; *line > ' ' || (*line == ' ' && !chain); line++) {
        struct bi_fold_token t;
        if (*line == ' ') {
            chain++;
            place = 0;
            continue;
        }
        if (!CHECK(tokens.n < MAX_TOKENS) || !CHECK(def->token(&t, *line, chain, place++)))
            return false;
        memcpy(tokens.code[tokens.n], t.code, sizeof t.code);
        tokens.number[tokens.n] = t.number;
        tokens.atoms[tokens.n++] = t.atoms;
    }
    tokens.start[1] = tokens.n;
    return CHECK_EQ(chain, 1);
}

static double confidence(const float *p)
{
    double sum = 0;
    for (int k = 0; k < 50; k++)
        sum += (double)p[k] * (k + 0.5) / 50;
    return sum;
}

/* Compares lines of the golden file: within 1e-3 angstrom and 1e-5 of pLDDT. */
static void compare(FILE *golden, const struct bi_fold_def *def, const struct run *run)
{
    double want[6], level, off = 0, off_level = 0;
    int i, n = 0;
    while (fscanf(golden, "%d %lf %lf %lf %lf %lf %lf %lf", &i, &want[0], &want[1], &want[2],
                  &want[3], &want[4], &want[5], &level) == 8) {
        const struct bi_folded_residue *residue = bi_folded_residue(tokens.atoms[i]);
        float x[BI_FOLDED_ATOMS][3];
        bi_folded_place(x, residue, run_output(run, "frame", i), run_output(run, "angles", i),
                        def->least);
        for (int k = 0; k < 6; k++)
            off = fmax(off, fabs((double)x[k < 3 ? 1 : residue->n_atoms - 1][k % 3] - want[k]));
        off_level = fmax(off_level, fabs(confidence(run_output(run, "confidence", i)) - level));
        n++;
    }
    printf("%d residues: at most %.2g A and %.2g of pLDDT off\n", n, off, off_level);
    CHECK(n >= 70);
    CHECK(off < 1e-3);
    CHECK(off_level < 1e-5);
}

int main(int argc, char **argv)
{
    const struct bi_env own = bi_env_default();
    struct bi_model model = {
        .def = &bi_model_flashabb, .env = &own, .arena = {.env = &own}, .read = {{5, 6}}};
    const struct bi_fold_def *def = model.def->def;
    struct bi_checkpoint_options options = {0};
    struct bioinfer_error err = {0};
    struct run run = {0};
    char line[2 * MAX_TOKENS], path[4096];
    const char *data = getenv("BIOINFER_DATA");
    FILE *golden;
    snprintf(path, sizeof path, "%s/%s", data ? data : "", argc > 1 ? argv[1] : "");
    if (argc < 3 || !(golden = fopen(path, "rb"))) {
        printf("skipped: no %s in BIOINFER_DATA\n", argc > 1 ? argv[1] : "weights");
        return 77;
    }
    fclose(golden);
    if (!CHECK((golden = fopen(argv[2], "r")) != NULL) ||
        !CHECK(fgets(line, sizeof line, golden) != NULL) || !read_tokens(def, line) ||
        !CHECK_EQ(bi_checkpoint_open(&model.cp, &own, path, &options, &err), 0) ||
        !CHECK(model.def->recognise(model.cp)) || !CHECK_EQ(model.def->open(&model, &err), 0) ||
        !CHECK_EQ(bi_graph_new(&run.g, &own, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    CHECK_EQ(model.n_parameters, 4864464);
    run.counts = (struct bi_counts){.n_tokens = tokens.n, .n_seqs = 1, .longest = tokens.n};
    run.g->n_tokens = run.g->longest = tokens.n;
    run.g->n_seqs = 1;
    def->build(
        &model, run.g,
        &(struct bi_fold_shape){
            .n_records = 1, .n_tokens = tokens.n, .longest = tokens.n, .uncorrected = argc > 3});
    if (run_graph(&run, &model,
                  (const struct run_input[]){
                      {"code", tokens.code, sizeof *tokens.code * (size_t)tokens.n},
                      {"number", tokens.number, sizeof *tokens.number * (size_t)tokens.n},
                      {"start", tokens.start, sizeof tokens.start}},
                  3))
        compare(golden, def, &run);
    fclose(golden);
    run_free(&run);
    bi_model_close(&model);
    return test_report();
}

/* esmfold.c - ESMFold's programs with small random weights, against EsmForProteinFolding of
 * transformers (tools/golden_esmfold.py, which tells the format).
 *
 *   esmfold FOLDER
 *
 * The programs run one after another, and what one keeps is given to the next, as a task does. */
#include "graph/rules.h"
#include "graph_run.h"
#include "models/esmfold/esmfold.h"

enum { MOST = 32, WIDEST = 64, STEP = 7 };

extern const struct bi_model_def bi_model_esmfold;

static const char letters[] = "ARNDCQEGHILKMFPSTWYVX";

/* A fold, and what is kept of its programs: rows of their widths. */
struct fold {
    char text[MOST + 1];
    int n, jump, passes;
    int32_t code[MOST][BI_FOLD_CODES], number[MOST], start[2], grid_start[2], row_start[MOST + 1];
    float *stem, *tokens, *pairs, *frame;
};

static const struct bi_env *env;

/* Begins the run of a graph of these sizes. */
static void begin(struct run *run, int tokens, int rows, int longest)
{
    struct bioinfer_error err = {0};
    run->counts = (struct bi_counts){.n_tokens = tokens,
                                     .n_seqs = 1,
                                     .longest = longest,
                                     .n_rows = rows,
                                     .n_grid = tokens * tokens};
    if (!CHECK_EQ(bi_graph_new(&run->g, env, &err), 0))
        exit(1);
    run->g->n_tokens = tokens;
    run->g->n_seqs = 1;
    run->g->longest = longest;
    run->g->n_rows = rows;
    run->g->n_grid = (int64_t)tokens * tokens;
}

/* Copies rows of an output without gaps. */
static float *copy(const struct run *run, const char *name, int64_t rows, int64_t width)
{
    float *to = malloc((size_t)(rows * width) * sizeof *to);
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * width, run_output(run, name, r), (size_t)width * sizeof *to);
    return to;
}

static void build(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_fold_shape *shape)
{
    ((const struct bi_fold_def *)model->def->def)->build(model, g, shape);
}

static void run_stem(struct bi_model *model, struct fold *f)
{
    const struct esmfold *e = model->config;
    const int n = f->n + 2;
    struct run run = {0};
    int32_t ids[MOST + 2] = {BI_ESM_CLS}, rows[MOST];
    const int32_t start[2] = {0, n};
    float scale[MOST + 2];
    for (int i = 0; i < f->n; i++) {
        ids[1 + i] = bi_esm_residue_token(model, f->text[i]);
        rows[i] = 1 + i;
    }
    ids[n - 1] = BI_ESM_EOS;
    bi_esm_token_scale(model, ids, (size_t)n, scale);
    begin(&run, n, f->n, n);
    build(
        model, run.g,
        &(struct bi_fold_shape){
            .n_records = 1, .n_tokens = n, .longest = n, .n_rows = f->n, .program = BI_FOLD_STEM});
    if (run_graph(&run, model,
                  (const struct run_input[]){{"ids", ids, sizeof *ids * (size_t)n},
                                             {BI_INPUT_SCALE, scale, sizeof *scale * (size_t)n},
                                             {"start", start, sizeof start},
                                             {"rows", rows, sizeof *rows * (size_t)f->n}},
                  4))
        f->stem = copy(&run, ESMFOLD_KEPT_STEM, f->n, e->size[ESMFOLD_SEQUENCE]);
    run_free(&run);
}

/* Runs a pass; its outputs are in *run, which the caller frees. */
static bool run_pass(const struct bi_model *model, struct fold *f, bool first, bool last,
                     struct run *run)
{
    const struct esmfold *e = model->config;
    const size_t n = (size_t)f->n, width = (size_t)e->size[ESMFOLD_SEQUENCE];
    const size_t pairs = (size_t)e->size[ESMFOLD_PAIR];
    const struct run_input inputs[] = {
        {"code", f->code, sizeof *f->code * n},
        {"number", f->number, sizeof *f->number * n},
        {"start", f->start, sizeof f->start},
        {"grid_start", f->grid_start, sizeof f->grid_start},
        {"row_start", f->row_start, sizeof *f->row_start * (n + 1)},
        {ESMFOLD_KEPT_STEM, f->stem, sizeof(float) * n * width},
        {ESMFOLD_KEPT_TOKENS, f->tokens, sizeof(float) * n * width},
        {ESMFOLD_KEPT_PAIRS, f->pairs, sizeof(float) * n * n * pairs},
        {ESMFOLD_KEPT_FRAME, f->frame, sizeof(float) * n * BI_FOLDED_FRAME}};
    begin(run, f->n, 0, f->n);
    build(model, run->g,
          &(struct bi_fold_shape){.n_records = 1,
                                  .n_tokens = f->n,
                                  .longest = f->n,
                                  .n_grid = (int64_t)f->n * f->n,
                                  .program = last ? (first ? BI_FOLD_ONLY : BI_FOLD_LAST)
                                                  : (first ? BI_FOLD_FIRST : BI_FOLD_AGAIN)});
    if (!run_graph(run, model, inputs, first ? 6 : 9))
        return false;
    if (!last) {
        free(f->tokens);
        free(f->pairs);
        free(f->frame);
        f->tokens = copy(run, ESMFOLD_KEPT_TOKENS, f->n, (int64_t)width);
        f->pairs = copy(run, ESMFOLD_KEPT_PAIRS, (int64_t)f->n * f->n, (int64_t)pairs);
        f->frame = copy(run, ESMFOLD_KEPT_FRAME, f->n, BI_FOLDED_FRAME);
    }
    return true;
}

/* Reads the numbers of a line of the file, which begins with a name; the caller frees them. */
static double *read_line(FILE *golden, const char *name, int n)
{
    double *values = calloc((size_t)n, sizeof *values);
    char got[16];
    int count;
    if (!CHECK_EQ(fscanf(golden, "%15s %d", got, &count), 2) || !CHECK_STR(got, name) ||
        !CHECK_EQ(count, n))
        exit(1);
    for (int i = 0; i < n; i++)
        if (!CHECK_EQ(fscanf(golden, "%lf", &values[i]), 1))
            exit(1);
    return values;
}

/* The largest difference of numbers, and the root of their mean square. */
struct off {
    double most, size;
    int n;
};

static void note(struct off *off, double got, double want)
{
    const double d = fabs(got - want);
    if (!isnan(off->most) && !(d <= off->most)) /* NaN stays */
        off->most = d;
    off->size += want * want;
    off->n++;
}

static void check(const struct fold *f, const char *name, const struct off *off, double limit,
                  bool relative)
{
    const double size = relative ? sqrt(off->size / off->n) : 1;
    printf("%s, %d passes: %s off by %.2g of %.2g\n", f->text, f->passes, name, off->most,
           sqrt(off->size / off->n));
    if (!CHECK(off->most <= limit * size))
        fprintf(stderr, "    %s: %s\n", f->text, name);
}

/* s and z, which the pass before the last would have kept. */
static void compare_trunk(const struct fold *f, const struct esmfold *e, FILE *golden)
{
    const int width = (int)e->size[ESMFOLD_SEQUENCE], pairs = (int)e->size[ESMFOLD_PAIR];
    const int n_pairs = (f->n * f->n * pairs + STEP - 1) / STEP;
    double *s = read_line(golden, "s", f->n * width), *z = read_line(golden, "z", n_pairs);
    struct off off_s = {0}, off_z = {0};
    for (int i = 0; i < f->n * width; i++)
        note(&off_s, (double)f->tokens[i], s[i]);
    for (int i = 0; i < n_pairs; i++)
        note(&off_z, (double)f->pairs[i * STEP], z[i]);
    check(f, "tokens", &off_s, 1e-4, true);
    check(f, "pairs", &off_z, 1e-4, true);
    free(s);
    free(z);
}

/* N-CA and CA-C of a residue are as long as in an ideal one. */
static void check_bonds(const struct bi_folded_residue *residue, float x[BI_FOLDED_ATOMS][3])
{
    for (int k = 0; k < 2; k++) {
        double got = 0, want = 0;
        for (int d = 0; d < 3; d++) {
            got += pow((double)x[k + 1][d] - (double)x[k][d], 2);
            want += pow(residue->atoms[k + 1].at[d] - residue->atoms[k].at[d], 2);
        }
        CHECK(fabs(sqrt(got) - sqrt(want)) < 1e-4);
    }
}

static void compare_structure(const struct fold *f, const struct run *run, FILE *golden)
{
    double *frame = read_line(golden, "frame", f->n * BI_FOLDED_FRAME);
    double *atoms = read_line(golden, "atoms", f->n * 3 * BI_FOLDED_ATOMS);
    double *level = read_line(golden, "plddt", f->n * BI_FOLDED_NAMES);
    struct off off_frame = {0}, off_atoms = {0}, off_level = {0};
    for (int i = 0; i < f->n; i++) {
        const struct bi_folded_residue *residue = bi_folded_residue(f->text[i]);
        const float *got = run_output(run, "frame", i), *levels = run_output(run, "levels", i);
        float x[BI_FOLDED_ATOMS][3] = {{0}};
        for (int k = 0; k < BI_FOLDED_FRAME; k++)
            note(&off_frame, (double)got[k], frame[i * BI_FOLDED_FRAME + k]);
        if (residue) {
            bi_folded_place(x, residue, got, run_output(run, "angles", i), 1e-8);
            check_bonds(residue, x);
        }
        for (int k = 0; k < 3 * BI_FOLDED_ATOMS; k++)
            note(&off_atoms, (double)x[k / 3][k % 3], atoms[i * 3 * BI_FOLDED_ATOMS + k]);
        for (int k = 0; k < BI_FOLDED_NAMES; k++)
            note(&off_level, bi_folded_level(levels + k * ESMFOLD_BINS, ESMFOLD_BINS),
                 level[i * BI_FOLDED_NAMES + k]);
    }
    check(f, "frames", &off_frame, 1e-3, false);
    check(f, "atoms", &off_atoms, 1e-3, false);
    check(f, "pLDDT", &off_level, 1e-3, false);
    free(frame);
    free(atoms);
    free(level);
}

static void compare_errors(const struct fold *f, const struct run *run, FILE *golden)
{
    double *error = read_line(golden, "pae", f->n * f->n), *tm = read_line(golden, "ptm", 1);
    float *p = copy(run, "errors", (int64_t)f->n * f->n, BI_FOLDED_ERRORS);
    struct off off = {0}, off_tm = {0};
    for (int i = 0; i < f->n * f->n; i++)
        note(&off, bi_folded_error(p + (int64_t)i * BI_FOLDED_ERRORS), error[i]);
    note(&off_tm, bi_folded_tm(p, BI_FOLDED_ERRORS, f->n), tm[0]);
    check(f, "aligned errors", &off, 1e-3, false);
    check(f, "pTM", &off_tm, 1e-6, false);
    free(error);
    free(tm);
    free(p);
}

static void fold(struct bi_model *model, struct fold *f, FILE *golden)
{
    struct run run = {0};
    f->n = (int)strlen(f->text);
    f->start[1] = f->n;
    f->grid_start[1] = f->n * f->n;
    for (int i = 0; i < f->n; i++) {
        f->code[i][0] = (int32_t)(strchr(letters, f->text[i]) - letters);
        f->code[i][1] = -1;
        f->number[i] = i + (i >= f->jump ? ESMFOLD_CHAIN_STEP : 0);
        f->row_start[i + 1] = (i + 1) * f->n;
    }
    run_stem(model, f);
    for (int i = 0; f->stem && i < f->passes - 1; i++) {
        struct run pass = {0};
        CHECK(run_pass(model, f, !i, false, &pass));
        run_free(&pass);
    }
    if (f->stem && CHECK(run_pass(model, f, f->passes == 1, true, &run))) {
        /* Once more, for what only the passes before the last one keep. */
        struct run pass = {0};
        CHECK(run_pass(model, f, f->passes == 1, false, &pass));
        compare_trunk(f, model->config, golden);
        compare_structure(f, &run, golden);
        compare_errors(f, &run, golden);
        run_free(&pass);
    }
    run_free(&run);
    free(f->stem);
    free(f->tokens);
    free(f->pairs);
    free(f->frame);
}

/* The product of a triangle passes the range of float16 where weights are large: it stays float32
 * on a device that takes operands in float16. */
static void check_triangles(const struct bi_model *model)
{
    const struct esmfold *e = model->config;
    const struct bi_target target = {.traits = BI_TARGET_MATRIX, .operands = BI_F16};
    struct bi_rule_trace trace = {{0}, NULL};
    struct bioinfer_error err = {0};
    struct run run = {0};
    int64_t triangles = 0, halves = 0;
    begin(&run, 16, 0, 16);
    build(model, run.g,
          &(struct bi_fold_shape){.n_records = 1,
                                  .n_tokens = 16,
                                  .longest = 16,
                                  .n_grid = 256,
                                  .program = BI_FOLD_AGAIN});
    CHECK_EQ(bi_graph_verify(run.g, &err), 0);
    bi_graph_dce(run.g);
    CHECK_EQ(bi_rules_apply(run.g, &target, NULL, &trace, &err), 0);
    for (size_t i = 0; i < run.g->n_nodes; i++) {
        const struct bi_node *node = &run.g->nodes[i];
        if (node->dead)
            continue;
        halves += run.g->values[node->out[0]].dtype == BI_F16;
        if (node->op != BI_OP_TRIANGLE)
            continue;
        CHECK_EQ(run.g->values[node->out[0]].dtype, BI_F32);
        triangles++;
    }
    CHECK_EQ(triangles, 2 * e->size[ESMFOLD_N_BLOCKS]);
    CHECK(halves > 0);
    run_free(&run);
}

int main(int argc, char **argv)
{
    const struct bi_env own = bi_env_default();
    struct bi_model model = {
        .def = &bi_model_esmfold, .env = &own, .arena = {.env = &own}, .read = {{5, 6}}};
    struct bi_checkpoint_options options = {0};
    struct bioinfer_error err = {0};
    struct fold f = {.text = ""};
    char path[4096];
    FILE *golden;
    int folds = 0;
    env = &own;
    snprintf(path, sizeof path, "%s/golden.txt", argc == 2 ? argv[1] : "");
    if (argc != 2 || !(golden = fopen(path, "r"))) {
        fprintf(stderr, "usage: esmfold FOLDER\n");
        return 2;
    }
    if (!CHECK_EQ(bi_checkpoint_open(&model.cp, env, argv[1], &options, &err), 0) ||
        !CHECK(model.def->recognise(model.cp)) || !CHECK_EQ(model.def->open(&model, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    while (fscanf(golden, " fold %32s %d %d", f.text, &f.jump, &f.passes) == 3) {
        fold(&model, &f, golden);
        f = (struct fold){.text = ""};
        folds++;
    }
    CHECK_EQ(folds, 4);
    check_triangles(&model);
    fclose(golden);
    bi_model_close(&model);
    return test_report();
}

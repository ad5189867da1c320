/* esmfold2.c - ESMFold2 from letters to scores, with small random weights and recorded draws,
 * against EsmFold2Model of transformers (tools/golden_esmfold2.py, which tells the format).
 *
 *   esmfold2 FOLDER
 *
 * The programs run one after another, and what one keeps is given to the next, as a task does. */
#include "graph_run.h"
#include "kernels/edm.h"
#include "models/esmfold2/esmfold2.h"
#include "models/folding/confidence.h"

enum { MOST = 32, MOST_INPUTS = 32, PAIR_STEP = 3, DISTOGRAM_STEP = 5 };

extern const struct bi_model_def bi_model_esmfold2;

/* A fold, what is kept of its programs, and the inputs of the one at hand. */
struct fold {
    char text[MOST + 1], letters[MOST + 1];
    int n, n_chains, passes, points, steps, atoms;
    int32_t chain[MOST];
    double *state, *keep, *start, *turns;
    char *aligned; /* letters of an alignment, token by token */
    int32_t *deleted;
    struct bi_fold_alignment alignment; /* depth 0: there is none */
    float *stem, *pairs;
    struct run_input inputs[MOST_INPUTS];
    int n_inputs;
};

static const struct bi_env *env;

static const struct bi_fold_def *def_of(const struct bi_model *model)
{
    return model->def->def;
}

/* Makes an input of that size in bytes. */
static void *give(struct fold *f, const char *name, size_t size)
{
    void *to = calloc(1, size);
    if (!CHECK(f->n_inputs < MOST_INPUTS))
        exit(1);
    f->inputs[f->n_inputs++] = (struct run_input){name, to, size};
    return to;
}

static void take_inputs(struct fold *f)
{
    for (int i = 0; i < f->n_inputs; i++)
        free((void *)(uintptr_t)f->inputs[i].data);
    f->n_inputs = 0;
}

static int depth_of(const struct fold *f)
{
    return f->alignment.depth ? f->alignment.depth : 1;
}

/* Begins the run of a graph of these sizes. */
static void begin(struct run *run, const struct fold *f, int tokens, int seqs, int longest)
{
    struct bioinfer_error err = {0};
    run->counts = (struct bi_counts){.n_tokens = tokens,
                                     .n_seqs = seqs,
                                     .longest = longest,
                                     .n_rows = f->n,
                                     .n_grid = f->n * f->n,
                                     .n_atoms = f->atoms,
                                     .n_aligned = f->n * depth_of(f),
                                     .n_steps = f->steps};
    if (!CHECK_EQ(bi_graph_new(&run->g, env, &err), 0))
        exit(1);
    run->g->n_tokens = tokens;
    run->g->n_seqs = seqs;
    run->g->longest = longest;
    run->g->n_rows = f->n;
    run->g->n_grid = (int64_t)f->n * f->n;
}

/* Copies rows of an output without gaps. */
static float *copy(const struct run *run, const char *name, int64_t rows, int64_t width)
{
    float *to = malloc((size_t)(rows * width) * sizeof *to);
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * width, run_output(run, name, r), (size_t)width * sizeof *to);
    return to;
}

/* Every chain by itself, with a token before it and one after it. */
static void run_stem(struct bi_model *model, struct fold *f)
{
    const struct esmfold2 *e = model->config;
    const int n = f->n + 2 * f->n_chains;
    struct run run = {0};
    int32_t *ids = give(f, "ids", sizeof *ids * (size_t)n);
    int32_t *start = give(f, "start", sizeof *start * (size_t)(f->n_chains + 1));
    int32_t *rows = give(f, "rows", sizeof *rows * (size_t)f->n);
    float scale[MOST + 2];
    int longest = 0;
    for (int c = 0, first = 0; c < f->n_chains; c++) {
        int length = 0;
        while (first + length < f->n && f->chain[first + length] == c)
            length++;
        def_of(model)->passes->tokens(model, f->letters + first, length, ids + start[c], scale);
        for (int i = 0; i < length; i++)
            rows[first + i] = start[c] + 1 + i;
        start[c + 1] = start[c] + length + 2;
        longest = length + 2 > longest ? length + 2 : longest;
        first += length;
    }
    begin(&run, f, n, f->n_chains, longest);
    def_of(model)->build(model, run.g,
                         &(struct bi_fold_shape){.n_records = f->n_chains,
                                                 .n_tokens = n,
                                                 .longest = longest,
                                                 .n_rows = f->n,
                                                 .program = BI_FOLD_STEM});
    if (run_graph(&run, model, f->inputs, f->n_inputs))
        f->stem = copy(&run, ESMFOLD2_KEPT_STEM, f->n, e->size[ESMFOLD2_PAIR]);
    take_inputs(f);
    run_free(&run);
}

/* Gives the inputs of a pass or a sample. */
static void give_features(const struct bi_model *model, struct fold *f)
{
    static const struct {
        const char *name;
        bool atoms;
        int fixed;
    } inputs[] = {{"atom_token", true, 1},
                  {"atom_place", true, 1},
                  {"seen_atom", false, 1},
                  {"numbers", true, ESMFOLD2_ATOM_NUMBERS},
                  {"codes", true, ESMFOLD2_ATOM_CODES},
                  {"record", false, 1}};
    const struct esmfold2 *e = model->config;
    const size_t n = (size_t)f->n, atoms = (size_t)f->atoms;
    const struct bi_fold_record r = {.letters = f->letters,
                                     .chain = f->chain,
                                     .n_tokens = f->n,
                                     .n_chains = f->n_chains,
                                     .n_atoms = f->atoms,
                                     .alignment = f->alignment.depth ? &f->alignment : NULL};
    const struct bi_counts none = {0};
    int32_t *start = give(f, "start", 2 * sizeof *start);
    int32_t *grid_start = give(f, "grid_start", 2 * sizeof *start);
    int32_t *atom_start = give(f, "atom_start", 2 * sizeof *start);
    int32_t *row_start = give(f, "row_start", (n + 1) * sizeof *start);
    start[1] = f->n;
    grid_start[1] = f->n * f->n;
    atom_start[1] = f->atoms;
    for (int i = 0; i <= f->n; i++)
        row_start[i] = i * f->n;
    for (size_t i = 0; i < BI_COUNT(inputs); i++)
        give(f, inputs[i].name, (inputs[i].atoms ? atoms : n) * 4 * (size_t)inputs[i].fixed);
    give(f, "token_atoms", (n + 1) * 4);
    give(f, "turns", atoms * 4 * (size_t)e->size[ESMFOLD2_ATOM_HEAD]);
    give(f, "tail", n * 4 * (size_t)e->size[ESMFOLD2_INPUTS]);
    give(f, "relations", n * n * 4 * ESMFOLD2_RELATIONS);
    if (def_of(model)->atoms->aligns(model)) {
        const size_t rows = n * (size_t)depth_of(f);
        give(f, "aligned_token", rows * 4);
        give(f, "aligned_type", rows * 4);
        give(f, "aligned_numbers", rows * 4 * ESMFOLD2_ALIGNED_NUMBERS);
        give(f, "aligned_share", n * n * 4);
    }
    for (int i = 4; i < f->n_inputs; i++)
        def_of(model)->atoms->fill(model, &r, f->inputs[i].name,
                                   (void *)(uintptr_t)f->inputs[i].data, &none, 0);
    if (def_of(model)->atoms->aligns(model))
        ((int32_t *)give(f, "aligned_start", 2 * sizeof *start))[1] = f->n * depth_of(f);
}

/* Runs a pass; true: *run has its outputs, which the caller frees. */
static void run_pass(const struct bi_model *model, struct fold *f, int pass)
{
    const struct esmfold2 *e = model->config;
    const int64_t c = e->size[ESMFOLD2_PAIR], all = (int64_t)f->n * f->n * c;
    const bool last = pass == f->passes - 1;
    struct run run = {0};
    float *state, *keep, *stem;
    give_features(model, f);
    state = give(f, pass ? ESMFOLD2_KEPT_PAIRS : "state", (size_t)all * sizeof *state);
    keep = give(f, "keep", (size_t)all * sizeof *keep);
    stem = give(f, ESMFOLD2_KEPT_STEM, (size_t)(f->n * c) * sizeof *stem);
    memcpy(stem, f->stem, (size_t)(f->n * c) * sizeof *stem);
    for (int64_t i = 0; i < all; i++) {
        state[i] = pass ? f->pairs[i] : (float)f->state[i];
        keep[i] = f->keep[pass * all + i] > 0 ? 1 / (1 - e->real[ESMFOLD2_DROPOUT]) : 0;
    }
    begin(&run, f, f->n, 1, f->n);
    def_of(model)->build(
        model, run.g,
        &(struct bi_fold_shape){.n_records = 1,
                                .n_tokens = f->n,
                                .longest = f->n,
                                .n_grid = (int64_t)f->n * f->n,
                                .n_atoms = f->atoms,
                                .n_aligned = (int64_t)f->n * depth_of(f),
                                .program = last ? (pass ? BI_FOLD_LAST : BI_FOLD_ONLY)
                                                : (pass ? BI_FOLD_AGAIN : BI_FOLD_FIRST)});
    if (!CHECK(run_graph(&run, model, f->inputs, f->n_inputs)))
        exit(1);
    free(f->pairs);
    f->pairs = copy(&run, ESMFOLD2_KEPT_PAIRS, (int64_t)f->n * f->n, c);
    take_inputs(f);
    run_free(&run);
}

static void run_sample(const struct bi_model *model, struct fold *f, struct run *run)
{
    const struct esmfold2 *e = model->config;
    const size_t all = (size_t)(f->n * f->n * e->size[ESMFOLD2_PAIR]);
    struct bi_edm_step *plan;
    struct bioinfer_error err = {0};
    const struct bi_fold_record r = {.letters = f->letters,
                                     .chain = f->chain,
                                     .n_tokens = f->n,
                                     .n_atoms = f->atoms,
                                     .points = f->points,
                                     .n_steps = f->steps};
    const struct bi_counts none = {0};
    int64_t width;
    float *noise, *pairs;
    give_features(model, f);
    pairs = give(f, ESMFOLD2_KEPT_PAIRS, all * sizeof *pairs);
    memcpy(pairs, f->pairs, all * sizeof *pairs);
    noise = give(f, "noise", 3 * (size_t)f->atoms * sizeof *noise);
    for (int i = 0; i < 3 * f->atoms; i++)
        noise[i] = (float)f->start[i];
    plan = give(f, "plan", (size_t)f->steps * sizeof *plan);
    CHECK_EQ(def_of(model)->atoms->steps(model, f->points), f->steps);
    def_of(model)->atoms->fill(model, &r, "plan", plan, &none, 0);
    for (int i = 0; i < f->steps; i++)
        for (int k = 0; k < 12; k++)
            (k < 9 ? plan[i].rotation + k
                   : plan[i].translation + k - 9)[0] = (float)f->turns[12 * i + k];
    CHECK_EQ(def_of(model)->atoms->levels(model, f->points, NULL, &width, &err), 0);
    CHECK_EQ(def_of(model)->atoms->levels(
                 model, f->points, give(f, "levels", (size_t)(f->steps * width) * sizeof(float)),
                 &width, &err),
             0);
    begin(run, f, f->n, 1, f->n);
    def_of(model)->build(model, run->g,
                         &(struct bi_fold_shape){.n_records = 1,
                                                 .n_tokens = f->n,
                                                 .longest = f->n,
                                                 .n_grid = (int64_t)f->n * f->n,
                                                 .n_atoms = f->atoms,
                                                 .n_steps = f->steps,
                                                 .program = BI_FOLD_SAMPLE});
    if (!CHECK(run_graph(run, model, f->inputs, f->n_inputs)))
        exit(1);
    take_inputs(f);
}

/* ---- comparisons ---- */

/* Reads the numbers of a line of the file, which begins with a name; the caller frees them. */
static double *read_numbers(FILE *golden, const char *name, int *count)
{
    double *values;
    char got[16];
    if (!CHECK_EQ(fscanf(golden, "%15s %d", got, count), 2) || !CHECK_STR(got, name) ||
        !CHECK(*count >= 0))
        exit(1);
    values = calloc((size_t)*count + 1, sizeof *values);
    for (int i = 0; i < *count; i++)
        if (!CHECK_EQ(fscanf(golden, "%lf", &values[i]), 1))
            exit(1);
    return values;
}

/* The same of a line of n numbers. */
static double *read_line(FILE *golden, const char *name, int64_t n)
{
    int count;
    double *values = read_numbers(golden, name, &count);
    if (!CHECK_EQ(count, n))
        exit(1);
    return values;
}

/* The largest difference of numbers, and the root of their mean square. */
struct off {
    double most, size;
    int64_t n;
};

static void note(struct off *off, double got, double want)
{
    const double d = fabs(got - want);
    if (!isnan(off->most) && !(d <= off->most)) /* NaN stays */
        off->most = d;
    off->size += want * want;
    off->n++;
}

static void check(const struct fold *f, const char *name, const struct off *off, double limit)
{
    printf("%s, %d rows, %d passes: %s off by %.2g of %.2g\n", f->text, depth_of(f), f->passes,
           name, off->most, sqrt(off->size / (double)off->n));
    if (!CHECK(off->most <= limit))
        fprintf(stderr, "    %s: %s\n", f->text, name);
}

static double size_of(const struct off *off)
{
    return sqrt(off->size / (double)off->n);
}

/* Pairs of the trunk, and the distogram that follows from them. */
static void compare_trunk(const struct bi_model *model, const struct fold *f, FILE *golden)
{
    const struct esmfold2 *e = model->config;
    const int64_t c = e->size[ESMFOLD2_PAIR], bins = e->size[ESMFOLD2_DISTOGRAM], n = f->n;
    double *pair = read_line(golden, "pair", (n * n * c + PAIR_STEP - 1) / PAIR_STEP);
    double *distogram = read_line(golden, "distogram",
                                  (n * n * bins + DISTOGRAM_STEP - 1) / DISTOGRAM_STEP);
    float *w = calloc((size_t)(bins * (c + 1)), sizeof *w);
    struct off off = {0}, off_distogram = {0};
    CHECK_EQ(bi_weight_read(model, &model->weights[e->distogram.w], 0, bins, w, NULL), 0);
    CHECK_EQ(bi_weight_read(model, &model->weights[e->distogram.b], 0, bins, w + bins * c, NULL),
             0);
    for (int64_t i = 0; i < n * n * c; i += PAIR_STEP)
        note(&off, (double)f->pairs[i], pair[i / PAIR_STEP]);
    for (int64_t i = 0; i < n * n * bins; i += DISTOGRAM_STEP) {
        const int64_t row = i / bins / n, column = i / bins % n, bin = i % bins;
        double sum = (double)w[bins * c + bin];
        for (int64_t k = 0; k < c; k++)
            sum += (double)w[bin * c + k] * ((double)f->pairs[(row * n + column) * c + k] +
                                             (double)f->pairs[(column * n + row) * c + k]);
        note(&off_distogram, sum, distogram[i / DISTOGRAM_STEP]);
    }
    check(f, "pairs", &off, 1e-4 * size_of(&off));
    check(f, "distogram", &off_distogram, 1e-4 * size_of(&off_distogram));
    free(w);
    free(pair);
    free(distogram);
}

static void compare_sample(const struct bi_model *model, const struct fold *f,
                           const struct run *run, FILE *golden)
{
    const struct esmfold2 *e = model->config;
    const int64_t n = f->n;
    const int64_t width = e->size[ESMFOLD2_TOKEN_ATOMS] * e->size[ESMFOLD2_LEVEL_BINS];
    double *places = read_line(golden, "places", 3 * (int64_t)f->atoms);
    double *level = read_line(golden, "level", f->atoms);
    double *error = read_line(golden, "pae", n * n), *scores = read_line(golden, "scores", 4);
    float *x = copy(run, "places", f->atoms, 3), *levels = copy(run, "levels", n, width);
    float *p = copy(run, "errors", n * n, BI_FOLDED_ERRORS);
    float *plddt = calloc((size_t)f->atoms, sizeof *plddt);
    const struct bi_fold_record r = {.letters = f->letters,
                                     .chain = f->chain,
                                     .n_tokens = f->n,
                                     .n_chains = f->n_chains,
                                     .n_atoms = f->atoms};
    struct off off = {0}, off_level = {0}, off_error = {0}, off_scores = {0};
    const struct bi_fold_rated rated = {{x, levels, p}, {3, width, BI_FOLDED_ERRORS}};
    struct bi_fold_scores got = {0};
    struct bioinfer_error err = {0};
    CHECK_EQ(def_of(model)->atoms->score(model, &r, &rated, plddt, &got, &err), 0);
    for (int i = 0; i < 3 * f->atoms; i++)
        note(&off, (double)x[i], places[i]);
    for (int i = 0; i < f->atoms; i++)
        note(&off_level, (double)plddt[i], level[i]);
    for (int64_t i = 0; i < n * n; i++)
        note(&off_error, bi_folded_error(p + i * BI_FOLDED_ERRORS), error[i]);
    note(&off_scores, got.plddt, scores[0]);
    note(&off_scores, got.interface_plddt, scores[1]);
    note(&off_scores, got.ptm, scores[2]);
    note(&off_scores, got.iptm, scores[3]);
    check(f, "atoms", &off, 1e-3);
    check(f, "pLDDT", &off_level, 1e-4);
    check(f, "aligned errors", &off_error, 1e-3);
    check(f, "scores", &off_scores, 1e-5);
    CHECK(got.rank == got.ptm);
    free(places);
    free(level);
    free(error);
    free(scores);
    free(x);
    free(levels);
    free(p);
    free(plddt);
}

/* The chains of the text. */
static void read_chains(struct fold *f)
{
    f->n_chains = 1;
    for (const char *c = f->text; *c; c++) {
        if (*c == ':') {
            f->n_chains++;
            continue;
        }
        f->chain[f->n] = f->n_chains - 1;
        f->letters[f->n++] = *c;
    }
}

/* The alignment, which the file has row by row. */
static void read_alignment(struct fold *f, FILE *golden)
{
    int count, n_deleted;
    double *letters = read_numbers(golden, "letters", &count);
    double *deleted = read_numbers(golden, "deleted", &n_deleted);
    const int depth = count / f->n;
    if (!CHECK_EQ(count, depth * f->n) || !CHECK_EQ(count, n_deleted))
        exit(1);
    f->aligned = calloc((size_t)count + 1, 1);
    f->deleted = calloc((size_t)count + 1, sizeof *f->deleted);
    for (int i = 0; i < f->n; i++)
        for (int s = 0; s < depth; s++) {
            f->aligned[i * depth + s] = (char)letters[s * f->n + i];
            f->deleted[i * depth + s] = (int32_t)deleted[s * f->n + i];
        }
    f->alignment = (struct bi_fold_alignment){f->aligned, f->deleted, depth};
    free(letters);
    free(deleted);
}

static void fold(struct bi_model *model, struct fold *f, FILE *golden)
{
    const struct esmfold2 *e = model->config;
    struct run run = {0};
    int64_t all;
    read_chains(f);
    all = (int64_t)f->n * f->n * e->size[ESMFOLD2_PAIR];
    if (def_of(model)->atoms->aligns(model))
        read_alignment(f, golden);
    f->state = read_line(golden, "state", all);
    f->keep = read_line(golden, "keep", all * f->passes);
    f->start = read_line(golden, "start", 3 * (int64_t)f->atoms);
    f->turns = read_line(golden, "turns", 12 * (int64_t)f->steps);
    run_stem(model, f);
    for (int i = 0; f->stem && i < f->passes; i++)
        run_pass(model, f, i);
    if (CHECK(f->pairs != NULL)) {
        compare_trunk(model, f, golden);
        run_sample(model, f, &run);
        compare_sample(model, f, &run, golden);
        run_free(&run);
    }
    free(f->aligned);
    free(f->deleted);
    free(f->stem);
    free(f->pairs);
    free(f->state);
    free(f->keep);
    free(f->start);
    free(f->turns);
}

int main(int argc, char **argv)
{
    const struct bi_env own = bi_env_default();
    struct bi_model model = {
        .def = &bi_model_esmfold2, .env = &own, .arena = {.env = &own}, .read = {{5, 6}}};
    struct bi_checkpoint_options options = {0};
    struct bioinfer_error err = {0};
    struct fold f = {.text = ""};
    char path[4096];
    FILE *golden;
    int folds = 0;
    env = &own;
    snprintf(path, sizeof path, "%s/folds.txt", argc == 2 ? argv[1] : "");
    if (argc != 2 || !(golden = fopen(path, "r"))) {
        fprintf(stderr, "usage: esmfold2 FOLDER\n");
        return 2;
    }
    if (!CHECK_EQ(bi_checkpoint_open(&model.cp, env, argv[1], &options, &err), 0) ||
        !CHECK(model.def->recognise(model.cp)) || !CHECK_EQ(model.def->open(&model, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    while (fscanf(golden, " fold %32s %d %d %d %d", f.text, &f.passes, &f.points, &f.steps,
                  &f.atoms) == 5) {
        fold(&model, &f, golden);
        f = (struct fold){.text = ""};
        folds++;
    }
    CHECK_EQ(folds, def_of(&model)->atoms->aligns(&model) ? 4 : 3);
    fclose(golden);
    bi_model_close(&model);
    return test_report();
}

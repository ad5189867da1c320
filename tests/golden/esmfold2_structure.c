/* esmfold2_structure.c - samples and scores of a small random ESMFold2, after its trunk, against
 * EsmFold2Model of transformers (tools/golden_esmfold2_structure.py, which tells the format).
 *
 *   esmfold2_structure FOLDER
 *
 * Each case is computed as a batch of two records that are the same, with the draws that were
 * recorded: by the graph as it is written, and as rules rewrite it for a CPU. */
#include <inttypes.h>

#include "graph_run.h"
#include "models/esmfold2/structure.h"
#include "models/folding/confidence.h"

enum { COPIES = 2, MOST_CHAINS = 3, MOST_INPUTS = 20 };

extern const struct bi_model_def bi_model_esmfold2;

static const struct bi_env *env;
static const int64_t *sizes; /* sizes of the model, by enum esmfold2_size */

/* ---- a case ---- */

/* A case, and room for the inputs of its batch. */
struct sample {
    char name[32];
    int n, atoms, steps; /* tokens, atoms, steps of the sampler */
    double noise_scale, step_scale;
    double *asym, *ligand, *seen, *relations, *token, *numbers, *codes, *uid, *single, *pair;
    double *schedule, *start, *turns, *churn;
    double *places, *level, *errors, *distance_errors, *scores, *chains; /* but for places, of
                                                                          * the whole sampler */
    struct run_input inputs[MOST_INPUTS];
    int n_inputs;
};

/* Reads the numbers of a line of the file, which begins with a name; the caller frees them. */
static double *read_line(FILE *golden, const char *name, int64_t n)
{
    double *values = calloc((size_t)n + 1, sizeof *values);
    char got[32];
    int64_t count;
    if (!CHECK_EQ(fscanf(golden, "%31s %" SCNd64, got, &count), 2) || !CHECK_STR(got, name) ||
        !CHECK_EQ(count, n))
        exit(1);
    for (int64_t i = 0; i < n; i++)
        if (!CHECK_EQ(fscanf(golden, "%lf", &values[i]), 1))
            exit(1);
    return values;
}

static void read_sample(FILE *golden, struct sample *s)
{
    const int64_t n = s->n, a = s->atoms;
    const bool whole = strcmp(s->name, "answer") != 0;
    int64_t chains;
    s->asym = read_line(golden, "asym", n);
    chains = 1 + (int64_t)s->asym[n - 1];
    s->ligand = read_line(golden, "ligand", n);
    s->seen = read_line(golden, "seen", n);
    s->relations = read_line(golden, "relations", n * n * ESMFOLD2_RELATIONS);
    s->token = read_line(golden, "token", a);
    s->numbers = read_line(golden, "numbers", a * ESMFOLD2_ATOM_NUMBERS);
    s->codes = read_line(golden, "codes", a * ESMFOLD2_ATOM_CODES);
    s->uid = read_line(golden, "uid", a);
    s->single = read_line(golden, "single", n * sizes[ESMFOLD2_INPUTS]);
    s->pair = read_line(golden, "pair", n * n * sizes[ESMFOLD2_PAIR]);
    s->schedule = read_line(golden, "schedule", s->steps + 1);
    s->start = read_line(golden, "start", 3 * a);
    s->turns = read_line(golden, "turns", 12 * (int64_t)s->steps);
    s->churn = read_line(golden, "churn", whole ? 3 * a * s->steps : 0);
    s->places = read_line(golden, "places", 3 * a);
    if (!whole)
        return;
    s->level = read_line(golden, "level", a);
    s->errors = read_line(golden, "pae", n * n);
    s->distance_errors = read_line(golden, "pde", n * n);
    s->scores = read_line(golden, "scores", 4);
    s->chains = read_line(golden, "chains", chains * chains);
}

static void free_sample(struct sample *s)
{
    double *all[] = {s->asym,   s->ligand, s->seen,   s->relations, s->token,    s->numbers,
                     s->codes,  s->uid,    s->single, s->pair,      s->schedule, s->start,
                     s->turns,  s->churn,  s->places, s->level,     s->errors,   s->distance_errors,
                     s->scores, s->chains};
    for (size_t i = 0; i < BI_COUNT(all); i++)
        free(all[i]);
}

/* Makes an input of that number of words. */
static void *give(struct sample *s, const char *name, int64_t words)
{
    void *to = calloc((size_t)words, 4);
    if (!CHECK(s->n_inputs < MOST_INPUTS))
        exit(1);
    s->inputs[s->n_inputs++] = (struct run_input){name, to, (size_t)words * 4};
    return to;
}

/* An input of rows, the same ones for both records. */
static bi_value_id floats(struct sample *s, struct bi_graph *g, const char *name, enum bi_axis axis,
                          const double *values, int64_t rows, int64_t width)
{
    float *to = give(s, name, COPIES * rows * width);
    for (int64_t i = 0; i < COPIES * rows * width; i++)
        to[i] = (float)values[i % (rows * width)];
    return bi_input_rows(g, name, axis, COPIES * rows, width);
}

/* The same of int32, which count `step` further in the second record. */
static bi_value_id codes(struct sample *s, struct bi_graph *g, const char *name, enum bi_axis axis,
                         const double *values, int64_t rows, int64_t width, int64_t step)
{
    int32_t *to = give(s, name, COPIES * rows * width);
    for (int64_t i = 0; i < COPIES * rows * width; i++)
        to[i] = (int32_t)(values[i % (rows * width)] + (double)(i / (rows * width) * step));
    return bi_input_matrix(g, name, BI_I32, axis, COPIES * rows, width);
}

/* Starts of n pieces of equal size. */
static bi_value_id starts(struct sample *s, struct bi_graph *g, const char *name, enum bi_axis axis,
                          int64_t n, int64_t size)
{
    int32_t *to = give(s, name, n + 1);
    for (int64_t i = 0; i <= n; i++)
        to[i] = (int32_t)(i * size);
    return bi_input(g, name, BI_I32, axis, n + 1);
}

static bi_value_id token_starts(struct sample *s, struct bi_graph *g)
{
    int32_t *to = give(s, "token_atoms", COPIES * s->n + 1);
    for (int64_t a = 0; a < (int64_t)COPIES * s->atoms; a++)
        to[a / s->atoms * s->n + (int64_t)s->token[a % s->atoms] + 1] = (int32_t)(a + 1);
    return bi_input(g, "token_atoms", BI_I32, BI_AXIS_TOKENS, COPIES * s->n + 1);
}

/* Cosines and sines of angles by the place of an atom and its residue. */
static bi_value_id turns(struct sample *s, struct bi_graph *g)
{
    const int64_t d = sizes[ESMFOLD2_ATOM_HEAD], pairs = sizes[ESMFOLD2_SPATIAL_PAIRS];
    double *values = calloc((size_t)(s->atoms * d), sizeof *values);
    bi_value_id id;
    for (int64_t a = 0; a < s->atoms; a++)
        for (int64_t k = 0; k < d / 2; k++) {
            const int64_t uid = k - 3 * pairs;
            const double at = uid < 0 ? s->numbers[a * ESMFOLD2_ATOM_NUMBERS + k / pairs]
                                      : s->uid[a];
            const double angle = uid < 0 ? at * pow(20, -(double)(k % pairs) / (double)pairs)
                                         : at * pow(1e4, -(double)uid / 2);
            values[a * d + k] = cos(angle);
            values[a * d + d / 2 + k] = sin(angle);
        }
    id = floats(s, g, "turns", BI_AXIS_ATOMS, values, s->atoms, d);
    free(values);
    return id;
}

/* Inputs that the sampler makes itself: what was recorded. */
static void give_draws(struct sample *s, const struct bi_model *model)
{
    const struct esmfold2 *f = model->config;
    const int64_t churned = s->noise_scale > 0 ? s->steps : 0, width = 3 * (1 + churned);
    struct bi_edm_step *plan = give(s, "plan", (int64_t)COPIES * s->steps * BI_EDM_WORDS);
    float *noise = give(s, "noise", COPIES * s->atoms * width);
    float *levels = give(s, "levels", s->steps * sizes[ESMFOLD2_FOURIER]);
    int32_t *record = give(s, "record", (int64_t)COPIES * s->n);
    struct bioinfer_error err = {0};
    esmfold2_plan(f, s->schedule, s->steps, plan);
    for (int i = 0; i < s->steps; i++) {
        for (int k = 0; k < 9; k++)
            plan[i].rotation[k] = (float)s->turns[12 * i + k];
        for (int k = 0; k < 3; k++)
            plan[i].translation[k] = (float)s->turns[12 * i + 9 + k];
        plan[s->steps + i] = plan[i];
    }
    CHECK_EQ(esmfold2_levels(model, plan, s->steps, levels, &err), 0);
    for (int64_t a = 0; a < (int64_t)COPIES * s->atoms; a++)
        for (int64_t c = 0; c < width; c++)
            noise[a * width + c] =
                (float)(c < 3 ? s->start[a % s->atoms * 3 + c]
                              : s->churn[((c / 3 - 1) * s->atoms + a % s->atoms) * 3 + c % 3]);
    for (int64_t t = s->n; t < 2 * (int64_t)s->n; t++)
        record[t] = 1;
}

/* Writes the graph of a sample, with its inputs. */
static void build(struct sample *s, const struct bi_model *model, struct bi_graph *g,
                  const struct bi_fold_shape *shape)
{
    const struct esmfold2 *f = model->config;
    const int64_t n = s->n, a = s->atoms, c = sizes[ESMFOLD2_PAIR];
    const enum bi_axis tokens = BI_AXIS_TOKENS, atoms = BI_AXIS_ATOMS, pairs = BI_AXIS_GRID;
    struct esmfold2_graph b = {.model = model, .f = f, .g = g, .shape = shape};
    struct esmfold2_trunk trunk;
    bi_value_id relations;
    b.start = starts(s, g, "start", BI_AXIS_SEQS, COPIES, n);
    b.grid_start = starts(s, g, "grid_start", BI_AXIS_SEQS, COPIES, n * n);
    b.atom_start = starts(s, g, "atom_start", BI_AXIS_SEQS, COPIES, a);
    b.row_start = starts(s, g, "row_start", tokens, COPIES * n, n);
    b.token_atoms = token_starts(s, g);
    b.atom_token = codes(s, g, "atom_token", atoms, s->token, a, 1, n);
    b.seen_atom = codes(s, g, "seen_atom", tokens, s->seen, n, 1, a);
    b.codes = codes(s, g, "codes", atoms, s->codes, a, ESMFOLD2_ATOM_CODES, 0);
    b.numbers = floats(s, g, "numbers", atoms, s->numbers, a, ESMFOLD2_ATOM_NUMBERS);
    b.turns = turns(s, g);
    relations = codes(s, g, "relations", pairs, s->relations, n * n, ESMFOLD2_RELATIONS, 0);
    trunk.single = floats(s, g, "single", tokens, s->single, n, sizes[ESMFOLD2_INPUTS]);
    trunk.pair = floats(s, g, "pair", pairs, s->pair, n * n, c);
    trunk.positions = bi_gather_sum(g, bi_weight_transposed(g, esmfold2_value(&b, f->positions.w)),
                                    relations, 1);
    esmfold2_rate(&b, &trunk, esmfold2_sample(&b, &trunk));
    give_draws(s, model);
}

/* ---- comparison ---- */

static void check(const struct sample *s, const char *name, int copy, double got, double want,
                  double limit, double *worst)
{
    const double off = fabs(got - want);
    if (!isnan(*worst) && !(off <= *worst)) /* NaN stays */
        *worst = off;
    if (!CHECK(off <= limit))
        fprintf(stderr, "    %s, record %d: %s is %.9g, expected %.9g\n", s->name, copy, name, got,
                want);
}

/* Outputs of record `copy`, for the host. */
static struct esmfold2_sampled sampled(const struct sample *s, const struct run *run, int copy,
                                       int32_t *ints, bool *ligand)
{
    const int64_t n = s->n, a = s->atoms;
    struct esmfold2_sampled of = {
        .n_tokens = n,
        .n_atoms = a,
        .n_chains = 1 + (int64_t)s->asym[n - 1],
        .bins = sizes[ESMFOLD2_LEVEL_BINS],
        .chain = ints,
        .seen = ints + n,
        .token = ints + 2 * n,
        .ligand = ligand,
        .places = run_output(run, "places", copy * a),
        .levels = run_output(run, "levels", copy * n),
        .errors = run_output(run, "errors", copy * n * n),
        .ld_places = run_output(run, "places", 1) - run_output(run, "places", 0),
        .ld_levels = run_output(run, "levels", 1) - run_output(run, "levels", 0),
        .ld_errors = run_output(run, "errors", 1) - run_output(run, "errors", 0)};
    for (int64_t i = 0; i < n; i++) {
        ints[i] = (int32_t)s->asym[i];
        ints[n + i] = (int32_t)s->seen[i];
        ligand[i] = s->ligand[i] > 0;
    }
    for (int64_t i = 0; i < a; i++)
        ints[2 * n + i] = (int32_t)s->token[i];
    return of;
}

static void compare_scores(const struct sample *s, const struct run *run, int copy, double *worst)
{
    const int64_t n = s->n, a = s->atoms;
    int32_t *ints = calloc((size_t)(2 * n + a), sizeof *ints);
    bool *ligand = calloc((size_t)n, sizeof *ligand);
    double *levels = calloc((size_t)a, sizeof *levels);
    double sums[2 * MOST_CHAINS], chains[MOST_CHAINS * MOST_CHAINS];
    const struct esmfold2_sampled of = sampled(s, run, copy, ints, ligand);
    struct esmfold2_scores scores;
    esmfold2_score(&of, levels, sums, chains, &scores);
    for (int64_t i = 0; i < a; i++)
        check(s, "pLDDT", copy, levels[i], s->level[i], 1e-3, &worst[1]);
    for (int64_t i = 0; i < n * n; i++) {
        check(s, "aligned error", copy, bi_folded_error(of.errors + i * of.ld_errors), s->errors[i],
              1e-3, &worst[2]);
        check(s, "distance error", copy,
              bi_folded_error(run_output(run, "distance_errors", copy * n * n + i)),
              s->distance_errors[i], 1e-3, &worst[2]);
    }
    const double got[] = {scores.plddt, scores.interface_plddt, scores.ptm, scores.iptm};
    for (int i = 0; i < 4; i++)
        check(s, "score", copy, got[i], s->scores[i], 1e-4, &worst[3]);
    for (int64_t i = 0; i < of.n_chains * of.n_chains; i++)
        check(s, "ipTM of chains", copy, chains[i], s->chains[i], 1e-4, &worst[3]);
    free(ints);
    free(ligand);
    free(levels);
}

static void compare(const struct sample *s, const struct run *run)
{
    const int64_t a = s->atoms;
    double worst[4] = {0};
    for (int64_t i = 0; i < 3 * a * COPIES; i++)
        check(s, "place", (int)(i / (3 * a)), (double)run_output(run, "places", i / 3)[i % 3],
              s->places[i % (3 * a)], 1e-3, &worst[0]);
    for (int copy = 0; s->level && copy < COPIES; copy++)
        compare_scores(s, run, copy, worst);
    printf("%s, %d steps, %s: places off by %.2g A, pLDDT %.2g, errors %.2g A, scores %.2g\n",
           s->name, s->steps, run->target ? "rewritten" : "plain", worst[0], worst[1], worst[2],
           worst[3]);
}

/* target: the graph is rewritten for it; NULL = it is not. */
static void run_sample(const struct bi_model *model, struct sample *s,
                       const struct bi_target *target)
{
    const struct bi_fold_shape shape = {.n_records = COPIES,
                                        .n_tokens = COPIES * s->n,
                                        .longest = s->n,
                                        .n_grid = COPIES * s->n * s->n,
                                        .n_atoms = COPIES * s->atoms,
                                        .n_steps = s->steps,
                                        .program = BI_FOLD_SAMPLE};
    struct bioinfer_error err = {0};
    struct run run = {.target = target,
                      .counts = {.n_tokens = COPIES * s->n,
                                 .n_seqs = COPIES,
                                 .longest = s->n,
                                 .n_grid = COPIES * s->n * s->n,
                                 .n_atoms = COPIES * s->atoms,
                                 .n_steps = s->steps}};
    if (!CHECK_EQ(bi_graph_new(&run.g, env, &err), 0))
        exit(1);
    run.g->n_tokens = shape.n_tokens;
    run.g->n_seqs = COPIES;
    run.g->longest = s->n;
    run.g->n_grid = shape.n_grid;
    build(s, model, run.g, &shape);
    if (run_graph(&run, model, s->inputs, s->n_inputs))
        compare(s, &run);
    else
        exit(1);
    run_free(&run);
    for (; s->n_inputs > 0; s->n_inputs--)
        free((void *)(uintptr_t)s->inputs[s->n_inputs - 1].data);
}

/* ---- the host's part ---- */

/* Points of schedules and the steps that are left of them, as the published program counts. */
static void check_steps(struct esmfold2 *f)
{
    static const int points[] = {1, 14, 20, 32, 50, 68, 100, 200};
    static const int steps[] = {1, 10, 15, 23, 35, 48, 70, 138};
    double levels[202];
    for (size_t i = 0; i < BI_COUNT(points); i++) {
        CHECK_EQ(esmfold2_schedule(f, points[i], levels), steps[i]);
        CHECK(levels[0] == 256 && levels[steps[i]] == 0);
    }
    f->real[ESMFOLD2_SIGMA_CAP] = INFINITY;
    CHECK_EQ(esmfold2_schedule(f, 14, levels), 14);
    CHECK(fabs(levels[0] - 2560) < 1e-6 && levels[14] == 0);
    CHECK_EQ(esmfold2_schedule(f, 1, levels), 1);
    CHECK(fabs(levels[0] - 2560) < 1e-6 && levels[1] == 0);
}

static void check_schedule(const struct esmfold2 *f, const struct sample *s)
{
    double levels[202], worst = 0;
    CHECK_EQ(esmfold2_schedule(f, s->steps == 10 ? 14 : 20, levels), s->steps);
    for (int i = 0; i <= s->steps; i++)
        check(s, "level", 0, levels[i], s->schedule[i], 1e-5 * s->schedule[i], &worst);
}

/* Classes of distances that begin elsewhere are refused. */
static void check_distances(struct bi_model *model)
{
    struct bi_weight *w =
        &model->weights[((const struct esmfold2 *)model->config)->confidence.boundaries.w];
    const struct bi_weight file = *w;
    struct bioinfer_error err = {0};
    float edges[127];
    for (int i = 0; i < 127; i++)
        edges[i] = (float)(2 + 50.0 * i / 126);
    w->values = edges;
    CHECK_EQ(esmfold2_check_distances(model, &err), 0);
    edges[9] += 0.01f;
    CHECK_EQ(esmfold2_check_distances(model, &err), BIOINFER_UNSUPPORTED);
    CHECK(strstr(err.text, "number 9 is 5.58"));
    *w = file;
}

/* Rotations are rotations; numbers are normal, and of their atom, step and sample alone. */
static void check_draws(void)
{
    enum { STEPS = 6, ATOMS = 4000, WIDTH = 3 * (1 + STEPS) };
    static float noise[ATOMS * WIDTH], few[WIDTH], start[3 * ATOMS];
    struct bi_edm_step steps[STEPS] = {{{0}, {0}, 0, 0, 0, 0}}, last = {{0}, {0}, 0, 0, 0, 0};
    struct bi_random r;
    double sum = 0, square = 0;
    bi_random_start(&r, BI_RNG_NATIVE, 7, 0);
    esmfold2_turns(&r, 3, steps, STEPS);
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < 9; k++) {
            const float *a = steps[i].rotation;
            double dot = 0, minor;
            for (int c = 0; c < 3; c++)
                dot += (double)a[k / 3 * 3 + c] * (double)a[k % 3 * 3 + c];
            CHECK(fabs(dot - (k % 4 == 0)) < 1e-6);
            minor = (double)a[(k / 3 + 1) % 3 * 3 + (k + 1) % 3] *
                        (double)a[(k / 3 + 2) % 3 * 3 + (k + 2) % 3] -
                    (double)a[(k / 3 + 1) % 3 * 3 + (k + 2) % 3] *
                        (double)a[(k / 3 + 2) % 3 * 3 + (k + 1) % 3];
            CHECK(fabs(minor - (double)a[k]) < 1e-6); /* the determinant is 1 */
        }
    esmfold2_turns(&r, 3, &last, 1);
    CHECK(!memcmp(&last, steps, sizeof last));
    esmfold2_turns(&r, 4, &last, 1);
    CHECK(memcmp(&last, steps, sizeof last) != 0);
    esmfold2_noise(&r, 3, ATOMS, STEPS, noise);
    for (int i = 0; i < ATOMS * WIDTH; i++) {
        sum += (double)noise[i];
        square += (double)noise[i] * (double)noise[i];
    }
    CHECK(fabs(sum / (ATOMS * WIDTH)) < 0.01);
    CHECK(fabs(square / (ATOMS * WIDTH) - 1) < 0.02);
    esmfold2_noise(&r, 3, 1, STEPS, few);
    CHECK(!memcmp(few, noise, sizeof few));
    esmfold2_noise(&r, 3, ATOMS, 0, start);
    CHECK(!memcmp(start + 3, noise + WIDTH, 3 * sizeof *start));
    for (int c = 3; c < WIDTH; c += 3)
        CHECK(memcmp(few, few + c, 3 * sizeof *few) != 0);
}

int main(int argc, char **argv)
{
    static const struct bi_target cpu = {.traits = BI_TARGET_CPU, .operands = BI_F32};
    const struct bi_env own = bi_env_default();
    struct bi_model model = {
        .def = &bi_model_esmfold2, .env = &own, .arena = {.env = &own}, .read = {{5, 6}}};
    struct bi_checkpoint_options options = {0};
    struct bioinfer_error err = {0};
    struct esmfold2 *f;
    struct sample s = {.name = ""};
    char path[4096];
    FILE *golden;
    int cases = 0;
    env = &own;
    snprintf(path, sizeof path, "%s/structure.txt", argc == 2 ? argv[1] : "");
    if (argc != 2 || !(golden = fopen(path, "r"))) {
        fprintf(stderr, "usage: esmfold2_structure FOLDER\n");
        return 2;
    }
    if (!CHECK_EQ(bi_checkpoint_open(&model.cp, env, argv[1], &options, &err), 0) ||
        !CHECK_EQ(model.def->open(&model, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    f = (struct esmfold2 *)(uintptr_t)model.config; /* cases set its real numbers */
    sizes = f->size;
    while (fscanf(golden, " case %31s %d %d %d %lf %lf", s.name, &s.n, &s.atoms, &s.steps,
                  &s.noise_scale, &s.step_scale) == 6) {
        f->real[ESMFOLD2_NOISE_SCALE] = (float)s.noise_scale;
        f->real[ESMFOLD2_STEP_SCALE] = (float)s.step_scale;
        read_sample(golden, &s);
        if (s.level)
            check_schedule(f, &s);
        run_sample(&model, &s, NULL);
        run_sample(&model, &s, &cpu);
        free_sample(&s);
        s = (struct sample){.name = ""};
        cases++;
    }
    CHECK_EQ(cases, 4);
    check_steps(f);
    check_distances(&model);
    check_draws();
    fclose(golden);
    bi_model_close(&model);
    return test_report();
}

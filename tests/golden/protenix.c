/* protenix.c - programs of a small random Protenix against the network in NumPy in float64.
 *
 *   protenix FOLDER NAME
 *
 * FOLDER has what tools/golden_protenix.py wrote: NAME.safetensors, features and results, and
 * NAME.txt, names and shapes of the weights. These are made here by the formula of that tool. Each
 * program runs on a batch of two records that are the same: as it is written, and as rules rewrite
 * it for a CPU. */
#include "graph_run.h"
#include "models/protenix/structure.h"

enum { COPIES = 2, MOST_TENSORS = 1024, MOST_INPUTS = 64 };

static const double gate = 1e-5; /* relative L2 */
static const struct bi_env *env;
static struct bi_checkpoint *golden;

/* ---- weights by a formula ---- */

struct tensor {
    char name[160];
    int rank;
    long long shape[3];
};

/* Number k of tensor p, in [0, 1): 24 bits. */
static double hash01(uint64_t p, uint64_t k)
{
    uint64_t z = (p << 32) + k + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 40) / 16777216.0;
}

static float formula(const struct tensor *t, uint64_t p, uint64_t k)
{
    const double u = 2 * hash01(p, k) - 1;
    if (bi_ends_with(t->name, "lower_bins"))
        return (float)(3.25 + 1.25 * (double)k);
    if (bi_ends_with(t->name, "upper_bins"))
        return (float)(k < 38 ? 3.25 + 1.25 * (double)(k + 1) : 1e6);
    if (t->rank > 1)
        return (float)(u * 1.5 / sqrt((double)t->shape[1]));
    if (bi_ends_with(t->name, ".weight"))
        return (float)(1 + 0.3 * u);
    return (float)(strstr(t->name, "fourier") ? u : 0.2 * u);
}

static int read_table(const char *path, struct tensor *tensors)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int n = 0;
    while (CHECK(file != NULL) && n < MOST_TENSORS && fgets(line, sizeof line, file)) {
        struct tensor *t = &tensors[n++];
        t->rank = sscanf(line, "%159s %lld %lld %lld", t->name, &t->shape[0], &t->shape[1],
                         &t->shape[2]) -
                  1;
        CHECK(t->rank >= 1);
    }
    if (file)
        fclose(file);
    return n;
}

static uint64_t size_of(const struct tensor *t)
{
    uint64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= (uint64_t)t->shape[i];
    return n;
}

/* A checkpoint of the tensors, but for number `without`, as bytes that the caller frees. Names
 * begin with `prefix`. */
static struct bi_buf make_weights(const struct tensor *tensors, int n, int without,
                                  const char *prefix)
{
    struct bi_buf head = {.env = env}, out = {.env = env};
    unsigned long long at = 0;
    uint64_t size;
    bi_buf_putc(&head, '{');
    for (int p = 0; p < n; p++) {
        const struct tensor *t = &tensors[p];
        const unsigned long long end = at + 4 * size_of(t);
        if (p == without)
            continue;
        bi_buf_printf(&head, "%s\"%s%s\":{\"dtype\":\"F32\",\"shape\":[", head.size > 1 ? "," : "",
                      prefix, t->name);
        for (int i = 0; i < t->rank; i++)
            bi_buf_printf(&head, "%s%lld", i ? "," : "", t->shape[i]);
        bi_buf_printf(&head, "],\"data_offsets\":[%llu,%llu]}", at, end);
        at = end;
    }
    bi_buf_putc(&head, '}');
    while (head.size % 8)
        bi_buf_putc(&head, ' ');
    size = head.size;
    for (int i = 0; i < 8; i++)
        bi_buf_putc(&out, (char)(size >> 8 * i));
    bi_buf_append(&out, head.data, head.size);
    for (int p = 0; p < n; p++)
        for (uint64_t k = 0; p != without && k < size_of(&tensors[p]); k++) {
            const float v = formula(&tensors[p], (uint64_t)p, k);
            bi_buf_append(&out, &v, sizeof v);
        }
    bi_buf_free(&head);
    CHECK(!out.failed);
    return out;
}

/* ---- what the golden file has ---- */

/* All numbers of a tensor; *n: how many. Freed when the program ends. */
static float *numbers(const char *name, int64_t *n)
{
    const struct bi_tensor *t = bi_checkpoint_find(golden, name);
    float *values;
    struct bioinfer_error err = {0};
    if (!CHECK(t != NULL))
        exit(1);
    values = calloc(t->n_elements + 1, sizeof *values);
    if (!CHECK_EQ(bi_tensor_read_f32(golden, t, 0, t->n_elements, values, &err), 0))
        exit(1);
    if (n)
        *n = (int64_t)t->n_elements;
    return values;
}

static int32_t *integers(const char *name)
{
    int64_t n;
    float *from = numbers(name, &n);
    int32_t *to = (int32_t *)(void *)from;
    for (int64_t i = 0; i < n; i++)
        to[i] = (int32_t)from[i];
    return to;
}

/* ---- the record ---- */

static struct record {
    struct protenix_features f;
    const int32_t *atom_token, *frame, *polymer;
    const struct bi_model *model;
} record;

/* Template `which` of the file, as the published program has its features. */
static struct protenix_template_features read_template(int which)
{
    const int64_t n = record.f.n_tokens, pairs = n * n;
    int32_t *all_bins = integers("template_bin"), *bin = all_bins + which * pairs;
    float *betas = numbers("template_pseudo_beta_mask", NULL), *beta = betas + which * pairs;
    float *units = numbers("template_unit_vector", NULL), *unit = units + 3 * which * pairs;
    float *frames = numbers("template_backbone_frame_mask", NULL);
    float *frame = frames + which * pairs;
    float *distances = calloc((size_t)(pairs * PROTENIX_DISTANCES), sizeof *distances);
    float *axes = calloc((size_t)(pairs * PROTENIX_AXES), sizeof *axes);
    for (int64_t r = 0; r < pairs; r++) {
        if (bin[r] >= 0)
            distances[r * PROTENIX_DISTANCES + bin[r]] = 1;
        distances[(r + 1) * PROTENIX_DISTANCES - 1] = beta[r];
        memcpy(axes + r * PROTENIX_AXES, unit + 3 * r, 3 * sizeof *axes);
        axes[(r + 1) * PROTENIX_AXES - 1] = frame[r];
    }
    free(all_bins);
    free(betas);
    free(units);
    free(frames);
    return (struct protenix_template_features){integers("template_aatype") + which * n, distances,
                                               axes, 1};
}

/* Templates that are not there: the first is of gaps, the others of alanine. */
static struct protenix_template_features empty(int kind, int copies)
{
    int32_t *type = calloc((size_t)record.f.n_tokens, sizeof *type);
    for (int64_t i = 0; i < record.f.n_tokens; i++)
        type[i] = kind;
    return (struct protenix_template_features){type, NULL, NULL, copies};
}

static void read_record(void)
{
    struct protenix_features *f = &record.f;
    int64_t atoms, tokens, aligned;
    int32_t *first;
    f->chain = integers("asym_id");
    f->residue = integers("residue_index");
    f->entity = integers("entity_id");
    f->copy = integers("sym_id");
    f->index = integers("token_index");
    f->type = integers("type");
    f->seen = integers("seen");
    f->profile = numbers("profile", NULL);
    f->deletions = numbers("deletion_mean", &tokens);
    f->bonds = numbers("token_bonds", NULL);
    f->place = numbers("ref_pos", NULL);
    f->charge = numbers("ref_charge", NULL);
    f->known = numbers("ref_mask", &atoms);
    f->element = integers("element");
    f->letters = integers("letters");
    f->space = integers("ref_space_uid");
    f->slot = integers("atom_to_tokatom_idx");
    f->aligned = integers("msa");
    f->deleted = numbers("has_deletion", NULL);
    f->deletion = numbers("deletion_value", &aligned);
    f->n_tokens = tokens;
    f->n_atoms = atoms;
    f->depth = aligned / tokens;
    record.atom_token = integers("atom_to_token_idx");
    record.frame = integers("has_frame");
    record.polymer = integers("is_polymer");
    f->first_atom = first = calloc((size_t)tokens + 1, sizeof *first);
    for (int64_t a = 0; a < atoms; a++)
        first[record.atom_token[a] + 1] = (int32_t)(a + 1);
    if (!((const struct protenix *)record.model->config)->template.layers.n)
        return;
    if (bi_checkpoint_find(golden, "template_aatype")) {
        f->templates[f->n_templates++] = read_template(0);
        f->templates[f->n_templates++] = read_template(1);
        f->templates[f->n_templates++] = empty(0, 2);
    } else {
        f->templates[f->n_templates++] = empty(31, 1);
        f->templates[f->n_templates++] = empty(0, 3);
    }
}

/* ---- running ---- */

/* A program at work: inputs beside those that follow from features. */
struct program {
    struct run run;
    struct protenix_graph b;
    struct bi_fold_shape shape;
    struct run_input inputs[MOST_INPUTS];
    int n_inputs;
};

static struct bi_counts count(int64_t copies, int64_t steps)
{
    const struct protenix_features *f = &record.f;
    return (struct bi_counts){.n_tokens = (int32_t)(copies * f->n_tokens),
                              .n_seqs = (int32_t)copies,
                              .longest = (int32_t)f->n_tokens,
                              .n_grid = (int32_t)(copies * f->n_tokens * f->n_tokens),
                              .n_atoms = (int32_t)(copies * f->n_atoms),
                              .n_pairs = (int32_t)(copies * f->n_atoms * 128),
                              .n_aligned = (int32_t)(copies * f->n_tokens * f->depth),
                              .n_steps = (int32_t)steps};
}

static void begin(struct program *p, int kind, int64_t steps, const struct bi_target *target)
{
    struct bioinfer_error err = {0};
    const struct bi_counts counts = count(COPIES, steps);
    *p = (struct program){.run = {.target = target, .counts = counts}};
    if (!CHECK_EQ(bi_graph_new(&p->run.g, env, &err), 0))
        exit(1);
    p->run.g->n_tokens = counts.n_tokens;
    p->run.g->n_seqs = counts.n_seqs;
    p->run.g->longest = counts.longest;
    p->run.g->n_grid = counts.n_grid;
    p->shape = (struct bi_fold_shape){.n_records = COPIES,
                                      .n_tokens = counts.n_tokens,
                                      .longest = counts.longest,
                                      .n_grid = counts.n_grid,
                                      .n_atoms = counts.n_atoms,
                                      .n_aligned = counts.n_aligned,
                                      .n_steps = steps,
                                      .program = kind};
    p->b = (struct protenix_graph){
        .model = record.model, .f = record.model->config, .g = p->run.g, .shape = &p->shape};
    for (int64_t k = 0; k < record.f.n_templates; k++)
        p->b.slots[k] = (struct protenix_slot){record.f.templates[k].copies,
                                               record.f.templates[k].distances != NULL};
}

/* The same rows for both records. */
static void give(struct program *p, const char *name, const float *values, int64_t n)
{
    float *to = calloc((size_t)(COPIES * n), sizeof *to);
    for (int copy = 0; copy < COPIES; copy++)
        memcpy(to + copy * n, values, sizeof *to * (size_t)n);
    p->inputs[p->n_inputs++] = (struct run_input){name, to, sizeof *to * (size_t)(COPIES * n)};
}

/* One for all records. */
static void *give_room(struct program *p, const char *name, int64_t words)
{
    void *to = calloc((size_t)words, 4);
    p->inputs[p->n_inputs++] = (struct run_input){name, to, 4 * (size_t)words};
    return to;
}

static void fill_starts(const char *name, int32_t *to)
{
    const struct protenix_features *f = &record.f;
    const int64_t n = f->n_tokens;
    const bool rows = !strcmp(name, "row_start");
    const int64_t step = !strcmp(name, "start")        ? n
                         : !strcmp(name, "grid_start") ? n * n
                         : !strcmp(name, "atom_start") ? f->n_atoms
                         : rows                        ? n
                                                       : n * f->depth;
    for (int64_t i = 0; i <= (rows ? COPIES * n : COPIES); i++)
        to[i] = (int32_t)(i * step);
}

/* Runs the graph as it stands: what is not given yet follows from features. */
static void run(struct program *p)
{
    const struct bi_graph *g = p->run.g;
    for (size_t i = 0; i < g->n_values; i++) {
        const struct bi_value *v = &g->values[i];
        int k = 0;
        void *to;
        if (v->kind != BI_VALUE_INPUT)
            continue;
        while (k < p->n_inputs && strcmp(p->inputs[k].name, v->name) != 0)
            k++;
        if (k < p->n_inputs || !CHECK(p->n_inputs < MOST_INPUTS))
            continue;
        to = give_room(p, v->name, bi_value_size(v) / 4);
        if (bi_ends_with(v->name, "start")) {
            fill_starts(v->name, to);
            continue;
        }
        for (int copy = 0; copy < COPIES; copy++) {
            const struct bi_counts at = count(copy, 0);
            if (!CHECK(protenix_fill(&record.f, v->name, to, &at)))
                fprintf(stderr, "    input %s\n", v->name);
        }
    }
    if (!run_graph(&p->run, record.model, p->inputs, p->n_inputs))
        exit(1);
}

static void end(struct program *p)
{
    run_free(&p->run);
    for (int i = 0; i < p->n_inputs; i++)
        free((void *)(uintptr_t)p->inputs[i].data);
}

/* Rows of an output, one after another, of both records. */
static float *rows_of(const struct program *p, const char *name, int64_t rows, int64_t width)
{
    float *to = calloc((size_t)(COPIES * rows * width), sizeof *to);
    for (int64_t r = 0; r < COPIES * rows; r++)
        memcpy(to + r * width, run_output(&p->run, name, r), sizeof *to * (size_t)width);
    return to;
}

/* Compares both records with the file by relative L2; NaN fails. */
static void compare(const char *what, const char *name, const float *got, const char *kind)
{
    int64_t n;
    float *want = numbers(name, &n);
    for (int copy = 0; copy < COPIES; copy++) {
        double square = 0, norm = 0, off;
        for (int64_t i = 0; i < n; i++) {
            const double d = (double)got[copy * n + i] - (double)want[i];
            square += d * d;
            norm += (double)want[i] * (double)want[i];
        }
        off = sqrt(square / norm);
        if (!CHECK(off < gate) || !copy)
            printf("%s %s, record %d: %.2g off\n", kind, what, copy, off);
    }
    CHECK(!memcmp(got, got + n, sizeof *got * (size_t)n)); /* beside another record the same bits */
    free(want);
}

static void compare_output(const struct program *p, const char *output, const char *name,
                           int64_t rows, const char *kind)
{
    int64_t n;
    float *got, *want = numbers(name, &n);
    free(want);
    got = rows_of(p, output, rows, n / rows);
    compare(output, name, got, kind);
    free(got);
}

/* ---- the trunk ---- */

static const char *kind_of(const struct bi_target *target)
{
    return target ? "rewritten" : "plain";
}

static void check_inputs(const struct bi_target *target)
{
    struct program p;
    begin(&p, BI_FOLD_STEM, 0, target);
    protenix_build(&p.b);
    run(&p);
    compare_output(&p, PROTENIX_KEPT_INPUTS, "inputs", record.f.n_tokens, kind_of(target));
    end(&p);
}

/* A pass over single and pair, which are replaced. */
static void pass(int program, const struct bi_target *target, float **single, float **pair)
{
    const int64_t n = record.f.n_tokens;
    struct program p;
    int64_t size;
    float *inputs = numbers("inputs", &size);
    begin(&p, program, 0, target);
    protenix_build(&p.b);
    give(&p, PROTENIX_KEPT_INPUTS, inputs, size);
    if (*single) {
        give(&p, PROTENIX_KEPT_SINGLE, *single, n * p.b.f->single);
        give(&p, PROTENIX_KEPT_PAIRS, *pair, n * n * p.b.f->pair);
    }
    run(&p);
    free(*single);
    free(*pair);
    *single = rows_of(&p, PROTENIX_KEPT_SINGLE, n, p.b.f->single);
    *pair = rows_of(&p, PROTENIX_KEPT_PAIRS, n * n, p.b.f->pair);
    end(&p);
    free(inputs);
}

static void check_passes(const struct bi_target *target)
{
    float *single = NULL, *pair = NULL;
    pass(BI_FOLD_ONLY, target, &single, &pair);
    compare("single after a pass", "single_1", single, kind_of(target));
    compare("pairs after a pass", "pairs_1", pair, kind_of(target));
    pass(BI_FOLD_AGAIN, target, &single, &pair);
    pass(BI_FOLD_LAST, target, &single, &pair);
    compare("single after three", "single_3", single, kind_of(target));
    compare("pairs after three", "pairs_3", pair, kind_of(target));
    free(single);
    free(pair);
}

/* ---- samples ---- */

enum { MOST_CHAINS = 4 };

/* Gives the values of the trunk that the file has. */
static void give_trunk(struct program *p)
{
    static const char *const names[][2] = {{PROTENIX_KEPT_INPUTS, "inputs"},
                                           {PROTENIX_KEPT_SINGLE, "single_3"},
                                           {PROTENIX_KEPT_PAIRS, "pairs_3"}};
    for (int i = 0; i < 3; i++) {
        int64_t n;
        float *values = numbers(names[i][1], &n);
        give(p, names[i][0], values, n);
        free(values);
    }
}

/* Gives the plan and what the network is told of its steps. */
static void give_plan(struct program *p, const struct bi_edm_step *steps, int64_t n)
{
    const struct bi_sampler s = protenix_sampler(p->b.f);
    float *levels = give_room(p, "levels", n * p->b.f->fourier);
    struct bi_edm_step *plan = give_room(p, "plan", COPIES * n * BI_EDM_WORDS);
    struct bioinfer_error err = {0};
    CHECK_EQ(bi_sampler_levels(&s, record.model, steps, n, levels, &err), 0);
    for (int copy = 0; copy < COPIES; copy++)
        memcpy(plan + copy * n, steps, sizeof *steps * (size_t)n);
}

/* Gives what atoms begin with, and what each of n steps adds (NULL: nothing). */
static void give_noise(struct program *p, const float *start, const float *churn, int64_t n)
{
    const int64_t atoms = record.f.n_atoms, width = 3 * (1 + n);
    float *noise = calloc((size_t)(atoms * width), sizeof *noise);
    for (int64_t a = 0; a < atoms; a++)
        for (int64_t c = 0; c < (churn ? width : 3); c++)
            noise[a * width + c] = c < 3 ? start[3 * a + c]
                                         : churn[((c / 3 - 1) * atoms + a) * 3 + c % 3];
    give(p, "noise", noise, atoms * width);
    free(noise);
}

/* The answer to noisy atoms: a step of one level to 0 gives x - scale (x - answer). */
static void check_answer(const struct bi_target *target)
{
    const float level = 7.5f;
    float *start = numbers("answer_start", NULL);
    struct bi_edm_step step = {
        .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .from = level, .sigma = level};
    struct program p;
    float *got;
    begin(&p, BI_FOLD_SAMPLE, 1, target);
    protenix_build(&p.b);
    give_trunk(&p);
    give_plan(&p, &step, 1);
    give_noise(&p, start, NULL, 1);
    run(&p);
    got = rows_of(&p, "places", record.f.n_atoms, 3);
    for (int64_t i = 0; i < 3 * COPIES * record.f.n_atoms; i++) {
        const float x = level * start[i % (3 * record.f.n_atoms)];
        got[i] = x + (got[i] - x) / p.b.f->step_scale;
    }
    compare("answer", "answer", got, kind_of(target));
    end(&p);
    free(got);
    free(start);
}

/* The whole sampler, with the draws that were recorded. */
static void check_sample(const struct bi_target *target)
{
    enum { STEPS = 4 };
    float *start = numbers("start", NULL), *churn = numbers("churn", NULL);
    float *turns = numbers("turns", NULL), *moves = numbers("moves", NULL);
    struct bi_edm_step steps[STEPS];
    double levels[STEPS + 1];
    struct program p;
    begin(&p, BI_FOLD_SAMPLE, STEPS, target);
    protenix_build(&p.b);
    give_trunk(&p);
    protenix_schedule(STEPS, levels);
    protenix_plan(p.b.f, levels, STEPS, steps);
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; k < 9; k++) /* a row of coordinates times the rotation */
            steps[i].rotation[k] = turns[9 * i + k % 3 * 3 + k / 3];
        memcpy(steps[i].translation, moves + 3 * i, sizeof steps[i].translation);
    }
    give_plan(&p, steps, STEPS);
    give_noise(&p, start, churn, STEPS);
    run(&p);
    compare_output(&p, "places", "places", record.f.n_atoms, kind_of(target));
    end(&p);
    free(start);
    free(churn);
    free(turns);
    free(moves);
}

static void check_schedule(void)
{
    int64_t n;
    float *want = numbers("schedule", &n);
    double levels[201];
    protenix_schedule(200, levels);
    CHECK_EQ(n, 201);
    for (int i = 0; i <= 200; i++)
        CHECK(fabs(levels[i] - (double)want[i]) <= 1e-7 * (double)want[i]);
    CHECK(levels[200] == 0);
    free(want);
}

/* ---- confidence ---- */

static void near(const char *what, const char *of, double got, double want)
{
    if (!CHECK(fabs(got - want) <= 1e-5 * fmax(1e-3, fabs(want))))
        fprintf(stderr, "    %s of %s is %.9g, expected %.9g\n", what, of, got, want);
}

static void compare_list(const char *what, const double *got, int64_t n)
{
    int64_t size;
    float *want = numbers(what, &size);
    CHECK_EQ(size, n);
    for (int64_t i = 0; i < n; i++)
        near(what, "chains", got[i], (double)want[i]);
    free(want);
}

/* Scores of the second record, whose atoms are the file's, or chains 300 angstrom apart. */
static void check_scores(const struct program *p, float *atoms, bool apart)
{
    const struct protenix_features *f = &record.f;
    const int64_t n = f->n_tokens, pairs = n * n;
    bool *flags = calloc((size_t)(n + f->n_atoms), sizeof *flags);
    double *levels = calloc((size_t)f->n_atoms, sizeof *levels), sums[MOST_CHAINS];
    double room[3 * MOST_CHAINS + 2 * MOST_CHAINS * MOST_CHAINS];
    const int64_t chains = 1 + f->chain[n - 1];
    struct protenix_scores got = {.chain_ptm = room,
                                  .chain_iptm = room + MOST_CHAINS,
                                  .chain_plddt = room + 2 * MOST_CHAINS,
                                  .pair_iptm = room + 3 * MOST_CHAINS,
                                  .pair_iptm_global = room + 3 * MOST_CHAINS +
                                                      MOST_CHAINS * MOST_CHAINS};
    const char *name = apart ? "summary_apart" : "summary_clash";
    float *want = numbers(name, NULL);
    struct protenix_sampled s = {
        .f = f,
        .n_chains = chains,
        .frame = flags,
        .polymer = flags + n,
        .places = atoms,
        .ld_places = 3,
        .levels = run_output(&p->run, "levels", n),
        .errors = run_output(&p->run, "errors", pairs),
        .distance_errors = run_output(&p->run, "distance_errors", pairs),
        .contacts = run_output(&p->run, "contacts", pairs),
        .ld_levels = run_output(&p->run, "levels", 1) - run_output(&p->run, "levels", 0),
        .ld_errors = run_output(&p->run, "errors", 1) - run_output(&p->run, "errors", 0),
        .ld_distance_errors = run_output(&p->run, "distance_errors", 1) -
                              run_output(&p->run, "distance_errors", 0),
        .ld_contacts = run_output(&p->run, "contacts", 1) - run_output(&p->run, "contacts", 0)};
    for (int64_t i = 0; i < n; i++)
        flags[i] = record.frame[i] > 0;
    for (int64_t a = 0; a < f->n_atoms; a++) {
        flags[n + a] = record.polymer[a] > 0;
        for (int k = 0; k < 3 && apart; k++)
            atoms[3 * a + k] += 300 * (float)f->chain[record.atom_token[a]];
    }
    protenix_score(&s, levels, sums, &got);
    near("pLDDT", name, 100 * got.plddt, (double)want[0]);
    near("gPDE", name, got.gpde, (double)want[1]);
    near("pTM", name, got.ptm, (double)want[2]);
    near("ipTM", name, got.iptm, (double)want[3]);
    CHECK_EQ(got.clash, want[4] > 0);
    near("ranking", name, got.ranking, (double)want[5]);
    compare_list("chain_ptm", got.chain_ptm, chains);
    compare_list("chain_iptm", got.chain_iptm, chains);
    compare_list("chain_plddt", got.chain_plddt, chains);
    compare_list("chain_pair_iptm", got.pair_iptm, chains * chains);
    compare_list("chain_pair_iptm_global", got.pair_iptm_global, chains * chains);
    free(flags);
    free(levels);
    free(want);
}

/* Logits of each atom by its place in its token, of both records, from rows of tokens. */
static float *by_place(const struct program *p, const char *output, int64_t bins)
{
    const struct protenix_features *f = &record.f;
    float *to = calloc((size_t)COPIES * (size_t)f->n_atoms * (size_t)bins, sizeof *to);
    for (int64_t a = 0; a < COPIES * f->n_atoms; a++) {
        const int64_t copy = a / f->n_atoms, token = record.atom_token[a % f->n_atoms];
        memcpy(to + a * bins,
               run_output(&p->run, output, copy * f->n_tokens + token) +
                   f->slot[a % f->n_atoms] * bins,
               sizeof *to * (size_t)bins);
    }
    return to;
}

/* How sure the network is of the atoms that the file has. */
static void check_rating(const struct bi_target *target)
{
    const int64_t n = record.f.n_tokens, atoms = record.f.n_atoms;
    float *given = numbers("atoms", NULL), *levels, *resolved;
    struct protenix_trunk t;
    struct program p;
    begin(&p, BI_FOLD_SAMPLE, 1, target);
    protenix_add_inputs(&p.b);
    t = (struct protenix_trunk){
        bi_input_rows(p.b.g, PROTENIX_KEPT_INPUTS, BI_AXIS_TOKENS, COPIES * n, p.b.f->inputs),
        bi_input_rows(p.b.g, PROTENIX_KEPT_SINGLE, BI_AXIS_TOKENS, COPIES * n, p.b.f->single),
        bi_input_rows(p.b.g, PROTENIX_KEPT_PAIRS, BI_AXIS_GRID, COPIES * n * n, p.b.f->pair)};
    protenix_rate(
        &p.b, &t,
        bi_scale(p.b.g, bi_input_rows(p.b.g, "atoms", BI_AXIS_ATOMS, COPIES * atoms, 3), 1));
    give_trunk(&p);
    give(&p, "atoms", given, 3 * atoms);
    run(&p);
    levels = by_place(&p, "levels", PROTENIX_LEVELS);
    resolved = by_place(&p, "resolved", 2);
    compare("levels", "plddt", levels, kind_of(target));
    compare("resolved", "resolved", resolved, kind_of(target));
    compare_output(&p, "errors", "errors", n * n, kind_of(target));
    compare_output(&p, "distance_errors", "distance_errors", n * n, kind_of(target));
    compare_output(&p, "contacts", "contacts", n * n, kind_of(target));
    check_scores(&p, given, false);
    check_scores(&p, given, true);
    end(&p);
    free(levels);
    free(resolved);
    free(given);
}

/* ---- opening ---- */

static int open_weights(struct bi_model *m, const struct tensor *tensors, int n, int without,
                        const char *prefix, struct bi_buf *bytes, struct bioinfer_error *err)
{
    struct bi_checkpoint_options options = {0};
    size_t unwrapped;
    *m = (struct bi_model){.env = env, .arena = {.env = env}, .read = {{5, 6}}};
    *bytes = make_weights(tensors, n, without, prefix);
    CHECK_EQ(
        bi_checkpoint_open_memory(&m->cp, env, "weights", bytes->data, bytes->size, &options, err),
        0);
    if (*prefix)
        CHECK_EQ(bi_checkpoint_unwrap(m->cp, prefix, false, &unwrapped, err), 0);
    CHECK(without >= 0 || protenix_recognise(m->cp));
    return protenix_open(m, err);
}

/* Each tensor is needed, but for those that nothing reads, and a missing one is named. */
static void check_missing(const struct tensor *tensors, int n)
{
    const bool unused = !record.f.n_templates;
    for (int i = 0; i < n; i += 7) {
        struct bi_model m;
        struct bi_buf bytes;
        struct bioinfer_error err = {0};
        const int st = open_weights(&m, tensors, n, i, "", &bytes, &err);
        if (unused && !strncmp(tensors[i].name, "template_embedder.", 18))
            CHECK_EQ(st, 0);
        else if (!CHECK(st == BIOINFER_MISMATCH) || !CHECK(err.text[0]))
            fprintf(stderr, "    without %s: %d %s\n", tensors[i].name, st, err.text);
        bi_model_close(&m);
        bi_buf_free(&bytes);
    }
}

/* Tensors of other models are refused. */
static void check_others(struct tensor *tensors, int n)
{
    static const char *const names[] = {"constraint_embedder.x", "input_embedder.linear_esm.weight",
                                        "unheard.weight"};
    static const int want[] = {BIOINFER_UNSUPPORTED, BIOINFER_UNSUPPORTED, BIOINFER_MISMATCH};
    for (int i = 0; i < 3; i++) {
        struct bi_model m;
        struct bi_buf bytes;
        struct bioinfer_error err = {0};
        tensors[n] = (struct tensor){.rank = 1, .shape = {4}};
        snprintf(tensors[n].name, sizeof tensors[n].name, "%s", names[i]);
        CHECK_EQ(open_weights(&m, tensors, n + 1, -1, "", &bytes, &err), want[i]);
        CHECK(strstr(err.text, names[i]) != NULL);
        bi_model_close(&m);
        bi_buf_free(&bytes);
    }
}

/* Features that contradict themselves are refused by name and place. */
static void check_features(void)
{
    struct protenix_features f = record.f;
    struct bioinfer_error err = {0};
    int32_t *type = calloc((size_t)f.n_tokens, sizeof *type);
    CHECK_EQ(protenix_check(&f, "a", &err), 0);
    memcpy(type, f.type, sizeof *type * (size_t)f.n_tokens);
    type[3] = PROTENIX_TYPES;
    f.type = type;
    CHECK_EQ(protenix_check(&f, "a", &err), BIOINFER_INVALID);
    CHECK_STR(err.text, "a: the kind of token 3 is 32, expected 0 to 31");
    f = record.f;
    f.n_atoms--;
    CHECK_EQ(protenix_check(&f, "a", &err), BIOINFER_INVALID);
    f = record.f;
    f.n_tokens = 50000;
    CHECK_EQ(protenix_check(&f, "a", &err), BIOINFER_INVALID);
    free(type);
}

int main(int argc, char **argv)
{
    static const struct bi_target cpu = {.traits = BI_TARGET_CPU, .operands = BI_F32};
    static struct tensor tensors[MOST_TENSORS + 1];
    const struct bi_env own = bi_env_default();
    struct bi_checkpoint_options options = {0};
    struct bioinfer_error err = {0};
    struct bi_model model;
    struct bi_buf bytes;
    char path[4096];
    int n;
    env = &own;
    if (argc != 3) {
        fprintf(stderr, "usage: protenix FOLDER NAME\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/%s.txt", argv[1], argv[2]);
    n = read_table(path, tensors);
    snprintf(path, sizeof path, "%s/%s.safetensors", argv[1], argv[2]);
    if (!CHECK_EQ(bi_checkpoint_open(&golden, env, path, &options, &err), 0) ||
        !CHECK_EQ(open_weights(&model, tensors, n, -1, "module.", &bytes, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    record.model = &model;
    read_record();
    for (int i = 0; i < 2; i++) {
        const struct bi_target *target = i ? &cpu : NULL;
        check_inputs(target);
        check_passes(target);
        check_answer(target);
        check_sample(target);
        check_rating(target);
    }
    check_schedule();
    check_missing(tensors, n);
    check_others(tensors, n);
    check_features();
    bi_model_close(&model);
    bi_buf_free(&bytes);
    bi_checkpoint_close(&golden);
    return test_report();
}

/* protenix.c - programs of a small random Protenix against the network in NumPy in float64.
 *
 *   protenix FOLDER NAME
 *
 * FOLDER has what tools/golden_protenix.py wrote: NAME.safetensors, features and results, and
 * NAME.txt, names and shapes of the weights. These are made here by the formula of that tool. Each
 * program runs on a batch of two records that are the same: as it is written, and as rules rewrite
 * it for a CPU. */
#include "graph_run.h"
#include "kernels/edm.h"
#include "models/protenix/features.h"

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
    const int32_t *bin = integers("template_bin") + which * pairs;
    const float *beta = numbers("template_pseudo_beta_mask", NULL) + which * pairs;
    const float *unit = numbers("template_unit_vector", NULL) + 3 * which * pairs;
    const float *frame = numbers("template_backbone_frame_mask", NULL) + which * pairs;
    float *distances = calloc((size_t)(pairs * PROTENIX_DISTANCES), sizeof *distances);
    float *axes = calloc((size_t)(pairs * PROTENIX_AXES), sizeof *axes);
    for (int64_t r = 0; r < pairs; r++) {
        if (bin[r] >= 0)
            distances[r * PROTENIX_DISTANCES + bin[r]] = 1;
        distances[(r + 1) * PROTENIX_DISTANCES - 1] = beta[r];
        memcpy(axes + r * PROTENIX_AXES, unit + 3 * r, 3 * sizeof *axes);
        axes[(r + 1) * PROTENIX_AXES - 1] = frame[r];
    }
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
    }
    check_missing(tensors, n);
    check_others(tensors, n);
    check_features();
    bi_model_close(&model);
    bi_buf_free(&bytes);
    bi_checkpoint_close(&golden);
    return test_report();
}

/* flashabb.c - FlashABB's graph with its published weights, against the network in NumPy in float64
 * (tools/golden_flashabb_fold.py).
 *
 *   flashabb NAME GOLDEN [plain]      NAME: of the weights, in $BIOINFER_DATA
 *
 * Products run by the references of ops; point_attention, frame_update and the norms by the
 * kernels of this processor. Exit 77: the weights are not there. */
#include "graph/plan.h"
#include "kernels/cpu/cpu.h"
#include "models/fold.h"
#include "models/folding/atoms.h"
#include "ops/op.h"
#include "tests/test.h"

enum { MAX_TOKENS = 320 };

extern const struct bi_model_def bi_model_flashabb;

/* Both chains as tokens. */
static struct tokens {
    int32_t n, code[MAX_TOKENS][BI_FOLD_CODES], number[MAX_TOKENS], start[2];
    char atoms[MAX_TOKENS];
} tokens;

static const struct bi_env *env;
static struct bi_counts counts;

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

/* A weight of the graph as it reads it: rows taken, or transposed. */
static float *weight_of(const struct bi_model *model, const struct bi_value *v)
{
    const struct bi_weight *w = &model->weights[v->parts[0]];
    const int64_t rows = w->shape[0], columns = w->rank == 2 ? w->shape[1] : 1;
    float *all = malloc((size_t)(rows * columns) * sizeof *all);
    float *out = malloc((size_t)bi_value_size(v));
    CHECK_EQ(v->n_parts, 1);
    CHECK_EQ(bi_weight_read(model, w, 0, rows, all, NULL), 0);
    for (int64_t r = 0; r < v->shape[0]; r++)
        for (int64_t c = 0; c < (v->rank == 2 ? v->shape[1] : 1); c++)
            out[r * (v->rank == 2 ? v->shape[1] : 1) + c] =
                v->transposed ? all[c * columns + r]
                              : all[(v->rows ? v->rows[r] : r) * columns + c];
    free(all);
    return out;
}

static void run_launch(const struct bi_op *op, const struct bi_launch *launch)
{
    static const char *const own[] = {"point_attention", "frame_update", "dropout_norm",
                                      "layernorm",       "rope",         "row_softmax"};
    for (size_t i = 0; i < BI_COUNT(own); i++)
        if (!strcmp(launch->entry, own[i])) {
            const struct bi_cpu_entry *e = bi_cpu_find_entry(bi_cpu_kernels_usable(0), own[i],
                                                             NULL);
            const size_t size = e->scratch_size ? e->scratch_size(launch->params, counts.n_tokens,
                                                                  counts.longest)
                                                : 0;
            void *scratch = aligned_alloc(64, (size / 64 + 1) * 64);
            const int64_t n = e->tasks(launch->params, 1);
            for (int64_t task = 0; task < n; task++)
                e->run(launch->params, task, n, scratch);
            free(scratch);
            return;
        }
    op->reference(launch->params);
}

/* Runs the graph into its block of outputs. */
static void run(const struct bi_model *model, const struct bi_graph *g,
                const struct bi_memory_plan *plan, unsigned char *output)
{
    unsigned char *input = calloc(1, (size_t)plan->input_size + 1);
    unsigned char *activation = aligned_alloc(64, (size_t)(plan->activation_size / 64 + 1) * 64);
    float **weights = calloc(g->n_values + 1, sizeof *weights);
    for (size_t i = 0; i < g->n_values; i++) {
        const struct bi_value *v = &g->values[i];
        void *at = input + plan->slots[i].offset;
        if (v->kind == BI_VALUE_WEIGHT && plan->slots[i].place == BI_PLACE_WEIGHT)
            weights[i] = weight_of(model, v);
        if (v->kind != BI_VALUE_INPUT || plan->slots[i].place != BI_PLACE_INPUT)
            continue;
        if (!strcmp(v->name, "code"))
            memcpy(at, tokens.code, sizeof *tokens.code * (size_t)tokens.n);
        else if (!strcmp(v->name, "number"))
            memcpy(at, tokens.number, sizeof *tokens.number * (size_t)tokens.n);
        else if (CHECK_STR(v->name, "start"))
            memcpy(at, tokens.start, sizeof tokens.start);
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *node = &g->nodes[i];
        struct bi_launch launch = {.op = bi_ops[node->op]};
        struct bi_bind b = {.counts = &counts};
        for (int k = 0; k < BI_NODE_IN + BI_NODE_OUT; k++) {
            const bi_value_id id = k < BI_NODE_IN ? node->in[k] : node->out[k - BI_NODE_IN];
            const struct bi_slot *s = id == BI_NONE ? NULL : &plan->slots[id];
            void *at;
            if (!s)
                continue;
            at = s->place == BI_PLACE_WEIGHT   ? (void *)weights[id]
                 : s->place == BI_PLACE_INPUT  ? (void *)(input + s->offset)
                 : s->place == BI_PLACE_OUTPUT ? (void *)(output + s->offset)
                                               : (void *)(activation + s->offset);
            if (k < BI_NODE_IN) {
                b.in[k] = at;
                b.in_ld[k] = s->ld;
            } else {
                b.out[k - BI_NODE_IN] = at;
                b.out_ld[k - BI_NODE_IN] = s->ld;
            }
        }
        if (launch.op->view)
            continue;
        launch.op->launch(g, node, &b, &launch);
        run_launch(launch.op, &launch);
    }
    for (size_t i = 0; i < g->n_values; i++)
        free(weights[i]);
    free(weights);
    free(activation);
    free(input);
}

/* Rows of an output. */
static const float *output_of(const struct bi_graph *g, const struct bi_memory_plan *plan,
                              const unsigned char *output, int kind, int64_t row)
{
    for (size_t k = 0; k < g->n_outputs; k++)
        if (g->outputs[k].kind == kind) {
            const struct bi_slot *s = &plan->slots[g->outputs[k].value];
            return (const float *)(const void *)(output + s->offset) + row * s->ld;
        }
    CHECK(!"an output");
    exit(1);
}

static double confidence(const float *p)
{
    double sum = 0;
    for (int k = 0; k < 50; k++)
        sum += (double)p[k] * (k + 0.5) / 50;
    return sum;
}

/* Compares lines of the golden file: within 1e-3 angstrom and 1e-5 of pLDDT. */
static void compare(FILE *golden, const struct bi_fold_def *def, const struct bi_graph *g,
                    const struct bi_memory_plan *plan, const unsigned char *output)
{
    double want[6], level, off = 0, off_level = 0;
    int i, n = 0;
    while (fscanf(golden, "%d %lf %lf %lf %lf %lf %lf %lf", &i, &want[0], &want[1], &want[2],
                  &want[3], &want[4], &want[5], &level) == 8) {
        const struct bi_folded_residue *residue = bi_folded_residue(tokens.atoms[i]);
        float x[BI_FOLDED_ATOMS][3];
        bi_folded_place(x, residue, output_of(g, plan, output, BI_FOLD_FRAME, i),
                        output_of(g, plan, output, BI_FOLD_ANGLES, i), def->least);
        for (int k = 0; k < 6; k++)
            off = fmax(off, fabs((double)x[k < 3 ? 1 : residue->n_atoms - 1][k % 3] - want[k]));
        off_level = fmax(
            off_level, fabs(confidence(output_of(g, plan, output, BI_FOLD_CONFIDENCE, i)) - level));
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
    struct bi_graph *g = NULL;
    struct bi_memory_plan plan = {0};
    unsigned char *output;
    char line[2 * MAX_TOKENS], path[4096];
    const char *data = getenv("BIOINFER_DATA");
    FILE *golden;
    env = &own;
    snprintf(path, sizeof path, "%s/%s", data ? data : "", argc > 1 ? argv[1] : "");
    if (argc < 3 || !(golden = fopen(path, "rb"))) {
        printf("skipped: no %s in BIOINFER_DATA\n", argc > 1 ? argv[1] : "weights");
        return 77;
    }
    fclose(golden);
    if (!CHECK((golden = fopen(argv[2], "r")) != NULL) ||
        !CHECK(fgets(line, sizeof line, golden) != NULL) || !read_tokens(def, line) ||
        !CHECK_EQ(bi_checkpoint_open(&model.cp, env, path, &options, &err), 0) ||
        !CHECK(model.def->recognise(model.cp)) || !CHECK_EQ(model.def->open(&model, &err), 0) ||
        !CHECK_EQ(bi_graph_new(&g, env, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    CHECK_EQ(model.n_parameters, 4864464);
    counts = (struct bi_counts){.n_tokens = tokens.n, .n_seqs = 1, .longest = tokens.n};
    g->n_tokens = g->longest = tokens.n;
    g->n_seqs = 1;
    def->build(
        &model, g,
        &(struct bi_fold_shape){
            .n_records = 1, .n_tokens = tokens.n, .longest = tokens.n, .uncorrected = argc > 3});
    if (!CHECK_EQ(bi_graph_verify(g, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return 1;
    }
    bi_graph_dce(g);
    if (!CHECK_EQ(bi_memory_plan(&plan, g, &err), 0))
        return 1;
    output = aligned_alloc(64, (size_t)(plan.output_size / 64 + 1) * 64);
    run(&model, g, &plan, output);
    compare(golden, def, g, &plan, output);
    fclose(golden);
    free(output);
    bi_memory_plan_free(&plan);
    bi_graph_free(&g);
    bi_model_close(&model);
    return test_report();
}

/* rules_test.c - every rule is listed by --trace-rules and stopped by --no-rule.
 *
 *     rules_test RECEPTOR {embed|maps|score|design|tracks|affinity|energy}=WEIGHTS...
 *
 * Graphs of tasks are rewritten for three made-up targets, which have a kernel for every launch: a
 * plain one, a CPU, and a GPU whose matrix units take float16. Every rule fires in one of them at
 * least, or nothing here shows that it can be stopped. RECEPTOR is a protein for affinities. */
#include "../../engine/engine.h"
#include "../test.h"
#include "../text.h"

enum { RESIDUES = 40 };

static const char *receptor;

/* Rules of ops that no task has yet; tests/unit/graph_test.c fires them. */
static const char *const without_task[] = {"attention_grid"};

static bool has_task(const char *rule)
{
    for (size_t i = 0; i < BI_COUNT(without_task); i++)
        if (!strcmp(without_task[i], rule))
            return false;
    return true;
}

/* How often each rule fired in a graph. */
struct fired {
    int of[BI_RULE_MAX];
    bool listed; /* the text ends with a line for each rule, in their order */
    char *graph; /* as text; its owner's to free */
};

static int n_rules(void)
{
    int n = 0;
    while (bi_rule_name(n))
        n++;
    return n;
}

/* Reads the table of rules at the end of a trace. */
static struct fired read_table(const struct test_text *t)
{
    struct fired f = {.listed = t->size > 0};
    const char *at = t->data + t->size;
    for (int i = n_rules() - 1; i >= 0 && f.listed; i--) {
        char name[64];
        at--;
        while (at > t->data && at[-1] != '\n')
            at--;
        f.listed = sscanf(at, "%63s %d", name, &f.of[i]) == 2 && !strcmp(name, bi_rule_name(i));
    }
    return f;
}

static int open_task(bioinfer_task **t, const bioinfer_model *m, const char *task,
                     const char *no_rules, struct bioinfer_error *err)
{
    if (!strcmp(task, "embed") || !strcmp(task, "maps")) {
        const struct bioinfer_embed_params p = BIOINFER_PARAMS(
            struct bioinfer_embed_params,
            .include = *task == 'e' ? BIOINFER_MEAN : BIOINFER_CONTACTS, .no_rules = no_rules);
        return bioinfer_embed_open(t, m, &p, err);
    }
    if (!strcmp(task, "score")) {
        const struct bioinfer_score_params p = BIOINFER_PARAMS(struct bioinfer_score_params,
                                                               .no_rules = no_rules);
        return bioinfer_score_open(t, m, &p, err);
    }
    if (!strcmp(task, "design")) {
        const struct bioinfer_design_params p = BIOINFER_PARAMS(struct bioinfer_design_params,
                                                                .no_rules = no_rules);
        return bioinfer_design_open(t, m, &p, err);
    }
    if (!strcmp(task, "tracks")) {
        const struct bioinfer_tracks_params p = BIOINFER_PARAMS(struct bioinfer_tracks_params,
                                                                .no_rules = no_rules);
        return bioinfer_tracks_open(t, m, &p, err);
    }
    if (!strcmp(task, "affinity")) {
        const struct bioinfer_affinity_params p = BIOINFER_PARAMS(
            struct bioinfer_affinity_params, .receptor = receptor, .no_rules = no_rules);
        return bioinfer_affinity_open(t, m, &p, err);
    }
    const struct bioinfer_energy_params p = BIOINFER_PARAMS(struct bioinfer_energy_params,
                                                            .has_charge = 1, .no_rules = no_rules);
    return bioinfer_energy_open(t, m, &p, err);
}

/* Opens a task without the rules of these names, and says which fired in its graph. */
static struct fired trace(const bioinfer_model *m, const char *task, const char *no_rules)
{
    struct bioinfer_error err = {0};
    struct test_text text = {0};
    struct fired f = {0};
    bioinfer_task *t = NULL;
    struct test_text graph = {0};
    if (CHECK_EQ(open_task(&t, m, task, no_rules, &err), 0) &&
        CHECK_EQ(bioinfer_task_dump(t, RESIDUES, 1, 1, test_append, &text, &err), 0) &&
        CHECK_EQ(bioinfer_task_dump(t, RESIDUES, 1, 0, test_append, &graph, &err), 0))
        f = read_table(&text);
    else
        fprintf(stderr, "    %s without %s: %s\n", task, no_rules ? no_rules : "none", err.text);
    bioinfer_task_close(&t);
    free(text.data);
    f.graph = graph.data;
    return f;
}

/* Whether there are two graphs, which are not the same one. */
static bool differ(const char *one, const char *other)
{
    return one && other && strcmp(one, other);
}

/* Traces a task of the model, and again without each rule that fired. */
static void check_task(const bioinfer_model *m, const char *task, bool *ever)
{
    const struct fired all = trace(m, task, NULL);
    CHECK(all.listed);
    for (int i = 0; bi_rule_name(i); i++) {
        if (!all.of[i])
            continue;
        ever[i] = true;
        const struct fired without = trace(m, task, bi_rule_name(i));
        CHECK(without.listed);
        if (!CHECK_EQ(without.of[i], 0) || !CHECK(differ(without.graph, all.graph)))
            fprintf(stderr, "    --no-rule %s\n", bi_rule_name(i));
        free(without.graph);
    }
    const struct fired none = trace(m, task, "all");
    CHECK(none.listed);
    for (int i = 0; bi_rule_name(i); i++)
        CHECK_EQ(none.of[i], 0);
    free(none.graph);
    free(all.graph);
}

static const struct target {
    uint32_t traits;
    bool half;
    int32_t gate_block;
} targets[] = {{0, false, 0},
               {BI_TARGET_CPU, false, 16},
               {BI_TARGET_GPU | BI_TARGET_ROTATES | BI_TARGET_FOLLOWS, true, 16}};

static void check_model(bioinfer_context *ctx, const char *arg, bool *ever)
{
    const struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                           .device = "null");
    const char *path = strchr(arg, '=');
    struct bioinfer_error err = {0};
    bioinfer_model *m = NULL;
    char task[16] = "";
    if (!CHECK(path && (size_t)(path - arg) < sizeof task))
        return;
    memcpy(task, arg, (size_t)(path - arg));
    if (!CHECK_EQ(bioinfer_model_open(&m, ctx, path + 1, &p, &err), 0)) {
        fprintf(stderr, "    %s: %s\n", arg, err.text);
        return;
    }
    for (size_t i = 0; i < BI_COUNT(targets); i++) {
        m->caps.traits = targets[i].traits;
        m->caps.gate_block = targets[i].gate_block;
        m->half = targets[i].half;
        check_task(m, task, ever);
    }
    bioinfer_model_close(&m);
}

int main(int argc, char **argv)
{
    bool ever[BI_RULE_MAX] = {false};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    if (argc < 3)
        return 2;
    receptor = argv[1];
    if (!CHECK_EQ(bioinfer_context_new(&ctx, NULL, &err), 0))
        return test_report();
    for (int i = 2; i < argc; i++)
        check_model(ctx, argv[i], ever);
    for (int i = 0; bi_rule_name(i); i++)
        if (!CHECK(ever[i] == has_task(bi_rule_name(i))))
            fprintf(stderr, "    %s has fired in %s graph\n", bi_rule_name(i),
                    ever[i] ? "a" : "no");
    bioinfer_context_free(&ctx);
    return test_report();
}

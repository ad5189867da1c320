/* build_test.c - the graph: builders, verifier, order and memory plan. */
#define _POSIX_C_SOURCE 200809L
#include "graph_fix.h"

/* ---- builders and verifier ---- */

static void builders_keep_the_first_error(void)
{
    struct fix f;
    struct bioinfer_error err = {0};
    bi_value_id x, bad;
    fix_open(&f);
    x = embedding(&f, 8);
    bad = bi_matmul(f.g, x, weight(&f, 2, 4, 7, 0)); /* 8 columns against 7 */
    CHECK_EQ(bad, BI_NONE);
    CHECK_EQ(bi_graph_status(f.g, &err), BIOINFER_INTERNAL);
    CHECK_HAS(err.text, "[4, 7]");
    CHECK_EQ(bi_gelu(f.g, bad), BI_NONE);
    CHECK_EQ(bi_add(f.g, x, x), BI_NONE); /* sound by itself: the graph has failed */
    CHECK_EQ(bi_rope(f.g, bad, bad, f.start, 2), BI_NONE);
    output(&f, bad);
    CHECK_EQ(f.g->n_outputs, 0);
    CHECK_HAS(err.text, "[4, 7]");
    CHECK_EQ(bi_graph_verify(f.g, &err), BIOINFER_INTERNAL);
    bi_graph_free(&f.g);
    CHECK(f.g == NULL);
    bi_graph_free(&f.g);
}

static void builders_refuse_shapes(void)
{
    static const struct {
        int which;
        const char *text;
    } cases[] = {{0, "layernorm"}, {1, "add"},
                 {2, "rope"},      {3, "scores"},
                 {4, "softmax"},   {5, "embedding"},
                 {6, "missing"},   {7, "scale_rows"},
                 {8, "contacts"},  {9, "select_rows"},
                 {10, "columns"},  {11, "columns"},
                 {12, "rope"},     {13, "mean_pool"},
                 {14, "mix"},      {15, "columns: attributes of windows"}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct fix f;
        struct bioinfer_error err = {0};
        bi_value_id x, y, maps;
        fix_open(&f);
        x = embedding(&f, 8);
        y = linear(&f, x, 6);
        maps = bi_scores(f.g, x, x, f.start, 2);
        CHECK_EQ(bi_graph_status(f.g, NULL), 0);
        switch (cases[i].which) {
            /* clang-format off */
        case 0: bi_layernorm(f.g, x, weight(&f, 1, 8, 1, 1), weight(&f, 1, 7, 1, 0), 1); break;
        case 1: bi_add(f.g, x, y); break;
        case 2: bi_rope(f.g, x, weight(&f, 2, 5, 6, 0), f.start, 2); break;
        case 3: bi_scores(f.g, x, y, f.start, 2); break;
        case 4: bi_softmax(f.g, x, f.start); break;
        case 5: bi_embedding(f.g, weight(&f, 2, V, 8, 0), f.scale); break;
        case 6: bi_matmul(f.g, x, BI_NONE); break;
        case 7: bi_scale_rows(f.g, x, f.rows); break;
        case 8: bi_contacts(f.g, maps, weight(&f, 1, 3, 1, 0), f.start, BI_NONE, 1, 1); break;
        case 9: bi_select_rows(f.g, x, f.scale); break;
        case 10: bi_node_add(f.g, BI_OP_COLUMNS, &x, 1, BI_ATTRS(columns, .first = 5, .n = 4));
            break;
        case 11: bi_node_add(f.g, BI_OP_COLUMNS, &x, 1, BI_ATTRS(columns, .first = -1, .n = 4));
            break;
        case 12: bi_rope(f.g, linear(&f, x, 6), weight(&f, 2, 5, 3, 0), f.start, 2); break;
        case 13: bi_mean_pool(f.g, x, f.rows, 1, 1); break;
        case 14: bi_mix(f.g, maps, y, f.rows); break;
        default: bi_node_add(f.g, BI_OP_COLUMNS, &x, 1, BI_ATTRS(windows, .taps = 1)); break;
            /* clang-format on */
        }
        if (!CHECK_EQ(bi_graph_status(f.g, &err), BIOINFER_INTERNAL) ||
            !CHECK_HAS(err.text, cases[i].text))
            fprintf(stderr, "    case %d\n", cases[i].which);
        bi_graph_free(&f.g);
    }
}

/* A sound graph, then one thing wrong in it. */
static void verifier_rejects(void)
{
    enum {
        GOOD,
        CYCLE,
        LATER,
        SHAPE,
        RANK,
        DTYPE,
        AXIS,
        MISSING,
        FOREIGN,
        SLOT,
        IN_BIG,
        IN_NEGATIVE,
        OUT_BIG,
        OUT_INPUT,
        EXTRA,
        RESULT_BIG,
        RESULT_NONE,
        OP_BIG,
        DEAD,
        RESULT_DEAD,
        CASES
    };
    for (int i = 0; i < CASES; i++) {
        struct fix f;
        struct bioinfer_error err = {0};
        struct bi_node *n, swap;
        bi_value_id x, y, z;
        int st;
        fix_open(&f);
        x = embedding(&f, 8);
        y = bi_gelu(f.g, x);
        z = bi_add(f.g, y, x);
        output(&f, z);
        CHECK_EQ(bi_graph_verify(f.g, &err), 0);
        n = f.g->nodes; /* 0 embedding, 1 gelu, 2 add */
        switch (i) {
        case CYCLE:
            n[1].in[0] = z;
            break;
        case LATER:
            swap = n[1];
            n[1] = n[2];
            n[2] = swap;
            break;
            /* clang-format off */
        case SHAPE: f.g->values[y].shape[1] = 9; break;
        case RANK: f.g->values[z].rank = 3; break;
        case DTYPE: f.g->values[z].dtype = BI_I32; break;
        case AXIS: f.g->values[z].axis = BI_AXIS_SEQS; break;
        case MISSING: n[2].in[1] = BI_NONE; break;
        case FOREIGN: n[1].out[0] = x; break;
        case SLOT: f.g->values[y].slot = 1; break;
        case IN_BIG: n[1].in[0] = 1 << 20; break;
        case IN_NEGATIVE: n[1].in[0] = -7; break;
        case OUT_BIG: n[1].out[0] = 1 << 20; break;
        case OUT_INPUT: n[1].out[0] = f.ids; break;
        case EXTRA: n[1].in[4] = x; break; /* gelu has one input */
        case RESULT_BIG: f.g->outputs[0].value = 1 << 20; break;
        case RESULT_NONE: f.g->outputs[0].value = BI_NONE; break;
        case OP_BIG: n[1].op = BI_OP_COUNT; break;
        case DEAD: /* the producer is gone */
            n[0] = n[1];
            n[0].in[0] = x;
            n[1] = n[2];
            f.g->values[y].node = 0;
            f.g->values[z].node = 1;
            f.g->n_nodes = 2;
            f.g->values[x].node = BI_NONE;
            break;
        case RESULT_DEAD: f.g->n_nodes = 2; break;
        default: break;
            /* clang-format on */
        }
        st = bi_graph_verify(f.g, &err);
        if (!(i == GOOD ? CHECK_EQ(st, 0) : CHECK_EQ(st, BIOINFER_INTERNAL)))
            fprintf(stderr, "    case %d\n", i);
        if (i != GOOD) { /* nothing may be done with it: an error again, not a crash */
            CHECK(err.text[0]);
            CHECK_EQ(bi_rules_apply(f.g, NULL, NULL, NULL, NULL), BIOINFER_INTERNAL);
        }
        bi_graph_free(&f.g);
    }
}

static void sort_finds_cycles(void)
{
    struct fix f;
    struct bioinfer_error err = {0};
    bi_value_id x, y, z;
    fix_open(&f);
    x = embedding(&f, 8);
    y = bi_gelu(f.g, x);
    z = bi_add(f.g, y, x);
    f.g->nodes[1].in[0] = z;
    CHECK_EQ(bi_graph_sort(f.g, &err), BIOINFER_INTERNAL);
    CHECK_HAS(err.text, "waits for itself");
    f.g->nodes[1].in[0] = x;
    struct bi_node first = f.g->nodes[0]; /* last node first */
    f.g->nodes[0] = f.g->nodes[2];
    f.g->nodes[2] = first;
    CHECK_EQ(bi_graph_sort(f.g, &err), 0);
    CHECK_EQ(f.g->nodes[0].op, BI_OP_EMBEDDING);
    CHECK_EQ(f.g->nodes[1].op, BI_OP_GELU);
    CHECK_EQ(f.g->nodes[2].op, BI_OP_ADD);
    CHECK_EQ(bi_graph_verify(f.g, &err), 0);
    bi_graph_free(&f.g);
}

static void dead_code_goes(void)
{
    struct fix f;
    bi_value_id x, y;
    fix_open(&f);
    x = embedding(&f, 8);
    y = bi_gelu(f.g, x);
    bi_sigmoid(f.g, bi_scale(f.g, y, 2)); /* nobody asks for it */
    output(&f, y);
    CHECK_EQ(f.g->n_nodes, 4);
    CHECK_EQ(bi_graph_dce(f.g), 2);
    CHECK_EQ(f.g->n_nodes, 2);
    CHECK_EQ(f.g->values[y].n_uses, 1);
    CHECK_EQ(f.g->values[x].n_uses, 1);
    CHECK_EQ(bi_graph_verify(f.g, NULL), 0);
    CHECK_EQ(bi_graph_dce(f.g), 0);
    bi_graph_free(&f.g);
}

static void one_value_for_one_weight(void)
{
    struct fix f;
    bi_value_id a, b, c;
    fix_open(&f);
    a = bi_weight(f.g, 5, "e", 2, (int64_t[]){V, 8});
    b = bi_weight(f.g, 6, "f", 2, (int64_t[]){V, 8});
    c = bi_weight(f.g, 5, "e", 2, (int64_t[]){V, 8});
    CHECK(a == c && a != b);
    bi_graph_free(&f.g);
}

/* ---- memory plan ---- */

static void memory_is_reused(void)
{
    struct fix f;
    struct bi_memory_plan plan = {0};
    bi_value_id x;
    fix_open(&f);
    x = embedding(&f, 64);
    for (int i = 0; i < 10; i++)
        x = bi_gelu(f.g, x);
    output(&f, bi_scale(f.g, x, 2));
    finish(&f);
    CHECK_EQ(bi_memory_plan(&plan, f.g, NULL), 0);
    CHECK(bi_memory_plan_check(&plan, f.g));
    CHECK_EQ(plan.unshared_size, 11 * 2816);  /* T * 64 floats are whole lines */
    CHECK_EQ(plan.activation_size, 2 * 2816); /* two in turn */
    CHECK_EQ(plan.output_size, 2816);
    CHECK_EQ(plan.input_size, 2 * BI_ALIGN); /* counts and ids */
    bi_memory_plan_free(&plan);
    bi_graph_free(&f.g);
}

static void views_have_no_memory(void)
{
    struct fix f;
    struct bi_memory_plan plan = {0};
    bi_value_id x, view, view2, last;
    fix_open(&f);
    x = bi_gelu(f.g, embedding(&f, 24));
    view = bi_node_add(f.g, BI_OP_COLUMNS, &x, 1, BI_ATTRS(columns, .first = 8, .n = 12));
    view2 = bi_node_add(f.g, BI_OP_COLUMNS, &view, 1, BI_ATTRS(columns, .first = 4, .n = 8));
    last = bi_gelu(f.g, bi_scale(f.g, bi_scale(f.g, view2, 2), 3));
    output(&f, bi_add(f.g, last, view2)); /* the base lives until here */
    finish(&f);
    CHECK_EQ(bi_memory_plan(&plan, f.g, NULL), 0);
    CHECK_EQ(plan.slots[view2].base, x);
    CHECK_EQ(plan.slots[view2].ld, 24);
    CHECK_EQ(plan.slots[view2].offset - plan.slots[x].offset, 12 * sizeof(float));
    CHECK_EQ(plan.slots[x].dies, (int32_t)f.g->n_nodes - 1);
    CHECK(exec_plan_sound(f.g, &plan));
    bi_memory_plan_free(&plan);
    bi_graph_free(&f.g);
}

static void plan_check_sees_overlap(void)
{
    struct fix f;
    struct bi_memory_plan plan = {0};
    bi_value_id x, y;
    fix_open(&f);
    x = embedding(&f, 8);
    y = bi_gelu(f.g, x);
    output(&f, bi_add(f.g, x, y));
    finish(&f);
    CHECK_EQ(bi_memory_plan(&plan, f.g, NULL), 0);
    CHECK(bi_memory_plan_check(&plan, f.g) && exec_plan_sound(f.g, &plan));
    plan.slots[y].offset = plan.slots[x].offset;
    CHECK(!bi_memory_plan_check(&plan, f.g));
    CHECK(!exec_plan_sound(f.g, &plan));
    bi_memory_plan_free(&plan);
    bi_graph_free(&f.g);
}

static void plan_refuses_outputs_without_memory(void)
{
    for (int i = 0; i < 3; i++) {
        struct fix f;
        struct bi_memory_plan plan = {0};
        struct bioinfer_error err = {0};
        bi_value_id x;
        fix_open(&f);
        x = embedding(&f, 8);
        output(&f, i == 0   ? f.scale
                   : i == 1 ? f.g->nodes[0].in[0]
                            : bi_node_add(f.g, BI_OP_COLUMNS, &x, 1, BI_ATTRS(columns, .n = 4)));
        finish(&f);
        CHECK_EQ(bi_memory_plan(&plan, f.g, &err), BIOINFER_INTERNAL);
        CHECK_HAS(err.text, "not a value of its own");
        CHECK(plan.slots == NULL);
        bi_memory_plan_free(&plan);
        bi_graph_free(&f.g);
    }
}

int main(void)
{
    env = bi_env_default();
    TEST(builders_keep_the_first_error);
    TEST(builders_refuse_shapes);
    TEST(verifier_rejects);
    TEST(sort_finds_cycles);
    TEST(dead_code_goes);
    TEST(one_value_for_one_weight);
    TEST(memory_is_reused);
    TEST(views_have_no_memory);
    TEST(plan_check_sees_overlap);
    TEST(plan_refuses_outputs_without_memory);
    return test_report();
}

/* rows_test.c - rules and lowering where the target lacks kernels (graph/target.c): a rewrite that
 * makes a node without a kernel is taken back, and such a node stays in float32. */
#define _POSIX_C_SOURCE 200809L
#include "graph_fix.h"

#include "../../engine/gpu.h"
#include "../../kernels/cpu/cpu.h"

/* A target that has kernels for all ops but one, which `device` points to. */
static bool all_but(const void *device, const struct bi_launch *launch)
{
    return launch->op != device;
}

/* Is every address of the launch of a linear aligned, as those of a plan are? */
static bool aligned(const void *device, const struct bi_launch *launch)
{
    const struct bi_linear_params *p = (const void *)launch->params;
    (void)device;
    if (launch->op == &bi_op_linear)
        CHECK(p->x && p->w && p->y && (uintptr_t)p->x % 64 == 0 && (uintptr_t)p->y % 64 == 0 &&
              p->ldx == p->k && p->ldy == p->n);
    return true;
}

/* Attention, norms of a sum that is read on, and a pooled norm. */
static void g_layer(struct fix *f)
{
    bi_value_id x = embedding(f, 8), y;
    output(f, bi_mean_pool(f->g, norm(f, x), f->start, 1, 1));
    y = attention(f, linear(f, x, 16), linear(f, x, 16), linear(f, x, 16));
    x = bi_add(f->g, x, bi_sigmoid(f->g, linear(f, y, 8)));
    output(f, norm(f, x));
    y = linear(f, bi_gelu(f->g, linear(f, norm(f, x), 16)), 8);
    output(f, norm(f, bi_add(f->g, x, y)));
}

static void taken_back(void)
{
    static const struct {
        enum bi_op_kind op;
        const char *rule; /* that does not fire then; NULL: all do */
    } cases[] = {{BI_OP_COUNT, NULL},
                 {BI_OP_ATTENTION, "attention"},
                 {BI_OP_ADD_LAYERNORM, "add_layernorm"},
                 {BI_OP_NORM_POOL, "norm_pool"},
                 {BI_OP_LINEAR, "linear"}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        const bool all = cases[i].op == BI_OP_COUNT;
        struct bi_target target = {.operands = BI_F32,
                                   .takes = all ? aligned : all_but,
                                   .device = all ? NULL : bi_ops[cases[i].op]};
        struct bi_rule_trace trace = {{0}, NULL};
        struct fix plain, fused;
        fix_open(&plain);
        g_layer(&plain);
        finish(&plain);
        fix_open(&fused);
        g_layer(&fused);
        finish(&fused);
        CHECK_EQ(bi_rules_apply(fused.g, &target, NULL, &trace, NULL), 0);
        CHECK(all || !count_op(fused.g, cases[i].op));
        for (int r = 0; bi_rule_name(r); r++) {
            if (cases[i].rule && !strcmp(bi_rule_name(r), cases[i].rule))
                CHECK_EQ(trace.fired[r], 0);
            if (all &&
                (!strcmp(bi_rule_name(r), "attention") || !strcmp(bi_rule_name(r), "norm_pool") ||
                 !strcmp(bi_rule_name(r), "add_layernorm")))
                CHECK(trace.fired[r] > 0);
        }
        CHECK(compare(&plain, &fused) <= 1e-6);
        bi_graph_free(&plain.g);
        bi_graph_free(&fused.g);
    }
}

/* The rows of GPUs: `device` is the facts of one. */
static bool gpu_takes(const void *device, const struct bi_launch *launch)
{
    return bi_gpu_entry_of(device, launch) != NULL;
}

/* Attention whose heads, two of the width, no kernel for float16 may take. */
static void lowered_where_taken(void)
{
    static const struct bi_gpu_facts facts = {.n_units = 108};
    static const struct {
        int width;
        enum bi_dtype dtype;
    } cases[] = {{64, BI_F16}, {128, BI_F16}, {136, BI_F32}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        const struct bi_target target = {BI_TARGET_GPU | BI_TARGET_MATRIX, BI_F16, 16, gpu_takes,
                                         &facts};
        const int64_t n = 2 * cases[i].width;
        struct fix f;
        bi_value_id x;
        fix_open(&f);
        x = norm(&f, embedding(&f, 8));
        x = attention(&f, linear(&f, x, n), linear(&f, x, n), linear(&f, x, n));
        output(&f, linear(&f, x, 8));
        finish(&f);
        CHECK_EQ(bi_rules_apply(f.g, &target, NULL, NULL, NULL), 0);
        CHECK_EQ(count_op(f.g, BI_OP_ATTENTION), 1);
        for (size_t k = 0; k < f.g->n_nodes; k++) {
            const struct bi_node *node = &f.g->nodes[k];
            if (node->op == BI_OP_ATTENTION)
                CHECK_EQ(f.g->values[node->in[0]].dtype, cases[i].dtype);
            CHECK(bi_target_takes(&target, f.g, node));
        }
        bi_graph_free(&f.g);
    }
}

/* Launches of a linear for which the CPU has no kernel are refused. */
static void cpu_rows(void)
{
    const struct bi_cpu_kernels *k;
    for (int i = 0; (k = bi_cpu_kernels_usable(i)); i++) {
        float room[1] = {0};
        struct bi_linear_params p = {.x = room, .w = room, .y = room, .n = 1, .k = 1};
        struct bi_call call = {.params = &p};
        const struct bi_cpu_entry *e = bi_cpu_find_entry(k, "linear", &call);
        CHECK(e && e == bi_cpu_find_entry(k, "linear", NULL));
        p.gated = (int32_t)k->panel() / 2;
        CHECK(bi_cpu_find_entry(k, "linear", &call) == e);
        p.gated++;
        CHECK(!bi_cpu_find_entry(k, "linear", &call));
        p.gated = 0;
        p.also = room;
        CHECK(!bi_cpu_find_entry(k, "linear", &call));
        p.also = NULL;
        call.half_in = 1;
        CHECK(!bi_cpu_find_entry(k, "linear", &call));
        CHECK(!bi_cpu_find_entry(k, "attention", &call));
        CHECK(!bi_cpu_find_entry(k, "no such kernel", NULL));
    }
}

int main(void)
{
    env = bi_env_default();
    TEST(taken_back);
    TEST(lowered_where_taken);
    TEST(cpu_rows);
    return test_report();
}

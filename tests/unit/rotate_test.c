/* rotate_test.c - queries and keys rotated before attention (graph/rules/rotate.c). */
#define _POSIX_C_SOURCE 200809L
#include "graph_fix.h"

/* Attention and a contact map over rotated queries and keys of 2 heads of 16. */
static void g_rotated(struct fix *f)
{
    bi_value_id x = embedding(f, 8), t = table(f, 16), q = linear(f, x, 32), k = linear(f, x, 32);
    q = bi_rope(f->g, q, t, f->start, 2);
    k = bi_rope(f->g, k, t, f->start, 2);
    output(f, attention(f, q, k, linear(f, x, 32)));
    output(f, bi_contacts(f->g, maps(f, q, k), weight(f, 1, 2, 1, 0), f->start, BI_NONE, 1, 1));
}

static void g_rotated_seen(struct fix *f) /* the keys leave the graph as they were */
{
    bi_value_id x = embedding(f, 8), t = table(f, 16), k = linear(f, x, 32);
    output(f, attention(f, bi_rope(f->g, linear(f, x, 32), t, f->start, 2),
                        bi_rope(f->g, k, t, f->start, 2), linear(f, x, 32)));
    output(f, k);
}

static bi_value_id unbiased(struct fix *f, bi_value_id x, int64_t n)
{
    return bi_matmul(f->g, x, weight(f, 2, n, f->g->values[x].shape[1], 0));
}

/* Queries and keys with norms over all heads: rotated by the norm, whatever the device. */
static void g_normed(struct fix *f)
{
    bi_value_id x = embedding(f, 8), t = table(f, 16), q = unbiased(f, x, 32),
                k = unbiased(f, x, 32);
    q = bi_layernorm(f->g, q, weight(f, 1, 32, 1, 0), BI_NONE, 1e-5f);
    k = bi_layernorm(f->g, k, weight(f, 1, 32, 1, 0), BI_NONE, 1e-5f);
    output(f, attention(f, bi_rope(f->g, q, t, f->start, 2), bi_rope(f->g, k, t, f->start, 2),
                        unbiased(f, x, 32)));
}

/* Rotates early, on a device whose linear rotates, too, or whose norm alone does. */
static int rotate_on(struct bi_graph *g, enum bi_dtype operands, bool linear)
{
    const struct bi_target target = {.traits = BI_TARGET_MATRIX | (linear ? BI_TARGET_ROTATES : 0),
                                     .operands = operands};
    return bi_rules_phase(g, BI_RULE_TARGET, &target, NULL, NULL, NULL);
}

static void rotates_norms(void)
{
    for (int all = 0; all < 2; all++) {
        struct fix plain, early;
        int n_norms = 0;
        fix_open(&plain);
        g_normed(&plain);
        finish(&plain);
        fix_open(&early);
        g_normed(&early);
        finish(&early);
        CHECK_EQ(bi_rules_apply(early.g, NULL, NULL, NULL, NULL), 0);
        CHECK_EQ(rotate_on(early.g, BI_F32, all), 0);
        CHECK_EQ(bi_graph_verify(early.g, NULL), 0);
        for (size_t k = 0; k < early.g->n_nodes; k++) {
            const struct bi_node *n = &early.g->nodes[k];
            n_norms += n->op == BI_OP_LAYERNORM && n->in[3] != BI_NONE;
            CHECK(n->op != BI_OP_ATTENTION || n->in[4] == BI_NONE);
        }
        CHECK_EQ(n_norms, 1);
        CHECK_EQ(count_op(early.g, BI_OP_ROPE), 0);
        CHECK(compare(&plain, &early) <= 1e-6);
        bi_graph_free(&plain.g);
        bi_graph_free(&early.g);
    }
}

static void rotates_early(void)
{
    static const struct {
        builder build;
        const char *skip;
        int columns, n_ropes, n_tables; /* rotated by the linear; ropes; attention with a table */
    } cases[] = {{g_rotated, NULL, 64, 0, 0},
                 {g_rotated, "qkv_stack", 0, 2, 0},
                 {g_rotated_seen, NULL, 0, 0, 1}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        struct fix plain, early;
        int columns = 0, n_tables = 0;
        fix_open(&plain);
        cases[i].build(&plain);
        finish(&plain);
        fix_open(&early);
        cases[i].build(&early);
        finish(&early);
        CHECK_EQ(bi_rules_apply(early.g, NULL, cases[i].skip, NULL, NULL), 0);
        CHECK_EQ(rotate_on(early.g, BI_F16, true), 0); /* not of this type */
        CHECK_EQ(count_op(early.g, BI_OP_ROPE), 0);
        CHECK_EQ(rotate_on(early.g, BI_F32, false), 0); /* no norm */
        CHECK_EQ(count_op(early.g, BI_OP_ROPE), 0);
        CHECK_EQ(rotate_on(early.g, BI_F32, true), 0);
        CHECK_EQ(bi_graph_verify(early.g, NULL), 0);
        for (size_t k = 0; k < early.g->n_nodes; k++) {
            const struct bi_node *n = &early.g->nodes[k];
            columns += n->op == BI_OP_LINEAR ? BI_ATTR(n, linear)->n_rotated : 0;
            n_tables += (n->op == BI_OP_ATTENTION || n->op == BI_OP_ATTENTION_CONTACTS) &&
                        n->in[4] != BI_NONE;
        }
        CHECK_EQ(columns, cases[i].columns);
        CHECK_EQ(count_op(early.g, BI_OP_ROPE), cases[i].n_ropes);
        CHECK_EQ(n_tables, cases[i].n_tables);
        CHECK(compare(&plain, &early) <= 1e-6);
        bi_graph_free(&plain.g);
        bi_graph_free(&early.g);
    }
}

int main(void)
{
    env = bi_env_default();
    TEST(rotates_early);
    TEST(rotates_norms);
    return test_report();
}

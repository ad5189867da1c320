/* graph_test.c - the rules of the graph.
 *
 * Sections: each rule, skipping rules, random graphs. */
#define _POSIX_C_SOURCE 200809L
#include "graph_fix.h"

#include "../../kernels/linear.h"

static int rule_index(const char *name)
{
    for (int i = 0; bi_rule_name(i); i++)
        if (!strcmp(bi_rule_name(i), name))
            return i;
    return -1;
}

/* Rules of GPUs for ops that no random graph has. */
static bool of_gpus(const char *rule)
{
    return !strcmp(rule, "linear_silu_pair") || !strcmp(rule, "linear_silu_slope") ||
           !strcmp(rule, "multiquery_rope");
}

/* `rule` fires `times` on the graph and leaves the outputs as they were. */
static void check_rule(builder build, const char *rule, int times, const char *skip)
{
    struct fix plain, fused;
    struct bi_rule_trace trace = {{0}, NULL};
    struct bioinfer_error err = {0};
    const struct bi_target gpu = {.traits = BI_TARGET_GPU};
    double difference;
    fix_open(&plain);
    build(&plain);
    finish(&plain);
    fix_open(&fused);
    build(&fused);
    finish(&fused);
    if (!CHECK_EQ(bi_rules_apply(fused.g, of_gpus(rule) ? &gpu : NULL, skip, &trace, &err), 0))
        fprintf(stderr, "    %s: %s\n", rule, err.text);
    CHECK(rule_index(rule) >= 0);
    if (!CHECK_EQ(trace.fired[rule_index(rule)], times))
        fprintf(stderr, "    %s\n", rule);
    difference = compare(&plain, &fused);
    if (!CHECK(difference <= 1e-6))
        fprintf(stderr, "    %s: difference %g\n", rule, difference);
    bi_graph_free(&plain.g);
    bi_graph_free(&fused.g);
}

/* ---- each rule ---- */

static void g_embedding_scale(struct fix *f)
{
    output(f, bi_scale_rows(f->g, embedding(f, 8), f->scale));
}

static void g_linear(struct fix *f)
{
    output(f, linear(f, embedding(f, 8), 5));
}

static void g_linear_gelu(struct fix *f)
{
    output(f, bi_gelu(f->g, linear(f, embedding(f, 8), 5)));
}

static bi_value_id product(struct fix *f, bi_value_id x, int64_t n)
{
    int64_t k = x == BI_NONE ? 1 : f->g->values[x].shape[1];
    return bi_matmul(f->g, x, weight(f, 2, n, k, 0));
}

static void g_linear_unbiased(struct fix *f)
{
    bi_value_id x = embedding(f, 8);
    output(f, bi_gelu(f->g, product(f, x, 5)));
    output(f, bi_add(f->g, product(f, x, 8), x));
}

static void g_linear_silu(struct fix *f)
{
    output(f, bi_silu(f->g, linear(f, embedding(f, 8), 5)));
    output(f, bi_silu(f->g, product(f, embedding(f, 8), 5)));
}

static void g_linear_silu_pair(struct fix *f)
{
    bi_value_id x = embedding(f, 8), z = linear(f, x, 5);
    output(f, bi_silu(f->g, z));
    output(f, bi_silu_grad(f->g, z, linear(f, x, 5)));
}

static void g_linear_silu_slope(struct fix *f)
{
    bi_value_id x = embedding(f, 8);
    output(f, bi_silu_grad(f->g, linear(f, x, 5), product(f, x, 5)));
    output(f, bi_silu_grad(f->g, product(f, x, 5), linear(f, x, 5))); /* it has a bias: stays */
}

static void g_linear_gelu_tanh(struct fix *f)
{
    bi_value_id x = linear(f, embedding(f, 8), 5);
    output(f, bi_norm_act(f->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_TANH_GELU, 0));
}

static void g_linear_gated(struct fix *f)
{
    bi_value_id x = embedding(f, 8);
    output(f, bi_mul(f->g, bi_silu(f->g, product(f, x, 16)), product(f, x, 16)));
    output(f, bi_mul(f->g, product(f, x, 32), bi_gelu(f->g, product(f, x, 32))));
}

static void n_gated_odd(struct fix *f) /* 24 rows are no whole blocks */
{
    bi_value_id x = embedding(f, 8);
    output(f, bi_mul(f->g, bi_silu(f->g, product(f, x, 24)), product(f, x, 24)));
}

static void n_gated_plain(struct fix *f) /* neither has an activation, another x, a bias */
{
    bi_value_id x = embedding(f, 8), y = bi_sigmoid(f->g, x);
    output(f, bi_mul(f->g, product(f, x, 16), product(f, x, 16)));
    output(f, bi_mul(f->g, bi_silu(f->g, product(f, x, 16)), product(f, y, 16)));
    output(f, bi_mul(f->g, bi_silu(f->g, linear(f, x, 16)), product(f, x, 16)));
}

static void n_unbiased_biased(struct fix *f) /* the bias comes next */
{
    output(f, linear(f, embedding(f, 8), 5));
}

static void g_linear_residual(struct fix *f)
{
    bi_value_id x = embedding(f, 8);
    output(f, bi_add(f->g, linear(f, x, 8), x));
    output(f, bi_add(f->g, x, linear(f, x, 8))); /* either order */
}

static void g_attention(struct fix *f)
{
    bi_value_id x = embedding(f, 8);
    output(f, attention(f, bi_gelu(f->g, x), x, bi_sigmoid(f->g, x)));
}

static void g_attention_bias(struct fix *f)
{
    bi_value_id x = embedding(f, 8), s = bi_scores(f->g, bi_gelu(f->g, x), x, f->start, 2);
    s = bi_relative_bias(f->g, s, weight(f, 2, 2, 5, 0), f->start);
    output(f, bi_mix(f->g, bi_softmax(f->g, s, f->start), x, f->start));
}

enum { PAIRS = 50 }; /* the bucket */

/* Scores of tokens plus a bias by their pairs, which is made of x. */
static bi_value_id pair_bias(struct fix *f, bi_value_id scores, bi_value_id x, int heads)
{
    const bi_value_id grids = bi_input(f->g, "grid_start", BI_I32, BI_AXIS_SEQS, B + 2);
    f->g->n_grid = PAIRS;
    x = bi_outer_add(f->g, BI_NONE, x, x, f->start, grids);
    return bi_grid_bias(f->g, scores, product(f, x, heads), f->start, grids);
}

/* Attention of tokens with a bias by pairs, and of the rows of grids. */
static void g_attention_grid(struct fix *f)
{
    struct bi_graph *g = f->g;
    g->n_grid = PAIRS;
    const bi_value_id rows = bi_input(g, "row_start", BI_I32, BI_AXIS_TOKENS, T + 1);
    const bi_value_id grids = bi_input(g, "grid_start", BI_I32, BI_AXIS_SEQS, B + 2);
    const bi_value_id x = embedding(f, 8), z = bi_outer_add(g, BI_NONE, x, x, f->start, grids);
    const bi_value_id turned = bi_turn(g, z, grids), bias = product(f, z, 2);
    bi_value_id s = bi_scores(g, bi_gelu(g, x), x, f->start, 2);
    s = bi_softmax(g, bi_grid_bias(g, s, bias, f->start, grids), f->start);
    output(f, bi_mix(g, s, x, f->start));
    s = bi_grid_bias(g, bi_scores(g, turned, z, rows, 2), product(f, z, 2), rows, grids);
    output(f, bi_mix(g, bi_softmax(g, s, rows), bi_triangle(g, z, turned, grids, true), rows));
}

static bi_value_id norm_of(struct fix *f, bi_value_id x)
{
    return bi_layernorm(f->g, x, weight(f, 1, f->g->values[x].shape[1], 1, 1), BI_NONE, 1e-5f);
}

static void g_qk_norm_stack(struct fix *f)
{
    bi_value_id x = embedding(f, 6), t = table(f, 4);
    bi_value_id q = norm_of(f, product(f, x, 8)), k = norm_of(f, product(f, x, 8));
    output(f, attention(f, bi_rope(f->g, bi_scale(f->g, q, 0.5f), t, f->start, 2),
                        bi_rope(f->g, k, t, f->start, 2), product(f, x, 8)));
    q = norm_of(f, linear(f, x, 8));
    k = norm_of(f, linear(f, x, 8));
    output(f, attention(f, q, k, linear(f, x, 8)));
}

static void n_qk_norm_one(struct fix *f) /* keys go as they are */
{
    bi_value_id x = embedding(f, 6), q = norm_of(f, product(f, x, 8));
    output(f, attention(f, q, product(f, x, 8), product(f, x, 8)));
}

static void g_attention_rope(struct fix *f)
{
    bi_value_id x = embedding(f, 8), t = table(f, 4), y = bi_gelu(f->g, x);
    output(f, attention(f, bi_rope(f->g, y, t, f->start, 2), bi_rope(f->g, x, t, f->start, 2), x));
}

static void g_attention_scale(struct fix *f)
{
    bi_value_id x = embedding(f, 8), t = table(f, 4);
    output(f, attention(f, bi_scale(f->g, x, 0.35f), x, x));
    output(f, attention(f, bi_rope(f->g, bi_scale(f->g, x, 0.5f), t, f->start, 2),
                        bi_rope(f->g, x, t, f->start, 2), x));
}

static void g_attention_contacts(struct fix *f)
{
    bi_value_id x = embedding(f, 8), m = maps(f, bi_gelu(f->g, x), x), c;
    c = bi_contacts(f->g, m, weight(f, 1, 2, 1, 0), f->start, BI_NONE, 1, 1);
    m = maps(f, x, x);
    output(f, bi_contacts(f->g, m, weight(f, 1, 2, 1, 0), f->start, c, 1, 1));
    output(f, bi_mix(f->g, m, x, f->start));
}

static void g_contacts_rope(struct fix *f)
{
    bi_value_id x = embedding(f, 8), t = table(f, 4), y = bi_gelu(f->g, x);
    output(f, bi_contacts(
                  f->g, maps(f, bi_rope(f->g, y, t, f->start, 2), bi_rope(f->g, x, t, f->start, 2)),
                  weight(f, 1, 2, 1, 0), f->start, BI_NONE, 0, 1));
}

static void g_contacts_scale(struct fix *f)
{
    bi_value_id x = embedding(f, 8);
    output(f, bi_contacts(f->g, maps(f, bi_scale(f->g, x, 1.5f), x), weight(f, 1, 2, 1, 0),
                          f->start, BI_NONE, 1, 0));
}

static void g_qkv_stack(struct fix *f)
{
    bi_value_id x = embedding(f, 6), q = linear(f, x, 8), k = linear(f, x, 8);
    output(f, attention(f, q, k, linear(f, x, 8)));
    output(f, bi_gelu(f->g, bi_add(f->g, q, k))); /* other uses move over, too */
}

static void g_norm_pool(struct fix *f)
{
    output(f, bi_mean_pool(f->g, norm(f, embedding(f, 8)), f->start, 1, 1));
}

static void g_norm_pool_unbiased(struct fix *f)
{
    output(f, bi_mean_pool(f->g, norm_of(f, embedding(f, 8)), f->start, 1, 1));
}

static void g_rmsnorm_offset(struct fix *f)
{
    bi_value_id x = embedding(f, 8);
    output(f,
           bi_add(f->g, bi_rmsnorm(f->g, x, weight(f, 1, 8, 1, 1), 1e-6f), weight(f, 1, 8, 1, 0)));
    output(f, bi_add(f->g, bi_rmsnorm(f->g, x, weight(f, 1, 8, 1, 1), 1e-6f), x)); /* stays */
}

static void g_rmsnorm_pool(struct fix *f)
{
    bi_value_id x = embedding(f, 8);
    output(f,
           bi_mean_pool(f->g, bi_rmsnorm(f->g, x, weight(f, 1, 8, 1, 1), 1e-6f), f->start, 0, 1));
}

static void g_add_layernorm(struct fix *f)
{
    bi_value_id x = embedding(f, 8), s = bi_add(f->g, x, bi_gelu(f->g, x));
    output(f, norm(f, s));
    output(f, bi_scale(f->g, s, 2)); /* the stream goes on */
}

/* Nobody but the norm takes the sum. */
static void g_add_layernorm_alone(struct fix *f)
{
    bi_value_id x = embedding(f, 8), y = bi_sigmoid(f->g, x);
    bi_value_id n = norm(f, bi_add(f->g, x, bi_gelu(f->g, x)));
    output(f, bi_add(f->g, n, bi_scale(f->g, y, 3)));
}

/* Rows of a fixed number, as models over windows of positions have. */
static bi_value_id fixed_rows(struct fix *f, int64_t rows, int64_t n)
{
    return bi_norm_act(f->g, weight(f, 2, rows, n, 0), weight(f, 1, n, 1, 1), weight(f, 1, n, 1, 0),
                       BI_NORM_ACT_QUICK_GELU, 0);
}

static void g_linear_relu(struct fix *f)
{
    bi_value_id x = linear(f, embedding(f, 8), 5);
    output(f, bi_norm_act(f->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 0));
}

/* A convolution of five taps over nine bases. */
static bi_value_id base_convolution(struct fix *f, int pad, int first, int act)
{
    bi_value_id bases = bi_input(f->g, "bases", BI_I32, BI_AXIS_FIXED, 9);
    bi_value_id x = bi_embedding(f->g, weight(f, 2, V, 3, 0), bases);
    x = bi_norm_act(f->g, x, BI_NONE, BI_NONE, act, pad);
    return linear(f, bi_windows(f->g, x, first, 5 + 2 * pad - first, 5), 4);
}

static void g_embedding_windows(struct fix *f)
{
    output(f, base_convolution(f, 2, 0, BI_NORM_ACT_NONE));
    output(f, base_convolution(f, 1, 0, BI_NORM_ACT_NONE)); /* fewer than before */
}

static void n_windows_later(struct fix *f)
{
    output(f, base_convolution(f, 2, 1, BI_NORM_ACT_NONE));
}

static void n_windows_act(struct fix *f)
{
    output(f, base_convolution(f, 2, 0, BI_NORM_ACT_SOFTPLUS));
}

static bi_value_id attention_pool(struct fix *f, bi_value_id x)
{
    int64_t n = x == BI_NONE ? 1 : f->g->values[x].shape[1];
    return bi_pair_pool(f->g, x, bi_matmul(f->g, x, weight(f, 2, n, n, 0)));
}

static void g_half_pool(struct fix *f)
{
    output(f, attention_pool(f, attention_pool(f, fixed_rows(f, 12, 6))));
}

/* Queries of the tokens from `first` on. */
static bi_value_id rel_attention(struct fix *f, bi_value_id x, int64_t n, int first)
{
    bi_value_id h = norm(f, x), q = first ? bi_windows(f->g, h, first, n - first, 1) : h, in[6];
    int64_t d = x == BI_NONE ? 1 : f->g->values[x].shape[1];
    in[0] = bi_matmul(f->g, q, weight(f, 2, 8, d, 0));
    in[1] = bi_matmul(f->g, h, weight(f, 2, 8, d, 0));
    in[2] = bi_matmul(f->g, h, weight(f, 2, 12, d, 0));
    in[3] = bi_matmul(f->g, fixed_rows(f, 2 * n - 1, 4), weight(f, 2, 8, 4, 0));
    in[4] = weight(f, 1, 8, 1, 0);
    in[5] = weight(f, 1, 8, 1, 0);
    return bi_rel_attention(f->g, in, 1, 2, first, 0.5f);
}

static void g_rel_qkv_stack(struct fix *f)
{
    output(f, rel_attention(f, fixed_rows(f, 7, 6), 7, 0));
    output(f, rel_attention(f, fixed_rows(f, 7, 6), 7, 3)); /* queries of other rows: stays */
}

/* Rules whose graphs need neighbours, of residues or of atoms: tests/golden/test_design.py compares
 * whole models with and without the former and counts their firings; 'tensornet emulated' runs the
 * latter. */
/* Two runs of five rows, of two heads. */
static void g_multiquery_rope(struct fix *f)
{
    const bi_value_id in[] = {weight(f, 2, 10, 16, 0), weight(f, 2, 10, 8, 0),
                              weight(f, 2, 10, 6, 0), weight(f, 2, 5, 8, 0), BI_NONE};
    output(f, bi_multiquery(f->g, in, 2, 5, 0.5f, 0));
}

static bool of_residue_graphs(const char *rule)
{
    return !strncmp(rule, "edge_", 5) || !strcmp(rule, "neighbor_sum_linear") ||
           !strncmp(rule, "tensor_", 7);
}

static void each_rule(void)
{
    static const struct {
        const char *name;
        builder build;
        int times;
        const char *skip;
    } cases[] = {
        {"embedding_scale", g_embedding_scale, 1, NULL},
        {"linear", g_linear, 1, NULL},
        {"linear_gelu", g_linear_gelu, 1, NULL},
        {"linear_relu", g_linear_relu, 1, NULL},
        {"linear_unbiased", g_linear_unbiased, 2, NULL},
        {"linear_silu", g_linear_silu, 2, NULL},
        {"linear_silu_pair", g_linear_silu_pair, 1, NULL},
        {"linear_silu_slope", g_linear_silu_slope, 1, NULL},
        {"linear_gelu_tanh", g_linear_gelu_tanh, 1, NULL},
        {"linear_gated", g_linear_gated, 2, NULL},
        {"attention_bias", g_attention_bias, 1, NULL},
        {"attention_grid", g_attention_grid, 2, NULL},
        {"qk_norm_stack", g_qk_norm_stack, 2, NULL},
        {"norm_pool", g_norm_pool_unbiased, 1, NULL},
        {"rmsnorm_offset", g_rmsnorm_offset, 1, NULL},
        {"rmsnorm_pool", g_rmsnorm_pool, 1, NULL},
        {"linear_residual", g_linear_residual, 2, NULL},
        {"half_pool", g_half_pool, 2, NULL},
        {"embedding_windows", g_embedding_windows, 2, NULL},
        {"rel_qkv_stack", g_rel_qkv_stack, 1, NULL},
        {"attention", g_attention, 1, NULL},
        {"attention_rope", g_attention_rope, 1, NULL},
        {"attention_scale", g_attention_scale, 2, NULL},
        {"attention_contacts", g_attention_contacts, 2, NULL},
        {"contacts_rope", g_contacts_rope, 1, NULL},
        {"contacts_scale", g_contacts_scale, 1, NULL},
        {"qkv_stack", g_qkv_stack, 1, NULL},
        {"norm_pool", g_norm_pool, 1, NULL},
        {"add_layernorm", g_add_layernorm, 1, NULL},
        {"add_layernorm", g_add_layernorm_alone, 1, NULL},
        {"add_layernorm", g_add_layernorm, 1, "linear,attention"},
        {"multiquery_rope", g_multiquery_rope, 1, NULL},
    };
    bool seen[BI_RULE_MAX] = {false};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        char alone[64];
        check_rule(cases[i].build, cases[i].name, cases[i].times, cases[i].skip);
        snprintf(alone, sizeof alone, "%s", cases[i].name);
        check_rule(cases[i].build, cases[i].name, 0, alone);
        check_rule(cases[i].build, cases[i].name, 0, "all");
        seen[rule_index(cases[i].name)] = true;
    }
    for (int i = 0; bi_rule_name(i); i++) /* passes have tests of their own */
        if (bi_rule_phase(i) == BI_RULE_FUSE && !of_residue_graphs(bi_rule_name(i)) &&
            !CHECK(seen[i]))
            fprintf(stderr, "    %s has no case\n", bi_rule_name(i));
}

/* Graphs that look like a rule's and are not. */
static void n_linear_scalar(struct fix *f) /* one number for all columns is not a bias row */
{
    bi_value_id x = embedding(f, 8);
    output(f, bi_add(f->g, bi_matmul(f->g, x, weight(f, 2, 5, 8, 0)), weight(f, 1, 1, 1, 0)));
}

static void n_linear_shared(struct fix *f) /* the product has another use */
{
    bi_value_id m = bi_matmul(f->g, embedding(f, 8), weight(f, 2, 5, 8, 0));
    output(f, bi_add(f->g, m, weight(f, 1, 5, 1, 0)));
    output(f, bi_gelu(f->g, m));
}

static void n_gelu_shared(struct fix *f)
{
    bi_value_id y = linear(f, embedding(f, 8), 5);
    output(f, bi_gelu(f->g, y));
    output(f, y);
}

static void n_attention_wide(struct fix *f) /* values of another width than keys */
{
    bi_value_id x = embedding(f, 8);
    output(f, attention(f, x, x, linear(f, x, 12)));
}

static void n_attention_maps(struct fix *f) /* the maps are wanted */
{
    bi_value_id x = embedding(f, 8), m = maps(f, x, x);
    output(f, bi_mix(f->g, m, x, f->start));
    output(f, m);
}

static void n_rope_one(struct fix *f) /* queries alone are rotated */
{
    bi_value_id x = embedding(f, 8), t = table(f, 4);
    output(f, attention(f, bi_rope(f->g, x, t, f->start, 2), x, x));
}

static void n_rope_tables(struct fix *f)
{
    bi_value_id x = embedding(f, 8), t = table(f, 4), u = table(f, 4);
    output(f, attention(f, bi_rope(f->g, x, t, f->start, 2), bi_rope(f->g, x, u, f->start, 2), x));
}

static void n_rope_twice(struct fix *f) /* rotated by twice the angle */
{
    bi_value_id x = embedding(f, 8), t = table(f, 4), y = bi_rope(f->g, x, t, f->start, 2);
    y = bi_rope(f->g, y, t, f->start, 2);
    output(f, attention(f, y, y, x));
}

static void n_stack_output(struct fix *f) /* queries are an output: a view cannot be one */
{
    bi_value_id x = embedding(f, 6), q = linear(f, x, 8);
    output(f, attention(f, q, linear(f, x, 8), linear(f, x, 8)));
    output(f, q);
}

static void n_stack_inputs(struct fix *f) /* values of another x */
{
    bi_value_id x = embedding(f, 6), y = bi_gelu(f->g, x), q = linear(f, x, 8);
    output(f, attention(f, q, linear(f, x, 8), linear(f, y, 8)));
}

static void n_stack_bias(struct fix *f) /* keys without bias */
{
    bi_value_id x = embedding(f, 6), q = linear(f, x, 8);
    bi_value_id k = bi_matmul(f->g, x, weight(f, 2, 8, 6, 0));
    output(f, attention(f, q, k, linear(f, x, 8)));
}

static void n_norm_row(struct fix *f) /* a bias is no residual */
{
    output(f, norm(f, bi_add(f->g, bi_gelu(f->g, embedding(f, 8)), weight(f, 1, 8, 1, 0))));
}

static void n_pool_shared(struct fix *f)
{
    bi_value_id y = norm(f, embedding(f, 8));
    output(f, bi_mean_pool(f->g, y, f->start, 1, 1));
    output(f, y);
}

static void n_residual_row(struct fix *f) /* two biases: the second is no residual */
{
    output(f, bi_add(f->g, linear(f, embedding(f, 8), 8), weight(f, 1, 8, 1, 0)));
}

static void n_relu_padded(struct fix *f) /* zero rows around are not the linear's */
{
    bi_value_id x = linear(f, fixed_rows(f, 6, 4), 5);
    output(f, bi_norm_act(f->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 2));
}

static void n_pool_other(struct fix *f) /* logits of something else */
{
    bi_value_id x = fixed_rows(f, 6, 4), y = bi_gelu(f->g, x);
    output(f, bi_pair_pool(f->g, x, bi_matmul(f->g, y, weight(f, 2, 4, 4, 0))));
    output(f, bi_pair_pool(f->g, x, BI_NONE));
}

static void rules_keep_off(void)
{
    static const struct {
        const char *name;
        builder build;
    } cases[] = {
        {"linear", n_linear_scalar},          {"linear", n_linear_shared},
        {"linear_gelu", n_gelu_shared},       {"attention", n_attention_wide},
        {"attention", n_attention_maps},      {"attention_rope", n_rope_one},
        {"attention_rope", n_rope_tables},    {"qkv_stack", n_stack_output},
        {"qkv_stack", n_stack_inputs},        {"qkv_stack", n_stack_bias},
        {"add_layernorm", n_norm_row},        {"norm_pool", n_pool_shared},
        {"linear_residual", n_residual_row},  {"linear_relu", n_relu_padded},
        {"half_pool", n_pool_other},          {"linear_gated", n_gated_odd},
        {"linear_gated", n_gated_plain},      {"linear_unbiased", n_unbiased_biased},
        {"qk_norm_stack", n_qk_norm_one},     {"embedding_windows", n_windows_later},
        {"embedding_windows", n_windows_act},
    };
    for (size_t i = 0; i < BI_COUNT(cases); i++)
        check_rule(cases[i].build, cases[i].name, 0, NULL);
    check_rule(n_rope_twice, "attention_rope", 1, NULL); /* the outer rotation only */
}

/* ---- skipping rules ---- */

static void skipping(void)
{
    static const char *const bad[] = {"nothing", "linear,nothing", "line",    "linear2", "Linear",
                                      "ALL",     " linear",        "linear ;"};
    static const char *const good[] = {"",    ",",         "linear,", ",linear,,linear_gelu",
                                       "all", "all,linear"};
    struct bioinfer_error err = {0};
    struct fix f;
    for (size_t i = 0; i < BI_COUNT(bad); i++) {
        fix_open(&f);
        g_linear_gelu(&f);
        CHECK_EQ(bi_rules_apply(f.g, NULL, bad[i], NULL, &err), BIOINFER_INVALID);
        CHECK_HAS(err.text, "no fusion rule is called");
        CHECK_EQ(count_op(f.g, BI_OP_MATMUL), 1);
        bi_graph_free(&f.g);
    }
    for (size_t i = 0; i < BI_COUNT(good); i++) {
        fix_open(&f);
        g_linear_gelu(&f);
        finish(&f);
        CHECK_EQ(bi_rules_apply(f.g, NULL, good[i], NULL, &err), 0);
        CHECK_EQ(count_op(f.g, BI_OP_LINEAR), i < 2);
        bi_graph_free(&f.g);
    }
    fix_open(&f); /* without linear_gelu the rest still fuses */
    g_linear_gelu(&f);
    finish(&f);
    CHECK_EQ(bi_rules_apply(f.g, NULL, "linear_gelu", NULL, &err), 0);
    CHECK_EQ(count_op(f.g, BI_OP_LINEAR), 1);
    CHECK_EQ(count_op(f.g, BI_OP_GELU), 1);
    CHECK_EQ(bi_rules_apply(f.g, NULL, NULL, NULL, &err), 0); /* it goes on later */
    CHECK_EQ(count_op(f.g, BI_OP_GELU), 0);
    bi_graph_free(&f.g);
    CHECK(bi_rule_name(-1) == NULL && bi_rule_name(BI_RULE_MAX) == NULL);
}

static void trace_names_rules(void)
{
    struct bi_buf text = {.env = &env};
    struct bi_rule_trace trace = {{0}, &text};
    struct fix f;
    fix_open(&f);
    g_linear_gelu(&f);
    finish(&f);
    CHECK_EQ(bi_rules_apply(f.g, NULL, NULL, &trace, NULL), 0);
    CHECK_HAS(bi_buf_text(&text), "linear: add at node 2");
    CHECK_HAS(bi_buf_text(&text), "linear_gelu: gelu at node 3");
    bi_buf_free(&text);
    bi_graph_free(&f.g);
}

/* A rule fires where the target has what it needs, and nothing that is better without it. */
static void traits_choose_rules(void)
{
    static const struct {
        uint32_t traits;
        int times;
    } cases[] = {{BI_TARGET_CPU, 0}, {BI_TARGET_GPU, 1}, {BI_TARGET_GPU | BI_TARGET_MATRIX, 0}};
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        const struct bi_target target = {.traits = cases[i].traits};
        struct bi_rule_trace trace = {{0}, NULL};
        struct fix f;
        fix_open(&f);
        g_linear_silu_pair(&f);
        finish(&f);
        CHECK_EQ(bi_rules_apply(f.g, &target, NULL, &trace, NULL), 0);
        CHECK_EQ(trace.fired[rule_index("linear_silu_pair")], cases[i].times);
        bi_graph_free(&f.g);
    }
}

static bool takes_no_linear(const void *device, const struct bi_launch *launch)
{
    (void)device;
    return launch->op != bi_ops[BI_OP_LINEAR];
}

/* A rewrite is taken back where the target has no kernel for what it makes. */
static void targets_have_kernels(void)
{
    for (int takes = 0; takes < 2; takes++) {
        const struct bi_target target = {.takes = takes ? NULL : takes_no_linear};
        struct bi_rule_trace trace = {{0}, NULL};
        struct fix f;
        fix_open(&f);
        g_linear(&f);
        finish(&f);
        CHECK_EQ(bi_rules_apply(f.g, &target, NULL, &trace, NULL), 0);
        CHECK_EQ(trace.fired[rule_index("linear")], takes);
        CHECK_EQ(count_op(f.g, BI_OP_LINEAR), takes);
        CHECK_EQ(count_op(f.g, BI_OP_MATMUL), !takes);
        bi_graph_free(&f.g);
    }
}

/* ---- random graphs ---- */

struct random {
    uint64_t state;
    struct fix *f;
    bi_value_id pool[64]; /* [T, n] values */
    int n;
    bi_value_id table[2]; /* for head widths 2 and 4 */
};

static int pick(struct random *r, int n)
{
    return (int)(exec_next(&r->state) % (uint64_t)n);
}

static int64_t width(const struct random *r, bi_value_id x)
{
    return r->f->g->values[x].shape[1];
}

/* A value of the pool, of width `n` when that is not 0. */
static bi_value_id some(struct random *r, int64_t n)
{
    for (int tries = 0; tries < 8; tries++) {
        bi_value_id x = r->pool[r->n - 1 - pick(r, r->n < 6 || pick(r, 4) == 0 ? r->n : 6)];
        if (!n || width(r, x) == n)
            return x;
    }
    return n ? linear(r->f, r->pool[pick(r, r->n)], n) : r->pool[0];
}

static bi_value_id rotated(struct random *r, bi_value_id x, int heads)
{
    int64_t d = width(r, x) / heads;
    return d == 2 || d == 4 ? bi_rope(r->f->g, x, r->table[d / 4], r->f->start, heads) : x;
}

static void random_attention(struct random *r)
{
    static const int head_counts[] = {1, 2, 4};
    struct bi_graph *g = r->f->g;
    int heads = head_counts[pick(r, 3)], prefix = pick(r, 2), suffix = pick(r, 2);
    bi_value_id x = norm(r->f, some(r, 0)), q, k, v, maps_, contacts = BI_NONE;
    int64_t d = width(r, x) % heads ? 8 : width(r, x);
    q = pick(r, 3) ? linear(r->f, x, d) : some(r, d);
    k = pick(r, 3) ? linear(r->f, x, d) : some(r, d);
    v = pick(r, 3) ? linear(r->f, x, pick(r, 6) ? d : 2 * d) : some(r, d);
    if (pick(r, 5) == 0)
        k = q;
    if (pick(r, 3) == 0) { /* queries and keys are normalised */
        q = norm_of(r->f, pick(r, 3) ? product(r->f, x, d) : q);
        k = norm_of(r->f, pick(r, 3) ? product(r->f, x, d) : k);
        v = pick(r, 3) ? product(r->f, x, d) : v;
    }
    q = bi_scale(g, q, 0.3f);
    if (pick(r, 3)) {
        q = rotated(r, q, heads);
        k = rotated(r, k, heads);
    }
    maps_ = bi_scores(g, q, k, r->f->start, heads);
    if (pick(r, 12) == 0)
        output(r->f, maps_);
    if (pick(r, 4) == 0)
        maps_ = bi_relative_bias(g, maps_, weight(r->f, 2, heads, 2 * pick(r, 4) + 1, 0),
                                 r->f->start);
    else if (pick(r, 8) == 0)
        maps_ = pair_bias(r->f, maps_, v, heads);
    maps_ = bi_softmax(g, maps_, r->f->start);
    for (int n = pick(r, 3); n > 0; n--)
        contacts = bi_contacts(g, maps_, weight(r->f, 1, heads, 1, 0), r->f->start, contacts,
                               prefix, suffix);
    if (contacts != BI_NONE)
        output(r->f, pick(r, 2) ? bi_sigmoid(g, bi_add(g, contacts, weight(r->f, 1, 1, 1, 0)))
                                : contacts);
    if (pick(r, 8) == 0)
        output(r->f, maps_);
    r->pool[r->n++] = bi_mix(g, maps_, v, r->f->start);
    if (pick(r, 10) == 0)
        output(r->f, q);
}

/* A convolution of `taps` over padded rows: a matmul over overlapping windows. */
static bi_value_id convolution(struct fix *f, bi_value_id x, int64_t n, int taps, int act)
{
    int64_t rows = f->g->status ? 1 : f->g->values[x].shape[0];
    int64_t d = f->g->status ? 1 : f->g->values[x].shape[1];
    bi_value_id y = bi_norm_act(f->g, x, weight(f, 1, d, 1, 1), weight(f, 1, d, 1, 0), act,
                                taps / 2);
    return linear(f, bi_windows(f->g, y, 0, rows, taps), n);
}

/* A piece of a model over positions, with an output of its own. */
static void random_positions(struct random *r)
{
    struct fix *f = r->f;
    int64_t rows = 4 * (1 + pick(r, 3)), n = 4 + 4 * pick(r, 2);
    bi_value_id x = convolution(f, fixed_rows(f, rows, n), n, 1 + 2 * pick(r, 3), 1 + pick(r, 2));
    bi_value_id skip = x;
    if (!pick(r, 6))
        output(f, base_convolution(f, 1 + pick(r, 3), pick(r, 2), BI_NORM_ACT_NONE));
    if (pick(r, 2))
        x = bi_add(f->g, x, convolution(f, x, n, 1, BI_NORM_ACT_QUICK_GELU));
    x = pick(r, 3) ? attention_pool(f, x) : bi_pair_pool(f->g, x, BI_NONE);
    if (pick(r, 2))
        x = bi_add(f->g, x, linear(f, rel_attention(f, x, rows / 2, 0), n));
    else
        output(f, rel_attention(f, x, rows / 2, (int)rows / 4));
    if (pick(r, 2))
        x = bi_norm_act(f->g, linear(f, x, n), BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 0);
    if (pick(r, 2)) {
        x = bi_upsample(f->g, x, skip);
        x = bi_norm_act(f->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_NONE, 1);
        x = linear(f, bi_depthwise(f->g, x, weight(f, 2, 3, n, 0)), n);
    }
    output(f, bi_norm_act(f->g, bi_windows(f->g, x, 1, 1, 1), BI_NONE, BI_NONE,
                          BI_NORM_ACT_SOFTPLUS, 0));
}

static void random_op(struct random *r)
{
    struct bi_graph *g = r->f->g;
    bi_value_id x = some(r, 0), y;
    int64_t n = width(r, x);
    switch (pick(r, 20)) {
        /* clang-format off */
    case 0: y = bi_matmul(g, x, weight(r->f, 2, 4 + 4 * pick(r, 3), n, 0)); break;
    case 1:
    case 2: y = linear(r->f, x, 4 + 4 * pick(r, 3)); break;
    case 3: y = bi_gelu(g, pick(r, 2) ? linear(r->f, x, n) : x); break;
    case 4: y = bi_add(g, linear(r->f, norm(r->f, x), n), x); break;
    case 5: y = bi_add(g, x, some(r, n)); break;
    case 6: y = norm(r->f, pick(r, 2) ? bi_add(g, x, some(r, n)) : x); break;
    case 7: y = bi_scale(g, x, 0.25f * (float)(1 + pick(r, 5))); break;
    case 8: y = bi_scale_rows(g, x, r->f->scale); break;
    case 9: y = bi_add(g, pick(r, 2) ? bi_matmul(g, x, weight(r->f, 2, 8, n, 0)) : x,
                       weight(r->f, 1, 1, 1, 0));
        break;
    case 10:
        output(r->f, bi_mean_pool(g, pick(r, 2) ? norm(r->f, x) : x, r->f->start, pick(r, 2),
                                  pick(r, 2)));
        return;
    case 11:
        y = bi_select_rows(g, x, pick(r, 2) ? r->f->start : r->f->rows);
        output(r->f, pick(r, 2) ? bi_gelu(g, linear(r->f, y, 8)) : norm(r->f, y));
        return;
    case 12: random_positions(r); return;
    case 13: y = bi_silu(g, pick(r, 2) ? linear(r->f, x, n) : product(r->f, x, 4)); break;
    case 14:
        y = bi_mul(g, pick(r, 2) ? bi_silu(g, product(r->f, x, 16)) : product(r->f, x, 16),
                   pick(r, 4) ? product(r->f, x, 16) : bi_gelu(g, product(r->f, x, 16)));
        break;
    case 15:
        y = bi_norm_act(g, linear(r->f, x, n), BI_NONE, BI_NONE,
                        pick(r, 2) ? BI_NORM_ACT_TANH_GELU : BI_NORM_ACT_RELU, 0);
        break;
    case 16:
        y = bi_rmsnorm(g, x, weight(r->f, 1, n, 1, 1), 1e-6f);
        y = pick(r, 2) ? y : bi_add(g, y, weight(r->f, 1, n, 1, 0));
        if (pick(r, 2)) {
            output(r->f, bi_mean_pool(g, y, r->f->start, 0, pick(r, 2)));
            return;
        }
        break;
    default: random_attention(r); return;
        /* clang-format on */
    }
    r->pool[r->n++] = y;
}

static void random_graph(struct fix *f, uint64_t seed)
{
    struct random r = {.state = seed, .f = f};
    int n_ops, n_seqs = 1 + pick(&r, 3), longest = 0, at = 0;
    fix_open(f);
    for (int i = 0; i < n_seqs; i++) {
        int n = 1 + pick(&r, 4);
        longest = n > longest ? n : longest;
        f->x.start[i] = at;
        at += n;
    }
    f->x.start[n_seqs] = at;
    f->x.counts.n_tokens = at > T ? T : at;
    if (at > T) { /* the last one is cut to the bucket */
        f->x.start[n_seqs] = T;
    }
    f->x.counts.n_seqs = n_seqs;
    f->x.counts.longest = longest;
    fix_pairs(f);
    f->x.counts.n_rows = 1 + pick(&r, 4);
    for (int i = 0; i < f->x.counts.n_tokens; i++)
        f->x.ids[i] = pick(&r, V);
    for (int i = 0; i < f->x.counts.n_rows; i++)
        f->x.rows[i] = pick(&r, f->x.counts.n_tokens);
    for (int i = 0; i < 2; i++)
        r.table[i] = table(f, i ? 4 : 2);
    r.pool[r.n++] = embedding(f, 8);
    if (pick(&r, 2))
        r.pool[r.n++] = bi_scale_rows(f->g, embedding(f, 4), f->scale);
    n_ops = 2 + pick(&r, 14);
    while (n_ops-- > 0 && f->n_weights < EXEC_WEIGHTS - 60)
        random_op(&r);
    output(f, r.pool[r.n - 1]);
    for (int i = pick(&r, 3); i > 0; i--)
        output(f, r.pool[pick(&r, r.n)]);
}

static void random_graphs(void)
{
    enum { N = 3000 };
    long fired[BI_RULE_MAX] = {0}, reused = 0, n_nodes = 0;
    double worst = 0;
    for (uint64_t seed = 1; seed <= N; seed++) {
        struct fix plain, fused;
        struct bi_rule_trace trace = {{0}, NULL};
        struct bi_memory_plan plan = {0};
        struct bioinfer_error err = {0};
        double difference;
        random_graph(&plain, seed);
        finish(&plain);
        random_graph(&fused, seed);
        finish(&fused);
        if (!CHECK_EQ(bi_rules_apply(fused.g, NULL, NULL, &trace, &err), 0)) {
            fprintf(stderr, "    seed %llu: %s\n", (unsigned long long)seed, err.text);
        } else {
            difference = compare(&plain, &fused);
            worst = fmax(worst, difference);
            if (!CHECK(difference <= 2e-4))
                fprintf(stderr, "    seed %llu: difference %g\n", (unsigned long long)seed,
                        difference);
            CHECK_EQ(bi_memory_plan(&plan, plain.g, &err), 0);
            CHECK(plan.activation_size <= plan.unshared_size);
            reused += plan.activation_size < plan.unshared_size;
            bi_memory_plan_free(&plan);
        }
        for (int i = 0; bi_rule_name(i); i++)
            fired[i] += trace.fired[i];
        n_nodes += (long)plain.g->n_nodes;
        bi_graph_free(&plain.g);
        bi_graph_free(&fused.g);
        if (test_failures > 20)
            return;
    }
    CHECK(reused > N / 2);
    printf("%d random graphs, %ld nodes, %ld plans reuse memory, worst difference %.2g\n", N,
           n_nodes, reused, worst);
    for (int i = 0; bi_rule_name(i); i++) {
        printf("  %-20s %ld\n", bi_rule_name(i), fired[i]);
        CHECK(fired[i] > 20 || of_residue_graphs(bi_rule_name(i)) || of_gpus(bi_rule_name(i)) ||
              bi_rule_phase(i) != BI_RULE_FUSE);
    }
}

/* A gated feed-forward layer whose operands are exact, or not. */
static void lowers_exact(void)
{
    static const struct bi_target matrix = {.traits = BI_TARGET_MATRIX, .operands = BI_F16};
    for (int exact = 0; exact < 2; exact++) {
        struct bi_rule_trace trace = {{0}, NULL};
        struct fix f;
        bi_value_id x, h;
        int n_terms = 0, n_gated = 0;
        fix_open(&f);
        x = embedding(&f, 8);
        h = bi_layernorm(f.g, x, weight(&f, 1, 8, 1, 0), BI_NONE, 1e-5f);
        if (exact)
            bi_graph_exact(f.g, h);
        h = bi_mul(f.g, bi_silu(f.g, bi_matmul(f.g, h, weight(&f, 2, 32, 8, 0))),
                   bi_matmul(f.g, h, weight(&f, 2, 32, 8, 0)));
        if (exact)
            bi_graph_exact(f.g, h);
        output(&f, bi_add(f.g, bi_matmul(f.g, h, weight(&f, 2, 8, 32, 0)), x));
        finish(&f);
        CHECK_EQ(bi_rules_apply(f.g, &matrix, NULL, &trace, NULL), 0);
        CHECK_EQ(trace.fired[rule_index("exact_products")], exact ? 3 : 0);
        for (size_t i = 0; i < f.g->n_nodes; i++) {
            const struct bi_node *n = &f.g->nodes[i];
            bool product = n->op == BI_OP_LINEAR || n->op == BI_OP_MATMUL;
            n_terms += product && (n->op == BI_OP_LINEAR ? BI_ATTR(n, linear)->terms
                                                         : BI_ATTR(n, matmul)->terms) == 3;
            n_gated += n->op == BI_OP_LINEAR && BI_ATTR(n, linear)->gated;
            if (product) /* half precision operands all the same, and sums in single */
                CHECK_EQ(f.g->values[n->in[0]].dtype, BI_F16);
            if (n->op == BI_OP_HALVES)
                CHECK_EQ(f.g->values[n->out[0]].shape[1], 3 * f.g->values[n->in[0]].shape[1]);
        }
        CHECK_EQ(count_op(f.g, BI_OP_HALVES), exact ? 2 : 0); /* gates and values share one */
        CHECK_EQ(n_terms, exact ? 3 : 0);
        CHECK_EQ(n_gated, exact ? 0 : 1);
        bi_graph_free(&f.g);
    }
}

/* A norm that a product reads, and a residual sum as well, is written twice; not where the rule is
 * left out, which keeps the product's operand in float32. */
static void splits_norms(void)
{
    static const struct bi_target matrix = {.traits = BI_TARGET_MATRIX, .operands = BI_F16};
    for (int skip = 0; skip < 2; skip++) {
        struct bi_rule_trace trace = {{0}, NULL};
        struct fix f;
        bi_value_id h, y;
        fix_open(&f);
        h = bi_layernorm(f.g, embedding(&f, 8), weight(&f, 1, 8, 1, 0), BI_NONE, 1e-5f);
        y = bi_add(f.g, bi_matmul(f.g, h, weight(&f, 2, 8, 8, 0)), weight(&f, 1, 8, 1, 0));
        output(&f, bi_add(f.g, bi_scale(f.g, h, 2), y));
        finish(&f);
        CHECK_EQ(bi_rules_apply(f.g, &matrix, skip ? "norm_split" : NULL, &trace, NULL), 0);
        CHECK_EQ(trace.fired[rule_index("norm_split")], !skip);
        CHECK_EQ(count_op(f.g, BI_OP_NORM_SPLIT), !skip);
        for (size_t i = 0; i < f.g->n_nodes; i++)
            if (f.g->nodes[i].op == BI_OP_LINEAR)
                CHECK_EQ(f.g->values[f.g->nodes[i].in[0]].dtype, skip ? BI_F32 : BI_F16);
        bi_graph_free(&f.g);
    }
}

int main(void)
{
    env = bi_env_default();
    TEST(splits_norms);
    TEST(lowers_exact);
    TEST(each_rule);
    TEST(rules_keep_off);
    TEST(skipping);
    TEST(trace_names_rules);
    TEST(traits_choose_rules);
    TEST(targets_have_kernels);
    TEST(random_graphs);
    return test_report();
}

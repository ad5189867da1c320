/* common.c - rules of products, activations, norms and embeddings. */
#include "../../kernels/linear.h"
#include "rule.h"

/* ---- products with a bias, an activation, a residual ---- */

static bool bias_is_row(const struct bi_match *m)
{
    const struct bi_value *b = &m->g->values[bi_match_value(m, "bias")];
    return b->rank == 1 && b->kind == BI_VALUE_WEIGHT &&
           b->shape[0] == m->g->values[m->root->out[0]].shape[1];
}

static bi_value_id to_linear(struct bi_match *m)
{
    return NEW(m->g, BI_OP_LINEAR, NULL, bi_match_value(m, "x"), bi_match_value(m, "w"),
               bi_match_value(m, "bias"));
}

const struct bi_rule bi_rule_linear = {
    .name = "linear",
    .pattern = NODE(ADD, NULL, NODE(MATMUL, NULL, VALUE("x"), VALUE("w")), VALUE("bias")),
    .guard = bias_is_row,
    .rewrite = to_linear,
};

/* Does node n, which reads y, belong to a rule over LINEAR? A product to which a row of weights
 * is added waits for that. */
static bool wants_linear(const struct bi_graph *g, const struct bi_node *n, bi_value_id y)
{
    switch (n->op) {
    case BI_OP_ADD:
        return g->values[n->in[0] == y ? n->in[1] : n->in[0]].rank == 2;
    case BI_OP_NORM_ACT:
        return n->in[1] == BI_NONE && n->in[2] == BI_NONE;
    case BI_OP_GELU:
    case BI_OP_SILU:
    case BI_OP_MUL:
    case BI_OP_LAYERNORM:
    case BI_OP_ATTENTION:
        return true;
    default:
        return false;
    }
}

static bool has_no_bias(const struct bi_match *m)
{
    const struct bi_graph *g = m->g;
    const bi_value_id y = m->root->out[0];
    bool wanted = false;
    if (g->values[bi_match_value(m, "w")].kind != BI_VALUE_WEIGHT)
        return false;
    for (int32_t u = g->use_first[y]; u >= 0; u = g->use_next[u]) {
        const struct bi_node *n = &g->nodes[u / BI_NODE_IN];
        if (n->dead)
            continue;
        if (!wants_linear(g, n, y))
            return false;
        wanted = true;
    }
    return wanted;
}

static bi_value_id to_linear_unbiased(struct bi_match *m)
{
    return NEW(m->g, BI_OP_LINEAR, NULL, bi_match_value(m, "x"), bi_match_value(m, "w"));
}

const struct bi_rule bi_rule_linear_unbiased = {
    .name = "linear_unbiased",
    .pattern = NODE(MATMUL, NULL, VALUE("x"), VALUE("w")),
    .guard = has_no_bias,
    .rewrite = to_linear_unbiased,
};

#define LINEAR_OF_X NODE(LINEAR, "linear", VALUE("x"), VALUE("w"), MAYBE("bias"))

static bool linear_has_bias_only(const struct bi_match *m)
{
    const struct bi_node *linear = bi_match_node(m, "linear");
    return BI_ATTR(linear, linear)->act == BI_ACT_NONE && !BI_ATTR(linear, linear)->gated &&
           linear->in[3] == BI_NONE;
}

static bi_value_id with_activation(struct bi_match *m, int32_t act)
{
    return NEW(m->g, BI_OP_LINEAR, BI_ATTRS(linear, .act = act), bi_match_value(m, "x"),
               bi_match_value(m, "w"), bi_match_value(m, "bias"));
}

static bi_value_id to_linear_gelu(struct bi_match *m)
{
    return with_activation(m, BI_ACT_GELU);
}

const struct bi_rule bi_rule_linear_gelu = {
    .name = "linear_gelu",
    .pattern = NODE(GELU, NULL, LINEAR_OF_X),
    .guard = linear_has_bias_only,
    .rewrite = to_linear_gelu,
};

static bi_value_id to_linear_silu(struct bi_match *m)
{
    return with_activation(m, BI_ACT_SILU);
}

const struct bi_rule bi_rule_linear_silu = {
    .name = "linear_silu",
    .pattern = NODE(SILU, NULL, LINEAR_OF_X),
    .guard = linear_has_bias_only,
    .rewrite = to_linear_silu,
};

/* The product has other readers, like the derivative of the activation. */
static bi_value_id to_linear_silu_pair(struct bi_match *m)
{
    const bi_value_id z = bi_match_node(m, "linear")->out[0];
    const bi_value_id y = NEW(m->g, BI_OP_LINEAR_SILU_PAIR, NULL, bi_match_value(m, "x"),
                              bi_match_value(m, "w"), bi_match_value(m, "bias"));
    if (y != BI_NONE)
        bi_match_replace(m, z, m->g->nodes[m->g->n_nodes - 1].out[1]);
    return y;
}

const struct bi_rule bi_rule_linear_silu_pair = {
    .name = "linear_silu_pair",
    .needs = BI_TARGET_GPU,
    .not_on = BI_TARGET_MATRIX, /* products in float16 have kernels without it */
    .pattern = NODE(SILU, NULL, SHARED(LINEAR, "linear", VALUE("x"), VALUE("w"), MAYBE("bias"))),
    .guard = linear_has_bias_only,
    .rewrite = to_linear_silu_pair,
};

static bool is_plain_product(const struct bi_match *m)
{
    return !BI_ATTR(bi_match_node(m, "product"), matmul)->terms &&
           m->g->values[bi_match_value(m, "w")].kind == BI_VALUE_WEIGHT;
}

static bi_value_id to_linear_silu_slope(struct bi_match *m)
{
    return NEW(m->g, BI_OP_LINEAR_SILU_SLOPE, NULL, bi_match_value(m, "x"), bi_match_value(m, "w"),
               bi_match_value(m, "z"));
}

const struct bi_rule bi_rule_linear_silu_slope = {
    .name = "linear_silu_slope",
    .needs = BI_TARGET_GPU,
    .not_on = BI_TARGET_MATRIX, /* products in float16 have kernels without it */
    .pattern = NODE(SILU_GRAD, NULL, VALUE("z"), NODE(MATMUL, "product", VALUE("x"), VALUE("w"))),
    .guard = is_plain_product,
    .rewrite = to_linear_silu_slope,
};

/* Is the root an activation alone, in place of which the linear can do it? */
static bool plain_relu(const struct bi_match *m)
{
    return linear_has_bias_only(m) && BI_ATTR(m->root, norm_act)->act == BI_NORM_ACT_RELU &&
           !BI_ATTR(m->root, norm_act)->pad;
}

static bi_value_id to_linear_relu(struct bi_match *m)
{
    return with_activation(m, BI_ACT_RELU);
}

const struct bi_rule bi_rule_linear_relu = {
    .name = "linear_relu",
    .pattern = NODE(NORM_ACT, NULL, LINEAR_OF_X),
    .guard = plain_relu,
    .rewrite = to_linear_relu,
};

static bool plain_gelu_tanh(const struct bi_match *m)
{
    return linear_has_bias_only(m) && BI_ATTR(m->root, norm_act)->act == BI_NORM_ACT_TANH_GELU &&
           !BI_ATTR(m->root, norm_act)->pad;
}

static bi_value_id to_linear_gelu_tanh(struct bi_match *m)
{
    return with_activation(m, BI_ACT_GELU_TANH);
}

const struct bi_rule bi_rule_linear_gelu_tanh = {
    .name = "linear_gelu_tanh",
    .pattern = NODE(NORM_ACT, NULL, LINEAR_OF_X),
    .guard = plain_gelu_tanh,
    .rewrite = to_linear_gelu_tanh,
};

static bool residual_fits(const struct bi_match *m)
{
    const struct bi_value *r = &m->g->values[bi_match_value(m, "residual")];
    return linear_has_bias_only(m) && r->rank == 2 &&
           r->shape[1] == m->g->values[m->root->out[0]].shape[1];
}

static bi_value_id to_linear_residual(struct bi_match *m)
{
    return NEW(m->g, BI_OP_LINEAR, NULL, bi_match_value(m, "x"), bi_match_value(m, "w"),
               bi_match_value(m, "bias"), bi_match_value(m, "residual"));
}

const struct bi_rule bi_rule_linear_residual = {
    .name = "linear_residual",
    .pattern = NODE(ADD, NULL, LINEAR_OF_X, VALUE("residual")),
    .guard = residual_fits,
    .rewrite = to_linear_residual,
};

/* ---- gates ---- */

/* Are these two products without bias, one of them with an activation? Blocks of 16 rows of each
 * must come out even, as kernels of GPUs read them so. */
static bool gates_fit(const struct bi_match *m)
{
    const bi_value_id w = bi_match_value(m, "w"), w2 = bi_match_value(m, "w2");
    const struct bi_linear_attr *one = BI_ATTR(bi_match_node(m, "one"), linear);
    const struct bi_linear_attr *other = BI_ATTR(bi_match_node(m, "other"), linear);
    const int64_t rows = m->g->values[w].shape[0];
    return (one->act != BI_ACT_NONE) != (other->act != BI_ACT_NONE) && !one->gated &&
           !other->gated && bi_rule_is_one_weight(m->g, w) && bi_rule_is_one_weight(m->g, w2) &&
           rows == m->g->values[w2].shape[0] && rows % 16 == 0;
}

static bi_value_id to_linear_gated(struct bi_match *m)
{
    const struct bi_linear_attr *one = BI_ATTR(bi_match_node(m, "one"), linear);
    const struct bi_linear_attr *other = BI_ATTR(bi_match_node(m, "other"), linear);
    const bool first = one->act != BI_ACT_NONE;
    const int32_t act = (first ? one : other)->act;
    const bi_value_id gate = bi_match_value(m, first ? "w" : "w2");
    const bi_value_id value = bi_match_value(m, first ? "w2" : "w");
    const bi_value_id w = bi_weight_stack(m->g, (const bi_value_id[]){gate, value}, 2);
    return NEW(m->g, BI_OP_LINEAR, BI_ATTRS(linear, .act = act, .gated = 1), bi_match_value(m, "x"),
               w);
}

const struct bi_rule bi_rule_linear_gated = {
    .name = "linear_gated",
    .pattern = NODE(MUL, NULL, NODE(LINEAR, "one", VALUE("x"), VALUE("w")),
                    NODE(LINEAR, "other", VALUE("x"), VALUE("w2"))),
    .guard = gates_fit,
    .rewrite = to_linear_gated,
};

/* ---- embeddings and norms ---- */

static bi_value_id to_embedding_scale(struct bi_match *m)
{
    return NEW(m->g, BI_OP_EMBEDDING, NULL, bi_match_value(m, "table"), bi_match_value(m, "ids"),
               bi_match_value(m, "scale"));
}

const struct bi_rule bi_rule_embedding_scale = {
    .name = "embedding_scale",
    .pattern = NODE(SCALE_ROWS, NULL, NODE(EMBEDDING, NULL, VALUE("table"), VALUE("ids")),
                    VALUE("scale")),
    .rewrite = to_embedding_scale,
};

static bool sum_of_rows(const struct bi_match *m)
{
    return m->g->values[bi_match_value(m, "y")].rank == 2;
}

/* The sum stays a value of its own: the residual stream goes on from it. */
static bi_value_id to_add_layernorm(struct bi_match *m)
{
    const float eps = BI_ATTR(m->root, layernorm)->eps;
    const bi_value_id sum = bi_match_node(m, "sum")->out[0];
    const bi_value_id fused = NEW(m->g, BI_OP_ADD_LAYERNORM, BI_ATTRS(add_layernorm, .eps = eps),
                                  bi_match_value(m, "x"), bi_match_value(m, "y"),
                                  bi_match_value(m, "gain"), bi_match_value(m, "bias"));
    if (fused == BI_NONE)
        return BI_NONE;
    bi_match_replace(m, sum, fused);
    return m->g->nodes[m->g->n_nodes - 1].out[1];
}

const struct bi_rule bi_rule_add_layernorm = {
    .name = "add_layernorm",
    .pattern = NODE(LAYERNORM, NULL, SHARED(ADD, "sum", VALUE("x"), VALUE("y")), VALUE("gain"),
                    VALUE("bias")),
    .guard = sum_of_rows,
    .rewrite = to_add_layernorm,
};

static bool is_offset(const struct bi_match *m)
{
    const struct bi_value *b = &m->g->values[bi_match_value(m, "b")];
    return b->rank == 1 && b->shape[0] == m->g->values[bi_match_value(m, "x")].shape[1];
}

static bi_value_id to_rmsnorm_offset(struct bi_match *m)
{
    return NEW(m->g, BI_OP_RMSNORM, BI_ATTRS_OF(bi_match_node(m, "norm")), bi_match_value(m, "x"),
               bi_match_value(m, "w"), bi_match_value(m, "b"));
}

const struct bi_rule bi_rule_rmsnorm_offset = {
    .name = "rmsnorm_offset",
    .pattern = NODE(ADD, NULL, NODE(RMSNORM, "norm", VALUE("x"), VALUE("w")), VALUE("b")),
    .guard = is_offset,
    .rewrite = to_rmsnorm_offset,
};

static bool one_group(const struct bi_match *m)
{
    return BI_ATTR(bi_match_node(m, "norm"), layernorm)->groups <= 1;
}

static bi_value_id to_norm_pool(struct bi_match *m)
{
    const struct bi_node *norm = bi_match_node(m, "norm");
    const struct bi_mean_pool_attr *pool = BI_ATTR(m->root, mean_pool);
    const bool rms = norm->op == BI_OP_RMSNORM;
    const struct bi_norm_pool_attr a = {.rms = rms,
                                        .eps = rms ? BI_ATTR(norm, rmsnorm)->eps
                                                   : BI_ATTR(norm, layernorm)->eps,
                                        .n_prefix = pool->n_prefix,
                                        .n_suffix = pool->n_suffix};
    return NEW(m->g, BI_OP_NORM_POOL, BI_ATTRS_AT(norm_pool, &a), bi_match_value(m, "x"),
               bi_match_value(m, "gain"), norm->in[2], bi_match_value(m, "start"));
}

/* A GPU norms rows in parallel, which one pass over a sequence cannot. */
const struct bi_rule bi_rule_norm_pool = {
    .name = "norm_pool",
    .not_on = BI_TARGET_GPU,
    .pattern = NODE(MEAN_POOL, NULL,
                    NODE(LAYERNORM, "norm", VALUE("x"), VALUE("gain"), MAYBE("bias")),
                    VALUE("start")),
    .guard = one_group,
    .rewrite = to_norm_pool,
};

const struct bi_rule bi_rule_rmsnorm_pool = {
    .name = "rmsnorm_pool",
    .pattern = NODE(MEAN_POOL, NULL, NODE(RMSNORM, "norm", VALUE("x"), VALUE("gain"), ANY),
                    VALUE("start")),
    .rewrite = to_norm_pool,
};

/* conv.c - rules of convolutions, which are products of windows of rows.
 *
 * The pass convolution_tails lets a product do what stands between it and the next convolution,
 * for devices whose linear can (BI_TARGET_FOLLOWS, kernels/linear.h), as every value that is
 * written and read again costs more there than what is made of it:
 *
 *   embedding_windows of several taps, read by products alone
 *       -> windows(embedding_windows of one tap): rows that overlap are written once
 *   norm_act(y), y = linear, read by others too
 *       -> linear_norm: y and the norm; of a convolution of five taps as eight products for two
 *          rows of y (kernels/gpu/sm90/linear_twin.h), in float16
 *   pair_pool(x, matmul(pair_diff(x))), x = linear with its residual, read by nothing else
 *       -> linear_pairs: what the pooling needs of x, and linear_pool, with the norm_act that
 *          alone reads it
 *   a residual of those that is a product of few columns, like a stem's, is made again instead of
 *   read; where its norm alone is read otherwise, it is not written either */
#include "../../kernels/linear.h"
#include "rule.h"

/* ---- windows of embeddings, attention pooling ---- */

/* Are these windows of ids with nothing but zeros around them? */
static bool windows_of_ids(const struct bi_match *m)
{
    const struct bi_windows_attr *w = BI_ATTR(m->root, windows);
    const struct bi_norm_act_attr *a = BI_ATTR(bi_match_node(m, "act"), norm_act);
    const struct bi_value *ids = &m->g->values[bi_match_value(m, "ids")];
    return w->taps > 1 && !w->first && w->n == ids->shape[0] + 2 * a->pad - w->taps + 1 &&
           a->act == BI_NORM_ACT_NONE && ids->axis == BI_AXIS_FIXED;
}

static bi_value_id to_embedding_windows(struct bi_match *m)
{
    const struct bi_embedding_windows_attr a = {
        .taps = BI_ATTR(m->root, windows)->taps,
        .pad = BI_ATTR(bi_match_node(m, "act"), norm_act)->pad};
    return NEW(m->g, BI_OP_EMBEDDING_WINDOWS, BI_ATTRS_AT(embedding_windows, &a),
               bi_match_value(m, "table"), bi_match_value(m, "ids"));
}

/* On the CPU windows are views, which take no memory. */
const struct bi_rule bi_rule_embedding_windows = {
    .name = "embedding_windows",
    .not_on = BI_TARGET_CPU,
    .pattern = NODE(WINDOWS, NULL,
                    NODE(NORM_ACT, "act", NODE(EMBEDDING, NULL, VALUE("table"), VALUE("ids")))),
    .guard = windows_of_ids,
    .rewrite = to_embedding_windows,
};

/* Logits of a pair matter by their difference alone, which halves the rows of the product. */
static bi_value_id to_half_pool(struct bi_match *m)
{
    const bi_value_id x = bi_match_value(m, "x"), d = NEW(m->g, BI_OP_PAIR_DIFF, NULL, x);
    return NEW(m->g, BI_OP_PAIR_POOL, NULL, x,
               NEW(m->g, BI_OP_MATMUL, NULL, d, bi_match_value(m, "w")));
}

const struct bi_rule bi_rule_half_pool = {
    .name = "half_pool",
    .pattern = NODE(PAIR_POOL, NULL, VALUE("x"), NODE(MATMUL, NULL, VALUE("x"), VALUE("w"))),
    .rewrite = to_half_pool,
};

/* ---- what stands between convolutions ---- */

/* Rows of y are made in twos up to so many columns: they go in tiles of 256 rows, and where
 * channels grow as rows get fewer, wider ones are too few rows to fill a chip. Shapes of weights
 * alone decide, so that rows of whole and of changed windows get the same bits. */
enum { TWIN_COLUMNS = 1280, TWIN_CHANNELS = 64 };
/* A value is made again where that costs at most a sixth more products: it has so many times the
 * columns of what it is made of. */
enum { MADE_AGAIN = 6 };

/* Is n a product of plain float operands, with no activation? */
static bool is_plain(const struct bi_node *n)
{
    if (n->op == BI_OP_MATMUL)
        return !BI_ATTR(n, matmul)->terms;
    return n->op == BI_OP_LINEAR && !BI_ATTR(n, linear)->act && !BI_ATTR(n, linear)->gated &&
           !BI_ATTR(n, linear)->terms;
}

/* The product of nothing but x, w and a bias, or a residual where that may be, of values of a type
 * and with rows that matrix units take whole. */
static const struct bi_node *product(const struct bi_graph *g, bi_value_id y, enum bi_dtype x_type,
                                     enum bi_dtype y_type, bool residual)
{
    const struct bi_node *n = bi_rule_producer(g, y);
    const struct bi_node *before;
    const struct bi_value *x;
    if (!n || n->dead || !is_plain(n) || g->values[n->in[1]].kind != BI_VALUE_WEIGHT)
        return NULL;
    for (int k = residual ? 4 : 3; k < BI_NODE_IN; k++)
        if (n->in[k] != BI_NONE)
            return NULL;
    x = &g->values[n->in[0]];
    before = bi_rule_producer(g, n->in[0]);
    if (x->dtype != x_type || g->values[y].dtype != y_type || x->axis != BI_AXIS_FIXED ||
        x->shape[1] % 8 || g->values[y].shape[1] % 8 || (before && before->op == BI_OP_COLUMNS))
        return NULL;
    if (before && before->op == BI_OP_WINDOWS && g->values[before->in[0]].shape[1] % 8)
        return NULL;
    return n;
}

/* Is n a norm with an activation that the linear knows? */
static bool follows(const struct bi_graph *g, const struct bi_node *n, enum bi_dtype dtype)
{
    return n->op == BI_OP_NORM_ACT && !n->dead && n->in[1] != BI_NONE && n->in[2] != BI_NONE &&
           (BI_ATTR(n, norm_act)->act == BI_NORM_ACT_QUICK_GELU ||
            BI_ATTR(n, norm_act)->act == BI_NORM_ACT_TANH_GELU) &&
           g->values[n->out[0]].dtype == dtype;
}

/* The newest node makes what node i made. */
static void replace(struct bi_graph *g, size_t i, int slot)
{
    g->nodes[i].dead = true;
    bi_graph_replace(g, g->nodes[i].out[0], g->nodes[g->n_nodes - 1].out[slot]);
    bi_graph_count_uses(g);
}

static bool read_by_products(const struct bi_graph *g, bi_value_id x)
{
    int32_t n = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        n += !g->nodes[i].dead && g->nodes[i].in[0] == x &&
             (g->nodes[i].op == BI_OP_LINEAR || g->nodes[i].op == BI_OP_MATMUL);
    return n > 0 && n == g->values[x].n_uses;
}

static void overlap_windows(struct bi_graph *g, const struct bi_target *target, size_t i)
{
    const enum bi_dtype dtype = target->operands;
    const size_t n_nodes = g->n_nodes;
    const struct bi_node n = g->nodes[i];
    const bool half = dtype == BI_F16;
    bi_value_id rows;
    if (n.op != BI_OP_EMBEDDING_WINDOWS || n.dead || BI_ATTR(&n, embedding_windows)->taps < 2 ||
        g->values[n.out[0]].dtype != dtype || g->values[n.in[0]].shape[1] % 8 ||
        !read_by_products(g, n.out[0]))
        return;
    const struct bi_windows_attr all = {.n = (int32_t)g->values[n.out[0]].shape[0],
                                        .taps = BI_ATTR(&n, embedding_windows)->taps};
    g->phase = n.phase;
    rows = bi_node_add_half(
        g, BI_OP_EMBEDDING_WINDOWS, n.in, 2,
        BI_ATTRS(embedding_windows, .taps = 1, .pad = BI_ATTR(&n, embedding_windows)->pad), half);
    if (rows != BI_NONE &&
        bi_node_add_half(g, BI_OP_WINDOWS, &rows, 1, BI_ATTRS_AT(windows, &all), half) != BI_NONE &&
        bi_target_takes_new(target, g, n_nodes))
        replace(g, i, 0);
}

/* Is y a convolution of five taps over enough channels and not too many columns, of an even number
 * of rows? */
static bool is_twin(const struct bi_graph *g, const struct bi_node *y, enum bi_dtype dtype)
{
    const struct bi_node *x = bi_rule_producer(g, y->in[0]);
    return dtype == BI_F16 && x && x->op == BI_OP_WINDOWS &&
           BI_ATTR(x, windows)->taps == BI_TWIN_TAPS && BI_ATTR(x, windows)->n % 2 == 0 &&
           g->values[x->in[0]].shape[1] >= TWIN_CHANNELS &&
           g->values[y->in[1]].shape[0] <= TWIN_COLUMNS;
}

static void follow_norm(struct bi_graph *g, const struct bi_target *target, size_t i)
{
    const enum bi_dtype dtype = target->operands;
    const size_t n_nodes = g->n_nodes;
    const struct bi_node n = g->nodes[i];
    const struct bi_node *y;
    if (!follows(g, &n, dtype) || BI_ATTR(&n, norm_act)->pad || g->values[n.in[0]].n_uses < 2 ||
        !(y = product(g, n.in[0], dtype, dtype, false)))
        return;
    const struct bi_linear_norm_attr a = {.act = BI_ATTR(&n, norm_act)->act,
                                          .twin = is_twin(g, y, dtype)};
    g->phase = y->phase;
    if (bi_node_add_half(g, BI_OP_LINEAR_NORM,
                         (const bi_value_id[]){y->in[0], y->in[1], y->in[2], n.in[1], n.in[2]}, 5,
                         BI_ATTRS_AT(linear_norm, &a), dtype == BI_F16) == BI_NONE ||
        !bi_target_takes_new(target, g, n_nodes))
        return;
    replace(g, i, 1);
    replace(g, (size_t)g->values[n.in[0]].node, 0);
}

/* The norm_act that alone reads y; g->n_nodes: there is none. */
static size_t norm_after(const struct bi_graph *g, bi_value_id y, enum bi_dtype dtype)
{
    size_t i = 0;
    while (i < g->n_nodes && (g->nodes[i].in[0] != y || !follows(g, &g->nodes[i], dtype)))
        i++;
    return g->values[y].n_uses == 1 && g->values[y].dtype == dtype ? i : g->n_nodes;
}

/* Is value r, a residual of rows of x, better made again? The product that it is of. */
static const struct bi_node *made_again(const struct bi_graph *g, bi_value_id r, bi_value_id x,
                                        enum bi_dtype dtype)
{
    const struct bi_node *n = bi_rule_producer(g, r);
    if (!n || n->op != BI_OP_LINEAR_NORM || r != n->out[0] || g->values[r].n_uses != 1 ||
        g->values[r].dtype != dtype ||
        MADE_AGAIN * g->values[n->in[0]].shape[1] > g->values[x].shape[1])
        return NULL;
    return n;
}

static void follow_pool(struct bi_graph *g, const struct bi_target *target, size_t i)
{
    const enum bi_dtype dtype = target->operands;
    const size_t n_nodes = g->n_nodes;
    const struct bi_node pool = g->nodes[i], *logits, *diff, *y;
    const bool half = g->values[pool.out[0]].dtype == BI_F16;
    struct bi_linear_pool_attr a = {0};
    const bi_value_id x = pool.in[0];
    bi_value_id w, scale = BI_NONE, shift = BI_NONE, odd;
    size_t end = i;
    if (pool.op != BI_OP_PAIR_POOL || pool.dead || pool.in[1] == BI_NONE ||
        g->values[pool.in[1]].n_uses != 1 || g->values[x].n_uses != 2 ||
        !(logits = product(g, pool.in[1], dtype, BI_F32, false)) || logits->in[2] != BI_NONE ||
        !(diff = bi_rule_producer(g, logits->in[0])) || diff->op != BI_OP_PAIR_DIFF ||
        diff->in[0] != x || g->values[diff->out[0]].n_uses != 1 ||
        !(y = product(g, x, dtype, dtype, true)))
        return;
    w = logits->in[1];
    g->phase = pool.phase;
    const size_t norm = norm_after(g, pool.out[0], dtype);
    if (norm < g->n_nodes &&
        BI_ATTR(&g->nodes[norm], norm_act)->pad <= g->values[pool.out[0]].shape[0]) {
        const struct bi_node *n = &g->nodes[norm];
        a.act = BI_ATTR(n, norm_act)->act;
        a.pad = BI_ATTR(n, norm_act)->pad;
        scale = n->in[1];
        shift = n->in[2];
        end = norm;
    }
    const struct bi_node *again = made_again(g, y->in[3], y->in[0], dtype);
    const bi_value_id in[] = {y->in[0],
                              y->in[1],
                              y->in[2],
                              again ? BI_NONE : y->in[3],
                              again ? again->in[0] : BI_NONE,
                              again ? again->in[1] : BI_NONE,
                              again ? again->in[2] : BI_NONE};
    odd = bi_node_add_half(g, BI_OP_LINEAR_PAIRS, in, 7, NULL, dtype == BI_F16);
    if (odd != BI_NONE &&
        bi_node_add_half(
            g, BI_OP_LINEAR_POOL,
            (const bi_value_id[]){g->nodes[g->n_nodes - 1].out[1], w, odd, scale, shift}, 5,
            BI_ATTRS_AT(linear_pool, &a), half) != BI_NONE &&
        bi_target_takes_new(target, g, n_nodes))
        replace(g, end, 0);
}

static void convolution_tails(struct bi_graph *g, const struct bi_target *target, int *fired)
{
    const size_t n_nodes = g->n_nodes;
    for (size_t i = 0; i < n_nodes && !g->status; i++) {
        size_t before = g->n_nodes;
        overlap_windows(g, target, i);
        follow_norm(g, target, i);
        follow_pool(g, target, i);
        while (before < g->n_nodes && g->nodes[before].dead)
            before++;
        *fired += g->n_nodes > before;
    }
}

const struct bi_rule bi_rule_convolution_tails = {
    .name = "convolution_tails",
    .phase = BI_RULE_TARGET,
    .needs = BI_TARGET_MATRIX | BI_TARGET_FOLLOWS,
    .pass = convolution_tails,
};

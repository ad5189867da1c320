/* follow_test.c - what stands between convolutions, done by products (graph/rules/conv.c). */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#include "graph_fix.h"
#include "kernels/gpu/sm90/linear_twin.h"

enum { BASES = 24 };

struct shape {
    int64_t channels, width; /* the convolution's: in, out */
    int act;
    int seen;  /* leaves the graph, too: 1 what is pooled, 2 what is to be */
    int again; /* no taps, like a stem: the residual is made again */
};

static bi_value_id vector(struct fix *f, int64_t n, float offset)
{
    return weight(f, 1, n, 1, offset);
}

static bi_value_id norm_act(struct fix *f, bi_value_id x, int act, int32_t pad)
{
    int64_t n = f->g->values[x].shape[1];
    bi_value_id scale = vector(f, n, 1);
    return bi_norm_act(f->g, x, scale, vector(f, n, 0), act, pad);
}

static bi_value_id biased(struct fix *f, bi_value_id x, int64_t n)
{
    bi_value_id y = bi_matmul(f->g, x, weight(f, 2, n, f->g->values[x].shape[1], 0));
    return bi_add(f->g, y, vector(f, n, 0));
}

/* A convolution of 5 taps, a pointwise one around which it is carried, attention pooling, and the
 * norm of the next one. */
static void build(struct fix *f, const struct shape *s)
{
    bi_value_id rows = weight(f, 2, BASES, s->channels, 0), x, y, pooled;
    f->g->values[rows].axis = BI_AXIS_FIXED;
    x = s->again ? norm_act(f, rows, BI_NORM_ACT_NONE, 0)
                 : bi_windows(f->g, norm_act(f, rows, BI_NORM_ACT_NONE, 2), 0, BASES, 5);
    x = biased(f, x, s->width);
    y = biased(f, norm_act(f, x, s->act, 0), s->width);
    x = bi_add(f->g, x, y);
    pooled = bi_pair_pool(f->g, x, bi_matmul(f->g, x, weight(f, 2, s->width, s->width, 0)));
    output(f, norm_act(f, pooled, s->act, 2));
    if (s->seen)
        output(f, s->seen == 1 ? pooled : x);
}

/* Residuals that are made again; their first values have no reader then. */
static int n_again(const struct bi_graph *g)
{
    int n = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *node = &g->nodes[i];
        if (node->op == BI_OP_LINEAR_PAIRS && node->in[4] != BI_NONE) {
            CHECK_EQ(node->in[3], BI_NONE);
            n++;
        }
        if (node->op == BI_OP_LINEAR_NORM && !g->values[node->out[0]].n_uses)
            n += 100;
    }
    return n;
}

static int lower(struct bi_graph *g)
{
    const struct bi_target target = {.traits = BI_TARGET_MATRIX, .operands = BI_F16};
    const int st = bi_rules_phase(g, BI_RULE_LOWER, &target, NULL, NULL, NULL);
    return st ? st : bi_graph_lower(g, NULL, NULL);
}

/* Lets products do what follows them, on a device whose operands are of this type. */
static int follow_on(struct bi_graph *g, enum bi_dtype operands)
{
    const struct bi_target target = {.traits = BI_TARGET_MATRIX | BI_TARGET_FOLLOWS,
                                     .operands = operands};
    return bi_rules_phase(g, BI_RULE_TARGET, &target, NULL, NULL, NULL);
}

static void follow(const struct shape *s, int n_norms, int n_pairs, int n_pools, int n_left)
{
    struct fix plain, after;
    int left = 0;
    fix_open(&plain);
    build(&plain, s);
    finish(&plain);
    fix_open(&after);
    build(&after, s);
    finish(&after);
    CHECK_EQ(bi_rules_apply(after.g, NULL, NULL, NULL, NULL), 0);
    CHECK_EQ(follow_on(after.g, BI_F16), 0); /* not of this type */
    CHECK_EQ(count_op(after.g, BI_OP_LINEAR_NORM) + count_op(after.g, BI_OP_LINEAR_PAIRS) +
                 count_op(after.g, BI_OP_LINEAR_POOL),
             0);
    CHECK_EQ(follow_on(after.g, BI_F32), 0);
    CHECK_EQ(count_op(after.g, BI_OP_LINEAR_NORM), n_norms);
    CHECK_EQ(count_op(after.g, BI_OP_LINEAR_PAIRS), n_pairs);
    CHECK_EQ(count_op(after.g, BI_OP_LINEAR_POOL), n_pools);
    left = count_op(after.g, BI_OP_NORM_ACT) + count_op(after.g, BI_OP_PAIR_DIFF) +
           count_op(after.g, BI_OP_PAIR_POOL);
    CHECK_EQ(left, n_left);
    CHECK_EQ(n_again(after.g), s->again ? 101 : 0);
    CHECK(compare(&plain, &after) <= 2e-6);
    bi_graph_free(&plain.g);
    bi_graph_free(&after.g);
}

static void follows_products(void)
{
    follow(&(struct shape){64, 16, BI_NORM_ACT_QUICK_GELU, 0, 0}, 1, 1, 1, 1);
    follow(&(struct shape){72, 24, BI_NORM_ACT_TANH_GELU, 0, 0}, 1, 1, 1, 1);
}

/* As a product of few columns, and of one too many. */
static void makes_residuals_again(void)
{
    follow(&(struct shape){8, 48, BI_NORM_ACT_QUICK_GELU, 0, 1}, 1, 1, 1, 1);
    follow(&(struct shape){16, 96, BI_NORM_ACT_TANH_GELU, 0, 1}, 1, 1, 1, 1);
    follow(&(struct shape){64, 384, BI_NORM_ACT_QUICK_GELU, 0, 0}, 1, 1, 1, 1);
}

static void leaves_others(void)
{
    /* a value that others read; channels and widths that do not fit; another activation */
    follow(&(struct shape){64, 16, BI_NORM_ACT_QUICK_GELU, 1, 0}, 1, 1, 1, 2);
    follow(&(struct shape){64, 16, BI_NORM_ACT_QUICK_GELU, 2, 0}, 1, 0, 0, 4);
    follow(&(struct shape){60, 16, BI_NORM_ACT_QUICK_GELU, 0, 0}, 0, 1, 1, 2);
    follow(&(struct shape){64, 12, BI_NORM_ACT_QUICK_GELU, 0, 0}, 0, 0, 0, 5);
    follow(&(struct shape){64, 16, BI_NORM_ACT_RELU, 0, 0}, 0, 1, 1, 3);
}

static int n_twins(const struct bi_graph *g)
{
    int n = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].op == BI_OP_LINEAR_NORM && BI_ATTR(&g->nodes[i], linear_norm)->twin;
    return n;
}

static void twin(const struct shape *s, enum bi_dtype dtype, int n_norms, int n_expected)
{
    struct fix f;
    fix_open(&f);
    build(&f, s);
    finish(&f);
    CHECK_EQ(bi_rules_apply(f.g, NULL, NULL, NULL, NULL), 0);
    if (dtype == BI_F16)
        CHECK_EQ(lower(f.g), 0);
    CHECK_EQ(follow_on(f.g, dtype), 0);
    CHECK_EQ(count_op(f.g, BI_OP_LINEAR_NORM), n_norms);
    CHECK_EQ(n_twins(f.g), n_expected);
    bi_graph_free(&f.g);
}

/* Convolutions of five taps in float16, of enough channels and not too many columns. */
static void makes_twins(void)
{
    twin(&(struct shape){64, 16, BI_NORM_ACT_QUICK_GELU, 0, 0}, BI_F16, 1, 1);
    twin(&(struct shape){64, 1280, BI_NORM_ACT_TANH_GELU, 0, 0}, BI_F16, 1, 1);
    twin(&(struct shape){64, 16, BI_NORM_ACT_QUICK_GELU, 0, 0}, BI_F32, 1, 0);
    twin(&(struct shape){56, 16, BI_NORM_ACT_QUICK_GELU, 0, 0}, BI_F16, 1, 0);
    twin(&(struct shape){64, 1288, BI_NORM_ACT_QUICK_GELU, 0, 0}, BI_F16, 1, 0);
    twin(&(struct shape){64, 16, BI_NORM_ACT_QUICK_GELU, 0, 1}, BI_F16, 1, 0);
}

/* Two rows of a convolution by the eight products are those by five taps each. */
static void twins_are_convolutions(void)
{
    enum { CHANNELS = 11, PAIRS = 4 };
    float x[2 * PAIRS + 4][CHANNELS], row[BI_TWIN_TAPS * CHANNELS];
    for (size_t i = 0; i < BI_COUNT(row); i++)
        row[i] = sinf((float)(3 * i + 1));
    for (int r = 0; r < 2 * PAIRS + 4; r++)
        for (int c = 0; c < CHANNELS; c++)
            x[r][c] = cosf((float)(7 * r + c));
    for (int i = 0; i < PAIRS; i++) {
        double two[2] = {0, 0}, want[2] = {0, 0};
        for (int c = 0; c < CHANNELS; c++) {
            float w[BI_TWIN_PRODUCTS];
            const double e[] = {(double)x[2 * i][c], (double)x[2 * i + 2][c],
                                (double)x[2 * i + 4][c]};
            const double o[] = {(double)x[2 * i + 1][c], (double)x[2 * i + 3][c],
                                (double)x[2 * i + 5][c]};
            bi_twin_taps(row, CHANNELS, c, w);
            const double s = (double)w[0] * (e[1] + o[0]) + (double)w[4] * (e[2] + o[1]);
            two[0] += s + (double)w[1] * e[1] + (double)w[3] * e[0] + (double)w[5] * e[2];
            two[1] += s + (double)w[2] * o[0] + (double)w[6] * o[1] + (double)w[7] * o[2];
            for (int k = 0; k < 2 * BI_TWIN_TAPS; k++)
                want[k / BI_TWIN_TAPS] += (double)row[k % BI_TWIN_TAPS * CHANNELS + c] *
                                          (double)x[2 * i + k / BI_TWIN_TAPS + k % BI_TWIN_TAPS][c];
        }
        CHECK(fabs(two[0] - want[0]) < 1e-6 && fabs(two[1] - want[1]) < 1e-6);
    }
}

static int count_phase(const struct bi_graph *g, int32_t phase)
{
    int n = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].phase == phase;
    return n;
}

/* A fused node stays in front of what follows: the same nodes twice, the second behind the first,
 * in hardly more memory than once. */
static void keeps_phases(void)
{
    const struct shape s = {64, 16, BI_NORM_ACT_QUICK_GELU, 0, 0};
    struct bi_memory_plan plan[2];
    struct fix f;
    for (int twice = 0; twice < 2; twice++) {
        fix_open(&f);
        build(&f, &s);
        if (twice) {
            bi_phase_next(f.g);
            build(&f, &s);
        }
        finish(&f);
        CHECK_EQ(bi_rules_apply(f.g, NULL, NULL, NULL, NULL), 0);
        CHECK_EQ(lower(f.g), 0);
        CHECK_EQ(follow_on(f.g, BI_F16), 0);
        CHECK_EQ(count_op(f.g, BI_OP_LINEAR_POOL), 1 + twice);
        CHECK_EQ(n_twins(f.g), 1 + twice);
        CHECK_EQ(count_phase(f.g, 0), (int)f.g->n_nodes / (1 + twice));
        CHECK_EQ(count_phase(f.g, 2), twice ? count_phase(f.g, 0) : 0);
        CHECK_EQ(bi_memory_plan(&plan[twice], f.g, NULL), 0);
        if (!twice)
            bi_graph_free(&f.g);
    }
    CHECK_EQ(plan[1].activation_size, plan[0].activation_size);
    bi_graph_free(&f.g);
    bi_memory_plan_free(&plan[0]);
    bi_memory_plan_free(&plan[1]);
    fix_open(&f);
    bi_loop_begin(f.g, BI_COUNTER_n_steps);
    bi_phase_next(f.g);
    CHECK_EQ(bi_graph_status(f.g, NULL), BIOINFER_INTERNAL);
    bi_graph_free(&f.g);
}

/* A value that a loop reads stays until the last trip is over: no value of a trip, and none that
 * leaves the loop, takes its place. */
static void loops_keep_what_they_read(void)
{
    enum { IN_LOOP = 3 };
    struct bi_memory_plan plan;
    struct fix f;
    bi_value_id before, x[IN_LOOP];
    fix_open(&f);
    before = bi_scale(f.g, weight(&f, 2, 16, 16, 0), 2);
    bi_loop_begin(f.g, BI_COUNTER_n_steps);
    for (int i = 0; i < IN_LOOP; i++)
        x[i] = bi_scale(f.g, i ? x[i - 1] : before, 3);
    bi_loop_end(f.g);
    output(&f, bi_scale(f.g, x[IN_LOOP - 1], 5));
    CHECK_EQ(bi_graph_status(f.g, NULL), 0);
    bi_graph_count_uses(f.g);
    if (CHECK_EQ(bi_memory_plan(&plan, f.g, NULL), 0)) {
        CHECK_EQ(plan.slots[before].place, BI_PLACE_ACTIVATION);
        for (int i = 0; i < IN_LOOP; i++) {
            CHECK_EQ(plan.slots[x[i]].place, BI_PLACE_ACTIVATION);
            CHECK(plan.slots[x[i]].offset >= plan.slots[before].offset + plan.slots[before].size);
        }
        CHECK_EQ(plan.slots[x[2]].offset, plan.slots[x[0]].offset); /* whose place is free */
    }
    bi_memory_plan_free(&plan);
    bi_graph_free(&f.g);
}

/* Rows that trips give one after the other stay until all of them are read: what a later trip makes
 * on its way does not take the place of an earlier one's. */
static void trips_keep_what_they_gave(void)
{
    struct bi_memory_plan plan;
    struct fix f;
    bi_value_id x, way, rows;
    fix_open(&f);
    x = bi_scale(f.g, weight(&f, 2, 16, 16, 0), 2);
    bi_trips_begin(f.g, 2);
    way = bi_gelu(f.g, bi_trip_rows(f.g, x, 8, 8));
    rows = bi_scale(f.g, bi_scale(f.g, way, 3), 5);
    bi_trips_end(f.g);
    output(&f, bi_scale(f.g, bi_all_trips(f.g, rows), 7));
    CHECK_EQ(bi_graph_status(f.g, NULL), 0);
    bi_graph_count_uses(f.g);
    if (CHECK_EQ(bi_memory_plan(&plan, f.g, NULL), 0)) {
        const struct bi_slot *all = &plan.slots[rows], *one = &plan.slots[way];
        CHECK(all->place == BI_PLACE_ACTIVATION && one->place == BI_PLACE_ACTIVATION);
        CHECK_EQ(all->size, 16 * 16 * sizeof(float));
        CHECK(one->offset + one->size <= all->offset || all->offset + all->size <= one->offset);
    }
    bi_memory_plan_free(&plan);
    bi_graph_free(&f.g);
}

/* A convolution of 5 taps over bases in so many columns, carried around another one; seen: its rows
 * leave the graph, too. */
static void build_stem(struct fix *f, int64_t columns, bool seen)
{
    bi_value_id bases = bi_input(f->g, "bases", BI_I32, BI_AXIS_FIXED, 9);
    bi_value_id x = bi_embedding(f->g, weight(f, 2, V, columns, 0), bases), y;
    x = bi_windows(f->g, bi_norm_act(f->g, x, BI_NONE, BI_NONE, BI_NORM_ACT_NONE, 2), 0, 9, 5);
    y = biased(f, x, 16);
    output(f, bi_add(f->g, y, biased(f, norm_act(f, y, BI_NORM_ACT_QUICK_GELU, 0), 16)));
    if (seen)
        output(f, bi_scale(f->g, x, 1));
}

static void stem(int64_t columns, bool seen, int taps, int n_windows, int n_norms)
{
    struct fix plain, after;
    fix_open(&plain);
    build_stem(&plain, columns, seen);
    finish(&plain);
    fix_open(&after);
    build_stem(&after, columns, seen);
    finish(&after);
    CHECK_EQ(bi_rules_apply(after.g, NULL, NULL, NULL, NULL), 0);
    CHECK_EQ(count_op(after.g, BI_OP_WINDOWS), 0);
    CHECK_EQ(follow_on(after.g, BI_F16), 0); /* not of this type */
    CHECK_EQ(count_op(after.g, BI_OP_WINDOWS), 0);
    CHECK_EQ(follow_on(after.g, BI_F32), 0);
    CHECK_EQ(count_op(after.g, BI_OP_WINDOWS), n_windows);
    CHECK_EQ(count_op(after.g, BI_OP_LINEAR_NORM), n_norms);
    CHECK_EQ(count_op(after.g, BI_OP_EMBEDDING_WINDOWS), 1);
    for (size_t i = 0; i < after.g->n_nodes; i++)
        if (after.g->nodes[i].op == BI_OP_EMBEDDING_WINDOWS)
            CHECK_EQ(BI_ATTR(&after.g->nodes[i], embedding_windows)->taps, taps);
    CHECK(compare(&plain, &after) <= 2e-6);
    bi_graph_free(&plain.g);
    bi_graph_free(&after.g);
}

/* Windows of bases overlap in memory, where rows are multiples of 16 bytes and products alone read
 * them. */
static void overlaps_windows(void)
{
    stem(8, false, 1, 1, 1);
    stem(16, false, 1, 1, 1);
    stem(4, false, 5, 0, 0);
    stem(8, true, 5, 0, 1);
    struct fix f; /* they stay in front of what follows */
    fix_open(&f);
    build_stem(&f, 8, false);
    bi_phase_next(f.g);
    build_stem(&f, 8, false);
    finish(&f);
    CHECK_EQ(bi_rules_apply(f.g, NULL, NULL, NULL, NULL), 0);
    CHECK_EQ(follow_on(f.g, BI_F32), 0);
    CHECK_EQ(count_op(f.g, BI_OP_WINDOWS), 2);
    CHECK_EQ(count_phase(f.g, 0), (int)f.g->n_nodes / 2);
    CHECK_EQ(count_phase(f.g, 2), (int)f.g->n_nodes / 2);
    bi_graph_free(&f.g);
}

int main(void)
{
    env = bi_env_default();
    TEST(follows_products);
    TEST(makes_residuals_again);
    TEST(leaves_others);
    TEST(makes_twins);
    TEST(twins_are_convolutions);
    TEST(keeps_phases);
    TEST(loops_keep_what_they_read);
    TEST(trips_keep_what_they_gave);
    TEST(overlaps_windows);
    return test_report();
}

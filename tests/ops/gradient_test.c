/* gradient_test.c - derivatives against central differences.
 *
 * Formulas of matrices are compared in double. The references of ops on edges, of activations and
 * of norms compute in double and store float32: five points of a curve give its slope then to 2e-5
 * of the largest. A graph of plain ops shows that bi_graph_gradient() puts them together. */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>

#include "../../kernels/layernorm_grad.h"
#include "../../kernels/norm_act.h"
#include "../../kernels/tensor_edges.h"
#include "../unit/graph_fix.h"

#define BI_NUM double
#define BI_REAL double
#define BI_TENSOR_FN static inline
#include "../../kernels/tensor_math.h"

static uint64_t dice = 7;

static double number(void)
{
    return (double)exec_number(exec_next(&dice));
}

/* ---- matrices ---- */

/* The gradient of each function, and how many numbers the function and its derivative are of. */
static const struct pair {
    enum bi_tensor_function of, grad;
    int n_in, n_out; /* without factors c */
    int first;       /* the derivative's inputs are those of the function from this one on */
} pairs[] = {{BI_TENSOR_NORM, BI_TENSOR_NORM_GRAD, 9, 3, 0},
             {BI_TENSOR_NORMALISE, BI_TENSOR_NORMALISE_GRAD, 9, 9, 0},
             {BI_TENSOR_PRODUCT, BI_TENSOR_PRODUCT_GRAD, 18, 9, 0},
             {BI_TENSOR_UPDATE, BI_TENSOR_UPDATE_GRAD, 18, 9, 9},
             {BI_TENSOR_SCALE, BI_TENSOR_SCALE_GRAD, 12, 9, 0}};

static double result(const struct pair *p, int parts, int so3, const double *x, double c,
                     const double *by)
{
    double y[BI_TENSOR_NUMBERS], sum = 0;
    bi_tensor_apply((int)p->of, parts, so3, x, c, y);
    for (int k = 0; k < (p->of == BI_TENSOR_NORM ? parts : p->n_out); k++)
        sum += by[k] * y[k];
    return sum;
}

static void matrices_have_their_derivatives(void)
{
    for (int trial = 0; trial < 40; trial++)
        for (size_t i = 0; i < BI_COUNT(pairs); i++) {
            const struct pair *p = &pairs[i];
            const int parts = trial % 2 ? 3 : 1, so3 = trial % 4 > 1;
            double x[BI_TENSOR_NUMBERS], g[BI_TENSOR_NUMBERS], y[BI_TENSOR_NUMBERS], by[9];
            const double c = 1 + 0.3 * number(), h = 1e-4;
            for (int k = 0; k < p->n_in; k++)
                x[k] = number();
            for (int k = 0; k < 9; k++)
                by[k] = number();
            memcpy(g, x + p->first, (size_t)(p->n_in - p->first) * sizeof *g);
            memcpy(g + p->n_in - p->first, by, sizeof by);
            bi_tensor_apply((int)p->grad, parts, so3, g, c, y);
            for (int k = p->first; k < p->n_in; k++) {
                const double at = x[k];
                double slope;
                x[k] = at + h;
                slope = result(p, parts, so3, x, c, by);
                x[k] = at - h;
                slope = (slope - result(p, parts, so3, x, c, by)) / (2 * h);
                x[k] = at;
                CHECK(fabs(slope - y[k - p->first]) <= 1e-6);
            }
        }
}

static void coordinates_are_orthonormal(void)
{
    double c[9], m[9], back[9];
    for (int k = 0; k < 9; k++)
        c[k] = number();
    bi_tensor_compose(c, m);
    bi_tensor_decompose(m, back);
    for (int k = 0; k < 9; k++)
        CHECK(fabs(back[k] - c[k]) <= 1e-15);
    CHECK(fabs(bi_tensor_dot(c, c, 9) - bi_tensor_dot(m, m, 9)) <= 1e-14);
}

/* ---- edges ---- */

enum { ATOMS = 5, WIDTH = 6, KNOTS = 1, EDGES = ATOMS * (ATOMS - 1), KINDS = 3 };

struct edges {
    struct bi_counts counts;
    int32_t start[ATOMS + 1], col[EDGES], reverse[EDGES], code[ATOMS];
    float x[ATOMS][3], vector[EDGES][3], table[KNOTS * 12 * WIDTH];
    float own[KINDS * WIDTH], other[KINDS * WIDTH], self[3 * WIDTH];
    float in[3][5 * ATOMS * WIDTH], out[3][5 * ATOMS * WIDTH], by[3][5 * ATOMS * WIDTH];
    float din[3][5 * ATOMS * WIDTH], dvector[EDGES][3];
    struct bi_edge_list list;
    bool from_itself; /* messages are of the atom that gets them */
};

static void randomise(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)number();
}

static void make_edges(struct edges *t)
{
    int32_t n = 0;
    *t = (struct edges){.counts = {.n_tokens = ATOMS, .n_edges = EDGES}};
    for (int i = 0; i < ATOMS; i++) {
        for (int k = 0; k < 3; k++)
            t->x[i][k] = (float)(1.5 * number());
        t->x[i][0] += (float)i;
        t->code[i] = i % KINDS;
        for (int j = 0; j < ATOMS; j++)
            if (j != i)
                t->col[n++] = j;
        t->start[i + 1] = n;
    }
    for (int i = 0; i < ATOMS; i++)
        for (int e = t->start[i]; e < t->start[i + 1]; e++) {
            for (int k = 0; k < 3; k++)
                t->vector[e][k] = t->x[i][k] - t->x[t->col[e]][k];
            t->reverse[e] = t->start[t->col[e]] + (i < t->col[e] ? i : i - 1);
        }
    randomise(t->table, BI_COUNT(t->table));
    randomise(t->own, BI_COUNT(t->own));
    randomise(t->other, BI_COUNT(t->other));
    randomise(t->self, BI_COUNT(t->self));
    for (int k = 0; k < 3; k++) {
        randomise(t->in[k], BI_COUNT(t->in[k]));
        randomise(t->by[k], BI_COUNT(t->by[k]));
    }
    t->list = (struct bi_edge_list){&t->counts, t->start, t->col, t->reverse, t->vector[0],
                                    t->table,   ATOMS,    9,      KNOTS,      WIDTH};
}

static double total(const struct edges *t)
{
    double sum = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < (2 * k + 1) * ATOMS * WIDTH; i++)
            sum += (double)t->by[k][i] * (double)t->out[k][i];
    return sum;
}

static double embedded(struct edges *t)
{
    const struct bi_tensor_embed_params p = {.edges = t->list,
                                             .code = t->code,
                                             .own = t->own,
                                             .other = t->other,
                                             .self = t->self,
                                             .y = {t->out[0], t->out[1], t->out[2]}};
    bi_op_tensor_embed.reference(&p);
    return total(t);
}

static double sent(struct edges *t)
{
    struct bi_tensor_message_params p = {
        .edges = t->list,
        .x = {t->in[0], t->in[1], t->in[2]},
        .self = t->self,
        .y = {t->out[0], t->out[1], t->out[2]},
    };
    if (t->from_itself)
        p.edges.reverse = NULL;
    bi_op_tensor_message.reference(&p);
    return total(t);
}

/* The slope of f at *x from four points around it. */
static double slope_of(double (*f)(struct edges *t), struct edges *t, float *x)
{
    const float at = *x, h = 0.015625f;
    double y[4];
    for (int k = 0; k < 4; k++) {
        *x = at + h * (float)(k < 2 ? k - 2 : k - 1);
        y[k] = f(t);
    }
    *x = at;
    return (8 * (y[2] - y[1]) - (y[3] - y[0])) / (12 * (double)h);
}

static void vectors_have_derivatives(struct edges *t, double (*f)(struct edges *t))
{
    for (int e = 0; e < EDGES; e++)
        for (int k = 0; k < 3; k++) {
            const double want = slope_of(f, t, &t->vector[e][k]);
            if (!CHECK(fabs(want - (double)t->dvector[e][k]) <= 2e-3 * (1 + fabs(want))))
                fprintf(stderr, "    edge %d: %g, not %g\n", e, (double)t->dvector[e][k], want);
        }
}

static void edges_have_derivatives(void)
{
    struct edges t;
    make_edges(&t);
    const struct bi_tensor_embed_params embed = {.edges = t.list,
                                                 .code = t.code,
                                                 .own = t.own,
                                                 .other = t.other,
                                                 .g = {t.by[0], t.by[1], t.by[2]},
                                                 .dvector = t.dvector[0]};
    bi_op_tensor_embed_grad.reference(&embed);
    vectors_have_derivatives(&t, embedded);
}

/* Messages of neighbours, and with from_itself of the atom that gets them. */
static void messages_have_derivatives(void)
{
    struct edges t;
    make_edges(&t);
    for (int own = 0; own < 2; own++) {
        t.from_itself = own == 1;
        struct bi_tensor_message_params message = {.edges = t.list,
                                                   .x = {t.in[0], t.in[1], t.in[2]},
                                                   .self = t.self,
                                                   .g = {t.by[0], t.by[1], t.by[2]},
                                                   .y = {t.din[0], t.din[1], t.din[2]},
                                                   .dvector = t.dvector[0]};
        if (t.from_itself)
            message.edges.reverse = NULL;
        bi_op_tensor_message_grad.reference(&message);
        vectors_have_derivatives(&t, sent);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < (2 * k + 1) * ATOMS * WIDTH; i++) {
                const double want = slope_of(sent, &t, &t.in[k][i]);
                CHECK(fabs(want - (double)t.din[k][i]) <= 2e-4 * (1 + fabs(want)));
            }
    }
}

/* ---- a graph ---- */

/* y, from x = rows of a table times the input scale: each op that has a gradient is in it. */
static bi_value_id build(struct fix *f, bi_value_id *x, bi_value_id *rows)
{
    struct bi_graph *g = f->g;
    *rows = bi_embedding(g, weight(f, 2, V, 6, 0), f->ids);
    *x = bi_scale_rows(g, *rows, f->scale);
    bi_value_id a = bi_silu(g, linear(f, norm(f, *x), 8));
    bi_value_id b = bi_sigmoid(g, linear(f, *x, 8));
    return bi_scale(g, bi_add(g, bi_mul(g, a, b), a), 0.7f);
}

/* The sum of all live y, and where wanted its derivative by x. */
static double sum_of(const float scale[9], float *dx, float *rows_of)
{
    struct fix f;
    struct bi_memory_plan plan = {0};
    bi_value_id x, rows, y, d = BI_NONE;
    double sum = 0;
    fix_open(&f);
    memcpy(f.x.scale, scale, 9 * sizeof *scale);
    y = build(&f, &x, &rows);
    output(&f, y);
    if (dx) {
        d = bi_graph_gradient(f.g, y, x);
        output(&f, d);
        output(&f, rows);
    }
    finish(&f);
    unsigned char *out = exec_run(&f.x, f.g, &plan);
    if (CHECK(out != NULL)) {
        const float *at = (const float *)(const void *)(out + plan.slots[y].offset);
        for (int i = 0; i < 9 * 8; i++)
            sum += (double)at[i];
        if (dx) {
            memcpy(dx, out + plan.slots[d].offset, 9 * 6 * sizeof *dx);
            memcpy(rows_of, out + plan.slots[rows].offset, 9 * 6 * sizeof *dx);
        }
    }
    free(out);
    bi_memory_plan_free(&plan);
    bi_graph_free(&f.g);
    return sum;
}

static void graphs_have_gradients(void)
{
    float scale[9], dx[9 * 6], rows[9 * 6];
    for (int i = 0; i < 9; i++)
        scale[i] = 0.5f + 0.1f * (float)i;
    sum_of(scale, dx, rows);
    for (int i = 0; i < 9; i++) {
        const float at = scale[i], h = 0.0078125f;
        double have = 0, want;
        for (int c = 0; c < 6; c++)
            have += (double)dx[6 * i + c] * (double)rows[6 * i + c];
        scale[i] = at + h;
        want = sum_of(scale, NULL, NULL);
        scale[i] = at - h;
        want = (want - sum_of(scale, NULL, NULL)) / (2 * (double)h);
        scale[i] = at;
        if (!CHECK(fabs(want - have) <= 1e-3))
            fprintf(stderr, "    row %d: %g, not %g\n", i, have, want);
    }
}

/* ---- windows of DNA ---- */

enum { ROWS = 9, COLUMNS = 6, INNER = 10, HEADS = 2, KEY = 3 };

static bi_value_id times(struct fix *f, bi_value_id x, int64_t n, int64_t k)
{
    return bi_matmul(f->g, x, weight(f, 2, n, k, 0));
}

/* act(scale x + shift) under a convolution of three rows. */
static bi_value_id convolve(struct fix *f, bi_value_id x, int64_t k, int act)
{
    struct bi_graph *g = f->g;
    x = bi_norm_act(g, x, weight(f, 1, k, 1, 1), weight(f, 1, k, 1, 0), act, 1);
    x = bi_windows(g, x, 0, ROWS - 1, 3);
    return bi_add(g, times(f, x, INNER, 3 * k), weight(f, 1, INNER, 1, 0));
}

static bi_value_id attend(struct fix *f, bi_value_id x, int64_t n)
{
    bi_value_id in[6];
    in[0] = times(f, bi_windows(f->g, x, 1, n - 1, 1), HEADS * KEY, INNER);
    in[1] = times(f, x, HEADS * KEY, INNER);
    in[2] = times(f, x, INNER, INNER);
    in[3] = weight(f, 2, 2 * n - 1, HEADS * KEY, 0);
    in[4] = weight(f, 1, HEADS * KEY, 1, 0);
    in[5] = weight(f, 1, HEADS * KEY, 1, 0);
    return bi_rel_attention(f->g, in, 1, HEADS, 1, 0.6f);
}

/* All that stands in models of tracks, from x = rows of a table times the input scale. */
static bi_value_id build_tracks(struct fix *f, bi_value_id *x, bi_value_id *rows)
{
    static const int32_t chosen[] = {2, 0};
    struct bi_graph *g = f->g;
    const int64_t n = (ROWS - 1) / 2;
    bi_value_id fine, y, z;
    *rows = bi_embedding(g, weight(f, 2, V, COLUMNS, 0),
                         bi_input(g, "bases", BI_I32, BI_AXIS_FIXED, ROWS));
    *x = bi_scale_rows(g, *rows, bi_input(g, "scale", BI_F32, BI_AXIS_FIXED, ROWS));
    fine = convolve(f, bi_windows(g, *x, 1, ROWS - 1, 1), COLUMNS, BI_NORM_ACT_QUICK_GELU);
    fine = bi_scale(g, bi_add(g, fine, convolve(f, fine, INNER, BI_NORM_ACT_TANH_GELU)), 3);
    y = bi_pair_pool(g, fine, times(f, fine, INNER, INNER));
    z = bi_pair_pool(g, fine, BI_NONE);
    y = bi_add(g, y, bi_norm_act(g, z, BI_NONE, BI_NONE, BI_NORM_ACT_TANH, 0));
    z = bi_layernorm(g, y, weight(f, 1, INNER, 1, 1), weight(f, 1, INNER, 1, 0), 1e-3f);
    z = bi_add(g, bi_windows(g, y, 1, n - 1, 1), attend(f, z, n));
    z = bi_upsample(g, z, bi_windows(g, fine, 2, ROWS - 3, 1));
    z = bi_norm_act(g, z, BI_NONE, BI_NONE, BI_NORM_ACT_NONE, 1);
    z = bi_scale(g, bi_depthwise(g, z, weight(f, 2, 3, INNER, 0)), 6);
    z = bi_norm_act(g, z, BI_NONE, BI_NONE, BI_NORM_ACT_RELU, 0);
    z = bi_matmul(g, z, bi_weight_rows(g, weight(f, 2, 3, INNER, 0), chosen, 2));
    z = bi_norm_act(g, z, BI_NONE, BI_NONE, BI_NORM_ACT_SOFTPLUS, 0);
    return bi_scale(g, bi_windows(g, z, 1, 4, 1), 8);
}

enum { PLACES = 4, POOL = 2, WIDE = 8, GRID = 4 }; /* PLACES POOL = ROWS - 1 */

static bi_value_id rms(struct fix *f, bi_value_id x, int64_t n)
{
    x = bi_rmsnorm(f->g, x, weight(f, 1, n, 1, 1), 1e-3f);
    return bi_add(f->g, x, weight(f, 1, n, 1, 0));
}

/* Values of pairs of places, from the mean rows of x: by products, by distances, by both places,
 * and by attention of each row over its columns. */
static bi_value_id pairs_of(struct fix *f, bi_value_id x)
{
    struct bi_graph *g = f->g;
    const bi_value_id s = rms(f, bi_mean_rows(g, x, POOL), WIDE), active = bi_gelu(g, s);
    const bi_value_id q = times(f, s, HEADS * KEY, WIDE), k = times(f, s, HEADS * KEY, WIDE);
    const bi_value_id distances = weight(f, 2, 5, HEADS * KEY, 0);
    bi_value_id in[5], y = bi_head_products(g, q, k, HEADS, 1);
    y = bi_grid_logits(g, y, bi_head_products(g, q, distances, HEADS, 1),
                       bi_head_products(g, k, distances, HEADS, 1), weight(f, 1, 2, 1, 1), HEADS);
    y = bi_outer_add(g, times(f, y, GRID, HEADS), times(f, active, GRID, WIDE),
                     times(f, active, GRID, WIDE), BI_NONE, BI_NONE);
    in[0] = times(f, y, GRID, GRID);
    in[1] = times(f, y, GRID, GRID);
    in[2] = times(f, y, GRID, GRID);
    in[3] = in[4] = BI_NONE;
    return bi_add(g, y, bi_multiquery(g, in, 1, PLACES, 0.5f, 0));
}

/* All that stands in models with pairs beside their rows, from x as build_tracks() has it. */
static bi_value_id build_pairs(struct fix *f, bi_value_id *x, bi_value_id *rows)
{
    struct bi_graph *g = f->g;
    bi_value_id in[5], y, z;
    *rows = bi_embedding(g, weight(f, 2, V, COLUMNS, 0),
                         bi_input(g, "bases", BI_I32, BI_AXIS_FIXED, ROWS));
    *x = bi_scale_rows(g, *rows, bi_input(g, "scale", BI_F32, BI_AXIS_FIXED, ROWS));
    z = bi_windows(g, *x, 1, ROWS - 1, 1);
    y = bi_add_narrow(g, times(f, z, WIDE, COLUMNS), bi_columns(g, z, 0, 4));
    in[0] = bi_layernorm_groups(g, times(f, y, HEADS * GRID, WIDE),
                                weight(f, 1, HEADS * GRID, 1, 1), weight(f, 1, HEADS * GRID, 1, 0),
                                HEADS, 1e-3f);
    in[1] = bi_layernorm(g, times(f, y, GRID, WIDE), weight(f, 1, GRID, 1, 1), BI_NONE, 1e-3f);
    in[2] = bi_layernorm(g, times(f, y, 5, WIDE), weight(f, 1, 5, 1, 1), BI_NONE, 1e-3f);
    in[3] = weight(f, 2, ROWS - 1, GRID, 0);
    in[4] = times(f, bi_gelu(g, rms(f, pairs_of(f, y), GRID)), HEADS, GRID);
    y = times(f, bi_multiquery(g, in, HEADS, ROWS - 1, 0.5f, 2), 2, HEADS * 5);
    y = bi_unclip(g, bi_scale(g, y, 8), weight(f, 1, 2, 1, 1), weight(f, 1, 2, 1, 1), 1.25f);
    return bi_scale(g, bi_windows(g, y, 1, 4, 1), 2);
}

typedef bi_value_id build_fn(struct fix *f, bi_value_id *x, bi_value_id *rows);

/* The sum of y, and where wanted its derivative by each scale. */
static double sum_of_tracks(build_fn *build_it, const float scale[ROWS], double *by_scale)
{
    struct fix f;
    struct bi_memory_plan plan = {0};
    bi_value_id x, rows, y, d = BI_NONE;
    double sum = 0;
    fix_open(&f);
    memcpy(f.x.scale, scale, ROWS * sizeof *scale);
    y = build_it(&f, &x, &rows);
    output(&f, y);
    if (by_scale) {
        d = bi_scale(f.g, bi_graph_gradient(f.g, y, x), 1);
        output(&f, d);
        output(&f, rows);
    }
    finish(&f);
    unsigned char *out = exec_run(&f.x, f.g, &plan);
    if (CHECK(out != NULL)) {
        const float *at = (const float *)(const void *)(out + plan.slots[y].offset);
        for (int i = 0; i < 4 * 2; i++)
            sum += (double)at[i];
        for (int i = 0; by_scale && i < ROWS; i++) {
            const float *dx = (const float *)(const void *)(out + plan.slots[d].offset);
            const float *row = (const float *)(const void *)(out + plan.slots[rows].offset);
            by_scale[i] = 0;
            for (int c = COLUMNS * i; c < COLUMNS * (i + 1); c++)
                by_scale[i] += (double)dx[c] * (double)row[c];
        }
    }
    free(out);
    bi_memory_plan_free(&plan);
    bi_graph_free(&f.g);
    return sum;
}

static void check_gradients(build_fn *build_it)
{
    float scale[ROWS];
    double have[ROWS], largest = 0;
    for (int i = 0; i < ROWS; i++)
        scale[i] = 1 + 0.2f * (float)i;
    sum_of_tracks(build_it, scale, have);
    for (int i = 0; i < ROWS; i++) {
        const float at = scale[i], h = 0.015625f;
        double y[4], want;
        for (int k = 0; k < 4; k++) {
            scale[i] = at + h * (float)(k < 2 ? k - 2 : k - 1);
            y[k] = sum_of_tracks(build_it, scale, NULL);
        }
        scale[i] = at;
        want = (8 * (y[2] - y[1]) - (y[3] - y[0])) / (12 * (double)h);
        largest = fmax(largest, fabs(want));
        if (!CHECK(fabs(want - have[i]) <= 1e-4 * (1 + fabs(want))))
            fprintf(stderr, "    row %d: %g, not %g\n", i, have[i], want);
    }
    if (!CHECK(largest > 0.1))
        fprintf(stderr, "    the largest is %g\n", largest);
}

static void tracks_have_gradients(void)
{
    check_gradients(build_tracks);
}

/* Two mixtures of the probabilities of classes: sums of all of them are always 1. */
static bi_value_id build_classes(struct fix *f, bi_value_id *x, bi_value_id *rows)
{
    struct bi_graph *g = f->g;
    bi_value_id y;
    *rows = bi_embedding(g, weight(f, 2, V, COLUMNS, 0),
                         bi_input(g, "bases", BI_I32, BI_AXIS_FIXED, ROWS));
    *x = bi_scale_rows(g, *rows, bi_input(g, "scale", BI_F32, BI_AXIS_FIXED, ROWS));
    y = bi_row_softmax(g, bi_scale(g, times(f, *x, INNER, COLUMNS), 3));
    y = bi_matmul(g, y, weight(f, 2, 2, INNER, 0));
    return bi_scale(g, bi_windows(g, y, 1, 4, 1), 8);
}

static void classes_have_gradients(void)
{
    check_gradients(build_classes);
}

static void pairs_have_gradients(void)
{
    check_gradients(build_pairs);
}

static void what_has_none_is_named(void)
{
    struct bioinfer_error err = {0};
    struct fix f;
    fix_open(&f);
    bi_value_id x = embedding(&f, 8), y = bi_gelu_grad(f.g, x, x);
    CHECK_EQ(bi_graph_gradient(f.g, y, x), BI_NONE);
    CHECK_EQ(bi_graph_status(f.g, &err), BIOINFER_INTERNAL);
    CHECK_HAS(err.text, "gelu_grad");
    bi_graph_free(&f.g);
    fix_open(&f);
    x = embedding(&f, 8);
    y = bi_silu(f.g, x);
    CHECK_EQ(bi_graph_gradient(f.g, x, y), BI_NONE);
    CHECK_EQ(bi_graph_status(f.g, &err), BIOINFER_INTERNAL);
    CHECK_HAS(err.text, "does not follow");
    bi_graph_free(&f.g);
}

int main(void)
{
    env = bi_env_default();
    TEST(coordinates_are_orthonormal);
    TEST(matrices_have_their_derivatives);
    TEST(edges_have_derivatives);
    TEST(messages_have_derivatives);
    TEST(graphs_have_gradients);
    TEST(tracks_have_gradients);
    TEST(pairs_have_gradients);
    TEST(classes_have_gradients);
    TEST(what_has_none_is_named);
    return test_report();
}

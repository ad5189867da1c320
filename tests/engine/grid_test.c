/* grid_test.c - pairs of tokens through the runner: units of many lengths, in batches and alone.
 * The graph has what trunks of folding have: sums over tokens, both products of triangles,
 * attention along rows and along columns.
 *
 *   grid_test MODEL DEVICE... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../engine/task.h"
#include "../test.h"

enum { WIDTH = 8, HEADS = 2 };
enum input { X, Z, START, GRID_START, ROW_START, N_INPUTS };

static const int lengths[] = {3, 1, 17, 2, 33, 5, 1, 16, 2, 12};
enum { N_UNITS = (int)(sizeof lengths / sizeof *lengths) };

/* A unit is one item, with numbers of its own for each token and each pair. */
struct unit {
    struct bi_unit base;
    struct bi_item item;
    int64_t n; /* tokens */
    float *x, *z, *got;
};

/* A number that place k of a unit of n tokens has. */
static float number(int64_t n, int64_t k)
{
    const uint32_t mixed = (uint32_t)(n * 7919 + k + 1) * 2654435761u;
    return (float)(mixed >> 8) / 8388608.0f - 1;
}

struct task {
    struct bioinfer_task base;
    struct bi_counts shape;
    size_t next, n_batches;
    bool huge; /* the first unit has more pairs than a count has room for */
    int status[N_UNITS];
    float *results[N_UNITS]; /* [n n, WIDTH] */
};

static int read_unit(struct bioinfer_task *task, struct bi_unit *u, struct bioinfer_error *err)
{
    struct task *t = (struct task *)task;
    struct unit *x = (struct unit *)u;
    (void)err;
    if (t->next == N_UNITS)
        return 0;
    x->n = lengths[t->next++];
    const int32_t n = (int32_t)x->n;
    x->x = malloc((size_t)(n * WIDTH) * sizeof *x->x);
    x->z = malloc((size_t)(n * n * WIDTH) * sizeof *x->z);
    x->got = malloc((size_t)(n * n * WIDTH) * sizeof *x->got);
    for (int i = 0; i < n * WIDTH; i++)
        x->x[i] = number(-n, i);
    for (int i = 0; i < n * n * WIDTH; i++)
        x->z[i] = number(n, i);
    x->item = (struct bi_item){.unit = u,
                               .size = {.n_tokens = n, .n_seqs = 1, .longest = n, .n_grid = n * n},
                               .weight = n};
    if (t->huge && n == lengths[0] && t->next == 1)
        x->item.size.n_grid = INT32_MAX;
    u->items = &x->item;
    u->n_items = 1;
    return 1;
}

/* Attention over the rows of grids z, with a bias by pairs of the first columns of z. */
static bi_value_id attend(struct bi_graph *g, bi_value_id z, bi_value_id row_start,
                          bi_value_id grid_start)
{
    bi_value_id s = bi_scores(g, z, z, row_start, HEADS);
    s = bi_grid_bias(g, s, bi_columns(g, z, 0, HEADS), row_start, grid_start);
    return bi_mix(g, bi_softmax(g, s, row_start), z, row_start);
}

static int build(const void *user, const void *shape, struct bi_graph *g,
                 struct bioinfer_error *err)
{
    const struct bi_counts *of = shape;
    (void)user, (void)err;
    g->n_tokens = of->n_tokens;
    g->n_seqs = of->n_seqs;
    g->longest = of->longest;
    g->n_grid = of->n_grid;
    const bi_value_id start = bi_input(g, "start", BI_I32, BI_AXIS_SEQS, g->n_seqs + 1);
    const bi_value_id grids = bi_input(g, "grid_start", BI_I32, BI_AXIS_SEQS, g->n_seqs + 1);
    const bi_value_id rows = bi_input(g, "row_start", BI_I32, BI_AXIS_TOKENS, g->n_tokens + 1);
    const bi_value_id x = bi_input_rows(g, "x", BI_AXIS_TOKENS, g->n_tokens, WIDTH);
    bi_value_id z = bi_input_rows(g, "z", BI_AXIS_GRID, g->n_grid, WIDTH);
    z = bi_outer_add(g, z, x, bi_scale(g, x, 2), start, grids);
    z = bi_add(g, z, bi_scale(g, bi_triangle(g, z, z, grids, false), 0.05f));
    z = bi_add(g, z, bi_scale(g, bi_triangle(g, z, z, grids, true), 0.01f));
    z = bi_add(g, z, attend(g, bi_scale(g, z, 0.1f), rows, grids));
    z = bi_add(g, z,
               bi_turn(g, attend(g, bi_scale(g, bi_turn(g, z, grids), 0.1f), rows, grids), grids));
    bi_output(g, z, 0, -1, "y");
    return 0;
}

static int recipe(struct bioinfer_task *task, const struct bi_batch *b, struct bi_recipe *recipe,
                  struct bioinfer_error *err)
{
    struct task *t = (struct task *)task;
    (void)err;
    t->shape = b->capacity;
    *recipe = (struct bi_recipe){.build = build, .shape = &t->shape, .shape_size = sizeof t->shape};
    t->n_batches += b->n_items > 0;
    return 0;
}

static const void *rows(const struct bioinfer_task *t, const struct bi_item *item, int input)
{
    const struct unit *u = (const struct unit *)item->unit;
    (void)t;
    return input == X ? u->x : u->z;
}

static int collect(struct bioinfer_task *task, struct bi_item *item,
                   const struct bi_batch_place *place, struct bioinfer_error *err)
{
    struct unit *x = (struct unit *)item->unit;
    int64_t ld;
    const float *y = bi_batch_output(place, &place->slot->plan->graph->outputs[0], &ld);
    (void)task, (void)err;
    for (int64_t r = 0; r < x->n * x->n; r++)
        memcpy(x->got + r * WIDTH, y + (place->at.n_grid + r) * ld, WIDTH * sizeof *y);
    return 0;
}

static int result(struct bioinfer_task *task, struct bi_unit *u, struct bioinfer_error *err)
{
    struct unit *x = (struct unit *)u;
    (void)err;
    ((struct task *)task)->status[u->number] = u->status;
    ((struct task *)task)->results[u->number] = x->got;
    x->got = NULL;
    return 0;
}

static void drop(struct bioinfer_task *t, struct bi_unit *u)
{
    struct unit *x = (struct unit *)u;
    (void)t;
    free(x->x);
    free(x->z);
    free(x->got);
}

static void free_task(struct bioinfer_task *task)
{
    struct task *t = (struct task *)task;
    for (int i = 0; i < N_UNITS; i++)
        free(t->results[i]);
}

static const struct bi_task_input inputs[N_INPUTS] = {
    [X] = {.name = "x", .axis = BI_AXIS_TOKENS, .row_size = WIDTH * sizeof(float)},
    [Z] = {.name = "z", .axis = BI_AXIS_GRID, .row_size = WIDTH * sizeof(float)},
    [START] = {.name = "start", .rebase = BI_AXIS_TOKENS, .starts = true},
    [GRID_START] = {.name = "grid_start", .rebase = BI_AXIS_GRID, .starts = true},
    [ROW_START] = {
        .name = "row_start", .axis = BI_AXIS_TOKENS, .rebase = BI_AXIS_GRID, .starts = true}};

static const struct bi_task_def def = {
    .name = "grid",
    .kind = &bi_kind_sequences, /* the model's, whose graphs it does not ask for */
    .unit_size = sizeof(struct unit),
    .smallest = {.n_tokens = 1, .n_seqs = 1, .longest = 1, .n_grid = 1},
    .inputs = inputs,
    .n_inputs = N_INPUTS,
    .read = read_unit,
    .recipe = recipe,
    .rows = rows,
    .collect = collect,
    .result = result,
    .drop = drop,
    .free = free_task,
};

/* Runs all units in batches of batch_tokens tokens; the caller closes the task. */
static struct task *run(bioinfer_model *model, int64_t batch_tokens, bool huge)
{
    struct bioinfer_error err = {0};
    struct bioinfer_task *t = NULL;
    if (!CHECK_EQ(bi_task_new(&t, model, &def, sizeof(struct task), &err), 0) ||
        !CHECK_EQ(bi_task_open(t, model, batch_tokens, 0, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(test_report());
    }
    ((struct task *)t)->huge = huge;
    if (!CHECK_EQ(bi_task_run(t, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    return (struct task *)t;
}

static void close_task(struct task *t)
{
    struct bioinfer_task *task = &t->base;
    bioinfer_task_close(&task);
}

/* ---- what a unit must give, in double ---- */

/* to[i, j] += factor times the sum over k of z[i, k] z[j, k]; incoming: of z[k, i] z[k, j]. */
static void add_triangles(double *to, const double *z, int n, bool incoming, double factor)
{
    for (int r = 0; r < n * n; r++)
        for (int c = 0; c < WIDTH; c++)
            for (int k = 0; k < n; k++) {
                const int a = incoming ? k * n + r / n : r / n * n + k;
                const int b = incoming ? k * n + r % n : r % n * n + k;
                to[r * WIDTH + c] += factor * z[a * WIDTH + c] * z[b * WIDTH + c];
            }
}

/* The row of pair (i, j), turned or not. */
static int row_of(int n, int i, int j, bool turned)
{
    return turned ? j * n + i : i * n + j;
}

/* to += attention along the rows, or the columns, of z / 10. */
static void add_attention(double *to, const double *z, int n, bool turned)
{
    enum { DIM = WIDTH / HEADS };
    for (int at = 0; at < n * n * HEADS; at++) {
        const int i = at / HEADS / n, j = at / HEADS % n, h = at % HEADS;
        const double *q = z + row_of(n, i, j, turned) * WIDTH + h * DIM;
        double total = 0, sum[DIM] = {0};
        for (int k = 0; k < n; k++) {
            const double *key = z + row_of(n, i, k, turned) * WIDTH + h * DIM;
            double s = 0.1 * z[row_of(n, j, k, turned) * WIDTH + h];
            for (int d = 0; d < DIM; d++)
                s += 0.01 * q[d] * key[d];
            s = exp(s);
            total += s;
            for (int d = 0; d < DIM; d++)
                sum[d] += s * 0.1 * key[d];
        }
        for (int d = 0; d < DIM; d++)
            to[row_of(n, i, j, turned) * WIDTH + h * DIM + d] += sum[d] / total;
    }
}

static void check_unit(int n, const float *got)
{
    const size_t size = (size_t)(n * n * WIDTH) * sizeof(double);
    double *z = malloc(size), *next = malloc(size), worst = 0;
    for (int i = 0; i < n * n * WIDTH; i++) {
        const int r = i / WIDTH, c = i % WIDTH;
        z[i] = (double)number(n, i) + (double)number(-n, r / n * WIDTH + c) +
               2 * (double)number(-n, r % n * WIDTH + c);
    }
    for (int step = 0; step < 4; step++) {
        memcpy(next, z, size);
        if (step < 2)
            add_triangles(next, z, n, step == 1, step ? 0.01 : 0.05);
        else
            add_attention(next, z, n, step == 3);
        memcpy(z, next, size);
    }
    for (int i = 0; i < n * n * WIDTH; i++)
        worst = fmax(worst, fabs((double)got[i] - z[i]) / (1 + fabs(z[i])));
    if (!CHECK(worst < 1e-4))
        fprintf(stderr, "    %d tokens: off by %g\n", n, worst);
    free(z);
    free(next);
}

static void batches(bioinfer_model *model)
{
    struct task *all = run(model, 4096, false), *some = run(model, 24, false);
    struct task *alone = run(model, 1, false);
    CHECK_EQ(all->n_batches, 1);
    CHECK(some->n_batches > 1 && some->n_batches < N_UNITS);
    CHECK_EQ(alone->n_batches, N_UNITS);
    for (int u = 0; u < N_UNITS; u++) {
        const int n = lengths[u];
        const size_t size = (size_t)(n * n * WIDTH) * sizeof(float);
        check_unit(n, all->results[u]);
        CHECK(!memcmp(all->results[u], some->results[u], size));
        CHECK(!memcmp(all->results[u], alone->results[u], size));
    }
    close_task(all);
    close_task(some);
    close_task(alone);
}

/* The unit is told, and the others are computed. */
static void too_many_pairs(bioinfer_model *model)
{
    struct task *t = run(model, 1 << 28, true);
    for (int u = 0; u < N_UNITS; u++)
        CHECK_EQ(t->status[u], u ? 0 : BIOINFER_TOO_LONG);
    for (int u = 1; u < N_UNITS; u++)
        check_unit(lengths[u], t->results[u]);
    close_task(t);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    if (argc < 3 || bioinfer_context_new(&ctx, NULL, &err))
        return 2;
    for (int i = 2; i < argc; i++) {
        const struct bioinfer_model_params mp = {.struct_size = sizeof mp, .device = argv[i]};
        bioinfer_model *model = NULL;
        if (bioinfer_model_open(&model, ctx, argv[1], &mp, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 2;
        }
        batches(model);
        too_many_pairs(model);
        bioinfer_model_close(&model);
    }
    bioinfer_context_free(&ctx);
    return test_report();
}

/* grid_test.c - pairs of tokens through the runner: units of many lengths, in batches and alone.
 *
 *   grid_test MODEL DEVICE... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../engine/tasks/task.h"
#include "../test.h"

enum { WIDTH = 3, LONGEST = 33 };
enum input { Z, N_INPUTS };

static const int lengths[] = {3, 1, 17, 2, 33, 5, 1, 16, 2, 12};
enum { N_UNITS = (int)(sizeof lengths / sizeof *lengths) };

/* A unit is one item, with numbers of its own for each pair. */
struct unit {
    struct bi_unit base;
    struct bi_item item;
    int64_t n; /* tokens */
    float *z, *got;
};

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
    x->z = malloc((size_t)(n * n * WIDTH) * sizeof *x->z);
    x->got = malloc((size_t)(n * n * WIDTH) * sizeof *x->got);
    for (int i = 0; i < n * n * WIDTH; i++)
        x->z[i] = (float)(i + 1000 * n);
    x->item = (struct bi_item){.unit = u,
                               .size = {.n_tokens = n, .n_seqs = 1, .longest = n, .n_grid = n * n},
                               .weight = n};
    if (t->huge && n == lengths[0] && t->next == 1)
        x->item.size.n_grid = INT32_MAX;
    u->items = &x->item;
    u->n_items = 1;
    return 1;
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
    bi_output(g, bi_scale(g, bi_input_rows(g, "z", BI_AXIS_GRID, g->n_grid, WIDTH), 2), 0, -1, "y");
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
    (void)t, (void)input;
    return ((const struct unit *)item->unit)->z;
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
    [Z] = {.name = "z", .axis = BI_AXIS_GRID, .row_size = WIDTH * sizeof(float)}};

static const struct bi_task_def def = {
    .name = "grid",
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

/* Runs all units in batches of so many tokens; the caller closes the task. */
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

/* What a unit of n tokens must give. */
static void check_unit(int64_t n, const float *got)
{
    int wrong = 0;
    for (int64_t i = 0; i < n * n * WIDTH; i++)
        wrong += got[i] != 2 * (float)(i + 1000 * n);
    CHECK_EQ(wrong, 0);
}

static void batches(bioinfer_model *model)
{
    struct task *all = run(model, 4096, false), *some = run(model, 24, false);
    struct task *alone = run(model, 1, false);
    CHECK_EQ(all->n_batches, 1);
    CHECK(some->n_batches > 1 && some->n_batches < N_UNITS);
    CHECK_EQ(alone->n_batches, N_UNITS);
    for (int u = 0; u < N_UNITS; u++) {
        const int64_t n = lengths[u];
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

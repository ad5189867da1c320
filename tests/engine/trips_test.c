/* trips_test.c - stages: their nodes are written and planned once, run as often as they have trips,
 * each on its own input, and give what plain nodes give, with no more memory for more trips. Loops:
 * each runs as often as the count says that it names.
 *
 *   trips_test MODEL DEVICE... */
#include "../../engine/engine.h"
#include "../test.h"

enum { ROWS = 24, WIDTH = 16, VOCAB = 5, MOST = 8 };

/* A program is a stage of so many trips. */
struct stage {
    int64_t trips;
    bool carried; /* a value is changed by each trip as well */
};

/* all: 3 (2 embedding(ids)) of each trip; sum: rows of a value that each trip overwrites. */
static int build(const void *user, const void *shape, struct bi_graph *g,
                 struct bioinfer_error *err)
{
    const struct stage *stage = user;
    bi_value_id x, table, carry = BI_NONE;
    (void)shape, (void)err;
    g->n_tokens = g->longest = stage->trips * ROWS;
    g->n_seqs = 1;
    table = bi_input_rows(g, "table", BI_AXIS_FIXED, VOCAB, WIDTH);
    if (stage->carried)
        carry = bi_scale(g, bi_input_rows(g, "before", BI_AXIS_FIXED, ROWS * MOST, WIDTH), 1);
    bi_trips_begin(g, stage->trips);
    x = bi_embedding(g, table, bi_input_trips(g, "ids", BI_I32, BI_AXIS_FIXED, ROWS));
    x = bi_scale(g, bi_scale(g, x, 2), 3);
    if (stage->carried)
        carry = bi_put_rows(g, carry, x, bi_input_trips(g, "row", BI_I32, BI_AXIS_FIXED, ROWS));
    bi_trips_end(g);
    bi_output(g, bi_scale(g, bi_all_trips(g, x), 0.5F), 0, -1, "all");
    if (stage->carried)
        bi_output(g, bi_scale(g, carry, 1), 0, -1, "carried");
    return 0;
}

static int32_t id_of(int64_t trip, int64_t row)
{
    return (int32_t)((7 * trip + 3 * row) % VOCAB);
}

/* Rows of trips interleave: row r of trip t is row r MOST + t. */
static int wrong_carried(const struct stage *stage, const float *carried)
{
    int wrong = 0;
    for (int64_t i = 0; i < (int64_t)ROWS * MOST * WIDTH; i++) {
        const int64_t row = i / WIDTH, trip = row % MOST;
        const float want = trip < stage->trips
                               ? (float)(6 * (id_of(trip, row / MOST) * WIDTH + i % WIDTH))
                               : -1;
        wrong += carried[i] != want;
    }
    return wrong;
}

/* Runs a program twice; gives the bytes of its activations. */
static uint64_t run(struct bi_exec *x, struct stage stage)
{
    const int64_t shape[] = {stage.trips, stage.carried};
    const struct bi_recipe recipe = {
        .build = build, .user = &stage, .shape = shape, .shape_size = sizeof shape};
    const int32_t n = (int32_t)stage.trips * ROWS;
    const struct bi_exec_batch batch = {.recipe = &recipe,
                                        .counts = {.n_tokens = n, .n_seqs = 1, .longest = n}};
    uint64_t size = 0;
    for (int round = 0; round < 2; round++) {
        struct bioinfer_error err = {0};
        struct bi_exec_slot *s = NULL;
        const float *all;
        int64_t ld;
        int wrong = 0;
        if (!CHECK_EQ(bi_exec_begin(x, &batch, &s, &err), 0)) {
            fprintf(stderr, "    %s\n", err.text);
            return 0;
        }
        size = s->plan->memory.activation_size;
        CHECK_EQ(s->plan->n_inputs, stage.carried ? 4 : 2);
        for (int i = 0; i < VOCAB * WIDTH; i++)
            ((float *)bi_exec_input(s, "table"))[i] = (float)i;
        for (int i = 0; stage.carried && i < ROWS * MOST * WIDTH; i++)
            ((float *)bi_exec_input(s, "before"))[i] = -1;
        for (int64_t t = 0; t < stage.trips; t++)
            for (int32_t r = 0; r < ROWS; r++) {
                ((int32_t *)bi_exec_input_trip(s, "ids", t))[r] = id_of(t, r);
                if (stage.carried)
                    ((int32_t *)bi_exec_input_trip(s, "row", t))[r] = r * MOST + (int32_t)t;
            }
        CHECK_EQ(bi_exec_submit(x, s, NULL), 0);
        CHECK_EQ(bi_exec_wait(x, s, NULL), 0);
        all = bi_exec_output(s, &s->plan->graph->outputs[0], &ld);
        for (int64_t i = 0; i < stage.trips * ROWS * WIDTH; i++) {
            const int32_t id = id_of(i / WIDTH / ROWS, i / WIDTH % ROWS);
            wrong += all[i] != (float)(3 * (id * WIDTH + i % WIDTH));
        }
        CHECK_EQ(wrong, 0);
        if (stage.carried)
            CHECK_EQ(wrong_carried(&stage, bi_exec_output(s, &s->plan->graph->outputs[1], &ld)), 0);
    }
    return size;
}

/* Adds `one` to all rows in a loop of so many trips, beginning with 0. */
static void build_loop(struct bi_graph *g, enum bi_counter trips, bi_value_id one, bi_value_id row)
{
    bi_value_id sum = bi_scale(g, one, 0);
    bi_loop_begin(g, trips);
    sum = bi_put_rows(g, sum, bi_add(g, sum, one), row);
    bi_loop_end(g);
    bi_output(g, bi_scale(g, sum, 1), 0, -1, "sum");
}

static int build_loops(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const bi_value_id one = bi_input_rows(g, "one", BI_AXIS_FIXED, ROWS, WIDTH);
    const bi_value_id row = bi_input(g, "row", BI_I32, BI_AXIS_FIXED, ROWS);
    (void)user, (void)shape, (void)err;
    g->n_tokens = g->longest = ROWS;
    g->n_seqs = 1;
    build_loop(g, BI_COUNTER_n_steps, one, row);
    build_loop(g, BI_COUNTER_n_samples, one, row);
    return 0;
}

/* Runs two loops one behind the other, of other trips. */
static void run_loops(struct bi_exec *x, int32_t n_steps, int32_t n_samples)
{
    const struct bi_recipe recipe = {.build = build_loops};
    const struct bi_exec_batch batch = {.recipe = &recipe,
                                        .counts = {.n_tokens = ROWS,
                                                   .n_seqs = 1,
                                                   .longest = ROWS,
                                                   .n_steps = n_steps,
                                                   .n_samples = n_samples}};
    struct bioinfer_error err = {0};
    struct bi_exec_slot *s = NULL;
    if (!CHECK_EQ(bi_exec_begin(x, &batch, &s, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return;
    }
    for (int i = 0; i < ROWS * WIDTH; i++) {
        ((float *)bi_exec_input(s, "one"))[i] = 1;
        ((int32_t *)bi_exec_input(s, "row"))[i / WIDTH] = i / WIDTH;
    }
    CHECK_EQ(bi_exec_submit(x, s, NULL), 0);
    CHECK_EQ(bi_exec_wait(x, s, NULL), 0);
    for (int k = 0; k < 2; k++) {
        int64_t ld;
        const float *sum = bi_exec_output(s, &s->plan->graph->outputs[k], &ld);
        int wrong = 0;
        for (int i = 0; i < ROWS * WIDTH; i++)
            wrong += sum[i / WIDTH * ld + i % WIDTH] != (float)(k ? n_samples : n_steps);
        CHECK_EQ(wrong, 0);
    }
}

enum { STEP = 3, SEEN = ROWS + STEP * (MOST - 1), HALF = WIDTH / 2 };

/* all: of each trip, rows that begin STEP rows behind those of the one before: embedding(ids) and
 * 2 x side by side in columns, of which the right half is given. */
static int build_steps(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    const int64_t trips = *(const int64_t *)shape;
    bi_value_id x, table, ids, own, scaled;
    (void)user, (void)err;
    g->n_tokens = g->longest = trips * ROWS;
    g->n_seqs = 1;
    table = bi_input_rows(g, "table", BI_AXIS_FIXED, VOCAB, WIDTH);
    ids = bi_input(g, "ids", BI_I32, BI_AXIS_FIXED, SEEN);
    x = bi_input_rows(g, "x", BI_AXIS_FIXED, SEEN, WIDTH);
    scaled = bi_scale(g, x, 2);
    bi_trips_begin(g, trips);
    own = bi_add(g, bi_embedding(g, table, bi_trip_rows(g, ids, STEP, ROWS)),
                 bi_trip_rows(g, scaled, STEP, ROWS));
    own = bi_add(g, own, bi_trip_rows(g, x, STEP, ROWS));
    x = bi_columns(g, bi_trip_rows(g, scaled, STEP, ROWS), HALF, HALF);
    own = bi_add(g, bi_columns(g, own, HALF, HALF), x);
    bi_trips_end(g);
    bi_output(g, bi_scale(g, bi_all_trips(g, own), 1), 0, -1, "all");
    return 0;
}

/* Runs a stage whose trips see parts of a node's value and of inputs, which overlap. */
static void run_steps(struct bi_exec *x, int64_t trips)
{
    const struct bi_recipe recipe = {
        .build = build_steps, .shape = &trips, .shape_size = sizeof trips};
    const int32_t n = (int32_t)trips * ROWS;
    const struct bi_exec_batch batch = {.recipe = &recipe,
                                        .counts = {.n_tokens = n, .n_seqs = 1, .longest = n}};
    struct bioinfer_error err = {0};
    struct bi_exec_slot *s = NULL;
    const float *all;
    int64_t ld;
    int wrong = 0;
    if (!CHECK_EQ(bi_exec_begin(x, &batch, &s, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return;
    }
    for (int i = 0; i < VOCAB * WIDTH; i++)
        ((float *)bi_exec_input(s, "table"))[i] = (float)i;
    for (int i = 0; i < SEEN; i++)
        ((int32_t *)bi_exec_input(s, "ids"))[i] = id_of(1, i);
    for (int i = 0; i < SEEN * WIDTH; i++)
        ((float *)bi_exec_input(s, "x"))[i] = (float)(100 * i);
    CHECK_EQ(bi_exec_submit(x, s, NULL), 0);
    CHECK_EQ(bi_exec_wait(x, s, NULL), 0);
    all = bi_exec_output(s, &s->plan->graph->outputs[0], &ld);
    for (int64_t i = 0; i < trips * ROWS * HALF; i++) {
        const int64_t row = i / HALF / ROWS * STEP + i / HALF % ROWS, c = HALF + i % HALF;
        wrong += all[i / HALF * ld + i % HALF] !=
                 (float)(id_of(1, row) * WIDTH + c + 5 * 100 * (row * WIDTH + c));
    }
    CHECK_EQ(wrong, 0);
}

static void on_device(struct bioinfer_model *model)
{
    const uint64_t rows = ROWS * WIDTH * sizeof(float);
    struct bi_exec *x = NULL;
    uint64_t one, most;
    CHECK_EQ(bi_exec_new(&x, model, 0, NULL), 0);
    one = run(x, (struct stage){1, false});
    run(x, (struct stage){3, false});
    most = run(x, (struct stage){MOST, false});
    CHECK(most <= one + MOST * rows); /* the rows of each trip; all else is one trip's */
    run(x, (struct stage){1, true});
    run(x, (struct stage){MOST, true});
    run_steps(x, 1);
    run_steps(x, 2);
    run_steps(x, MOST);
    run_loops(x, 5, 3);
    run_loops(x, 0, 40);
    run_loops(x, 40, 1);
    bi_exec_free(&x);
}

/* Graphs that are no stages: an error, and which. */
static void refused(void)
{
    static const char *const why[] = {
        "of one trip of 2",        "a stage within a loop", "of 65 trips",
        "all_trips: of a value",   "a phase within a loop", "by steps of 2, 2 trips",
        "is not that of all trips"};
    const struct bi_env env = bi_env_default();
    for (int i = 0; i < (int)BI_COUNT(why); i++) {
        struct bioinfer_error err = {0};
        struct bi_graph *g = NULL;
        bi_value_id x;
        if (!CHECK_EQ(bi_graph_new(&g, &env, &err), 0))
            return;
        g->n_tokens = ROWS;
        bi_trips_begin(g, i == 2 ? BI_TRIPS_MAX + 1 : 2);
        if (i == 1)
            bi_trips_begin(g, 2);
        if (i == 4)
            bi_phase_next(g);
        x = bi_scale(g, bi_input_rows(g, "x", BI_AXIS_FIXED, ROWS, WIDTH), 2);
        if (i == 3)
            x = bi_all_trips(g, x); /* the stage has not ended */
        if (i > 4)                  /* behind the last row; of a value of the stage */
            x = bi_trip_rows(g, i == 5 ? bi_input(g, "r", BI_I32, BI_AXIS_FIXED, ROWS) : x, 2,
                             i == 5 ? ROWS - 1 : ROWS - 2);
        bi_trips_end(g);
        bi_output(g, bi_scale(g, x, 3), 0, -1, "y");
        CHECK(bi_graph_verify(g, &err) != 0);
        CHECK_HAS(err.text, why[i]);
        bi_graph_free(&g);
    }
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    if (argc < 3 || bioinfer_context_new(&ctx, NULL, &err))
        return 2;
    refused();
    for (int i = 2; i < argc; i++) {
        const struct bioinfer_model_params mp = {.struct_size = sizeof mp, .device = argv[i]};
        bioinfer_model *model = NULL;
        if (bioinfer_model_open(&model, ctx, argv[1], &mp, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 2;
        }
        on_device(model);
        bioinfer_model_close(&model);
    }
    bioinfer_context_free(&ctx);
    return test_report();
}

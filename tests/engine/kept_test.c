/* kept_test.c - kept values: programs give and take them, whole and in part; where memory of the
 * device does not do they lie on the host, and the numbers are the same.
 *
 *   kept_test MODEL DEVICE... */
#include <string.h>

#include "../../engine/engine.h"
#include "../test.h"

/* Large enough that a GPU uploads it in a stream of its own. */
enum { ROWS = 8208, WIDTH = 8, N = ROWS * WIDTH, SIZE = N * (int)sizeof(float) };

/* y = 2 x stays on the device, z = 3 x does not. */
static int build_giver(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    bi_value_id x, z;
    (void)user, (void)shape, (void)err;
    g->n_tokens = g->longest = ROWS;
    g->n_seqs = 1;
    x = bi_input_rows(g, "x", BI_AXIS_FIXED, ROWS, WIDTH);
    z = bi_scale(g, x, 3);
    bi_output_kept(g, bi_scale(g, x, 2), "y");
    bi_output(g, z, 0, -1, "z");
    return 0;
}

/* y + b */
static int build_taker(const void *user, const void *shape, struct bi_graph *g,
                       struct bioinfer_error *err)
{
    bi_value_id y;
    (void)user, (void)shape, (void)err;
    g->n_tokens = g->longest = ROWS;
    g->n_seqs = 1;
    y = bi_input_kept(g, "y", BI_AXIS_FIXED, ROWS, WIDTH);
    bi_output(g, bi_add(g, y, bi_input_rows(g, "b", BI_AXIS_FIXED, ROWS, WIDTH)), 0, -1, "sum");
    return 0;
}

static const struct bi_recipe giver = {.build = build_giver};
static const struct bi_recipe taker = {.build = build_taker};

static struct bi_exec_slot *begin(struct bi_exec *x, const struct bi_recipe *recipe)
{
    const struct bi_exec_batch batch = {.recipe = recipe,
                                        .counts = {.n_tokens = ROWS, .n_seqs = 1, .longest = ROWS}};
    struct bioinfer_error err = {0};
    struct bi_exec_slot *slot = NULL;
    if (!CHECK_EQ(bi_exec_begin(x, &batch, &slot, &err), 0))
        fprintf(stderr, "    %s\n", err.text);
    return slot;
}

static const float *finish(struct bi_exec *x, struct bi_exec_slot *s, int output)
{
    int64_t ld;
    CHECK_EQ(bi_exec_submit(x, s, NULL), 0);
    CHECK_EQ(bi_exec_wait(x, s, NULL), 0);
    return bi_exec_output(s, &s->plan->graph->outputs[output], &ld);
}

/* Fills a batch that gives rows of y, which are 2 (first + i), to the beginning of a kept value. */
static struct bi_exec_slot *begin_give(struct bi_exec *x, struct bi_kept *kept, float first,
                                       int row, int n_rows)
{
    struct bi_exec_slot *s = begin(x, &giver);
    const uint64_t row_size = WIDTH * sizeof(float);
    float *in = bi_exec_input(s, "x");
    for (int i = 0; i < N; i++)
        in[i] = first + (float)i;
    bi_kept_give(s, &s->plan->graph->outputs[0], (uint64_t)row * row_size, kept, 0,
                 (uint64_t)n_rows * row_size);
    CHECK(s->plan->memory.download_size < s->plan->memory.output_size);
    return s;
}

static void give(struct bi_exec *x, struct bi_kept *kept, float first, int row, int n_rows)
{
    const float *z = finish(x, begin_give(x, kept, first, row, n_rows), 1);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += z[i] != 3 * (first + (float)i);
    CHECK_EQ(wrong, 0);
}

/* Takes a whole kept value and, in place of rows [row, row + n_rows), those of a patch; adds 1. */
static void take(struct bi_exec *x, struct bi_kept *kept, struct bi_kept *patch, int row,
                 int n_rows, float *got)
{
    struct bi_exec_slot *s = begin(x, &taker);
    const uint64_t row_size = WIDTH * sizeof(float);
    float *in = bi_exec_input(s, "b");
    CHECK(s->plan->memory.upload_size < s->plan->memory.input_size);
    CHECK(!bi_exec_input(s, "y"));
    for (int i = 0; i < N; i++)
        in[i] = 1;
    bi_kept_take(s, "y", 0, kept, 0, SIZE);
    bi_kept_take(s, "none", 0, kept, 0, SIZE); /* is passed over */
    if (patch)
        bi_kept_take(s, "y", (uint64_t)row * row_size, patch, 0, (uint64_t)n_rows * row_size);
    memcpy(got, finish(x, s, 0), SIZE);
}

/* Whole and patched, as often as asked for: the numbers that must come. */
static void check(struct bi_exec *x, struct bi_kept *kept, struct bi_kept *patch)
{
    static float got[N];
    int wrong = 0;
    take(x, kept, NULL, 0, 0, got);
    for (int i = 0; i < N; i++)
        wrong += got[i] != (float)(2 * i + 1);
    CHECK_EQ(wrong, 0);
    take(x, kept, patch, 4, 3, got);
    for (int i = 0; i < N; i++) {
        const bool patched = i / WIDTH >= 4 && i / WIDTH < 7;
        /* the patch is rows 5 to 7 of the numbers from 1,000 on */
        wrong += got[i] != (float)(patched ? 2 * (1000 + i + WIDTH) + 1 : 2 * i + 1);
    }
    CHECK_EQ(wrong, 0);
}

/* A value is given and taken while neither batch is waited for. */
static void in_flight(struct bioinfer_model *model)
{
    struct bi_exec *x = NULL;
    struct bi_kept *kept;
    CHECK_EQ(bi_exec_new(&x, model, 0, NULL), 0);
    CHECK_EQ(bi_kept_new(&kept, x, SIZE, NULL), 0);
    give(x, kept, 5, 0, ROWS); /* plans and blocks are there from now on */
    for (int round = 0; round < 3; round++) {
        struct bi_exec_slot *from = begin_give(x, kept, (float)round, 0, ROWS), *to;
        const float *sum;
        float *in;
        int64_t ld;
        int wrong = 0;
        CHECK_EQ(bi_exec_submit(x, from, NULL), 0);
        if (!(to = begin(x, &taker)))
            break;
        in = bi_exec_input(to, "b");
        for (int i = 0; i < N; i++)
            in[i] = 1;
        bi_kept_take(to, "y", 0, kept, 0, SIZE);
        CHECK_EQ(bi_exec_submit(x, to, NULL), 0);
        CHECK_EQ(bi_exec_wait(x, from, NULL), 0);
        CHECK_EQ(bi_exec_wait(x, to, NULL), 0);
        sum = bi_exec_output(to, &to->plan->graph->outputs[0], &ld);
        for (int i = 0; i < N; i++)
            wrong += sum[i] != (float)(2 * (round + i) + 1);
        CHECK_EQ(wrong, 0);
    }
    bi_exec_free(&x);
}

static void make_both(struct bi_exec *x, struct bi_kept **kept, struct bi_kept **patch)
{
    CHECK_EQ(bi_kept_new(kept, x, SIZE, NULL), 0);
    CHECK_EQ(bi_kept_new(patch, x, SIZE / 8, NULL), 0);
    give(x, *kept, 0, 0, ROWS);
    give(x, *patch, 1000, 5, 3);
}

/* The bytes that the larger of both programs takes alone. */
static int64_t alone(const struct bi_exec *x)
{
    uint64_t most = 0;
    for (int i = 0; i < BI_PLAN_CACHE; i++) {
        const struct bi_memory_plan *m = x->plans[i] ? &x->plans[i]->memory : NULL;
        const uint64_t size = !m ? 0
                                 : m->activation_size + m->input_size + m->output_size +
                                       m->upload_size + m->download_size;
        most = size > most ? size : most;
    }
    return (int64_t)most;
}

/* On the device: nothing is allocated again, and a block that is freed serves the next of its
 * size. */
static int64_t on_the_device(struct bioinfer_model *model)
{
    struct bi_exec *x = NULL;
    struct bi_kept *kept, *patch, *other, *was;
    uint64_t allocations;
    int64_t limit;
    CHECK_EQ(bi_exec_new(&x, model, 0, NULL), 0);
    make_both(x, &kept, &patch);
    check(x, kept, patch);
    CHECK(kept->device.ptr && !kept->host);
    CHECK_EQ(x->kept_size, kept->device.size + patch->device.size);
    allocations = x->profile.allocations;
    for (int i = 0; i < 4; i++) {
        was = kept;
        bi_kept_free(x, &kept);
        bi_kept_free(x, &patch);
        CHECK(!kept);
        make_both(x, &kept, &patch);
        CHECK(kept == was);
        check(x, kept, patch);
    }
    CHECK_EQ(x->profile.allocations, allocations);
    CHECK_EQ(bi_kept_new(&other, x, SIZE, NULL), 0); /* both are somebody's */
    CHECK(other != kept && other != patch);
    limit = alone(x);
    bi_kept_free(x, &other);
    x->memory_limit = (uint64_t)limit; /* from now on: those that are there move to the host */
    check(x, kept, patch);
    CHECK(!kept->device.ptr && kept->host && !patch->device.ptr && patch->host);
    CHECK_EQ(x->kept_size, 0);
    bi_exec_free(&x);
    return limit;
}

/* A limit that does for each program alone. */
static void on_the_host(struct bioinfer_model *model, int64_t limit)
{
    struct bi_exec *x = NULL;
    struct bi_kept *kept, *patch;
    CHECK_EQ(bi_exec_new(&x, model, limit, NULL), 0);
    for (int i = 0; i < 2; i++) {
        make_both(x, &kept, &patch);
        check(x, kept, patch);
        CHECK(kept->host && patch->host);
        bi_kept_free(x, &kept);
        bi_kept_free(x, &patch);
    }
    bi_exec_free(&x);
}

static void too_many(struct bioinfer_model *model)
{
    struct bioinfer_error err = {0};
    struct bi_exec *x = NULL;
    struct bi_exec_slot *s;
    struct bi_kept *kept;
    CHECK_EQ(bi_exec_new(&x, model, 0, NULL), 0);
    CHECK_EQ(bi_kept_new(&kept, x, SIZE, NULL), 0);
    s = begin(x, &taker);
    for (int i = 0; i <= BI_EXEC_COPIES; i++)
        bi_kept_take(s, "y", 0, kept, 0, SIZE);
    CHECK_EQ(bi_exec_submit(x, s, &err), BIOINFER_INTERNAL);
    CHECK_HAS(err.text, "copies of kept values");
    CHECK_EQ(s->state, BI_SLOT_IDLE);
    bi_exec_free(&x);
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
        on_the_host(model, on_the_device(model));
        in_flight(model);
        too_many(model);
        bioinfer_model_close(&model);
    }
    bioinfer_context_free(&ctx);
    return test_report();
}

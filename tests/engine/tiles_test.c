/* tiles_test.c - windows in tiles: as many as a task is told, or as its memory asks for, give the
 * bytes of a window computed whole, in every output of every organism, also where features are kept
 * for changed windows. More tiles take less memory, one plan, and launches as often as they are.
 *
 *     tiles_test WEIGHTS WINDOW.fasta [PRECISION]
 *
 * With EMULATED on emulated GPUs. In fp16, which has no junctions, on one of them. */
#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../../tasks/tracks.h"
#include "../test.h"
#include "../windows.h"

#if EMULATED
#include "../gpu/emu_backend.h"

static const struct bi_backend_ops *const backends[] = {&emu_nvidia, &emu_cdna, &emu_rdna};
static const int counts[] = {1, 8}, anew[] = {4};
#else
static const struct bi_backend_ops *const backends[] = {&bi_backend_cpu};
static const int counts[] = {1, 2, 8}, anew[] = {2, 3, 4};
#endif

/* The outputs that are run: all of a window; those but for junctions, or their sums and those of
 * logarithms; and all bins of changed windows beside it. */
enum what { ALL, BINS, SUMS, CHANGED };

enum { CHANGES = 2 };

static char *window, *changed[CHANGES];

/* Values and sizes of a run; sizes are those of the plan with the most launches. */
struct got {
    float *values; /* [1 + changes, n_values] */
    size_t size;   /* bytes of them */
    size_t n_plans, n_launches;
    uint64_t activations, blocks; /* bytes; blocks: of all that counts against the limit */
    int n_tiles[BI_TILED], status;
    bool anew;
};

/* Lists the outputs of an organism that are run. */
static int list_outputs(const struct bi_tracks *t, int organism, enum what what,
                        struct bioinfer_tracks_output *outputs)
{
    int n = 0;
    for (int i = 0; i < t->n_heads; i++)
        if (t->heads[i].trunk == organism &&
            (what == ALL || t->heads[i].kind != BIOINFER_JUNCTIONS))
            outputs[n++] = (struct bioinfer_tracks_output){.name = t->heads[i].name};
    return n;
}

/* Notes what the plan with the most launches takes. */
static void note_plans(const struct bi_tracks_task *s, struct got *got)
{
    for (int i = 0; i < BI_PLAN_CACHE; i++) {
        const struct bi_plan *p = s->task.exec->plans[i];
        got->n_plans += p != NULL;
        if (p && p->n_launches > got->n_launches) {
            const struct bi_memory_plan *m = &p->memory;
            got->n_launches = p->n_launches;
            got->activations = m->activation_size;
            got->blocks = m->activation_size + m->input_size + m->output_size + m->upload_size +
                          m->download_size;
        }
    }
    memcpy(got->n_tiles, s->n_tiles, sizeof got->n_tiles);
    got->anew = s->anew;
}

/* n_tiles: less than 0, so many that make features anew. limit: of memory, beside the weights; 0 =
 * none. */
static struct got run(const bioinfer_model *model, int organism, enum what what, int n_tiles,
                      uint64_t limit)
{
    struct bioinfer_tracks_output outputs[BI_TRACKS_HEADS];
    struct bioinfer_tracks_params p = {.struct_size = sizeof p,
                                       .outputs = outputs,
                                       .sums = what == SUMS ? BIOINFER_SUMS_AND_LOGS
                                                            : BIOINFER_NO_SUMS,
                                       .memory_limit = (int64_t)limit};
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    const size_t n = what == CHANGED ? CHANGES : 0;
    struct bioinfer_error err = {0};
    bioinfer_task *t = NULL;
    struct got got = {0};
    p.n_outputs = list_outputs(model->base.tracks, organism, what, outputs);
    if (!CHECK(p.n_outputs > 0) || !CHECK_EQ(bioinfer_tracks_open(&t, model, &p, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        exit(1);
    }
    for (int i = 0; i < BI_TILED; i++)
        ((struct bi_tracks_task *)t)->n_tiles[i] = abs(n_tiles);
    ((struct bi_tracks_task *)t)->anew = n_tiles < 0;
    bioinfer_tracks_get_info(t, &info);
    got.size = (1 + n) * (size_t)info.n_values * sizeof *got.values;
    got.values = calloc(1, got.size);
    got.status = test_run_window(t, window, (const char *const *)changed, n, got.values, &err);
    note_plans((struct bi_tracks_task *)t, &got);
    bioinfer_task_close(&t);
    return got;
}

static void check_same(const struct got *a, const struct got *b)
{
    CHECK_EQ(b->status, 0);
    CHECK_EQ(b->size, a->size);
    CHECK(!memcmp(a->values, b->values, a->size));
}

/* Tiles as a task is told. */
static void check_counts(const bioinfer_model *model, int organism, enum what what)
{
    struct got got[BI_COUNT(counts)];
    for (size_t i = 0; i < BI_COUNT(counts); i++) {
        got[i] = run(model, organism, what, counts[i], 0);
        check_same(&got[0], &got[i]);
        CHECK_EQ(got[i].n_plans, got[0].n_plans);
        if (i)
            CHECK(got[i].n_launches > got[i - 1].n_launches);
        if (i > 1) /* the same for each tile more */
            CHECK_EQ((got[i].n_launches - got[1].n_launches) % (size_t)(counts[i] - counts[1]), 0);
        if (what != CHANGED)
            CHECK_EQ(got[i].n_plans, 1);
    }
    for (size_t i = 0; i < BI_COUNT(anew) && what != CHANGED; i++) {
        struct got again = run(model, organism, what, -anew[i], 0);
        check_same(&got[0], &again);
        CHECK_EQ(again.n_plans, 1);
        CHECK(again.anew && again.n_launches > got[0].n_launches);
        free(again.values);
    }
    for (size_t i = 0; i < BI_COUNT(counts); i++)
        free(got[i].values);
}

/* Tiles as memory asks for. */
static void check_limits(const bioinfer_model *model, int organism, enum what what)
{
    struct got whole = run(model, organism, what, 0, 0);
    struct got eight = run(model, organism, what, 8, 0);
    struct got four_anew = run(model, organism, what, -4, 0);
    struct got got;
    CHECK_EQ(whole.n_tiles[BI_TILED_WINDOW], 0);
    got = run(model, organism, what, 0, whole.blocks);
    check_same(&whole, &got);
    CHECK_EQ(got.n_tiles[BI_TILED_WINDOW], 0);
    free(got.values);
    got = run(model, organism, what, 0, whole.blocks - 1);
    check_same(&whole, &got);
    CHECK_EQ(got.n_tiles[BI_TILED_WINDOW], 2);
    free(got.values);
    got = run(model, organism, what, 0, eight.blocks);
    check_same(&whole, &got);
    CHECK_EQ(got.n_tiles[BI_TILED_WINDOW], 8);
    free(got.values);
    CHECK(!got.anew);
    CHECK(four_anew.blocks < eight.blocks);
    got = run(model, organism, what, 0, four_anew.blocks); /* more tiles would not be smaller */
    check_same(&whole, &got);
    CHECK(got.anew);
    CHECK_EQ(got.n_tiles[BI_TILED_WINDOW], 4);
    free(got.values);
    got = run(model, organism, what, 0, four_anew.blocks - 1); /* here neither */
    CHECK_EQ(got.status, BIOINFER_TOO_LONG);
    CHECK_EQ(got.n_tiles[BI_TILED_WINDOW], 4);
    free(got.values);
    free(four_anew.values);
    free(whole.values);
    free(eight.values);
}

/* The same of changed windows, whose programs are others: features are kept, or in the end all
 * windows are computed whole. */
static void check_limits_of_changes(const bioinfer_model *model, int organism)
{
    struct got whole = run(model, organism, CHANGED, 0, 0);
    struct got eight = run(model, organism, BINS, 8, 0);
    const uint64_t limits[] = {whole.blocks - 1, whole.blocks / 8 * 7, whole.blocks / 4 * 3,
                               eight.blocks};
    int rest = 0;
    for (size_t i = 0; i < BI_COUNT(limits); i++) {
        struct got got = run(model, organism, CHANGED, 0, limits[i]);
        check_same(&whole, &got);
        rest |= got.n_tiles[BI_TILED_REST] > 1 && !got.n_tiles[BI_TILED_WINDOW];
        if (limits[i] == eight.blocks)
            CHECK_EQ(got.n_tiles[BI_TILED_WINDOW], 8);
        free(got.values);
    }
    CHECK(rest); /* tiles alone did in one of these */
    free(whole.values);
    free(eight.values);
}

static int read_window(bioinfer_context *ctx, const char *path, struct bioinfer_error *err)
{
    bioinfer_reader *reader = NULL;
    struct bioinfer_record record;
    if (bioinfer_reader_open(&reader, ctx, path, NULL, err) ||
        bioinfer_reader_next(reader, &record, err) != 1)
        return 1;
    window = malloc(record.length);
    memcpy(window, record.sequence, record.length);
    for (size_t i = 0; i < CHANGES; i++) {
        const size_t at = i ? record.length / 2 : 3;
        changed[i] = malloc(record.length);
        memcpy(changed[i], window, record.length);
        changed[i][at] = window[at] == 'G' ? 'T' : 'G';
    }
    bioinfer_reader_close(&reader);
    return 0;
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    struct bioinfer_model_params p = {.struct_size = sizeof p};
    struct bioinfer_context_params cp = {.struct_size = sizeof cp, .n_threads = 1};
    bioinfer_context *ctx = NULL;
    if (argc != 3 && argc != 4)
        return 2;
    p.precision = argc > 3 ? argv[3] : NULL;
    if (bioinfer_context_new(&ctx, &cp, &err) || read_window(ctx, argv[2], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (size_t b = 0; b < BI_COUNT(backends); b++) {
        struct bioinfer_model *model = NULL;
        if (!CHECK_EQ(bi_model_open_on(&model, ctx, argv[1], &p, backends[b], &err), 0)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        if (model->half && !b)
            check_counts(model, 1, BINS);
        /* emulation is slow: one of three on each GPU */
        for (int organism = 0; organism < 2; organism++)
            if (!model->half && (!EMULATED || (int)b == 2 * organism))
                check_counts(model, organism, ALL);
        if (!model->half && (!EMULATED || b == 1)) {
            check_counts(model, 0, CHANGED);
            check_counts(model, 1, SUMS);
        }
        if (!EMULATED) {
            check_limits(model, 0, ALL);
            check_limits(model, 0, SUMS);
            check_limits_of_changes(model, 0);
        }
        bioinfer_model_close(&model);
    }
    free(window);
    for (int i = 0; i < CHANGES; i++)
        free(changed[i]);
    bioinfer_context_free(&ctx);
    return test_report();
}

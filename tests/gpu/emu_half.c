/* emu_half.c - AlphaGenome with precision fp16 on emulated GPUs: near float32 of the CPU. It is the
 * default where the GPU has such products. A run with junctions is in float32 then, and says so; it
 * is refused where fp16 was asked for.
 *
 *   emu_half WEIGHTS WINDOW.fasta */
#include <math.h>

#include "../../engine/engine.h"
#include "../../lib/lib.h"
#include "../test.h"
#include "../windows.h"
#include "emu_backend.h"

static const struct bi_backend_ops *const backends[] = {&emu_nvidia, &emu_cdna, &emu_rdna};

static struct bioinfer_model *open_on(bioinfer_context *ctx, const char *weights,
                                      const struct bi_backend_ops *ops, const char *precision)
{
    struct bioinfer_model_params p = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                     .precision = precision);
    struct bioinfer_error err = {0};
    bioinfer_model *model = NULL;
    CHECK_EQ(bi_model_open_on(&model, ctx, weights, &p, ops, &err), 0);
    return model;
}

/* The values of the window, [bins, tracks]; NULL where the task is refused. */
static float *values_of(const struct bioinfer_model *model, const char *head, const char *s,
                        int64_t *n, struct bioinfer_error *err)
{
    struct bioinfer_tracks_params p = {.struct_size = sizeof p, .head = head};
    struct bioinfer_tracks_info info = {.struct_size = sizeof info};
    bioinfer_task *t = NULL;
    float *y = NULL;
    if (bioinfer_tracks_open(&t, model, &p, err))
        return NULL;
    bioinfer_tracks_get_info(t, &info);
    *n = info.n_bins * info.n_tracks;
    if (CHECK((y = calloc((size_t)*n, sizeof *y)) != NULL))
        CHECK_EQ(test_run_window(t, s, NULL, 0, y, err), 0);
    bioinfer_task_close(&t);
    return y;
}

static void check_head(bioinfer_context *ctx, const char *weights, const char *s, const char *head,
                       double gate)
{
    struct bioinfer_error err = {0};
    struct bioinfer_model *cpu = open_on(ctx, weights, &bi_backend_cpu, NULL);
    int64_t n = 0;
    float *want = values_of(cpu, head, s, &n, &err);
    for (size_t b = 0; want && b < BI_COUNT(backends); b++) {
        struct bioinfer_model *gpu = open_on(ctx, weights, backends[b], "fp16");
        float *got = values_of(gpu, head, s, &n, &err);
        double off = 0, all = 0;
        for (int64_t i = 0; CHECK(got != NULL) && i < n; i++) {
            off += pow((double)got[i] - (double)want[i], 2);
            all += pow((double)want[i], 2);
        }
        printf("%s, %s: relative L2 %.1e\n", head, backends[b]->name, sqrt(off / all));
        CHECK(sqrt(off / all) <= gate);
        CHECK(off > 0); /* it was not float32 */
        free(got);
        bioinfer_model_close(&gpu);
    }
    free(want);
    bioinfer_model_close(&cpu);
}

static char named[256]; /* the last text that was named */

static void hear(void *user, int level, const char *text)
{
    (void)user;
    if (level == BIOINFER_LOG_NAMED)
        snprintf(named, sizeof named, "%s", text);
}

/* Nothing was said of a precision: tracks come in fp16, junctions in fp32, by name. */
static void check_default(bioinfer_context *ctx, const char *weights, const char *s)
{
    static const char *const heads[] = {"human.chip_tf.128", "human.splice_junctions.1"};
    struct bioinfer_error err = {0};
    struct bioinfer_model *wide = open_on(ctx, weights, &emu_nvidia, "fp32");
    struct bioinfer_model *usual = open_on(ctx, weights, &emu_nvidia, NULL);
    CHECK(!wide->half && usual->half && !strcmp(bi_model_precision(usual), "fp16"));
    for (int i = 0; i < 2; i++) {
        int64_t n = 0;
        float *want = values_of(wide, heads[i], s, &n, &err);
        float *got = (named[0] = 0, values_of(usual, heads[i], s, &n, &err));
        if (CHECK(want && got))
            CHECK_EQ(!memcmp(want, got, (size_t)n * sizeof *want), i);
        CHECK_EQ(strstr(named, "human.splice_junctions.1: this run is computed in fp32") != NULL,
                 i);
        free(want);
        free(got);
    }
    bioinfer_model_close(&wide);
    bioinfer_model_close(&usual);
}

int main(int argc, char **argv)
{
    struct bioinfer_error err = {0};
    struct bioinfer_context_params cp = BIOINFER_PARAMS(struct bioinfer_context_params,
                                                        .log = hear);
    bioinfer_context *ctx = NULL;
    struct bioinfer_model *model;
    struct bioinfer_record record;
    bioinfer_reader *reader = NULL;
    char *s;
    float *got;
    int64_t n;
    if (argc != 3)
        return 2;
    if (bioinfer_context_new(&ctx, &cp, &err) ||
        bioinfer_reader_open(&reader, ctx, argv[2], NULL, &err) ||
        bioinfer_reader_next(reader, &record, &err) != 1) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    s = malloc(record.length + 1);
    memcpy(s, record.sequence, record.length);
    s[record.length] = 0;
    bioinfer_reader_close(&reader);
    check_head(ctx, argv[1], s, "human.contact_maps.2048", 5e-3);
    check_head(ctx, argv[1], s, "human.chip_tf.128", 5e-3);
    model = open_on(ctx, argv[1], &emu_nvidia, "fp16");
    got = values_of(model, "human.splice_junctions.1", s, &n, &err);
    CHECK(!got);
    CHECK_HAS(err.text, "human.splice_junctions.1 is computed in fp32");
    bioinfer_model_close(&model);
    check_default(ctx, argv[1], s);
    free(s);
    bioinfer_context_free(&ctx);
    return test_report();
}

/* flush_test.c - attention whose weights are mostly small: one key has a score 11 above all others,
 * which together hold 3 % of the sum. Their weights, e^-11 of the largest, are no normal float16,
 * and the matrix unit of CDNA 2 takes others for zero (target cdna2 of the emulation). */
#include <math.h>

#include "kernels/emu/emu.h"
#include "kernels/gpu/gpu_entries.h"
#include "base/dtype.h"
#include "../test.h"

enum { KEYS = 2048, QUERIES = 64, MOST_WIDTH = 192 };

static const struct bi_emu_target *const targets[] = {&bi_emu_nvidia, &bi_emu_cdna, &bi_emu_cdna2,
                                                      &bi_emu_rdna};

static uint16_t q[KEYS * MOST_WIDTH], k[KEYS * MOST_WIDTH], v[KEYS * MOST_WIDTH],
    y[KEYS * MOST_WIDTH], r[(2 * KEYS - 1) * MOST_WIDTH];
static float zeros[MOST_WIDTH];

/* Key 0 has the score and value zero, the others have score zero and value one: all results are the
 * sum of the small weights over the sum of all. */
static void fill(int keys, int key_width, int value_width)
{
    const uint16_t one = bi_f32_to_f16(1);
    memset(q, 0, sizeof q);
    memset(k, 0, sizeof k);
    for (int i = 0; i < keys; i++)
        q[i * key_width] = bi_f32_to_f16(11);
    k[0] = one;
    for (int i = 0; i < keys * value_width; i++)
        v[i] = i < value_width ? 0 : one;
    memset(y, 0xff, sizeof y);
}

static void check(const char *name, const void *params, int rows, int width)
{
    const double want = (KEYS - 1) / (exp(11) + KEYS - 1);
    const struct bi_gpu_entry *e = bi_gpu_entries;
    while (strcmp(e->name, name))
        e++;
    for (size_t t = 0; t < BI_COUNT(targets); t++) {
        struct bi_emu_launch l = {.params = params,
                                  .wave = targets[t]->wave,
                                  .flushes = targets[t]->flushes,
                                  .grid = {1, 1},
                                  /* 64 queries of a head */ .block = e->threads,
                                  .shared_size = e->shared,
                                  .seed = 1};
        double worst = 0;
        for (const struct bi_emu_kernel *kernel = targets[t]->kernels; kernel->name; kernel++)
            if (!strcmp(kernel->name, name))
                l.run = kernel->run;
        CHECK_STR(bi_emu_run(&l) ? "failed" : "ran", "ran");
        for (int i = 0; i < rows * width; i++)
            worst = fmax(worst, fabs((double)bi_f16_to_f32(y[i]) / want - 1));
        printf("%-24s %-7s worst relative error %.1e\n", name, targets[t]->name, worst);
        /* the weights have 7 bits where they are not shifted, and 11 where they are */
        if (!CHECK(worst < (targets[t]->wave == 64 ? 1e-3 : 5e-3)))
            fprintf(stderr, "    %s on %s: off by %.1e\n", name, targets[t]->name, worst);
    }
}

int main(void)
{
    static const struct {
        const char *name;
        int width;
        bool bias;
    } cases[] = {{"attention_d16_f16", 16, false},     {"attention_d32_f16", 32, false},
                 {"attention_d64_f16", 64, false},     {"attention_d128_f16", 128, false},
                 {"attention_bias_d64_f16", 64, true}, {"attention_bias_d128_f16", 128, true}};
    static const int32_t start[] = {0, KEYS};
    const struct bi_counts counts = {
        .n_tokens = KEYS, .n_seqs = 1, .n_rows = KEYS, .longest = KEYS};
    test_name = "flush";
    for (size_t i = 0; i < BI_COUNT(cases); i++) {
        const int w = cases[i].width;
        const struct bi_attention_params p = {.counts = &counts,
                                              .start = start,
                                              .q = (void *)q,
                                              .k = (void *)k,
                                              .v = (void *)v,
                                              .y = (void *)y,
                                              .ldq = w,
                                              .ldk = w,
                                              .ldv = w,
                                              .ldy = w,
                                              .n_heads = 1,
                                              .head_dim = w,
                                              .scale = 1,
                                              .reach = cases[i].bias,
                                              .bias = cases[i].bias ? zeros : NULL,
                                              .axis = BI_AXIS_TOKENS,
                                              .seqs = BI_AXIS_SEQS};
        fill(KEYS, w, w);
        check(cases[i].name, &p, QUERIES, w);
    }
    const struct bi_rel_attention_params p = {.counts = &counts,
                                              .q = (void *)q,
                                              .k = (void *)k,
                                              .v = (void *)v,
                                              .r = (void *)r,
                                              .u = zeros,
                                              .w = zeros,
                                              .y = (void *)y,
                                              .ldq = 64,
                                              .ldk = 64,
                                              .ldv = 192,
                                              .ldr = 64,
                                              .ldy = 192,
                                              .n = KEYS,
                                              .n_queries = QUERIES,
                                              .n_heads = 1,
                                              .key_dim = 64,
                                              .value_dim = 192,
                                              .n_windows = 1,
                                              .scale = 1};
    fill(KEYS, 64, 192);
    check("rel_attention_f16", &p, QUERIES, 192);
    return test_report();
}

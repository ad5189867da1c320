/* windows.c - cases of overlapping rows: a linear layer whose row stride is shorter than its
 * rows, which is a convolution; checked as one, tap by tap. */
#include "checkkernel.h"
#include "kernels/linear.h"

static void conv_reference(const void *params)
{
    const struct bi_linear_params *p = params;
    const float *w = p->w;
    const int32_t channels = (int32_t)p->ldx;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t j = 0; j < p->n; j++) {
            double sum = (double)p->bias[j];
            for (int32_t tap = 0; tap < p->k / channels; tap++)
                for (int32_t c = 0; c < channels; c++)
                    sum += (double)p->x[(r + tap) * channels + c] *
                           (double)w[(int64_t)j * p->k + tap * channels + c];
            p->y[r * p->ldy + j] = (float)sum;
        }
}

static void check(struct ck *ck, const struct ck_lengths *one, int rows, int channels, int taps,
                  int n, const char *note)
{
    typedef struct bi_linear_params T;
    T p = {.axis = BI_AXIS_FIXED, .n = n, .k = taps * channels, .rows = rows, .ldx = channels};
    ck_check(ck, &(struct ck_case){
                     .entry = "linear",
                     .reference = conv_reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .arrays =
                         {
                             {CK_PLAIN(T, x), CK_IN, BI_AXIS_FIXED, .rows = rows + taps - 1,
                              .width = channels},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED, .rows = rows, .width = n},
                             {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = n,
                              .width = taps * channels, .scale = 0.1},
                             {CK_PLAIN(T, bias), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = n},
                         },
                     .lengths = one->of,
                     .n_seqs = one->n,
                     .absolute = 2e-5,
                     .relative = 2e-5,
                     .nmse = 1e-11,
                     .flops = 2.0 * rows * n * taps * channels,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t lengths[] = {1, -1};
    struct ck_lengths one = ck_lengths_of(lengths);
    if (ck_bench(ck)) {
        check(ck, &one, 3072, 768, 5, 768, "3072 x 768, 5 taps");
        check(ck, &one, 16384, 4, 15, 768, "16384 x 4, 15 taps");
        check(ck, &one, 98304, 8, 15, 768, "98304 x 8, 15 taps");
        return;
    }
    check(ck, &one, 300, 96, 5, 288, "large");
    check(ck, &one, 200, 67, 5, 257, "large, odd");
    check(ck, &one, 100, 4, 15, 48, "stem");
    check(ck, &one, 33, 8, 15, 64, "whole vectors"); /* from here on also Hopper's */
    check(ck, &one, 300, 8, 15, 72, "stem in 16 bytes a base");
    check(ck, &one, 130, 56, 5, 40, "the widest of narrow ones");
    check(ck, &one, 150, 64, 5, 70, "a slice of k to a tap");
    check(ck, &one, 70, 96, 3, 40, "a slice and a half to a tap");
    for (int i = 0; i < 25; i++)
        check(ck, &one, (int)ck_random(ck, 1, 70), (int)ck_random(ck, 1, 40),
              (int)ck_random(ck, 1, 9), (int)ck_random(ck, 1, 70), "random");
    for (int i = 0; i < 12; i++)
        check(ck, &one, (int)ck_random(ck, 1, i % 3 ? 70 : 300), 8 * (int)ck_random(ck, 1, 8),
              (int)ck_random(ck, 2, 19), 8 * (int)ck_random(ck, 1, 20), "random, in eights");
}

const struct ck_op ck_windows = {.stem = "windows", .cases = cases};

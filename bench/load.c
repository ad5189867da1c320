/* load.c - what the checksum of the weights costs, as a share of loading them.
 *
 *     load MODEL [ROUNDS]
 *
 * A round opens the model, loads what mean embeddings take and asks for the fingerprint; then it
 * makes checksums of as many floats again, a piece in a core's cache at a time, as it is there when
 * a load has read it. Both are times that threads spent on a CPU, so other load on the machine
 * counts little; the smallest of all rounds is told. */
#define _POSIX_C_SOURCE 200809L

#include "bioinfer.h"
#include "kernels/checksum.h"
#include "kernels/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIECE = 1 << 18 }; /* floats: as engine/store.c reads them */

static double cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of one load; 0 after an error. */
static double load(const char *path, int64_t *n_floats)
{
    struct bioinfer_model_params params = BIOINFER_PARAMS(struct bioinfer_model_params,
                                                          .device = "cpu");
    struct bioinfer_embed_params what = BIOINFER_PARAMS(struct bioinfer_embed_params,
                                                        .include = BIOINFER_MEAN);
    struct bioinfer_model_info info = {.struct_size = sizeof info};
    struct bioinfer_error err = {0};
    bioinfer_context *ctx = NULL;
    bioinfer_model *model = NULL;
    bioinfer_task *task = NULL;
    const char *text = "";
    double seconds = cpu_time();
    int st = bioinfer_context_new(&ctx, NULL, &err);
    if (!st)
        st = bioinfer_model_open(&model, ctx, path, &params, &err);
    if (!st)
        st = bioinfer_embed_open(&task, model, &what, &err);
    if (!st)
        st = bioinfer_task_prepare(task, &err);
    if (!st)
        st = bioinfer_model_fingerprint(model, &text, &err);
    seconds = cpu_time() - seconds;
    if (st)
        fprintf(stderr, "load: %s\n", err.text);
    else if (!(st = bioinfer_model_get_info(model, &info)))
        *n_floats = info.n_parameters;
    bioinfer_task_close(&task);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st ? 0 : seconds;
}

/* Seconds of checksums of n floats. */
static double sum(int64_t n, float *x)
{
    const struct bi_cpu_kernels *kernels = bi_cpu_kernels_usable(0);
    struct bi_checksum_keys keys;
    uint64_t sums[2] = {0};
    double seconds;
    bi_checksum_init(&keys);
    memset(x, 1, PIECE * sizeof *x);
    seconds = cpu_time();
    for (int64_t at = 0; at < n; at += PIECE)
        kernels->checksum(sums, &keys, x, at / PIECE, 1, PIECE);
    seconds = cpu_time() - seconds;
    return sums[0] ? seconds : 0;
}

int main(int argc, char **argv)
{
    double least_load = 1e30, least_sum = 1e30;
    float *x = malloc(PIECE * sizeof *x);
    int64_t n = 0;
    if (argc < 2 || !x) {
        fprintf(stderr, "usage: load MODEL [ROUNDS]\n");
        free(x);
        return 64;
    }
    for (int i = 0, rounds = argc > 2 ? atoi(argv[2]) : 5; i < rounds; i++) {
        double l = load(argv[1], &n), s = l > 0 ? sum(n, x) : 0;
        if (l <= 0) {
            free(x);
            return 1;
        }
        least_load = l < least_load ? l : least_load;
        least_sum = s < least_sum ? s : least_sum;
    }
    free(x);
    printf("%lld parameters: loading %.3f s, checksum %.3f s, %.1f %% of it; %.1f GB/s\n",
           (long long)n, least_load, least_sum, 100 * least_sum / least_load,
           4e-9 * (double)n / least_sum);
    return 0;
}

/* align_gpu.h - alignment scores on a GPU backend. */
#ifndef BI_ENGINE_ALIGN_GPU_H
#define BI_ENGINE_ALIGN_GPU_H

#include "align.h"
#include "backend.h"

struct bi_align_gpu; /* a device, a queue and their buffers; one thread at a time */

/* Pairs inputs[order[i]]; their codes lie in one allocation. */
struct bi_align_batch {
    const struct bi_align_input *inputs;
    const uint32_t *order;
};

/* What the sums of a pair may reach in the kernel's 32 bits. */
enum { BI_ALIGN_GPU_LENGTH = 1 << 24, BI_ALIGN_GPU_SCORE = 1 << 30 };

int bi_align_gpu_open(struct bi_align_gpu **out, const struct bi_env *env,
                      const struct bi_backend_ops *ops, int ordinal, struct bioinfer_error *err);
/* Global scores of n pairs into scores[order[i]]. */
int bi_align_gpu_run(struct bi_align_gpu *gpu, const struct bi_align_plan *plan,
                     const struct bi_align_batch *in, size_t n, int64_t *scores,
                     struct bioinfer_error *err);
void bi_align_gpu_close(struct bi_align_gpu **gpu); /* NULL-safe */

/* bioinfer_aligner_new() on a given GPU backend; for those that only tests link. */
int bi_aligner_new_on(bioinfer_aligner **out, bioinfer_context *ctx,
                      const struct bioinfer_align_params *params,
                      const struct bi_backend_ops *ops, struct bioinfer_error *err);

#endif

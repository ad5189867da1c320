/* align_gpu.h - alignments on a GPU backend: batches of pairs, two on their way at once. */
#ifndef BI_ENGINE_ALIGN_GPU_H
#define BI_ENGINE_ALIGN_GPU_H

#include "align.h"
#include "backend.h"

struct bi_aligner;
struct bi_align_gpu; /* a device, a queue and their buffers; one thread at a time */

/* Bounds of the sums of a pair in 32 bits, and of the residues of one batch. */
enum {
    BI_ALIGN_GPU_LENGTH = 1 << 24,
    BI_ALIGN_GPU_SCORE = 1 << 29,
    BI_ALIGN_GPU_PAIRS = 1 << 16,
    BI_ALIGN_GPU_RESIDUES = 1 << 26
};

/* Opens GPU number `ordinal` for alignments of one plan, which must stay; trace: with paths. *out
 * is not to be used after a failure. Statuses are those of the backend's open() and module(). */
int bi_align_gpu_open(struct bi_align_gpu **out, const struct bi_env *env,
                      const struct bi_backend_ops *ops, int ordinal,
                      const struct bi_align_plan *plan, bool trace, struct bioinfer_error *err);

/* Whether the costs fit numbers of 16 bits; else every pair takes 32. */
bool bi_align_gpu_is_narrow(const struct bi_align_gpu *gpu);

/* Device memory that the traceback of a pair takes, and what a batch of several may take. A pair
 * beyond its limit or that goes alone, some strips at a time, and then needs `least`; else 0. */
uint64_t bi_align_gpu_least(const struct bi_align_gpu *gpu, const struct bi_align_input *in);
uint64_t bi_align_gpu_cost(const struct bi_align_gpu *gpu, const struct bi_align_input *in);
uint64_t bi_align_gpu_budget(const struct bi_align_gpu *gpu);
/* A batch: begin() gives *codes, room for codes_size bytes of the codes of n pairs, of which n and
 * m are set, in a free slot (0 or 1); submit() starts it when they are filled. used: a bit for each
 * code in targets. After a failure of either call drain(). */
int bi_align_gpu_begin(struct bi_align_gpu *gpu, int slot, const struct bi_align_input *inputs,
                       size_t n, uint64_t codes_size, uint8_t **codes, struct bioinfer_error *err);
int bi_align_gpu_submit(struct bi_align_gpu *gpu, int slot, const struct bi_align_input *inputs,
                        uint32_t used, struct bioinfer_error *err);
/* Waits for the slot's batch, whose results are there when 0 is returned, until its next
 * begin(). */
int bi_align_gpu_wait(struct bi_align_gpu *gpu, int slot, struct bioinfer_error *err);
/* Waits for all there is, after an error. */
void bi_align_gpu_drain(struct bi_align_gpu *gpu);
/* The results of pair i of the batch waited for last; any thread. end: the score and the cell where
 * the alignment ends, all 0 for a local one that scores nothing above 0. *begin is the cell where
 * the alignment begins, and the path goes from there to its end. The device's walk counts for
 * nothing where the alignment ends in row or column 0. */
struct bi_align_end bi_align_gpu_end(const struct bi_align_gpu *gpu, int slot, size_t i,
                                     const struct bi_align_input *in);
void bi_align_gpu_path(const struct bi_align_gpu *gpu, int slot, size_t i,
                       const struct bi_align_input *in, struct bi_align_walk *begin,
                       struct bi_align_path *path, bool *sparse);

/* Says whether batches that begin from now on measure their kernels; figures since the opening,
 * of which kernel_seconds counts measured batches alone. */
void bi_align_gpu_set_profile(struct bi_align_gpu *gpu, bool on);
void bi_align_gpu_get_profile(const struct bi_align_gpu *gpu,
                              struct bioinfer_align_profile *profile);
/* The entry for the scores of a pair of n and m residues, of up to so many letters; ends: some are
 * free. */
const char *bi_align_gpu_entry(bool trace, bool ends, int64_t n, int64_t m, int letters);

void bi_align_gpu_close(struct bi_align_gpu **gpu); /* NULL-safe */

/* bi_aligner_new() on a given GPU backend; for those that only tests link. ops NULL: the device
 * that params name. */
int bi_aligner_new_on(struct bi_aligner **out, bioinfer_context *ctx,
                      const struct bioinfer_align_params *params, const struct bi_backend_ops *ops,
                      struct bioinfer_error *err);

#endif

/* align_gpu.h - alignments on a GPU backend: batches of pairs, two on their way at once. */
#ifndef BI_ENGINE_ALIGN_GPU_H
#define BI_ENGINE_ALIGN_GPU_H

#include "align.h"
#include "../engine/backend.h"

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
 * is untouched after a failure. Statuses are those of the backend's open() and queue_new(), or
 * NOMEM; kernels are loaded by submit(). */
int bi_align_gpu_open(struct bi_align_gpu **out, const struct bi_env *env,
                      const struct bi_backend_ops *ops, int ordinal,
                      const struct bi_align_plan *plan, bool trace, struct bioinfer_error *err);

/* Whether the costs fit numbers of 16 bits; else every pair takes 32. */
bool bi_align_gpu_is_narrow(const struct bi_align_gpu *gpu);

/* Bytes on the device. cost: what the traceback of a pair takes, about; budget: what the pairs of a
 * batch may cost together. least: not 0 for a pair whose traceback is above the plan's limit or the
 * budget, so that it goes alone in a batch, some strips at a time: as much memory is needed at
 * least, which the caller compares with its limit. Its cost is the budget. Without paths least and
 * cost are 0. */
uint64_t bi_align_gpu_least(const struct bi_align_gpu *gpu, const struct bi_align_input *in);
uint64_t bi_align_gpu_cost(const struct bi_align_gpu *gpu, const struct bi_align_input *in);
uint64_t bi_align_gpu_budget(const struct bi_align_gpu *gpu);
/* A batch: begin() gives *codes, room for codes_size bytes of the codes of n pairs in a free slot
 * (0 or 1), whose inputs have their lengths n and m set; submit() starts it when the codes are
 * filled and `query` and `target` of the same inputs point to them. used: a bit for each code in
 * targets. Statuses are those of the backend's calls, or NOMEM; *codes is NULL where begin() fails
 * for want of memory. After a failure of either call drain(). */
int bi_align_gpu_begin(struct bi_align_gpu *gpu, int slot, const struct bi_align_input *inputs,
                       size_t n, uint64_t codes_size, uint8_t **codes, struct bioinfer_error *err);
int bi_align_gpu_submit(struct bi_align_gpu *gpu, int slot, const struct bi_align_input *inputs,
                        uint32_t used, struct bioinfer_error *err);
/* Waits for the slot's batch, whose results are there when 0 is returned, until its next
 * begin(). A status of the device else. */
int bi_align_gpu_wait(struct bi_align_gpu *gpu, int slot, struct bioinfer_error *err);
/* Waits for all there is, after an error; a failure of it is not told. */
void bi_align_gpu_drain(struct bi_align_gpu *gpu);
/* The results of pair i of the batch in the slot, which was waited for; any thread. end: the score
 * and the cell where the alignment ends; no alignment is local. *begin is the cell where it begins,
 * and the path goes from there to its end; only with `trace`. The device's walk counts for nothing
 * where the alignment ends in row or column 0. path->failed: no memory. *sparse: the batch was one
 * pair that went some strips at a time. */
struct bi_align_end bi_align_gpu_end(const struct bi_align_gpu *gpu, int slot, size_t i,
                                     const struct bi_align_input *in);
void bi_align_gpu_path(const struct bi_align_gpu *gpu, int slot, size_t i,
                       const struct bi_align_input *in, struct bi_align_walk *begin,
                       struct bi_align_path *path, bool *sparse);

/* Says whether batches submitted from now on measure their kernels, at first none; gives figures
 * since the opening, of which kernel_seconds counts measured batches alone. All of *profile is
 * written, and what the device does not count, struct_size among it, is 0. */
void bi_align_gpu_set_profile(struct bi_align_gpu *gpu, bool on);
void bi_align_gpu_get_profile(const struct bi_align_gpu *gpu,
                              struct bioinfer_align_profile *profile);
/* The entry for the scores of a pair of n and m residues, of up to so many letters; ends: that of a
 * sequence is free, which plays no part where `trace`. A static text, never NULL. */
const char *bi_align_gpu_entry(bool trace, bool ends, int64_t n, int64_t m, int letters);

/* NULL-safe; it waits for batches that are on their way. */
void bi_align_gpu_close(struct bi_align_gpu **gpu);

/* bi_aligner_new() on a given GPU backend, its device 0; for those that only tests link. ops NULL:
 * the device that params name. */
int bi_aligner_new_on(struct bi_aligner **out, bioinfer_context *ctx,
                      const struct bioinfer_align_params *params, const struct bi_backend_ops *ops,
                      struct bioinfer_error *err);

#endif

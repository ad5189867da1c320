/* align_parts.c - parts of a call on a GPU: one is made while another is computed. */
#include "aligner.h"

enum { LEAST_PAIRS = 1 << 13 }; /* a part has, where there are more to follow */

struct part { /* pairs of one batch; the first n_sound places are theirs */
    size_t first, n, n_sound;
};

/* So many pairs from `first` on are one batch: a quarter of a small call, so that a batch is made
 * while another is computed. */
static size_t part_size(const struct bi_aligner *a, const struct bioinfer_align_pair *pairs,
                        size_t first, size_t n)
{
    const size_t quarter = n / 4 > LEAST_PAIRS ? n / 4 : LEAST_PAIRS;
    const size_t most = quarter < BI_ALIGN_GPU_PAIRS ? quarter : BI_ALIGN_GPU_PAIRS;
    uint64_t residues = 0, cost = 0;
    size_t i = first;
    for (; i < n && i - first < most; i++) {
        const struct bi_align_input in = {.n = (int64_t)pairs[i].query_length,
                                          .m = (int64_t)pairs[i].target_length};
        if (in.n < 1 || in.m < 1 || in.n > BI_ALIGN_GPU_LENGTH || in.m > BI_ALIGN_GPU_LENGTH)
            continue; /* no codes are made of it */
        residues += (uint64_t)(in.n + in.m);
        cost += bi_align_gpu_cost(a->gpu, &in);
        if (i > first && (residues > BI_ALIGN_GPU_RESIDUES || cost > bi_align_gpu_budget(a->gpu)))
            break;
    }
    return i - first;
}

static int start_part(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, int slot,
                      struct part *part, struct bioinfer_alignment *results,
                      struct bioinfer_error *err)
{
    uint64_t size;
    uint8_t *codes;
    uint32_t used;
    int st;
    if ((st = bi_aligner_list(a, pairs, part->first, part->n, part->first, results, &part->n_sound,
                              &size, err)) ||
        !part->n_sound)
        return st;
    if ((st = bi_align_gpu_begin(a->gpu, slot, a->inputs + part->first, part->n_sound, size, &codes,
                                 err)))
        return st;
    used = bi_aligner_encode(a, pairs, codes, size, results);
    return bi_align_gpu_submit(a->gpu, slot, a->inputs + part->first, used, err);
}

struct finish {
    struct bi_aligner *a;
    int slot;
    const struct part *part;
    struct bioinfer_alignment *results;
};

static void finish_pairs(void *user, int thread, int64_t first, int64_t end_pair)
{
    const struct finish *f = user;
    struct bi_aligner *a = f->a;
    struct bi_align_worker *w = &a->workers[thread];
    for (size_t k = (size_t)first; k < (size_t)end_pair; k++) {
        const size_t i = f->part->first + k;
        struct bioinfer_alignment *r = &f->results[a->pair[i]];
        const struct bi_align_end end = bi_align_gpu_end(a->gpu, f->slot, k, &a->inputs[i]);
        struct bi_align_walk begin = {0};
        struct bioinfer_error why = {0};
        bool sparse;
        if (r->status)
            continue;
        r->score = end.score * a->unit;
        if (!a->traceback)
            continue;
        w->path.n = 0;
        w->path.failed = false;
        bi_align_gpu_path(a->gpu, f->slot, k, &a->inputs[i], &begin, &w->path, &sparse);
        int failed = w->path.failed ? bi_fail(&why, BIOINFER_NOMEM, "path of an alignment")
                                    : bi_aligner_put_path(a, i, w, &begin, &end, sparse, r, &why);
        if (failed)
            bi_aligner_fail(a, f->results, a->pair[i], failed, "%s", why.text);
    }
}

static int finish_part(struct bi_aligner *a, int slot, const struct part *part,
                       struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    struct finish finish = {a, slot, part, results};
    const size_t n = part->n_sound;
    int st;
    if (!n)
        return 0;
    if ((st = bi_align_gpu_wait(a->gpu, slot, err)))
        return st;
    bi_team_for(&a->ctx->env, n > (a->traceback ? 64 : 4096) ? a->n_feeders : 1, (int64_t)n, 256,
                finish_pairs, &finish);
    return 0;
}

int bi_aligner_run_gpu(struct bi_aligner *a, const struct bioinfer_align_pair *pairs, size_t n,
                       struct bioinfer_alignment *results, struct bioinfer_error *err)
{
    struct part parts[BI_SLOTS] = {{0}};
    size_t first = 0;
    int slot = 0, st = 0;
    while (!st && (first < n || parts[slot ^ 1].n)) {
        parts[slot] = (struct part){.first = first};
        if (first < n) {
            parts[slot].n = part_size(a, pairs, first, n);
            st = start_part(a, pairs, slot, &parts[slot], results, err);
            first += parts[slot].n;
        }
        if (!st && parts[slot ^ 1].n)
            st = finish_part(a, slot ^ 1, &parts[slot ^ 1], results, err);
        slot ^= 1;
    }
    if (st) /* the other batch may be on its way */
        bi_align_gpu_drain(a->gpu);
    return st;
}

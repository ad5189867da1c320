/* attention_sm90.c - Hopper's own attention: what it takes, its grids, its tensor maps. */
#include "gpu_entries_sm90.h"

static bool takes_heads(const struct bi_gpu_entry *e, const struct bi_call *call)
{
    const struct bi_attention_params *p = call->params;
    return (call->half_in & 1) && p->head_dim == e->kind && !p->table && !p->bias &&
           !p->grid_bias && p->axis == BI_AXIS_TOKENS && p->seqs == BI_AXIS_SEQS &&
           bi_gpu_is_mappable(p->q, p->ldq) && bi_gpu_is_mappable(p->k, p->ldk) &&
           bi_gpu_is_mappable(p->v, p->ldv) && p->ldy % 8 == 0 && (uintptr_t)p->y % 16 == 0;
}

/* Tiles of all heads. */
static void grid_of_heads(const struct bi_gpu_entry *e, const void *params,
                          const struct bi_counts *bucket, int32_t grid[2])
{
    grid[0] = (bi_gpu_blocks(bucket->n_tokens, e->sm90->tile.rows) + bucket->n_seqs) *
              ((const struct bi_attention_params *)params)->n_heads;
}

static void maps_of_heads(const struct bi_gpu_entry *e, const void *params, int64_t n_tokens,
                          struct bi_gpu_box boxes[BI_GPU_MOST_MAPS])
{
    const struct bi_attention_params *p = params;
    const int64_t width = (int64_t)p->n_heads * p->head_dim;
    const int32_t columns = e->kind < 64 ? e->kind : 64;
    boxes[0] = (struct bi_gpu_box){p->q, n_tokens, width, p->ldq, 64, columns};
    boxes[1] = (struct bi_gpu_box){p->k, n_tokens, width, p->ldk, 128, columns};
    boxes[2] = (struct bi_gpu_box){p->v, n_tokens, width, p->ldv, 128, columns};
}

static bool takes_rel(const struct bi_gpu_entry *e, const struct bi_call *call)
{
    const struct bi_rel_attention_params *p = call->params;
    (void)e;
    return (call->half_in & 1) && p->key_dim == 64 && p->value_dim == 192 &&
           (p->n_windows == 1 || p->n % 64 == 0) && bi_gpu_is_mappable(p->q, p->ldq) &&
           (uintptr_t)p->u % 16 == 0 && (uintptr_t)p->w % 16 == 0 &&
           bi_gpu_is_mappable(p->k, p->ldk) && bi_gpu_is_mappable(p->v, p->ldv) &&
           bi_gpu_is_mappable(p->r, p->ldr) && p->ldy % 8 == 0 && (uintptr_t)p->y % 16 == 0;
}

static void grid_of_rel(const struct bi_gpu_entry *e, const void *params,
                        const struct bi_counts *bucket, int32_t grid[2])
{
    const struct bi_rel_attention_params *p = params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->n_queries, e->sm90->tile.rows) * p->n_heads * p->n_windows;
}

static void maps_of_rel(const struct bi_gpu_entry *e, const void *params, int64_t n_tokens,
                        struct bi_gpu_box boxes[BI_GPU_MOST_MAPS])
{
    const struct bi_rel_attention_params *p = params;
    const int64_t keys = (int64_t)p->n_heads * p->key_dim;
    const int64_t values = (int64_t)p->n_heads * p->value_dim;
    const int64_t rows = (int64_t)p->n_windows * p->n;
    (void)e;
    (void)n_tokens;
    boxes[0] = (struct bi_gpu_box){p->k, rows, keys, p->ldk, 64, 64};
    boxes[1] = (struct bi_gpu_box){p->v, rows, values, p->ldv, 64, 64};
    boxes[2] = (struct bi_gpu_box){p->r, 2 * (int64_t)p->n - 1, keys, p->ldr, 64, 64};
    boxes[3] = (struct bi_gpu_box){p->q, (int64_t)p->n_windows * p->n_queries, keys, p->ldq, 64,
                                   64};
}

const struct bi_gpu_sm90 bi_gpu_sm90_heads = {
    "attention", takes_heads, NULL, grid_of_heads, maps_of_heads, true, {.rows = 64}};
const struct bi_gpu_sm90 bi_gpu_sm90_wide_heads = {
    "attention", takes_heads, NULL, grid_of_heads, maps_of_heads, true, {.rows = 128}};
const struct bi_gpu_sm90 bi_gpu_sm90_rel_heads = {
    "rel_attention", takes_rel, NULL, grid_of_rel, maps_of_rel, true, {.rows = 128}};

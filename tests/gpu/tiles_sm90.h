/* tiles_sm90.h - which of Hopper's own entries serve a case of checkkernel_gpu, by the columns of
 * BI_GPU_ENTRIES_SM90. */
#ifndef TILES_SM90_H
#define TILES_SM90_H

#include <string.h>

#include "../ops/checkkernel.h"
#include "kernels/gpu_entries_sm90.h"

/* Is this array of the params given? */
static inline bool has(const struct ck_case *c, size_t pointer)
{
    for (int i = 0; i < CK_ARRAYS && c->arrays[i].pointer; i++)
        if (c->arrays[i].pointer == pointer)
            return !c->arrays[i].absent;
    return false;
}

/* The kind of a product, but for whether y is float16 (F16, POOL_F16). */
static inline enum bi_gpu_kind kind_of(const struct ck_case *c)
{
    return has(c, CK_AT(linear, odd))     ? BI_GPU_KIND_POOL_F16
           : has(c, CK_AT(linear, scale)) ? ((const struct bi_linear_params *)c->params)->twin
                                                ? BI_GPU_KIND_TWIN
                                                : BI_GPU_KIND_NORMED
           : has(c, CK_AT(linear, also))  ? BI_GPU_KIND_PAIRED
           : has(c, CK_AT(linear, table)) ? BI_GPU_KIND_ROTATED
           : c->gated != CK_NONE          ? BI_GPU_KIND_GATED
                                          : BI_GPU_KIND_F16;
}

/* Does something follow y, or turn it, in a case of linear? Hopper's own entries alone do that. */
static inline bool is_followed(const struct ck_case *c)
{
    return !strcmp(c->entry, "linear") && kind_of(c) != BI_GPU_KIND_F16 &&
           kind_of(c) != BI_GPU_KIND_GATED;
}

/* Columns come in multiples of so many where a tile of Hopper writes them plain. */
static inline int columns_of(const struct bi_gpu_sm90 *sm90)
{
    return sm90 == &bi_gpu_sm90_small ? 1 : sm90->stays || sm90->tile.rows > 128 ? 8 : 2;
}

/* Does a tile of Hopper's take the product of a case? */
static inline bool serves_tile(const struct bi_gpu_entry *e, const struct ck_case *c)
{
    const struct bi_linear_params *p = (const void *)c->params;
    const enum bi_gpu_kind kind = e->kind == BI_GPU_KIND_F32        ? BI_GPU_KIND_F16
                                  : e->kind == BI_GPU_KIND_POOL_F32 ? BI_GPU_KIND_POOL_F16
                                                                    : (enum bi_gpu_kind)e->kind;
    if (kind != kind_of(c))
        return false;
    if (is_followed(c)) /* a block of one tile always writes y and makes nothing again */
        return e->sm90->stays || (has(c, CK_AT(linear, y)) && !has(c, CK_AT(linear, more_x)));
    if (p->k % 8 || p->ldx % 8) /* ldx: of windows, else not chosen yet */
        return false;
    return kind == BI_GPU_KIND_GATED ? p->act == BI_ACT_SILU || p->act == BI_ACT_GELU_TANH
                                     : p->act <= BI_ACT_RELU && p->n % columns_of(e->sm90) == 0;
}

/* Does an entry of gpu_entries_sm90.h? */
static inline bool serves_sm90(size_t entry, const struct ck_case *c)
{
    const struct bi_gpu_entry *e = &bi_gpu_entries[entry];
    if (!strcmp(c->entry, "rel_attention")) {
        const struct bi_rel_attention_params *p = (const void *)c->params;
        return p->key_dim == 64 && p->value_dim == 192 && (p->n_windows == 1 || p->n % 64 == 0);
    }
    if (!strcmp(c->entry, "attention")) {
        const struct bi_attention_params *p = (const void *)c->params;
        return p->head_dim == e->kind && !p->reach && !has(c, CK_AT(attention, table));
    }
    return serves_tile(e, c);
}

#endif

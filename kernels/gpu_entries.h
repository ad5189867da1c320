/* gpu_entries.h - every GPU entry: its name, module, parameters and launch. Plain C11; read by
 * the host to describe launches, by the emulation to list kernels, and by the tests.
 *
 * BI_GPU_ENTRIES(E) with E(name, module, params, threads, shared, grid):
 *   name     as in the module; <op>_<variant>_<dtypes>, dtypes of x and, where it may differ, y
 *   module   kernels/<module>.cu, and `module` of struct bi_gpu_blob (gpu_blobs.h)
 *   params   struct bi_<params>_params of kernels/<...>.h, passed by value: one argument. All
 *            pointers are device pointers; those to activations and weights are float * in C
 *            but point to f16 where the name says so. counts points to the true sizes.
 *   threads  of a block: {threads, 1, 1}
 *   shared   bytes of dynamic shared memory the launch grants on NVIDIA (above 48 KiB after
 *            the function's limit has been raised). On AMD grant 0: the kernel declares it.
 *   grid     bi_gpu_grid_<grid>(params, bucket, grid): grid[2] from the params and the sizes of
 *            the plan's bucket, which bound every batch of the plan; blocks behind the true
 *            sizes return at once.
 *
 * What f16 and f32 in a name mean, op by op:
 *   linear_a_b       x and w a, y and residual b; bias f32; linear_f32: all f32, one chain of fused
 *                    multiply-adds per element. w is [n, k] row-major, not packed.
 *   linear_gated_*   w is gates and values in blocks of 16 rows (linear.h); n % 32 == 0
 *   linear_small_*   64 x 64 tiles (f32: 16 x 16, not gated), for few rows: the same bits as
 *                    the others
 *   attention_dN_a   q, k, v, y a; table f32; head widths up to N; softmax in f32. Take the
 *                    smallest N that does: f16 16, 32, 64, 128; f32 64, 128, 256
 *   attention_bias_* with a bias by place; the f32 entries take one, too
 *   layernorm_a_b    x, add, sum a, y b; w, b f32; copy f16   embedding_a   table a; y f32
 *   layernorm_rotated_a_b  with a table, and no other is
 *   layernorm_wide_a_b     faster for widths from 1,281 to 1,536
 *   mean_pool_a      x a; w, b, y f32                    select_rows_a, rope_a, unary_a, add_a:
 *   scores_a         q, k a; p f32                       all of them a
 *   select_rows_f32_f16, rope_f32_f16, halves_f32_f16: x f32, y f16
 *   mix_a            p f32; v, y a                       attention_contacts_a  q, k a; rest f32
 *   embedding_windows_b  y b; table f32
 *   rel_attention_a  q, k, v, r, y a; u, w f32; key widths up to 64 (f16), values up to 192
 *   norm_act_a_b, pair_diff_a_b, pair_pool_a_b, depthwise_f32_b: x a, y b, rest f32; upsample, bin_sums: f32
 *   align_*_LxR_lM   groups of L lanes with R rows each, up to M letters (align.h); scores of
 *                    pairs in 16 bits: global, with free ends, with flags for align_walk
 *   align_long*      one pair by strips of 128 rows, in 32 bits
 *   contacts, attention_contacts: the first of several parts; the others, "then_...", follow it
 *
 * Alignment is never required, only faster: 16 bytes for base and row stride. */
#ifndef BI_GPU_ENTRIES_H
#define BI_GPU_ENTRIES_H

#include <stddef.h>
#include <string.h>

#include "add.h"
#include "align.h"
#include "attention.h"
#include "bin_sums.h"
#include "contacts.h"
#include "decode.h"
#include "edges.h"
#include "depthwise.h"
#include "embedding.h"
#include "embedding_windows.h"
#include "halves.h"
#include "layernorm.h"
#include "linear.h"
#include "mean_pool.h"
#include "mul.h"
#include "norm_act.h"
#include "pairs.h"
#include "positions.h"
#include "rel_attention.h"
#include "rope.h"
#include "rope_table.h"
#include "scale_rows.h"
#include "select_rows.h"
#include "sequence_windows.h"
#include "unary.h"
#include "upsample.h"

/* clang-format off */
#define BI_GPU_ENTRIES(E)                                                                \
    E(linear_f16_f16,         linear,        linear,             256, 81920, linear)     \
    E(linear_f16_f32,         linear,        linear,             256, 81920, linear)     \
    E(linear_small_f16_f16,   linear,        linear,             128, 40960, linear_small)\
    E(linear_small_f16_f32,   linear,        linear,             128, 40960, linear_small)\
    E(linear_gated_f16_f16,   linear,        linear,             256, 81920, linear)     \
    E(linear_gated_small_f16_f16, linear,    linear,             128, 40960, linear_small)\
    E(attention_bias_d64_f16, attention,     attention,          128, 18432, attention)  \
    E(attention_bias_d128_f16, attention,    attention,          128, 17408, attention)  \
    E(attention_d16_f16,      attention,     attention,          128, 6144,  attention)  \
    E(attention_d32_f16,      attention,     attention,          128, 10240, attention)  \
    E(attention_d64_f16,      attention,     attention,          128, 18432, attention)  \
    E(attention_d128_f16,     attention,     attention,          128, 17408, attention)  \
    E(layernorm_f32_f16,      layernorm,     layernorm,          256, 10240, layernorm)  \
    E(layernorm_wide_f32_f16, layernorm,     layernorm,          256, 12288, layernorm)  \
    E(layernorm_f16_f16,      layernorm,     layernorm,          256, 10240, layernorm)  \
    E(layernorm_rotated_f16_f16, layernorm,  layernorm,          256, 10240, layernorm)  \
    E(layernorm_f32_f32,      layernorm,     layernorm,          256, 10240, layernorm)  \
    E(embedding_f32,          embedding,     embedding,          256, 0,     embedding)  \
    E(embedding_f16,          embedding,     embedding,          256, 0,     embedding)  \
    E(embedding_windows_f32,  embedding, embedding_windows, 256, 0,     embedding_windows) \
    E(embedding_windows_f16,  embedding, embedding_windows, 256, 0,     embedding_windows) \
    E(sequence_windows_f32,   sequence_windows, sequence_windows, 256, 0,    rope)       \
    E(select_rows_f32,        select_rows,   select_rows,        256, 0,     select_rows)\
    E(select_rows_f16,        select_rows,   select_rows,        256, 0,     select_rows)\
    E(select_rows_f32_f16,    select_rows,   select_rows,        256, 0,     select_rows)\
    E(halves_f32_f16,         halves,        halves,             256, 0,     halves)     \
    E(scale_rows_f32,         scale_rows,    scale_rows,         256, 0,     scale_rows) \
    E(unary_f32,              unary,         unary,              256, 0,     unary)      \
    E(unary_f16,              unary,         unary,              256, 0,     unary)      \
    E(add_f32,                add,           add,                256, 0,     add)        \
    E(add_f16,                add,           add,                256, 0,     add)        \
    E(mul_f32,                mul,           mul,                256, 0,     mul)        \
    E(mul_f16,                mul,           mul,                256, 0,     mul)        \
    E(positions_f32,          positions,     positions,          256, 0,     rope)       \
    E(relative_bias_f32,      relative_bias, relative_bias,      256, 0,     relative_bias)\
    E(mean_pool_f32,          mean_pool,     mean_pool,          256, 4096,  mean_pool)  \
    E(mean_pool_f16,          mean_pool,     mean_pool,          256, 4096,  mean_pool)  \
    E(rope_table_f32,         rope_table,    rope_table,         256, 0,     rope_table) \
    E(rope_f32,               rope,          rope,               256, 0,     rope)       \
    E(rope_f16,               rope,          rope,               256, 0,     rope)       \
    E(rope_f32_f16,           rope,          rope,               256, 0,     rope)       \
    E(softmax_f32,            softmax,       softmax,            256, 0,     softmax)    \
    E(rel_attention_f16,      rel_attention, rel_attention,      128, 62208, rel_attention_f16)\
    E(rel_attention_f32,      rel_attention, rel_attention,      256, 45564, rel_attention_f32)\
    E(norm_act_f32_f32,       pairs,         norm_act,           256, 0,     norm_act)   \
    E(norm_act_f32_f16,       pairs,         norm_act,           256, 0,     norm_act)   \
    E(norm_act_f16_f16,       pairs,         norm_act,           256, 0,     norm_act)   \
    E(pair_diff_f32_f32,      pairs,         pair_diff,          256, 0,     pair_diff)  \
    E(pair_diff_f32_f16,      pairs,         pair_diff,          256, 0,     pair_diff)  \
    E(pair_diff_f16_f16,      pairs,         pair_diff,          256, 0,     pair_diff)  \
    E(pair_pool_f16_f32,      pairs,         pair_pool,          256, 0,     pair_pool)  \
    E(pair_pool_f16_f16,      pairs,         pair_pool,          256, 0,     pair_pool)  \
    E(pair_pool_f32_f32,      pairs,         pair_pool,          256, 0,     pair_pool)  \
    E(upsample_f32,           pairs,         upsample,           256, 0,     upsample)   \
    E(bin_sums_f32,           bin_sums,      bin_sums,           256, 4096,  bin_sums)   \
    E(depthwise_f32_f32,      pairs,         depthwise,          256, 0,     depthwise)  \
    E(depthwise_f32_f16,      pairs,         depthwise,          256, 0,     depthwise)  \
    E(linear_f32,             linear_f32,    linear,             256, 16896, linear)     \
    E(linear_small_f32,       linear_f32,    linear,             256, 16896, linear_small_f32)\
    E(attention_d64_f32,      attention_f32, attention,          256, 20864, attention_f32)\
    E(attention_d128_f32,     attention_f32, attention,          256, 20864, attention_f32)\
    E(attention_d256_f32,     attention_f32, attention,          256, 20864, attention_f32)\
    E(scores_f32,             scores,        scores,             256, 20864, scores)     \
    E(scores_f16,             scores,        scores,             256, 20864, scores)     \
    E(mix_f32,                mix,           mix,                256, 20864, mix)        \
    E(mix_f16,                mix,           mix,                256, 20864, mix)        \
    E(contacts_f32,            contacts,     contacts,           256, 64,    contacts_rows)\
    E(then_contacts_tiles_f32, contacts,     contacts,           256, 1344,  contacts_tiles)\
    E(attention_contacts_f32,  contacts,     attention_contacts, 256, 21120, contact_rows32)\
    E(then_contact_sums_f32,   contacts,     attention_contacts, 256, 21120, contact_rows32)\
    E(then_contact_tiles_f32,  contacts,     attention_contacts, 256, 22400, contact_tiles32)\
    E(align_8x8_l8,            align,         align,       64,  8192,  align8)           \
    E(align_16x16_l8,          align,         align,       64,  16384, align16)          \
    E(align_32x13_l8,          align,         align,       64,  16384, align32)          \
    E(align_16x8_l22,          align,         align,       64,  22528, align16)          \
    E(align_16x16_l22,         align,         align,       64,  45056, align16)          \
    E(align_32x13_l22,         align,         align,       64,  45056, align32)          \
    E(align_16x16_l32,         align,         align,       64,  65536, align16)          \
    E(align_ends_16x16_l8,     align_ends,    align,       64,  16384, align16)          \
    E(align_ends_16x16_l32,    align_ends,    align,       64,  65536, align16)          \
    E(align_trace_16x8_l8,     align_trace,   align,       64,  8192,  align16)          \
    E(align_trace_16x8_l32,    align_trace,   align,       64,  32768, align16)          \
    E(align_long,              align_long,    align_long,  64,  4096,  align_long)       \
    E(align_long_trace,        align_long,    align_long,  64,  4096,  align_long)       \
    E(align_walk,              align_walk,    align_walk,  64,  0,     align_walk)       \
    E(virtual_cb_f32,       edges,         virtual_cb,         256, 0,     virtual_cb)  \
    E(knn_f32,              edges,         knn,                64,  1024,  knn)         \
    E(rbf_f32,              edges,         rbf,                256, 0,     rbf)         \
    E(relative_f32,         edges,         relative,           256, 0,     relative)    \
    E(orientation_f32,      edges,         orientation,        256, 0,     orientation) \
    E(edge_concat_f32,      edges,         edge_concat,        256, 0,     edge_concat) \
    E(edge_sum_f32,         edges,         edge_sum,           256, 0,     edge_sum)    \
    E(neighbor_sum_f32,     edges,         neighbor_sum,       256, 0,     neighbor_sum)\
    E(row_bias_f32,         edges,         row_bias,           256, 0,     row_bias)    \
    E(edge_message_f32,       edges,         edge_message,       256, 43264, edge_message)\
    E(atom_features_f32,      edges,         atom_features,      256, 0,     atom_features)\
    E(atom_pairs_f32,         edges,         atom_pairs,         256, 0,     atom_pairs) \
    E(fill_f32,             decode,        fill,               256, 0,     fill)        \
    E(put_rows_f32,         decode,        put_rows,           256, 0,     put_rows)    \
    E(next_step_f32,        decode,        next_step,          256, 0,     next_step)   \
    E(draw_f32,             decode,        draw,               64,  336,   draw)        \
    E(attention_contacts_f16,  contacts,     attention_contacts, 256, 21120, contact_rows32)\
    E(then_contact_sums_f16,   contacts,     attention_contacts, 256, 21120, contact_rows32)\
    E(then_contact_tiles_f16,  contacts,     attention_contacts, 256, 22400, contact_tiles32)\
    E(attention_contacts_plain_f16, contacts, attention_contacts, 128, 35328, contact_rows64)\
    E(then_contact_sums_plain_f16, contacts, attention_contacts, 128, 35328, contact_rows64)\
    E(then_contact_tiles_plain_f16, contacts, attention_contacts, 128, 36352, contact_tiles64)
/* clang-format on */

struct bi_gpu_entry {
    const char *name, *module;
    int32_t threads, shared;
    void (*grid)(const void *params, const struct bi_counts *bucket, int32_t grid[2]);
    size_t head, size; /* gpu_entries_sm90.h: where in its params those of the op begin, and end */
};

/* Entries, this one and those behind it, that one launch of an op goes through. */
static inline int bi_gpu_parts(const struct bi_gpu_entry *e)
{
    return !strncmp(e->name, "attention_contacts_", 19) ? 3
           : !strncmp(e->name, "contacts_", 9)          ? 2
                                                        : 1;
}

/* ---- grids ---- */

static inline int32_t bi_gpu_blocks(int64_t n, int64_t per_block)
{
    return (int32_t)((n + per_block - 1) / per_block);
}

/* Eight rows to a block. */
#define BI_GPU_ROWS_GRID(op)                                                                       \
    static inline void bi_gpu_grid_##op(const void *params, const struct bi_counts *bucket,        \
                                        int32_t grid[2])                                           \
    {                                                                                              \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(((const struct bi_##op##_params *)params)->rows, 8);               \
        grid[1] = 1;                                                                               \
    }
BI_GPU_ROWS_GRID(add)
BI_GPU_ROWS_GRID(embedding)
BI_GPU_ROWS_GRID(halves)
BI_GPU_ROWS_GRID(mul)
BI_GPU_ROWS_GRID(rope_table)
BI_GPU_ROWS_GRID(scale_rows)
BI_GPU_ROWS_GRID(select_rows)
BI_GPU_ROWS_GRID(unary)
BI_GPU_ROWS_GRID(pair_diff)
BI_GPU_ROWS_GRID(pair_pool)
BI_GPU_ROWS_GRID(upsample)
BI_GPU_ROWS_GRID(depthwise)

static inline void bi_gpu_grid_bin_sums(const void *params, const struct bi_counts *bucket,
                                        int32_t grid[2])
{
    const struct bi_bin_sums_params *p = (const struct bi_bin_sums_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->width, 32);
    grid[1] = p->n_windows;
}

#define BI_GPU_REL_GRID(name, rows_of_block)                                                       \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        const struct bi_rel_attention_params *p = (const struct bi_rel_attention_params *)params;  \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(p->n_queries, rows_of_block);                                      \
        grid[1] = p->n_heads * p->n_windows;                                                       \
    }
BI_GPU_REL_GRID(rel_attention_f16, 64)
BI_GPU_REL_GRID(rel_attention_f32, 32)

/* One number of so many to a thread. */
#define BI_GPU_NUMBERS_GRID(op, numbers)                                                           \
    static inline void bi_gpu_grid_##op(const void *params, const struct bi_counts *bucket,        \
                                        int32_t grid[2])                                           \
    {                                                                                              \
        const struct bi_##op##_params *p = (const struct bi_##op##_params *)params;                \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(numbers, 256);                                                     \
        grid[1] = 1;                                                                               \
    }
BI_GPU_NUMBERS_GRID(virtual_cb, p->rows)
BI_GPU_NUMBERS_GRID(knn, p->rows * 256)
BI_GPU_NUMBERS_GRID(rbf, p->rows * p->k * p->n_pairs)
BI_GPU_NUMBERS_GRID(relative, p->rows * p->k * p->width)
BI_GPU_NUMBERS_GRID(orientation, p->rows * p->k)
BI_GPU_NUMBERS_GRID(edge_concat, p->rows * p->k * (2 * p->width + p->edge_width))
BI_GPU_NUMBERS_GRID(edge_sum, p->rows * p->terms.k * p->terms.width)
BI_GPU_NUMBERS_GRID(neighbor_sum, p->rows * p->width)
BI_GPU_NUMBERS_GRID(row_bias, p->rows * p->width)
BI_GPU_NUMBERS_GRID(edge_message, p->rows * 256)
BI_GPU_NUMBERS_GRID(atom_features, p->rows)
BI_GPU_NUMBERS_GRID(atom_pairs, p->rows)
BI_GPU_NUMBERS_GRID(fill, p->rows * p->width)
BI_GPU_NUMBERS_GRID(put_rows, p->rows * p->width)
BI_GPU_NUMBERS_GRID(next_step, p->rows * 0 + 1)
BI_GPU_NUMBERS_GRID(draw, p->rows * 256)

static inline void bi_gpu_grid_embedding_windows(const void *params, const struct bi_counts *bucket,
                                                 int32_t grid[2])
{
    const struct bi_embedding_windows_params *p = (const struct bi_embedding_windows_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->rows, 256 / BI_EMBEDDING_WINDOWS_LANES(p->taps * p->width));
    grid[1] = 1;
}

static inline void bi_gpu_grid_norm_act(const void *params, const struct bi_counts *bucket,
                                        int32_t grid[2])
{
    const struct bi_norm_act_params *p = (const struct bi_norm_act_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->rows + 2 * p->pad, 8);
    grid[1] = 1;
}

/* Groups of a row are rows here. */
static inline void bi_gpu_grid_layernorm(const void *params, const struct bi_counts *bucket,
                                         int32_t grid[2])
{
    const struct bi_layernorm_params *p = (const struct bi_layernorm_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->rows * (p->groups > 1 ? p->groups : 1), 8);
    if (grid[0] > BI_LAYERNORM_BLOCKS)
        grid[0] = BI_LAYERNORM_BLOCKS;
    grid[1] = 1;
}

/* Tiles of y. */
#define BI_GPU_LINEAR_GRID(name, M, N)                                                             \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        const struct bi_linear_params *p = (const struct bi_linear_params *)params;                \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(p->rows, M) * bi_gpu_blocks(p->n, N);                              \
        grid[1] = 1;                                                                               \
    }
BI_GPU_LINEAR_GRID(linear, 128, 128)
BI_GPU_LINEAR_GRID(linear_small, 64, 64)
BI_GPU_LINEAR_GRID(linear_192x192, 192, 192)
BI_GPU_LINEAR_GRID(linear_256x128, 256, 128)
BI_GPU_LINEAR_GRID(linear_256x64, 256, 64)
BI_GPU_LINEAR_GRID(linear_192x96, 192, 96)
BI_GPU_LINEAR_GRID(linear_128x64, 128, 64)
BI_GPU_LINEAR_GRID(linear_32x64, 32, 64)
BI_GPU_LINEAR_GRID(linear_32x32, 32, 32)
BI_GPU_LINEAR_GRID(linear_small_f32, 16, 16)

/* Tiles of each sequence (gpu_tiles.h), by heads. */
#define BI_GPU_TILES_GRID(name, op, rows)                                                          \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        grid[0] = bi_gpu_blocks(bucket->n_tokens, rows) + bucket->n_seqs;                          \
        grid[1] = ((const struct bi_##op##_params *)params)->n_heads;                              \
    }
BI_GPU_TILES_GRID(attention, attention, 64)
BI_GPU_TILES_GRID(attention_f32, attention, 32)
BI_GPU_TILES_GRID(scores, scores, 32)
BI_GPU_TILES_GRID(mix, mix, 32)
BI_GPU_TILES_GRID(contacts_rows, contacts, 32)
BI_GPU_TILES_GRID(contact_rows32, attention_contacts, 32)
BI_GPU_TILES_GRID(contact_rows64, attention_contacts, 64)

static inline void bi_gpu_grid_softmax(const void *params, const struct bi_counts *bucket,
                                       int32_t grid[2])
{
    const struct bi_softmax_params *p = (const struct bi_softmax_params *)params;
    grid[0] = bi_gpu_blocks((int64_t)bucket->n_tokens * p->n_heads, 8);
    grid[1] = 1;
}

static inline void bi_gpu_grid_relative_bias(const void *params, const struct bi_counts *bucket,
                                             int32_t grid[2])
{
    const struct bi_relative_bias_params *p = (const struct bi_relative_bias_params *)params;
    grid[0] = bi_gpu_blocks((int64_t)bucket->n_tokens * p->n_heads, 8);
    grid[1] = 1;
}

static inline void bi_gpu_grid_rope(const void *params, const struct bi_counts *bucket,
                                    int32_t grid[2])
{
    (void)params;
    grid[0] = bi_gpu_blocks(bucket->n_tokens, 8);
    grid[1] = 1;
}

/* A block takes the jobs of as many groups of lanes as it has. */
#define BI_GPU_ALIGN_GRID(lanes)                                                                   \
    static inline void bi_gpu_grid_align##lanes(const void *params,                                \
                                                const struct bi_counts *bucket, int32_t grid[2])   \
    {                                                                                              \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(((const struct bi_align_params *)params)->n_jobs,                  \
                                BI_ALIGN_GPU_THREADS / lanes);                                     \
        grid[1] = 1;                                                                               \
    }
BI_GPU_ALIGN_GRID(8)
BI_GPU_ALIGN_GRID(16)
BI_GPU_ALIGN_GRID(32)

/* At most a task or a trail for each wave; waves beyond them leave. */
static inline void bi_gpu_grid_align_long(const void *params, const struct bi_counts *bucket,
                                          int32_t grid[2])
{
    (void)bucket;
    grid[0] = ((const struct bi_align_long_params *)params)->n_tasks;
    grid[1] = 1;
}

static inline void bi_gpu_grid_align_walk(const void *params, const struct bi_counts *bucket,
                                          int32_t grid[2])
{
    (void)bucket;
    grid[0] = ((const struct bi_align_walk_params *)params)->n_trails;
    grid[1] = 1;
}

/* Tiles of rows; tiles of columns of y. */
#define BI_GPU_CONTACT_TILES_GRID(name, op, size)                                                  \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        grid[0] = bi_gpu_blocks(bucket->n_tokens, size) + bucket->n_seqs;                          \
        grid[1] = bi_gpu_blocks(((const struct bi_##op##_params *)params)->ldy, size);             \
    }
BI_GPU_CONTACT_TILES_GRID(contacts_tiles, contacts, 32)
BI_GPU_CONTACT_TILES_GRID(contact_tiles32, attention_contacts, 32)
BI_GPU_CONTACT_TILES_GRID(contact_tiles64, attention_contacts, 64)

static inline void bi_gpu_grid_mean_pool(const void *params, const struct bi_counts *bucket,
                                         int32_t grid[2])
{
    const struct bi_mean_pool_params *p = (const struct bi_mean_pool_params *)params;
    grid[0] = bucket->n_seqs;
    grid[1] = bi_gpu_blocks(p->width, p->w ? 256 : 64);
}

/* An element of a table of struct bi_gpu_entry. */
#define BI_GPU_ENTRY(name, module, params, threads, shared, grid)                                  \
    {#name, #module, threads, shared, bi_gpu_grid_##grid, 0, 0},

#endif

/* entries.c - which entry of gpu_entries.h, or of gpu_entries_sm90.h, is a launch: by its op, its types, its
 * sizes and what the device is. All tiles of a product give the same bits, so that choice is one of
 * time alone; it is made from the bucket, and holds for every batch of a plan. */
#include <stdio.h>
#include <string.h>

#include "gpu.h"

#include "../kernels/gpu_entries.h"

static const char *dtype_suffix(enum bi_dtype dtype)
{
    return dtype == BI_F16 ? "f16" : "f32";
}

/* The widest d of an attention entry that is at least head_dim; 0 = none. */
static int attention_width(int head_dim, bool half, bool bias)
{
    static const int f16[] = {16, 32, 64, 128}, f32[] = {64, 128, 256};
    const int *widths = half ? f16 : f32;
    size_t n = half ? BI_COUNT(f16) : BI_COUNT(f32);
    for (size_t i = half && bias ? 2 : 0; i < n; i++) /* with a bias: 64, 128 */
        if (head_dim <= widths[i])
            return widths[i];
    return 0;
}

/* Few tiles leave most of the chip idle: then the 64 x 64 entry, which gives the same bits. */
static bool is_small(const struct bi_gpu_facts *facts, const struct bi_linear_params *p)
{
    return bi_gpu_blocks(p->rows, 128) * (int64_t)bi_gpu_blocks(p->n, 128) < 2 * facts->n_units;
}

/* The same in float32, where the small entry reads eight times as much for what it makes. */
static bool is_small_f32(const struct bi_gpu_facts *facts, const struct bi_linear_params *p)
{
    const int64_t tiles = bi_gpu_blocks(p->rows, 128) * (int64_t)bi_gpu_blocks(p->n, 128);
    return !p->gated && (tiles <= 1 || 4 * tiles < facts->n_units);
}

/* Can the copy engine read rows of f16 like these? They may overlap. */
static bool mappable(const void *base, int64_t ld)
{
    return (uintptr_t)base % 16 == 0 && ld % 8 == 0 && ld > 0;
}

/* Of an array that need not be given. */
static bool by_twos(const void *base, int64_t ld, size_t size)
{
    return !base || ((uintptr_t)base | (uint64_t)ld * size) % (2 * size) == 0;
}

/* Kinds of Hopper's linears, and what the names of their entries end with. */
enum hopper_kind {
    HOPPER_F16,
    HOPPER_F32,
    HOPPER_ROTATED,
    HOPPER_GATED,
    HOPPER_NORMED,
    HOPPER_PAIRED,
    HOPPER_POOLED_F16,
    HOPPER_POOLED_F32,
    HOPPER_KINDS
};
static const char *const hopper_kinds[HOPPER_KINDS] = {"f16",        "f32",        "rotated_f16",
                                                       "gated_f16",  "normed_f16", "paired_f16",
                                                       "pooled_f16", "pooled_f32"};

/* A tile of Hopper's linears, as in the names of entries, and what it takes, in nanoseconds measured on an
 * H200: a launch, 64 of k for the first round of tiles over the chip, and for each round more; 0: a block
 * makes one tile (linear_small_sm90.cu). Launches of blocks
 * that need a multiprocessor for themselves are 0.4 to 0.5 us longer here than alone, as they begin later behind
 * others. kinds: those it has, a bit each. */
struct hopper_tile {
    const char *name;
    int rows, columns, launch, slice, more;
    unsigned kinds;
};

static int64_t hopper_time(const struct hopper_tile *tile, const struct bi_linear_params *p,
                           int64_t units)
{
    const int64_t count = bi_gpu_blocks(p->rows, tile->rows) *
                          (int64_t)bi_gpu_blocks(p->n, tile->columns);
    const int64_t rounds = (count + units - 1) / units, slices = bi_gpu_blocks(p->k, 64);
    if (tile->more)
        return tile->launch + slices * (tile->slice + (rounds - 1) * tile->more);
    /* what all blocks ask of the cache at once, bytes a nanosecond: less of rows far apart, and with a
     * short ring */
    const bool large = tile->rows > 64;
    const int64_t rate = tile->rows > 128                     ? 10600
                         : tile->columns == 32 || p->k < 1280 ? 10000
                         : large                              ? (p->k < 2560 ? 10000 : 8000)
                                                              : (p->k < 2560 ? 6500 : 5000);
    const int64_t asked = count * (tile->rows + tile->columns) * 128 / rate;
    return count > (large ? units : units * 5 / 4)
               ? INT64_MAX
               : tile->launch + slices * (asked > tile->slice ? asked : tile->slice);
}

/* That of a twin: a round of the narrower tiles takes three fifths of the time of one of the others. */
static const char *twin_tile(const struct bi_gpu_facts *facts, const struct bi_linear_params *p)
{
    const int64_t units = facts->n_units, high = bi_gpu_blocks(p->rows, 256);
    const int64_t wide = (high * bi_gpu_blocks(p->n, 128) + units - 1) / units;
    const int64_t narrow = (high * bi_gpu_blocks(p->n, 64) + units - 1) / units;
    return 3 * narrow < 5 * wide ? "small_twin_" : "twin_";
}

/* The name of the tile with which Hopper is done soonest. */
static const char *hopper_tile(const struct bi_gpu_facts *facts, const struct bi_launch *l,
                               enum hopper_kind kind)
{
    enum {
        ALL = (1 << HOPPER_KINDS) - 1,
        PLAIN = 1 << HOPPER_F16 | 1 << HOPPER_F32,
        TURNS = PLAIN | 1 << HOPPER_ROTATED, /* 32 columns are too few to have both of a pair */
        POOLS = 1 << HOPPER_POOLED_F16 | 1 << HOPPER_POOLED_F32,
        LARGE = 1 << HOPPER_F16 | 1 << HOPPER_NORMED | 1 << HOPPER_PAIRED
    };
    static const struct hopper_tile tiles[] = {{"", 128, 128, 4500, 300, 400, ALL},
                                               {"small_", 64, 64, 2900, 160, 205, ALL},
                                               {"128x64_", 128, 64, 3400, 225, 0, TURNS},
                                               {"64x64_", 64, 64, 2400, 140, 0, TURNS},
                                               {"32x64_", 32, 64, 2000, 138, 0, TURNS},
                                               {"32x32_", 32, 32, 1750, 136, 0, PLAIN},
                                               {"192x96_", 192, 96, 3600, 340, 0, PLAIN | POOLS},
                                               {"192x192_", 192, 192, 4200, 870, 0, LARGE}};
    const struct bi_linear_params *p = (const void *)l->params;
    const size_t size = l->out_dtype[0] == BI_F16 ? 2 : 4;
    const size_t line = ((uintptr_t)p->y | (size_t)p->n * size | (size_t)p->ldy * size) %
                        16; /* large tiles: 0 */
    const bool again = p->more_x ||
                       !p->y; /* a residual made again: tiles that are one to a block cannot */
    const bool twos = !again && p->n % 2 == 0 && by_twos(p->y, p->ldy, size) &&
                      by_twos(p->bias, 0, 4) && by_twos(p->residual, p->ldr, size) &&
                      by_twos(p->table, 0, 4);
    /* those of 128 x 128 go to memory in boxes */
    const bool boxes = kind > HOPPER_F32 ||
                       (!line && p->n % 8 == 0 && (uintptr_t)p->bias % 16 == 0 &&
                        (!p->residual ||
                         ((uintptr_t)p->residual | (size_t)p->ldr * size) % 16 == 0));
    const char *name = "small_";
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < BI_COUNT(tiles); i++) {
        const int64_t t = hopper_time(&tiles[i], p, facts->n_units);
        const bool takes = tiles[i].more ? *tiles[i].name || boxes
                                         : twos && (tiles[i].rows <= 128 || !line);
        if (tiles[i].kinds & 1u << kind && takes && t < best) {
            best = t;
            name = tiles[i].name;
        }
    }
    return name;
}

/* Hopper's own entry of a launch; false: it has none for it. */
static bool hopper_entry(const struct bi_gpu_facts *facts, const struct bi_launch *l, char *name,
                         size_t size)
{
    if (!facts->hopper || l->in_dtype[0] != BI_F16)
        return false;
    if (!strcmp(l->entry, "linear")) {
        const struct bi_linear_params *p = (const void *)l->params;
        const bool gates = p->gated == 16 && p->n % 32 == 0 &&
                           (p->act == BI_ACT_SILU || p->act == BI_ACT_GELU_TANH);
        const bool plain = !p->gated && (p->act == BI_ACT_NONE || p->act == BI_ACT_GELU ||
                                         p->act == BI_ACT_RELU);
        const bool half = l->out_dtype[0] == BI_F16;
        const enum hopper_kind kind = p->table   ? HOPPER_ROTATED
                                      : p->gated ? HOPPER_GATED
                                      : p->odd   ? (half ? HOPPER_POOLED_F16 : HOPPER_POOLED_F32)
                                      : p->scale ? HOPPER_NORMED
                                      : p->also  ? HOPPER_PAIRED
                                      : half     ? HOPPER_F16
                                                 : HOPPER_F32;
        snprintf(name, size, "linear_sm90_%s%s",
                 p->twin ? twin_tile(facts, p) : hopper_tile(facts, l, kind), hopper_kinds[kind]);
        return mappable(p->x, p->ldx) && mappable(p->w, p->k) && (gates || plain) &&
               (!p->more_x || (mappable(p->more_x, p->ldm) && mappable(p->more_w, p->more_k)));
    }
    if (!strcmp(l->entry, "attention")) {
        const struct bi_attention_params *p = (const void *)l->params;
        const int w = p->head_dim;
        snprintf(name, size, "attention_sm90_d%d_f16", w);
        return (w == 16 || w == 32 || w == 64 || w == 128) && !p->table && !p->bias &&
               mappable(p->q, p->ldq) && mappable(p->k, p->ldk) && mappable(p->v, p->ldv) &&
               p->ldy % 8 == 0 && (uintptr_t)p->y % 16 == 0;
    }
    if (!strcmp(l->entry, "rel_attention")) {
        const struct bi_rel_attention_params *p = (const void *)l->params;
        snprintf(name, size, "rel_attention_sm90_f16");
        return p->key_dim == 64 && p->value_dim == 192 && (p->n_windows == 1 || p->n % 64 == 0) &&
               mappable(p->q, p->ldq) && (uintptr_t)p->u % 16 == 0 && (uintptr_t)p->w % 16 == 0 &&
               mappable(p->k, p->ldk) && mappable(p->v, p->ldv) && mappable(p->r, p->ldr) &&
               p->ldy % 8 == 0 && (uintptr_t)p->y % 16 == 0;
    }
    return false;
}

void bi_gpu_entry_name(const struct bi_gpu_facts *facts, const struct bi_launch *l, char *name,
                       size_t size)
{
    const char *in = dtype_suffix(l->in_dtype[0]), *out = dtype_suffix(l->out_dtype[0]);
    if (hopper_entry(facts, l, name, size))
        return;
    if (!strcmp(l->entry, "linear")) {
        const struct bi_linear_params *p = (const void *)l->params;
        if (p->also || p->odd) /* Hopper's alone: graphs have it where that can be taken */
            snprintf(name, size, "linear_followed_%s", in);
        else if (l->in_dtype[0] == BI_F16)
            snprintf(name, size, "linear_%s%s%s_%s", p->gated ? "gated_" : "",
                     is_small(facts, p) ? "small_" : "", in, out);
        else
            snprintf(name, size, is_small_f32(facts, p) ? "linear_small_f32" : "linear_f32");
    } else if (!strcmp(l->entry, "attention")) {
        const struct bi_attention_params *p = (const void *)l->params;
        const bool half = l->in_dtype[0] == BI_F16;
        snprintf(name, size, "attention_%sd%d_%s", half && p->bias ? "bias_" : "",
                 attention_width(p->head_dim, half, p->bias), in);
    } else if (!strcmp(l->entry, "layernorm")) {
        const struct bi_layernorm_params *p = (const void *)l->params;
        const enum bi_dtype y = l->out_dtype[p->sum ? 1 : 0];
        const bool wide = l->in_dtype[0] == BI_F32 && y == BI_F16 && p->width > 1280 &&
                          p->width <= 1536;
        snprintf(name, size, "layernorm_%s%s_%s",
                 p->table ? "rotated_"
                 : wide   ? "wide_"
                          : "",
                 in, dtype_suffix(y));
    } else if (!strcmp(l->entry, "halves") ||
               (l->in_dtype[0] == BI_F32 && l->out_dtype[0] == BI_F16 &&
                (!strcmp(l->entry, "rope") || !strcmp(l->entry, "select_rows")))) {
        snprintf(name, size, "%s_%s_%s", l->entry, in, out);
    } else if (!strcmp(l->entry, "norm_act") || !strcmp(l->entry, "pair_diff") ||
               !strcmp(l->entry, "pair_pool") || !strcmp(l->entry, "depthwise")) {
        snprintf(name, size, "%s_%s_%s", l->entry, in, out);
    } else if (!strcmp(l->entry, "embedding_windows")) {
        snprintf(name, size, "%s_%s", l->entry, out);
    } else if (!strncmp(l->entry, "align", 5)) { /* numbers of their own */
        snprintf(name, size, "%s", l->entry);
    } else if (!strcmp(l->entry, "attention_contacts")) {
        const struct bi_attention_contacts_params *p = (const void *)l->params;
        const bool plain = l->in_dtype[0] == BI_F16 && !p->table && p->head_dim <= 128;
        snprintf(name, size, "attention_contacts_%s%s", plain ? "plain_" : "", in);
    } else if (!strcmp(l->entry, "mix")) {
        snprintf(name, size, "mix_%s", dtype_suffix(l->in_dtype[1]));
    } else {
        snprintf(name, size, "%s_%s", l->entry, in);
    }
}

/* linear_sm90.c - Hopper's tiles of linear layers: what each takes, its time, its tensor maps. */
#include "gpu_entries_sm90.h"
#include "sm90/linear_terms.h"

/* ---- which launches ---- */

/* Are the elements of an array, which need not be given, aligned for two at a time? */
static bool by_twos(const void *base, int64_t ld, size_t size)
{
    return !base || ((uintptr_t)base | (uint64_t)ld * size) % (2 * size) == 0;
}

static enum bi_gpu_kind kind_of(const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    const bool half = call->half_out & 1;
    return p->twin    ? BI_GPU_KIND_TWIN
           : p->table ? BI_GPU_KIND_ROTATED
           : p->gated ? BI_GPU_KIND_GATED
           : p->odd   ? (half ? BI_GPU_KIND_POOL_F16 : BI_GPU_KIND_POOL_F32)
           : p->scale ? BI_GPU_KIND_NORMED
           : p->also  ? BI_GPU_KIND_PAIRED
           : half     ? BI_GPU_KIND_F16
                      : BI_GPU_KIND_F32;
}

/* All tiles of a kind take the same activations and need the same of x and w. */
static bool takes_any(const struct bi_gpu_entry *e, const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    const bool gates = p->gated == 16 && p->n % 32 == 0 &&
                       (p->act == BI_ACT_SILU || p->act == BI_ACT_GELU_TANH);
    const bool plain = !p->gated &&
                       (p->act == BI_ACT_NONE || p->act == BI_ACT_GELU || p->act == BI_ACT_RELU);
    return (call->half_in & 1) && e->kind == (int32_t)kind_of(call) && (gates || plain) &&
           !p->before && !p->slope && bi_gpu_is_mappable(p->x, p->ldx) &&
           bi_gpu_is_mappable(p->w, p->k) &&
           (!p->more_x ||
            (bi_gpu_is_mappable(p->more_x, p->ldm) && bi_gpu_is_mappable(p->more_w, p->more_k)));
}

static size_t size_of_y(const struct bi_call *call)
{
    return call->half_out & 1 ? 2 : 4;
}

/* Bytes by which rows of y are off 16. */
static size_t off_line(const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    const size_t size = size_of_y(call);
    return ((uintptr_t)p->y | (size_t)p->n * size | (size_t)p->ldy * size) % 16;
}

/* Tiles of 128 x 128 go to memory in boxes. */
static bool takes_boxes(const struct bi_gpu_entry *e, const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    const size_t size = size_of_y(call);
    const bool plain = e->kind == BI_GPU_KIND_F16 || e->kind == BI_GPU_KIND_F32;
    return takes_any(e, call) &&
           (!plain ||
            (!off_line(call) && p->n % 8 == 0 && (uintptr_t)p->bias % 16 == 0 &&
             (!p->residual || ((uintptr_t)p->residual | (size_t)p->ldr * size) % 16 == 0)));
}

static int64_t count_tiles(const struct bi_gpu_tile *tile, const struct bi_linear_params *p)
{
    return bi_gpu_blocks(p->rows, tile->rows) * (int64_t)bi_gpu_blocks(p->n, tile->columns);
}

/* Tiles of which a block makes one must all be on the chip at once. They always write y and make
 * no residual again. */
static bool takes_once(const struct bi_gpu_entry *e, const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    const struct bi_gpu_tile *tile = &e->sm90->tile;
    const size_t size = size_of_y(call);
    const int64_t most = tile->rows > 64 ? call->units : call->units * 5 / 4;
    const bool twos = p->y && !p->more_x && p->n % 2 == 0 && by_twos(p->y, p->ldy, size) &&
                      by_twos(p->bias, 0, 4) && by_twos(p->residual, p->ldr, size) &&
                      by_twos(p->table, 0, 4);
    return takes_any(e, call) && twos && (tile->rows <= 128 || !off_line(call)) &&
           count_tiles(tile, p) <= most;
}

/* Products in float32, whatever the arrays: the backend has laid their weights out for no other. */
static bool takes_terms(const struct bi_gpu_entry *e, const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    (void)e;
    return bi_terms_fit(p->n, p->k) && !(call->half_out & 1) &&
           (bi_gpu_is_product(call, false, false) ||
            (bi_gpu_is_product(call, false, true) && p->gated == 16));
}

/* ---- how long: all tiles of a launch but those of a twin give the same bits ---- */

static int64_t time_of_rounds(const struct bi_gpu_entry *e, const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    const struct bi_gpu_tile *tile = &e->sm90->tile;
    const int64_t rounds = (count_tiles(tile, p) + call->units - 1) / call->units;
    return tile->launch + bi_gpu_blocks(p->k, 64) * (tile->slice + (rounds - 1) * tile->more);
}

/* All blocks ask the cache at once, which gives `rate` bytes a nanosecond: less of rows that are
 * far apart, and with a short ring. */
static int64_t time_at_once(const struct bi_gpu_entry *e, const struct bi_call *call)
{
    const struct bi_linear_params *p = call->params;
    const struct bi_gpu_tile *tile = &e->sm90->tile;
    const int64_t rate = tile->rows > 128                     ? 10600
                         : tile->columns == 32 || p->k < 1280 ? 10000
                         : tile->rows > 64                    ? (p->k < 2560 ? 10000 : 8000)
                                                              : (p->k < 2560 ? 6500 : 5000);
    const int64_t asked = count_tiles(tile, p) * (tile->rows + tile->columns) * 128 / rate;
    return tile->launch + bi_gpu_blocks(p->k, 64) * (asked > tile->slice ? asked : tile->slice);
}

static void grid_of(const struct bi_gpu_entry *e, const void *params,
                    const struct bi_counts *bucket, int32_t grid[2])
{
    (void)bucket;
    grid[0] = (int32_t)count_tiles(&e->sm90->tile, params);
}

/* ---- tensor maps ---- */

static struct bi_gpu_box box(const void *base, int64_t rows, int64_t columns, int64_t ld,
                             int32_t box_rows)
{
    return (struct bi_gpu_box){base, rows, columns, ld, box_rows, 64};
}

/* Even and odd rows of float16. */
static void boxes_of_twos(const void *x, int64_t rows, int64_t columns, int64_t ld,
                          int32_t box_rows, struct bi_gpu_box *even, struct bi_gpu_box *odd)
{
    *even = box(x, (rows + 1) / 2, columns, 2 * ld, box_rows);
    *odd = box((const char *)x + ld * 2, rows / 2, columns, 2 * ld, box_rows);
}

/* Maps behind those of x and w (linear_sm90_kinds.h), mostly boxes that a warp reads and writes at
 * once. m, n: of the tile. */
static void followed_boxes(const struct bi_linear_params *p, bool half, int32_t m, int32_t n,
                           struct bi_gpu_box *boxes)
{
    const bool pairs = p->also && !p->scale, small = m == 64;
    const int wide = half || p->odd ? 1 : 2; /* in units of two bytes */
    const int64_t rows = pairs ? p->rows / 2 : p->rows;
    const int32_t high = pairs && small ? 8 : 16;
    const void *added = p->odd ? p->odd : p->residual, *also = p->odd ? p->x : p->also;
    const char *y = (const char *)p->y + (p->odd ? p->pad * p->ldy * 2 : 0);
    if (p->more_x) { /* tiles as of x and w */
        if (small)
            boxes[0] = box(p->more_x, p->rows, p->more_k, p->ldm, m);
        else
            boxes_of_twos(p->more_x, p->rows, p->more_k, p->ldm, 64, &boxes[0], &boxes[5]);
        boxes[3] = box(p->more_w, p->n, p->more_k, p->more_k, n);
    } else if (added) {
        boxes[0] = box(added, p->rows, wide * p->n, wide * (p->odd ? p->ldo : p->ldr), 16);
    }
    if (p->y && (half || !p->odd))
        boxes[1] = box(y, rows, wide * p->n, wide * p->ldy, high);
    if (also)
        boxes[2] = box(also, rows, p->n, p->odd ? p->ldx : p->lda, high);
}

static void maps_of(const struct bi_gpu_entry *e, const void *params, int64_t n_tokens,
                    struct bi_gpu_box boxes[BI_GPU_MOST_MAPS])
{
    const struct bi_linear_params *p = params;
    const struct bi_gpu_tile *tile = &e->sm90->tile;
    const int32_t channels = BI_LINEAR_CHANNELS(p);
    const int64_t x_rows = p->rows + p->k / channels - 1;
    const bool half = e->kind != BI_GPU_KIND_F32 && e->kind != BI_GPU_KIND_POOL_F32;
    (void)n_tokens;
    if (e->kind == BI_GPU_KIND_PAIRED && tile->rows == 128)
        boxes_of_twos(p->x, x_rows, channels, p->ldx, 64, &boxes[0], &boxes[6]);
    else
        boxes[0] = box(p->x, x_rows, channels, p->ldx, tile->rows);
    boxes[1] = box(p->w, p->n, p->k, p->k, tile->columns);
    if (e->head == offsetof(struct bi_followed_sm90_params, followed))
        followed_boxes(p, half, tile->rows, tile->columns, &boxes[2]);
}

/* x in float32, two float16 wide; none where the threads read it. */
static void terms_maps(const struct bi_gpu_entry *e, const void *params, int64_t n_tokens,
                       struct bi_gpu_box boxes[BI_GPU_MOST_MAPS])
{
    const struct bi_linear_params *p = params;
    const struct bi_gpu_tile *tile = &e->sm90->tile;
    (void)n_tokens;
    if (bi_gpu_is_mappable(p->x, 2 * p->ldx))
        boxes[0] = box(p->x, p->rows, 2 * (int64_t)p->k, 2 * p->ldx, tile->rows);
    boxes[1] = box(p->w, p->n, 2 * bi_terms_columns(p->k), bi_terms_stride(p->k), tile->columns);
}

/* Even and odd rows of x, as for tiles of 128 pairs. */
static void twin_maps(const struct bi_gpu_entry *e, const void *params, int64_t n_tokens,
                      struct bi_gpu_box boxes[BI_GPU_MOST_MAPS])
{
    const struct bi_linear_params *p = params;
    const int64_t channels = p->k / BI_TWIN_TAPS, width = BI_TWIN_PRODUCTS * channels;
    const int32_t n = e->sm90->tile.columns;
    (void)n_tokens;
    boxes_of_twos(p->x, p->rows + BI_TWIN_TAPS - 1, channels, p->ldx, 128 + BI_TWIN_TAPS / 2,
                  &boxes[0], &boxes[6]);
    boxes[1] = box(p->w, p->n, width, width, n);
    followed_boxes(p, true, 128, n, &boxes[2]);
}

/* ---- tiles ---- */

/* Blocks stay on their multiprocessor and go from tile to tile. */
#define ROUNDS(name, condition, boxes, ...)                                                        \
    const struct bi_gpu_sm90 bi_gpu_sm90_##name = {"linear", condition, time_of_rounds, grid_of,   \
                                                   boxes,    true,      {__VA_ARGS__}};
#define ONCE(name, ...)                                                                            \
    const struct bi_gpu_sm90 bi_gpu_sm90_##name = {"linear", takes_once, time_at_once, grid_of,    \
                                                   maps_of,  false,      {__VA_ARGS__}};

/* Launches of blocks that need a multiprocessor for themselves are 0.4 to 0.5 us longer here than
 * alone, as they begin later behind others. A round of the narrower tiles of a twin takes three
 * fifths of the time of one of the others. */
ROUNDS(128x128, takes_boxes, maps_of, 128, 128, 4500, 300, 400)
ROUNDS(small, takes_any, maps_of, 64, 64, 2900, 160, 205)
ONCE(128x64, 128, 64, 3400, 225, 0)
ONCE(64x64, 64, 64, 2400, 140, 0)
ONCE(32x64, 32, 64, 2000, 138, 0)
ONCE(32x32, 32, 32, 1750, 136, 0)
ONCE(192x96, 192, 96, 3600, 340, 0)
ONCE(192x192, 192, 192, 4200, 870, 0)
ROUNDS(twin, takes_any, twin_maps, 256, 128, 0, 5, 5)
ROUNDS(low_twin, takes_any, twin_maps, 256, 64, 0, 3, 3)

/* Products of three terms. The small ones have two blocks on a multiprocessor. */
#define TERMS(name, stays, ...)                                                                    \
    const struct bi_gpu_sm90 bi_gpu_sm90_##name = {                                                \
        "linear", takes_terms, time_of_rounds, grid_of, terms_maps, stays, {__VA_ARGS__}};
TERMS(terms_128x160, true, 128, 160, 4500, 1600, 1750)
TERMS(terms_128x128, true, 128, 128, 4500, 1400, 1450)
TERMS(terms_64x64, false, 64, 64, 3800, 570, 500)
TERMS(terms_64x32, false, 64, 32, 3300, 450, 330)

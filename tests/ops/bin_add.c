/* bin_add.c - cases of the bin_add kernel: a tile behind others whose sums are there. */
#include <math.h>

#include "graphs.h"

#include "kernels/bin_sums.h"
#include "ops/shared.h"

static void check(struct ck *ck, int32_t rows, int32_t width, int logs, const char *note)
{
    typedef struct bi_bin_add_params T;
    struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
    const int32_t kinds = logs ? 2 : 1, pad = (int32_t)ck_random(ck, 0, 3);
    int32_t *tile = ck_graph_ints(&g, BI_TILE_WORDS, 1);
    T p = {.counts = &g.counts, .tile = tile, .ldx = width + pad, .width = width, .logs = logs};
    float *x = ck_graph_floats(&g, rows * p.ldx, 1);
    tile[BI_TILE_BASE] = (int32_t)ck_random(ck, 0, 40);
    tile[BI_TILE_FIRST] = tile[BI_TILE_BASE] + (int32_t)ck_random(ck, 0, rows / 4);
    tile[BI_TILE_END] = tile[BI_TILE_BASE] + rows - (int32_t)ck_random(ck, 0, rows / 4);
    for (int64_t i = 0; i < rows * p.ldx; i++)
        x[i] = fabsf(x[i]);
    p.x = x;
    p.y = ck_graph_zeros(&g, BI_SUMS_ROWS * (int64_t)kinds * width);
    for (int64_t kind = 0; kind < kinds; kind++) /* CPUs have the first partial sum alone */
        for (int32_t c = 0; c < width; c++)
            bi_ref_put_part(p.y + 2 * (kinds + kind * BI_SUMS_SLICES) * width + c, width,
                            (double)ck_random(ck, 0, 1 << 20) / 3e5);
    ck_check_fixed(ck,
                   &(struct ck_fixed){
                       .entry = "bin_add",
                       .reference = bi_op_bin_add.reference,
                       .params = &p,
                       .params_size = sizeof p,
                       .compared = 4 * 2 * (size_t)kinds * (size_t)width,
                       .absolute = 1e-6,
                       .relative = 1e-6,
                       .note = note,
                       .arrays = {{offsetof(T, y), 4 * BI_SUMS_ROWS * (size_t)kinds * (size_t)width,
                                   CK_FIXED_F32}}});
    ck_graph_free(&g);
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 1 << 16, 667, 1, "a tile of 65,536 bases, 667 tracks");
        return;
    }
    for (int i = 0; i < 24; i++)
        check(ck, (int32_t)ck_random(ck, 1, i % 3 ? 30 : 400),
              (int32_t)ck_random(ck, 1, i % 2 ? 30 : 200), i % 4 == 3, "random");
}

const struct ck_op ck_bin_add = {.stem = "bin_add", .cases = cases};

/* list_add.c - cases of the list_add kernel: a tile behind others whose sums are there. */
#include "graphs.h"

#include "kernels/list_sums.h"
#include "ops/shared.h"

/* Fills list i, whose rows ascend, with the span where its last row would be, and finds which of
 * them are the tile's. */
static void fill_list(struct ck *ck, const struct bi_list_add_params *p, int32_t i, int32_t *rows,
                      int32_t *cuts)
{
    const int32_t *ends = p->lists + 2, first = i ? ends[i - 1] : 0, n = ends[i] - first;
    const int32_t step = 1 + 2 * p->tile[BI_TILE_END] / (n + 1);
    int32_t row = 0;
    cuts[i] = cuts[p->n + i] = first;
    for (int32_t at = first; at < ends[i]; at++) {
        const bool none = ck_random(ck, 0, 7) == 0;
        row += none ? 0 : (int32_t)ck_random(ck, 0, step);
        rows[at] = none                                                  ? BI_LIST_NONE
                   : p->lists[0] < p->lists[1] && row == p->lists[1] - 1 ? BI_LIST_SPAN
                                                                         : row;
        cuts[i] += row < p->tile[BI_TILE_FIRST];
        cuts[p->n + i] += row < p->tile[BI_TILE_END];
    }
}

static void check(struct ck *ck, int kind, int32_t n, int32_t size, int32_t width, const char *note)
{
    typedef struct bi_list_add_params T;
    struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
    const int32_t n_others = (int32_t)ck_random(ck, 1, 50), pad = (int32_t)ck_random(ck, 0, 3);
    const int32_t rows = (int32_t)ck_random(ck, 1, ck_bench(ck) ? 1 << 16 : 60);
    int32_t *lists = ck_graph_ints(&g, 2 + n + 2 * (int64_t)size, 1), *ends = lists + 2;
    int32_t *tile = ck_graph_ints(&g, BI_TILE_WORDS, 1), *cuts = ck_graph_ints(&g, 2 * n, 1);
    T p = {.counts = &g.counts,
           .lists = lists,
           .tile = tile,
           .cuts = cuts,
           .ldx = width + pad,
           .ldo = width,
           .size = size,
           .n = n,
           .width = width,
           .kind = kind};
    tile[BI_TILE_BASE] = (int32_t)ck_random(ck, 0, 40);
    tile[BI_TILE_FIRST] = tile[BI_TILE_BASE] + (int32_t)ck_random(ck, 0, rows - 1);
    tile[BI_TILE_END] = (int32_t)ck_random(ck, tile[BI_TILE_FIRST] + 1, tile[BI_TILE_BASE] + rows);
    lists[0] = (int32_t)ck_random(ck, 0, tile[BI_TILE_END]);
    lists[1] = (int32_t)ck_random(ck, lists[0], tile[BI_TILE_END] + 20);
    for (int32_t i = 0; i < n; i++) /* ascending: some lists have no row */
        ends[i] = i + 1 == n ? size : (int32_t)ck_random(ck, i ? ends[i - 1] : 0, size);
    for (int32_t i = 0; i < n; i++)
        fill_list(ck, &p, i, ends + n, cuts);
    for (int32_t i = 0; i < size; i++)
        ends[n + size + i] = (int32_t)ck_random(ck, 0, n_others - 1);
    p.x = ck_graph_floats(&g, rows * p.ldx, 1);
    p.other = ck_graph_floats(&g, n_others * p.ldo, 1);
    p.y = ck_graph_zeros(&g, BI_SUMS_ROWS * (int64_t)n * width);
    for (int64_t i = 0; i < n; i++) /* CPUs have the first partial sum alone */
        for (int32_t c = 0; c < width; c++) {
            bi_ref_put_part(p.y + (2 * n + 2 * BI_SUMS_SLICES * i) * width + c, width,
                            (double)ck_random(ck, 0, 1 << 20) / 3e5);
            p.y[((2 + 2 * BI_SUMS_SLICES) * n + i) * width + c] = (float)ck_random(ck, -9, 9) / 5;
        }
    ck_check_fixed(ck, &(struct ck_fixed){
                           .entry = "list_add",
                           .reference = bi_op_list_add.reference,
                           .params = &p,
                           .params_size = sizeof p,
                           .compared = 4 * 2 * (size_t)n * (size_t)width,
                           .absolute = 1e-6,
                           .relative = 1e-6,
                           .note = note,
                           .arrays = {{offsetof(T, y), 4 * BI_SUMS_ROWS * (size_t)n * (size_t)width,
                                       CK_FIXED_F32}}});
    ck_graph_free(&g);
}

static void cases(struct ck *ck)
{
    static const char *const notes[] = {"sums", "largest gaps", "sums of gaps"};
    if (ck_bench(ck)) {
        check(ck, BI_LIST_SUM, 64, 1 << 13, 667, "exons of 64 genes in a tile, 667 tracks");
        return;
    }
    for (int i = 0; i < 48; i++)
        check(ck, i % BI_LIST_KINDS, (int32_t)ck_random(ck, 1, 9),
              (int32_t)ck_random(ck, 1, i % 2 ? 20 : 300),
              (int32_t)ck_random(ck, 1, i % 4 ? 40 : 200), notes[i % BI_LIST_KINDS]);
}

const struct ck_op ck_list_add = {.stem = "list_add", .cases = cases};

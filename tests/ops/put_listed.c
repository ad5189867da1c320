/* put_listed.c - cases of the put_listed kernel. */
#include "graphs.h"

#include "kernels/list_sums.h"

static void cases(struct ck *ck)
{
    typedef struct bi_put_listed_params T;
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
        const int32_t width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 300);
        const int32_t of_tile = (int32_t)ck_random(ck, 1, 60);
        int32_t *tile = ck_graph_ints(&g, BI_TILE_WORDS, 1), *list;
        T p = {.counts = &g.counts,
               .tile = tile,
               .ldx = width + (int32_t)ck_random(ck, 0, 3),
               .rows = ck_random(ck, 1, 90),
               .width = width};
        tile[BI_TILE_BASE] = (int32_t)ck_random(ck, 0, 40);
        tile[BI_TILE_FIRST] = tile[BI_TILE_BASE] + (int32_t)ck_random(ck, 0, of_tile / 3);
        tile[BI_TILE_END] = tile[BI_TILE_BASE] + of_tile - (int32_t)ck_random(ck, 0, of_tile / 3);
        list = ck_graph_ints(&g, p.rows, 130);
        for (int64_t r = 0; r < p.rows; r++)
            list[r]--;
        p.list = list;
        p.x = ck_graph_floats(&g, of_tile * p.ldx, 1);
        p.y = ck_graph_floats(&g, p.rows * width, 1);
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "put_listed",
                                   .reference = bi_op_put_listed.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .note = "random",
                                   .arrays = {{offsetof(T, y), 4 * (size_t)p.rows * (size_t)width,
                                               CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_put_listed = {.stem = "put_listed", .cases = cases};

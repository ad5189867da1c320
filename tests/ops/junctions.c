/* junctions.c - cases of the junctions kernel. */
#include <math.h>

#include "graphs.h"

#include "kernels/junctions.h"

static void cases(struct ck *ck)
{
    typedef struct bi_junctions_params T;
    for (int i = 0; i < 12 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
        const int32_t k = (int32_t)ck_random(ck, 1, i % 3 ? 20 : 150);
        const int32_t d = 2 * (int32_t)ck_random(ck, 1, i % 2 ? 8 : 48);
        const int64_t rows = BI_JUNCTION_CLASSES * (int64_t)k;
        T p = {.counts = &g.counts,
               .k = k,
               .d = d,
               .ldx = d,
               .n_tracks = {(int32_t)ck_random(ck, 1, 3), (int32_t)ck_random(ck, 1, 3)}};
        const int64_t n_tracks = p.n_tracks[0] + p.n_tracks[1];
        int32_t *at = ck_graph_ints(&g, rows, 1000);
        float *table = ck_graph_zeros(&g, rows * d);
        p.ldy = n_tracks;
        for (int64_t r = 0; r < rows; r++) {
            if (r % k >= k - k / 3)
                at[r] = -1;
            for (int32_t c = 0; c < d / 2; c++) {
                table[r * d + c] = cosf((float)(r + c));
                table[r * d + d / 2 + c] = sinf((float)(r + c));
            }
        }
        p.at = at;
        p.table = table;
        p.x = ck_graph_floats(&g, rows * d, 0.5);
        for (int c = 0; c < BI_JUNCTION_CLASSES; c++)
            p.w[c] = ck_graph_floats(&g, 2 * (int64_t)p.n_tracks[c / 2] * d, 0.5);
        p.y = ck_graph_zeros(&g, (int64_t)k * k * n_tracks);
        ck_check_fixed(ck,
                       &(struct ck_fixed){
                           .entry = "junctions",
                           .reference = bi_op_junctions.reference,
                           .params = &p,
                           .params_size = sizeof p,
                           .absolute = 1e-5,
                           .relative = 1e-5,
                           .note = "random",
                           .arrays = {{offsetof(T, y), 4 * (size_t)k * (size_t)k * (size_t)n_tracks,
                                       CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_junctions = {.stem = "junctions", .cases = cases};

/* frames.c - cases of the frames kernel. */
#include "graphs.h"

#include "kernels/frames.h"

static void cases(struct ck *ck)
{
    typedef struct bi_frames_params T;
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, 4);
        const int32_t width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 300);
        const int32_t n_from = (int32_t)ck_random(ck, 1, 60);
        T p = {.counts = &g.counts,
               .axis = BI_AXIS_TOKENS,
               .rows = g.counts.n_tokens,
               .width = width,
               .ldb = i % 3 ? width : width + 3,
               .ldy = width};
        p.base = ck_graph_floats(&g, n_from * p.ldb, 1);
        p.at = ck_graph_floats(&g, 3 * (int64_t)n_from, 5);
        p.w = ck_graph_floats(&g, 3 * (int64_t)width, 0.3);
        p.code = ck_graph_ints(&g, p.rows, BI_FRAMES * n_from);
        p.y = ck_graph_zeros(&g, p.rows * p.ldy);
        ck_check_fixed(
            ck, &(struct ck_fixed){
                    .entry = "frames",
                    .reference = bi_op_frames.reference,
                    .params = &p,
                    .params_size = sizeof p,
                    .absolute = 5e-6,
                    .relative = 1e-6,
                    .note = "random",
                    .arrays = {{offsetof(T, y), 4 * (size_t)(p.rows * p.ldy), CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_frames = {.stem = "frames", .cases = cases};

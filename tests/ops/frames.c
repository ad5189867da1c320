/* frames.c - cases of the frames kernel. */
#include "graphs.h"

#include "kernels/frames.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int rows, const char *note)
{
    typedef struct bi_frames_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width};
    ck_check(ck, &(struct ck_case){
                     .entry = "frames",
                     .reference = bi_op_frames.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, base, ldb), CK_IN, BI_AXIS_FIXED, .rows = rows,
                              .width = width},
                             {CK_PLAIN(T, at), CK_IN, BI_AXIS_FIXED, .rows = rows, .width = 3},
                             {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 3, .width = width},
                             {CK_PLAIN(T, code), CK_IN, BI_AXIS_TOKENS, .width = 1, .fill = CK_IDS,
                              .limit = BI_FRAMES * rows},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 2e-6,
                     .relative = 1e-6,
                     .note = note});
}

static void cases(struct ck *ck)
{
    typedef struct bi_frames_params T;
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 430);
        check(ck, &n, 768, 430, "3440 x 768");
        return;
    }
    for (int i = 0; i < 24; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 300), (int)ck_random(ck, 1, 60), "random");
    }
    for (int i = 0; i < 8; i++) { /* coordinates of some angstroms */
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
        ck_check_floats(ck, "frames", bi_op_frames.reference, &p, sizeof p, offsetof(T, y),
                        p.rows * p.ldy);
        ck_graph_free(&g);
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"frames_f32_f16", {CK_AT(frames, y), CK_END}, 4e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_frames = {.stem = "frames", .cases = cases, .entries = entries};

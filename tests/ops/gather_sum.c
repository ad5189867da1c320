/* gather_sum.c - cases of the gather_sum kernel. */
#include "graphs.h"

#include "kernels/gather_sum.h"

/* Lists that name a row everywhere. */
static void check(struct ck *ck, const struct ck_lengths *n, int width, int k, int rows,
                  const char *note)
{
    typedef struct bi_gather_sum_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width, .k = k, .factor = 0.5f};
    ck_check(ck, &(struct ck_case){
                     .entry = "gather_sum",
                     .reference = bi_op_gather_sum.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays = {{CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = rows,
                                 .width = width},
                                {CK_PLAIN(T, index), CK_IN, BI_AXIS_TOKENS, .width = k,
                                 .fill = CK_IDS, .limit = rows},
                                {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width}},
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 2e-6,
                     .relative = 1e-6,
                     .note = note});
}

static void cases(struct ck *ck)
{
    typedef struct bi_gather_sum_params T;
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 430);
        check(ck, &n, 256, 8, 3440, "3440 x 8 x 256");
        return;
    }
    for (int i = 0; i < 24; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 300), (int)ck_random(ck, 1, 12),
              (int)ck_random(ck, 1, 90), "all there");
    }
    for (int i = 0; i < 24; i++) {
        struct ck_graph g = ck_graph_new(ck, 3, i ? 70 : 1, 4);
        const int32_t n_from = (int32_t)ck_random(ck, 1, 200);
        const int32_t width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 300);
        const bool packed = i % 3;
        T p = {.counts = &g.counts,
               .axis = i % 2 ? BI_AXIS_TOKENS : BI_AXIS_SAMPLED,
               .width = width,
               .ldx = packed ? width : width + 5,
               .ldy = width,
               .k = (int32_t)ck_random(ck, 1, 12),
               .factor = i % 2 ? 1 : 0.125f};
        int32_t *index;
        p.rows = bi_live_rows(&g.counts, p.axis, 0);
        index = ck_graph_ints(&g, p.rows * p.k, n_from + 1);
        for (int64_t m = 0; m < p.rows * p.k; m++)
            index[m]--;
        p.index = index;
        p.x = ck_graph_floats(&g, n_from * p.ldx, 1);
        p.y = ck_graph_zeros(&g, p.rows * p.ldy);
        ck_check_floats(ck, "gather_sum", bi_op_gather_sum.reference, &p, sizeof p, offsetof(T, y),
                        p.rows * p.ldy);
        ck_graph_free(&g);
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"gather_sum_f32_f16", {CK_AT(gather_sum, y), CK_END}, 4e-6, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_gather_sum = {.stem = "gather_sum", .cases = cases, .entries = entries};

/* edge_start.c - cases of this kernel. */
#include "atoms.h"

/* More atoms than a block of a GPU adds up at a time. */
static void many(struct ck *ck, int i)
{
    typedef struct bi_atom_edges_params T;
    const int32_t n = i ? (int32_t)ck_random(ck, 2048, 9000) : 4096;
    struct ck_graph g = ck_graph_new(ck, 1, 4, 4);
    struct bi_counts counts = {.n_tokens = n, .n_seqs = 1};
    T p = {.counts = &counts,
           .degree = ck_graph_ints(&g, n, 60),
           .report = ck_graph_ints(&g, BI_REPORT_WORDS, 1),
           .start = ck_graph_ints(&g, n + 1, 7),
           .rows = n,
           .capacity = i == 1 ? n : 100 * n};
    if (i == 2)
        p.degree[n - 1] = -3;
    ck_check_fixed(
        ck, &(struct ck_fixed){.entry = "edge_start",
                               .reference = bi_op_edge_start.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .note = "many",
                               .arrays = {{offsetof(T, report), 4 * BI_REPORT_WORDS, CK_FIXED_I32},
                                          {offsetof(T, start), 4 * (size_t)n + 4, CK_FIXED_I32}}});
    ck_graph_free(&g);
}

static void cases(struct ck *ck)
{
    typedef struct bi_atom_edges_params T;
    for (int i = 0; i < CK_FRAMES_CASES && !ck_bench(ck); i++) {
        struct ck_frames f;
        ck_frames_new(&f, ck, i, 2);
        const struct ck_fixed_array arrays[] = {
            {offsetof(T, report), 4 * BI_REPORT_WORDS, CK_FIXED_I32},
            {offsetof(T, start), 4 * (size_t)f.counts.n_tokens + 4, CK_FIXED_I32}};
        ck_frames_check(ck, &f, 2, arrays, (int)(sizeof arrays / sizeof *arrays));
        ck_frames_free(&f);
    }
    for (int i = 0; i < 3 && !ck_bench(ck); i++)
        many(ck, i);
}

const struct ck_op ck_edge_start = {.stem = "edge_start", .cases = cases};

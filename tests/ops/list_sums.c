/* list_sums.c - cases of the list_sums kernel. */
#include "graphs.h"

#include "kernels/list_sums.h"

static void check(struct ck *ck, int kind, int32_t n, int32_t size, int32_t rows, int32_t width,
                  const char *note)
{
    typedef struct bi_list_sums_params T;
    struct ck_graph g = ck_graph_new(ck, 1, 4, 1);
    const int32_t n_others = (int32_t)ck_random(ck, 1, 50), pad = (int32_t)ck_random(ck, 0, 3);
    int32_t *lists = ck_graph_ints(&g, 2 + n + 2 * (int64_t)size, 1), *ends = lists + 2;
    T p = {.counts = &g.counts,
           .lists = lists,
           .ldx = width + pad,
           .ldo = width,
           .ldy = width + pad,
           .size = size,
           .n = n,
           .width = width,
           .kind = kind};
    lists[0] = (int32_t)ck_random(ck, 0, rows - 1);
    lists[1] = (int32_t)ck_random(ck, lists[0] + 1, rows);
    for (int32_t i = 0; i < n; i++) /* ascending: some lists have no row */
        ends[i] = i + 1 == n ? size : (int32_t)ck_random(ck, i ? ends[i - 1] : 0, size);
    for (int32_t i = 0; i < size; i++) {
        ends[n + i] = (int32_t)ck_random(ck, i % 5 ? 0 : BI_LIST_SPAN, rows - 1);
        ends[n + size + i] = (int32_t)ck_random(ck, 0, n_others - 1);
    }
    p.x = ck_graph_floats(&g, rows * p.ldx, 1);
    p.other = ck_graph_floats(&g, n_others * p.ldo, 1);
    p.y = ck_graph_zeros(&g, 2 * n * p.ldy);
    ck_check_fixed(
        ck, &(struct ck_fixed){
                .entry = "list_sums",
                .reference = bi_op_list_sums.reference,
                .params = &p,
                .params_size = sizeof p,
                .absolute = 1e-6,
                .relative = 1e-6,
                .note = note,
                .arrays = {{offsetof(T, y), 4 * 2 * (size_t)n * (size_t)p.ldy, CK_FIXED_F32}}});
    ck_graph_free(&g);
}

static void cases(struct ck *ck)
{
    static const char *const notes[] = {"sums", "largest gaps", "sums of gaps"};
    if (ck_bench(ck)) {
        check(ck, BI_LIST_SUM, 64, 1 << 17, 1 << 18, 667, "exons of 64 genes, 667 tracks");
        check(ck, BI_LIST_GAP, 1, 1 << 17, 1 << 18, 734, "the body of a gene, 734 tracks");
        return;
    }
    for (int i = 0; i < 36; i++) {
        const int kind = i % BI_LIST_KINDS;
        check(ck, kind, (int32_t)ck_random(ck, 1, 9), (int32_t)ck_random(ck, 1, i % 2 ? 20 : 300),
              (int32_t)ck_random(ck, 1, 40), (int32_t)ck_random(ck, 1, i % 4 ? 40 : 200),
              notes[kind]);
    }
}

const struct ck_op ck_list_sums = {.stem = "list_sums", .cases = cases};

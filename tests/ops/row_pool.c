/* row_pool.c - cases of the row_pool kernel. */
#include "checkkernel.h"
#include "kernels/row_pool.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int absent,
                  const char *note)
{
    typedef struct bi_row_pool_params T;
    T p = {.width = width};
    ck_check(
        ck, &(struct ck_case){.entry = "row_pool",
                              .reference = bi_op_row_pool.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .start = offsetof(T, start),
                              .row_start = true,
                              .rows = offsetof(T, rows),
                              .arrays =
                                  {
                                      {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_GRID, .width = width},
                                      {CK_ARRAY(T, logit, ldl), CK_IN, BI_AXIS_GRID, .width = 1,
                                       .scale = 3, .absent = absent},
                                      {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                                  },
                              .lengths = n->of,
                              .n_seqs = n->n,
                              .absolute = 2e-6,
                              .relative = 2e-6,
                              .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 17, 0, 9, -1};
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        struct ck_lengths n = i < 4 ? ck_lengths_of(edges) : ck_lengths(ck, 5, 24);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 8 : 300), i % 3 == 2,
              i < 4 ? "edges" : "ragged");
    }
}

const struct ck_op ck_row_pool = {.stem = "row_pool", .cases = cases};

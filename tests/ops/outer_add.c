/* outer_add.c - cases of the outer_add kernel. */
#include "outer.h"

#include "kernels/grids.h"

typedef struct bi_outer_add_params T;

static void outer_grid(struct ck *ck, const struct bi_op *op, const struct ck_lengths *n, int width,
                       int absent, int product, const char *note)
{
    T p = {.width = width, .axis = BI_AXIS_GRID, .product = product};
    ck_check(ck,
             &(struct ck_case){.entry = "outer_add",
                               .reference = op->reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .start = offsetof(T, start),
                               .grid_start = offsetof(T, grid_start),
                               .rows = offsetof(T, rows),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_GRID, .width = width,
                                        .absent = absent},
                                       {CK_ARRAY(T, a, lda), CK_IN, BI_AXIS_TOKENS, .width = width},
                                       {CK_ARRAY(T, b, ldb), CK_IN, BI_AXIS_TOKENS, .width = width},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_GRID, .width = width},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .absolute = 2e-6,
                               .relative = 2e-6,
                               .note = note});
}

void ck_outer_grids(struct ck *ck, const struct bi_op *op, int product)
{
    static const int32_t edges[] = {1, 2, 3, 17, 0, 9, -1};
    for (int i = 0; i < 16 && !ck_bench(ck); i++) {
        struct ck_lengths n = i < 4 ? ck_lengths_of(edges) : ck_lengths(ck, 5, 20);
        outer_grid(ck, op, &n, (int)ck_random(ck, 1, i % 2 ? 8 : 150), product || i / 2 % 2,
                   product, i < 4 ? "edges" : "ragged");
    }
}

static void cases(struct ck *ck)
{
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    ck_outer_grids(ck, &bi_op_outer_add, 0);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        T p = {.width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 200),
               .n = (int32_t)ck_random(ck, 1, 12)};
        p.rows = p.n * p.n * ck_random(ck, 1, 3);
        ck_check(ck, &(struct ck_case){.entry = "outer_add",
                                       .reference = bi_op_outer_add.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                               {CK_ARRAY(T, a, lda), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows / p.n, .width = p.width},
                                               {CK_ARRAY(T, b, ldb), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows / p.n, .width = p.width},
                                               {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .absolute = 2e-6,
                                       .relative = 2e-6,
                                       .note = "random"});
    }
}

const struct ck_op ck_outer_add = {.stem = "outer_add", .cases = cases};

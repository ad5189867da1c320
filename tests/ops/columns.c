/* columns.c - cases of views: an op that reads some columns of wider rows. A view has no
 * kernel; what it asks of the others is that they take a stride and any alignment. */
#include "checkkernel.h"
#include "kernels/unary.h"

static void cases(struct ck *ck)
{
    typedef struct bi_unary_params T;
    for (int i = 0; i < 10 && !ck_bench(ck); i++) {
        struct ck_lengths n = ck_lengths(ck, 4, 40);
        T p = {.axis = BI_AXIS_TOKENS, .width = 1 + 7 * i, .function = BI_UNARY_SCALE, .factor = 1};
        ck_check(ck, &(struct ck_case){
                         .entry = "unary",
                         .reference = bi_op_scale.reference,
                         .params = &p,
                         .params_size = sizeof p,
                         .rows = offsetof(T, rows),
                         .arrays =
                             {
                                 {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = p.width,
                                  .fill = CK_WIDE},
                                 {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = p.width},
                             },
                         .lengths = n.of,
                         .n_seqs = n.n,
                         .note = "strided"});
    }
}

const struct ck_op ck_columns = {.stem = "columns", .cases = cases};

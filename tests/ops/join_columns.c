/* join_columns.c - cases of the join_columns kernel. */
#include "checkkernel.h"
#include "kernels/track_rows.h"

static void cases(struct ck *ck)
{
    typedef struct bi_join_columns_params T;
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        const struct ck_lengths n = ck_lengths(ck, 4, 30);
        const int32_t first = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 600);
        const int32_t second = (int32_t)ck_random(ck, 1, i % 3 ? 300 : 3);
        T p = {.axis = BI_AXIS_TOKENS, .width = first + second, .first = first};
        ck_check(ck, &(struct ck_case){
                         .entry = "join_columns",
                         .reference = bi_op_join_columns.reference,
                         .params = &p,
                         .params_size = sizeof p,
                         .rows = offsetof(T, rows),
                         .arrays =
                             {
                                 {CK_ARRAY(T, a, lda), CK_IN, BI_AXIS_TOKENS, .width = first},
                                 {CK_ARRAY(T, b, ldb), CK_IN, BI_AXIS_TOKENS, .width = second},
                                 {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = p.width},
                             },
                         .lengths = n.of,
                         .n_seqs = n.n,
                         .note = "random"});
    }
}

const struct ck_op ck_join_columns = {.stem = "join_columns", .cases = cases};

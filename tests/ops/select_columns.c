/* select_columns.c - cases of the select_columns kernel. */
#include "checkkernel.h"
#include "kernels/select_columns.h"

static void cases(struct ck *ck)
{
    typedef struct bi_select_columns_params T;
    for (int i = 0; i < 30 && !ck_bench(ck); i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        const int columns = (int)ck_random(ck, 1, i % 2 ? 40 : 700);
        T p = {.axis = BI_AXIS_TOKENS, .width = (int32_t)ck_random(ck, 1, i % 3 ? 20 : 300)};
        ck_check(ck, &(struct ck_case){
            .entry = "select_columns", .reference = bi_op_select_columns.reference, .params = &p,
            .params_size = sizeof p, .rows = offsetof(T, rows),
            .arrays = {
                {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = columns, .fill = CK_WIDE},
                {CK_PLAIN(T, index), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = p.width,
                 .fill = CK_IDS, .limit = columns},
                {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = p.width},
            },
            .lengths = n.of, .n_seqs = n.n, .note = "random"});
    }
}

const struct ck_op ck_select_columns = {"select_columns", cases};

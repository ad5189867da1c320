/* select_rows.c - cases of the select_rows kernel. */
#include "checkkernel.h"
#include "kernels/select_rows.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, int rows, const char *note)
{
    typedef struct bi_select_rows_params T;
    T p = {.axis = BI_AXIS_ROWS, .width = width};
    ck_check(ck,
             &(struct ck_case){.entry = "select_rows",
                               .reference = bi_op_select_rows.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .rows = offsetof(T, rows),
                               .arrays =
                                   {
                                       {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = rows,
                                        .width = width, .fill = CK_WIDE},
                                       {CK_PLAIN(T, index), CK_IN, BI_AXIS_ROWS, .width = 1,
                                        .fill = CK_IDS, .limit = rows},
                                       {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_ROWS, .width = width},
                                   },
                               .lengths = n->of,
                               .n_seqs = n->n,
                               .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 640, 4000, "3800 x 640");
        return;
    }
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 700), (int)ck_random(ck, 1, 90), "random");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"select_rows_f16", {CK_AT(select_rows, x), CK_AT(select_rows, y), CK_END}, 0, 0, 0, NULL},
    {"select_rows_f32_f16", {CK_AT(select_rows, y), CK_END}, 1e-7, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_select_rows = {.stem = "select_rows", .cases = cases, .entries = entries};

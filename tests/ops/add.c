/* add.c - cases of the add kernel. */
#include "checkkernel.h"
#include "kernels/add.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, enum bi_broadcast how,
                  const char *note)
{
    typedef struct bi_add_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width, .broadcast = (int32_t)how};
    ck_check(ck, &(struct ck_case){
                     .entry = "add",
                     .reference = bi_op_add.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, a, lda), CK_IN, BI_AXIS_TOKENS, .width = width,
                              .fill = CK_WIDE},
                             {CK_ARRAY(T, b, ldb), CK_IN,
                              how == BI_BROADCAST_NONE ? BI_AXIS_TOKENS : BI_AXIS_FIXED, .rows = 1,
                              .width = how == BI_BROADCAST_SCALAR ? 1 : width, .fill = CK_WIDE},
                             {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .note = note});
}

static void cases(struct ck *ck)
{
    static const enum bi_broadcast how[] = {BI_BROADCAST_NONE, BI_BROADCAST_ROW,
                                            BI_BROADCAST_SCALAR};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 640, BI_BROADCAST_NONE, "3800 x 640");
        check(ck, &n, 640, BI_BROADCAST_ROW, "3800 x 640 row");
        return;
    }
    for (int i = 0; i < 45; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 700), how[i % 3], "random");
    }
}

/* clang-format off */
static const struct ck_entry entries[] = {
    {"add_f16", {CK_AT(add, a), CK_AT(add, b), CK_AT(add, y), CK_END}, 1e-7, 6e-4, 1e-7, NULL},
    {0},
};
/* clang-format on */

const struct ck_op ck_add = {.stem = "add", .cases = cases, .entries = entries};

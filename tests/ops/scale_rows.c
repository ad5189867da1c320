/* scale_rows.c - cases of the scale_rows kernel. */
#include "checkkernel.h"
#include "kernels/scale_rows.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, const char *note)
{
    typedef struct bi_scale_rows_params T;
    T p = {.axis = BI_AXIS_TOKENS, .width = width};
    ck_check(
        ck, &(struct ck_case){.entry = "scale_rows",
                              .reference = bi_op_scale_rows.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .rows = offsetof(T, rows),
                              .arrays =
                                  {
                                      {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = width,
                                       .fill = CK_WIDE},
                                      {CK_PLAIN(T, scale), CK_IN, BI_AXIS_TOKENS, .width = 1},
                                      {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = width},
                                  },
                              .lengths = n->of,
                              .n_seqs = n->n,
                              .relative = 1e-7,
                              .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(8, 475);
        check(ck, &n, 640, "3800 x 640");
        return;
    }
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        check(ck, &n, (int)ck_random(ck, 1, i % 2 ? 40 : 700), "random");
    }
}

const struct ck_op ck_scale_rows = {.stem = "scale_rows", .cases = cases};

/* dropout_norm.c - cases of the dropout_norm kernel. */
#include "checkkernel.h"
#include "kernels/dropout_norm.h"

static void check(struct ck *ck, const struct ck_lengths *n, int width, enum bi_axis axis,
                  float keep, const char *note)
{
    typedef struct bi_dropout_norm_params T;
    T p = {.axis = (int32_t)axis, .width = width, .eps = 1e-5f, .keep = keep};
    ck_check(ck, &(struct ck_case){
                     .entry = "dropout_norm",
                     .reference = bi_op_dropout_norm.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, axis, .rows = n->tokens, .width = width},
                             {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width,
                              .fill = CK_GAIN},
                             {CK_PLAIN(T, b), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = width},
                             {CK_ARRAY(T, y, ldy), CK_OUT, axis, .rows = n->tokens, .width = width},
                         },
                     .lengths = n->of,
                     .n_seqs = n->n,
                     .absolute = 4e-6,
                     .relative = 4e-6,
                     .note = note});
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(64, 230);
        check(ck, &n, 128, BI_AXIS_TOKENS, 0.9f, "14720 x 128");
        return;
    }
    for (int i = 0; i < 24; i++) {
        struct ck_lengths n = ck_lengths(ck, 6, 60);
        const int width = i % 4 == 0 ? 128
                                     : (int)ck_random(ck, i % 8 == 1 ? 1 : 3, i % 2 ? 40 : 700);
        check(ck, &n, width, i % 5 ? BI_AXIS_TOKENS : BI_AXIS_FIXED, i % 3 ? 0.9f : 0.25f,
              "random");
    }
}

const struct ck_op ck_dropout_norm = {.stem = "dropout_norm", .cases = cases};

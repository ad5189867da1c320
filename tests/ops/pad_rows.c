/* pad_rows.c - cases of the pad_rows kernel. */
#include "checkkernel.h"

#include "kernels/track_grads.h"

static void cases(struct ck *ck)
{
    typedef struct bi_pad_rows_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 20 && !ck_bench(ck); i++) {
        T p = {.n = ck_random(ck, 1, 30),
               .first = i % 3 ? ck_random(ck, 0, 20) : 0,
               .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 300)};
        p.rows = p.first + p.n + (i % 4 ? ck_random(ck, 0, 20) : 0);
        ck_check(ck, &(struct ck_case){.entry = "pad_rows",
                                       .reference = bi_op_pad_rows.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays = {{CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                   .rows = p.n, .width = p.width},
                                                  {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                   .rows = p.rows, .width = p.width}},
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .absolute = 1e-30,
                                       .relative = 1e-7,
                                       .note = "random"});
    }
}

const struct ck_op ck_pad_rows = {.stem = "pad_rows", .cases = cases};

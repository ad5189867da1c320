/* add_narrow.c - cases of the add_narrow kernel. */
#include "checkkernel.h"
#include "kernels/track_rows.h"

static void cases(struct ck *ck)
{
    typedef struct bi_add_narrow_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        const int32_t width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 600);
        T p = {.rows = ck_random(ck, 1, 50),
               .width = width,
               .narrow = i % 3 ? (int32_t)ck_random(ck, 1, width) : width};
        ck_check(ck, &(struct ck_case){.entry = "add_narrow",
                                       .reference = bi_op_add_narrow.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, a, lda), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = width},
                                               {CK_ARRAY(T, b, ldb), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.narrow},
                                               {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = width},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .absolute = 2e-6,
                                       .relative = 2e-6,
                                       .note = "random"});
    }
}

const struct ck_op ck_add_narrow = {.stem = "add_narrow", .cases = cases};
